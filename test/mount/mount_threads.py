#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount threads
"""Threads of the daemon are there when they are needed, and stay for a while.

usage: mount_threads.py FRAMEFS [TEST...]
"""

import mmap
import os
import time

from mounted import Mount, check, frame, main, opened, write

PAGE = mmap.PAGESIZE
DATA = bytes(i * 7 % 251 for i in range(16 * PAGE))
NREADS = 4000
LIFE = 20  # seconds; idle threads end after thirty


def threads(mount):
    return set(os.listdir('/proc/%d/task' % mount.daemon.pid))


def read_past_the_cache(path, n):
    """Read pages with O_DIRECT, so that each read is a request."""
    with opened(path, os.O_RDONLY | os.O_DIRECT) as fd, \
            mmap.mmap(-1, PAGE) as page:
        for i in range(n):
            off = i % 16 * PAGE
            check(os.preadv(fd, [page], off) == PAGE, 'read')
            check(page[:] == DATA[off:off + PAGE], 'content')


def stay_on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class OnOneProcessor(Mount):
    before_start = staticmethod(stay_on_one_processor)


def threads_are_kept_on_a_busy_processor():
    """On one processor, a program that got its answer often goes on before the
    thread that gave it, so that another thread must take the next request."""
    write('a.b2frame', frame(DATA, PAGE))
    before = os.sched_getaffinity(0)
    try:
        with OnOneProcessor('.', 'mnt', '-oro') as mount:
            stay_on_one_processor()
            spent = LIFE
            while spent >= LIFE:  # the machine was too slow to tell
                read_past_the_cache(mount / 'a', 100)
                had = threads(mount)
                begun = time.monotonic()
                read_past_the_cache(mount / 'a', NREADS)
                have = threads(mount)
                spent = time.monotonic() - begun
            check(had <= have, 'of the threads %s remained %s' % (had, have))
    finally:
        os.sched_setaffinity(0, before)


main(threads_are_kept_on_a_busy_processor)
