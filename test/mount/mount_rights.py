#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount rights
"""A daemon without root's right to all files gives its user the access that a
plain directory would.

usage: mount_rights.py FRAMEFS [TEST...]

The daemons of this test lack that right even if root runs the tests.
"""

import contextlib
import ctypes
import errno
import os
import stat

from mounted import (Mount, check, error_of, heed_signals, layouts, main,
                     opened, read, write)

DATA = bytes(range(256)) * 300
MODES = (0, 0o200, 0o400, 0o444)
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def give_up_rights():
    """Drop root's right to all files before a program starts.  The calls fail
    for other users, who have no such right."""
    heed_signals()
    for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0)


class OwnMount(Mount):
    before_start = staticmethod(give_up_rights)


def mounted(layout, *options):
    os.makedirs('src', exist_ok=True)
    return OwnMount('src', 'mnt', '-o', 'chunksize=16K,layout=' + layout,
                    *options)


def make(path, mode, data=b''):
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
    os.write(fd, data)
    os.close(fd)


def check_locked(path):
    """The frame exists, but its mode forbids reading and writing it."""
    st = os.stat(path)
    check(stat.S_ISREG(st.st_mode) and stat.S_IMODE(st.st_mode) == 0 and
          st.st_size > 0, 'stat: ' + str(st))
    check(error_of(read, path) == errno.EACCES, 'is read')
    check(error_of(os.open, path, os.O_RDWR) == errno.EACCES, 'is written')


@layouts
def a_frame_keeps_its_name_when_it_may_not_be_read(layout):
    with mounted(layout) as mount:
        make(mount / 'a', 0, DATA)
        check(os.listdir('mnt') == ['a'], 'names')
        os.rename(mount / 'a', mount / 'b')
    with mounted(layout) as mount:
        check(os.listdir('mnt') == ['b'], 'mounted again')
        os.stat(mount / 'b')
        check(mount.log() == '', mount.log())
        check_locked(mount / 'b')
        check(error_of(make, mount / 'b', 0) == errno.EEXIST, 'made again')
        os.utime(mount / 'b', (1, 2))
        os.rename(mount / 'b', mount / 'c')
        os.chmod(mount / 'c', 0o600)
        check(os.stat(mount / 'c').st_mtime == 2, 'time')
        check(read(mount / 'c') == DATA, 'content')
        check(os.path.getsize(mount / 'c') == len(DATA), 'size')


@layouts
def a_frame_that_may_not_be_read_can_be_removed(layout):
    with mounted(layout) as mount:
        for name in 'abc':
            make(mount / name, 0, DATA)
    with mounted(layout) as mount:
        os.unlink(mount / 'a')
        os.symlink('b', mount / 'a')
        os.rename(mount / 'b', mount / 'c')
        make(mount / 'd', 0o600, b'new')
        os.rename(mount / 'd', mount / 'c')
        check(read(mount / 'c') == b'new', 'what took its place')
        check(sorted(os.listdir('mnt')) == ['a', 'c'], 'names')
    check(sorted(os.listdir('src')) == ['a', 'c.b2frame'], 'what is stored')


def give_back(layout, name, mode):
    """Make a frame readable again after checking its mode."""
    path = 'src/' + name + '.b2frame'
    if layout == 'sparse':
        path += '/chunks.b2frame'
    found = stat.S_IMODE(os.stat(path).st_mode)
    check(found == mode, 'mode %o, not %o' % (found, mode))
    os.chmod(path, 0o600)


@layouts
def what_is_open_is_committed_whatever_its_mode(layout):
    for mode in MODES:
        with mounted(layout) as mount:
            write(mount / 'a', DATA)
        with mounted(layout) as mount, opened(mount / 'a', os.O_RDWR) as fd:
            os.fchmod(fd, mode)
            for data in (b'one', b'two'):
                os.pwrite(fd, data, 20000)
                os.fsync(fd)
            os.pwrite(fd, b'end', len(DATA))
        give_back(layout, 'a', mode)
        with mounted(layout) as mount:
            check(read(mount / 'a') == DATA[:20000] + b'two' + DATA[20003:] +
                  b'end', 'content after mode %o' % mode)


@layouts
def what_is_made_is_committed_whatever_its_mode(layout):
    with mounted(layout) as mount:
        for mode in MODES:
            fd = os.open(mount / ('a%o' % mode), os.O_CREAT | os.O_RDWR, mode)
            for _ in range(3):
                os.write(fd, DATA)
                os.fsync(fd)
            check(os.pread(fd, 10, 5) == DATA[5:15], 'read while it is open')
            os.ftruncate(fd, 2 * len(DATA))
            os.close(fd)
    for mode in MODES:
        give_back(layout, 'a%o' % mode, mode)
    with mounted(layout) as mount:
        for mode in MODES:
            check(read(mount / ('a%o' % mode)) == 2 * DATA,
                  'content of mode %o' % mode)


def locks_of_what_may_not_be_read_do_not_show():
    with mounted('contiguous', '-o', 'lock') as mount:
        write(mount / 'a', DATA)
        os.chmod(mount / 'a', 0)
    check(len(os.listdir('src')) == 2, 'there is no lock file')
    with mounted('contiguous') as mount:
        check(os.listdir('mnt') == ['a'], 'names')
        os.unlink(mount / 'a')
    check(os.listdir('src') == [], 'is left')


def nothing_goes_with_an_index_file_that_may_not_be_read():
    os.makedirs('src/dir')
    write('src/dir/chunks.b2frame', b'no index')
    write('src/dir/thesis', DATA)
    os.chmod('src/dir/chunks.b2frame', 0)
    with mounted('sparse') as mount:
        for call in (os.unlink, os.rmdir):
            with contextlib.suppress(OSError):
                call(mount / 'dir')
        write(mount / 'a', b'')
        with contextlib.suppress(OSError):
            os.rename(mount / 'a', mount / 'dir')
    check(sorted(os.listdir('src/dir')) == ['chunks.b2frame', 'thesis'],
          'is removed')


main(a_frame_keeps_its_name_when_it_may_not_be_read,
     a_frame_that_may_not_be_read_can_be_removed,
     what_is_open_is_committed_whatever_its_mode,
     what_is_made_is_committed_whatever_its_mode,
     locks_of_what_may_not_be_read_do_not_show,
     nothing_goes_with_an_index_file_that_may_not_be_read)
