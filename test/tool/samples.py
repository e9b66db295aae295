# SPDX-License-Identifier: BSD-3-Clause
"""Frames of all kinds and layouts, for tests of damage."""

import contextlib
import os
import random
import struct

from harness import LAYOUTS, read, write


def walk(size):
    """Return bytes of a random walk, which compress somewhat."""
    rng = random.Random(size)
    value = 0
    words = []
    for _ in range(size // 8):
        value += rng.randrange(-50, 50)
        words.append(struct.pack('<q', value))
    return b''.join(words)


def samples(b2frame):
    """Make frames of all kinds by a function that runs the tool.  Yield path and
    content of each."""
    content = (walk(60000) + bytes(30000) +
               random.Random(0).randbytes(20000) +
               struct.pack('<d', 1.5) * 2500 + walk(30000))
    rows = (('lz4', ('--chunksize', '16384', '--blocksize', '4096')),
            ('zstd', ('--codec', 'zstd', '--chunksize', '20000')),
            ('blosclz', ('--codec', 'blosclz', '--chunksize', '10000')),
            ('zlib', ('--codec', 'zlib', '--filters', 'delta+bitshuffle',
                      '--chunksize', '32768', '--blocksize', '2048')),
            ('raw', ('--clevel', '0', '--chunksize', '8192')),
            ('small', ('--chunksize', '512',)))
    write('content', content)
    for layout in LAYOUTS:
        for name, options in rows:
            path = '%s-%s.b2frame' % (layout, name)
            b2frame('create', '--layout', layout, '--typesize', '8', *options,
                    'content', path)
            yield path, content


def files(path):
    """Return the files of a frame."""
    if os.path.isdir(path):
        return [os.path.join(path, name) for name in sorted(os.listdir(path))]
    return [path]


@contextlib.contextmanager
def patched(path, offset, data):
    """Overwrite bytes of a file, for a `with` statement."""
    old = read(path, offset, len(data))
    with open(path, 'r+b') as file:
        file.seek(offset)
        file.write(data)
        file.flush()
        os.utime(path, (1, 1))
        yield
        file.seek(offset)
        file.write(old)
