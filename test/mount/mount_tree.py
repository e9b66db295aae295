#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount tree
"""Memory and descriptors stay bounded in large trees, and are released again.

usage: mount_tree.py FRAMEFS [TEST...]
"""

import os

from mounted import (Mount, Skipped, act_until, check, drop_caches, frame,
                     harness, main, read, write)

NFILES = 10000
GIVEN_BACK = 256 << 10  # bytes that a daemon gives back at least
LEAKED_MAX = 2 << 20  # bytes; a tree takes more
DATA = b'the content of every file'


def make_tree(directories):
    """Make directories of frames and of hard links to a plain file, NFILES of
    each in all."""
    each = NFILES // directories
    write('frame', frame(DATA, 4096))
    for i in range(directories):
        os.makedirs('src/%d' % i)
        for j in range(each):
            os.link('frame' if j == 0 else 'src/%d/frame' % i,
                    'src/%d/%s' % (i, 'frame' if j == 0 else 'link%d' % j))
        for j in range(each):
            write('src/%d/f%d.b2frame' % (i, j), frame(DATA, 4096))


def walk(mount):
    """Look up all files.  Return their number and their total size in bytes."""
    nfiles = 0
    nbytes = 0
    for top, _, names in os.walk(mount.path):
        nfiles += len(names)
        nbytes += sum(os.lstat(os.path.join(top, name)).st_size
                      for name in names)
    return nfiles, nbytes


def known_to_the_kernel():
    """Return the number of FUSE inodes that the kernel holds, in all mounts."""
    with open('/proc/slabinfo', encoding='ascii') as slabs:
        return sum(int(line.split()[1]) for line in slabs
                   if line.startswith('fuse_inode '))


def tree_of_many_files():
    make_tree(20)
    with Mount('src', 'mnt') as mount:
        before = mount.descriptors()
        start = mount.memory()
        nfiles, nbytes = walk(mount)
        check(nfiles == 2 * NFILES, '%d files' % nfiles)
        size = os.path.getsize('frame')
        check(nbytes == NFILES * (len(DATA) + size), '%d bytes' % nbytes)
        check(mount.descriptors() == before, 'descriptors are held')
        check(harness.SANITIZED or mount.memory() - start < 16 << 20,
              'holds %d bytes' % (mount.memory() - start))
        check(read(mount / '7/f77') == DATA, 'content')


def one_large_directory():
    os.mkdir('src')
    for i in range(NFILES):
        write('src/f%05d.b2frame' % i, frame(DATA, 4096))
    with Mount('src', 'mnt') as mount:
        names = os.listdir(mount.path)
        check(sorted(names) == ['f%05d' % i for i in range(NFILES)],
              '%d names' % len(names))
        with os.scandir(mount.path) as entries:
            first = [next(entries).name for _ in range(5000)]
            for i in range(0, NFILES, 2):
                os.unlink('src/f%05d.b2frame' % i)
            rest = [entry.name for entry in entries]
        check(len(set(first + rest)) == len(first + rest), 'a name comes twice')
        left = {'f%05d' % i for i in range(1, NFILES, 2)}
        check(left <= set(first + rest), 'a name is missing')


def nodes_are_forgotten():
    if not drop_caches():
        raise Skipped('only root can make the kernel forget')
    # With it, malloc() would fill the large buffers of all threads.
    os.environ.pop('MALLOC_PERTURB_', None)
    make_tree(1)
    with Mount('src', 'mnt') as mount:
        elsewhere = known_to_the_kernel()
        first = full = 0

        def fill_and_forget():
            nonlocal full
            walk(mount)
            full = mount.memory()
            drop_caches()

        for _ in range(4):
            check(walk(mount)[0] == 2 * NFILES, 'files are gone')
            if harness.SANITIZED or not drop_caches():
                return
            try:
                # Another test may make the kernel forget too early.
                act_until(fill_and_forget,
                          lambda: mount.memory() <= full - GIVEN_BACK or
                          not drop_caches(), 'memory to be given back')
            except harness.Failure:
                # The kernel cannot forget anything while another mount hangs.
                check(known_to_the_kernel() - elsewhere > NFILES,
                      'memory is not given back')
            first = first or full
        check(full - first < LEAKED_MAX, 'each tree takes more memory')


def hard_links_are_one_file():
    os.makedirs('src/sub')
    write('src/a.b2frame', frame(DATA, 4096))
    os.link('src/a.b2frame', 'src/sub/b.b2')
    with Mount('src', 'mnt') as mount:
        a, b = os.stat(mount / 'a'), os.stat(mount / 'sub/b')
        check((a.st_ino, a.st_nlink) == (b.st_ino, b.st_nlink), 'differ')
        check(a.st_nlink == 2, 'links')
        os.unlink('src/a.b2frame')
        check(read(mount / 'sub/b') == DATA, 'content')


def hard_links_change_together():
    """What changes by one name of a file that no program has open shows by the
    other one at once."""
    os.makedirs('src/sub')
    write('src/a.b2frame', frame(DATA, 4096))
    os.link('src/a.b2frame', 'src/sub/b.b2')
    with Mount('src', 'mnt') as mount:
        a, b = mount / 'a', mount / 'sub/b'
        check(os.stat(b).st_size == len(DATA), 'size')
        os.truncate(a, len(DATA) - 1)
        with open(a, 'ab') as file:
            file.write(b'more')
        check(os.stat(b).st_size == len(DATA) + 3, 'size after a change')
        check(read(b) == DATA[:-1] + b'more', 'content after a change')


main(tree_of_many_files,
     one_large_directory,
     nodes_are_forgotten,
     hard_links_are_one_file,
     hard_links_change_together)
