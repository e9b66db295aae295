#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount chunks
"""Chunks of a mounted frame are inserted, deleted and reordered.

usage: mount_chunks.py FRAMEFS [TEST...]
"""

import errno
import fcntl
import functools
import os
import random
import struct

from mounted import Mount, check, error_of, layouts, main, read, write

SIZE = 10000  # bytes in a chunk
DATA = random.Random(9).randbytes(10 * SIZE + 123)
ORDER_MAX = 4000


def request(number, size, directions):
    """Return a request number, as _IOC() does.  Format:
    include/framefs-ioctl.h."""
    return directions << 30 | size << 16 | 0xb2 << 8 | number


def change(number, fd, chunk_no, nbytes=0):
    arg = bytearray(struct.pack('=QQ', chunk_no, nbytes))
    fcntl.ioctl(fd, request(number, len(arg), 3), arg)
    os.ftruncate(fd, struct.unpack('=QQ', arg)[1])


def insert(fd, chunk_no, nbytes=0):
    change(1, fd, chunk_no, nbytes)


def delete(fd, chunk_no):
    change(2, fd, chunk_no)


def reorder(fd, first, order):
    arg = bytearray(struct.pack('=QQ%dI' % ORDER_MAX, first, len(order),
                                *order, *[0] * (ORDER_MAX - len(order))))
    fcntl.ioctl(fd, request(3, len(arg), 1), arg)


def on_chunks(test):
    """Run a case on a file of ten chunks and a piece, for each layout.  The case
    returns the new content, which the file must have, even after a new mount.
    """
    @layouts
    @functools.wraps(test)
    def changes(layout):
        options = 'chunksize=%d,layout=%s' % (SIZE, layout)
        with Mount('src', 'mnt', '-o', options) as mount:
            write(mount / 'a', DATA)
            wanted = test(mount)
            check(read(mount / 'a') == wanted, 'content')
        with Mount('src', 'mnt') as mount:
            check(read(mount / 'a') == wanted, 'content, mounted again')
    return changes


@on_chunks
def inserted(mount):
    new = bytes(range(250)) * (SIZE // 250)
    with open(mount / 'a', 'r+b', buffering=0) as file:
        check(file.read() == DATA, 'content before')
        insert(file.fileno(), 3)
        wanted = DATA[:3 * SIZE] + bytes(SIZE) + DATA[3 * SIZE:]
        check(read(mount / 'a') == wanted, 'zeros')
        os.pwrite(file.fileno(), new, 3 * SIZE)
    return DATA[:3 * SIZE] + new + DATA[3 * SIZE:]


@on_chunks
def deleted(mount):
    with open(mount / 'a', 'r+b', buffering=0) as file:
        check(file.read() == DATA, 'content before')
        delete(file.fileno(), 10)
        delete(file.fileno(), 0)
        check(os.fstat(file.fileno()).st_size == 9 * SIZE, 'size')
    return DATA[SIZE:10 * SIZE]


@on_chunks
def reordered(mount):
    with open(mount / 'a', 'r+b', buffering=0) as file:
        os.pwrite(file.fileno(), b'not synced', 2 * SIZE)
        reorder(file.fileno(), 1, [2, 1, 0])
    data = DATA[:2 * SIZE] + b'not synced' + DATA[2 * SIZE + 10:]
    chunks = [data[i:i + SIZE] for i in range(0, len(data), SIZE)]
    chunks[1:4] = chunks[3:0:-1]
    return b''.join(chunks)


@on_chunks
def refused(mount):
    with open(mount / 'a', 'r+b') as file:
        fd = file.fileno()
        for error, call, *args in (
                (errno.ERANGE, insert, fd, 12),
                (errno.ERANGE, delete, fd, 11),
                (errno.EINVAL, insert, fd, 3, 1),
                (errno.ERANGE, reorder, fd, 10, [1, 0]),
                (errno.EINVAL, reorder, fd, 0, [0, 0]),
                (errno.EINVAL, reorder, fd, 0, [0, 2]),
                (errno.EINVAL, reorder, fd, 9, [1, 0]),
                (errno.ENOTTY, change, 9, fd, 0)):
            got = error_of(call, *args)
            check(got == error, '%s %s: errno %d' % (call.__name__, args, got))
    with open(mount / 'a', 'rb') as file:
        check(error_of(delete, file.fileno(), 0) == errno.EBADF, 'read-only')
    write('src/plain', b'plain')
    with open(mount / 'plain', 'r+b') as file:
        check(error_of(delete, file.fileno(), 0) == errno.ENOTTY, 'plain file')
    return DATA


main(inserted,
     deleted,
     reordered,
     refused)
