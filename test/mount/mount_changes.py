#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount changes
"""A mount shows changes that other programs make to a frame within a second.

usage: mount_changes.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time

from mounted import (B2FRAME, PATIENCE, Mount, check, check_frames, error_of,
                     frame, harness, layouts, main, read, replace, sh, wait_for,
                     write)

DATA = random.Random(2).randbytes(300000)
MORE = random.Random(3).randbytes(100000)


def make(data=DATA, **how):
    os.makedirs('src', exist_ok=True)
    write('src/a.b2frame', frame(data, 10000, **how))


def becomes(get, right, what):
    """`get()` returns `right` soon.  The daemon notices a change within a
    second, but the machine may be busy."""
    wait_for(lambda: get() == right, what)


def frame_that_is_replaced():
    make()
    with Mount('src', 'mnt') as mount:
        check(read(mount / 'a') == DATA, 'content')
        replace('src/a.b2frame', frame(DATA + MORE, 10000))
        becomes(lambda: os.path.getsize(mount / 'a'), 400000, 'size')
        check(read(mount / 'a') == DATA + MORE, 'content, replaced')


def frame_that_is_written_over():
    make()
    with Mount('src', 'mnt') as mount:
        check(read(mount / 'a') == DATA, 'content')
        write('src/a.b2frame', frame(DATA[::-1], 10000))
        becomes(lambda: read(mount / 'a') == DATA[::-1], True, 'content')


def write_without_new_times(path, mapped, content):
    """Write by mmap() what a lookup in a mount has seen before, such that the
    times of the file stay.  Returns whether they did: they change if the kernel
    has written the page back."""
    stored = 'src/a.b2frame'
    mapped[:] = mapped[:]
    times = os.stat(stored).st_ctime_ns
    wait_for(lambda: time.time_ns() - times > 200000000, 'old times')
    os.stat(path)
    mapped[:] = content
    return os.stat(stored).st_ctime_ns == times


def size_that_another_program_writes_by_mmap_is_shown():
    """Such a program changes the times of the file once, for many writes."""
    make()
    old = read('src/a.b2frame')
    size = struct.pack('>Q', len(DATA))
    with Mount('src', 'mnt', '-o', 'ro') as mount, \
            open('src/a.b2frame', 'r+b') as file, \
            mmap.mmap(file.fileno(), 0) as mapped:
        wanted = len(DATA)
        same = False
        while not same:
            wanted -= 1
            same = write_without_new_times(
                mount / 'a', mapped,
                old.replace(size, struct.pack('>Q', wanted), 1))
        becomes(lambda: os.path.getsize(mount / 'a'), wanted, 'new size')


def program_that_holds_it_open_sees_it_grow():
    make()
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.pread(fd, 1 << 20, 0) == DATA, 'content')
        for data in (DATA + MORE, DATA + MORE + DATA):
            replace('src/a.b2frame', frame(data, 10000))
            becomes(lambda size=len(data): os.fstat(fd).st_size == size, True,
                    'size')
            check(os.pread(fd, 1 << 20, 0) == data, 'content')
        os.close(fd)


def program_that_holds_it_open_sees_other_bytes():
    make()
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        mapped = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        check(mapped[:] == DATA, 'content')
        replace('src/a.b2frame', frame(DATA[::-1], 10000))
        becomes(lambda: os.pread(fd, 1 << 20, 0) == DATA[::-1], True, 'content')
        check(mapped[:] == DATA[::-1], 'mapped content')
        mapped.close()
        os.close(fd)


def chunk_that_takes_the_place_of_the_index_is_not_read_as_one():
    make()
    more = bytes([0x81]) * 10000  # as an index: chunks of zeros
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        with open('src/a.b2frame', 'r+b') as file:
            file.write(frame(DATA + more, 10000))
        check(os.lseek(fd, 0, os.SEEK_DATA) == 0, 'no hole')
        check(os.pread(fd, len(DATA), 0) == DATA, 'content')
        os.close(fd)


def file_that_was_just_closed_is_changed_by_others():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        for i, data in enumerate((MORE, DATA, MORE, DATA + MORE)):
            write(mount / 'a', DATA[i:])
            sh('sync -d mnt/a')
            with open('src/a.b2frame', 'r+b') as file:
                file.truncate(0)
                file.write(frame(data, 10000))
            check(read(mount / 'a') == data, 'content %d' % i)
            check(os.path.getsize(mount / 'a') == len(data), 'size %d' % i)


def tail_follows_a_growing_frame():
    make(b'line 1\n')
    text = b'line 1\n'
    with Mount('src', 'mnt') as mount:
        tail = subprocess.Popen(['tail', '-f', '-s', '0.1', mount / 'a'],
                                stdout=subprocess.PIPE)
        try:
            check(tail.stdout.readline() == b'line 1\n', 'first line')
            for i in range(2, 5):
                text += b'line %d\n' % i
                replace('src/a.b2frame', frame(text, 10000))
                check(tail.stdout.readline() == b'line %d\n' % i,
                      'line %d' % i)
        finally:
            tail.kill()
            tail.wait(PATIENCE)
            tail.stdout.close()


def read_at_random(path):
    """Read a file at random until it is gone.  Nothing is read from the
    kernel's cache."""
    fd = os.open(path, os.O_RDONLY)
    with contextlib.suppress(OSError):
        while True:
            size = os.fstat(fd).st_size
            for _ in range(6):
                os.pread(fd, 4096, random.randrange(size))
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    error_of(os.close, fd)


@contextlib.contextmanager
def readers(path):
    threads = [threading.Thread(target=read_at_random, args=(path,))
               for _ in range(16)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def mount_is_left_while_others_change_what_is_read():
    os.mkdir('src')
    # The frames have a single block, so that it takes long to read any page.
    for name, more in ('old', b''), ('new', MORE):
        write('raw', DATA[:1000] * 16000 + more)
        sh('%s create --codec zlib --filters bitshuffle --chunksize 64M '
           '--blocksize 64M raw %s' % (B2FRAME, name))
    for i in range(6):
        shutil.copyfile('old', 'src/a.b2frame')
        with contextlib.ExitStack() as stack:
            mount = stack.enter_context(Mount('src', 'mnt', '-o', 'threads=1'))
            stack.enter_context(readers(mount / 'a'))
            stack.callback(mount.kill)  # ends the readers
            for name in 'new', 'old', 'new':
                time.sleep(0.04 * i)  # the result is the same after any delay
                shutil.copyfile(name, 'src/.new')
                os.rename('src/.new', 'src/a.b2frame')
            check(mount.stop(signal.SIGTERM) == 0, 'is not left')


def frame_that_is_removed_stays_readable_while_open():
    make()
    write('src/plain', DATA)
    with Mount('src', 'mnt') as mount:
        fds = [os.open(mount / name, os.O_RDONLY) for name in ('a', 'plain')]
        os.unlink('src/a.b2frame')
        os.unlink('src/plain')
        becomes(lambda: error_of(os.stat, mount / 'a'), errno.ENOENT, 'its end')
        for fd in fds:
            becomes(lambda fd=fd: os.fstat(fd).st_nlink, 0, 'no link')
            check(os.fstat(fd).st_size == len(DATA), 'size')
            check(os.pread(fd, 1 << 20, 0) == DATA, 'content')
            os.close(fd)


def other_typesize_makes_old_handles_stale():
    make(typesize=4)
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.pread(fd, 10, 0) == DATA[:10], 'content')
        replace('src/a.b2frame', frame(DATA[::-1], 10000, typesize=8))
        becomes(lambda: error_of(os.pread, fd, 10, 0), errno.ESTALE, 'ESTALE')
        check(read(mount / 'a') == DATA[::-1], 'content, opened again')
        os.close(fd)


def frame_for_other_readers_is_another_file():
    make()
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        write('src/new', frame(DATA[::-1], 10000))
        os.chmod('src/new', 0o600)
        os.rename('src/new', 'src/a.b2frame')
        becomes(lambda: os.stat(mount / 'a').st_mode & 0o777, 0o600, 'mode')
        check(read(mount / 'a') == DATA[::-1], 'content')
        check(os.pread(fd, 1 << 20, 0) == DATA, 'content of the old one')
        check(os.fstat(fd).st_nlink == 0, 'links of the old one')
        os.close(fd)


def broken_state_in_between_is_passed_over():
    make()
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.pread(fd, 1 << 20, 0) == DATA, 'content')
        replace('src/a.b2frame', frame(DATA + MORE, 10000)[:-50])
        becomes(lambda: 'a.b2frame: ' in mount.log() or os.fstat(fd) is None,
                True, 'message')
        check(os.fstat(fd).st_size == len(DATA), 'size')
        replace('src/a.b2frame', frame(DATA + MORE, 10000))
        becomes(lambda: os.fstat(fd).st_size, 400000, 'size')
        check(os.pread(fd, 1 << 20, 0) == DATA + MORE, 'content')
        os.close(fd)


def files_become_frames_and_back():
    make()
    write('src/b.b2frame', b'not yet')
    os.mkdir('src/c')
    with Mount('src', 'mnt') as mount:
        check(read(mount / 'b.b2frame') == b'not yet', 'content')
        check(os.path.isdir(mount / 'c'), 'a directory')
        replace('src/b.b2frame', frame(DATA, 10000))
        write('src/c/chunks.b2frame', b'\x9e\xa8b2frame\0 and damaged')
        write('src/a.b2frame', b'no more')
        becomes(lambda: sorted(os.listdir(mount.path)),
                ['a.b2frame', 'b', 'c'], 'other names')
        becomes(lambda: os.path.isfile(mount / 'c'), True, 'a file')
        check(read(mount / 'b') == DATA, 'content of the frame')
        check(read(mount / 'a.b2frame') == b'no more', 'content of the file')


def what_is_written_to_a_frame_of_others_is_lost_when_it_is_closed():
    make()
    with Mount('src', 'mnt') as mount:
        file = open(mount / 'a', 'r+b', buffering=0)
        file.write(b'mine')
        os.fsync(file.fileno())
        write('src/a.b2frame', frame(DATA[::-1], 10000))
        file.write(b'lost')
        check(error_of(file.close) in (errno.EIO, errno.ESTALE), 'close()')
        wait_for(lambda: 'a.b2frame: bytes 0 to 4096 cannot be written and '
                 'are lost: Stale file handle' in mount.log(), 'message')
        check('kept in memory' not in mount.log(), 'nothing is kept')
        check(read(mount / 'a') == DATA[::-1], 'content')


def each_sync_and_close_tells_that_bytes_are_lost():
    """Also after another program has opened the frame of others."""
    for opens in True, False:
        make()
        # Nothing is committed before the test asks for it.
        with Mount('src', 'mnt', '-o', 'commit=0') as mount:
            fd = os.open(mount / 'a', os.O_RDWR | os.O_DIRECT)
            reader = os.open(mount / 'a', os.O_RDONLY)
            os.pwrite(fd, b'mine', 0)
            os.fsync(fd)
            os.pwrite(fd, b'lost', 0)
            write('src/a.b2frame', frame(DATA[::-1], 10000))
            check(error_of(os.fsync, fd) == errno.ESTALE, 'is synced')
            if opens:
                check(read(mount / 'a') == DATA[::-1], 'content')
            calls = [os.fsync] * 3 + [lambda fd: os.close(os.dup(fd))] * 2
            errors = [error_of(call, fd) for call in calls]
            check(set(errors) == {errno.ESTALE}, '%s: %s' % (opens, errors))
            check(error_of(os.close, fd) == errno.ESTALE, 'close')
            os.close(reader)
            with open(mount / 'a', 'r+b', buffering=0) as file:
                file.write(b'new')
                os.fsync(file.fileno())
        check_frames({'src/a.b2frame': b'new' + DATA[::-1][3:]})


def check_refused(fd):
    """The path of a descriptor does not lead to the frame that has taken the
    name."""
    path = '/proc/self/fd/%d' % fd
    for call, *args in ((os.truncate, 7),
                        (os.setxattr, 'user.b2frame.vlmeta.new', b'new')):
        failure = error_of(call, path, *args)
        check(failure == errno.ESTALE, '%s: %d' % (call.__name__, failure))


def frame_that_was_looked_up_anew_is_not_changed_as_the_old_one():
    make()
    with Mount('src', 'mnt') as mount:
        check(read(mount / 'a') == DATA, 'content')
        old = os.open(mount / 'a', os.O_PATH)
        make(DATA + MORE)
        with open(mount / 'a', 'r+b', buffering=0) as file:
            file.write(b'one')
            check_refused(old)
            os.fsync(file.fileno())
        os.close(old)
    check_frames({'src/a.b2frame': b'one' + (DATA + MORE)[3:]})


def frame_that_is_open_is_not_changed_as_the_one_it_replaced():
    make()
    write('src/b.b2frame', frame(MORE, 10000))
    with Mount('src', 'mnt') as mount:
        old = os.open(mount / 'a', os.O_PATH)
        with open(mount / 'b', 'r+b', buffering=0) as file:
            file.write(b'one')
            os.rename('src/b.b2frame', 'src/a.b2frame')
            check_refused(old)
            check(read(mount / 'a') == b'one' + MORE[3:], 'content')
            file.write(b'two')
        os.close(old)
    check_frames({'src/a.b2frame': b'onetwo' + MORE[6:]})


def is_refused_and_closed():
    """Truncate a frame of others as the one that was looked up, and open it
    so.  Returns False if the daemon had closed it for good by then, which it
    does a moment after the truncation."""
    make()
    with Mount('src', 'mnt') as mount:
        closed = mount.descriptors()
        check(read(mount / 'a') == DATA, 'content at first')
        old = os.open(mount / 'a', os.O_PATH)
        wait_for(lambda: mount.descriptors() == closed, 'the file to be closed')
        before = mount.descriptors()
        make((DATA + MORE)[::-1])
        os.truncate('/proc/self/fd/%d' % old, 100)
        failure = error_of(lambda: os.close(os.open('/proc/self/fd/%d' % old,
                                                    os.O_RDWR)))
        check(failure in (0, errno.ESTALE), 'error %d' % failure)
        check(failure == 0 or mount.descriptors() == before,
              'the old one is open')
        check(read(mount / 'a') == MORE[:-101:-1], 'content')
        os.close(old)
    return failure != 0


def frame_is_closed_before_it_is_looked_up_anew():
    # A slow program may open the file too late.
    check(any(is_refused_and_closed() for _ in range(10)), 'is not refused')


def truncation_that_fails_does_not_hide_a_change():
    make()
    with Mount('src', 'mnt') as mount:
        check(os.stat(mount / 'a').st_size == len(DATA), 'size')
        make(DATA + MORE)
        failure = error_of(os.truncate, mount / 'a', 2**62)
        check(failure == errno.EFBIG, 'error %d' % failure)
        check(read(mount / 'a') == DATA + MORE, 'content')


def next_open_sees_what_another_mount_appends_to_an_open_file():
    make()
    os.mkdir('second')
    content = DATA
    with Mount('src', 'mnt') as mount, Mount('src', 'second') as second:
        with open(mount / 'a', 'rb') as held:
            check(held.read() == DATA, 'content')
            for i in range(40):
                with open(second / 'a', 'ab') as file:
                    file.write(bytes([i]) * 20000)
                content += bytes([i]) * 20000
                check(read(mount / 'a') == content, 'append %d' % i)


def rename_changed_file(layout, look_at):
    """When a mount renames a file, its kernel restores the time of
    modification that it knows, although another mount has changed the file
    since.  No mount may take the file for the older one."""
    tops = ['mnt', 'second', 'third']
    with contextlib.ExitStack() as stack:
        for top in tops:
            os.makedirs(top, exist_ok=True)
            stack.enter_context(Mount('src', top, '-o', 'layout=' + layout))
        write('second/a', DATA)
        stored = 'src/a.b2frame'
        wait_for(lambda: time.time() - os.stat(stored).st_ctime > 0.5,
                 'times that prove that the file has not changed')
        look_at('mnt/a')
        look_at('third/a')
        with open('second/a', 'ab') as file:
            file.write(MORE)
        os.rename('mnt/a', 'mnt/b')
        with open('mnt/b', 'ab') as file:
            file.write(b'end')
        content = DATA + MORE + b'end'
        check(read('mnt/b') == content, 'content')
        os.rename('mnt/b', 'mnt/a')
        with open('third/a', 'ab') as file:
            file.write(b'third')
        for top in tops:
            check(read(os.path.join(top, 'a')) == content + b'third',
                  'content in ' + top)


def stored_mtime(name):
    os.makedirs('new', exist_ok=True)
    with Mount('src', 'new') as mount:
        return os.stat(mount / name).st_mtime_ns


@layouts
def changed_file_keeps_its_time_as_it_is_renamed(layout):
    os.mkdir('second')
    options = '-o', 'layout=' + layout
    with Mount('src', 'mnt', *options) as mount:
        with Mount('src', 'second', *options) as second:
            write(second / 'a', DATA)
            wait_for(lambda: time.time() - os.stat('src/a.b2frame').st_ctime >
                     0.5, 'times that prove that the file has not changed')
            check(read(mount / 'a') == DATA, 'content')
            with open(second / 'a', 'ab') as file:
                file.write(MORE)
            changed = os.stat(second / 'a').st_mtime_ns
            os.rename(mount / 'a', mount / 'b')
            os.chmod(mount / 'b', 0o600)
            # The second daemon frees space when it closes the file, and then
            # sets the time again.
            wait_for(lambda: stored_mtime('b') == changed, 'the time')
        os.utime(mount / 'b', ns=(12345, 67890))
        check(stored_mtime('b') == 67890, 'a time that a program sets')


@layouts
def changed_file_is_renamed_after_reading(layout):
    rename_changed_file(layout, read)


@layouts
def changed_file_is_renamed_after_a_look(layout):
    rename_changed_file(layout, os.stat)


def overwrite(mount):
    """Write and close.  The daemon keeps the file open for a moment after
    that."""
    with open(mount / 'a', 'r+b') as file:
        file.write(MORE)


def frame_that_takes_the_place_of_one_just_written_is_shown():
    make()
    with Mount('src', 'mnt') as mount:
        for i, data in enumerate((DATA[::-1], DATA + MORE, MORE)):
            overwrite(mount)
            os.link('src/a.b2frame', 'src/was%d.b2frame' % i)
            replace('src/a.b2frame', frame(data, 10000))
            check(read(mount / 'a') == data, 'content of number %d' % i)
            check(os.path.getsize(mount / 'a') == len(data), 'size')


def time_of_what_others_have_written_stays():
    make()
    with Mount('src', 'mnt') as mount:
        before = mount.descriptors()
        overwrite(mount)
        os.utime(mount / 'a', (1000, 1000))
        write('more', DATA)
        harness.run(B2FRAME, 'append', 'src/a.b2frame', 'more')
        time_of = os.stat('src/a.b2frame').st_mtime_ns
        wait_for(lambda: mount.descriptors() == before, 'the file to be closed')
        check(os.stat('src/a.b2frame').st_mtime_ns == time_of, 'time')
        check(read(mount / 'a')[-len(DATA):] == DATA, 'content')


def what_others_append_to_a_plain_file_just_closed_is_shown():
    """The mount closes such a file for good a moment after the program did."""
    os.makedirs('src', exist_ok=True)
    with Mount('src', 'mnt', '-o', 'plain=txt') as mount:
        for i in range(40):
            path = mount / ('%d.txt' % i)
            write(path, b'')
            with open('src/%d.txt' % i, 'ab') as file:
                file.write(b'more')
            becomes(lambda path=path: read(path), b'more', path)


def unchanged_frames_stay_in_the_cache_of_the_kernel():
    make()
    os.utime('src/a.b2frame')
    time.sleep(0.2)  # later changes get another time stamp
    with Mount('src', 'mnt') as mount:
        for _ in range(2):
            check(read(mount / 'a') == DATA, 'content')
        before = written(mount)
        check(read(mount / 'a') == DATA, 'content')
        # Short replies carry no data.
        check(written(mount) - before < 50000, 'was read again')


def written(mount):
    """Return how many bytes the daemon has written, to the kernel and to
    files."""
    with open('/proc/%d/io' % mount.daemon.pid, encoding='ascii') as counts:
        values = dict(line.split(': ') for line in counts)
    return int(values['wchar'])


main(frame_that_is_replaced,
     frame_that_is_written_over,
     program_that_holds_it_open_sees_it_grow,
     program_that_holds_it_open_sees_other_bytes,
     chunk_that_takes_the_place_of_the_index_is_not_read_as_one,
     file_that_was_just_closed_is_changed_by_others,
     size_that_another_program_writes_by_mmap_is_shown,
     tail_follows_a_growing_frame,
     mount_is_left_while_others_change_what_is_read,
     frame_that_is_removed_stays_readable_while_open,
     other_typesize_makes_old_handles_stale,
     frame_for_other_readers_is_another_file,
     broken_state_in_between_is_passed_over,
     files_become_frames_and_back,
     what_is_written_to_a_frame_of_others_is_lost_when_it_is_closed,
     each_sync_and_close_tells_that_bytes_are_lost,
     frame_that_was_looked_up_anew_is_not_changed_as_the_old_one,
     frame_that_is_open_is_not_changed_as_the_one_it_replaced,
     frame_is_closed_before_it_is_looked_up_anew,
     truncation_that_fails_does_not_hide_a_change,
     next_open_sees_what_another_mount_appends_to_an_open_file,
     changed_file_keeps_its_time_as_it_is_renamed,
     changed_file_is_renamed_after_reading,
     changed_file_is_renamed_after_a_look,
     frame_that_takes_the_place_of_one_just_written_is_shown,
     time_of_what_others_have_written_stays,
     what_others_append_to_a_plain_file_just_closed_is_shown,
     unchanged_frames_stay_in_the_cache_of_the_kernel)
