#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount seek
"""lseek() finds data that programs have written, wherever that data is.

The kernel keeps the data of a file that stays open, and passes it to the daemon
half a minute later.

usage: mount_seek.py FRAMEFS [TEST...]
"""

import errno
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import threading

from mounted import Mount, check, error_of, main, read, sh, write

MIB = 1 << 20
DATA = random.Random(9).randbytes(3 * MIB)
COPIES = {
    'cp': 'cp mnt/x copy',
    'cp --sparse=always': 'cp --sparse=always mnt/x copy',
    'tar -S': 'tar -C mnt -cSf x.tar x && tar -xSf x.tar && mv x copy',
}


def check_copies(content):
    """Programs that skip holes copy all of the data."""
    for name, command in COPIES.items():
        if not shutil.which(name.split()[0]):
            continue
        sh(command)
        check(read('copy') == content, name + ' lost something')
        os.remove('copy')


WRITER = """
import os, random, sys
data = random.Random(9).randbytes(%d)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
for line in sys.stdin:
    eval(line)
    print(flush=True)
""" % len(DATA)


class Writer:
    """A program that holds a file open.  It is no child that inherits the file
    from the test, because the kernel writes everything back when any process
    closes a file."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, '-c', WRITER, path], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self.do

    def do(self, call):
        """Have the program evaluate a call with its `fd` and `data`."""
        self.process.stdin.write(call + '\n')
        check(self.process.stdout.readline() == '\n', call + ' failed')

    def __exit__(self, *_):
        self.process.communicate()


def new_file_is_copied_while_it_is_open():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount, Writer(mount / 'x') as do:
        do('os.pwrite(fd, data[:50000], 0)')
        check_copies(DATA[:50000])
        do('os.pwrite(fd, data, 0)')
        check_copies(DATA)


def log_is_copied_while_it_grows():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        content = b'a line of a log\n' * 200000
        write(mount / 'x', content)
        with Writer(mount / 'x') as do:
            for _ in range(3):
                content += DATA[:99999]
                do('os.pwrite(fd, data[:99999], os.fstat(fd).st_size)')
                check_copies(content)


def file_with_holes_is_copied_while_it_is_filled():
    os.mkdir('src')
    content = bytearray(32 * MIB)
    with Mount('src', 'mnt') as mount, Writer(mount / 'x') as do:
        do('os.ftruncate(fd, %d)' % len(content))
        do('os.fsync(fd)')
        for off in (20 * MIB + 5, 3 * MIB, 32 * MIB - 9):
            content[off:off + 9] = DATA[:9]
            do('os.pwrite(fd, data[:9], %d)' % off)
            check_copies(content)


def file_that_is_passed_through_is_copied_while_it_is_filled():
    os.mkdir('src')
    write('src/x', b'')
    with Mount('src', 'mnt') as mount, Writer(mount / 'x') as do:
        do('os.ftruncate(fd, %d)' % (32 * MIB))
        do('os.fsync(fd)')
        do('os.pwrite(fd, data, %d)' % (20 * MIB))
        check_copies(bytes(20 * MIB) + DATA + bytes(9 * MIB))


def removed_file_is_seen_as_it_is():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount, open(mount / 'x', 'w+b') as file:
        file.truncate(32 * MIB)
        os.fsync(file.fileno())
        os.remove(mount / 'x')
        os.pwrite(file.fileno(), DATA, 20 * MIB)
        check(os.lseek(file.fileno(), 0, os.SEEK_DATA) == 20 * MIB, 'data')
        check(os.lseek(file.fileno(), 20 * MIB, os.SEEK_HOLE) == 23 * MIB,
              'hole')


def holes_are_exact():
    """Holes are exact, both while a file is open for writing and afterwards."""
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'x', os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, 32 * MIB)
        os.pwrite(fd, DATA, 20 * MIB)
        for _ in range(2):
            check(os.lseek(fd, 0, os.SEEK_HOLE) == 0, 'first hole')
            check(os.lseek(fd, 0, os.SEEK_DATA) == 20 * MIB, 'data')
            check(os.lseek(fd, 20 * MIB, os.SEEK_HOLE) == 23 * MIB, 'hole')
            check(error_of(os.lseek, fd, 23 * MIB, os.SEEK_DATA) ==
                  errno.ENXIO, 'data at the end')
            check(error_of(os.lseek, fd, 32 * MIB, os.SEEK_HOLE) ==
                  errno.ENXIO, 'behind the end')
            for whence in (os.SEEK_DATA, os.SEEK_HOLE):
                check(error_of(os.lseek, fd, -1, whence) == errno.ENXIO,
                      'before the start')
            os.close(fd)
            fd = os.open(mount / 'x', os.O_RDONLY)
        os.close(fd)


def mapped_bytes_are_seen():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount, open(mount / 'x', 'w+b') as file:
        file.truncate(64 * MIB)
        os.fsync(file.fileno())
        memory = mmap.mmap(file.fileno(), 64 * MIB)
        for off in range(63 * MIB, 0, -3 * MIB):
            memory[off] = 1
            check(os.lseek(file.fileno(), 0, os.SEEK_DATA) == off,
                  'byte at %d' % off)
        memory.close()


class Workers:
    """Threads that repeat something until the `with` statement ends."""

    def __init__(self, *steps):
        self.over = False
        self.threads = [threading.Thread(target=self.run, args=(step,))
                        for step in steps]

    def run(self, step):
        try:
            while not self.over:
                step()
        except OSError:  # the daemon is gone
            pass

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()


def seeks_go_on_beside_all_that_changes_pages():
    os.mkdir('src')
    with Mount('src', 'mnt', '-ocache=16M') as mount:
        fd = os.open(mount / 'x', os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, 16 * MIB)
        memory = mmap.mmap(fd, 16 * MIB)
        place = random.Random(5)

        def seek():
            off = place.randrange(8 * MIB)
            found = os.lseek(fd, off, os.SEEK_DATA)
            check(found >= off, 'found %d from %d' % (found, off))

        def touch():
            memory[place.randrange(8 * MIB)] = 1

        def resize():
            os.ftruncate(fd, place.randrange(8 * MIB, 16 * MIB))
            os.pwrite(fd, b'x', 15 * MIB)

        with Workers(touch, resize, lambda: os.fsync(fd),
                     lambda: os.pwrite(fd, DATA, place.randrange(8 * MIB)),
                     lambda: os.pread(fd, MIB, place.randrange(8 * MIB))):
            for _ in range(60):
                seek()
        memory.close()
        os.close(fd)


def more_seeks_than_threads_are_answered():
    """While seeks wait, a thread is left for the requests by which the kernel
    hands over its pages."""
    nfiles = 300
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        fds = [os.open(mount / str(i), os.O_RDWR | os.O_CREAT)
               for i in range(nfiles)]
        found = [None] * nfiles

        def seek(i):
            os.pwrite(fds[i], DATA[:8192], 8192)
            try:
                found[i] = os.lseek(fds[i], 0, os.SEEK_HOLE)
            except OSError as error:
                found[i] = error

        threads = [threading.Thread(target=seek, args=(i,))
                   for i in range(nfiles)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(found == nfiles * [16384], 'found %s' % found[:3])
        for fd in fds:
            os.close(fd)


def daemon_leaves_while_programs_seek():
    for _ in range(5):
        os.mkdir('src')
        with Mount('src', 'mnt') as mount:
            fd = os.open(mount / 'x', os.O_RDWR | os.O_CREAT)
            seeks = [0]

            def seek():
                os.pwrite(fd, DATA, 0)
                os.lseek(fd, 0, os.SEEK_HOLE)
                seeks[0] += 1

            with Workers(seek):
                while seeks[0] < 3:
                    pass
                check(mount.stop(signal.SIGTERM) == 0, 'status')
            error_of(os.close, fd)
        shutil.rmtree('src')


main(new_file_is_copied_while_it_is_open,
     log_is_copied_while_it_grows,
     file_with_holes_is_copied_while_it_is_filled,
     file_that_is_passed_through_is_copied_while_it_is_filled,
     removed_file_is_seen_as_it_is,
     holes_are_exact,
     mapped_bytes_are_seen,
     seeks_go_on_beside_all_that_changes_pages,
     more_seeks_than_threads_are_answered,
     daemon_leaves_while_programs_seek)
