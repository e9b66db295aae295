# SPDX-License-Identifier: BSD-3-Clause
"""Making, writing and listing frames on a server of S3: the scripted one of the
tests, with a round-trip time of 20 ms.  The ceiling is curl, which puts the same objects, as
many at a time, and does nothing else.  The server keeps the parts of a contiguous
frame and copies them at the end, which is most of what that takes longer.
"""

import glob
import os
import shutil
import subprocess
import sys
import time

from figures import Run
from rivals import Rival
from scenes import Scene, run_measured
from stock import MIB

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../tool'))
from s3_server import S3  # noqa: E402  pylint: disable=wrong-import-position

RTT = 20  # milliseconds
CONNECTIONS = 32  # default of b2frame
CHUNKSIZE = 2 * MIB
PART = 8 * MIB


class Bucket:
    """The server behind a slow line, with an empty bucket, for a `with`
    statement."""

    def __init__(self, stock):
        self.stock = stock
        self.top = os.path.join(stock.top, 'bucket')
        self.server = None
        self.delay = None
        self.port = None

    def __enter__(self):
        os.mkdir(self.top)
        self.server = S3(self.top, anonymous=True)
        self.server.__enter__()
        self.delay = subprocess.Popen(
            [self.stock.program('delay'), str(self.server.port), str(RTT)],
            stdout=subprocess.PIPE)
        self.port = int(self.delay.stdout.readline())
        os.environ['AWS_ENDPOINT_URL_S3'] = 'http://127.0.0.1:%d' % self.port
        return self

    def __exit__(self, *exception):
        self.delay.kill()
        self.delay.communicate()
        self.server.__exit__(*exception)
        shutil.rmtree(self.top)


class Make(Scene):
    """Make a frame of the large file."""

    def __init__(self, stock, quick, layout):
        super().__init__(stock, quick)
        self.layout = layout
        self.row = 'remote.make.' + layout
        self.rows = {self.row: 'MB/s'}

    def create(self, path, *options):
        return [self.stock.b2frame, 'create', *options, '--layout',
                self.layout, '--codec', 'lz4', '--typesize', '8',
                '--chunksize', str(CHUNKSIZE), self.stock.files() + '/file0',
                path]

    def frame(self):
        return self.stock.once(
            'make-' + self.layout,
            lambda path: subprocess.run(self.create(path), check=True))

    def parts(self):
        """Return a directory of what is put: chunks, or parts of the frame."""
        def make(path):
            os.mkdir(path)
            with open(self.frame(), 'rb') as frame:
                for number in range(-(-os.path.getsize(self.frame()) // PART)):
                    with open('%s/%d.chunk' % (path, number), 'wb') as part:
                        part.write(frame.read(PART))
        return (self.frame() if self.layout == 'sparse'
                else self.stock.once('make-parts', make))

    def rivals(self):
        self.parts()
        yield Rival('ceiling', self.stock.top)
        yield Rival('b2frame-lz4', self.stock.top)

    def run(self, rival):
        with Bucket(self.stock) as bucket:
            yield self.row, self.make(rival, bucket.port)

    def make(self, rival, port):
        if rival.name == 'ceiling':
            names = sorted(glob.glob(self.parts() + '/*.chunk'))
            command = ['curl', '-s', '-S', '-f', '-Z', '--parallel-immediate',
                       '--parallel-max', str(CONNECTIONS), '-H', 'Expect:']
            for name in names:
                command += ['-T', name, 'http://127.0.0.1:%d/bucket/raw/%s' % (
                    port, os.path.basename(name))]
        else:
            command = self.create('s3://bucket/made', '-o', 'anonymous')
        start = time.monotonic()
        _, usage = run_measured(command)
        return Run(time.monotonic() - start, self.stock.size,
                   usage.ru_utime + usage.ru_stime)


class Write(Make):
    """Write the large file to a mount, and sync it."""

    def __init__(self, stock, quick):
        super().__init__(stock, quick, 'sparse')
        self.row = 'remote.write'
        self.rows = {self.row: 'MB/s'}

    def rivals(self):
        self.parts()
        yield Rival('ceiling', self.stock.top)
        yield Rival('framefs-lz4', self.stock.top)

    def make(self, rival, port):
        if rival.name == 'ceiling':
            return super().make(rival, port)
        with self.stock.framefs('s3://bucket', 'lz4', 'anonymous', 'typesize=8',
                                'chunksize=%d' % CHUNKSIZE) as mount:
            # Each thread that encodes may take 3 MiB more.
            mount.cache += CONNECTIONS * (3 << 20)
            return self.time(
                mount, ['dd', 'if=' + self.stock.files() + '/file0',
                        'of=' + mount / 'new', 'bs=1M', 'conv=fsync',
                        'status=none'], self.stock.size)


class Names(Scene):
    """List a directory of many frames, without and with their sizes."""
    rows = {'remote.ls': 'ms', 'remote.ls.requests': 'GETs',
            'remote.ls-l': '/s'}

    def __init__(self, stock, quick):
        super().__init__(stock, quick)
        self.nnames = 1000 if quick else 10000

    def rivals(self):
        yield Rival('framefs-lz4', self.stock.top)

    def fill(self, top):
        """Let all keys be names of one small frame."""
        subprocess.run([self.stock.b2frame, 'create', '-', top + '/0.b2frame'],
                       input=b'small', check=True)
        for number in range(1, self.nnames):
            os.link(top + '/0.b2frame', '%s/%d.b2frame' % (top, number))

    def run(self, rival):
        with Bucket(self.stock) as bucket:
            self.fill(bucket.top)
            with self.stock.framefs('s3://bucket', 'lz4', 'anonymous',
                                    'ro') as mount:
                mounted = len(bucket.server.requests)
                yield 'remote.ls', self.time(mount, ['ls', mount.top], 1)
                yield 'remote.ls.requests', Run(
                    1, len(bucket.server.requests) - mounted, 0)
                yield 'remote.ls-l', self.time(mount, ['ls', '-l', mount.top],
                                               self.nnames)


def scenes(stock, quick):
    if not shutil.which('curl'):
        return
    for layout in ('sparse', 'contiguous'):
        yield Make(stock, quick, layout)
    yield Write(stock, quick)
    yield Names(stock, quick)
