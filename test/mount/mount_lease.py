#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount lease
"""A frame has one owner at a time, and readers never get wrong bytes.

usage: mount_lease.py FRAMEFS [TEST...]
"""

import contextlib
import ctypes
import errno
import mmap
import os
import random
import shutil
import struct
import subprocess
import threading

from mounted import (B2FRAME, FRAMEFS, PATIENCE, Mount, check, error_of,
                     harness, layouts, main, opened, read, wait_for, write)

CHUNK = 65536
NCHUNKS = 16
LIBRARY = os.path.join(os.path.dirname(FRAMEFS), '../src/lib/libframefs.so.0')


def record(i):
    """Return a chunk that has its number at both ends."""
    mark = struct.pack('<I', i)
    return mark + os.urandom(CHUNK - 8) + mark


def is_record(data, i):
    mark = struct.pack('<I', i)
    return len(data) == CHUNK and data[:4] == mark and data[-4:] == mark


def make(layout, nchunks=NCHUNKS):
    os.makedirs('src', exist_ok=True)
    write('in', b''.join(record(i) for i in range(nchunks)))
    harness.run(B2FRAME, 'create', '--chunksize', '64K', '--layout', layout,
               'in', 'src/f.b2frame')


def b2frame(*words, **options):
    return subprocess.run([B2FRAME, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          env=harness.environment(), **options)


def content():
    done = b2frame('cat', 'src/f.b2frame')
    check(done.returncode == 0, 'cat: %r' % done.stderr)
    check(b2frame('verify', '--quiet', 'src/f.b2frame').returncode == 0,
          'verify finds a fault')
    return done.stdout


def write_direct(fd, data, off):
    """Write with O_DIRECT, so that the daemon gets the bytes at once."""
    with mmap.mmap(-1, len(data)) as pages:
        pages.write(data)
        return os.pwrite(fd, pages, off)


def mounted(path, *options):
    """Mount so that nothing is committed unless the test asks for it.  Hence
    close=later, because a child process closes the descriptors that it
    inherits."""
    os.makedirs(path, exist_ok=True)
    return Mount('src', path, '-o',
                 ','.join(('commit=0', 'close=later') + options))


@layouts
def tool_waits_and_says_who_changes_the_frame(layout):
    make(layout)
    write('one', record(99))
    with mounted('mnt') as mount:
        with opened(mount / 'f', os.O_RDWR | os.O_DIRECT) as fd:
            for cut in (os.ftruncate,
                        lambda fd, off: punch(fd, off, NCHUNKS * CHUNK - off)):
                write_direct(fd, record(1), 5 * CHUNK)
                done = b2frame('append', 'src/f.b2frame', 'one')
                check(done.returncode == 1, 'appended beside a writer')
                check(b'process (%d)' % mount.daemon.pid in done.stderr,
                      'does not name the daemon: %r' % done.stderr)
                cut(fd, 12 * CHUNK)
                os.fsync(fd)
        check(b2frame('append', 'src/f.b2frame', 'one').returncode == 0,
              'the lease was not given back')
    check(is_record(content()[-CHUNK:], 99), 'what was appended')


@layouts
def tool_makes_no_new_frame_of_one_that_is_being_changed(layout):
    make(layout)
    words = {'contiguous': ('convert', '--force', '--codec', 'zlib',
                            'src/f.b2frame', 'src/f.b2frame'),
             'sparse': ('repair', '--in-place', 'src/f.b2frame')}[layout]
    with mounted('mnt') as mount:
        with opened(mount / 'f', os.O_RDWR | os.O_DIRECT) as fd:
            write_direct(fd, record(1), 5 * CHUNK)
            done = b2frame(*words)
            check(done.returncode == 1, 'replaced beside a writer')
            check(b'process (%d)' % mount.daemon.pid in done.stderr,
                  'does not name the daemon: %r' % done.stderr)
            os.fsync(fd)
        done = b2frame(*words)
        check(done.returncode == 0, 'the lease stays: %r' % done.stderr)
    check(is_record(content()[5 * CHUNK:6 * CHUNK], 1), 'what was written')


def child_changes(pid, path):
    """Has a child of a process a file open for writing?"""
    try:
        for child in read('/proc/%d/task/%d/children' % (pid, pid)).split():
            place = '/proc/%d/' % int(child)
            for fd in os.listdir(place + 'fd'):
                flags = read(place + 'fdinfo/' + fd).split()[3]
                if (os.readlink(place + 'fd/' + fd) == path and
                        int(flags, 8) & os.O_ACCMODE == os.O_RDWR):
                    return True
    except (FileNotFoundError, ProcessLookupError):
        pass
    return False


def tool_that_opens_a_frame_as_it_is_replaced_appends_to_the_new_one():
    """The tool is delayed after it has opened the file."""
    if not shutil.which('strace') or harness.SANITIZED:
        print('no strace here, or not with a sanitizer')
        return
    make('contiguous')
    write('one', record(99))
    path = os.path.abspath('src/f.b2frame')
    with subprocess.Popen(
            ['strace', '-o', 'log', '-P', path, '-e', 'trace=openat,openat2',
             '-e', 'inject=openat,openat2:delay_exit=1000000',
             B2FRAME, 'append', path, 'one'],
            env=harness.environment()) as tool:
        wait_for(lambda: tool.poll() is not None or
                 child_changes(tool.pid, path),
                 'the tool to open the frame')
        done = b2frame('convert', '--force', '--codec', 'zlib', path, path)
        check(done.returncode == 0, 'convert: %r' % done.stderr)
        check(tool.wait(PATIENCE) == 0, 'status of the tool')
    check(is_record(content()[-CHUNK:], 99), 'what was appended')


def punch(fd, off, length):
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.fallocate(fd, 3, ctypes.c_long(off),
                         ctypes.c_long(length)) == 0, 'cannot punch')


@layouts
def foreign_commit_behind_the_end_is_not_punched(layout):
    """The other program takes no lease, as is true of the reference library."""
    make(layout)
    write('one', record(99))
    with mounted('mnt') as mount:
        fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
        write_direct(fd, record(77), NCHUNKS * CHUNK)
        # The tool changes a copy, which then overwrites the original.
        harness.run('cp', '-r', 'src/f.b2frame', 'copy')
        check(b2frame('append', 'copy', 'one').returncode == 0, 'append')
        overwrite('copy', 'src/f.b2frame')
        os.ftruncate(fd, NCHUNKS * CHUNK)
        check(error_of(os.fsync, fd) == errno.ESTALE, 'fsync')
        check(error_of(os.close, fd) == errno.ESTALE, 'close')
    data = content()
    check(len(data) == (NCHUNKS + 1) * CHUNK and
          is_record(data[-CHUNK:], 99), 'what others wrote is gone')


def overwrite(source, target):
    """Write files over other files, which keep their inodes."""
    if not os.path.isdir(source):
        with open(target, 'r+b') as file:
            file.write(read(source))
            file.truncate()
        return
    for name in sorted(os.listdir(source)):
        if os.path.exists(os.path.join(target, name)):
            overwrite(os.path.join(source, name), os.path.join(target, name))
        else:
            write(os.path.join(target, name), read(os.path.join(source, name)))


@layouts
def second_mount_never_writes_over_the_first(layout):
    make(layout)
    first, second = record(1) * 4, record(2) * 4
    with mounted('a') as one, mounted('b') as two:
        with opened(one / 'f', os.O_RDWR | os.O_DIRECT) as fa, \
                opened(two / 'f', os.O_RDWR | os.O_DIRECT) as fb:
            write_direct(fa, first, CHUNK)
            check(error_of(write_direct, fb, second, CHUNK) == errno.EBUSY,
                  'two mounts change one frame')
            os.fsync(fa)
            check(error_of(write_direct, fb, second, CHUNK) == errno.ESTALE,
                  'the second writes what it knows by heart')
        with opened(two / 'f', os.O_RDWR | os.O_DIRECT) as fb:
            write_direct(fb, second, 8 * CHUNK)
            os.fsync(fb)
    data = content()
    check(data[CHUNK:5 * CHUNK] == first, 'what the first wrote')
    check(data[8 * CHUNK:12 * CHUNK] == second, 'what the second wrote')


@layouts
def what_others_have_appended_is_not_cut_off(layout):
    """Neither a descriptor that has not seen the new chunks may cut them off,
    nor the kernel, which truncates a file after an O_DIRECT write at its end
    has failed."""
    make(layout)
    more = record(1) * 4
    size = NCHUNKS * CHUNK
    with mounted('a') as one, mounted('b') as two:
        for change in (lambda fd, end: write_direct(fd, more, end),
                       lambda fd, end: os.ftruncate(fd, end - CHUNK)):
            with opened(two / 'f', os.O_RDWR | os.O_DIRECT) as fb:
                with opened(one / 'f', os.O_RDWR | os.O_DIRECT) as fa:
                    write_direct(fa, more, size)
                    os.fsync(fa)
                check(error_of(change, fb, size) == errno.ESTALE, 'change')
            size += len(more)
    check(content()[-2 * len(more):] == 2 * more, 'what was appended')


@layouts
def lease_ends_with_a_daemon_that_is_killed(layout):
    make(layout)
    write('one', record(99))
    with mounted('mnt') as mount:
        fd = os.open(mount / 'f', os.O_RDWR | os.O_DIRECT)
        write_direct(fd, record(1), CHUNK)
        mount.crash()
        error_of(os.close, fd)
    check(b2frame('append', 'src/f.b2frame', 'one').returncode == 0, 'append')
    check(is_record(content()[-CHUNK:], 99), 'what was appended')


@layouts
def handle_of_a_frame_that_others_changed_writes_no_more(layout):
    make(layout)
    write('one', record(99))
    with mounted('mnt') as mount:
        fd = os.open(mount / 'f', os.O_WRONLY | os.O_APPEND)
        check(b2frame('append', 'src/f.b2frame', 'one').returncode == 0,
              'append')
        os.stat(mount / 'f')
        read(mount / 'f')
        os.write(fd, b'lost')
        for _ in range(2):
            check(error_of(os.fsync, fd) == errno.ESTALE, 'fsync')
        check(error_of(os.close, fd) == errno.ESTALE, 'close')
        with opened(mount / 'f', os.O_WRONLY | os.O_APPEND) as fd:
            os.write(fd, b'kept')
    data = content()
    check(data.endswith(b'kept') and is_record(data[-CHUNK - 4:-4], 99),
          'what was appended')


@contextlib.contextmanager
def changing(path):
    """Overwrite some chunks again and again."""
    choice, done = random.Random(1), threading.Event()

    def change(fd):
        while not done.is_set():
            for i in choice.sample(range(NCHUNKS), 3):
                os.pwrite(fd, record(i), i * CHUNK)
            os.fsync(fd)

    with opened(path, os.O_RDWR) as fd:
        thread = threading.Thread(target=change, args=(fd,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@layouts
def reader_of_the_library_beside_a_writer_reads_its_commits(layout):
    if harness.SANITIZED:
        print('no library of sanitized code can be loaded here')
        return
    make(layout)
    lib = ctypes.CDLL(LIBRARY)
    lib.framefs_pread.restype = ctypes.c_ssize_t
    lib.framefs_error.restype = ctypes.c_char_p
    fs, frame = ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.framefs_new(b'cache=4M', ctypes.byref(fs)) == 0, 'new')
    check(lib.framefs_open(fs, b'src/f.b2frame', 0, ctypes.c_uint64(0),
                           ctypes.byref(frame)) == 0, 'open')
    data = ctypes.create_string_buffer(CHUNK)
    with mounted('mnt') as mount, changing(mount / 'f'):
        for i in list(range(NCHUNKS)) * 20:
            n = lib.framefs_pread(frame, data, ctypes.c_size_t(CHUNK),
                                  ctypes.c_uint64(i * CHUNK))
            check(n == CHUNK, lib.framefs_error().decode())
            check(is_record(data.raw, i), 'bytes of another chunk')
    lib.framefs_close(frame)
    lib.framefs_free(fs)


def read_all(path):
    with opened(path, os.O_RDONLY | os.O_DIRECT) as fd, \
            mmap.mmap(-1, CHUNK) as pages:
        for i in list(range(NCHUNKS)) * 20:
            check(os.preadv(fd, [pages], i * CHUNK) == CHUNK, 'a short read')
            check(is_record(pages[:], i), 'bytes of another chunk')


@layouts
def read_only_mount_beside_a_writing_one_reads_its_commits(layout):
    make(layout)
    with mounted('a') as one, mounted('b', 'ro', 'cache=4M') as two:
        with changing(one / 'f'):
            read_all(two / 'f')


@layouts
def mount_reads_what_the_tool_changes_underneath(layout):
    make(layout)
    done = threading.Event()

    def change():
        choice = random.Random(2)
        while not done.is_set():
            i = choice.randrange(NCHUNKS)
            b2frame('update', 'src/f.b2frame', str(i), '-', input=record(i))

    with mounted('mnt', 'cache=4M') as mount:
        thread = threading.Thread(target=change)
        thread.start()
        try:
            read_all(mount / 'f')
        finally:
            done.set()
            thread.join()


main(tool_waits_and_says_who_changes_the_frame,
     tool_makes_no_new_frame_of_one_that_is_being_changed,
     tool_that_opens_a_frame_as_it_is_replaced_appends_to_the_new_one,
     foreign_commit_behind_the_end_is_not_punched,
     second_mount_never_writes_over_the_first,
     what_others_have_appended_is_not_cut_off,
     lease_ends_with_a_daemon_that_is_killed,
     handle_of_a_frame_that_others_changed_writes_no_more,
     reader_of_the_library_beside_a_writer_reads_its_commits,
     read_only_mount_beside_a_writing_one_reads_its_commits,
     mount_reads_what_the_tool_changes_underneath)
