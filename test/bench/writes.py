# SPDX-License-Identifier: BSD-3-Clause
"""Write a new file, overwrite an old one, and write many small ones."""

import os

from scenes import Scene, set_limits

NEW = (
    # name, codec, options of the mount
    ('lz4', 'lz4', ()),
    ('lz4-sparse', 'lz4', ('layout=sparse',)),
    ('blosclz', 'blosclz', ('codec=blosclz',)),
    ('zstd', 'zstd', ('codec=zstd',)),
)


class OnEmpty(Scene):
    """Work in an empty directory that leaves nothing behind."""
    codecs = NEW

    def rivals(self):
        stock = self.stock
        scratch = stock.scratch()
        yield stock.ceiling(scratch)
        yield stock.plain(scratch)
        for name, codec, options in self.codecs:
            yield stock.framefs(scratch, codec, 'typesize=8', *options,
                                name=name)
        for codec in ('lz4', 'zstd'):
            yield from stock.btrfs(codec, 0)

    def prepare(self, rival):
        self.stock.scratch()
        super().prepare(rival)


class Write(OnEmpty):
    """Write and fsync a new file."""

    def __init__(self, stock, quick, name, piece):
        super().__init__(stock, quick)
        self.piece = piece
        self.row = 'write.' + name
        self.rows = {self.row: 'MB/s'}

    def run(self, rival):
        yield self.row, self.io(rival, 'write', self.piece, self.stock.size,
                                rival / 'new')
        os.unlink(rival / 'new')

    def limits(self, results):
        set_limits(results, self.row, self.stock.costs.encode)


class Small(OnEmpty):
    """Create, stat and unlink many files of 1 KiB."""
    rows = {'small.create': '/s', 'small.stat': '/s', 'small.unlink': '/s'}
    codecs = NEW[:2]

    def run(self, rival):
        count = 2000 if self.quick else 20000
        for row in self.rows:
            yield row, self.io(rival, row.split('.')[1], count, rival.top)


class Overwrite(Scene):
    """Overwrite 4 KiB at random offsets of a file and close it, or sync each
    write."""

    def __init__(self, stock, quick, name, count, nsync):
        super().__init__(stock, quick)
        self.count = count
        self.nsync = nsync
        self.row = 'overwrite.' + name
        self.rows = {self.row: '/s'}
        self.sources = {}

    def rivals(self):
        stock = self.stock
        scratch = stock.scratch()
        yield stock.ceiling(stock.files())
        self.sources['plain'] = stock.files()
        yield stock.plain(scratch)
        for codec in ('lz4', 'zstd'):
            rival = stock.framefs(scratch, codec, cache=stock.size // 4)
            self.sources[rival.name] = stock.frames(codec)
            yield rival

    def prepare(self, rival):
        source = self.sources.get(rival.name)
        if source:
            self.stock.scratch(source)
        super().prepare(rival)

    def run(self, rival):
        yield self.row, self.io(rival, 'overwrite', self.count, self.nsync,
                                rival / 'file0')


def scenes(stock, quick):
    yield Write(stock, quick, '4k', 4 << 10)
    yield Write(stock, quick, '1m', 1 << 20)
    yield Overwrite(stock, quick, 'kept', 5000 if quick else 50000, 0)
    yield Overwrite(stock, quick, 'synced', 50 if quick else 500, 1)
    yield Small(stock, quick)
