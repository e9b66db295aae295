#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount options; timeout 60
"""Options that mount(8) and other file systems of FUSE have.

usage: mount_options.py FRAMEFS [TEST...]
"""

import errno
import os
import socket
import stat

from mounted import (FRAMEFS, PATIENCE, Mount, check, error_of, frame, harness,
                     is_mounted, main, need_fuse, need_root, read, wait_for, write)

MEANINGLESS = ('defaults,auto,noauto,nofail,_netdev,user,user=me,nouser,users,'
               'owner,group,nodiratime,strictatime,lazytime,nosymfollow,'
               'iversion,comment=ours,x-systemd.automount,x-ours=1')


def flags():
    """Return the flags of the mount."""
    with open('/proc/self/mounts', encoding='utf-8') as mounts:
        for line in mounts:
            words = line.split()
            if words[1] == os.path.realpath('mnt'):
                return words[3].split(',')
    return []


def remount(options):
    """Call framefs as mount(8) has its helper do for -o remount."""
    return harness.run(FRAMEFS, os.path.realpath('src'),
                       os.path.realpath('mnt'), '-o',
                       options + ',remount,user_id=0,group_id=0')


def options_that_mean_nothing_are_ignored():
    os.mkdir('src')
    for option in MEANINGLESS.split(','):
        with Mount('src', 'mnt', '-o', option):
            pass
    done = harness.run(FRAMEFS, '-o', 'nodiratim', 'src', 'mnt')
    check(done.returncode == 2 and done.stderr.decode() ==
          'framefs: nodiratim: unknown option, see framefs --help\n',
          'unknown options: %s' % done.stderr)


def a_remount_changes_flags():
    need_root('a remount')
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        write(mount / 'a', b'before')
        check(remount('rw,nosuid,ro').returncode == 0, 'remount,ro')
        check('ro' in flags(), 'flags: %s' % flags())
        check(error_of(write, mount / 'a', b'') == errno.EROFS, 'writable')
        check(read(mount / 'a') == b'before', 'content')
        check(remount('ro,rw,noexec').returncode == 0, 'remount,rw')
        check({'rw', 'noexec'} <= set(flags()), 'flags: %s' % flags())
        with open(mount / 'a', 'wb'):
            check(remount('ro').returncode != 0, 'read-only with a writer')
        write(mount / 'a', b'after')
    check(b'not mounted' in remount('ro').stderr, 'no mount')


def owners_and_modes_appear_as_wanted():
    os.mkdir('src')
    os.mkdir('src/dir')
    write('src/a.b2frame', frame(b'bytes', 10))
    write('src/plain.txt', b'text')
    stored = os.stat('src/a.b2frame')
    # The rest may write, because an ordinary user is one of them here.
    with Mount('src', 'mnt', '-o', 'uid=12345,gid=23456,umask=070') as mount:
        write(mount / 'new', b'new')
        with open(mount / 'a', 'rb') as file:
            seen = [os.fstat(file.fileno())]
        seen += [os.stat(mount / name) for name in ('new', 'plain.txt', 'dir')]
        seen += [entry.stat() for entry in os.scandir('mnt')]
        for st in seen:
            check((st.st_uid, st.st_gid) == (12345, 23456),
                  'owner: %d:%d' % (st.st_uid, st.st_gid))
            check(stat.S_IMODE(st.st_mode) == 0o707, 'mode: %o' % st.st_mode)
        check(stat.S_ISDIR(os.stat(mount / 'dir').st_mode), 'type')
    now = os.stat('src/a.b2frame')
    check((now.st_uid, now.st_mode) == (stored.st_uid, stored.st_mode),
          'what is stored has changed')


def the_kernel_keeps_what_it_knows_as_long_as_wanted():
    os.mkdir('src')
    write('src/plain.txt', b'1')
    with Mount('src', 'mnt', '-o', 'attr_timeout=1000,entry_timeout=1000'
               ) as mount:
        check(os.stat(mount / 'plain.txt').st_size == 1, 'size')
        os.unlink('src/plain.txt')
        check(os.stat(mount / 'plain.txt').st_size == 1, 'asked again')
    with Mount('src', 'mnt', '-o', 'attr_timeout=0,entry_timeout=0') as mount:
        write('src/plain.txt', b'22')
        check(os.stat(mount / 'plain.txt').st_size == 2, 'size')
        os.unlink('src/plain.txt')
        check(error_of(os.stat, mount / 'plain.txt') == errno.ENOENT, 'kept')


def files_with_these_suffixes_become_no_frames():
    os.mkdir('src')
    write('src/old.jpg.b2frame', frame(b'old', 10))
    data = b'some bytes' * 1000
    with Mount('src', 'mnt', '-o', 'plain=.jpg:tar.gz') as mount:
        for name in ('a.jpg', 'b.JPG', 'c.tar.gz', 'd.gz', 'jpg', 'ejpg',
                     'old.jpg', 'f.tmp'):
            write(mount / name, data)
        write(mount / 'a.jpg', b'other')
        os.rename(mount / 'c.tar.gz', mount / 'c.gz')
        os.rename(mount / 'f.tmp', mount / 'f.jpg')
        wanted = {'a.jpg', 'b.JPG', 'c.gz', 'd.gz', 'jpg', 'ejpg', 'old.jpg',
                  'f.jpg'}
        check(set(os.listdir('mnt')) == wanted, os.listdir('mnt'))
        for name in wanted - {'a.jpg'}:
            check(read(mount / name) == data, name)
    check(read('src/a.jpg') == b'other', 'overwritten')
    check(set(os.listdir('src')) ==
          {'a.jpg', 'b.JPG', 'c.gz', 'd.gz.b2frame', 'jpg.b2frame',
           'ejpg.b2frame', 'old.jpg.b2frame', 'f.jpg.b2frame'},
          os.listdir('src'))


def an_unused_mount_goes():
    os.mkdir('src')
    write('src/plain.txt', b'text')
    os.mkdir('other')
    with Mount('src', 'mnt', '-o', 'idle=1') as mount:
        with open(mount / 'plain.txt', 'rb') as file:
            # This mount goes, although the other one is as old.
            with Mount('src', 'other', '-o', 'idle=1') as other:
                check(other.daemon.wait(PATIENCE) == 0, other.log())
                check('without use' in other.log(), other.log())
            check(mount.daemon.poll() is None, 'unmounted while a file is open')
            check(file.read() == b'text', 'content')
        check(mount.daemon.wait(PATIENCE) == 0, mount.log())
        check(not is_mounted('mnt'), 'mounted')


def tell(address):
    """Mount with a service manager at an address.  Return what it is told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(PATIENCE)
        manager.bind(address)
        os.environ['NOTIFY_SOCKET'] = address.replace('\0', '@')
        try:
            with Mount('src', 'mnt'):
                ready = manager.recv(100)
            return ready, manager.recv(100)
        finally:
            del os.environ['NOTIFY_SOCKET']


def the_service_manager_is_told():
    os.mkdir('src')
    for address in (os.path.abspath('socket'),
                    '\0framefs-test-%d' % os.getpid()):
        check(tell(address) == (b'READY=1', b'STOPPING=1'), address)
    for address in ('', '/', '@', 'relative', '/not/there', '/' + 200 * 'x'):
        os.environ['NOTIFY_SOCKET'] = address
        with Mount('src', 'mnt'):
            pass


def read_ahead(mount):
    """Return how far the kernel reads ahead of what is opened now, in KiB."""
    st = os.stat(mount.path)
    return int(read('/sys/class/bdi/%d:%d/read_ahead_kb' %
                    (os.major(st.st_dev), os.minor(st.st_dev))))


def open_until(mount, name, wanted):
    """Open a file again until the kernel has told that the last reader closed
    it, and the value is as wanted."""
    def is_as_wanted():
        read(mount / name, 0, 1)
        return read_ahead(mount) == wanted
    wait_for(is_as_wanted, '%s: %d KiB' % (name, wanted))


def the_kernel_reads_ahead_of_sequential_readers():
    need_root('the value of a mount')
    os.mkdir('src')
    for name in 'abcdef':
        write('src/%s.b2frame' % name, frame(bytes(1000) * 16000, 1 << 20))
    if not os.access('/sys/class/bdi', os.W_OK):
        raise harness.Skipped('/sys is read-only')
    with Mount('src', 'mnt', '-o', 'kernel_readahead=512K') as mount:
        read(mount / 'a', 0, 1)
        check(read_ahead(mount) == 512, 'the value of the user')
    with Mount('src', 'mnt') as mount:
        usual = read_ahead(mount)
        read(mount / 'a')
        open_until(mount, 'a', 1024)
        read(mount / 'b', 0, 1)
        check(read_ahead(mount) == usual, 'unknown file')
        with open(mount / 'b', 'rb', buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for i in range(20):
                os.pread(file.fileno(), 4096, i * 7919 % 3900 * 4096)
        for name in 'cdef':
            read(mount / name)
        open_until(mount, 'f', 1024)
        open_until(mount, 'b', usual)


def wrong_values_are_refused():
    os.mkdir('src')
    for option in ('uid=', 'uid=-1', 'uid=me', 'gid=4294967296', 'umask=',
                   'umask=8', 'umask=01000', 'umask=-1', 'attr_timeout=',
                   'attr_timeout=nan', 'attr_timeout=-1', 'entry_timeout=1e300',
                   'entry_timeout=1s', 'idle=', 'idle=-1', 'idle=1m',
                   'plain=', 'plain=:', 'plain=jpg:', 'plain=.', 'plain=a/b',
                   'plain=' + 600 * 'x',
                   'kernel_readahead=', 'kernel_readahead=much',
                   'kernel_readahead=-1', 'kernel_readahead=2G'):
        done = harness.run(FRAMEFS, '-o', option, 'src', 'mnt')
        check(done.returncode == 2 and option.encode() in done.stderr,
              '%s: %d %s' % (option, done.returncode, done.stderr))


need_fuse()
main(options_that_mean_nothing_are_ignored,
     a_remount_changes_flags,
     owners_and_modes_appear_as_wanted,
     the_kernel_keeps_what_it_knows_as_long_as_wanted,
     files_with_these_suffixes_become_no_frames,
     an_unused_mount_goes,
     the_service_manager_is_told,
     the_kernel_reads_ahead_of_sequential_readers,
     wrong_values_are_refused)
