# SPDX-License-Identifier: BSD-3-Clause
"""Reading, cold and hot.

In a cold read neither the kernel nor the daemon has cached any content of the
mount, but the stored files are in the kernel's page cache.
"""

import os

from scenes import Scene, set_limits, set_limits_by_latency
from stock import MIB

BLOCK = 64 << 10  # bytes, in the frames for random reads
CODECS = ('lz4', 'blosclz', 'zstd', 'zlib', 'lz4hc')
NFAULTS = 2048


class Sequential(Scene):
    """Read a large file twice.  O_DIRECT bypasses the kernel's cache, so the
    second pass finds only the data that the daemon has kept."""

    def __init__(self, stock, quick, tool):
        super().__init__(stock, quick)
        self.tool = tool
        self.rows = {'seq.%s.cold' % tool: 'MB/s', 'seq.%s.hot' % tool: 'MB/s'}

    def rivals(self):
        stock = self.stock
        yield stock.ceiling(stock.files())
        yield stock.plain(stock.files())
        for codec in CODECS[:3] if self.quick else CODECS:
            yield stock.framefs(stock.frames(codec), codec)
        for codec in (('lz4', 'zstd', 'zlib') if self.tool == 'dd' and
                      not self.quick else ('zstd',)):
            yield from stock.squashfuse(codec)
            yield from stock.btrfs(codec)

    def run(self, rival):
        for row in self.rows:
            yield row, self.read(rival, rival / 'file0')

    def read(self, rival, path):
        if self.tool == 'dd':
            return self.time(rival, ['dd', 'if=' + path, 'of=/dev/null',
                                     'bs=1M', 'status=none'], self.stock.size)
        if self.tool == 'cat':
            return self.time(rival, ['sh', '-c', 'exec cat "$0" >/dev/null',
                                     path], self.stock.size)
        return self.io(rival, self.tool, path)

    def limits(self, results):
        set_limits(results, 'seq.%s.cold' % self.tool,
                   self.stock.costs.decode)


class Parallel(Scene):
    """Read four files at once, with one thread each."""
    rows = {'parallel.4': 'MB/s'}

    def rivals(self):
        stock = self.stock
        yield stock.ceiling(stock.files(4))
        yield stock.plain(stock.files(4))
        for codec in ('lz4',) if self.quick else ('lz4', 'zstd'):
            yield stock.framefs(stock.frames(codec, 4), codec)
            yield from stock.squashfuse(codec, 4)
            yield from stock.btrfs(codec, 4)

    def run(self, rival):
        yield 'parallel.4', self.io(rival, 'read', *(
            rival / ('file%d' % i) for i in range(4)))

    def limits(self, results):
        set_limits(results, 'parallel.4', self.stock.costs.decode)


class Random(Scene):
    """Read 4 KiB at random offsets, each only once, of a file that is much
    larger than the cache."""

    def __init__(self, stock, quick, nthreads):
        super().__init__(stock, quick)
        self.nthreads = nthreads
        self.row = 'random.cold.%d' % nthreads
        self.rows = {self.row: '/s'}

    def rivals(self):
        stock = self.stock
        cache = max(stock.size // 16, 8 * MIB)
        yield stock.ceiling(stock.files())
        yield stock.plain(stock.files())
        for codec in ('lz4', 'zstd'):
            yield stock.framefs(
                stock.frames(codec, blocksize=str(BLOCK)), codec,
                name=codec + '-64K', cache=cache)
        for codec in ('lz4',) if self.quick else ('lz4', 'zstd'):
            yield from stock.squashfuse(codec)
            yield from stock.btrfs(codec)

    def run(self, rival):
        yield self.row, self.io(rival, 'random', self.nthreads, 30000, 1,
                                rival / 'file0')

    def limits(self, results):
        if self.nthreads > 1:
            set_limits(results, self.row, self.block_cost)
        else:
            set_limits_by_latency(results, self.row, self.block_cost)

    def block_cost(self, codec):
        return BLOCK * self.stock.costs.decode(codec, BLOCK)


class Faults(Scene):
    """Touch random pages through mmap, in the mounts that other scenes read
    sequentially.  The kernel reads around each page, but no page that it reads
    is touched later."""
    rows = {'fault.cold': '/s'}

    def rivals(self):
        stock = self.stock
        yield stock.ceiling(stock.files())
        yield stock.plain(stock.files())
        for codec in ('lz4', 'zstd'):
            yield stock.framefs(stock.frames(codec), codec)
        yield from stock.squashfuse('lz4')
        yield from stock.btrfs('lz4')

    def run(self, rival):
        yield 'fault.cold', self.io(rival, 'fault', NFAULTS, rival / 'file0')

    def limits(self, results):
        set_limits_by_latency(results, 'fault.cold', self.block_cost)

    def block_cost(self, codec):
        blocksize = self.stock.blocksize(self.stock.frames(codec))
        return blocksize * self.stock.costs.decode(codec)


class Cached(Scene):
    """Read 4 KiB that the daemon has decoded and the kernel has not cached.
    The first pass is random, and the file stays open, because the daemon need
    not keep blocks that are read in order, nor those of closed files."""
    rows = {'random.cached': '/s'}

    def rivals(self):
        stock = self.stock
        yield stock.ceiling(stock.files(4))
        yield stock.framefs(stock.frames('lz4', 4), 'lz4',
                            cache=stock.size // 2)

    def run(self, rival):
        path = rival / 'file0'
        fd = os.open(path, os.O_RDONLY)
        try:
            self.io(rival, 'random', 1, self.stock.size // 4096, 60, path)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            yield 'random.cached', self.io(rival, 'random', 1, 30000, 1, path)
        finally:
            os.close(fd)


def scenes(stock, quick):
    for tool in ('dd', 'cat', 'map', 'direct'):
        yield Sequential(stock, quick, tool)
    yield Parallel(stock, quick)
    for nthreads in (1, 2, 8):
        yield Random(stock, quick, nthreads)
    yield Cached(stock, quick)
    yield Faults(stock, quick)
