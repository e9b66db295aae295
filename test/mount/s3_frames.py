# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the tests that mount a frame on a server of S3.

The mounts lie outside the directory that is served, because the server would
otherwise list them.
"""

import contextlib
import json
import os
import random
import subprocess

from mounted import (FRAMEFS, PATIENCE, Mount, b2frame, check, oracle, read, sh,
                     write)
from s3_server import S3

CHUNK = 50000
NCHUNKS = 20
CONTENT = random.Random(1).randbytes(NCHUNKS * CHUNK)


def make(path='top/f', layout='sparse'):
    os.makedirs('top', exist_ok=True)
    write('raw', CONTENT)
    b2frame('create', '--layout', layout, '--chunksize', str(CHUNK), 'raw',
            path)


@contextlib.contextmanager
def mounted(*options, path='mnt', server=None):
    """Mount a frame on a server, for a `with` statement, which gives server and
    mount."""
    if server:
        with Mount(server.url + 'f', path, *(
                word for option in options for word in ('-o', option))) as mount:
            yield server, mount
        return
    make()
    with S3('top') as server:
        with mounted(*options, path=path, server=server) as both:
            yield both
        check(not server.refused, 'refused: %s' % server.refused)


def patched(content, offset, data):
    return content[:offset] + data + content[offset + len(data):]


def put(fd, data, offset):
    check(os.pwrite(fd, data, offset) == len(data), 'written in part')


def check_frame(content, path='top/f'):
    b2frame('verify', path)
    check(b2frame('cat', path) == content, 'stored content')
    if oracle.is_here():
        said = oracle.complaints({os.path.abspath(path): content})
        check(not said, said)


@contextlib.contextmanager
def two_mounts(*options):
    """Mount a frame twice, for a `with` statement, which gives the server and
    both mounts."""
    os.makedirs('mnt2', exist_ok=True)
    with mounted(*options) as (server, first):
        with mounted(*options, path='mnt2', server=server) as (_, second):
            yield server, first, second


def figures(mount):
    done = subprocess.run([FRAMEFS, '--stats', '--json', mount.path],
                          check=True, capture_output=True, timeout=PATIENCE)
    return json.loads(done.stdout)['written']


def prepare_commit():
    """Make the state of the frame that another host will commit: with a chunk
    object, which has an id that the mount does not use, and the index."""
    make('top/other')
    write('chunk', b'z' * CHUNK)
    write('top/other/00000030.chunk', b'of a writer')
    with S3('top') as server:
        b2frame('update', server.url + 'other', '3', 'chunk')
    names = '00000031.chunk', 'chunks.b2frame'
    state = [(name, read('top/other/' + name)) for name in names]
    sh('rm -r top/other')
    return state


def from_the_daemon(fd, size, offset):
    """Read what the kernel does not cache."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(fd, size, offset)
