#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount quota
"""Disk quotas are enforced behind a mount of root's that serves other users.

The data that a user stores is charged to that user and to nobody else.  Data
beyond the quota is refused, and no acknowledged data is harmed.

usage: mount_quota.py FRAMEFS [TEST...]

Each test runs on each layout, on file systems in loop devices.  It is skipped
where the kernel has no quotas for them.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import random
import signal
import subprocess
import sys

from mounted import (B2FRAME, PATIENCE, Mount, Skipped, acting_as, check,
                     check_sound, disk, error_of, harness, main, need_fuse,
                     opened, read, run_on_disk, sh, wait_for, workplace, write)

OWNER, OTHER = 61000, 61001
SELF = 0xfffffffe  # the user id with which the daemon acts for itself
MIB = 1 << 20
PIECE = 128 << 10
LIMIT = 2 * MIB
DATA = random.Random(1).randbytes(4 * MIB)  # does not compress
SHORT = DATA[:100000]
KEPT = DATA[::-1][:500000]

Q_GETQUOTA, Q_SETQUOTA = 0x80000700, 0x80000800  # for users
LIMITS = 5  # bits of the members of `struct dqblk` that are set

libc = ctypes.CDLL(None, use_errno=True)


class Quota(ctypes.Structure):
    """`struct dqblk` of quotactl(2); limits of space are in KiB."""

    _fields_ = [(name, ctypes.c_uint64) for name in (
        'space_max', 'space_soft', 'space', 'files_max', 'files_soft', 'files',
        'space_time', 'files_time')] + [('valid', ctypes.c_uint32)]


def quotactl(command, uid, quota):
    device = os.stat('src').st_dev
    path = '/dev/' + os.path.basename(os.path.realpath(
        '/sys/dev/block/%d:%d' % (os.major(device), os.minor(device))))
    if libc.quotactl(command - (1 << 32), path.encode(), ctypes.c_int(uid),
                     ctypes.byref(quota)) < 0:
        raise OSError(ctypes.get_errno(), 'quotactl')


def limit(space=0, files=0, uid=OWNER):
    """Set how many bytes and files a user may store.  0 sets no limit."""
    quotactl(Q_SETQUOTA, uid, Quota(space_max=space >> 10, files_max=files,
                                    valid=LIMITS))


def used(uid):
    """Return the bytes and files that are charged to a user."""
    quota = Quota()
    error = error_of(quotactl, Q_GETQUOTA, uid, quota)
    check(error in (0, errno.ENOENT, errno.ESRCH), 'error %d' % error)
    return quota.space, quota.files


@contextlib.contextmanager
def ext4():
    with disk('src', '64M', flags='-m 0 -O quota', options='loop,usrquota'):
        os.chmod('src', 0o1777)
        yield


@contextlib.contextmanager
def xfs():
    with disk('src', '320M', 'xfs', options='loop,uquota'):
        os.chmod('src', 0o1777)
        yield


def can_be_used(kind):
    """Does the kernel have quotas for a file system?  Print why not."""
    with workplace():
        os.mkdir('src')
        try:
            with kind():
                limit(LIMIT)
            return True
        except (OSError, harness.Failure, Skipped) as error:
            print('no quotas on %s: %s' % (kind.__name__, error))
            return False


def everywhere(test):
    """Run a test on each disk, for both layouts."""
    def every():
        for kind in DISKS:
            run_on_disk(test, kind)
    every.__name__ = test.__name__
    return every


def mounted(layout, *options):
    return Mount('src', 'mnt', '-o', 'allow_other,chunksize=64K,layout=' + layout,
                 *options)


def stored():
    """Return the bytes and files that each user has stored."""
    result = {}
    for parent, _, names in os.walk('src'):
        for name in ['.', *names]:
            st = os.lstat(os.path.join(parent, name))
            space, files = result.get(st.st_uid, (0, 0))
            result[st.st_uid] = (space + st.st_blocks * 512, files + 1)
    return result


def check_charged():
    """The files below `src` belong to no other users than these, and each user
    is charged for exactly the user's own files."""
    sh('sync -f src')
    there = stored()
    check(there.keys() <= {0, OWNER, OTHER}, 'files of %s' % there.keys())
    for uid in (OWNER, OTHER, SELF):
        check(used(uid) == there.get(uid, (0, 0)), '%d is charged %s for %s' % (
            uid, used(uid), there.get(uid, (0, 0))))


def check_stored(layout, name, length, data=DATA, owner=OWNER):
    """A file has at least this many of these bytes, both stored and through a
    mount."""
    path = 'src/%s.b2frame' % name
    check_sound(path)
    done = harness.run(B2FRAME, 'cat', '--raw', path)
    check(done.returncode == 0, 'cat: ' + done.stderr.decode())
    check(len(done.stdout) >= length, '%s: %d bytes are stored of %d' % (
        name, len(done.stdout), length))
    check(done.stdout[:length] == data[:length], name + ': what is stored')
    with mounted(layout) as mount, acting_as(owner):
        check(read(mount / name) == done.stdout, name + ', mounted again')


def pages(data):
    """Return a copy that O_DIRECT can write."""
    area = mmap.mmap(-1, len(data))
    area.write(data)
    return area


def write_pieces(fd, data=DATA, off=0):
    """Write and sync data piece by piece.  Return the number of acknowledged
    bytes and the error."""
    while off < len(data):
        error = error_of(os.pwrite, fd, pages(data[off:off + PIECE]), off) or \
            error_of(os.fsync, fd)
        if error:
            return off, error
        off += PIECE
    return off, 0


def write_map(fd):
    """Write the same data through shared memory, in a child process, because
    SIGBUS kills a process when there is no space for a page."""
    os.ftruncate(fd, len(DATA))
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with mmap.mmap(fd, len(DATA)) as area:
            for off in range(0, len(DATA), PIECE):
                area[off:off + PIECE] = DATA[off:off + PIECE]
                error = error_of(area.flush)
                os.write(theirs, b'%d %d\n' % (off + (0 if error else PIECE),
                                               error))
                if error:
                    os._exit(0)
        os._exit(0)
    os.close(theirs)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    check(status in (0, -signal.SIGBUS), 'status %d' % status)
    with open(ours, encoding='ascii') as lines:
        done, error = map(int, lines.readlines()[-1].split())
    error = error or error_of(os.fsync, fd)
    return done, error or (errno.EDQUOT if status else 0)


def write_in_order(path, flags=0):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)
    done, error = write_pieces(fd)
    error_of(os.close, fd)
    return done, error


def check_refused(place, way):
    """More data than the limit is refused, but at least half of the limit is
    stored."""
    with acting_as(OWNER):
        done, error = way(place)
    check(error == errno.EDQUOT, '%s: error %d' % (place, error))
    check(LIMIT // 2 < done <= LIMIT, '%s: %d bytes of %d' % (place, done, LIMIT))
    return done


def run_as(uid, command):
    """Run a shell command as a user.  It must fail.  Return its output."""
    done = subprocess.run(['sh', '-c', command], user=uid, group=uid,
                          extra_groups=[], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=harness.environment(),
                          check=False, text=True, timeout=PATIENCE)
    check(done.returncode != 0, command + ': succeeds')
    return done.stdout


@everywhere
def what_is_stored_is_charged_to_its_owner(layout):
    with mounted(layout) as mount:
        for uid in (OWNER, OTHER):
            with acting_as(uid):
                write(mount / str(uid), DATA[:MIB])
                os.mkdir(mount / ('dir%d' % uid))
                for i in range(20):
                    write(mount / ('dir%d/%d' % (uid, i)), DATA[:i * 5000])
        with acting_as(OWNER), opened(mount / str(OWNER), os.O_RDWR) as fd:
            for off in range(0, MIB, 5000):
                os.pwrite(fd, SHORT[:3000], off)
                if off % 7 == 0:
                    os.fsync(fd)
            os.fsync(fd)
        check(used(SELF)[0] == 0, 'the daemon is charged')
        with opened(mount / str(OWNER), os.O_RDWR) as fd:
            check(write_pieces(fd) == (len(DATA), 0), 'root writes')
        with acting_as(OWNER):
            for i in range(0, 20, 2):
                os.unlink(mount / ('dir%d/%d' % (OWNER, i)))
            os.rename(mount / ('dir%d/1' % OWNER), mount / ('dir%d/3' % OWNER))
            os.truncate(mount / ('dir%d/19' % OWNER), 7)
    check_charged()
    check(used(OWNER)[0] >= len(DATA), 'what root has written')
    with mounted(layout) as mount:
        os.chown(mount / str(OWNER), OTHER, OTHER)
    check_charged()
    check(used(OTHER)[0] >= len(DATA) + MIB, 'what was given away')


def refuses(way):
    """Return a test that data beyond the limit is refused, as it is without the
    mount."""
    def test(layout):
        write('src/plain', b'')
        os.chown('src/plain', OWNER, OWNER)
        limit(LIMIT)
        check_refused('src/plain', way)
        os.unlink('src/plain')
        with mounted(layout) as mount:
            with acting_as(OTHER):
                write(mount / 'theirs', DATA)
            done = check_refused(mount / 'a', way)
            with acting_as(OTHER):
                write(mount / 'theirs2', DATA)
                check(read(mount / 'theirs2') == DATA, 'of another')
        check_charged()
        check_stored(layout, 'a', done)
    return test


@everywhere
def write_is_refused(layout):
    refuses(write_in_order)(layout)


@everywhere
def direct_write_is_refused(layout):
    refuses(lambda path: write_in_order(path, os.O_DIRECT))(layout)


@everywhere
def shared_memory_is_refused(layout):
    def way(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        result = write_map(fd)
        error_of(os.close, fd)
        return result

    refuses(way)(layout)


@everywhere
def programs_are_told(layout):
    write('in', DATA)
    limit(LIMIT)
    with mounted(layout) as mount:
        for command in ('cp in mnt/cp', 'cat in >mnt/cat',
                        'dd if=in of=mnt/dd bs=64K conv=fsync status=none',
                        'dd if=in of=mnt/direct bs=64K oflag=direct status=none'):
            said = run_as(OWNER, command)
            check('quota' in said, command + ': ' + said)
            for name in ('cp', 'cat', 'dd', 'direct'):
                if os.path.exists(mount / name):
                    os.unlink(mount / name)
    check_charged()


@everywhere
def many_small_files_are_refused(layout):
    limit(files=40)
    with mounted(layout) as mount:
        made = {}
        error = 0
        with acting_as(OWNER):
            while not error:
                check(len(made) < 50, 'there is no limit')
                name = 'a%d' % len(made)
                error = error_of(write, mount / name, SHORT)
                if not error:
                    made[name] = SHORT
        check(error == errno.EDQUOT, 'error %d' % error)
        check(len(made) > 8, 'only %d' % len(made))
        with acting_as(OTHER):
            write(mount / 'theirs', SHORT)
        with acting_as(OWNER):
            os.unlink(mount / made.popitem()[0])
        limit(files=60)
        with acting_as(OWNER):
            write(mount / 'more', SHORT)
    check_charged()
    for name in [*made, 'more']:
        check_stored(layout, name, len(SHORT))


@everywhere
def chunk_files_are_files(layout):
    """Each chunk file counts against the user's limit of files."""
    limit(files=20)
    with mounted(layout) as mount:
        with acting_as(OWNER):
            done, error = write_in_order(mount / 'a')
        check(error == (errno.EDQUOT if layout == 'sparse' else 0),
              'error %d' % error)
    check_charged()
    check(used(OWNER)[1] <= 20, '%d files' % used(OWNER)[1])
    check_stored(layout, 'a', done)


@everywhere
def what_compresses_worse_is_refused(layout):
    """The file keeps its old content, or has all of the new."""
    old = bytes(len(DATA))
    limit(LIMIT)
    with mounted(layout) as mount:
        with acting_as(OWNER):
            write(mount / 'a', old)
            write(mount / 'kept', KEPT)
            done, error = write_in_order(mount / 'a')
            check(error == errno.EDQUOT, 'error %d' % error)
            check(done > LIMIT // 4, 'only %d bytes' % done)
            check(read(mount / 'kept') == KEPT, 'what was there')
    check_charged()
    check_stored(layout, 'kept', len(KEPT), KEPT)
    check_stored(layout, 'a', done, DATA)
    rest = harness.run(B2FRAME, 'cat', '--raw', 'src/a.b2frame').stdout
    check(len(rest) == len(DATA), 'size')
    for off in range(done, len(DATA), 65536):
        check(rest[off:off + 65536] in (DATA[off:off + 65536], bytes(65536)),
              'other bytes at %d' % off)


@everywhere
def what_was_refused_is_stored_when_the_limit_is_raised(layout):
    limit(LIMIT)
    with mounted(layout) as mount:
        with acting_as(OWNER), opened(mount / 'a', os.O_RDWR | os.O_CREAT) as fd:
            done, error = write_pieces(fd)
            check(error == errno.EDQUOT, 'error %d' % error)
            os.seteuid(0)
            limit(4 * LIMIT)
            os.seteuid(OWNER)
            check(write_pieces(fd, off=done) == (len(DATA), 0), 'goes on')
            check(read(mount / 'a') == DATA, 'content')
    check_charged()
    check_stored(layout, 'a', len(DATA))


@everywhere
def files_are_cut_and_removed_at_the_limit(layout):
    limit(LIMIT)
    with mounted(layout) as mount:
        with acting_as(OWNER):
            write(mount / 'kept', KEPT)
            done, error = write_in_order(mount / 'a')
            check(error == errno.EDQUOT, 'error %d' % error)
            os.truncate(mount / 'a', done // 2)
        # Freed space is pending for a while after a commit before the file
        # system gets it.
        wait_for(lambda: used(OWNER)[0] < LIMIT - len(KEPT), 'space')
        with acting_as(OWNER):
            write(mount / 'b', KEPT)
            write(mount / 'a', b'')
            os.unlink(mount / 'kept')
        wait_for(lambda: used(OWNER)[0] < LIMIT // 2, 'space again')
        with acting_as(OWNER):
            check(write_in_order(mount / 'a')[0] > LIMIT // 2, 'no space again')
    check_charged()
    check_stored(layout, 'b', len(KEPT), KEPT)


@everywhere
def root_is_refused_what_the_owner_would_be(layout):
    limit(LIMIT)
    with mounted(layout) as mount:
        with acting_as(OWNER):
            write(mount / 'a', b'')
        check(write_in_order(mount / 'a')[1] == errno.EDQUOT, 'of the owner')
        write(mount / 'b', DATA)
    check_charged()
    check_stored(layout, 'b', len(DATA))


@everywhere
def what_is_given_away_goes_as_a_whole(layout):
    limit(LIMIT, uid=OTHER)
    with mounted(layout) as mount:
        with acting_as(OWNER):
            write(mount / 'a', DATA)
            os.chmod(mount / 'a', 0o600)
        for _ in range(2):
            error = error_of(os.chown, mount / 'a', OTHER, OTHER)
            # On XFS a privileged user can give away more than the new owner's
            # quota allows.
            check(error in (0, errno.EDQUOT), 'error %d' % error)
    check_charged()
    owner, other = (OWNER, OTHER) if error else (OTHER, OWNER)
    check(used(other) == (0, 0), 'half of it')
    check_stored(layout, 'a', len(DATA), owner=owner)


need_fuse()
if os.getuid() != 0:
    print('skipped: only root can serve others')
    sys.exit(harness.SKIP)
DISKS = [kind for kind in (ext4, xfs) if can_be_used(kind)]
if not DISKS:
    print('skipped: this kernel has no quotas')
    sys.exit(harness.SKIP)

main(what_is_stored_is_charged_to_its_owner,
     write_is_refused,
     direct_write_is_refused,
     shared_memory_is_refused,
     programs_are_told,
     many_small_files_are_refused,
     chunk_files_are_files,
     what_compresses_worse_is_refused,
     what_was_refused_is_stored_when_the_limit_is_raised,
     files_are_cut_and_removed_at_the_limit,
     root_is_refused_what_the_owner_would_be,
     what_is_given_away_goes_as_a_whole)
