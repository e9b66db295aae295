# SPDX-License-Identifier: BSD-3-Clause
"""Making frames on a server of S3: the scripted one of the tests, with a
round-trip time of 20 ms.  The ceiling is curl, which puts the same objects, as
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
        bucket = os.path.join(self.stock.top, 'bucket')
        os.mkdir(bucket)
        with S3(bucket, anonymous=True) as server:
            delay = subprocess.Popen(
                [self.stock.program('delay'), str(server.port), str(RTT)],
                stdout=subprocess.PIPE)
            port = int(delay.stdout.readline())
            os.environ['AWS_ENDPOINT_URL_S3'] = 'http://127.0.0.1:%d' % port
            try:
                yield self.row, self.make(rival, port)
            finally:
                delay.kill()
                delay.communicate()
        shutil.rmtree(bucket)

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


def scenes(stock, quick):
    if not shutil.which('curl'):
        return
    for layout in ('sparse', 'contiguous'):
        yield Make(stock, quick, layout)
