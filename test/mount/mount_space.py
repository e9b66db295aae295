#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount space
"""A frame that is overwritten at random for long stays close to the size of its
chunks.

usage: mount_space.py FRAMEFS [TEST...]

FRAMEFS_SPACE_SIZE (32M) sets the size of the file; the test takes longer for
larger ones.  A file of 256M is overwritten 20,000 times.
"""

import contextlib
import json
import os
import random
import subprocess

from mounted import B2FRAME, Mount, check, harness, main, wait_for, write

MIB = 1 << 20
SIZE = int(os.environ.get('FRAMEFS_SPACE_SIZE', '32M').rstrip('M')) * MIB
PAGE = 4096
NWRITES = 20000 * SIZE // (256 * MIB)
CHUNKSIZE = max(SIZE // 1024, 64 << 10)
ON_DISK = 1.10  # times the size of the live chunks
APPARENT = 2
COMPACT = 1.01

POOL = random.Random(1).randbytes(MIB)


def page(choice):
    """Return bytes that compress more or less well."""
    n = choice.randrange(PAGE)
    at = choice.randrange(len(POOL) - n)
    return POOL[at:at + n] + bytes([n % 256]) * (PAGE - n)


def live(path):
    """Return the size of all chunks in bytes."""
    info = subprocess.run([B2FRAME, 'info', '--json', '--chunks', path],
                          stdout=subprocess.PIPE, check=True).stdout
    return sum(chunk['cbytes'] for chunk in json.loads(info)['chunks'])


def used(path):
    """Return the bytes that a frame uses on disk, and its apparent size."""
    paths = [path]
    if os.path.isdir(path):
        paths = [os.path.join(path, name) for name in os.listdir(path)]
    stats = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a file freed meanwhile
            stats.append(os.stat(path))
    return (sum(st.st_blocks * 512 for st in stats),
            sum(st.st_size for st in stats))


def settles(path):
    """Does a frame use little more space than its chunks?  Recently freed space
    is kept for a while, because other readers may still need it."""
    return used(path)[0] <= ON_DISK * live(path)


def judge(path, when, most_on_disk, most_apparent):
    """Compare the size of a frame with limits, in multiples of its chunks."""
    chunks = live(path)
    disk, size = (n / chunks for n in used(path))
    print('%s: disk %.3f, apparent %.3f of %d bytes' %
          (when, disk, size, chunks))
    check(disk <= most_on_disk, '%s: %.3f times its chunks on disk' %
          (when, disk))
    check(size <= most_apparent, '%s: %.3f times its chunks long' %
          (when, size))


def overwrite(layout, sync_every):
    choice = random.Random(7)
    os.mkdir('src')
    options = 'commit=1,layout=%s,chunksize=%d' % (layout, CHUNKSIZE)
    with Mount('src', 'mnt', '-o', options) as mount:
        write(mount / 'a', b''.join(page(choice) for _ in range(SIZE // PAGE)))
        fd = os.open(mount / 'a', os.O_RDWR)
        for i in range(NWRITES):
            os.pwrite(fd, page(choice), PAGE * choice.randrange(SIZE // PAGE))
            if sync_every and i % sync_every == 0:
                os.fsync(fd)
        os.fsync(fd)
        wait_for(lambda: settles('src/a.b2frame'), 'freed space to go')
        # A commit of all chunks makes a frame longer until it is closed.
        judge('src/a.b2frame', layout + ', overwritten', ON_DISK, 3)
        os.close(fd)
    judge('src/a.b2frame', layout + ', unmounted', ON_DISK, APPARENT)
    harness.run(B2FRAME, 'compact', 'src/a.b2frame')
    rest = ON_DISK if layout == 'sparse' else COMPACT  # partial last blocks
    judge('src/a.b2frame', layout + ', compacted', rest, COMPACT)


def contiguous():
    overwrite('contiguous', 0)


def contiguous_synced_often():
    overwrite('contiguous', 20)


def sparse():
    overwrite('sparse', 0)


def sparse_synced_often():
    overwrite('sparse', 20)


main(contiguous,
     contiguous_synced_often,
     sparse,
     sparse_synced_often)
