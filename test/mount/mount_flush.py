#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount flush
"""Written data is committed in time, even while other files are busy and other
disks hang.

usage: mount_flush.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import json
import mmap
import os
import random
import subprocess
import threading

from mounted import (B2FRAME, Mount, can_mount, change_tmpfs, check, disk,
                     error_of, frozen, main, read, sh, tmpfs, wait_for)

MIB = 1 << 20
DATA = random.Random(8).randbytes(12 * MIB)
HOUR = 'commit=3600'


def stored(name):
    """Return the content of a new frame after its last commit, or b'' if there
    was none."""
    done = subprocess.run([B2FRAME, 'cat', 'src/%s.b2frame' % name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return done.stdout if done.returncode == 0 else b''


def written(mount):
    return json.loads(os.getxattr(mount.path, 'user.framefs.stats'))['written']


def page(number):
    """Return a page for an O_DIRECT write, which the kernel passes to the
    daemon at once."""
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    memory.write(bytes([number]) * mmap.PAGESIZE)
    return memory


def open_direct(path):
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)


def what_the_kernel_hands_over_is_committed_at_once():
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', HOUR) as mount:
        fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
        os.write(fd, DATA[:1000])
        sh('sync -f mnt')
        wait_for(lambda: stored('a') == DATA[:1000], 'what is new')
        os.pwrite(fd, b'overwritten', 100)
        sh('sync -f mnt')
        wait_for(lambda: stored('a')[100:111] == b'overwritten', 'the rest')
        os.close(fd)


def a_file_that_is_always_written_to_is_committed_too():
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', 'commit=1') as mount:
        fd = open_direct(mount / 'a')
        ending = threading.Event()

        def keep_writing():
            for i in range(1 << 30):
                os.pwritev(fd, [page(i % 250 + 1)], 0)
                if ending.wait(0.05):
                    return

        thread = threading.Thread(target=keep_writing)
        thread.start()
        try:
            wait_for(lambda: stored('a'), 'a commit')
            first = stored('a')
            wait_for(lambda: stored('a') != first, 'another one')
        finally:
            ending.set()
            thread.join()
        os.close(fd)


@contextlib.contextmanager
def writer(paths):
    """Start a process that has new files open and writes to them when it is
    told to.  The test does not open them itself, because every child that it
    starts would inherit them, and would hang when it closes them."""
    opened, ready = os.pipe()
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(tell)
        files = [open_direct(path) for path in paths]
        os.write(ready, b'r')
        os.read(told, 1)
        for fd in files:
            os.pwritev(fd, [page(1)], 0)
        os.read(told, 1)
        os._exit(0)
    try:
        os.read(opened, 1)
        yield lambda: os.write(tell, b'w')
    finally:
        os.close(tell)
        os.waitpid(pid, 0)
        for fd in (opened, ready, told):
            os.close(fd)


def a_disk_that_hangs_stops_no_other():
    names = ['sub/a%d' % i for i in range(5)]
    with disk('src/sub', '40M'), Mount('src', 'mnt', '-o', 'commit=1,threads=1') as mount:
        good = open_direct(mount / 'good')
        with writer([mount / name for name in names]) as write:
            with frozen('src/sub'):
                write()
                for i in range(1, 4):
                    os.pwritev(good, [page(i)], 0)
                    wait_for(lambda i=i: stored('good') == page(i)[:],
                             'a commit')
            for name in names:
                wait_for(lambda name=name: stored(name) == page(1)[:], name)
        os.close(good)


def a_full_disk_concerns_nobody_else():
    with tmpfs('src/sub', '1m'), Mount('src', 'mnt', '-o', 'cache=16M') as mount:
        fd = os.open(mount / 'sub/full', os.O_RDWR | os.O_CREAT)
        error = 0
        while not error:
            error = error_of(os.write, fd, DATA) or error_of(os.fsync, fd)
        check(error == errno.ENOSPC, 'error %d' % error)
        for i in range(3):
            good = os.open(mount / 'good', os.O_RDWR | os.O_CREAT)
            check(os.pwrite(good, DATA, 0) == len(DATA), 'write')
            check(error_of(os.fsync, good) == 0, 'fsync')
            check(error_of(os.close, good) == 0, 'close')
            check(stored('good') == DATA, 'what is stored')
        os.ftruncate(fd, 0)
        check(error_of(os.fsync, fd) == 0, 'there is space')
        os.close(fd)


def nothing_is_encoded_while_a_disk_is_full():
    with tmpfs('src/sub', '60m'), Mount('src', 'mnt', '-o', 'commit=1') as mount:
        # Open the file while there is space, because the kernel then accepts the
        # data.
        fd = os.open(mount / 'sub/full', os.O_RDWR | os.O_CREAT)
        change_tmpfs('src/sub', 'size=1m')
        os.write(fd, DATA)
        check(error_of(os.fsync, fd) == errno.ENOSPC, 'there is space')
        before = written(mount)
        wait_for(lambda: written(mount)['commits_failed'] >=
                 before['commits_failed'] + 4, 'another try')
        check(written(mount)['encoded'] <= before['encoded'] + MIB,
              'encoded %s, then %s' % (before, written(mount)))
        change_tmpfs('src/sub', 'size=60m')
        wait_for(lambda: stored('sub/full') == DATA, 'a commit')
        os.close(fd)
        check(read(mount / 'sub/full') == DATA, 'what is there')


def what_the_kernel_keeps_is_committed_in_time():
    """By itself the kernel keeps dirty pages for half a minute."""
    os.mkdir('src')

    def change(where):
        before = read('src/x.b2frame')
        memory[where] ^= 1
        wait_for(lambda: read('src/x.b2frame') != before, 'a commit')

    with Mount('src', 'mnt', '-o', 'commit=1') as mount:
        with open(mount / 'x', 'w+b') as file:
            file.write(DATA)
            file.flush()
            memory = mmap.mmap(file.fileno(), len(DATA))
            os.fsync(file.fileno())
            change(0)
            change(MIB)
            if can_mount():
                # The daemon must not sync the file system that is now mounted
                # over its own.
                with tmpfs('mnt'):
                    change(2)
                    change(MIB + 1)
            else:
                print('skipped: only root can mount a tmpfs')
            memory.close()


main(what_the_kernel_hands_over_is_committed_at_once,
     what_the_kernel_keeps_is_committed_in_time,
     a_file_that_is_always_written_to_is_committed_too,
     a_disk_that_hangs_stops_no_other,
     a_full_disk_concerns_nobody_else,
     nothing_is_encoded_while_a_disk_is_full)
