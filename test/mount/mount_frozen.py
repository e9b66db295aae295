#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount frozen
"""When a file system below SOURCE hangs, only the calls that use it are
delayed.

Skipped unless a file system in a loop device can be frozen.

usage: mount_frozen.py FRAMEFS [TEST...]
"""

import concurrent.futures
import contextlib
import os
import shutil
import subprocess

from mounted import (PATIENCE, Mount, Skipped, check, disk, error_of, frame,
                     frozen, main, read, sh, wait_for, write)

DATA = b'some bytes' * 1000


def is_renaming(mount):
    """Does a thread of the daemon wait in the kernel for the frozen file
    system?"""
    path = '/proc/%d/task' % mount.daemon.pid
    for task in os.listdir(path):
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b'percpu_rwsem' in read('%s/%s/wchan' % (path, task)):
                return True
    return False


def use_the_rest(mount):
    """Use files and directories that are not on the frozen file system."""
    check(read(mount / 'a') == DATA, 'content')
    write(mount / 'new', DATA)
    os.rename(mount / 'new', mount / 'b')
    os.rename(mount / 'b', mount / 'dir/b')
    os.chmod(mount / 'dir/b', 0o600)
    os.rename(mount / 'dir', mount / 'other')
    check(read(mount / 'other/b') == DATA, 'content of what was renamed')
    os.rename(mount / 'other', mount / 'dir')
    os.remove(mount / 'dir/b')
    check(error_of(os.stat, mount / 'dir/b') != 0, 'is there')


def call_that_hangs_holds_up_nobody_else(words):
    if not shutil.which('fsfreeze'):
        raise Skipped('no fsfreeze')
    with disk('src/sub', '20M'):
        # These frames have never been written through the mount, so nothing but
        # the call under test can hang.
        for name in ('a', 'sub/a', 'sub/c'):
            write('src/%s.b2frame' % name, frame(DATA, 4096))
        sh('sync -f src/sub')
        with concurrent.futures.ThreadPoolExecutor() as threads, \
                Mount('src', 'mnt') as mount:
            os.mkdir(mount / 'dir')
            hang(mount, threads, words)


def hang(mount, threads, words):
    child = None
    try:
        with frozen('src/sub'):
            child = subprocess.Popen(words)
            wait_for(lambda: is_renaming(mount), 'a call that hangs')
            use = threads.submit(use_the_rest, mount)
            done = concurrent.futures.wait([use], PATIENCE).done
            check(done and child.poll() is None,
                  'nothing hangs' if done else 'others hang, too')
            use.result()
    finally:
        if child:
            child.wait()
    check(child.returncode == 0, 'call fails')


def rename_that_hangs_holds_up_nobody_else():
    call_that_hangs_holds_up_nobody_else(['mv', 'mnt/sub/a', 'mnt/sub/b'])


def change_that_hangs_holds_up_no_rename():
    call_that_hangs_holds_up_nobody_else(['chmod', '600', 'mnt/sub/c'])


main(rename_that_hangs_holds_up_nobody_else,
     change_that_hangs_holds_up_no_rename)
