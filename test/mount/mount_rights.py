#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon without root's right to all files serves its user as a directory does.

usage: mount_rights.py FRAMEFS [TEST...]

The daemon has no such right here, even if root runs the tests.
"""

import ctypes
import os
import stat

from mounted import (Mount, check, heed_signals, layouts, main, opened, read,
                     write)

DATA = bytes(range(256)) * 300
MODES = (0, 0o200, 0o400, 0o444)
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def give_up_rights():
    """Before a program is started.  Who is not root fails, and has none."""
    heed_signals()
    for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0)


class OwnMount(Mount):
    before_start = staticmethod(give_up_rights)


def mounted(layout, *options):
    os.makedirs('src', exist_ok=True)
    return OwnMount('src', 'mnt', '-o', 'chunksize=16K,layout=' + layout,
                    *options)


def give_back(layout, name, mode):
    """Let a frame that has a mode be read again."""
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


main(what_is_open_is_committed_whatever_its_mode,
     what_is_made_is_committed_whatever_its_mode)
