#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount memory
"""A daemon that is written to stays within its memory, and closes its files.

usage: mount_memory.py FRAMEFS [TEST...]

FRAMEFS_MEMORY_SIZE (128M) sets how much is written, and FRAMEFS_MEMORY_CACHE
(32M) the size of the cache.
"""

import functools
import os
import random
import threading

from mounted import (Mount, b2frame, check, harness, layouts, main, wait_for,
                     write)

MIB = 1 << 20
SIZE = int(os.environ.get('FRAMEFS_MEMORY_SIZE', '128M').rstrip('M')) * MIB
CACHE = int(os.environ.get('FRAMEFS_MEMORY_CACHE', '32M').rstrip('M')) * MIB
REST = 64 * MIB  # bytes that a daemon uses besides its cache
NTHREADS = 40
NFILES = 8
NFDS = 1  # for the private directory
POOL = random.Random(3).randbytes(4 * MIB)


def piece(choice, size):
    """Return bytes that compress more or less well."""
    n = choice.randrange(size)
    at = choice.randrange(len(POOL) - size)
    return POOL[at:at + n] + bytes(size - n)


def status(mount, key):
    """Return a number from /proc/PID/status."""
    with open('/proc/%d/status' % mount.daemon.pid, encoding='ascii') as lines:
        return next(int(line.split()[1]) for line in lines
                    if line.startswith(key + ':'))


def within_limits(chunksize=MIB):
    """Run a case on each layout, and check the daemon's limits."""
    def decorate(test):
        @layouts
        @functools.wraps(test)
        def watched(layout):
            watch(test, layout, chunksize)
        return watched
    return decorate


def watch(test, layout, chunksize):
    """Does the daemon stay within its limits during a test?"""
    options = 'layout=%s,cache=%d,chunksize=%d' % (layout, CACHE, chunksize)
    with Mount('src', 'mnt', '-o', options) as mount:
        start = mount.descriptors()
        test(mount)
        wait_for(lambda: mount.descriptors() <= start + NFDS,
                 'descriptors to be closed')
        peak = status(mount, 'VmHWM') * 1024
        print('%s, %s: %d MiB, %d threads' % (
            test.__name__, layout, peak // MIB, status(mount, 'Threads')))
        check(harness.SANITIZED or peak <= CACHE + REST,
              '%s: %d MiB in use' % (layout, peak // MIB))
        check(status(mount, 'Threads') <= NTHREADS, 'threads')


@within_limits()
def one_sequence(mount):
    choice = random.Random(1)
    with open(mount / 'a', 'wb', buffering=0) as file:
        for _ in range(SIZE // MIB):
            file.write(piece(choice, MIB))
        os.fsync(file.fileno())


def write_and_overwrite(mount):
    choice = random.Random(9)
    with open(mount / 'a', 'wb', buffering=0) as file:
        for _ in range(SIZE // MIB):
            file.write(piece(choice, MIB))
        os.fsync(file.fileno())
        for _ in range(SIZE // MIB):
            os.pwrite(file.fileno(), piece(choice, 4096),
                      choice.randrange(SIZE - 4096))
        os.fsync(file.fileno())


@within_limits(CACHE // 8)
def large_chunks(mount):
    write_and_overwrite(mount)


@within_limits(CACHE // 4)
def huge_chunks(mount):
    """Encoding one of these chunks takes the memory of three or more."""
    write_and_overwrite(mount)


@within_limits()
def overwriting_at_random(mount):
    choice = random.Random(2)
    with open(mount / 'a', 'w+b', buffering=0) as file:
        file.truncate(SIZE)
        for _ in range(SIZE // MIB * 20):
            page = piece(choice, 4096)
            os.pwrite(file.fileno(), page, choice.randrange(SIZE - 4096))
        os.fsync(file.fileno())


@within_limits()
def many_files(mount):
    choice = random.Random(3)
    for i in range(SIZE // MIB * 5):
        with open(mount / ('f%d' % i), 'wb') as file:
            file.write(piece(choice, 20000))


@within_limits()
def many_files_at_a_time(mount):
    choice = random.Random(4)
    files = [open(mount / ('f%d' % i), 'w+b', buffering=0) for i in range(200)]
    for _ in range(SIZE // MIB * 10):
        file = choice.choice(files)
        os.pwrite(file.fileno(), piece(choice, 100000),
                  choice.randrange(3 * MIB))
    for file in files:
        file.close()


@within_limits()
def many_threads(mount):
    def work(number):
        choice = random.Random(number)
        with open(mount / 'a', 'r+b', buffering=0) as file:
            for _ in range(SIZE // MIB):
                off = choice.randrange(SIZE // 8)
                os.pwrite(file.fileno(), piece(choice, 50000), off)
                os.pread(file.fileno(), 200000, choice.randrange(SIZE // 8))
                if choice.random() < 0.02:
                    os.fsync(file.fileno())

    os.close(os.open(mount / 'a', os.O_RDWR | os.O_CREAT))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def make_holes(layout, chunksize, nchunks):
    """Make frames that consist of zeros."""
    write('empty', b'')
    for i in range(NFILES):
        path = 'src/f%d.b2frame' % i
        b2frame('create', '--chunksize', str(chunksize), '--layout', layout,
                'empty', path)
        b2frame('truncate', '--size', str(chunksize * nchunks), path)


def a_byte_in_each(mount, size):
    """Write a byte at random offsets of frames whose chunks are not stored."""
    choice = random.Random(5)
    files = [open(mount / ('f%d' % i), 'r+b', buffering=0)
             for i in range(NFILES)]
    for _ in range(4):
        for file in files:
            os.pwrite(file.fileno(), b'x', choice.randrange(size))
            os.fsync(file.fileno())
    for file in files:
        file.close()


def change_holes(chunksize, nchunks):
    def holes(mount):
        a_byte_in_each(mount, chunksize * nchunks)

    for layout in harness.LAYOUTS:
        os.makedirs(layout + '/src')
        os.mkdir(layout + '/mnt')
        os.chdir(layout)
        make_holes(layout, chunksize, nchunks)
        watch(holes, layout, chunksize)
        os.chdir('..')


def frames_of_holes():
    change_holes(4096, 4000000)


def frames_of_as_many_holes_as_there_can_be():
    change_holes(4096, 268435451)


@within_limits()
def files_of_4_tib(mount):
    size = 4 << 40
    for i in range(NFILES):
        with open(mount / ('f%d' % i), 'wb') as file:
            file.truncate(size)
    a_byte_in_each(mount, size)


main(one_sequence,
     large_chunks,
     huge_chunks,
     overwriting_at_random,
     many_files,
     many_files_at_a_time,
     many_threads,
     frames_of_holes,
     frames_of_as_many_holes_as_there_can_be,
     files_of_4_tib)
