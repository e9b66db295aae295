#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount lock
"""A mount takes part in the locking of frames by .b2lock files.

usage: mount_lock.py FRAMEFS
"""

import contextlib
import errno
import fcntl
import mmap
import os
import threading

from mounted import (PATIENCE, Mount, check, check_content, chunk,
                     chunk_offset, error_of, frame, is_root, main, need_mounts,
                     read, sh, wait_for, write, write_sparse)

SIZE = 1000
WAITERS = 30
DATA = b''.join(bytes([i]) * SIZE for i in range(65, 69))


def lock_file_of(path):
    return path + ('/.b2lock' if os.path.isdir(path) else '.b2lock')


class Other:
    """Another program that follows the protocol.  Format: locking.md, 2.1."""

    def __init__(self, path):
        self.fd = os.open(lock_file_of(path), os.O_RDWR | os.O_CREAT, 0o666)

    def count(self):
        return int.from_bytes(os.pread(self.fd, 8, 8), 'little')

    def is_free(self, how=fcntl.LOCK_SH):
        if error_of(fcntl.flock, self.fd, how | fcntl.LOCK_NB):
            return False
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        return True

    @contextlib.contextmanager
    def changing(self):
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        os.pwrite(self.fd, (self.count() + 1).to_bytes(8, 'little'), 8)
        try:
            yield
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)


def mounted():
    os.makedirs('src', exist_ok=True)
    return Mount('src', 'mnt', '-o', 'lock=1,commit=0')


@contextlib.contextmanager
def opened(path, flags=os.O_RDWR):
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def overwrite_chunk(path, number, data):
    """Replace a chunk by one of equal length, and restore the time stamps, so
    that they do not reveal the change."""
    before = os.stat(path)
    with open(path, 'r+b', buffering=0) as file:
        os.pwrite(file.fileno(), chunk(data),
                  chunk_offset(number, len(data)))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def others_wait_while_something_is_not_written_out():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    write_sparse('src/s.b2frame', DATA)
    with mounted() as mount:
        for name in 'as':
            other = Other('src/%s.b2frame' % name)
            with opened(mount / name) as fd:
                check(os.pread(fd, 10, 0) == DATA[:10], 'content')
                check(other.is_free(), '%s: is locked by a reader' % name)
                check(other.count() == 0, 'count of a reader')
                os.pwrite(fd, b'new', 0)
                check(not other.is_free(), '%s: is not locked' % name)
                check(other.count() == 1, 'count %d' % other.count())
                os.fsync(fd)
                check(other.is_free(), '%s: is locked still' % name)
                check_content('src/%s.b2frame' % name, b'new' + DATA[3:])
                os.pwrite(fd, b'old', 0)
                check(not other.is_free(), '%s: is not locked again' % name)
            wait_for(other.is_free, 'the lock of ' + name)
            check(other.count() == 2, 'count %d' % other.count())


def changes_of_equal_length_are_seen():
    os.mkdir('src')
    path = 'src/a.b2frame'
    write(path, frame(DATA, SIZE))
    with mounted() as mount:
        other = Other(path)
        for mode in ('rb', 'r+b'):
            with open(mount / 'a', mode, buffering=0) as file:
                check(os.pread(file.fileno(), SIZE, SIZE) == b'B' * SIZE,
                      'content before')
                with other.changing():
                    overwrite_chunk(path, 1, b'x' * SIZE)
                # Drop the kernel's pages, because they still have the old
                # content.
                os.posix_fadvise(file.fileno(), 0, 0,
                                 os.POSIX_FADV_DONTNEED)
                check(os.pread(file.fileno(), SIZE, SIZE) == b'x' * SIZE,
                      'content after, ' + mode)
            with other.changing():
                overwrite_chunk(path, 1, b'B' * SIZE)
            check(read(mount / 'a') == DATA, 'content when opened anew')


@contextlib.contextmanager
def written_all_the_time(path, data):
    ended = threading.Event()

    def write_on():
        with opened(path) as fd:
            while not ended.is_set():
                os.pwrite(fd, data, 0)
                os.fsync(fd)

    thread = threading.Thread(target=write_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def changes_are_seen_while_other_bytes_are_written():
    """The kernel overlooks new time stamps of a file while it is being
    written."""
    os.mkdir('src')
    path = 'src/a.b2frame'
    size = 4 * mmap.PAGESIZE
    write(path, frame(bytes(4 * size), size))
    with mounted() as mount, opened(mount / 'a', os.O_RDONLY) as fd, \
            written_all_the_time(mount / 'a', b'a' * size):
        other = Other(path)
        for i in range(1, 200):
            data = bytes([i]) * size
            with other.changing():
                overwrite_chunk(path, 2, data)
            check(os.pread(fd, size, 2 * size) == data, 'change %d' % i)


@contextlib.contextmanager
def changing_between_writes(path):
    """Let another program change a frame between two writes to an open file of
    it."""
    os.mkdir('src')
    write(path, frame(DATA, SIZE))
    with mounted() as mount:
        other = Other(path)
        with opened(mount / 'a') as fd:
            os.pwrite(fd, b'1', 0)
            os.fsync(fd)
            with other.changing():
                yield
            os.pwrite(fd, b'2', 1)
            os.fsync(fd)
            check(other.count() == 3, 'count %d' % other.count())


def written_on_what_others_have_left():
    path = 'src/a.b2frame'
    with changing_between_writes(path):
        write('other', frame(DATA + b'E' * SIZE, SIZE))
        with open('other', 'rb') as new, open(path, 'r+b') as old:
            old.write(new.read())
            old.truncate()
    check_content(path, b'A2' + DATA[2:] + b'E' * SIZE)


def written_to_what_others_have_put_in_its_place():
    path = 'src/a.b2frame'
    with changing_between_writes(path):
        write('other', frame(DATA[SIZE:], SIZE))
        os.rename('other', path)
    check_content(path, b'B2' + DATA[SIZE + 2:])


def a_lock_is_awaited_but_not_for_ever():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    with mounted() as mount:
        other = Other('src/a.b2frame')
        with opened(mount / 'a') as fd:
            with other.changing():
                for what, call in (
                        ('write', lambda: os.pwrite(fd, b'bad', 0)),
                        ('read', lambda: os.pread(fd, 10, 0)),
                        ('truncate', lambda: os.ftruncate(fd, 0)),
                        ('open', lambda: os.open(mount / 'a', os.O_RDONLY))):
                    failure = error_of(call)
                    check(failure == errno.EBUSY,
                          '%s: error %d' % (what, failure))
                check(os.stat(mount / 'a').st_size == len(DATA), 'size')
            check(os.pread(fd, len(DATA), 0) == DATA, 'content afterwards')
            os.pwrite(fd, b'new', 0)
    check_content('src/a.b2frame', b'new' + DATA[3:])


def others_are_served_while_many_wait():
    os.mkdir('src')
    names = ['a%d' % i for i in range(WAITERS)]
    for name in names + ['free']:
        write('src/%s.b2frame' % name, frame(DATA, SIZE))
    with contextlib.ExitStack() as stack:
        mount = stack.enter_context(
            Mount('src', 'mnt', '-o', 'lock=%d' % PATIENCE))
        openers = [threading.Thread(target=read, args=(mount / name,))
                   for name in names]
        for opener in openers:
            stack.callback(opener.join)
        before = mount.descriptors()
        for name in names:
            other = Other('src/%s.b2frame' % name)
            stack.enter_context(other.changing())
        for opener in openers:
            opener.start()
        wait_for(lambda: mount.descriptors() >= before + WAITERS,
                 'all to have opened their frame')
        check(read(mount / 'free') == DATA, 'content')
        check(all(opener.is_alive() for opener in openers),
              'it was read when they were through')


def a_frame_gets_another_name_while_it_is_being_opened():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    with mounted() as mount:
        other = Other('src/a.b2frame')
        before = mount.descriptors()
        failures = []

        def is_opened():
            """Begin to open the frame.  Returns False if the daemon has given
            up before a slow test could see that it has the frame open."""
            opener.start()
            wait_for(lambda: mount.descriptors() > before or
                     not opener.is_alive(), 'an open frame')
            return opener.is_alive()

        with other.changing():
            for _ in range(10):
                opener = threading.Thread(target=lambda: failures.append(
                    error_of(os.open, mount / 'a', os.O_RDONLY)))
                if is_opened():
                    break
                check(set(failures) == {errno.EBUSY}, 'errors %s' % failures)
            else:
                check(False, 'is not opened')
            os.rename(mount / 'a', mount / 'b')
            opener.join()
        check(set(failures) == {errno.EBUSY}, 'errors %s' % failures)
        check(read(mount / 'b') == DATA, 'content')


def a_mapping_tells_that_it_could_not_be_written():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    with mounted() as mount:
        other = Other('src/a.b2frame')
        with opened(mount / 'a') as fd:
            with mmap.mmap(fd, len(DATA)) as mapped:
                # Read the pages now, because the mount cannot read them while
                # the lock is held.
                check(mapped[:] == DATA, 'content')
                with other.changing():
                    mapped[:3] = b'new'
                    failure = error_of(mapped.flush)
                    check(failure == errno.EBUSY, 'error %d' % failure)
                    check('cannot be written and are lost' in mount.log(),
                          'log: ' + mount.log())
                mapped[:3] = b'new'
                mapped.flush()
            os.fsync(fd)
    check_content('src/a.b2frame', b'new' + DATA[3:])


def all_learn_that_a_mapping_could_not_be_written():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    with mounted() as mount:
        other = Other('src/a.b2frame')
        with opened(mount / 'a') as one, opened(mount / 'a') as two:
            with mmap.mmap(one, len(DATA)) as mapped:
                check(mapped[:] == DATA, 'content')
                with other.changing():
                    mapped[:3] = b'new'
                    sh('sync -f mnt', 1)
                    check('cannot be written and are lost' in mount.log(),
                          'log: ' + mount.log())
                for fd in one, two:
                    for _ in range(3):
                        failure = error_of(os.fsync, fd)
                        check(failure == errno.EBUSY, 'error %d' % failure)
                # The lost page is not written again unless the program changes
                # it again.
                mapped[:3] = mapped[:3]
                os.fsync(one)
    check_content('src/a.b2frame', b'new' + DATA[3:])


def lock_files_belong_to_whom_the_frames_belong():
    os.mkdir('src')
    write('src/old.b2frame', frame(DATA, SIZE))
    owner = (1000, 1001)
    if not is_root():
        print('skipped: only root can give files away')
        owner = (os.getuid(), os.getgid())
    os.chown('src/old.b2frame', *owner)
    os.chmod('src/old.b2frame', 0o640)
    with mounted() as mount:
        check(read(mount / 'old') == DATA, 'content')
        write(mount / 'new', DATA)
        os.chmod(mount / 'new', 0o644)
        os.chown(mount / 'new', *owner)
        check(read(mount / 'new') == DATA, 'content')
    for name, mode in ('old', 0o660), ('new', 0o666):
        st = os.stat('src/%s.b2frame.b2lock' % name)
        check((st.st_uid, st.st_gid) == owner, name + ': owner')
        check(st.st_mode & 0o7777 == mode,
              '%s: mode %o' % (name, st.st_mode))


def what_bears_the_name_of_a_lock_file_is_not_given_away():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    os.chmod('src/a.b2frame', 0o644)
    if is_root():
        os.chown('src/a.b2frame', 1000, 1001)
    write('ours', b'')
    os.chmod('ours', 0o600)
    os.link('ours', 'src/a.b2frame.b2lock')
    with mounted() as mount:
        check(read(mount / 'a') == DATA, 'content')
    st = os.stat('ours')
    check((st.st_uid, st.st_mode & 0o7777) == (os.getuid(), 0o600), 'it was')


def lock_files_go_where_the_frames_go():
    with mounted() as mount:
        write(mount / 'a', DATA)
        check(os.listdir('mnt') == ['a'], 'the lock file shows')
        os.rename(mount / 'a', mount / 'b')
        check(sorted(os.listdir('src')) == ['b.b2frame', 'b.b2frame.b2lock'],
              'after the rename: %s' % os.listdir('src'))
        write(mount / 'c', DATA[1:])
        os.rename(mount / 'c', mount / 'b')
        check(sorted(os.listdir('src')) == ['b.b2frame', 'b.b2frame.b2lock'],
              'after the second: %s' % os.listdir('src'))
        os.unlink(mount / 'b')
        check(not [name for name in os.listdir('src')
                   if not name.startswith('.')], 'one is left')


def frames_that_are_only_read_are_not_locked_on_a_read_only_medium():
    need_mounts()
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, SIZE))
    os.mkdir('ro')
    sh('mount --bind src ro && mount -o remount,bind,ro ro')
    try:
        with Mount('ro', 'mnt', '-o', 'lock') as mount:
            check(read(mount / 'a') == DATA, 'content')
    finally:
        sh('umount ro')
    check(not os.path.exists('src/a.b2frame.b2lock'), 'a lock file was made')


main(others_wait_while_something_is_not_written_out,
     changes_of_equal_length_are_seen,
     changes_are_seen_while_other_bytes_are_written,
     written_on_what_others_have_left,
     written_to_what_others_have_put_in_its_place,
     a_lock_is_awaited_but_not_for_ever,
     others_are_served_while_many_wait,
     a_frame_gets_another_name_while_it_is_being_opened,
     a_mapping_tells_that_it_could_not_be_written,
     all_learn_that_a_mapping_could_not_be_written,
     lock_files_belong_to_whom_the_frames_belong,
     what_bears_the_name_of_a_lock_file_is_not_given_away,
     lock_files_go_where_the_frames_go,
     frames_that_are_only_read_are_not_locked_on_a_read_only_medium)
