#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 rename; timeout 600
"""Files and directories in a bucket are renamed through a mount.

usage: mount_s3_rename.py FRAMEFS [TEST...]
"""

import contextlib
import ctypes
import errno
import os
import random
import threading

from mounted import (B2FRAME, Mount, b2frame, check, error_of, harness, main,
                     opened, oracle, read, sh, wait_for, write)
from s3_server import S3
from web import Plan

CHUNK = 64 << 10
DATA = random.Random(5).randbytes(9 * CHUNK + 100)
OTHER = random.Random(6).randbytes(5 * CHUNK)
NOREPLACE, EXCHANGE = 1, 2  # flags of renameat2()
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def mounted(*options, path='mnt', server=None):
    """Mount a prefix, for a `with` statement, which gives server and mount."""
    words = [word for option in ('chunksize=64k',) + options
             for word in ('-o', option)]
    if server:
        os.makedirs(path, exist_ok=True)
        with Mount(server.url + 'runs', path, *words) as mount:
            yield server, mount
        return
    os.makedirs('top/runs', exist_ok=True)
    write('top/runs/notes.txt', b'no frame')
    with S3('top') as server, mounted(*options, server=server) as both:
        yield both
        check(not server.refused, 'refused: %s' % server.refused)


def rename(old, new, flags):
    if LIBC.renameat2(-100, os.fsencode(old), -100, os.fsencode(new),
                      flags) < 0:
        raise OSError(ctypes.get_errno(), 'renameat2')


def check_frame(path, content):
    b2frame('verify', path)
    check(b2frame('cat', path) == content, 'stored content of ' + path)
    if oracle.is_here():
        said = oracle.complaints({os.path.abspath(path): content})
        check(not said, said)


def objects(path):
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def requests_of(server, *methods):
    return [request for request in server.requests
            if request.method in methods and 'probe' not in request.path]


def make(path, content, chunk=CHUNK):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write('raw', content)
    b2frame('create', '--layout', 'sparse', '--chunksize', str(chunk), 'raw',
            path)


def the_server_copies_the_chunks():
    with mounted() as (server, mount):
        os.mkdir(mount / 'dir')
        write(mount / 'f', DATA)
        before = objects('top/runs/f.b2frame')
        number = os.stat(mount / 'f').st_ino
        server.forget()
        os.rename(mount / 'f', mount / 'dir/g')
        check(not [request for request in requests_of(server, 'GET')
                   if request.path.endswith('.chunk')], 'chunks are read')
        check(objects('top/runs/dir/g.b2frame') == before, 'objects')
        check(not objects('top/runs/f.b2frame'), 'are left: %s' %
              objects('top/runs/f.b2frame'))
        check(os.listdir(mount / 'dir') == ['g'], 'names')
        check(os.listdir(mount.path).count('f') == 0, 'the old name')
        check(os.stat(mount / 'dir/g').st_ino == number, 'another number')
        check(read(mount / 'dir/g') == DATA, 'content')
        check(error_of(os.stat, mount / 'f') == errno.ENOENT, 'is there')
        write(mount / 'f', OTHER)
        check(os.stat(mount / 'f').st_ino != number, 'the same number')
        os.rename(mount / 'dir/g', mount / 'g')
        check(os.listdir(mount / 'dir') == [], 'the directory is gone')
        with open(mount / 'g', 'ab') as file:
            file.write(b'more')
        check(read(mount / 'g') == DATA + b'more', 'content')
        check(read(mount / 'f') == OTHER, 'content of the other')
    check_frame('top/runs/g.b2frame', DATA + b'more')
    check_frame('top/runs/f.b2frame', OTHER)


def a_frame_is_replaced():
    """Both have chunks of the same ids, so the new ones get others."""
    with mounted() as (server, mount):
        write(mount / 'f', DATA)
        write(mount / 'g', OTHER)
        with mounted(path='mnt2', server=server) as (_, other):
            check(read(other / 'g') == OTHER, 'content before')
            with opened(other / 'g', os.O_RDONLY) as fd:
                os.rename(mount / 'f', mount / 'g')
                check(read(mount / 'g') == DATA, 'content')
                wait_for(lambda: read(other / 'g') == DATA, 'the new content')
                check(os.pread(fd, 9, 0) in (OTHER[:9], DATA[:9]), 'mixture')
        check(sorted(os.listdir(mount.path)) == ['g', 'notes.txt'], 'names')
        check(not objects('top/runs/f.b2frame'), 'is left')
        check(len(objects('top/runs/g.b2frame')) == 11, 'objects: %s' %
              objects('top/runs/g.b2frame'))
        for turn in range(3):
            content = DATA[:turn * CHUNK] + b'x' * 1000
            write(mount / 'temporary', content)
            os.rename(mount / 'temporary', mount / 'g')
            check(read(mount / 'g') == content, 'content')
    check_frame('top/runs/g.b2frame', content)


def flags_are_honoured():
    with mounted() as (_, mount):
        write(mount / 'f', DATA)
        write(mount / 'g', OTHER)
        check(error_of(rename, mount / 'f', mount / 'g', NOREPLACE) ==
              errno.EEXIST, 'is replaced')
        check(error_of(rename, mount / 'f', mount / 'g', EXCHANGE) ==
              errno.EINVAL, 'is exchanged')
        check(read(mount / 'f') == DATA and read(mount / 'g') == OTHER,
              'content')
        rename(mount / 'f', mount / 'h', NOREPLACE)
        check(read(mount / 'h') == DATA, 'content')
        check(error_of(os.rename, mount / 'f', mount / 'i') == errno.ENOENT,
              'there is none')


def a_frame_of_another_host_is_not_replaced_unasked():
    """It comes to be there while the server copies."""
    make('made/new', OTHER)
    for flags in NOREPLACE, 0:
        with mounted() as (server, mount):
            write(mount / 'f', DATA)

            def plan(request, _):
                if ('X-Amz-Copy-Source' in request.headers and
                        not os.path.exists('top/runs/g.b2frame/chunks.b2frame')):
                    for name in os.listdir('made/new'):
                        target = 'top/runs/g.b2frame/9' + name[1:]
                        write(target if name.endswith('.chunk') else
                              'top/runs/g.b2frame/' + name, read('made/new/' + name))

            server.forget(plan)
            error = error_of(rename, mount / 'f', mount / 'g', flags)
            server.forget()
            if flags:
                check(error == errno.EEXIST, 'error %d' % error)
                check(read(mount / 'f') == DATA, 'content')
            else:
                check(error == 0, 'error %d' % error)
                check(read(mount / 'g') == DATA, 'content')
        sh('rm -r top')


def programs_that_have_it_open_go_on():
    for target in 'new', 'taken':
        with mounted('commit=0') as (server, mount):
            write(mount / 'f', DATA)
            write(mount / 'taken', OTHER)
            with opened(mount / 'f', os.O_RDWR) as fd, \
                    opened(mount / 'f', os.O_RDONLY) as reader:
                os.pwrite(fd, b'before', 100)
                os.rename(mount / 'f', mount / target)
                os.pwrite(fd, b'behind', 5 * CHUNK)
                content = DATA[:100] + b'before' + DATA[106:]
                content = (content[:5 * CHUNK] + b'behind' +
                           content[5 * CHUNK + 6:])
                os.posix_fadvise(reader, 0, 0, os.POSIX_FADV_DONTNEED)
                check(os.pread(reader, len(DATA), 0) == content, 'read')
                os.fsync(fd)
                check(b2frame('cat', server.url + 'runs/%s.b2frame' % target) ==
                      content, 'stored')
                os.rename(mount / target, mount / 'again')
                os.pwrite(fd, b'end', len(DATA))
                os.ftruncate(fd, len(DATA) + 1)
            check(read(mount / 'again') == content + b'e', 'content')
            check('cannot' not in mount.log(), mount.log())
        check_frame('top/runs/again.b2frame', content + b'e')
        check(not objects('top/runs/f.b2frame'), 'is left')
        sh('rm -r top')


def nothing_is_lost_that_is_written_meanwhile():
    """A thread writes and syncs all the time, in the mount that renames."""
    with mounted() as (_, mount):
        write(mount / 'name0', DATA)
        fd = os.open(mount / 'name0', os.O_RDWR)
        stop = threading.Event()
        written, failures = {}, []

        def work():
            chooser = random.Random(1)
            turn = 0
            try:
                while not stop.is_set():
                    turn += 1
                    place = chooser.randrange(0, len(DATA) // 8) * 8
                    os.pwrite(fd, b'%8d' % turn, place)
                    written[place] = turn
                    if turn % 7 == 0:
                        os.fsync(fd)
            except OSError as failure:
                failures.append(failure)

        thread = threading.Thread(target=work)
        thread.start()
        for turn in range(12):
            os.rename(mount / ('name%d' % turn), mount / ('name%d' %
                                                          (turn + 1)))
        stop.set()
        thread.join()
        os.fsync(fd)
        os.close(fd)
        check(not failures, '%s: %s' % (failures, mount.log()))
        content = bytearray(DATA)
        for place, turn in written.items():
            content[place:place + 8] = b'%8d' % turn
        check(read(mount / 'name12') == content, 'content')
    check_frame('top/runs/name12.b2frame', bytes(content))


def prepare_commit():
    """Make the objects that another host puts when it commits."""
    make('top/other', DATA)
    write('chunk', b'z' * CHUNK)
    with S3('top') as server:
        b2frame('update', server.url + 'other', '3', 'chunk')
    new = sorted(os.listdir('top/other'))
    state = [(name, read('top/other/' + name)) for name in new[-2:]]
    check(state[1][0] == 'chunks.b2frame', '%s' % new)
    sh('rm -r top/other')
    return state


def a_commit_that_comes_meanwhile_is_moved_too():
    """At whichever request.  After the marker, a server refuses it."""
    state = prepare_commit()
    both = DATA[:3 * CHUNK] + b'z' * CHUNK + DATA[4 * CHUNK:]
    for over in False, True:
        place, seen = 0, True
        while seen:
            make('top/runs/f.b2frame', DATA)
            if over:
                make('top/runs/g.b2frame', OTHER)
            index = 'top/runs/f.b2frame/chunks.b2frame'
            begun = os.stat(index).st_mtime_ns
            seen = []

            def plan(request, number):
                if (number == place and os.path.exists(index) and
                        os.stat(index).st_mtime_ns == begun):
                    for name, content in state:
                        write('top/runs/f.b2frame/' + name, content)
                    seen.append(request)

            with mounted() as (server, mount):
                os.stat(mount / 'f')
                server.forget(plan)
                error = error_of(os.rename, mount / 'f', mount / 'g')
                server.forget()
                where = 'place %d, %s: error %d, %s' % (place, seen, error,
                                                        mount.log())
                check(not error, where)
                check(read(mount / 'g') == (both if seen else DATA), where)
                check(not objects('top/runs/f.b2frame'), where)
            check_frame('top/runs/g.b2frame', both if seen else DATA)
            sh('rm -r top')
            place += 1
        check(place > 12, 'only %d places' % place)


def a_writer_of_another_host_gets_estale():
    with mounted('commit=0') as (server, mount):
        write(mount / 'f', DATA)
        with mounted('commit=0', path='mnt2',
                     server=server) as (_, other):
            fds = [os.open(other / 'f', os.O_RDWR) for _ in range(2)]
            os.pwrite(fds[0], b'lost', 7)
            os.rename(mount / 'f', mount / 'g')
            check(error_of(os.fsync, fds[0]) == errno.ESTALE, 'is synced')
            check(os.pread(fds[0], 4, 7) == b'lost', 'what was written')
            for fd in fds:
                error_of(os.close, fd)
            wait_for(lambda: 'g' in os.listdir(other.path), 'the new name')
            check(read(other / 'g') == DATA, 'content')
            fd = os.open(other / 'g', os.O_RDWR)
            os.rename(mount / 'g', mount / 'h')
            check(errno.ESTALE in (error_of(os.pwrite, fd, b'late', 0),
                                   error_of(os.fsync, fd)), 'is synced')
            error_of(os.close, fd)
            wait_for(lambda: 'h' in os.listdir(other.path), 'the new name')
            check(read(other / 'h') == DATA, 'content')
        # Chunks that were put before the index was found to be gone.
        for name in 'fg':
            b2frame('gc', '-o', 'grace=0',
                    server.url + 'runs/%s.b2frame' % name)
            check(not objects('top/runs/%s.b2frame' % name), 'garbage')
    check_frame('top/runs/h.b2frame', DATA)


class Killer:
    """A plan that kills a mount at its n-th change: before the server carries
    it out, or after that."""

    def __init__(self, mount, number, after):
        self.mount = mount
        self.left = number
        self.after = after
        self.killed = False
        self.lock = threading.Lock()

    def __call__(self, request, _):
        if (request.method not in ('PUT', 'DELETE') or
                'probe' in request.path):
            return None
        with self.lock:
            if self.killed:
                return Plan(reset=True)
            self.left -= 1
            if self.left > 0:
                return None
            self.killed = True
            self.mount.daemon.kill()
            self.mount.daemon.wait()
        return Plan(lost=True) if self.after else Plan(reset=True)


def state_of(server, name, contents):
    """What is at a name: the index of one of the contents, or None."""
    done = harness.run(B2FRAME, 'cat', server.url + 'runs/' + name)
    if done.returncode != 0:
        return None
    check(done.stdout in contents, name + ' has other bytes')
    return contents.index(done.stdout)


def a_kill_leaves_one_name_or_both():
    """Before and after each change.  What is left of the others is garbage."""
    for over in False, True:
        number, killed = 0, True
        while killed:
            number += 1
            for after in False, True:
                make('top/runs/f.b2frame', DATA[:3 * CHUNK])
                if over:
                    make('top/runs/g.b2frame', OTHER[:2 * CHUNK])
                killed = kill_at(over, number, after)
                sh('rm -r top')
        check(number > 10, 'only %d changes' % number)


def kill_at(over, number, after):
    contents = [DATA[:3 * CHUNK], OTHER[:2 * CHUNK]]
    where = 'over %s, change %d, after %s' % (over, number, after)
    with S3('top') as server:
        os.makedirs('mnt', exist_ok=True)
        mount = Mount(server.url + 'runs', 'mnt', '-o', 'timeout=9')
        with mount:
            os.stat(mount / 'f')
            killer = Killer(mount, number, after)
            server.forget(killer)
            error = error_of(os.rename, mount / 'f', mount / 'g')
            server.forget()
            if killer.killed:
                mount.crash()
        check(killer.killed or not error, '%s: %d' % (where, error))
        states = [state_of(server, name, contents)
                  for name in ('f.b2frame', 'g.b2frame')]
        check(0 in states, where + ': the frame is gone: %s' % states)
        check(states[0] in (0, None), where)
        check(states[1] == 0 or states[1] == (1 if over else None), where)
        check(killer.killed or states == [None, 0], where)
        left = []
        for name, state in zip('fg', states):
            path = 'top/runs/%s.b2frame' % name
            b2frame('gc', '-o', 'grace=0', server.url + path[4:])
            if state is not None:
                check_frame(path, contents[state])
                left.append((name, state, len(objects(path))))
            else:
                check(not objects(path), '%s: %s has %s' % (
                    where, name, objects(path)))
        for name, state, count in left:
            check(count <= (4, 3)[state] + 1, '%s: %s' % (where, left))
    return killer.killed


def a_new_frame_takes_the_place_of_a_marker():
    """Which an interrupted rename has left, with all chunks."""
    make('top/runs/f.b2frame', DATA)
    write('raw', OTHER)
    with mounted() as (server, mount):
        os.stat(mount / 'f')
        server.forget(lambda request, _: Plan(status=403)
                      if request.method == 'DELETE' else None)
        os.rename(mount / 'f', mount / 'g')
        server.forget()
        check(len(objects('top/runs/f.b2frame')) == 11, 'is deleted')
        check(state_of(server, 'f.b2frame', [DATA]) is None, 'is there')
        url = server.url + 'runs/f.b2frame'
        b2frame('create', '--layout', 'sparse', '--chunksize', '64k', 'raw',
                url)
        check(state_of(server, 'f.b2frame', [OTHER]) == 0, 'the new one')
        b2frame('gc', '-o', 'grace=0', url)
    check_frame('top/runs/f.b2frame', OTHER)
    check_frame('top/runs/g.b2frame', DATA)
    check(len(objects('top/runs/f.b2frame')) == 6, 'garbage')


def a_new_frame_is_not_deleted_in_place_of_a_marker():
    """By a server that ignores the condition of that request."""
    make('top/runs/f.b2frame', DATA)
    write('raw', OTHER)
    with mounted() as (server, mount):
        server.bucket.deletes = False
        os.stat(mount / 'f')
        url = server.url + 'runs/f.b2frame'
        created = []
        looks = []

        def create():
            b2frame('create', '--layout', 'sparse', '--chunksize', '64k',
                    'raw', url)
            created.append(url)

        thread = threading.Thread(target=create)

        def plan(request, _):
            if not request.path.endswith('f.b2frame/chunks.b2frame'):
                return
            looks.append(request.method)
            if request.method == 'DELETE' and not thread.ident:
                looks.clear()
                thread.start()
                wait_for(lambda: created or looks.count('HEAD') > 4,
                         'the other program')

        server.forget(plan)
        os.rename(mount / 'f', mount / 'g')
        thread.join()
        server.forget()
        check(created, 'is not created')
        check(state_of(server, 'f.b2frame', [OTHER]) == 0, 'the new one')
    check_frame('top/runs/f.b2frame', OTHER)
    check_frame('top/runs/g.b2frame', DATA)


def directories_are_renamed_while_they_are_empty():
    with mounted() as (_, mount):
        os.mkdir(mount / 'empty')
        os.mkdir(mount / 'full')
        os.mkdir(mount / 'target')
        write(mount / 'full/f', OTHER)
        number = os.stat(mount / 'empty').st_ino
        os.rename(mount / 'empty', mount / 'moved')
        check(os.stat(mount / 'moved').st_ino == number, 'another number')
        check(os.listdir(mount / 'moved') == [], 'is not empty')
        check(not os.path.exists(mount / 'empty'), 'is there')
        os.rename(mount / 'moved', mount / 'target')
        check(error_of(os.rename, mount / 'target', mount / 'full') ==
              errno.ENOTEMPTY, 'is replaced')
        check(error_of(os.rename, mount / 'full', mount / 'other') ==
              errno.EXDEV, 'is renamed')
        sh('mv mnt/full mnt/target/copy')
        check(read(mount / 'target/copy/f') == OTHER, 'content')
        check(sorted(os.listdir(mount.path)) == ['notes.txt', 'target'],
              'names')
        check(error_of(os.rename, mount / 'notes.txt', mount / 'x') ==
              errno.EXDEV, 'a plain object')


harness.need_remote()
main(the_server_copies_the_chunks,
     a_frame_is_replaced,
     flags_are_honoured,
     a_frame_of_another_host_is_not_replaced_unasked,
     programs_that_have_it_open_go_on,
     nothing_is_lost_that_is_written_meanwhile,
     a_commit_that_comes_meanwhile_is_moved_too,
     a_writer_of_another_host_gets_estale,
     a_kill_leaves_one_name_or_both,
     a_new_frame_takes_the_place_of_a_marker,
     a_new_frame_is_not_deleted_in_place_of_a_marker,
     directories_are_renamed_while_they_are_empty)
