#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount power_cut
"""Data that fsync() acknowledged survives a power cut, and no frame is damaged.

usage: mount_power_cut.py FRAMEFS [TEST...]

SOURCE is on a file system of its own, in an image.  Several threads write
through the mount until that file system is shut down as if by a power cut: data
that it has not written to the image is lost, and every later call fails.  Then
it is mounted again.  All frames are valid and readable, none is empty or
incomplete, and they hold the acknowledged data.

FRAMEFS_CUT_RUNS sets the number of cuts, and FRAMEFS_CUT_SEED their moments.
Skipped where no image can be mounted.
"""

import contextlib
import fcntl
import glob
import os
import random
import shutil
import stat
import struct
import subprocess
import sys

import load
from load import CHUNKSIZE, PAGE, Load, Log, Records, filled
from mounted import (B2FRAME, Mount, check, harness, is_root, main, need_fuse,
                     read, sh, wait_for, write)

RUNS = int(os.environ.get('FRAMEFS_CUT_RUNS', '10'))
SEED = int(os.environ.get('FRAMEFS_CUT_SEED', '1'))
LONGEST = 0.5  # seconds of load before a cut
DISK_SIZE = 320 << 20  # bytes; XFS needs at least 300 MiB

SHUTDOWN = 0x8004587d  # EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
LOG_IS_FLUSHED = 1
NOTHING_IS_FLUSHED = 2


class Names:
    """Files that atomically replace other files.  The replacement is durable
    once the file has been synced under its new name.  Until then, a file that
    has replaced no other one may be empty."""

    NAMES = ('a', 'b', 'c')

    def __init__(self, name):
        self.name = name
        self.allowed = {name: {0} for name in self.NAMES}  # 0: no content
        self.version = 0

    def loads(self):
        return [self.work]

    def content(self, version):
        return filled(version * 7919 % 60000 + 20, version)

    def work(self, mount, choice, ending):
        top = mount / self.name
        os.makedirs(top, exist_ok=True)
        while not ending.is_set():
            self.put(os.path.join(top, choice.choice(self.NAMES)), choice)

    def put(self, path, choice):
        self.version += 1
        with open(path + '.new', 'wb', buffering=0) as file:
            file.write(self.content(self.version))
            if choice.random() < 0.5:
                file.close()  # the kernel hands over its pages
            else:
                load.sync(file.fileno())
            self.allowed[os.path.basename(path)].add(self.version)
            os.rename(path + '.new', path)
        if choice.random() < 0.5:
            with open(path, 'rb') as file:
                load.sync(file.fileno())
            self.allowed[os.path.basename(path)] = {self.version}

    def check(self, mount):
        for name in self.NAMES:
            path = os.path.join(mount / self.name, name)
            data = read(path) if os.path.exists(path) else b''
            version, = struct.unpack_from('<I', data or b'\0' * 4)
            check(version in self.allowed[name], '%s: version %d, not of %s' %
                  (path, version, self.allowed[name]))
            check(version == 0 or data == self.content(version),
                  path + ': not what was written')
            self.allowed[name] = {version}


class Fresh:
    """New files.  Some are synced, and those must be there after the cut."""

    def __init__(self, name, writers):
        self.name = name
        self.writers = writers
        self.number = [0] * writers
        self.synced = set()

    def loads(self):
        return [lambda *args, i=i: self.work(i, *args)
                for i in range(self.writers)]

    def content(self, key):
        return filled(key[1] * 104729 % 30000 + 20, *key)

    def path(self, mount, key):
        return os.path.join(mount / self.name, '%d.%d' % key)

    def work(self, writer, mount, choice, ending):
        os.makedirs(mount / self.name, exist_ok=True)
        while not ending.is_set():
            self.number[writer] += 1
            self.make(mount, (writer, self.number[writer]), choice.random())

    def make(self, mount, key, chance):
        path = self.path(mount, key)
        with open(path, 'xb', buffering=0) as file:
            file.write(self.content(key))
            if chance < 0.4:
                load.sync(file.fileno())
                self.synced.add(key)
        if 0.4 < chance < 0.6:
            with open(path, 'rb') as file:
                load.sync(file.fileno())
                self.synced.add(key)

    def check(self, mount):
        top = mount / self.name
        names = os.listdir(top) if os.path.isdir(top) else []
        for name in names:
            key = tuple(map(int, name.split('.')))
            data = read(os.path.join(top, name))
            check(data == self.content(key) or
                  (data == b'' and key not in self.synced),
                  '%s: %d bytes' % (name, len(data)))
            os.unlink(os.path.join(top, name))
        lost = {'%d.%d' % key for key in self.synced} - set(names)
        check(not lost, 'synced and lost: %s' % lost)
        self.synced.clear()


class Disk:
    """A file system in an image."""

    def __init__(self, kind):
        self.kind = kind
        self.mounted = False

    def make(self):
        with open('image', 'wb') as image:
            image.truncate(DISK_SIZE)
        os.mkdir('disk')
        subprocess.run(['mkfs.' + self.kind, '-q', 'image'], check=True,
                       stdin=subprocess.DEVNULL)

    def mount(self):
        subprocess.run(['mount', '-o', 'loop', 'image', 'disk'], check=True)
        self.mounted = True
        # Refuse to shut down any other file system, whatever went wrong before.
        check(os.stat('disk').st_dev != os.stat('.').st_dev, 'no mount')

    def cut(self, how):
        disk = os.open('disk', os.O_RDONLY)
        try:
            check(os.fstat(disk).st_dev != os.stat('.').st_dev, 'no mount')
            fcntl.ioctl(disk, SHUTDOWN, struct.pack('I', how))
        finally:
            os.close(disk)

    def unmount(self):
        if self.mounted:
            subprocess.run(['umount', 'disk'], check=True)
            # While the loop device is in use, a new mount would get the file
            # system that has been shut down.
            wait_for(lambda: not sh('losetup -j image'), 'the loop device')
        self.mounted = False


@contextlib.contextmanager
def disk_of(kind):
    disk = Disk(kind)
    try:
        disk.make()
        disk.mount()
        yield disk
    finally:
        disk.unmount()


def check_disk():
    """Is every name that should be a frame one, and is it valid?"""
    frames = []
    for path in glob.glob('disk/src/**/*.b2frame', recursive=True):
        if os.path.basename(path) == 'chunks.b2frame':
            continue
        index = path
        if stat.S_ISDIR(os.stat(path).st_mode):
            index = path + '/chunks.b2frame'
        check(os.path.exists(index) and os.path.getsize(index) > 0,
              path + ': is no frame')
        frames.append(path)
    for i in range(0, len(frames), 500):
        done = subprocess.run([B2FRAME, 'verify', '--quiet',
                               *frames[i:i + 500]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        check(done.returncode == 0, 'verify: ' + done.stdout.decode())


def check_names(mount):
    """Can every file that the mount shows be read?"""
    for path in glob.glob(mount.path + '/**', recursive=True):
        if os.path.isfile(path):
            read(path)


def run(disk, layout, subjects, choice):
    """Load a disk until a power cut, then check it."""
    writers = Load(subjects)
    options = 'layout=%s,chunksize=%d,codec=%s,commit=%d,cache=%s' % (
        layout, CHUNKSIZE, choice.choice(('lz4', 'zstd', 'blosclz')),
        choice.randrange(2), choice.choice(('4M', '64M')))
    how = choice.choice((LOG_IS_FLUSHED, NOTHING_IS_FLUSHED))
    with Mount('disk/src', 'mnt', '-o', options) as mount:
        check_names(mount)
        for subject in subjects:
            subject.check(mount)
        threads = writers.start(mount, choice)
        writers.ending.wait(choice.random() * LONGEST)
        writers.ending.set()
        disk.cut(how)
        mount.crash()
        for thread in threads:
            thread.join()
        check('Sanitizer' not in mount.log(), mount.log())
    check(not writers.failures,
          'before the cut: ' + '\n'.join(writers.failures))
    disk.unmount()
    disk.mount()
    check_disk()


def cut_often(kind, layout):
    choice = random.Random(SEED)
    before = load.nsyncs
    subjects = [Records('direct', CHUNKSIZE, os.O_DIRECT, 2),
                Records('buffered', PAGE, 0, 1), Log('log'), Names('names'),
                Fresh('fresh', 2)]
    with disk_of(kind) as disk:
        os.mkdir('disk/src')
        with Mount('disk/src', 'mnt', '-o', 'layout=%s,chunksize=%d' %
                   (layout, CHUNKSIZE)) as mount:
            for name in ('direct', 'buffered', 'log'):
                write(mount / name, b'')
        os.sync()
        for i in range(RUNS):
            try:
                run(disk, layout, subjects, choice)
            except BaseException:
                print('%s, %s: cut %d of seed %d' % (kind, layout, i, SEED))
                raise
        with Mount('disk/src', 'mnt') as mount:
            check_names(mount)
            for subject in subjects:
                subject.check(mount)
    print('%s, %s: %d cuts, about %d syncs acknowledged' %
          (kind, layout, RUNS, load.nsyncs - before))


def ext4_contiguous():
    cut_often('ext4', 'contiguous')


def ext4_sparse():
    cut_often('ext4', 'sparse')


def xfs_contiguous():
    cut_often('xfs', 'contiguous')


def xfs_sparse():
    cut_often('xfs', 'sparse')


def need_disks():
    """Exit as skipped where no image can be mounted."""
    missing = [name for name in ('mkfs.ext4', 'mkfs.xfs', 'mount')
               if not shutil.which(name)]
    if not is_root():
        missing.append('root')
    if not os.path.exists('/dev/loop-control'):
        missing.append('loop devices')
    if missing:
        print('skipped without ' + ', '.join(missing))
        sys.exit(harness.SKIP)


need_fuse()
need_disks()
main(ext4_contiguous,
     ext4_sparse,
     xfs_contiguous,
     xfs_sparse)
