#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount replaced_calls; args framefs stop_at
"""A frame that is replaced between any two calls by which the daemon finds and
opens it is found all the same, and has its name.

usage: mount_replaced_calls.py FRAMEFS STOP_AT [TEST...]

  STOP_AT  a library that stops the program which it is loaded into after its
           N-th call that opens or looks at the frame

Each test is repeated with the daemon stopped after its first call, its second
and so on, until there are no more.  While it is stopped, another mount replaces
the frame.
"""

import errno
import mmap
import os
import signal
import struct
import sys

from mounted import Mount, check, harness, layouts, main, read, start, write

STOP_AT = os.path.abspath(sys.argv.pop(2))
OLD = b'old content' * 20000
NEW = b'the new content' * 20000


class Stopped(Mount):
    """A mount whose daemon stops itself."""

    def __enter__(self):
        os.environ.update(LD_PRELOAD=STOP_AT, STOP_FILE='stop',
                          STOP_NAME='a.b2frame')
        try:
            return super().__enter__()
        finally:
            for name in 'LD_PRELOAD', 'STOP_FILE', 'STOP_NAME':
                del os.environ[name]


def replaced_at(layout, number, act):
    """Replace the frame after this number of calls.  Return whether there were
    so many."""
    write('stop', bytes(mmap.PAGESIZE))
    options = ['-o', 'layout=%s,entry_timeout=0,attr_timeout=0' % layout]
    with Mount('src', 'second', *options), \
            Stopped('src', 'mnt', *options) as mount, \
            open('stop', 'r+b') as file, \
            mmap.mmap(file.fileno(), mmap.PAGESIZE) as stop:
        write('second/a', OLD)
        write('second/new', NEW)
        os.sync()
        stop[:4] = struct.pack('=I', number)
        child = start(act)
        pid, status = os.waitpid(-1, os.WUNTRACED)
        stopped = pid == mount.daemon.pid and os.WIFSTOPPED(status)
        check(stopped or pid == child, 'daemon left: %d' % status)
        if stopped:
            os.rename('second/new', 'second/a')
            mount.daemon.send_signal(signal.SIGCONT)
            _, status = os.waitpid(child, 0)
        # It may also have stopped after its reply.
        stop[:4] = bytes(4)
        mount.daemon.send_signal(signal.SIGCONT)
        check(status == 0, 'replaced after call %d' % number)
        check(read('mnt/a') == (NEW if stopped else OLD), 'content')
    os.remove('src/a.b2frame') if layout == 'contiguous' else \
        remove_sparse('src/a.b2frame')
    return stopped


def remove_sparse(path):
    for name in os.listdir(path):
        os.remove(os.path.join(path, name))
    os.rmdir(path)


def at_each_call(layout, act):
    os.mkdir('second')
    number = 1
    while replaced_at(layout, number, act):
        number += 1
    check(number > 1, 'it never stopped')


def read_whole():
    """A program that has opened the old frame gets its bytes, or ESTALE."""
    try:
        with open('mnt/a', 'rb', buffering=0) as file:
            data = b''.join(iter(lambda: file.read(1 << 20), b''))
    except OSError as error:
        check(error.errno == errno.ESTALE and error.filename is None,
              'error: %s' % error)
        return
    check(data in (OLD, NEW), 'mixed content')


def look():
    size = os.stat('mnt/a').st_size
    check(size in (len(OLD), len(NEW)), 'size %d' % size)


def look_into_directory():
    names = [(entry.name, entry.is_file()) for entry in os.scandir('mnt')]
    check(('a', True) in names, 'entries: %s' % names)
    check({name for name, _ in names} <= {'a', 'new'}, 'entries: %s' % names)


@layouts
def program_that_opens_a_frame(layout):
    at_each_call(layout, read_whole)


@layouts
def program_that_looks_at_a_frame(layout):
    at_each_call(layout, look)


@layouts
def program_that_lists_a_directory(layout):
    at_each_call(layout, look_into_directory)


if harness.SANITIZED:
    print('skipped: a library cannot be loaded before the sanitizer')
    sys.exit(harness.SKIP)
main(program_that_opens_a_frame, program_that_looks_at_a_frame,
     program_that_lists_a_directory)
