#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 write; timeout 300
"""A frame on a server of S3 is changed through a mount.

usage: mount_s3_write.py FRAMEFS [TEST...]
"""

import errno
import os
import random
import struct
import subprocess
import threading
import time

from mounted import (FRAMEFS, PATIENCE, Mount, b2frame, check, error_of,
                     harness, main, opened, read, sh, wait_for, write)
from s3_frames import (CHUNK, CONTENT, NCHUNKS, check_frame, figures,
                       from_the_daemon, make, mounted, patched,
                       prepare_commit, put, two_mounts)
from s3_server import S3
from web import Plan


def changes(server):
    """The requests that have changed something, without those of the probe."""
    return [(request.method, os.path.basename(request.path))
            for request in server.requests
            if request.method not in ('GET', 'HEAD')
            and '.framefs-probe' not in request.path]


def an_overwrite_costs_two_puts():
    with mounted() as (server, mount):
        content = patched(CONTENT, 7 * CHUNK + 100, b'x' * 4096)
        with opened(mount / 'f', os.O_RDWR) as fd:
            put(fd, b'y', 0)
            os.fsync(fd)
            server.forget()
            put(fd, b'x' * 4096, 7 * CHUNK + 100)
            os.fsync(fd)
            check(changes(server) == [('PUT', '%08X.chunk' % (NCHUNKS + 1)),
                                      ('PUT', 'chunks.b2frame')],
                  '%s' % changes(server))
        content = patched(content, 0, b'y')
        check(read(mount / 'f') == content, 'content')
        check(os.stat(mount / 'f').st_mode & 0o777 == 0o644, 'mode')
    check_frame(content)


def files_grow_shrink_and_have_holes():
    content = CONTENT
    with mounted() as (_, mount):
        path = mount / 'f'
        with open(path, 'ab') as file:
            file.write(b'more' * 30000)
        content += b'more' * 30000
        check(read(path) == content, 'appended')
        os.truncate(path, 3 * CHUNK + 7)
        content = content[:3 * CHUNK + 7]
        check(read(path) == content, 'cut')
        os.truncate(path, 9 * CHUNK + 7)
        content = content.ljust(9 * CHUNK + 7, b'\0')
        check(read(path) == content, 'extended')
        with opened(path, os.O_RDWR) as fd:
            put(fd, b'behind', 12 * CHUNK)
            content = content.ljust(12 * CHUNK, b'\0') + b'behind'
            subprocess.run(['fallocate', '-p', '-o', '0', '-l',
                            str(2 * CHUNK), path], check=True)
            content = patched(content, 0, b'\0' * 2 * CHUNK)
            os.fsync(fd)
        check(read(path) == content, 'holes')
        write(path, b'new')
        check(read(path) == b'new', 'replaced')
        os.close(os.open(path, os.O_RDWR))
        subprocess.run(['sync', path], check=True)
        check(not mount.log(), mount.log())
        write(path, content)
    check_frame(content)


def chunks_are_sent_many_at_a_time():
    nparallel = 9
    together = threading.Event()
    waiting = []

    def plan(request, _):
        if request.method == 'PUT' and request.path.endswith('.chunk'):
            waiting.append(request)
            if len(waiting) >= nparallel:
                together.set()
            together.wait(PATIENCE / 4)
        return None

    with mounted('threads=1', 'connections=16') as (server, mount):
        server.forget(plan)
        with opened(mount / 'f', os.O_RDWR) as fd:
            put(fd, CONTENT[::-1], 0)
            check(together.wait(PATIENCE / 4), 'one after another')
            os.fsync(fd)
    check_frame(CONTENT[::-1])


def what_is_written_shows_on_other_hosts():
    with mounted() as (server, mount):
        write(mount / 'f', CONTENT[::-1])
        check(b2frame('cat', server.url + 'f') == CONTENT[::-1], 'content')
        write('chunk', b'z' * CHUNK)
        b2frame('update', server.url + 'f', '3', 'chunk')
        content = patched(CONTENT[::-1], 3 * CHUNK, b'z' * CHUNK)
        wait_for(lambda: read(mount / 'f') == content, 'the new state')
        with opened(mount / 'f', os.O_RDWR) as fd:
            put(fd, b'on top', 3 * CHUNK)
            os.fsync(fd)
        content = patched(content, 3 * CHUNK, b'on top')
        check(read(mount / 'f') == content, 'content')
    check_frame(content)


def commits_to_other_chunks_are_merged():
    content = CONTENT
    chooser = random.Random(3)
    with two_mounts() as (_, *mounts):
        fds = [os.open(mount / 'f', os.O_RDWR) for mount in mounts]
        check(os.pread(fds[1], 3, 0) == CONTENT[:3], 'content')
        for _ in range(10):
            for side, fd in enumerate(fds):
                offset = (chooser.randrange(NCHUNKS // 2) * 2 + side) * CHUNK \
                    + chooser.randrange(CHUNK - 9)
                data = chooser.randbytes(9)
                put(fd, data, offset)
                content = patched(content, offset, data)
            for fd in fds[::-1]:
                os.fsync(fd)
        for fd in fds:
            os.close(fd)
        merges = [figures(mount)['merges'] for mount in mounts]
        check(sum(merges) > 5, '%s' % merges)
        for mount in mounts:
            check(figures(mount)['commits_failed'] == 0, 'a commit failed')
            wait_for(lambda mount=mount: read(mount / 'f') == content,
                     'the content')
    check_frame(content)


def commit_at(server, place, state):
    """Let another host commit while a request waits: the one with this number,
    counted from now.  Return a list that then has that request.  The commit
    must not take a process, because that would close its files of the mount."""
    seen = []
    begun = os.stat('top/f/chunks.b2frame').st_mtime_ns

    def plan(request, number):
        if (number == place and
                os.stat('top/f/chunks.b2frame').st_mtime_ns == begun):
            seen.append(request)
            for name, content in state:
                write('top/f/' + name, content)
    server.forget(plan)
    return seen


def a_first_write_goes_on_from_a_commit_that_comes_meanwhile():
    """At whichever request of the write, or of the commit behind it."""
    state = prepare_commit()
    mine = patched(CONTENT, 0, b'mine')
    both = patched(mine, 3 * CHUNK, b'z' * CHUNK)
    done = False
    place = 0
    while not done:
        with mounted('revalidate=0') as (server, mount):
            with opened(mount / 'f', os.O_RDWR) as fd:
                check(os.pread(fd, 9, 0) == CONTENT[:9], 'content')
                seen = commit_at(server, place, state)
                errors = error_of(put, fd, b'mine', 0), error_of(os.fsync, fd)
            done = not seen
            where = 'place %d, %s: %s %s' % (place, seen, errors, mount.log())
            check(not any(errors) and not mount.log(), where)
            check(read(mount / 'f') == (mine if done else both), where)
        check(b2frame('cat', 'top/f') == (mine if done else both), where)
        sh('rm -r top')
        # Many requests in a row ask whether the index has changed.
        place += 1 if place < 8 else 4
    check(place > 12, 'only %d places' % place)


def npy(shape, items):
    """An array of 4-byte integers, as NumPy saves it."""
    head = ("{'descr': '<i4', 'fortran_order': False, 'shape': %s, }" %
            (shape,)).encode().ljust(117) + b'\n'
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head +
            struct.pack('<%di' % len(items), *items))


def an_array_goes_on_from_commits_of_other_hosts():
    """As long as its shape is the same."""
    os.mkdir('top')
    write('a.npy', npy((40, 50), range(2000)))
    write('b.npy', npy((30, 50), range(1500)))
    content = read('a.npy')[128:]
    new = b'new!' * 500
    create = ['create', '--force', '--layout', 'sparse', '--chunks', '10,50']
    b2frame(*create, 'a.npy', 'top/f')
    write('chunk', new)
    with S3('top') as server, mounted('revalidate=0',
                                      server=server) as (_, mount):
        with opened(mount / 'f', os.O_RDWR) as fd:
            check(os.pread(fd, 9000, 0) == content, 'content')
            b2frame('update', server.url + 'f', '2', 'chunk')
            content = patched(content, 4000, new)
            put(fd, b'mine', 0)
            os.fsync(fd)
            content = patched(content, 0, b'mine')
            wait_for(lambda: read(mount / 'f') == content, 'the new state')
        fd = os.open(mount / 'f', os.O_RDWR)
        b2frame(*create, 'b.npy', server.url + 'f')
        check(errno.ESTALE in (error_of(os.pwrite, fd, b'none', 0),
                               error_of(os.fsync, fd)), 'is written')
        error_of(os.close, fd)
        wait_for(lambda: read(mount / 'f') == read('b.npy')[128:], 'the shape')
    check_frame(read('b.npy')[128:])


def overwrite_in_one_second(content, when):
    """Overwrite a frame by a program that uses the same ids, in the second in
    which the index was put, and read the last chunk before the daemon asks for
    changes by itself."""
    make()
    write('raw', content)
    b2frame('create', '--layout', 'sparse', '--chunksize', str(CHUNK), 'raw',
            'new')
    for path in 'top/f/chunks.b2frame', 'new/chunks.b2frame':
        # Without fingerprint no sums count, as in frames of other programs.
        write(path, read(path)[:-17] + bytes(17))
    for name in os.listdir('top/f'):
        os.utime('top/f/' + name, ns=(when, when))
    with S3('top') as server, mounted('revalidate=600',
                                      server=server) as (_, mount):
        with opened(mount / 'f', os.O_RDONLY) as fd:
            check(os.pread(fd, 9, 10 * CHUNK) ==
                  CONTENT[10 * CHUNK:10 * CHUNK + 9], 'content')
            for name in os.listdir('new'):
                write('top/f/' + name, read('new/' + name))
                os.utime('top/f/' + name, ns=(when + 1, when + 1))
            last = content[(NCHUNKS - 1) * CHUNK:]
            # The kernel may not know yet that the file is shorter now.
            check(from_the_daemon(fd, CHUNK, (NCHUNKS - 1) * CHUNK)
                  [:len(last)] == last, 'the new state')
            check(from_the_daemon(fd, 9, 10 * CHUNK) ==
                  content[10 * CHUNK:10 * CHUNK + 9], 'a mixture of states')
        check(not mount.log(), mount.log())
    sh('rm -r top new')


def chunks_that_are_overwritten_show_the_new_state():
    """Also a chunk of the same size, if that second is not over when the index
    is read."""
    now = int(time.time())
    overwrite_in_one_second(CONTENT[::-1][:-7], now * 10**9)
    overwrite_in_one_second(CONTENT[::-1], (now + 3600) * 10**9)


def chunks_that_others_have_not_changed_stay_in_memory():
    """In a mount that reads, in one that writes, and from one to the other."""
    make()
    with S3('top') as server:
        write('chunk', b'0' * CHUNK)
        b2frame('update', server.url + 'f', '0', 'chunk')
        content = patched(CONTENT, 0, b'0' * CHUNK)
        with mounted('revalidate=0', server=server) as (_, mount):
            for flags in os.O_RDONLY, os.O_RDWR:
                with opened(mount / 'f', flags) as fd:
                    if flags == os.O_RDWR:
                        put(fd, b'mine', 9 * CHUNK)
                        os.fsync(fd)
                        content = patched(content, 9 * CHUNK, b'mine')
                    check(from_the_daemon(fd, len(content), 0) == content,
                          'content')
                    for number in 3, NCHUNKS - 1:
                        new = bytes([65 + number + flags]) * CHUNK
                        write('chunk', new)
                        b2frame('update', server.url + 'f', str(number),
                                'chunk')
                        content = patched(content, number * CHUNK, new)
                        server.forget()
                        check(from_the_daemon(fd, len(content), 0) == content,
                              'the new content')
                        fetched = {os.path.basename(request.path)
                                   for request in server.requests
                                   if request.path.endswith('.chunk')}
                        check(len(fetched) == 1, '%d: %s' % (flags, fetched))
                    server.forget()
                    check(read(mount / 'f') == content, 'opened again')
                    check(not [request for request in server.requests
                               if request.path.endswith('.chunk')], 'fetched')
            check(not mount.log(), mount.log())
    check_frame(content)


def a_read_beside_one_that_asks_the_server_asks_too():
    make()
    with S3('top') as server:
        with mounted('revalidate=0', server=server) as (_, mount), opened(
                mount / 'f', os.O_RDONLY) as fd:
            check(from_the_daemon(fd, len(CONTENT), 0) == CONTENT, 'content')
            new = b'n' * CHUNK
            write('chunk', new)
            b2frame('update', server.url + 'f', '3', 'chunk')

            def hold_first(*_):
                if asked.is_set():
                    return None
                asked.set()
                return Plan(hold=go_on)

            asked, go_on = threading.Event(), threading.Event()
            server.forget(hold_first)
            first = threading.Thread(target=from_the_daemon,
                                     args=(fd, CHUNK, 0))
            first.start()
            try:
                check(asked.wait(PATIENCE), 'the first read does not ask')
                check(from_the_daemon(fd, CHUNK, 3 * CHUNK) == new,
                      'older bytes than those that the server had')
            finally:
                go_on.set()
                first.join()


def commits_are_merged_though_memory_is_short():
    """Writers wait for memory, and so for commits that have to be merged."""
    rounds = 3
    content = CONTENT

    def fill(mount, side, failures):
        try:
            with opened(mount / 'f', os.O_RDWR) as fd:
                for turn in range(rounds):
                    for number in range(side, NCHUNKS, 2):
                        put(fd, bytes([turn + 1]) + CONTENT[:CHUNK - 1],
                            number * CHUNK)
                os.fsync(fd)
        except OSError as failure:
            failures.append(failure)

    with two_mounts('cache=400k') as (_, *mounts):
        failures = []
        threads = [threading.Thread(target=fill, args=(mount, side, failures))
                   for side, mount in enumerate(mounts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failures, '%s' % failures)
        content = (bytes([rounds]) + CONTENT[:CHUNK - 1]) * NCHUNKS
    check_frame(content)


def of_two_commits_to_a_chunk_one_wins():
    with two_mounts('commit=0') as (_, *mounts):
        fds = [os.open(mount / 'f', os.O_RDWR) for mount in mounts]
        put(fds[0], b'first', 3 * CHUNK)
        put(fds[1], b'second', 3 * CHUNK + 100)
        put(fds[1], b'also lost', 9 * CHUNK)
        os.fsync(fds[0])
        check(error_of(os.fsync, fds[1]) == errno.ESTALE, 'no conflict')
        check(error_of(os.close, fds[1]) == errno.ESTALE, 'no conflict at close')
        wait_for(lambda: 'f: bytes %d to %d cannot be written and are lost' %
                 (3 * CHUNK, 10 * CHUNK) in mounts[1].log(), 'the message')
        os.close(fds[0])
        content = patched(CONTENT, 3 * CHUNK, b'first')
        wait_for(lambda: read(mounts[1] / 'f') == content, 'the new state')
        with opened(mounts[1] / 'f', os.O_RDWR) as fd:
            put(fd, b'again', 4 * CHUNK)
            os.fsync(fd)
        content = patched(content, 4 * CHUNK, b'again')
    check_frame(content)


def after_a_conflict_a_program_keeps_what_it_wrote():
    """New programs see the frame, and can change it, meanwhile."""
    with two_mounts('commit=0') as (_, *mounts):
        fd = os.open(mounts[1] / 'f', os.O_RDWR)
        put(fd, b'mine', 3 * CHUNK)
        put(fd, b'mine too' * 1000, NCHUNKS * CHUNK)
        mine = patched(CONTENT, 3 * CHUNK, b'mine') + b'mine too' * 1000
        with opened(mounts[0] / 'f', os.O_RDWR) as other:
            put(other, b'theirs', 3 * CHUNK + 2)
            put(other, b'theirs', 5 * CHUNK)
        theirs = patched(CONTENT, 3 * CHUNK + 2, b'theirs')
        theirs = patched(theirs, 5 * CHUNK, b'theirs')
        for _ in range(2):
            check(error_of(os.fsync, fd) == errno.ESTALE, 'no conflict')
            check(from_the_daemon(fd, len(mine) + 1, 0) == mine, 'mine')
            check(os.fstat(fd).st_size == len(mine), 'size of mine')
            check(read(mounts[1] / 'f') == theirs, 'theirs')
            check(os.stat(mounts[1] / 'f').st_size == len(theirs), 'size')
            with opened(mounts[1] / 'f', os.O_RDWR) as new:
                put(new, b'new', 3 * CHUNK)
                os.fsync(new)
            theirs = patched(theirs, 3 * CHUNK, b'new')
        check(from_the_daemon(fd, len(mine) + 1, 0) == mine, 'mine later')
        check(error_of(os.close, fd) == errno.ESTALE, 'close')
        wait_for(lambda: 'are lost' in mounts[1].log(), 'the message')
        check(read(mounts[1] / 'f') == theirs, 'theirs at the end')
    check_frame(theirs)


def what_too_little_memory_keeps_after_a_conflict_cannot_be_read():
    """No program takes the older bytes for those that were written."""
    count = [0, 0]
    with two_mounts('commit=0', 'cache=1200k') as (_, *mounts):
        fds = []
        for turn in range(3):
            fd = os.open(mounts[1] / 'f', os.O_RDWR | os.O_DIRECT)
            fds.append(fd)
            put(fd, b'm' * 8, 0)
            with opened(mounts[0] / 'f', os.O_RDWR) as other:
                put(other, b'theirs%d' % turn, 0)
            written = [number for number in range(1, NCHUNKS)
                       if not error_of(put, fd, b'm' * 8, number * CHUNK)]
            check(error_of(os.fsync, fd) == errno.ESTALE, 'no conflict')
            for number in written:
                error = error_of(
                    lambda fd, at: check(os.pread(fd, 8, at) == b'm' * 8,
                                         'other bytes at %d' % at),
                    fd, number * CHUNK)
                check(error in (0, errno.EIO), 'error %d' % error)
                count[error != 0] += 1
        for fd in fds:
            error_of(os.close, fd)
        check(read(mounts[1] / 'f') == patched(CONTENT, 0, b'theirs2'),
              'theirs')
    check(min(count) > 0, 'all or nothing was kept: %s' % count)


def a_change_of_size_is_not_merged():
    with two_mounts('commit=0') as (_, *mounts):
        fd = os.open(mounts[1] / 'f', os.O_RDWR)
        put(fd, b'lost', 3 * CHUNK)
        os.truncate(mounts[0] / 'f', 15 * CHUNK)
        os.sync()
        check(error_of(os.fsync, fd) == errno.ESTALE, 'no conflict')
        check(from_the_daemon(fd, len(CONTENT) + 1, 0) ==
              patched(CONTENT, 3 * CHUNK, b'lost'), 'what was written')
        check(error_of(os.close, fd) == errno.ESTALE, 'close')
        content = CONTENT[:15 * CHUNK]
        wait_for(lambda: read(mounts[1] / 'f') == content, 'the new state')
    check_frame(content)


def what_cannot_be_changed_is_refused():
    make('top/whole', 'contiguous')
    with mounted('grace=0') as (server, mount):
        for call in ((os.chmod, mount / 'f', 0o600), (os.utime, mount / 'f'),
                     (os.setxattr, mount / 'f', 'user.x', b'y')):
            check(error_of(*call) == errno.ENOTSUP, '%s' % (call,))
        for call in ((os.unlink, mount / 'f'), (os.mkdir, mount / 'd'),
                     (os.rename, mount / 'f', mount / 'g'),
                     (write, mount / 'new', b'x')):
            check(error_of(*call) in (errno.EROFS, errno.EPERM, errno.EACCES),
                  '%s: %d' % (call, error_of(*call)))
    for options in ('ro',), ():
        name = 'f' if options else 'whole'
        with S3('top') as server, Mount(
                server.url + name, 'mnt', '-o', 'timeout=9', *(
                    word for option in options for word in ('-o', option))
                ) as mount:
            check(error_of(write, mount / name, b'x') == errno.EROFS,
                  'is written')


def a_server_without_conditions_has_one_writer():
    for conditions in 'ignored', 'unknown':
        make()
        with S3('top') as server:
            server.bucket.conditions = conditions
            with mounted(server=server) as (_, mount):
                with opened(mount / 'f', os.O_RDWR) as fd:
                    check(error_of(os.pwrite, fd, b'x', 0) == errno.EROFS,
                          'is written')
                check('single_writer' in mount.log(), mount.log())
            check(not changes(server), '%s' % changes(server))
            with mounted('single_writer', server=server) as (_, mount):
                with opened(mount / 'f', os.O_RDWR) as fd:
                    put(fd, b'x', 0)
        check_frame(patched(CONTENT, 0, b'x'))
        subprocess.run(['rm', '-r', 'top/f'], check=True)


def errors_reach_fsync_and_close():
    with mounted('timeout=2', 'retries=0') as (server, mount):
        path = mount / 'f'
        fd = os.open(path, os.O_RDWR)
        put(fd, b'x', 0)
        os.fsync(fd)
        server.forget(lambda request, _: Plan(status=500)
                      if request.method == 'PUT' else None)
        put(fd, b'lost?', 5)
        check(error_of(os.fsync, fd) == errno.EIO, 'fsync')
        check(os.pread(fd, 5, 5) == b'lost?', 'is gone')
        check(error_of(os.close, fd) == errno.EIO, 'close')
        server.forget()
    check_frame(patched(patched(CONTENT, 0, b'x'), 5, b'lost?'))


def a_sync_waits_for_a_silent_server_no_longer_than_timeout():
    """However many requests it would take, and though a commit of the daemon's
    own waits for the server, too.  The bytes stay."""
    timeout = 3
    content = CONTENT
    with mounted('timeout=%d' % timeout, 'connections=4') as (server, mount):
        fd = os.open(mount / 'f', os.O_RDWR)
        put(fd, b'x', 0)
        os.fsync(fd)
        for number in range(NCHUNKS):
            put(fd, b'kept', number * CHUNK)
            content = patched(content, number * CHUNK, b'kept')
        go = threading.Event()
        for methods in ('PUT', 'HEAD', 'GET'), ('PUT',):
            server.forget(lambda request, _, methods=methods: Plan(hold=go)
                          if request.method in methods else None)
            begin = time.monotonic()
            check(error_of(os.fsync, fd) == errno.EIO, 'fsync')
            check(time.monotonic() - begin < timeout + 2,
                  '%s: takes %.1f s' % (methods, time.monotonic() - begin))
        server.forget()
        go.set()
        os.fsync(fd)
        os.close(fd)
    check_frame(content)


def an_end_without_a_server_tells_what_is_lost():
    make()
    with S3('top') as server:
        with Mount(server.url + 'f', 'mnt', '-o', 'timeout=2,retries=1,'
                   'commit=0') as mount:
            fd = os.open(mount / 'f', os.O_RDWR)
            put(fd, b'x', 0)
            os.fsync(fd)
            server.forget(lambda request, _: Plan(reset=True)
                          if request.method == 'PUT' else None)
            put(fd, b'lost', 3 * CHUNK)
            server.forget(lambda *_: Plan(reset=True))
            check(error_of(os.fsync, fd) == errno.EIO, 'fsync')
            check(error_of(os.close, fd) == errno.EIO, 'close')
            begin = time.monotonic()
            done = subprocess.run([FRAMEFS, '--unmount', mount.path],
                                  check=False, text=True, capture_output=True,
                                  timeout=PATIENCE)
            check(done.returncode != 0, 'ends well: ' + done.stderr)
            mount.daemon.wait(PATIENCE)
            check(time.monotonic() - begin < 30, 'takes long')
            check('lost' in mount.log(), mount.log())
            mount.daemon = None
    check_frame(patched(CONTENT, 0, b'x'))


harness.need_remote()
main(an_overwrite_costs_two_puts,
     files_grow_shrink_and_have_holes,
     chunks_are_sent_many_at_a_time,
     what_is_written_shows_on_other_hosts,
     commits_to_other_chunks_are_merged,
     a_first_write_goes_on_from_a_commit_that_comes_meanwhile,
     an_array_goes_on_from_commits_of_other_hosts,
     chunks_that_are_overwritten_show_the_new_state,
     chunks_that_others_have_not_changed_stay_in_memory,
     a_read_beside_one_that_asks_the_server_asks_too,
     commits_are_merged_though_memory_is_short,
     of_two_commits_to_a_chunk_one_wins,
     after_a_conflict_a_program_keeps_what_it_wrote,
     what_too_little_memory_keeps_after_a_conflict_cannot_be_read,
     a_change_of_size_is_not_merged,
     what_cannot_be_changed_is_refused,
     a_server_without_conditions_has_one_writer,
     errors_reach_fsync_and_close,
     a_sync_waits_for_a_silent_server_no_longer_than_timeout,
     an_end_without_a_server_tells_what_is_lost)
