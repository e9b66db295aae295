#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 tree; timeout 300
"""A tree in a bucket is changed through a mount.

usage: mount_s3_tree.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import os
import random
import threading
import time

from mounted import (Mount, as_user, b2frame, check, error_of, harness, main,
                     need_users, opened, oracle, read, sh, wait_for, write)
from s3_server import S3
from web import Plan

DATA = random.Random(5).randbytes(300000)
OTHER = 61234  # a user
FRAME = 'top/runs/f.b2frame'
# A list of the prefix before there is a frame.
LIST = (b'<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>'
        b'runs/notes.txt</Key><LastModified>2020-01-01T00:00:00.000Z'
        b'</LastModified><ETag>"1-8"</ETag><Size>8</Size></Contents>'
        b'</ListBucketResult>')


@contextlib.contextmanager
def mounted(*options, path='mnt', server=None):
    """Mount a prefix, for a `with` statement, which gives server and mount."""
    words = [word for option in ('chunksize=64k',) + options
             for word in ('-o', option)]
    if server:
        os.makedirs(path, exist_ok=True)
        with Mount(server.url + 'runs', path, *words) as mount:
            yield server, mount
        check('cannot' not in mount.log(), mount.log())
        return
    os.makedirs('top/runs', exist_ok=True)
    write('top/runs/notes.txt', b'no frame')
    with S3('top') as server, mounted(*options, server=server) as both:
        yield both
        check(not server.refused, 'refused: %s' % server.refused)


def check_frame(path, content):
    b2frame('verify', path)
    check(b2frame('cat', path) == content, 'stored content of ' + path)
    if oracle.is_here():
        said = oracle.complaints({os.path.abspath(path): content})
        check(not said, said)


def pass_time(seconds):
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() > end, 'the time to pass')


def files_are_made_and_written():
    with mounted() as (server, mount):
        write(mount / 'new', DATA)
        check(os.stat(mount / 'new').st_size == len(DATA), 'size')
        check(read(mount / 'new') == DATA, 'content')
        check(sorted(os.listdir(mount.path)) == ['new', 'notes.txt'], 'names')
        with open(mount / 'new', 'ab') as file:
            file.write(b'more')
        check(os.stat(mount / 'new').st_size == len(DATA) + 4, 'size')
        check(error_of(os.open, mount / 'new', os.O_CREAT | os.O_EXCL) ==
              errno.EEXIST, 'is made twice')
        write(mount / 'empty', b'')
        with mounted(path='mnt2', server=server) as (_, other):
            check(read(other / 'new') == DATA + b'more', 'content')
            os.truncate(other / 'new', 1000)
        wait_for(lambda: read(mount / 'new') == DATA[:1000], 'the new state')
        os.truncate(mount / 'new', 2000)
        check(os.stat(mount / 'new').st_size == 2000, 'size')
    check_frame('top/runs/new.b2frame', DATA[:1000] + bytes(1000))
    check_frame('top/runs/empty.b2frame', b'')


def directories_come_and_go():
    with mounted() as (server, mount):
        os.mkdir(mount / 'dir')
        check(error_of(os.mkdir, mount / 'dir') == errno.EEXIST, 'twice')
        os.makedirs(mount / 'dir/deep/er')
        write(mount / 'dir/deep/er/file', DATA)
        check(error_of(os.rmdir, mount / 'dir/deep') == errno.ENOTEMPTY,
              'is removed')
        os.unlink(mount / 'dir/deep/er/file')
        check(os.listdir(mount / 'dir/deep/er') == [], 'is there')
        os.removedirs(mount / 'dir/deep/er')
        check(os.listdir(mount.path) == ['notes.txt'], 'is there')
        os.unlink(mount / 'notes.txt')
        check(os.listdir(mount.path) == [], 'is there')
        check(not any(files for _, _, files in os.walk('top')), 'objects')
        check(not server.more_keys, '%s' % server.more_keys)


def cut_open(path, size):
    with opened(path, os.O_WRONLY) as fd:
        os.ftruncate(fd, size)


def programs_work():
    os.makedirs('local/a/b')
    for name in 'one', 'a/two', 'a/b/three':
        write('local/' + name, DATA + name.encode())
    with mounted() as (_, mount):
        sh('cp -r local mnt/copy && diff -r local mnt/copy')
        sh('mv mnt/copy/one mnt/moved && cmp local/one mnt/moved')
        check(not os.path.exists(mount / 'copy/one'), 'is there')
        sh('tar -C local -cf - a | tar -C mnt --no-same-owner -m -xf - || true')
        sh('diff -r local/a mnt/a')
        sh('rm -r mnt/copy mnt/a')
        check(sorted(os.listdir(mount.path)) == ['moved', 'notes.txt'], 'names')
    check_frame('top/runs/moved.b2frame', DATA + b'one')


def what_a_server_does_not_have_is_refused():
    with mounted() as (_, mount):
        write(mount / 'f', DATA)
        for error, call in (
                (errno.EXDEV, (os.rename, mount / 'notes.txt', mount / 'g')),
                (errno.EPERM, (os.link, mount / 'f', mount / 'g')),
                (errno.EPERM, (os.symlink, 'f', mount / 'g')),
                (errno.EPERM, (os.mkfifo, mount / 'g')),
                (errno.EPERM, (os.mkdir, mount / 'chunks.b2frame')),
                (errno.ENOTSUP, (os.chmod, mount / 'f', 0o600)),
                (errno.ENOTSUP, (os.utime, mount / 'f')),
                (errno.EACCES, (os.open, mount / 'notes.txt', os.O_RDWR))):
            got = error_of(*call)
            check(got == error or got == errno.EROFS == errno.EROFS and
                  error == errno.EACCES, '%s: %d' % (call, got))
        check(read(mount / 'f') == DATA, 'content')
        check(sorted(os.listdir(mount.path)) == ['f', 'notes.txt'], 'names')
    with mounted('ro') as (_, mount):
        check(error_of(write, mount / 'f', b'x') == errno.EROFS, 'is written')
        check(error_of(os.unlink, mount / 'f') == errno.EROFS, 'is removed')


def other_users_have_what_the_modes_say():
    """The bucket keeps no access control lists, so the modes decide."""
    need_users()
    os.chmod('.', 0o755)
    with mounted('allow_other') as (_, mount):
        os.makedirs(mount / 'dir/deep')
        path = write(mount / 'dir/deep/f', DATA)
        check(as_user(OTHER, read, path) == 0, 'read')
        check(as_user(OTHER, os.listdir, mount / 'dir') == 0, 'list')
        check(as_user(OTHER, read, mount / 'notes.txt') == 0, 'plain')
        for call in ((os.truncate, path, 9), (os.open, path, os.O_WRONLY),
                     (os.unlink, path), (write, mount / 'g', b'')):
            check(as_user(OTHER, *call) == errno.EACCES, '%s' % (call,))
        for name in 'access', 'default':
            for where in path, mount / 'dir', mount / 'notes.txt':
                check(error_of(os.getxattr, where, 'system.posix_acl_' +
                               name) == errno.ENODATA, where + ': ' + name)
    for option in 'umask=0', 'uid=%d' % OTHER:
        with mounted('allow_other', option) as (server, mount):
            path = write(mount / 'f', DATA)
            write(mount / 'g', DATA)
            os.makedirs('alone', exist_ok=True)
            with Mount(server.url + 'runs/g.b2frame/', 'alone', '-o',
                       'allow_other,' + option) as alone:
                check(as_user(OTHER, os.truncate, alone / 'g', 1000) == 0,
                      'frame alone')
                check(read(alone / 'g') == DATA[:1000], 'frame alone')
            check(as_user(OTHER, os.truncate, path, 100) == 0, option)
            check(read(path) == DATA[:100], option)
            check(as_user(OTHER, cut_open, path, 50) == 0, 'open, ' + option)
            check(read(path) == DATA[:50], 'open, ' + option)
            check(as_user(OTHER, write, path, b'new') == 0, 'new, ' + option)
            check(read(path) == b'new', 'new, ' + option)
            check(as_user(OTHER, os.chmod, path, 0o600) in
                  (errno.ENOTSUP, errno.EPERM), 'mode, ' + option)
            check(as_user(OTHER, write_what_is_removed, path) == 0,
                  'removed, ' + option)


def load(fd):
    """Let the daemon read the first chunk, because the server has no chunks of a
    removed frame."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, 1, 0)


def write_what_is_removed(path):
    with opened(path, os.O_RDWR) as fd:
        load(fd)
        os.unlink(path)
        os.pwrite(fd, bytes(64 << 10), 0)
        os.fsync(fd)


def a_frame_that_is_open_can_be_removed():
    with mounted() as (_, mount):
        write(mount / 'f', DATA)
        with opened(mount / 'f', os.O_RDWR) as fd:
            load(fd)
            os.unlink(mount / 'f')
            os.pwrite(fd, bytes(64 << 10), 0)
            os.fsync(fd)
            check(os.pread(fd, 100, 0) == bytes(100), 'content')
            check('f' not in os.listdir(mount.path), 'is there')
            write(mount / 'f', b'another')
        check(read(mount / 'f') == b'another', 'content')
    check(b2frame('cat', 'top/runs/f.b2frame') == b'another', 'content')


def a_removed_frame_is_not_asked_for():
    """Neither if programs have written to it before, nor if they have not."""
    os.makedirs('top/runs')
    for begins in True, False:
        b2frame('create', '--layout', 'sparse', '--chunksize', '64k',
                write('raw', DATA), 'top/runs/f.b2frame')
        with mounted('revalidate=0') as (_, mount):
            with opened(mount / 'f', os.O_RDWR) as fd:
                load(fd)
                if begins:
                    os.pwrite(fd, b'before', 0)
                    os.fsync(fd)
                os.unlink(mount / 'f')
                os.pwrite(fd, b'behind', 100)
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                start = b'before' if begins else DATA[:6]
                check(os.pread(fd, 106, 0) == start + DATA[6:100] + b'behind',
                      'content')
            check(os.listdir(mount.path) == ['notes.txt'], 'is there')
        check(os.listdir('top/runs/f.b2frame') == [], 'objects are left')
        os.rmdir('top/runs/f.b2frame')


def chunks_of_a_new_frame_are_no_garbage():
    """Though the frame that was removed had chunks of the same names, and they
    were garbage."""
    with mounted('grace=3') as (server, mount):
        write(mount / 'f', DATA)
        with opened(mount / 'f', os.O_RDWR) as fd:
            for pause in 1.5, 0:
                os.pwrite(fd, bytes(200000), 0)
                os.fsync(fd)
                pass_time(pause)
            with mounted(path='mnt2', server=server) as (_, other):
                os.unlink(other / 'f')
                write(other / 'f', DATA[::-1])
            pass_time(4)
    check_frame('top/runs/f.b2frame', DATA[::-1])


def after_a_lost_delete(server, key, then):
    """Let the reply to the first DELETE of a key be lost.  `then` is called
    before the next request is served."""
    seen = []

    def plan(request, _number):
        if len(seen) == 1:
            seen.append(request)
            then()
        if request.method == 'DELETE' and request.path == key and not seen:
            seen.append(request)
            return Plan(lost=True)
        return None
    server.forget(plan)
    return seen


def an_object_put_after_a_lost_delete_stays():
    """The DELETE is not sent again before the server was asked."""
    for honoured in True, False:
        with mounted() as (server, mount):
            if not server.upstream:
                server.bucket.deletes = honoured
            write(mount / 'f', DATA)  # so that conditions are known
            for new in None, b'of another program':
                write('top/runs/notes.txt', b'no frame')
                check(read(mount / 'notes.txt') == b'no frame', 'content')
                seen = after_a_lost_delete(
                    server, '/runs/notes.txt',
                    lambda new=new: new and write('top/runs/notes.txt', new))
                os.unlink(mount / 'notes.txt')
                server.forget()
                check(len(seen) == 2, 'no DELETE')
                check(os.path.exists('top/runs/notes.txt') == bool(new),
                      'an object of another program is gone')
            check(read(mount / 'notes.txt') == b'of another program', 'new')


def a_frame_made_after_a_lost_delete_stays():
    """Its index, and its chunks, which have the names of older ones."""
    for honoured in True, False:
        with mounted() as (server, mount):
            if not server.upstream:
                server.bucket.deletes = honoured
            write('new', DATA[::-1])

            def replace():
                server.plan = None
                sh('rm -r top/runs/f.b2frame')
                b2frame('create', '--layout', 'sparse', '--chunksize', '64k',
                        'new', 'top/runs/f.b2frame')
            write(mount / 'f', DATA)
            seen = after_a_lost_delete(
                server, '/runs/f.b2frame/chunks.b2frame', replace)
            os.unlink(mount / 'f')
            check(len(seen) == 2, 'no DELETE')
        check_frame('top/runs/f.b2frame', DATA[::-1])
        sh('rm -r top')


def away_and_back(mount):
    """Move a frame away and back, as another host, and let the mount have a list
    from between.  The kernel still knows the name."""
    os.rename(FRAME, 'away')
    check(not os.path.exists(mount / 'other'), 'is there')
    os.rename('away', FRAME)


def a_name_that_is_in_use_does_not_vanish():
    """A list is older than what a program has just read or synced."""
    with mounted('revalidate=1000', 'entry_timeout=1000') as (_, mount):
        write(mount / 'f', DATA)
        away_and_back(mount)
        check(read(mount / 'f') == DATA, 'content')
        os.rename(mount / 'f', mount / 'g')
        os.rename(mount / 'g', mount / 'f')
        with opened(mount / 'f', os.O_RDWR) as fd:
            away_and_back(mount)
            os.pwrite(fd, b'more', 0)
            os.fsync(fd)
            os.rename(mount / 'f', mount / 'g')
        check(read(mount / 'g') == b'more' + DATA[4:], 'content')
        os.unlink(mount / 'g')
        check(not os.path.exists(mount / 'g'), 'is left')
    check(os.listdir('top/runs/g.b2frame') == [], 'objects are left')


def a_late_list_does_not_hide_a_name():
    """The server has made it before another host moved the frame back."""
    held, go = threading.Event(), threading.Event()

    def plan(request, _):
        if 'list-type' not in request.query or held.is_set():
            return None
        held.set()
        return Plan(status=200, body=LIST, hold=go)

    with mounted('revalidate=1000', 'entry_timeout=1000') as (server, mount):
        write(mount / 'f', DATA)
        server.forget(plan)
        thread = threading.Thread(target=os.path.exists,
                                  args=(mount / 'other',))
        thread.start()
        try:
            wait_for(held.is_set, 'the list')
            check(read(mount / 'f') == DATA, 'content')
        finally:
            go.set()
            thread.join()
        os.rename(mount / 'f', mount / 'g')
        check(read(mount / 'g') == DATA, 'content')


def contiguous_frames_are_read():
    os.makedirs('top/runs')
    write('raw', DATA)
    b2frame('create', 'raw', 'top/runs/whole.b2frame')
    with mounted() as (_, mount):
        check(read(mount / 'whole') == DATA, 'content')
        check(error_of(os.open, mount / 'whole', os.O_RDWR) in
              (errno.EROFS, errno.EACCES), 'is written')
        os.unlink(mount / 'whole')
        check(os.listdir(mount.path) == ['notes.txt'], 'is there')


harness.need_remote()
main(files_are_made_and_written,
     directories_come_and_go,
     programs_work,
     what_a_server_does_not_have_is_refused,
     other_users_have_what_the_modes_say,
     a_frame_that_is_open_can_be_removed,
     a_removed_frame_is_not_asked_for,
     chunks_of_a_new_frame_are_no_garbage,
     an_object_put_after_a_lost_delete_stays,
     a_frame_made_after_a_lost_delete_stays,
     a_name_that_is_in_use_does_not_vanish,
     a_late_list_does_not_hide_a_name,
     contiguous_frames_are_read)
