# SPDX-License-Identifier: BSD-3-Clause
"""Time from open to the first byte, for frames with few and many chunks."""

from scenes import Scene


class First(Scene):
    def __init__(self, stock, quick, layout, nchunks):
        super().__init__(stock, quick)
        self.layout = layout
        self.nchunks = nchunks
        self.row = 'open.%s.%d' % (layout, nchunks)
        self.rows = {self.row: 'ms'}

    def rounds(self, wanted):
        return 4 * wanted

    def prepare(self, rival):
        pass  # almost no memory is needed

    def rivals(self):
        stock = self.stock
        yield stock.ceiling(stock.files(4))
        yield stock.framefs(stock.many_chunks(self.layout, self.nchunks),
                            'lz4')

    def run(self, rival):
        yield self.row, self.io(rival, 'first', rival / 'file0')


def scenes(stock, quick):
    for layout in ('contiguous', 'sparse'):
        for nchunks in (10, 10000) if quick else (10, 10000, 1000000):
            yield First(stock, quick, layout, nchunks)
