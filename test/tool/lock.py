#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame lock; timeout 60
"""b2frame --lock takes part in the locking of frames by .b2lock files.

usage: lock.py B2FRAME [TEST...]
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import time

import harness
from scene import (LAYOUTS, TIMEOUT, TOOL, b2frame, check, check_frame, frame,
                   main, noise)

SIZE = 1000
DATA = noise(2 * SIZE)
OTHER = noise(2 * SIZE, 1)


def make(layout, content=DATA, path='f'):
    return frame(path, content, '--chunksize', str(SIZE), '--typesize', '1',
                 '--layout', layout, '--force')


def lock_file_of(path):
    return path + ('/.b2lock' if os.path.isdir(path) else '.b2lock')


def count_of(path):
    with open(lock_file_of(path), 'rb') as file:
        return int.from_bytes(file.read(16)[8:], 'little')


@contextlib.contextmanager
def locked(path, how):
    """Another program holds the lock of the frame."""
    with open(lock_file_of(path), 'a+b') as file:
        fcntl.flock(file, how)
        yield
        fcntl.flock(file, fcntl.LOCK_UN)


def looks_at(tool, path):
    """Does the tool have the file open?"""
    folder = '/proc/%d/fd' % tool.pid
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(os.path.join(folder, name), path):
                return True
    return False


def start(*words, **env):
    """Start the tool, and wait until it has opened the lock file."""
    tool = subprocess.Popen([TOOL, *words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=dict(harness.environment(), **env))
    path = lock_file_of(words[-1] if words[-1] != '-' else words[-2])
    until = time.monotonic() + TIMEOUT
    while not looks_at(tool, path):
        check(tool.poll() is None, 'has ended, does not wait')
        check(time.monotonic() < until, 'does not look at the lock file')
        time.sleep(0.001)
    return tool


def output_of(tool):
    said, complaint = tool.communicate(timeout=TIMEOUT)
    check(tool.returncode == 0, 'status %d: %s' % (tool.returncode, complaint))
    return said


def replace(layout):
    """Replace the frame by another one, which keeps the lock file."""
    make(layout, OTHER, 'other')
    if layout == 'sparse':
        for name in os.listdir('other'):
            os.rename('other/' + name, 'f/' + name)
        os.rmdir('other')
    else:
        os.rename('other', 'f')


def readers_wait_and_see_what_was_changed():
    for layout in LAYOUTS:
        for words, env in (('--lock', 'cat', 'f'), {}), (
                ('cat', 'f'), {'BLOSC_LOCKING': '1'}):
            make(layout)
            with locked('f', fcntl.LOCK_EX):
                tool = start(*words, **env)
                replace(layout)
            check(output_of(tool) == OTHER, layout + ': content')
            check(count_of('f') == 0, layout + ': a reader counts')


def frames_may_grow_while_somebody_waits():
    for layout in LAYOUTS:
        for words in (('info',), ('verify',), ('truncate', '--size', '3500')):
            make(layout)
            with locked('f', fcntl.LOCK_EX):
                tool = start('--lock', *words, 'f')
                b2frame('append', 'f', '-', stdin=OTHER)
            output_of(tool)
        check_frame('f', (DATA + OTHER)[:3500])


def readers_do_not_wait_for_readers():
    for layout in LAYOUTS:
        make(layout)
        with locked('f', fcntl.LOCK_SH):
            check(b2frame('--lock', 'cat', 'f') == DATA, 'content')
            b2frame('--lock', 'verify', 'f', 'f')


def frames_are_not_locked_unasked():
    make('contiguous')
    b2frame('append', 'f', '-', stdin=DATA)
    check(not os.path.exists('f.b2lock'), 'there is a lock file')
    with locked('f', fcntl.LOCK_EX):
        b2frame('append', 'f', '-', stdin=DATA)
    check(count_of('f') == 0, 'is counted')


def writers_wait_for_readers_and_count():
    for layout in LAYOUTS:
        make(layout)
        b2frame('--lock', 'truncate', '--size', '1500', 'f')
        check(count_of('f') == 1, 'count %d' % count_of('f'))
        with locked('f', fcntl.LOCK_SH):
            tool = start('--lock', 'compact', 'f')
            check(count_of('f') == 1, 'counts before it has the lock')
        output_of(tool)
        check(count_of('f') == 2, 'count %d' % count_of('f'))
        check_frame('f', DATA[:1500])


def what_many_change_at_a_time_is_all_there():
    pieces = [noise(SIZE, n) for n in range(12)]
    for layout in LAYOUTS:
        make(layout, b'')
        tools = []
        for n, piece in enumerate(pieces):
            tools.append(subprocess.Popen(
                [TOOL, '--lock', 'append', 'f', '-'], stdin=subprocess.PIPE,
                env=harness.environment()))
            tools[-1].stdin.write(piece)
            tools[-1].stdin.close()
            # compact replaces the file of the frame.
            if n % 3 == 0:
                tools.append(subprocess.Popen([TOOL, '--lock', 'compact', 'f'],
                                              env=harness.environment()))
        for tool in tools:
            check(tool.wait(timeout=TIMEOUT) == 0, 'status')
        content = b2frame('cat', 'f')
        check_frame('f', content)
        there = [content[at:at + SIZE] for at in range(0, len(content), SIZE)]
        check(sorted(there) == sorted(pieces), layout + ': content')


def who_waits_can_be_stopped():
    for number in signal.SIGINT, signal.SIGTERM:
        for words in ('append', 'f', '-'), ('cat', 'f'):
            make('contiguous')
            with locked('f', fcntl.LOCK_EX):
                tool = start('--lock', *words)
                tool.send_signal(number)
                said = tool.communicate(timeout=TIMEOUT)
            check(tool.returncode == -number, 'status %d' % tool.returncode)
            check(said == (b'', b''), 'says %s' % (said,))
            check_frame('f', DATA)


main(readers_wait_and_see_what_was_changed,
     frames_may_grow_while_somebody_waits,
     readers_do_not_wait_for_readers,
     frames_are_not_locked_unasked,
     writers_wait_for_readers_and_count,
     what_many_change_at_a_time_is_all_there,
     who_waits_can_be_stopped)
