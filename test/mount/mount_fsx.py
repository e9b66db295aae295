#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount fsx
"""Random operations on a file have the same effect as on bytes in memory.

usage: mount_fsx.py FRAMEFS [TEST...]

FRAMEFS_FSX_OPERATIONS sets the number of operations, and FRAMEFS_FSX_SEED
selects them.
"""

import ctypes
import mmap
import os
import random

from mounted import LAYOUTS, Mount, check, check_frames, harness, main, read

OPERATIONS = int(os.environ.get('FRAMEFS_FSX_OPERATIONS') or
                 (500 if harness.SANITIZED else 1500))
SEED = int(os.environ.get('FRAMEFS_FSX_SEED', '1'))
MAX_SIZE = 600000
MAX_LENGTH = 100000
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
PAGE = mmap.PAGESIZE

libc = ctypes.CDLL(None, use_errno=True)


class File:
    """A file, and a model of its content."""

    def __init__(self, path, choice):
        self.path = path
        self.choice = choice
        self.model = bytearray()
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)
        self.direct_fd = os.open(path, os.O_RDWR | os.O_DIRECT)

    def span(self, limit):
        """Return a random offset and length within a limit."""
        off = self.choice.randrange(limit + 1)
        return off, min(self.choice.randrange(1, MAX_LENGTH),
                        limit - off)

    def fill(self, off, data):
        """Put bytes into the model at an offset."""
        if off > len(self.model):
            self.model += bytes(off - len(self.model))
        self.model[off:off + len(data)] = data

    def write(self):
        off, size = self.span(MAX_SIZE)
        data = self.choice.randbytes(size)
        done = 0
        while done < size:
            done += os.pwrite(self.fd, data[done:], off + done)
        if size:
            self.fill(off, data)

    def read(self):
        off, size = self.span(MAX_SIZE)
        check(os.pread(self.fd, size, off) == self.model[off:off + size],
              'read %d bytes at %d' % (size, off))

    def pages(self):
        """Return a buffer and an offset that are aligned for O_DIRECT."""
        off, size = self.span(MAX_SIZE // PAGE * PAGE - PAGE)
        return mmap.mmap(-1, size // PAGE * PAGE + PAGE), off // PAGE * PAGE

    def direct_write(self):
        buffer, off = self.pages()
        buffer[:] = self.choice.randbytes(len(buffer))
        done = os.pwritev(self.direct_fd, [buffer], off)
        check(done == len(buffer), 'wrote %d of %d bytes' % (done, len(buffer)))
        self.fill(off, buffer[:])

    def direct_read(self):
        buffer, off = self.pages()
        done = os.preadv(self.direct_fd, [buffer], off)
        check(buffer[:done] == self.model[off:off + len(buffer)],
              'read directly %d bytes at %d' % (len(buffer), off))

    def truncate(self):
        size = self.choice.randrange(MAX_SIZE + 1)
        os.ftruncate(self.fd, size)
        self.model = (self.model + bytes(MAX_SIZE))[:size]

    def map_read(self):
        off, size = self.span(len(self.model))
        if size:
            with mmap.mmap(self.fd, 0, prot=mmap.PROT_READ) as mapped:
                check(mapped[off:off + size] == self.model[off:off + size],
                      'mapped: %d bytes at %d' % (size, off))

    def map_write(self):
        off, size = self.span(len(self.model))
        if size:
            data = self.choice.randbytes(size)
            with mmap.mmap(self.fd, 0) as mapped:
                mapped[off:off + size] = data
                if self.choice.random() < 0.5:
                    mapped.flush()
            self.fill(off, data)

    def allocate(self, mode, off, size):
        """Call fallocate(), which must succeed."""
        result = libc.fallocate(self.fd, mode, ctypes.c_long(off),
                                ctypes.c_long(size))
        check(result == 0, 'fallocate: errno %d' % ctypes.get_errno())

    def punch(self):
        off, size = self.span(MAX_SIZE)
        if size:
            self.allocate(PUNCH_HOLE | KEEP_SIZE, off, size)
            size = max(0, min(size, len(self.model) - off))
            self.model[off:off + size] = bytes(size)

    def zero(self):
        off, size = self.span(MAX_SIZE)
        if size:
            self.allocate(ZERO_RANGE, off, size)
            self.fill(off, bytes(size))

    def copy(self):
        from_off, size = self.span(len(self.model))
        to_off = self.choice.randrange(MAX_SIZE - size + 1)
        if size == 0 or abs(from_off - to_off) < size:
            return
        data = bytes(self.model[from_off:from_off + size])
        done = 0
        while done < size:
            done += os.copy_file_range(self.fd, self.fd, size - done,
                                       from_off + done, to_off + done)
        self.fill(to_off, data)

    def sync(self):
        os.fsync(self.fd)

    def close(self):
        os.close(self.fd)
        os.close(self.direct_fd)

    def reopen(self):
        self.close()
        self.fd = os.open(self.path, os.O_RDWR)
        self.direct_fd = os.open(self.path, os.O_RDWR | os.O_DIRECT)

    def compare(self):
        check(read(self.path) == self.model, 'all of it')

    def step(self):
        """Do one operation, then compare the size."""
        operation = self.choice.choice((
            self.write, self.write, self.write, self.read, self.read,
            self.direct_write, self.direct_read, self.truncate, self.map_read,
            self.map_write, self.map_write, self.punch, self.zero, self.copy,
            self.sync, self.reopen, self.compare))
        operation()
        size = os.fstat(self.fd).st_size
        check(size == len(self.model), '%s: size %d, not %d' %
              (operation.__name__, size, len(self.model)))


def exercise(*options, operations=OPERATIONS):
    os.mkdir('src')
    where = ('-o', ','.join(options))
    with Mount('src', 'mnt', *where) as mount:
        file = File(mount / 'a', random.Random(SEED))
        for step in range(operations):
            try:
                file.step()
            except BaseException:
                print('operation %d of seed %d' % (step, SEED))
                raise
        file.close()
        file.compare()
    check_frames({'src/a.b2frame': file.model})
    with Mount('src', 'mnt', *where):
        file.compare()


def contiguous():
    exercise('layout=contiguous', 'chunksize=20000')


def sparse():
    exercise('layout=sparse', 'chunksize=20000')


def large_chunks():
    exercise('layout=contiguous', 'codec=zstd', 'clevel=1')


def large_chunks_sparse():
    exercise('layout=sparse')


def small_cache():
    exercise('layout=contiguous', 'chunksize=8K', 'cache=512K')


def small_cache_sparse():
    exercise('layout=sparse', 'chunksize=8K', 'cache=512K', 'threads=4')


def no_time_to_commit():
    exercise('layout=contiguous', 'chunksize=4K', 'cache=1M', 'commit=1')


def few_chunks_in_the_cache():
    for nchunks in range(2, 6):
        for layout in LAYOUTS:
            os.makedirs('%s-%d/mnt' % (layout, nchunks))
            os.chdir('%s-%d' % (layout, nchunks))
            exercise('layout=' + layout, 'chunksize=64K', 'commit=1',
                     'cache=%dK' % (64 * nchunks),
                     operations=OPERATIONS // 8)
            os.chdir('..')


main(contiguous,
     sparse,
     large_chunks,
     large_chunks_sparse,
     small_cache,
     small_cache_sparse,
     no_time_to_commit,
     few_chunks_in_the_cache)
