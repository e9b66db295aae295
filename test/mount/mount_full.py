#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount full
"""Errors of a full or failing disk are reported, and leave stored data
unharmed.

usage: mount_full.py FRAMEFS [TEST...]

Each test runs on each layout, in a tmpfs and on ext4 in a loop device, where
these can be mounted.
"""

import contextlib
import ctypes
import errno
import glob
import mmap
import os
import random
import resource
import subprocess
import threading

from mounted import (B2FRAME, PATIENCE, Mount, Skipped, change_tmpfs, check,
                     disk, error_of, harness, main, need_disks, read,
                     run_on_disk, sh, wait_for, write)

MIB = 1 << 20
KEPT = random.Random(5).randbytes(300000)
DATA = random.Random(6).randbytes(3 * MIB)
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
LEFT = MIB  # bytes that fill_up() leaves, fewer than DATA has

libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def directory():
    """Use the file system that the test runs on."""
    yield


def tmpfs():
    return harness.tmpfs('src', '16m')


def ext4():
    """Mount a disk that becomes read-only when it meets an error."""
    return disk('src', '20M', flags='-m 0 -e remount-ro')


def run_on(*kinds):
    """Run a test on disks of some kinds, with both layouts."""
    def decorate(test):
        def every():
            reasons = []
            for kind in kinds:
                try:
                    run_on_disk(test, kind)
                except Skipped as reason:
                    reasons.append(str(reason))
            if len(reasons) == len(kinds):
                raise Skipped(reasons[0])
            for reason in reasons:
                print('%s: skipped: %s' % (test.__name__, reason))
        every.__name__ = test.__name__
        return every
    return decorate


@contextlib.contextmanager
def promptly(mount):
    """Kill the daemon after PATIENCE, so that a call that hangs fails with an
    error."""
    timer = threading.Timer(PATIENCE, mount.daemon.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def space():
    st = os.statvfs('src')
    return st.f_bavail * st.f_frsize


@contextlib.contextmanager
def mounted(layout, *options):
    with Mount('src', 'mnt', '-o', 'chunksize=64K,layout=' + layout,
               *options) as mount, promptly(mount):
        yield mount


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def fill_up(mount):
    """Store a file that must survive, then fill the disk until little space is
    left."""
    write(mount / 'kept', KEPT)
    sync(mount / 'kept')
    choice = random.Random(7)
    with open(mount / 'ballast', 'wb', buffering=0) as ballast:
        while space() > LEFT + (256 << 10):
            # Stored chunks are slightly larger than their data.
            ballast.write(choice.randbytes((space() - LEFT) * 7 // 8))
            os.fsync(ballast.fileno())


def make_space(mount):
    """Remove the ballast, and wait for its space.  It is not free at once,
    because the kernel reports the last close of the file to the daemon some
    time later."""
    before = space()
    os.unlink(mount / 'ballast')
    wait_for(lambda: space() > before + len(DATA), 'space')


def write_all(fd, data):
    """Write and sync.  Return the first error."""
    for off in range(0, len(data), 128 << 10):
        error = error_of(os.pwrite, fd, data[off:off + (128 << 10)], off)
        if error:
            return error
    return error_of(os.fsync, fd)


def check_stored(layout, **wanted):
    """Are all frames valid, and do they have the right content?"""
    frames = [path for path in glob.glob('src/*.b2frame')]
    done = subprocess.run([B2FRAME, 'verify', '--quiet', *frames],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, 'verify: ' + done.stdout.decode())
    with mounted(layout) as mount:
        for name, content in wanted.items():
            check(read(mount / name) == content, name + ', mounted again')


def resize(size):
    change_tmpfs('src', 'size=' + size)


def open_before(path, flags=os.O_RDWR | os.O_CREAT):
    """Open a file while there is plenty of space, because the kernel then keeps
    written data for a while."""
    resize('16g')
    fd = os.open(path, flags)
    resize('16m')
    return fd


@run_on(tmpfs, ext4)
def write_reports_that_the_disk_is_full(layout):
    with mounted(layout) as mount:
        fill_up(mount)
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        done = 0
        error = 0
        while not error and done < len(DATA):
            error = error_of(os.pwrite, fd, DATA[done:done + 65536], done)
            done += 0 if error else 65536
        check(error == errno.ENOSPC, 'write: error %d' % error)
        os.fsync(fd)
        check(os.fstat(fd).st_size == done, 'size')
        check(read(mount / 'a') == DATA[:done], 'what was accepted')
        make_space(mount)
        check(write_all(fd, DATA) == 0, 'there is space')
        os.close(fd)
    check_stored(layout, a=DATA, kept=KEPT)


@run_on(tmpfs)
def what_the_kernel_has_lost_is_reported_until_it_is_written(layout):
    with mounted(layout, '-o', 'cache=4M') as mount:
        fill_up(mount)
        fd = open_before(mount / 'a')
        data = random.Random(8).randbytes(16 * MIB)
        os.pwrite(fd, data, 0)
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'fits')
        resize('16g')
        for i in range(3):
            check(error_of(os.fsync, fd) == errno.ENOSPC, 'fsync %d' % i)
        check(error_of(os.close, fd) == errno.ENOSPC, 'close')
        check(error_of(sync, mount / 'a') == errno.ENOSPC, 'opened again')
        check('a.b2frame: bytes ' in mount.log() and
              'are lost' in mount.log(), mount.log())
        check(error_of(read, mount / 'a') == errno.EIO, 'lost bytes are read')
        sh('cp --sparse=auto mnt/a copy', status=1)
        check(error_of(os.rename, mount / 'a', mount / 'kept') ==
              errno.ENOSPC, 'it takes the place of what is stored')
        with open(mount / 'a', 'r+b') as file:
            file.write(data)
        sync(mount / 'a')
        check(read(mount / 'a') == data, 'content')
    check_stored(layout, a=data, kept=KEPT)


@run_on(tmpfs)
def what_the_kernel_has_lost_can_be_cut_off(layout):
    with mounted(layout, '-o', 'cache=4M') as mount:
        fill_up(mount)
        fd = open_before(mount / 'a')
        os.pwrite(fd, random.Random(8).randbytes(16 * MIB), 0)
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'fits')
        os.ftruncate(fd, 0)
        os.fsync(fd)
        os.close(fd)
        check(read(mount / 'a') == b'', 'content')
    check_stored(layout, a=b'', kept=KEPT)


@run_on(tmpfs)
def what_is_lost_of_files_that_are_no_frames_is_reported_too(layout):
    data = random.Random(8).randbytes(8 * MIB)
    with mounted(layout, '-o', 'names=keep') as mount:
        fd = open_before(mount / 'plain')
        write('src/ballast', bytes(space() - LEFT))
        os.pwrite(fd, data, 0)
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'fits')
        os.unlink('src/ballast')
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'fsync')
        check(error_of(os.close, fd) == errno.ENOSPC, 'close')
        check(error_of(sync, mount / 'plain') == errno.ENOSPC, 'opened again')
        with open(mount / 'plain', 'r+b') as file:
            file.write(data)
        sync(mount / 'plain')
    check(read('src/plain') == data, 'content')


def open_with_lost_bytes(mount):
    """Fill the disk, and open a file whose first 16 MiB did not fit."""
    fill_up(mount)
    fd = open_before(mount / 'a')
    os.pwrite(fd, random.Random(8).randbytes(16 * MIB), 0)
    check(error_of(os.fsync, fd) == errno.ENOSPC, 'fits')
    return fd


@run_on(tmpfs)
def lost_bytes_that_become_zeros_leave_the_size(layout):
    with mounted(layout, '-o', 'cache=4M') as mount:
        fd = open_with_lost_bytes(mount)
        resize('16g')
        sh('fallocate -p -o 0 -l %d mnt/a' % (16 * MIB))
        os.fsync(fd)
        os.close(fd)
        check(read(mount / 'a') == bytes(16 * MIB), 'content')
    check_stored(layout, a=bytes(16 * MIB), kept=KEPT)


@run_on(tmpfs)
def holes_may_end_among_lost_bytes(layout):
    """Each becomes zeros, and the bytes behind it stay lost."""
    with mounted(layout, '-o', 'cache=4M') as mount:
        fd = open_with_lost_bytes(mount)
        resize('16g')
        for i in range(16):
            check(error_of(os.fsync, fd) == errno.ENOSPC, 'nothing is lost')
            mode = KEEP_SIZE | (ZERO_RANGE if i % 2 else PUNCH_HOLE)
            check(libc.fallocate(fd, mode, ctypes.c_long(i * MIB),
                                 ctypes.c_long(MIB)) == 0, 'fallocate')
            check(read(mount / 'a', i * MIB, MIB) == bytes(MIB), 'content')
        os.fsync(fd)
        os.close(fd)
        check(read(mount / 'a') == bytes(16 * MIB), 'whole')
    check_stored(layout, a=bytes(16 * MIB), kept=KEPT)


@run_on(tmpfs)
def more_than_the_disk_holds_is_not_allocated(layout):
    with mounted(layout) as mount:
        write(mount / 'a', DATA[:MIB])
        with open(mount / 'a', 'r+b') as file:
            check(error_of(os.posix_fallocate, file.fileno(), 0, 64 * MIB) ==
                  errno.ENOSPC, 'allocated')
            check(os.stat(mount / 'a').st_size == MIB, 'size')
            os.posix_fallocate(file.fileno(), 0, 8 * MIB)
            check(os.stat(mount / 'a').st_size == 8 * MIB, 'new size')


@run_on(tmpfs)
def files_on_a_full_disk_can_be_mapped(layout):
    with mounted(layout) as mount:
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        os.pwrite(fd, DATA[:MIB], 0)
        if tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 6):
            with mmap.mmap(fd, MIB) as area:
                area[5:10] = b'hello'
            check(os.pread(fd, 5, 5) == b'hello', 'beside the mapping')
            os.fsync(fd)
        os.close(fd)
    check_stored(layout)


@run_on(tmpfs)
def what_does_not_fit_is_written_when_there_is_space(layout):
    with mounted(layout) as mount:
        fill_up(mount)
        fd = open_before(mount / 'a')
        check(write_all(fd, DATA) == errno.ENOSPC, 'fits')
        check(read(mount / 'a') == DATA, 'content that is not stored')
        check(read(mount / 'kept') == KEPT, 'what was there')
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'fits now')
        make_space(mount)
        os.fsync(fd)
        os.close(fd)
        check(read(mount / 'a') == DATA, 'content')
    check_stored(layout, a=DATA, kept=KEPT)


@run_on(tmpfs)
def overwriting_what_is_stored(layout):
    """A commit never overwrites stored chunks, so the old ones need space,
    too."""
    with mounted(layout) as mount:
        fill_up(mount)
        old = read(mount / 'ballast')
        new = DATA + old[len(DATA):]
        fd = open_before(mount / 'ballast', os.O_RDWR)
        check(write_all(fd, DATA) == errno.ENOSPC, 'fits')
        check(read(mount / 'ballast') == new, 'content that is not stored')
        mount.crash()
        error_of(os.close, fd)
    check_stored(layout, ballast=old, kept=KEPT)


@run_on(tmpfs)
def close_reports_that_the_disk_is_full(layout):
    with mounted(layout) as mount:
        fill_up(mount)
        fd = open_before(mount / 'a')
        error = error_of(os.pwrite, fd, DATA, 0) or error_of(os.close, fd)
        check(error == errno.ENOSPC, 'error %d' % error)
        make_space(mount)
        sync(mount / 'a')
    check_stored(layout, a=DATA, kept=KEPT)


@run_on(tmpfs, ext4)
def more_than_memory_holds_is_refused(layout):
    with mounted(layout, '-o', 'cache=4M') as mount:
        fill_up(mount)
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        for i in range(5):
            check(write_all(fd, DATA * 5) == errno.ENOSPC, 'fits')
            check(read(mount / 'kept') == KEPT, 'what was there')
        make_space(mount)
        check(write_all(fd, DATA) in (0, errno.ENOSPC), 'an error of now')
        check(write_all(fd, DATA) == 0, 'there is no space')
        os.ftruncate(fd, len(DATA))
        os.close(fd)
    check_stored(layout, a=DATA, kept=KEPT)


@run_on(tmpfs)
def unmounting_says_what_is_lost(layout):
    with mounted(layout) as mount:
        fill_up(mount)
        fd = open_before(mount / 'a')
        os.pwrite(fd, DATA[:100], 0)
        os.fsync(fd)
        check(write_all(fd, DATA) == errno.ENOSPC, 'fits')
        error_of(os.close, fd)
        sh('fusermount3 -u mnt')
        status = mount.daemon.wait(PATIENCE)
        check(status == 0, 'status %d: %s' % (status, mount.log()))
        said = 'a.b2frame: bytes 0 to %d cannot be written and are lost' % \
            len(DATA)
        check(said in mount.log(), mount.log())
    check_stored(layout, a=DATA[:100], kept=KEPT)


@run_on(tmpfs, ext4)
def files_are_removed_and_cut_on_a_full_disk(layout):
    with mounted(layout) as mount:
        write(mount / 'b', DATA)
        sync(mount / 'b')
        fill_up(mount)
        check(error_of(write, 'src/full', bytes(4 * MIB)) == errno.ENOSPC,
              'there is space')
        check(error_of(write, mount / 'c', DATA) in (0, errno.ENOSPC), 'c')
        os.truncate(mount / 'b', 100000)
        if os.path.exists(mount / 'c'):
            os.unlink(mount / 'c')
        make_space(mount)
        sync(mount / 'b')
    check_stored(layout, b=DATA[:100000], kept=KEPT)


@run_on(tmpfs)
def no_inodes_are_left(layout):
    change_tmpfs('src', 'nr_inodes=20')
    with mounted(layout) as mount:
        write(mount / 'kept', KEPT[:100000])
        sync(mount / 'kept')
        made = []
        error = 0
        while not error:
            check(len(made) < 20, 'there are inodes')
            made.append(mount / ('x%d' % len(made)))
            error = error_of(write, made[-1], b'x') or \
                error_of(sync, made[-1])
        check(error == errno.ENOSPC, 'error %d' % error)
        check(read(mount / 'kept') == KEPT[:100000], 'what was there')
        for path in filter(os.path.exists, made[1:]):
            os.unlink(path)
        write(mount / 'y', b'y')
        sync(mount / 'y')
    check_stored(layout, kept=KEPT[:100000], y=b'y')


def limit_files(mount, size):
    """Limit the size of the daemon's files."""
    limits = (size, resource.RLIM_INFINITY)
    resource.prlimit(mount.daemon.pid, resource.RLIMIT_FSIZE, limits)


@run_on(directory, tmpfs, ext4)
def file_size_limit_does_not_kill_the_daemon(layout):
    """The limit acts like a quota, for the daemon alone."""
    with mounted(layout, '-o', 'chunksize=2M') as mount:
        write(mount / 'kept', KEPT)
        sync(mount / 'kept')
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        limit_files(mount, MIB)
        check(write_all(fd, DATA) == errno.EFBIG, 'is written')
        check(read(mount / 'kept') == KEPT, 'what was there')
        limit_files(mount, 10)
        check(error_of(write, mount / 'b', b'') == errno.EFBIG, 'is made')
        limit_files(mount, resource.RLIM_INFINITY)
        os.fsync(fd)
        os.close(fd)
    check_stored(layout, a=DATA, kept=KEPT)


def loop_of(path):
    """Return the name of the loop device that is mounted."""
    device = os.stat(path).st_dev
    return os.path.basename(os.path.realpath('/sys/dev/block/%d:%d' % (
        os.major(device), os.minor(device))))


@run_on(ext4)
def disk_that_becomes_read_only(layout):
    # The mount takes all that is written before a commit fails.
    with mounted(layout, '-o', 'commit=0') as mount:
        write(mount / 'kept', KEPT)
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        os.pwrite(fd, DATA, 0)
        os.fsync(fd)
        sync(mount / 'kept')
        write('/sys/fs/ext4/%s/trigger_fs_error' % loop_of('src'), b'test')
        check(write_all(fd, DATA[::-1]) in (errno.EROFS, errno.EIO), 'writes')
        check(read(mount / 'kept') == KEPT, 'what was there')
        check(error_of(write, mount / 'b', b'') in (errno.EROFS, errno.EIO),
              'is made')
        error_of(os.close, fd)
        sh('fusermount3 -u mnt')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')
        check('a.b2frame: bytes 0 to %d' % len(DATA) in mount.log(),
              mount.log())
    sh('umount src && mount -o loop disk.image src')
    check_stored(layout, a=DATA, kept=KEPT)


@contextlib.contextmanager
def failing():
    """Mount a disk that fails after 8 MiB have been written to it."""
    need_disks()
    with harness.tmpfs('below', '8m'):
        sh('truncate -s 64M below/disk')
        sh('mkfs.ext4 -q -m 0 -E lazy_itable_init=1 -J size=4 below/disk')
        sh('mount -o loop below/disk src')
        try:
            yield
        finally:
            sh('umount src')


@run_on(failing)
def disk_that_fails(layout):
    with mounted(layout) as mount:
        write(mount / 'kept', KEPT)
        sync(mount / 'kept')
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        os.pwrite(fd, DATA[:MIB], 0)
        os.fsync(fd)
        error = 0
        for i in range(10):
            error = error or write_all(fd, DATA[i:])
        check(error in (errno.EIO, errno.EROFS, errno.ENOSPC),
              'error %d' % error)
        check(read(mount / 'kept') == KEPT, 'what was there')
        error_of(os.close, fd)
        sh('fusermount3 -u mnt')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')
        check('a.b2frame: bytes 0 to' in mount.log(), mount.log())
    sh('umount src')
    change_tmpfs('below', 'size=80m')
    sh('mount -o loop below/disk src')
    check_stored(layout, kept=KEPT)


main(write_reports_that_the_disk_is_full,
     what_the_kernel_has_lost_is_reported_until_it_is_written,
     what_the_kernel_has_lost_can_be_cut_off,
     what_is_lost_of_files_that_are_no_frames_is_reported_too,
     lost_bytes_that_become_zeros_leave_the_size,
     holes_may_end_among_lost_bytes,
     more_than_the_disk_holds_is_not_allocated,
     files_on_a_full_disk_can_be_mapped,
     what_does_not_fit_is_written_when_there_is_space,
     overwriting_what_is_stored,
     close_reports_that_the_disk_is_full,
     more_than_memory_holds_is_refused,
     unmounting_says_what_is_lost,
     files_are_removed_and_cut_on_a_full_disk,
     no_inodes_are_left,
     file_size_limit_does_not_kill_the_daemon,
     disk_that_becomes_read_only,
     disk_that_fails)
