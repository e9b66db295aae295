#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount large
"""Frames with many chunks or many bytes need little memory.

usage: mount_large.py FRAMEFS [TEST...]
"""

import os
import random
import shutil

from mounted import Mount, check, corpus, frame, harness, main, read, write

CACHE = 16 << 20
LIMIT = CACHE + (32 << 20)


def check_memory(mount):
    """Does the daemon stay within its memory limit?"""
    check(harness.SANITIZED or mount.memory() < LIMIT,
          'holds %d bytes' % mount.memory())


def million_chunks():
    """The frame decodes to more bytes than the cache holds, in chunks of 40
    bytes."""
    data = b''.join(b'%039d\n' % i for i in range(1000000))
    os.mkdir('src')
    write('src/lines.b2frame', frame(data, 40))
    with Mount('src', 'mnt', '-o', 'cache=%d' % CACHE) as mount:
        path = mount / 'lines'
        numbers = random.Random(1)
        for _ in range(2000):
            off = numbers.randrange(len(data))
            length = numbers.randrange(1, 100000)
            check(read(path, off, length) == data[off:off + length],
                  'bytes from %d' % off)
        check(read(path) == data, 'content')
        check_memory(mount)


def tebibyte_of_zeros():
    """Any byte can be read, although the file takes only some hundred bytes on
    disk."""
    name = 'zeros-1tib-data-inside'
    os.mkdir('src')
    shutil.copy(os.path.join(corpus.DATA, 'frames', name + '.b2frame'),
                'src')
    with Mount('src', 'mnt', '-o', 'cache=%d' % CACHE) as mount:
        path = mount / name
        size = os.stat(path).st_size
        check(size == 1 << 40, 'size %d' % size)
        for off in range(0, size, size // 300 + 1):
            check(len(read(path, off, 1 << 20)) == min(1 << 20, size - off),
                  'bytes from %d' % off)
        with open(path, 'rb') as file:
            first = os.lseek(file.fileno(), 0, os.SEEK_DATA)
            check(0 < first < size, 'data from %d' % first)
            check(any(os.pread(file.fileno(), 1 << 20, first)), 'the data')
        check_memory(mount)


main(million_chunks, tebibyte_of_zeros)
