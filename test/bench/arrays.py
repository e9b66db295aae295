# SPDX-License-Identifier: BSD-3-Clause
"""Read an array in C order, by rows, along a column and by items.  For
comparison, read the bytes of its frame as they are stored, chunk after chunk.
"""

from scenes import Scene

NCOLUMNS = 16384
ITEM = 8  # bytes
ROW = NCOLUMNS * ITEM
NITEMS = 1021


class Array(Scene):
    def __init__(self, stock, quick, what, unit):
        super().__init__(stock, quick)
        self.what = what
        self.row = 'array.' + what
        self.rows = {self.row: unit}

    def rivals(self):
        stock = self.stock
        arrays = stock.arrays(NCOLUMNS)
        yield stock.ceiling(stock.files())
        yield stock.framefs(arrays, 'lz4', 'ro', name='lz4')
        yield stock.framefs(arrays, 'lz4', 'ro', 'raw', name='lz4-raw')

    def run(self, rival):
        path = rival / 'file0'
        nrows = self.stock.size // ROW
        if self.what == 'all':
            yield self.row, self.io(rival, 'read', path)
        elif self.what == 'rows':
            yield self.row, self.io(rival, 'stride', ROW, 16 * ROW,
                                    nrows // 16, path)
        elif self.what == 'column':
            yield self.row, self.io(rival, 'stride', ITEM, ROW, nrows, path)
        else:
            step = self.stock.size // NITEMS // ITEM * ITEM
            yield self.row, self.io(rival, 'stride', ITEM, step, NITEMS, path)


def scenes(stock, quick):
    yield Array(stock, quick, 'all', 'MB/s')
    for what in ('rows', 'column', 'items'):
        yield Array(stock, quick, what, '/s')
