#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount inodes
"""A file keeps its identity where inode numbers are reused at once.

usage: mount_inodes.py FRAMEFS [TEST...]

FRAMEFS_INODES_STEPS sets the number of steps, and FRAMEFS_INODES_SEED selects
them.
"""

import os
import random
import subprocess
import sys

from mounted import (PATIENCE, Mount, can_mount_disks, check, main, read, sh,
                     write)

STEPS = int(os.environ.get('FRAMEFS_INODES_STEPS', '60'))
SEED = int(os.environ.get('FRAMEFS_INODES_SEED', '1'))
NWORKERS = 4


class Worker:
    """Some files in a directory, and the content that they must have."""

    def __init__(self, path, choice):
        self.path = path
        self.choice = choice
        self.model = {}
        os.mkdir(path)

    def any_name(self):
        return '%s/f%d' % (self.path, self.choice.randrange(6))

    def any_file(self):
        return self.choice.choice(sorted(self.model))

    def make(self):
        name = self.any_name()
        self.model[name] = self.choice.randbytes(self.choice.randrange(1, 5000))
        write(name, self.model[name])

    def remove(self):
        name = self.any_file()
        os.unlink(name)
        del self.model[name]

    def rename(self):
        old, new = self.any_file(), self.any_name()
        os.rename(old, new)
        self.model[new] = self.model.pop(old)

    def append(self):
        name = self.any_file()
        with open(name, 'ab') as file:
            file.write(b'more')
            if self.choice.random() < 0.3:
                file.flush()
                os.fsync(file.fileno())
        self.model[name] += b'more'

    def empty(self):
        name = self.any_file()
        os.truncate(name, 0)
        self.model[name] = b''

    def replace(self):
        name = self.any_file()
        self.model[name] = self.model[name][::-1]
        write(self.path + '/new', self.model[name])
        os.rename(self.path + '/new', name)

    def look(self):
        """Do all files have their content and a stable inode number?  The
        daemon may give a file another one when the last program closes it."""
        numbers = set()
        for name, content in self.model.items():
            with open(name, 'rb') as file:
                check(file.read() == content, name + ': content')
                number = os.fstat(file.fileno()).st_ino
                check(os.stat(name).st_ino == number, name + ': inode number')
            numbers.add(number)
        check(len(numbers) == len(self.model), 'two files of one inode number')
        check({self.path + '/' + name for name in os.listdir(self.path)} ==
              set(self.model), 'names')

    def run(self):
        for _ in range(STEPS):
            operations = [self.make]
            if self.model:
                operations += [self.make, self.remove, self.rename,
                               self.append, self.empty, self.replace]
            self.choice.choice(operations)()
            self.look()


def work_beside(mount):
    """Run several workers, each in a process of its own."""
    children = []
    for i in range(NWORKERS):
        child = os.fork()
        if child == 0:
            worker = Worker(mount / ('w%d' % i), random.Random(SEED + i))
            status = 1
            try:
                worker.run()
                status = 0
            except BaseException as error:  # pylint: disable=broad-except
                print('seed %d: %s' % (SEED + i, error))
                sys.stdout.flush()
            os._exit(status)
        children.append(child)
    return [os.waitpid(child, 0)[1] for child in children]


def small_disk():
    """Mount a file system that reuses inode numbers.  Return whether that is
    possible."""
    os.mkdir('src')
    if not can_mount_disks():
        return False
    sh('truncate -s 64M disk && mkfs.ext4 -q disk')
    return subprocess.run(['mount', '-o', 'loop', 'disk', 'src'], check=False,
                          stderr=subprocess.DEVNULL,
                          timeout=PATIENCE).returncode == 0


def exercise(layout):
    disk = small_disk()
    try:
        with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
            check(work_beside(mount) == NWORKERS * [0], 'a worker failed')
            before = contents(mount)
        with Mount('src', 'mnt') as mount:
            check(contents(mount) == before, 'mounted again')
    finally:
        if disk:
            sh('umount src')


def contents(mount):
    return {(i, name): read(mount / ('w%d/%s' % (i, name)))
            for i in range(NWORKERS)
            for name in sorted(os.listdir(mount / ('w%d' % i)))}


def contiguous():
    exercise('contiguous')


def sparse():
    exercise('sparse')


main(contiguous,
     sparse)
