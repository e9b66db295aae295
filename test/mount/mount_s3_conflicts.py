#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 conflicts; timeout 300
"""Other hosts change or remove a frame while programs write to it, and replies
of the server are lost.  No program is told that its bytes are stored if they
are not.

usage: mount_s3_conflicts.py FRAMEFS [TEST...]
"""

import errno
import itertools
import os
import threading
import time

from mounted import (Mount, b2frame, check, error_of, harness,
                     main, opened, read, sh, wait_for, write)
from s3_frames import (CHUNK, CONTENT, NCHUNKS, check_frame, figures,
                       from_the_daemon, make, mounted, patched, prepare_commit, put)
from s3_server import S3, error
from web import Plan

INDEX = 'chunks.b2frame'


def is_commit(request):
    return request.method == 'PUT' and request.path.endswith(INDEX)


def commit_of_another(state, hold=None):
    """A plan: another host commits before the server looks at the first commit
    of the mount, which then waits for an event."""
    done = []

    def plan(request, _):
        if not is_commit(request) or done:
            return None
        done.append(request)
        for name, content in state:
            write('top/f/' + name, content)
        return Plan(hold=hold) if hold else None
    return plan, done


def waits_for_a_file(thread):
    """Does a thread wait in a call whose first argument is a descriptor?"""
    words = read('/proc/self/task/%d/syscall' % thread.native_id).split()
    return len(words) > 1 and int(words[1], 16) < 4096


def a_commit_of_the_daemon_meets_a_conflict(call, *options):
    """While a call of the program waits for it, and before that call."""
    state = prepare_commit()
    for waits in True, False:
        with mounted('commit=1', *options) as (server, mount):
            fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
            put(fd, b'first', 9 * CHUNK)
            os.fsync(fd)
            go = threading.Event()
            plan, seen = commit_of_another(state, go if waits else None)
            server.forget(plan)
            put(fd, b'mine', 3 * CHUNK)
            wait_for(lambda: seen, 'the commit')
            errors = []
            if waits:
                thread = threading.Thread(
                    target=lambda: errors.append(error_of(call, fd)))
                thread.start()
                wait_for(lambda: waits_for_a_file(thread), 'the call')
                go.set()
                thread.join()
            errors += [error_of(os.fsync, fd) for _ in range(3)]
            check(set(errors) == {errno.ESTALE}, '%s: %s' % (waits, errors))
            check(from_the_daemon(fd, 4, 3 * CHUNK) == b'mine', 'what it wrote')
            copy = os.dup(fd)
            for one in copy, fd:
                check(error_of(os.close, one) == errno.ESTALE, 'close')
        check_frame(patched(CONTENT, 3 * CHUNK, b'z' * CHUNK))
        sh('rm -r top')


def a_sync_tells_of_a_conflict_that_the_daemon_has_met():
    a_commit_of_the_daemon_meets_a_conflict(os.fsync)


def a_close_tells_of_a_conflict_that_the_daemon_has_met():
    a_commit_of_the_daemon_meets_a_conflict(lambda fd: os.close(os.dup(fd)))


def copy_chunk(source, target, number):
    check(os.copy_file_range(source, target, CHUNK, number * CHUNK,
                             number * CHUNK) == CHUNK, 'copied in part')


def no_older_bytes_are_copied_after_a_conflict():
    """By copy_file_range(): the bytes that a program has written and still
    sees, or none, if there was too little memory for them."""
    count = [0, 0]
    os.makedirs('top/runs')
    os.mkdir('mnt2')
    for name in 'fg':
        make('top/runs/%s.b2frame' % name)
    with S3('top') as server, \
            Mount(server.url + 'runs', 'mnt', '-o', 'commit=0,cache=1200k') \
            as mount, Mount(server.url + 'runs', 'mnt2') as other:
        fds = []
        for turn in range(3):
            fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
            fds.append(fd)
            put(fd, b'mine', 0)
            write_to(other / 'f', b'theirs%d' % turn)
            written = [number for number in range(1, NCHUNKS)
                       if not error_of(put, fd, b'mine', number * CHUNK)]
            check(error_of(os.fsync, fd) == errno.ESTALE, 'is synced')
            with opened(mount / 'g', os.O_RDWR) as out:
                for number in written:
                    failed = error_of(copy_chunk, fd, out, number)
                    check(failed in (0, errno.EIO), 'error %d' % failed)
                    count[failed != 0] += 1
                    check(failed or os.pread(out, 4, number * CHUNK) == b'mine',
                          'older bytes in chunk %d' % number)
        for fd in fds:
            error_of(os.close, fd)
    check(min(count) > 0, 'all or nothing was kept: %s' % count)


def write_to(path, data):
    with opened(path, os.O_RDWR) as fd:
        put(fd, data, 0)


def a_bucket_that_is_gone_is_an_error():
    """Soon, and not a conflict: of writes, fsync() and close()."""
    for place in 'write', 'index', 'chunk':
        with mounted('timeout=20', 'commit=0') as (server, mount):
            fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
            put(fd, b'first', 0)
            os.fsync(fd)
            gone = []

            def plan(request, _):
                if place == 'write' or (is_commit(request) and
                                        place == 'index'):
                    gone.append(request)
                if place == 'chunk' and request.method == 'PUT':
                    gone.append(request)
                return (Plan(status=404, body=error('NoSuchBucket'))
                        if gone else None)

            server.forget(plan)
            begin = time.monotonic()
            wrote = error_of(put, fd, b'mine', 3 * CHUNK)
            check(wrote == (errno.ENOENT if gone else 0), 'write: %d' % wrote)
            errors = [error_of(os.fsync, fd) for _ in range(2)]
            errors.append(error_of(os.close, fd))
            check(set(errors) == {0 if wrote else errno.ENOENT},
                  '%s: %s' % (place, errors))
            check(time.monotonic() - begin < 15, 'takes long')
            server.forget()
        sh('rm -r top')


def a_writer_of_a_bucket_that_is_gone_does_not_wait_for_memory():
    for place in 'chunk', 'index':
        with mounted('timeout=20', 'cache=1200k') as (server, mount):
            fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
            put(fd, b'first', 0)
            os.fsync(fd)
            gone = []

            def plan(request, _):
                if request.method == 'PUT' and (place == 'chunk' or
                                                is_commit(request)):
                    gone.append(request)
                return (Plan(status=404, body=error('NoSuchBucket'))
                        if gone else None)

            server.forget(plan)
            begin = time.monotonic()
            errors = []
            for number in itertools.cycle(range(NCHUNKS)):
                errors.append(error_of(put, fd, CONTENT[:CHUNK],
                                       number * CHUNK))
                if errors[-1]:
                    break
            errors.append(error_of(os.fsync, fd))
            check(set(errors[-2:]) == {errno.ENOENT}, '%s: %s' % (place, errors))
            check(time.monotonic() - begin < 15, 'takes long')
            error_of(os.close, fd)
            server.forget()
        sh('rm -r top')


def conflicts_of_requests_are_tried_again():
    """As the server wants it: two requests for an object came together."""
    with mounted() as (server, mount):
        fd = os.open(mount / 'f', os.O_RDWR)
        put(fd, b'x', 0)
        os.fsync(fd)
        refused = []

        def plan(request, _):
            if (request.method == 'PUT' and len(refused) < 40 and
                    refused.count(request.path) < 4):
                refused.append(request.path)
                return Plan(status=409, body=error('ConditionalRequestConflict'))
            return None

        server.forget(plan)
        put(fd, b'y', 0)
        os.fsync(fd)
        check(len(refused) == 8, '%s' % refused)
        check(figures(mount)['conflicts'] == 0, 'a conflict')
        os.close(fd)
        refused.clear()
        b2frame('create', '--layout', 'sparse', 'raw', server.url + 'new')
        check(len(refused) >= 8, '%s' % refused)
        server.forget()
    check_frame(patched(CONTENT, 0, b'y'))
    check_frame(CONTENT, 'top/new')


harness.need_remote()
main(a_sync_tells_of_a_conflict_that_the_daemon_has_met,
     a_close_tells_of_a_conflict_that_the_daemon_has_met,
     no_older_bytes_are_copied_after_a_conflict,
     a_bucket_that_is_gone_is_an_error,
     a_writer_of_a_bucket_that_is_gone_does_not_wait_for_memory,
     conflicts_of_requests_are_tried_again)
