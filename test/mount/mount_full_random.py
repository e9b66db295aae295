#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount full_random
"""Random writers learn the truth on a disk that fills up and is enlarged.

usage: mount_full_random.py FRAMEFS [TEST...]

Data that fsync() has acknowledged is in the frame at that moment, and at the
end.  A read never shows older bytes than the last ones written.  A writer on
another disk under the same mount is not affected.

FRAMEFS_FULL_STEPS sets the number of steps, and FRAMEFS_FULL_SEED selects them.
"""

import contextlib
import ctypes
import errno
import glob
import mmap
import os
import random

from mounted import (B2FRAME, PATIENCE, Mount, change_tmpfs, check,
                     check_sound, error_of, harness, main, sh, tmpfs)

STEPS = int(os.environ.get('FRAMEFS_FULL_STEPS') or
            (150 if harness.SANITIZED else 400))
SEED = int(os.environ.get('FRAMEFS_FULL_SEED', '1'))
UNIT = 2048
NUNITS = 3 << 10     # largest size of a file
NWRITTEN = 1 << 10   # most units in one write
ROOMY = '16g'        # more than a kernel holds back of a mount
EXPECTED = (errno.ENOSPC, errno.EIO)
KEEP_SIZE, PUNCH_HOLE = 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def punch(fd, off, length):
    """Make a hole."""
    if libc.fallocate(fd, KEEP_SIZE | PUNCH_HOLE, ctypes.c_long(off),
                      ctypes.c_long(length)) < 0:
        raise OSError(ctypes.get_errno(), 'fallocate')


def data_of(version):
    """Return the bytes of a unit in a version.  Version 0 is a hole."""
    return random.Random(version).randbytes(UNIT) if version else bytes(UNIT)


def aligned(data):
    """Return a copy that starts at a page.  The kernel splits a write where the
    pages of its buffer end, so a partial write then ends with a whole unit."""
    pages = mmap.mmap(-1, len(data))
    pages.write(data)
    return pages


class File:
    """A file, and the versions that each of its units may have."""

    nversions = 0

    def __init__(self, mount, choice, name):
        self.path = mount / name
        self.stored = os.path.join('src', name + '.b2frame')
        self.choice = choice
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.forget()

    def forget(self):
        """Reset the model to an empty file."""
        self.size = 0
        self.now = [0] * NUNITS       # the version that was written last
        self.may = [{0} for _ in range(NUNITS)]  # versions that may be stored
        self.doubtful = set()         # units for which a write or punch failed

    def note(self, unit, version):
        """Note that a change of a unit has succeeded."""
        self.now[unit] = version
        self.may[unit].add(version)
        self.doubtful.discard(unit)

    def note_failure(self, first, versions):
        """Note that a change of units has failed."""
        for i, version in enumerate(versions):
            self.may[first + i].add(version)
            self.doubtful.add(first + i)

    def span(self, longest):
        first = self.choice.randrange(NUNITS)
        return first, min(self.choice.randrange(1, longest), NUNITS - first)

    def fresh(self, count):
        File.nversions += count
        return list(range(File.nversions - count + 1, File.nversions + 1))

    def write_at(self, first, count):
        """Write units.  Return whether all of them were written."""
        versions = self.fresh(count)
        data = b''.join(map(data_of, versions))
        try:
            done = os.pwrite(self.fd, aligned(data), first * UNIT)
        except OSError as error:
            check(error.errno in EXPECTED, 'write: %s' % error)
            done = 0
        whole = done // UNIT
        for i in range(whole):
            self.note(first + i, versions[i])
        self.note_failure(first + whole, versions[whole:])
        self.size = max(self.size, first + whole)
        return whole == count

    def write(self):
        self.write_at(*self.span(self.choice.choice((8, 64, NWRITTEN))))

    def append(self):
        count = min(self.choice.randrange(1, NWRITTEN), NUNITS - self.size)
        if count > 0:
            self.write_at(self.size, count)

    def punch(self):
        first, count = self.span(NWRITTEN)
        error = error_of(punch, self.fd, first * UNIT, count * UNIT)
        check(error in (0, *EXPECTED), 'punch: error %d' % error)
        if error:
            self.note_failure(first, [0] * count)
        for unit in range(first, first + (0 if error else count)):
            self.note(unit, 0)

    def truncate(self):
        size = self.choice.randrange(NUNITS)
        error = error_of(os.ftruncate, self.fd, size * UNIT)
        check(error in (0, *EXPECTED), 'truncate: error %d' % error)
        if error:
            self.note_failure(size, [0] * (NUNITS - size))
            return
        for unit in range(size, NUNITS):
            self.note(unit, 0)
        self.size = size

    def read(self):
        first, count = self.span(NWRITTEN)
        try:
            data = os.pread(self.fd, count * UNIT, first * UNIT)
        except OSError as error:
            check(error.errno == errno.EIO, 'read: %s' % error)
            return
        self.compare(data, first, 'read')

    def compare(self, data, first, what):
        """The data is the last version written, except in units that are in
        doubt."""
        for i in range(len(data) // UNIT):
            unit = first + i
            if unit not in self.doubtful:
                check(data[i * UNIT:(i + 1) * UNIT] == data_of(self.now[unit]),
                      '%s: %s shows other bytes in unit %d' % (
                          self.path, what, unit))

    def stored_now(self):
        """Return the bytes that another program reads from the frame."""
        done = harness.run(B2FRAME, 'cat', '--raw', self.stored)
        check(done.returncode == 0, 'cat: ' + done.stderr.decode())
        return done.stdout

    def fsync(self):
        """Sync, and compare the frame if that succeeds.  Return the error."""
        error = error_of(os.fsync, self.fd)
        check(error in (0, *EXPECTED), 'fsync: error %d' % error)
        if not error:
            data = self.stored_now()
            check(len(data) >= self.size * UNIT or self.doubtful,
                  '%s: too short after fsync' % self.path)
            self.compare(data, 0, 'the frame after fsync')
            for unit in range(NUNITS):
                if unit not in self.doubtful:
                    self.may[unit] = {self.now[unit]}
        return error

    def reopen(self):
        error = error_of(os.close, self.fd)
        check(error in (0, *EXPECTED), 'close: error %d' % error)
        self.fd = os.open(self.path, os.O_RDWR)

    def replace(self):
        """Remove the file and create it again."""
        os.unlink(self.path)
        error_of(os.close, self.fd)
        self.fd = -1
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            check(error.errno in EXPECTED, 'create: %s' % error)
            enlarge()
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        self.forget()

    def mend(self):
        """With space on the disk, write the lost data again, or truncate the
        file."""
        if self.choice.random() < 0.5:
            os.ftruncate(self.fd, 0)
            self.forget()
        check(self.write_at(0, NUNITS), 'there is space, and write fails')
        # The kernel reports an old error once.
        error_of(self.fsync)
        check(not self.fsync(), 'written again, and fsync fails')

    def check_left(self):
        """Check after the unmount that acknowledged data is there."""
        data = self.stored_now()
        for unit in range(len(data) // UNIT):
            piece = data[unit * UNIT:(unit + 1) * UNIT]
            check(any(piece == data_of(v) for v in self.may[unit]),
                  '%s: unit %d is none that may be stored' % (self.path, unit))
        for unit in range(len(data) // UNIT, NUNITS):
            check(0 in self.may[unit] or unit in self.doubtful,
                  '%s: unit %d is missing' % (self.path, unit))


def enlarge():
    change_tmpfs('src/full', 'size=' + ROOMY)


def fill(choice):
    """Leave little space on the disk that can be filled."""
    st = os.statvfs('src/full')
    used = (st.f_blocks - st.f_bfree) * st.f_frsize
    change_tmpfs('src/full', 'size=%d' % (
        used + choice.choice((0, 1 << 16, 1 << 20, 3 << 20))), status=None)


def step(choice, files):
    file = choice.choice(files)
    choice.choices(
        (file.write, file.append, file.read, file.fsync, file.punch,
         file.truncate, file.reopen, file.replace, enlarge,
         lambda: fill(choice)),
        (20, 20, 10, 10, 4, 2, 4, 1, 3, 4))[0]()


@contextlib.contextmanager
def mounted(layout):
    """Mount two disks below SOURCE, one of which can be filled."""
    with tmpfs('src/full', ROOMY):
        os.mkdir('src/ok')
        with Mount('src', 'mnt', '-o', 'chunksize=64K,cache=4M,layout=' +
                   layout) as mount:
            yield mount
        check_sound(*glob.glob('src/*/*.b2frame'))


def run(layout):
    choice = random.Random(SEED)
    with mounted(layout) as mount:
        files = [File(mount, choice, 'full/' + name) for name in 'ab']
        for _ in range(STEPS):
            step(choice, files)
        enlarge()
        files[0].mend()
        for file in files:
            error_of(os.close, file.fd)
        sh('fusermount3 -u mnt')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')
        for file in files:
            file.check_left()


def contiguous():
    run('contiguous')


def sparse():
    run('sparse')


def write_and_sync(fd, data):
    check(os.write(fd, data) == len(data), 'the other disk: write')
    os.fsync(fd)


def another_disk_is_not_concerned():
    choice = random.Random(SEED)
    written = b''
    with mounted('contiguous') as mount:
        files = [File(mount, choice, 'full/' + name) for name in 'ab']
        fill(choice)
        files[0].reopen()
        other = os.open(mount / 'ok/x', os.O_RDWR | os.O_CREAT)
        for _ in range(STEPS // 4):
            choice.choice(files).append()
            data = choice.randbytes(choice.randrange(100000))
            write_and_sync(other, data)
            written += data
        os.close(other)
        for file in files:
            error_of(os.close, file.fd)
        done = harness.run(B2FRAME, 'cat', '--raw', 'src/ok/x.b2frame')
        check(done.stdout == written, 'the other disk')


main(contiguous, sparse, another_disk_is_not_concerned)
