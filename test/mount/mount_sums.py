#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount sums
"""A mount gives no wrong byte of a damaged frame: right ones, or an error.

usage: mount_sums.py FRAMEFS [TEST...]

FRAMEFS_FLIPS sets how many bits are flipped, FRAMEFS_OVERWRITES how many blocks
are overwritten, each in a frame of its own.  FRAMEFS_SEED is the seed of both.
"""

import errno
import os
import random
import shutil

from mounted import Mount, b2frame, check, layouts, main, read, write
from samples import files, samples

FLIPS = int(os.environ.get('FRAMEFS_FLIPS', 240))
OVERWRITES = int(os.environ.get('FRAMEFS_OVERWRITES', 120))
SEED = int(os.environ.get('FRAMEFS_SEED', 1))
BATCH = 240  # frames of a mount
BLOCK = 4096
PAGE = 4096


def patch(name, offset, data):
    with open(name, 'r+b') as file:
        file.seek(offset)
        file.write(data)


def flip(name, _, rng):
    """Flip a bit of a file.  Return what was done."""
    bit = rng.randrange(8 * os.path.getsize(name))
    byte = read(name, bit // 8, 1)[0] ^ 1 << bit % 8
    patch(name, bit // 8, bytes([byte]))
    return 'bit %d of %s' % (bit, name)


def overwrite(name, donor, rng):
    """Overwrite a block of a file by zeros or another block.  Return what was
    done."""
    end = os.path.getsize(name)
    offset = rng.randrange(end) // BLOCK * BLOCK
    size = min(BLOCK, end - offset)
    other = rng.randrange(os.path.getsize(donor)) // BLOCK * BLOCK
    patch(name, offset, rng.choice((bytes(size), read(donor, other, size))))
    return '%d bytes at %d of %s' % (size, offset, name)


def damaged_copy(path, copy, damage, rng):
    """Copy a frame, and damage the copy.  Return what was done."""
    if os.path.isdir(path):
        shutil.copytree(path, copy)
    else:
        shutil.copyfile(path, copy)
    return damage(rng.choice(files(copy)), rng.choice(files(path)), rng)


def read_page(fd, page):
    """Return the bytes of a page, or None.  A damaged chunk may seem to need a
    codec that this build has not."""
    try:
        return os.pread(fd, PAGE, page)
    except OSError as error:
        check(error.errno in (errno.EIO, errno.EOPNOTSUPP),
              'page at %d: %s' % (page, error))
        return None


def is_whole(path, content, what):
    """Read a file.  Return whether all bytes are there.  A frame whose header or
    index is damaged does not show under its name, or cannot be opened."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        check(os.fstat(fd).st_size == len(content), 'size: ' + what)
        pages = range(0, len(content), PAGE)
        got = [read_page(fd, page) for page in pages]
        for page, data in zip(pages, got):
            check(data in (None, content[page:page + PAGE]),
                  'wrong bytes at %d: %s' % (page, what))
        return None not in got
    finally:
        os.close(fd)


def damage_and_read(number, damage, seed):
    """Damage frames, and read them.  Return how many are whole."""
    os.mkdir('samples')
    frames = [(os.path.join('samples', path), content)
              for path, content in samples(b2frame)]
    for path, _ in frames:
        os.rename(os.path.basename(path), path)
    rng = random.Random(seed)
    whole = 0
    for first in range(0, number, BATCH):
        done = []
        os.makedirs('src', exist_ok=True)
        for i in range(first, min(first + BATCH, number)):
            path, content = frames[i % len(frames)]
            what = damaged_copy(path, 'src/%d.b2frame' % i, damage, rng)
            done.append((str(i), content, path + ': ' + what))
        with Mount('src', 'mnt', '-o', 'ro') as mount:
            whole += sum(is_whole(mount / name, content, what)
                         for name, content, what in done)
        shutil.rmtree('src')
    return whole


def a_flipped_bit_gives_no_wrong_byte():
    whole = damage_and_read(FLIPS, flip, SEED)
    check(whole < FLIPS / 2, '%d of %d flips do no harm' % (whole, FLIPS))


def an_overwritten_block_gives_no_wrong_byte():
    whole = damage_and_read(OVERWRITES, overwrite, SEED + 1)
    check(whole < OVERWRITES / 2, '%d of %d do no harm' % (whole, OVERWRITES))


@layouts
def sums_are_written_only_if_asked_for(layout):
    content = random.Random(SEED).randbytes(100000)
    for words, wanted in (('', True), (',sums=on', True), (',sums=read', False),
                          (',sums=off', False)):
        os.makedirs('src', exist_ok=True)
        with Mount('src', 'mnt', '-o', 'layout=' + layout + words) as mount:
            write(mount / 'new', content)
            write(mount / 'grown', content)
            with open(mount / 'grown', 'ab') as file:
                file.write(content)
        for name in 'src/new.b2frame', 'src/grown.b2frame':
            said = b2frame('verify', name).decode()
            check((' blocks have sums' in said) == wanted,
                  '%s: %s' % (words, said))
        shutil.rmtree('src')


main(sums_are_written_only_if_asked_for,
     a_flipped_bit_gives_no_wrong_byte,
     an_overwritten_block_gives_no_wrong_byte)
