#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damage costs the bytes that it covers, and is logged once with its place.

usage: mount_damage.py FRAMEFS [TEST...]
"""

import errno
import mmap
import os
import random

from mounted import (Mount, check, chunk_offset, error_of, frame, main, read,
                     replace, write)

CHUNKSIZE = 10000
DATA = random.Random(4).randbytes(20 * CHUNKSIZE)
PAGE = 4096


def damaged(*numbers):
    """A frame some of whose chunks have a broken header."""
    bytes_of = bytearray(frame(DATA, CHUNKSIZE))
    for number in numbers:
        bytes_of[chunk_offset(number, CHUNKSIZE) + 12] ^= 0xff
    return bytes(bytes_of)


def make(*numbers):
    os.makedirs('src/sub')
    write('src/sub/run7.b2frame', damaged(*numbers))


def lines(mount):
    return mount.log().splitlines()


def pages_beside_a_damaged_chunk_are_read():
    make(7)
    first = 7 * CHUNKSIZE // PAGE * PAGE
    last = -(-8 * CHUNKSIZE // PAGE) * PAGE
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'sub/run7', os.O_RDONLY)
        for off in range(0, len(DATA), PAGE):
            if first <= off < last:
                check(error_of(os.pread, fd, PAGE, off) == errno.EIO,
                      'page at %d is read' % off)
            else:
                check(os.pread(fd, PAGE, off) == DATA[off:off + PAGE],
                      'page at %d differs' % off)
        os.close(fd)


def direct_reads_lose_not_a_byte_more():
    make(7)
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'sub/run7', os.O_RDONLY | os.O_DIRECT)
        first, last = 7 * CHUNKSIZE, 8 * CHUNKSIZE
        for off, end in ((0, first), (last, len(DATA))):
            buffer = mmap.mmap(-1, end - off)
            check(os.preadv(fd, [buffer], off) == end - off and
                  buffer[:] == DATA[off:end], 'bytes at %d' % off)
        buffer = mmap.mmap(-1, 2)
        for off in (first - 1, first, last - 1):
            check(error_of(os.preadv, fd, [buffer], off) == errno.EIO,
                  'byte %d is read' % off)
        os.close(fd)


def each_fault_is_logged_once():
    make(7, 9)
    with Mount('src', 'mnt') as mount:
        for _ in range(3):
            for number in (7, 9):
                error_of(read, mount / 'sub/run7', number * CHUNKSIZE + 5000,
                         10)
        said = lines(mount)
        check(len(said) == 2, 'says %s' % said)
        for number, line in zip((7, 9), said):
            start = 'framefs: sub/run7.b2frame: chunk %d, offset ' % number
            check(line.startswith(start), 'says ' + line)
            off = int(line[len(start):].split(':')[0])
            place = chunk_offset(number, CHUNKSIZE)
            check(place <= off < place + 32, 'offset %d' % off)


def fault_is_logged_again_when_the_file_changed():
    make(7)
    with Mount('src', 'mnt') as mount:
        error_of(read, mount / 'sub/run7', 75000, 10)
        check(len(lines(mount)) == 1, 'says %s' % lines(mount))
        replace('src/sub/run7.b2frame', damaged(7))
        error_of(read, mount / 'sub/run7', 75000, 10)
        check(len(lines(mount)) == 2, 'says %s' % lines(mount))


def damaged_header_shows_an_empty_file_that_cannot_be_opened():
    make()
    write('src/bad.b2frame', b'\x9e\xa8b2frame\0' + bytes(200))
    with Mount('src', 'mnt') as mount:
        check(sorted(os.listdir(mount.path)) == ['bad', 'sub'], 'names')
        check(os.path.getsize(mount / 'bad') == 0, 'size')
        check(error_of(open, mount / 'bad') == errno.EIO, 'is opened')
        check(error_of(os.listxattr, mount / 'bad') == errno.EIO,
              'has attributes')
        check(len(lines(mount)) == 1 and
              lines(mount)[0].startswith('framefs: bad.b2frame: offset '),
              'says %s' % lines(mount))


def names_make_no_lines_in_the_log():
    os.mkdir('src')
    write('src/a\nb\x1b[0m.b2frame', b'\x9e\xa8b2frame\0' + bytes(200))
    with Mount('src', 'mnt') as mount:
        os.stat(mount / 'a\nb\x1b[0m')
        check(len(lines(mount)) == 1 and 'a?b?[0m.b2frame' in mount.log(),
              'says %r' % mount.log())


main(pages_beside_a_damaged_chunk_are_read,
     direct_reads_lose_not_a_byte_more,
     each_fault_is_logged_once,
     fault_is_logged_again_when_the_file_changed,
     damaged_header_shows_an_empty_file_that_cannot_be_opened,
     names_make_no_lines_in_the_log)
