#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount plain
"""Files that are no frames are passed through, and no name leads out of SOURCE.

usage: mount_plain.py FRAMEFS [TEST...]
"""

import concurrent.futures
import errno
import fcntl
import mmap
import os
import socket
import stat

from mounted import (Mount, as_nobody, check, error_of, frame, is_root, lacks,
                     main, need_users, read, sh, wait_for, write, write_sparse)

DATA = bytes(range(256)) * 1000


def make():
    os.makedirs('src/sub')
    write('src/plain', DATA)


def files_are_the_same():
    make()
    os.truncate('src/plain', len(DATA) + (1 << 20))
    with Mount('src', 'mnt') as mount:
        sh('cmp src/plain mnt/plain')
        sh('dd if=mnt/plain iflag=direct bs=64k status=none | cmp - src/plain')
        above, below = os.stat(mount / 'plain'), os.stat('src/plain')
        for name in ('st_mode', 'st_ino', 'st_nlink', 'st_uid', 'st_gid',
                     'st_size', 'st_mtime_ns', 'st_ctime_ns', 'st_blocks'):
            check(getattr(above, name) == getattr(below, name), name)
        fd = os.open(mount / 'plain', os.O_RDONLY)
        check(os.lseek(fd, 0, os.SEEK_HOLE) >= len(DATA), 'SEEK_HOLE')
        check(error_of(os.lseek, fd, len(DATA) + 8192, os.SEEK_DATA) ==
              errno.ENXIO, 'SEEK_DATA')
        os.close(fd)


def special_files_show_as_they_are():
    make()
    os.symlink('../plain', 'src/sub/link')
    os.symlink('/nowhere', 'src/dangling.b2frame')
    os.mkfifo('src/fifo.b2frame')
    with socket.socket(socket.AF_UNIX) as end:
        end.bind('src/socket')
        with Mount('src', 'mnt') as mount:
            check(os.readlink(mount / 'sub/link') == '../plain', 'link')
            check(read(mount / 'sub/link') == DATA, 'followed by the kernel')
            check(os.readlink(mount / 'dangling.b2frame') == '/nowhere',
                  'dangling link')
            check(stat.S_ISFIFO(os.stat(mount / 'fifo.b2frame').st_mode),
                  'fifo')
            check(stat.S_ISSOCK(os.stat(mount / 'socket').st_mode), 'socket')
            kinds = sh('find mnt -mindepth 1 -printf "%y %P\\n" | sort')
            check(kinds == 'd sub\nf plain\nl dangling.b2frame\nl sub/link\n'
                  'p fifo.b2frame\ns socket\n', 'find says ' + kinds)


def links_are_not_followed_by_the_daemon():
    make()
    os.mkdir('outside')
    write('outside/secret', b'secret')
    write('src/sub/secret', b'inside')
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'sub', os.O_PATH)
        os.stat('secret', dir_fd=fd)
        os.rename('src/sub', 'src/other')
        os.symlink('../outside', 'src/sub')
        check(error_of(lambda: os.close(os.open('secret', os.O_RDONLY,
                                                dir_fd=fd))) != 0,
              'a file is opened through a link')
        os.close(fd)


def file_that_was_replaced_is_another_file():
    make()
    with Mount('src', 'mnt') as mount:
        with open(mount / 'plain', 'rb', buffering=0) as old:
            write('src/new', DATA[::-1])
            os.rename('src/new', 'src/plain')
            check(read(mount / 'plain') == DATA[::-1], 'content, replaced')
            check(old.read() == DATA, 'content of the old one')


def extended_attributes():
    make()
    write('src/a.b2frame', frame(DATA, 4096))
    try:
        for name in ('src/plain', 'src/a.b2frame', 'src/sub'):
            os.setxattr(name, 'user.colour', b'red')
    except OSError:
        return  # no such attributes here
    os.setxattr('src/a.b2frame', 'user.b2frame.info', b'false')
    with Mount('src', 'mnt') as mount:
        for name in ('plain', 'a', 'sub'):
            check(os.getxattr(mount / name, 'user.colour') == b'red', name)
        check(os.listxattr(mount / 'plain') == ['user.colour'], 'list')
        check(sorted(os.listxattr(mount / 'a')) ==
              ['user.colour'], 'list of the frame')
        check(os.getxattr(mount / 'a', 'user.b2frame.info')[:1] == b'{', 'info')
        for name in ('user.b2frame.meta.none', 'user.b2frame.vlmeta.',
                     'user.b2frame.usermeta', 'user.b2frame.', 'user.none',
                     'security.none'):
            check(error_of(os.getxattr, mount / 'a', name) == errno.ENODATA,
                  name + ' is there')
        said = sh('getfattr -d -m - mnt/a')
        check('user.colour="red"' in said and 'user.b2frame.info' not in said,
              'getfattr says ' + said)


def sparse_frame_is_as_private_as_its_directory():
    os.mkdir('src')
    for name, mode, wanted in (('a', 0o755, 0o644), ('b', 0o700, 0o600),
                               ('c', 0o750, 0o640), ('d', 0o711, 0o644)):
        path = 'src/%s.b2frame' % name
        write_sparse(path, DATA)
        os.chmod(path + '/chunks.b2frame', 0o644)
        os.chmod(path, mode)
        with Mount('src', 'mnt') as mount:
            got = os.stat(mount / name).st_mode
            check(got == stat.S_IFREG | wanted, '%s: mode %o' % (name, got))


def other_users_read_what_they_may_read_now():
    need_users()
    make()
    write('src/a.b2frame', frame(DATA, 4096))
    os.chmod('.', 0o755)
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        check(as_nobody(read, mount / 'a') == 0, 'cannot be read')
        os.chmod('src/a.b2frame', 0o600)
        check(as_nobody(read, mount / 'a') == errno.EACCES, 'can be read')
        check(read(mount / 'a') == DATA, 'cannot be read by root')


def kernel_reads_itself():
    """Should the kernel read files without the daemon?  It cannot on an overlay
    file system."""
    if not is_root() or sh('stat -f -c %T .') == 'overlayfs\n':
        print('skipped: the kernel may not read files itself here')
        return False
    return not lacks('FRAMEFS_PASSTHROUGH', (6, 9), 'passthrough')


def change_is_seen_at_once_by_all_who_read():
    if not kernel_reads_itself():
        return
    make()
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        fds = [os.open(mount / 'plain', os.O_RDONLY) for _ in range(3)]
        whole = mmap.mmap(fds[0], 0, prot=mmap.PROT_READ)
        check(whole[:] == DATA and os.pread(fds[1], 9, 0) == DATA[:9], 'content')
        with open('src/plain', 'r+b', buffering=0) as file:
            file.write(b'new')
        check(whole[:3] == b'new', 'is not mapped as it is')
        for fd in fds:
            check(os.pread(fd, 3, 0) == b'new', 'is not read as it is')
            os.close(fd)
        check(mount.log() == '', 'says ' + mount.log())


def file_is_given_back_when_the_last_one_closes_it():
    if not kernel_reads_itself():
        return
    make()
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        def open_often(_):
            for _ in range(50):
                check(read(mount / 'plain') == DATA, 'content')

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(open_often, range(8)))
        with open('src/plain', 'r+b') as file:
            # The kernel grants the lease when nobody else has the file open.
            wait_for(lambda: error_of(fcntl.fcntl, file, fcntl.F_SETLEASE,
                                      fcntl.F_WRLCK) == 0, 'the lease')


def nothing_can_be_changed():
    make()
    write('src/a.b2frame', frame(DATA, 4096))
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        for call in (lambda: open(mount / 'a', 'r+b'),
                     lambda: open(mount / 'plain', 'ab'),
                     lambda: os.unlink(mount / 'a'),
                     lambda: os.mkdir(mount / 'new'),
                     lambda: os.chmod(mount / 'a', 0o600),
                     lambda: os.truncate(mount / 'a', 0),
                     lambda: os.setxattr(mount / 'a', 'user.x', b'y')):
            check(error_of(call) == errno.EROFS, 'is not refused')
        check(os.statvfs(mount.path).f_flag & os.ST_RDONLY, 'says it is not')


def removed_directory_lives_while_it_is_open():
    os.makedirs('src/sub/others')
    with Mount('src', 'mnt') as mount:
        for remove in (lambda: os.rmdir(mount / 'sub/others'),
                       lambda: os.rmdir('src/sub')):
            path = 'sub/others' if os.path.exists('src/sub/others') else 'sub'
            fd = os.open(mount / path, os.O_RDONLY)
            ino = os.fstat(fd).st_ino
            remove()
            if path == 'sub/others':
                os.fchmod(fd, 0o700)
            wait_for(lambda fd=fd: os.fstat(fd).st_nlink == 0, 'no links')
            check(os.fstat(fd).st_ino == ino, 'number')
            check(os.listdir(fd) == [], 'entries')
            os.fsync(fd)
            check(error_of(os.stat, mount / path) == errno.ENOENT, 'name')
            os.close(fd)


main(files_are_the_same,
     special_files_show_as_they_are,
     links_are_not_followed_by_the_daemon,
     file_that_was_replaced_is_another_file,
     extended_attributes,
     sparse_frame_is_as_private_as_its_directory,
     other_users_read_what_they_may_read_now,
     change_is_seen_at_once_by_all_who_read,
     file_is_given_back_when_the_last_one_closes_it,
     nothing_can_be_changed,
     removed_directory_lives_while_it_is_open)
