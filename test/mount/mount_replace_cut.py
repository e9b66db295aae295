#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount replace_cut
"""A file that replaces another one is whole after a power cut, or the old one
is, even if another daemon has written the new one.

usage: mount_replace_cut.py FRAMEFS [TEST...]

SOURCE is on a file system of its own.  It is shut down in such a way that all
names last, and no data that was not synced.  Then it is mounted again.  Skipped
where no image can be mounted.
"""

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess

from mounted import (Mount, Skipped, check, error_of, is_root, main, need_fuse,
                     read, sh, wait_for, write)

SHUTDOWN = 0x8004587d  # EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
LOG_IS_FLUSHED = 1
SIZES = {'ext4': 32 << 20, 'xfs': 320 << 20}
CONTENT = bytes(range(251)) * 40


class Disk:
    """A file system in an image, with mounts of framefs."""

    def __init__(self, kind, layout):
        with open('image', 'wb') as image:
            image.truncate(SIZES[kind])
        subprocess.run(['mkfs.' + kind, '-q', 'image'], check=True,
                       stdin=subprocess.DEVNULL)
        os.makedirs('disk', exist_ok=True)
        # Nothing is committed but what a program closes.
        self.options = '-o', 'commit=0,layout=' + layout
        self.attach()
        os.mkdir('disk/src')
        os.sync()

    def attach(self):
        subprocess.run(['mount', '-o', 'loop', 'image', 'disk'], check=True)
        check(os.stat('disk').st_dev != os.stat('.').st_dev, 'no mount')

    def detach(self):
        subprocess.run(['umount', 'disk'], check=True)
        wait_for(lambda: not sh('losetup -j image'), 'the loop device')

    def cut(self, *mounts):
        """Cut the power, and switch it on again."""
        disk = os.open('disk', os.O_RDONLY)
        try:
            check(os.fstat(disk).st_dev != os.stat('.').st_dev, 'no mount')
            fcntl.ioctl(disk, SHUTDOWN, struct.pack('I', LOG_IS_FLUSHED))
        finally:
            os.close(disk)
        for mount in mounts:
            if mount.daemon:
                mount.crash()
        self.detach()
        self.attach()

    def mount(self, path='mnt'):
        os.makedirs(path, exist_ok=True)
        return Mount('disk/src', path, *self.options)


@contextlib.contextmanager
def disk_of(kind, layout):
    for name in ('mkfs.' + kind, 'mount', 'losetup'):
        if not shutil.which(name):
            raise Skipped('no ' + name)
    if not is_root() or not os.path.exists('/dev/loop-control'):
        raise Skipped('only root can mount a disk image')
    disk = Disk(kind, layout)
    try:
        yield disk
    finally:
        disk.detach()


@contextlib.contextmanager
def held_open(path):
    """Make a file that a program closes, so that it is committed, and another
    one keeps open."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.write(fd, CONTENT)
        os.close(os.dup(fd))
        yield
    finally:
        error_of(os.close, fd)  # the daemon may be gone


def check_one_is_whole(disk, reason):
    with disk.mount() as mount:
        check(read(mount / 'a') in (b'old', CONTENT),
              'neither old nor new: ' + reason)


def replace_here(disk):
    with disk.mount() as mount:
        write(mount / 'a', b'old')
        sh('sync -f mnt')
        with held_open(mount / 'a.new'):
            os.rename(mount / 'a.new', mount / 'a')
            disk.cut(mount)
    check_one_is_whole(disk, 'written by this daemon')


def replace_elsewhere(disk, killed):
    """Replace a file through another mount than the one in which the new file
    was written, or still is."""
    with disk.mount() as mount:
        write(mount / 'a', b'old')
        sh('sync -f mnt')
        with held_open(mount / 'a.new'):
            if killed:
                mount.crash()
            with disk.mount('other') as other:
                check(read(other / 'a.new') == CONTENT, 'not committed')
                os.rename(other / 'a.new', other / 'a')
                disk.cut(mount, other)
    check_one_is_whole(disk, 'by another daemon, killed: %s' % killed)


def all_ways(kind, layout):
    with disk_of(kind, layout) as disk:
        replace_here(disk)
        for killed in (True, False):
            replace_elsewhere(disk, killed)


def ext4_contiguous():
    all_ways('ext4', 'contiguous')


def ext4_sparse():
    all_ways('ext4', 'sparse')


def xfs_contiguous():
    all_ways('xfs', 'contiguous')


def xfs_sparse():
    all_ways('xfs', 'sparse')


need_fuse()
main(ext4_contiguous,
     ext4_sparse,
     xfs_contiguous,
     xfs_sparse)
