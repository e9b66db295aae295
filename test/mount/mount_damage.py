#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount damage
"""Damage makes only the bytes that it covers unreadable, and is logged once
with its place.

usage: mount_damage.py FRAMEFS [TEST...]
"""

import errno
import json
import mmap
import os
import random

from mounted import (B2FRAME, Mount, check, check_content, chunk_offset,
                     error_of, frame, main, read, replace, sh, write,
                     write_sparse)

CHUNKSIZE = 10000
DATA = random.Random(4).randbytes(20 * CHUNKSIZE)
PAGE = 4096


def damaged(*numbers):
    """Return a frame in which these chunks have a broken header."""
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


def a_frame_that_the_disk_does_not_give_is_no_plain_file():
    """A mount over a mount has files whose first bytes cannot be read."""
    make(0)
    os.mkdir('disk')
    with Mount('src', 'disk', '-o', 'names=keep') as disk:
        name = disk / 'sub/run7.b2frame'
        check(error_of(read, name, 0, 100) == errno.EIO, 'the start is read')
        with Mount('disk/sub', 'mnt') as mount:
            check(os.listdir(mount.path) == ['run7'], 'names')
            check(os.stat(mount / 'run7').st_size > 0, 'size')
            check(error_of(read, mount / 'run7') == errno.EIO, 'is read')
            check(error_of(open, mount / 'run7', 'ab') == errno.EIO,
                  'is opened for writing')
            check(error_of(os.truncate, mount / 'run7', 0) == errno.EIO,
                  'is cut')


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


def damaged_header_shows_the_raw_file():
    make()
    raw = b'\x9e\xa8b2frame\0' + bytes(200)
    write('src/bad.b2frame', raw)
    with Mount('src', 'mnt') as mount:
        check(sorted(os.listdir(mount.path)) == ['bad.b2frame', 'sub'],
              'names')
        check(error_of(os.stat, mount / 'bad') == errno.ENOENT, 'bad is there')
        check(read(mount / 'bad.b2frame') == raw, 'other bytes')
        check(len(lines(mount)) == 1 and
              lines(mount)[0].startswith('framefs: bad.b2frame: offset '),
              'says %s' % lines(mount))


def damage_behind_the_header(name, data):
    """The frame is listed with the size in its header, but cannot be opened."""
    write('src/%s.b2frame' % name, data)
    with Mount('src', 'mnt') as mount:
        check(sorted(os.listdir(mount.path)) == sorted([name, 'sub']),
              'names')
        check(os.path.getsize(mount / name) == len(DATA), 'size')
        check(error_of(open, mount / name) == errno.EIO, 'is opened')
        check(error_of(os.listxattr, mount / name) == errno.EIO,
              'has attributes')
        check(len(lines(mount)) == 1 and lines(mount)[0].startswith(
            'framefs: %s.b2frame: offset ' % name), 'says %s' % lines(mount))
    os.remove('src/%s.b2frame' % name)


def damaged_frame_has_the_size_that_its_header_claims():
    make()
    whole = frame(DATA, CHUNKSIZE)
    index = chunk_offset(len(DATA) // CHUNKSIZE, CHUNKSIZE)
    damage_behind_the_header('index', whole[:index] + b'\xff' * 8 +
                             whole[index + 8:])
    damage_behind_the_header('trailer', whole[:-20] + bytes(20))
    damage_behind_the_header('cut', whole[:100000])
    damage_behind_the_header('header', whole[:0x61])


def sizes_that_contradict_each_other_are_not_shown():
    os.mkdir('src')
    whole = bytearray(frame(DATA, CHUNKSIZE))
    for name, off, value in (('cbytes', 0x27, 1 << 40),
                             ('nbytes', 0x1e, 1 << 60)):
        raw = bytes(whole[:off] + value.to_bytes(8, 'big') + whole[off + 8:])
        write('src/%s.b2frame' % name, raw)
        with Mount('src', 'mnt') as mount:
            check(read(mount / (name + '.b2frame')) == raw, name)


def frames_that_repair_saves_never_look_empty():
    os.mkdir('src')
    whole = frame(DATA, CHUNKSIZE)
    index = chunk_offset(len(DATA) // CHUNKSIZE, CHUNKSIZE)
    write('src/bad.b2frame', whole[:20] + bytes(50) + whole[70:])
    write('src/index.b2frame', whole[:index] + bytes(len(whole) - index))
    write('src/cut.b2frame', whole[:100000])
    for name, content in (('bytes', bytes(100)), ('start', whole[:50])):
        write_sparse('src/%s.b2frame' % name, DATA[:CHUNKSIZE])
        write('src/%s.b2frame/chunks.b2frame' % name, content)
    before = sorted(os.walk('src'))
    with Mount('src', 'mnt') as mount:
        check(error_of(open, mount / 'start') == errno.EIO, 'start is opened')
        check(sorted(os.listdir(mount / 'bytes.b2frame')) ==
              ['00000000.chunk', 'chunks.b2frame'], 'bytes is no directory')
        said = sh('find mnt -mindepth 1 -empty -print -delete')
        check(said == '', 'removed ' + said)
    check(sorted(os.walk('src')) == before, 'something was removed')
    sh(B2FRAME + ' repair src/index.b2frame src/saved.b2frame', None)
    check_content('src/saved.b2frame', DATA)


def copy_all(source, target):
    """Have the system copy a file."""
    with open(source, 'rb') as file, open(target, 'wb') as to:
        left = len(DATA)
        while left > 0:
            left -= os.copy_file_range(file.fileno(), to.fileno(), left)


def a_copied_chunk_has_sums_and_a_damaged_one_is_not_copied():
    """The daemon copies chunks as they are stored."""
    options = 'chunksize=%d' % CHUNKSIZE
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', options) as mount:
        write(mount / 'a', DATA)
        with open(mount / 'a', 'rb') as file:
            os.fsync(file.fileno())
        copy_all(mount / 'a', mount / 'b')
        check(read(mount / 'b') == DATA, 'content')
    found = json.loads(sh('%s verify --sums --json src/b.b2frame' % B2FRAME))[0]
    check(found['right'] == found['summed'] == found['blocks'] >= 20, found)
    with open('src/a.b2frame', 'r+b') as file:
        at = file.read().index(DATA[5 * CHUNKSIZE + 300:5 * CHUNKSIZE + 350])
        file.seek(at)
        file.write(bytes([DATA[5 * CHUNKSIZE + 300] ^ 1]))
    with Mount('src', 'mnt', '-o', options) as mount:
        check(error_of(copy_all, mount / 'a', mount / 'c') == errno.EIO,
              'damage is copied')


def damaged_metalayers_refuse_writers_at_once():
    """Programs do not look at what fsync() and close() return."""
    note = random.Random(5).randbytes(400)
    os.mkdir('src')
    sh('%s create --chunksize %d %s src/a.b2frame' % (
        B2FRAME, CHUNKSIZE, write('content', DATA)))
    sh('%s meta set src/a.b2frame note %s' % (B2FRAME, write('note', note)))
    stored = bytearray(read('src/a.b2frame'))
    stored[stored.index(note) + 7] ^= 1
    write('src/a.b2frame', stored)
    with Mount('src', 'mnt') as mount:
        for mode in 'ab', 'r+b', 'wb':
            check(error_of(open, mount / 'a', mode) == errno.EIO, mode)
        check(error_of(os.truncate, mount / 'a', 5) == errno.EIO, 'truncate')
        check(read(mount / 'a') == DATA, 'content')
        check(len(lines(mount)) == 1 and 'must be repaired' in mount.log(),
              'says %s' % lines(mount))
    check(read('src/a.b2frame') == stored, 'the frame was changed')


def names_make_no_lines_in_the_log():
    os.mkdir('src')
    write('src/a\nb\x1b[0m.b2frame', b'\x9e\xa8b2frame\0' + bytes(200))
    with Mount('src', 'mnt') as mount:
        os.stat(mount / 'a\nb\x1b[0m.b2frame')
        check(len(lines(mount)) == 1 and 'a?b?[0m.b2frame' in mount.log(),
              'says %r' % mount.log())


main(pages_beside_a_damaged_chunk_are_read,
     a_frame_that_the_disk_does_not_give_is_no_plain_file,
     direct_reads_lose_not_a_byte_more,
     each_fault_is_logged_once,
     fault_is_logged_again_when_the_file_changed,
     damaged_header_shows_the_raw_file,
     damaged_frame_has_the_size_that_its_header_claims,
     sizes_that_contradict_each_other_are_not_shown,
     frames_that_repair_saves_never_look_empty,
     a_copied_chunk_has_sums_and_a_damaged_one_is_not_copied,
     damaged_metalayers_refuse_writers_at_once,
     names_make_no_lines_in_the_log)
