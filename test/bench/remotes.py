# SPDX-License-Identifier: BSD-3-Clause
"""Reading frames behind URLs: nginx on this machine, with a round-trip time of
20 ms.  The ceiling is libcurl, which gets the same objects, as many at a time,
and does nothing else.  Everything is cold.
"""

import concurrent.futures
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import time

from figures import Run
from rivals import Rival
from scenes import Scene
from stock import CACHE, MIB

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../tool'))
from nginx import Nginx, find_nginx  # noqa: E402  pylint: disable=wrong-import-position

RTT = 20  # milliseconds
PAGE = 4096
CONNECTIONS = 32  # default of framefs
LARGE = 8 * MIB  # chunks that are too large to be fetched whole
NREADS = 100
LAYOUTS = ('contiguous', 'sparse')


def is_possible(build):
    return bool(find_nginx() and
                os.path.exists(os.path.join(build, 'test/bench/raw_get')))


class Server:
    """nginx behind a slow line, serving a directory, for a `with`
    statement."""

    def __init__(self, stock, top):
        self.nginx = Nginx(top, place=os.path.join(stock.top, 'nginx'),
                           log=True)
        self.delay = stock.program('delay')
        self.url = None
        self.process = None

    def __enter__(self):
        self.nginx.__enter__()
        self.process = subprocess.Popen(
            [self.delay, str(self.nginx.port), str(RTT)],
            stdout=subprocess.PIPE)
        port = int(self.process.stdout.readline())
        self.url = 'http://127.0.0.1:%d/' % port
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.communicate()
        self.nginx.__exit__(*exception)
        shutil.rmtree(self.nginx.place)

    def sent(self):
        """Return the number of requests so far, and the bytes of the
        replies."""
        sizes = [int(line.split()[2]) for line in self.nginx.log_lines()]
        return len(sizes), sum(sizes)


class Remote(Scene):
    """A frame on a server."""
    layout = 'sparse'
    chunksize = 2 * MIB  # some 0.8 MB as they are stored
    options = ()

    def frames(self):
        stock = self.stock

        def make(path):
            os.mkdir(path)
            subprocess.run(
                [stock.b2frame, 'create', '--layout', self.layout, '--codec',
                 'lz4', '--typesize', '8', '--chunksize', str(self.chunksize),
                 stock.files() + '/file0', path + '/file0.b2frame'],
                check=True, stdout=subprocess.DEVNULL)
        return stock.once('remote-%s-%s' % (self.layout, self.chunksize), make)

    def rivals(self):
        top = self.frames()
        self.server = Server(self.stock, top)
        yield Rival('ceiling', top)
        yield self.stock.framefs('', 'lz4', *self.options)

    def rounds(self, wanted):
        return 2 * wanted

    def prepare(self, rival):
        super().prepare(rival)
        self.server.__enter__()
        if rival.codec:
            rival.command = self.command(rival, list(rival.command))

    def run(self, rival):
        try:
            if rival.codec is None:
                yield from self.run_ceiling()
            else:
                yield from self.run_framefs(rival)
        finally:
            self.server.__exit__()

    # For subclasses

    def command(self, rival, words):
        """Return the command that mounts a rival, with the frame's URL."""
        words[-2] = self.server.url + 'file0.b2frame' + (
            '/' if self.layout == 'sparse' else '')
        return words

    def run_ceiling(self):
        raise NotImplementedError

    def run_framefs(self, rival):
        raise NotImplementedError

    def get(self, lines, nparallel, what):
        """Get objects by libcurl."""
        done = subprocess.run(
            [self.stock.program('raw_get'), str(nparallel), what],
            input='\n'.join(lines), text=True, check=True,
            stdout=subprocess.PIPE)
        told = json.loads(done.stdout)
        return Run(told['seconds'], told['count'], told['cpu'])

    def chunk_urls(self):
        names = sorted(glob.glob(self.frames() + '/file0.b2frame/*.chunk'))
        return [self.server.url + 'file0.b2frame/' + os.path.basename(name)
                for name in names]

    def ranges(self):
        """Return what raw_get wants, to get a contiguous frame by ranges as
        long as a chunk."""
        size = os.path.getsize(self.frames() + '/file0.b2frame')
        step = 800000
        return ['%sfile0.b2frame %d-%d' % (self.server.url, off,
                                           min(off + step, size) - 1)
                for off in range(0, size, step)]


class First(Remote):
    """Mount, and read the first 4 KiB.  The ceiling is two requests, one after
    another."""

    def __init__(self, stock, quick, layout):
        super().__init__(stock, quick)
        self.layout = layout
        self.row = 'remote.first.' + layout
        self.rows = {self.row: 'ms', self.row + '.requests': 'GETs'}

    def prepare(self, rival):
        super().prepare(rival)
        self.start = time.monotonic()

    def run_ceiling(self):
        yield self.row, self.get(self.some_urls(), 1, 'requests')

    def some_urls(self):
        if self.layout == 'sparse':
            return self.chunk_urls()[:2]
        return self.ranges()[:2]

    def run_framefs(self, rival):
        with open(rival / 'file0', 'rb', buffering=0) as file:
            file.read(PAGE)
        seconds = time.monotonic() - self.start
        yield self.row, Run(seconds, 1, 0)
        yield self.row + '.requests', Run(1, self.server.sent()[0], 0)


class Random(Remote):
    """Read 4 KiB each of different chunks."""

    def __init__(self, stock, quick, nthreads, large=False):
        super().__init__(stock, quick)
        self.nthreads = nthreads
        self.large = large
        self.row = 'remote.random.%d' % nthreads
        if large:
            self.chunksize = LARGE
            self.row += '.large'
        # Each read finds nothing in memory, except for the heads of chunks.
        self.nreads = NREADS * max(1, nthreads // 8)
        if not large:
            self.nreads = min(self.nreads, stock.size // self.chunksize)
        self.rows = {self.row: '/s', self.row + '.requests': 'GETs',
                     self.row + '.bytes': 'KB'}

    def places(self):
        """Return offsets to read at: one in each chunk, and then one more of
        large chunks."""
        chunks = list(range(self.stock.size // self.chunksize))
        chance = random.Random(1)
        places = []
        while len(places) < self.nreads:
            chance.shuffle(chunks)
            places += [chunk * self.chunksize + PAGE *
                       chance.randrange(self.chunksize // PAGE)
                       for chunk in chunks]
        return places[:self.nreads]

    def run_ceiling(self):
        urls = self.chunk_urls() * self.nreads
        if self.large:  # the head of a chunk, and one block
            run = self.get([url + ' 0-65535' for url in urls[:self.nreads]] +
                           [url + ' 65536-262143'
                            for url in urls[:self.nreads]], self.nthreads,
                           'requests')
            run.count /= 2
        else:
            run = self.get(urls[:self.nreads], self.nthreads, 'requests')
        yield self.row, run

    def run_framefs(self, rival):
        places = self.places()
        fd = os.open(rival / 'file0', os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(fd, PAGE, os.fstat(fd).st_size - PAGE)  # open everything
        before = self.server.sent()
        daemon = rival.cpu()
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.nthreads) as pool:
            list(pool.map(lambda off: os.pread(fd, PAGE, off), places))
        seconds = time.monotonic() - start
        daemon = rival.cpu() - daemon
        os.close(fd)
        yield self.row, Run(seconds, len(places), 0, daemon, rival.rss(),
                            rival.cache)
        after = self.server.sent()
        yield self.row + '.requests', Run(
            1, (after[0] - before[0]) / len(places) * NREADS, 0)
        yield self.row + '.bytes', Run(
            1, (after[1] - before[1]) / len(places) / 1e3, 0)


class Whole(Remote):
    """Read all of a frame in order."""

    def __init__(self, stock, quick, layout):
        super().__init__(stock, quick)
        self.layout = layout
        self.row = 'remote.dd.' + layout
        self.rows = {self.row: 'MB/s'}

    def run_ceiling(self):
        urls = (self.chunk_urls() if self.layout == 'sparse'
                else self.ranges())
        run = self.get(urls, CONNECTIONS, 'bytes')
        run.count = self.stock.size  # the bytes times the ratio
        yield self.row, run

    def run_framefs(self, rival):
        yield self.row, self.time(
            rival, ['dd', 'if=' + rival / 'file0', 'of=/dev/null', 'bs=1M',
                    'status=none'], self.stock.size)


class Readers(Remote):
    """Read by many sequential readers of their own parts of a frame: how much
    memory does the daemon take beside its cache?"""
    nreaders = 200

    def __init__(self, stock, quick):
        super().__init__(stock, quick)
        self.rows = {'remote.readers': 'MB/s'}
        if quick:
            self.nreaders = 50

    def rivals(self):
        for rival in super().rivals():
            if rival.codec:
                yield rival

    def run_framefs(self, rival):
        part = self.stock.size // self.nreaders // PAGE * PAGE

        def read(number):
            fd = os.open(rival / 'file0', os.O_RDONLY)
            for off in range(number * part, (number + 1) * part, 64 << 10):
                os.pread(fd, 64 << 10, off)
            os.close(fd)

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.nreaders) as pool:
            list(pool.map(read, range(self.nreaders)))
        yield 'remote.readers', Run(time.monotonic() - start,
                                    self.nreaders * part, 0, None,
                                    rival.rss(), CACHE)


class Warm(Remote):
    """Read all of a frame in order in a second mount, when its bytes are on the
    disk.  The ceiling is a mount of the frame as a local one."""
    rows = {'remote.warm': 'MB/s', 'remote.warm.requests': 'GETs'}

    def rivals(self):
        top = self.frames()
        self.server = Server(self.stock, top)
        yield self.stock.framefs(top, 'lz4', name='local')
        yield self.stock.framefs(
            '', 'lz4', 'revalidate=inf,netcache=' +
            os.path.join(self.stock.top, 'scratch'))

    def prepare(self, rival):
        if rival.name != 'framefs-local':
            self.stock.scratch()
        super().prepare(rival)
        if rival.name != 'framefs-local':
            with rival:
                self.read(rival)

    def command(self, rival, words):
        return words if rival.name == 'framefs-local' else super().command(
            rival, words)

    def read(self, rival):
        return self.time(
            rival, ['dd', 'if=' + rival / 'file0', 'of=/dev/null', 'bs=1M',
                    'status=none'], self.stock.size)

    def run_framefs(self, rival):
        before = self.server.sent()[0]
        yield 'remote.warm', self.read(rival)
        yield 'remote.warm.requests', Run(1, self.server.sent()[0] - before, 0)


def scenes(stock, quick):
    for layout in LAYOUTS:
        yield First(stock, quick, layout)
    for nthreads in (1, 8, 32):
        yield Random(stock, quick, nthreads)
    yield Random(stock, quick, 1, True)
    for layout in LAYOUTS:
        yield Whole(stock, quick, layout)
    yield Warm(stock, quick)
    yield Readers(stock, quick)
