#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: remote faults; timeout 300; args b2frame build
"""Whatever goes wrong on the way, programs read right bytes, in time.

usage: remote_faults.py B2FRAME BUILD_ROOT [TEST...]

FRAMEFS_FAULTS is the number of random reads of each case (60), and
FRAMEFS_SEED that of the random numbers.
"""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

BUILD = os.path.abspath(sys.argv.pop(2))

# The modules below take the other arguments.
# pylint: disable=wrong-import-position
from faults import Faults
from remote_library import Library
from s3_server import S3
from scene import TOOL, check, frame, harness, layouts, main
from web import Web, process as web_process, suspend

COUNT = int(os.environ.get('FRAMEFS_FAULTS', '60'))
SEED = int(os.environ.get('FRAMEFS_SEED', '1'))
CHUNK = 30000
SIZE = 20 * CHUNK + 11
TIMEOUT = 6  # of a request
SLACK = 24   # seconds in which a machine with other work to do reads


def make(layout, content):
    """Put a frame in the place of another one."""
    frame('new', content, '--layout', layout, '--chunksize', str(CHUNK))
    if os.path.isdir('f'):
        shutil.rmtree('f')
    os.rename('new', 'f')


def some(chooser):
    """Choose a range: short or long, anywhere."""
    length = chooser.choice((1, 100, 4096, CHUNK, 4 * CHUNK, SIZE))
    start = chooser.randrange(SIZE)
    return start, min(length, SIZE - start)


def read_by_library(library, url, ranges):
    with library.open(url) as opened:
        return [opened.read(*part) for part in ranges]


def read_by_tool(_, url, ranges):
    """Read the first range only."""
    start, length = ranges[0]
    done = subprocess.run(
        [TOOL, 'cat', '--offset', str(start), '--length', str(length), url],
        capture_output=True, check=False, env=harness.environment(),
        timeout=TIMEOUT + SLACK)
    if done.returncode != 0:
        raise OSError(errno.EIO, done.stderr.decode())
    return [done.stdout]


def read_ranges(chooser, library, url, ranges):
    if chooser.random() >= 0.05:
        return read_by_library(library, url, ranges)
    try:
        return read_by_tool(library, url, ranges)
    except OSError as failure:
        # The tool does not begin anew: some bytes may have been written.
        check('has changed the frame' in str(failure) or
              os.strerror(errno.ESTALE) in str(failure), str(failure))
        return []


def a_round(chooser, library, url, content):
    """Open the frame and read some ranges."""
    ranges = [some(chooser) for _ in range(chooser.randrange(1, 5))]
    begin = time.monotonic()
    got = read_ranges(chooser, library, url, ranges)
    took = time.monotonic() - begin
    for (start, length), data in zip(ranges, got):
        check(data == content[start:start + length],
              'other content at %d' % start)
    check(took < (len(got) + 1) * TIMEOUT + SLACK, 'takes %.1f s' % took)
    return len(ranges)


def random_faults(server, layout, options):
    """Read the frame again and again, which is replaced now and then."""
    chooser = random.Random('%d %s %s' % (SEED, layout, options))
    faults = Faults(random.Random(chooser.random()))
    options += ',revalidate=0,retries=20,timeout=%d' % TIMEOUT
    os.environ['FRAMEFS_REMOTE'] = options
    done = 0
    with server('.') as web:
        while done < COUNT:
            content = chooser.randbytes(SIZE)
            make(layout, content)
            faults.respell()
            web.forget(faults)
            with Library(BUILD, options) as library:
                for _ in range(chooser.randrange(2, 10)):
                    done += a_round(chooser, library, web.url + 'f', content)
            shutil.rmtree('cache', ignore_errors=True)
    print('%d reads, %s' % (done, dict(faults.counts)))


@layouts
def reads_from_a_web_server_are_right(layout):
    random_faults(Web, layout, '')


@layouts
def reads_from_a_server_of_s3_are_right(layout):
    random_faults(S3, layout, 'connections=4')


@layouts
def reads_by_way_of_the_disk_are_right(layout):
    random_faults(Web, layout, 'netcache=cache')


def a_server_that_stops_now_and_then_fails_no_read():
    chooser = random.Random(SEED)
    content = chooser.randbytes(SIZE)
    make('sparse', content)
    with web_process('.') as (server, url), \
            Library(BUILD, 'timeout=%d' % (TIMEOUT + SLACK)) as library:
        for _ in range(max(3, COUNT // 100)):
            suspend(server)
            resumed = threading.Timer(chooser.uniform(0, 0.5),
                                      server.send_signal, (signal.SIGCONT,))
            resumed.start()
            a_round(chooser, library, url + 'f', content)
            resumed.join()


harness.need_remote()
main(reads_from_a_web_server_are_right,
     reads_from_a_server_of_s3_are_right,
     reads_by_way_of_the_disk_are_right,
     a_server_that_stops_now_and_then_fails_no_read)
