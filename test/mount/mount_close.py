#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount close
"""After close() returns, the frame holds the data that was written.

usage: mount_close.py FRAMEFS [TEST...]
"""

import json
import os
import random
import time

from mounted import (Mount, check, check_content, layouts, main, read, wait_for,
                     write)

DATA = b''.join(b'%d\n' % i for i in range(60000))


def mounted(layout, *options):
    """Mount without timed commits, so that only the test's own calls cause a
    commit."""
    return Mount('src', 'mnt', '-o', 'commit=0,layout=' + layout, *options)


def written(mount, what):
    stats = json.loads(os.getxattr(mount.path, 'user.framefs.stats'))
    return stats['written'][what]


def ncommits(mount):
    return written(mount, 'commits')


def index_of(layout):
    """Return the path of the file whose times are those of frame a."""
    return 'src/a.b2frame' + ('/chunks.b2frame' if layout == 'sparse' else '')


def close_in_child(fd):
    """Close a descriptor that a child process has inherited."""
    pid = os.fork()
    if pid == 0:
        os.close(fd)
        os._exit(0)  # pylint: disable=protected-access
    check(os.waitpid(pid, 0)[1] == 0, 'child')


@layouts
def what_is_closed_is_in_the_frame(layout):
    with mounted(layout, '-o', 'chunksize=64K') as mount:
        write(mount / 'a', DATA)
        check_content('src/a.b2frame', DATA)
        with open(mount / 'a', 'ab') as file:
            file.write(DATA)
        check_content('src/a.b2frame', DATA + DATA)
        with open(mount / 'a', 'r+b') as file:
            file.truncate(70001)
        check_content('src/a.b2frame', DATA[:70001])
        with open(mount / 'a', 'wb'):
            pass
        check_content('src/a.b2frame', b'')


@layouts
def what_is_closed_outlives_the_daemon(layout):
    with mounted(layout, '-o', 'chunksize=64K') as mount:
        for i in range(10):
            write(mount / 'a', DATA[i:])
            write(mount / ('b%d' % i), DATA[i:])
        mount.crash()
    with mounted(layout) as mount:
        check(read(mount / 'a') == DATA[9:], 'what was overwritten')
        for i in range(10):
            check(read(mount / ('b%d' % i)) == DATA[i:], 'file %d' % i)


@layouts
def close_of_one_of_many_descriptors_commits_once(layout):
    with mounted(layout) as mount:
        with open(mount / 'a', 'wb', buffering=0) as file:
            file.write(DATA)
            os.close(os.dup(file.fileno()))
            check(ncommits(mount) == 1, 'commits: %d' % ncommits(mount))
            check_content('src/a.b2frame', DATA)
            for _ in range(10):
                os.close(os.dup(file.fileno()))
                close_in_child(file.fileno())
            check(ncommits(mount) == 1, 'commits: %d' % ncommits(mount))
            os.fsync(file.fileno())
            check(ncommits(mount) == 1, 'fsync commits again')
            file.write(DATA)
            close_in_child(file.fileno())
            check_content('src/a.b2frame', DATA + DATA)


@layouts
def close_commits_later_if_so_mounted(layout):
    with mounted(layout, '-o', 'close=later') as mount:
        with open(mount / 'a', 'wb', buffering=0) as file:
            file.write(DATA)
            os.close(os.dup(file.fileno()))
            check(ncommits(mount) == 0, 'commits: %d' % ncommits(mount))
    check_content('src/a.b2frame', DATA)


@layouts
def the_time_of_the_last_write_is_the_frames_after_close(layout):
    path = index_of(layout)
    with mounted(layout) as mount:
        for mode in 'wb', 'ab':
            with open(mount / 'a', mode, buffering=0) as file:
                file.write(DATA)
                time = os.fstat(file.fileno()).st_mtime_ns
                while True:
                    write('later', b'')
                    if os.stat('later').st_mtime_ns > time:
                        break
            check(os.stat(path).st_mtime_ns == time, 'time under SOURCE')
            check(os.stat(mount / 'a').st_mtime_ns == time, 'time that shows')
    check(os.stat(path).st_mtime_ns == time, 'time in the end')


@layouts
def a_time_that_was_set_is_the_frames_after_close(layout):
    path = index_of(layout)
    with mounted(layout) as mount:
        with open(mount / 'a', 'wb', buffering=0) as file:
            file.write(DATA)
            os.utime(file.fileno(), (1234, 5678))
        check(os.stat(path).st_mtime == 5678, 'time under SOURCE')
        check(os.stat(mount / 'a').st_mtime == 5678, 'time that shows')
        with open(mount / 'a', 'ab') as file:
            file.write(DATA)
        check(os.stat(path).st_mtime != 5678, 'time after a write')
        check_content('src/a.b2frame', DATA + DATA)
    check(os.stat(path).st_mtime != 5678, 'time in the end')


@layouts
def removing_a_file_stops_its_commit(layout):
    """A program that removes a file does not wait until all of it is
    encoded."""
    data = random.Random(1).randbytes(20 << 20)
    with mounted(layout, '-o', 'close=later,codec=zstd,clevel=9,threads=1,'
                 'chunksize=256K') as mount:
        for _ in range(4):
            before = written(mount, 'encoded')
            write(mount / 'a', data)
            # The commit begins a moment later.
            time.sleep(0.2)
            wait_for(lambda: written(mount, 'encoded') > before, 'the commit')
            os.unlink(mount / 'a')
            encoded = written(mount, 'encoded') - before
            # A slow program may come too late.
            if encoded < len(data) // 256 * 255:
                break
        else:
            check(False, 'all was encoded')
        write(mount / 'b', DATA)
        check(written(mount, 'commits_failed') == 0, 'a commit failed')
        check(mount.log() == '', mount.log())
    check_content('src/b.b2frame', DATA)
    check(os.listdir('src') == ['b.b2frame'], str(os.listdir('src')))


main(what_is_closed_is_in_the_frame,
     what_is_closed_outlives_the_daemon,
     close_of_one_of_many_descriptors_commits_once,
     close_commits_later_if_so_mounted,
     the_time_of_the_last_write_is_the_frames_after_close,
     a_time_that_was_set_is_the_frames_after_close,
     removing_a_file_stops_its_commit)
