#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount write
"""Programs write to a mounted tree as to any directory, and their files become
frames.

usage: mount_write.py FRAMEFS [TEST...]
"""

import errno
import mmap
import os
import random
import signal
import stat
import subprocess
import sys
import time

from mounted import (B2FRAME, NOBODY, Mount, as_nobody, b2frame,
                     can_act_as_others, check, drop_caches, error_of, frame,
                     is_mounted, is_root, layouts, main, need_root, need_users,
                     opened, read, sh, tmpfs, wait_for, write)

DATA = random.Random(5).randbytes(300000)
CLOSE_DELAY = 0.1  # seconds between the last close() and the commit


def mounted(layout, *options):
    return Mount('src', 'mnt', '-o', 'layout=' + layout, *options)


def is_frame(name, layout):
    """Is a frame of this layout stored under this name?"""
    path = 'src/' + name
    if layout == 'sparse':
        path += '/chunks.b2frame'
    return os.path.isfile(path) and read(path, 2, 7) == b'b2frame'


@layouts
def new_file_is_a_frame(layout):
    with mounted(layout) as mount:
        for name in ('a', 'a.b2frame', 'empty'):
            with open(mount / name, 'xb') as file:
                check(is_frame(name + '.b2frame', layout), name + ' at once')
                file.write(b'' if name == 'empty' else DATA)
        check(sorted(os.listdir('mnt')) == ['a', 'a.b2frame', 'empty'], 'names')
        check(read(mount / 'a') == DATA, 'content')
        check(error_of(lambda: open(mount / 'a', 'xb')) == errno.EEXIST, 'twice')
    with mounted(layout) as mount:
        for name in ('a', 'a.b2frame'):
            check(read(mount / name) == DATA, name + ', mounted again')
        check(os.path.getsize(mount / 'empty') == 0, 'empty, mounted again')


@layouts
def overwrite_append_truncate(layout):
    model = bytearray(DATA)
    with mounted(layout, '-o', 'chunksize=10000') as mount:
        write(mount / 'a', DATA)
        with open(mount / 'a', 'r+b', buffering=0) as file:
            for off, size in ((0, 1), (9999, 2), (12345, 54321), (299999, 10)):
                piece = bytes([off % 251 + 1]) * size
                os.pwrite(file.fileno(), piece, off)
                model[off:off + size] = piece
            for size in (123456, 400000, 400001, 5):
                file.truncate(size)
                model = (model + bytes(size))[:size]
                check(read(mount / 'a') == model, 'cut or grown to %d' % size)
        with open(mount / 'a', 'ab') as file:
            file.write(DATA)
        model += DATA
        os.truncate(mount / 'a', 100)
        del model[100:]
        check(os.path.getsize(mount / 'a') == 100, 'size')
        sh('printf later >>mnt/a')
        model += b'later'
        check(read(mount / 'a') == model, 'appended')
    with mounted(layout) as mount:
        check(read(mount / 'a') == model, 'mounted again')
        write(mount / 'a', b'short')
        check(read(mount / 'a') == b'short', 'O_TRUNC')


@layouts
def two_processes_append(layout):
    with mounted(layout) as mount:
        script = ('import os, sys\n'
                  'fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | '
                  'os.O_CREAT)\n'
                  'for i in range(500): os.write(fd, sys.argv[2].encode() * 9 '
                  '+ b"\\n")\n')
        writers = [subprocess.Popen([sys.executable, '-c', script, mount / 'log',
                                     word]) for word in 'ab']
        check([w.wait() for w in writers] == [0, 0], 'writers')
        lines = read(mount / 'log').split(b'\n')
        check(lines.count(b'a' * 9) == 500 and lines.count(b'b' * 9) == 500 and
              len(lines) == 1001, 'lines are torn or lost')


@layouts
def shared_mapping(layout):
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
        with open(mount / 'a', 'r+b') as file:
            with mmap.mmap(file.fileno(), 0) as mapped:
                mapped[100000:100005] = b'hello'
                mapped.flush()
        check(read(mount / 'a', 100000, 5) == b'hello', 'mapped')
    with mounted(layout) as mount:
        check(read(mount / 'a') == DATA[:100000] + b'hello' + DATA[100005:],
              'mounted again')


@layouts
def rename_takes_the_place_of_another(layout):
    with mounted(layout) as mount:
        for name in ('a', 'b'):
            write(mount / name, name.encode() * 1000)
        with open(mount / 'b', 'rb', buffering=0) as old:
            os.rename(mount / 'a', mount / 'b')
            check(old.read(10) == b'b' * 10, 'the old one, open')
            check(os.fstat(old.fileno()).st_nlink == 0, 'links of the old one')
        check(read(mount / 'b') == b'a' * 1000, 'content')
        check(os.listdir('mnt') == ['b'], 'names')
        check([n for n in os.listdir('src') if not n.startswith('.')] ==
              ['b.b2frame'], 'stored names')
        sh('mv mnt/b mnt/c && mkdir mnt/d && mv mnt/c mnt/d/e')
        check(read(mount / 'd/e') == b'a' * 1000, 'in another directory')
        sh('mv mnt/d mnt/f')
        check(read(mount / 'f/e') == b'a' * 1000, 'with its directory')
    check(is_frame('f/e.b2frame', layout), 'is stored elsewhere')


@layouts
def rename_while_it_is_written(layout):
    with mounted(layout) as mount:
        with open(mount / 'a', 'wb', buffering=0) as file:
            file.write(DATA)
            os.rename(mount / 'a', mount / 'b')
            file.write(DATA)
            os.fsync(file.fileno())
            file.write(DATA)
        check(read(mount / 'b') == 3 * DATA, 'content')
    with mounted(layout) as mount:
        check(read(mount / 'b') == 3 * DATA, 'content, mounted again')


def frames_take_the_places_of_other_files():
    os.mkdir('src')
    write('src/plain', b'plain')
    os.symlink('nowhere', 'src/link')
    with Mount('src', 'mnt') as mount:
        for name in ('plain', 'link'):
            write(mount / 'a', DATA)
            os.rename(mount / 'a', mount / name)
            check(read(mount / name) == DATA, name)
        check(sorted(os.listdir('src')) == ['link.b2frame', 'plain.b2frame'],
              'stored names')
        os.symlink('there', mount / 'new')
        os.rename(mount / 'new', mount / 'link')
        check(os.readlink(mount / 'link') == 'there', 'a link again')
        check(sorted(os.listdir('mnt')) == ['link', 'plain'], 'names')


@layouts
def exchange_and_no_replace(layout):
    with mounted(layout) as mount:
        for name in ('a', 'b'):
            write(mount / name, name.encode() * 1000)
        check(renameat2(mount / 'a', mount / 'b', 1) == errno.EEXIST,
              'RENAME_NOREPLACE')
        check(renameat2(mount / 'a', mount / 'b', 2) == 0, 'RENAME_EXCHANGE')
        check(read(mount / 'a')[:1] == b'b' and read(mount / 'b')[:1] == b'a',
              'exchanged')
        check(renameat2(mount / 'a', mount / 'c', 1) == 0, 'to a free name')
        check(sorted(os.listdir('mnt')) == ['b', 'c'], 'names')


def renameat2(old, new, flags):
    """Call renameat2().  Return its errno, or 0."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new),
                      flags) == 0:
        return 0
    return ctypes.get_errno()


def exchange(one, other):
    check(renameat2(one, other, 2) == 0, '%s and %s' % (one, other))


@layouts
def frames_change_places_with_other_files(layout):
    os.mkdir('src/dir')
    write('src/dir/plain', b'plain')
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
        with open(mount / 'a', 'r+b', buffering=0) as file:
            exchange(mount / 'a', mount / 'dir/plain')
            file.write(b'new')
            exchange(mount / 'a', mount / 'dir')
            check(read(mount / 'dir') == b'plain', 'the plain file')
            check(read(mount / 'a/plain') == b'new' + DATA[3:], 'the frame')
    # Here the frame shows with its suffix, because a plain file has the name
    # without it.
    write('src/a/plain.b2f', b'other')
    os.rename('src/dir', 'src/a/plain')
    with mounted(layout) as mount:
        exchange(mount / 'a/plain', mount / 'a/plain.b2frame')
        check(sorted(os.listdir(mount / 'a')) ==
              ['plain', 'plain.b2f', 'plain.b2frame'], 'names')
        check(read(mount / 'a/plain.b2frame') == b'plain', 'the plain file')
        check(read(mount / 'a/plain') == b'new' + DATA[3:], 'the frame')
    check(is_frame('a/plain.b2', layout), 'stored otherwise')


def names_that_are_kept_are_exchanged():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, 10000))
    write('src/b.b2frame', b'plain')
    write('src/c', b'plain')
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        exchange(mount / 'b.b2frame', mount / 'a.b2frame')
        check(read(mount / 'a.b2frame') == b'plain', 'the plain file')
        check(read(mount / 'b.b2frame') == DATA, 'the frame')
        check(renameat2(mount / 'b.b2frame', mount / 'c', 2) == errno.EXDEV,
              'a frame that would be none')


@layouts
def removed_file_lives_while_it_is_open(layout):
    with mounted(layout) as mount:
        with open(mount / 'a', 'w+b', buffering=0) as file:
            file.write(DATA)
            os.unlink(mount / 'a')
            check(os.listdir('mnt') == [], 'is still listed')
            write(mount / 'a', b'another')
            file.write(DATA)
            os.fsync(file.fileno())
            check(os.pread(file.fileno(), 10**6, 0) == 2 * DATA, 'content')
            check(os.fstat(file.fileno()).st_nlink == 0, 'links')
            os.fchmod(file.fileno(), 0o600)
            check(os.fstat(file.fileno()).st_mode & 0o777 == 0o600, 'mode')
        check(read(mount / 'a') == b'another', 'the new one')
        os.unlink(mount / 'a')
    check(os.listdir('src') == [], 'something is left')


def sparse_left_over_from_a_dead_daemon_is_removed():
    os.mkdir('src')
    with mounted('sparse') as mount:
        write(mount / 'a', DATA)
        file = open(mount / 'a', 'rb')
        os.unlink(mount / 'a')
        check(len(os.listdir('src')) == 1, 'nothing is kept')
        with mounted_beside() as other:
            check(os.listdir(other.path) == [], 'shows')
            check(file.read(10) == DATA[:10], 'of a living one is removed')
        mount.crash()
        error_of(file.close)
    with mounted('sparse'):
        check(os.listdir('src') == [], 'is left')


def mounted_beside():
    os.makedirs('beside', exist_ok=True)
    return Mount('src', 'beside')


def sparse_on_another_file_system_lives_while_it_is_open():
    with tmpfs('src/other'):
        with mounted('sparse') as mount:
            with open(mount / 'other/a', 'w+b', buffering=0) as file:
                file.write(DATA)
                os.unlink(mount / 'other/a')
                with mounted_beside() as other:
                    check(os.listdir(other / 'other') == [], 'is listed')
                file.write(DATA)
                os.fsync(file.fileno())
                check(os.pread(file.fileno(), 10**6, 0) == 2 * DATA, 'content')
        check(os.listdir('src/other') == [], 'something is left')


def hard_links():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        write(mount / 'a', DATA)
        os.link(mount / 'a', mount / 'b')
        check(os.stat(mount / 'a').st_nlink == 2, 'links')
        with open(mount / 'b', 'r+b') as file:
            file.write(b'changed')
        check(read(mount / 'a')[:7] == b'changed', 'the other name')
        os.unlink(mount / 'a')
        check(read(mount / 'b')[:7] == b'changed', 'is left')
        check(os.stat(mount / 'b').st_nlink == 1, 'one link')
    shutil_clean()
    with mounted('sparse') as mount:
        write(mount / 'a', DATA)
        check(error_of(os.link, mount / 'a', mount / 'c') == errno.EPERM,
              'sparse')


def one_of_two_names_goes():
    """The kernel then sets times through the node, and reports a failure in
    close()."""
    ways = {
        'removed': os.unlink,
        'renamed over': lambda path: os.rename(path + '.new', path),
    }
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        for how, go in ways.items():
            # No program has opened the file here, so the daemon knows only its
            # names.
            write('src/a.b2frame', frame(DATA, 4096))
            os.link('src/a.b2frame', 'src/b.b2frame')
            write(mount / 'b.new', b'new')
            os.stat(mount / 'a')
            os.stat(mount / 'b')
            go(str(mount / 'b'))
            with open(mount / 'a', 'ab') as file:
                file.write(b'more')
            check(read(mount / 'a') == DATA + b'more', how)
            sh('rm -f src/*')


def shutil_clean():
    sh('rm -rf src && mkdir src')


@layouts
def owner_mode_and_times(layout):
    with mounted(layout) as mount:
        os.umask(0o027)
        write(mount / 'a', DATA)
        check(os.stat(mount / 'a').st_mode == stat.S_IFREG | 0o640, 'umask')
        os.umask(0o022)
        os.chmod(mount / 'a', 0o4705)
        check(os.stat(mount / 'a').st_mode == stat.S_IFREG | 0o4705, 'chmod')
        with open(mount / 'a', 'r+b') as file:
            file.write(DATA[::-1])
            file.flush()
            os.utime(mount / 'a', ns=(10**18, 123456789012345678))
        if is_root():
            os.chown(mount / 'a', 12, 34)
        else:
            print('skipped: only root can give files away')
    with mounted(layout) as mount:
        st = os.stat(mount / 'a')
        check(st.st_mtime_ns == 123456789012345678, 'time of modification')
        check(st.st_mode & 0o777 == 0o705, 'mode')
        if is_root():
            check((st.st_uid, st.st_gid) == (12, 34), 'owner')
        with open(mount / 'a', 'ab') as file:
            file.write(DATA)
        st = os.stat(mount / 'a')
        check(st.st_mtime_ns > 10**18, 'time after a write')
    st = os.stat('src/a.b2frame/chunks.b2frame' if layout == 'sparse'
                 else 'src/a.b2frame')
    check(st.st_mode & 0o777 == 0o705, 'mode that is stored')


@layouts
def looking_at_a_frame_is_no_access(layout):
    """The kernel updates an access time that is older than the modification
    time, if the file system keeps access times."""
    times = (10**18, 2 * 10**18)
    write('plain', DATA)
    os.utime('plain', ns=times)
    read('plain')
    kept = os.stat('plain').st_atime_ns != times[0]
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
        os.utime(mount / 'a', ns=times)
        check(os.stat(mount / 'a').st_atime_ns == times[0], 'once it is set')
    stored = ('src/a.b2frame/chunks.b2frame' if layout == 'sparse' else
              'src/a.b2frame')
    os.utime(stored, ns=times)
    with mounted(layout) as mount:
        os.listdir(mount.path)
        check(os.stat(mount / 'a').st_size == len(DATA), 'size')
        check(os.stat(stored).st_atime_ns == times[0], 'after a look')
        check(read(mount / 'a') == DATA, 'content')
        check(not kept or os.stat(stored).st_atime_ns != times[0],
              'after a read')


@layouts
def with_noatime_reading_is_no_access(layout):
    times = (10**18, 2 * 10**18)
    os.makedirs('src/sub')
    write('src/plain', DATA)
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
    stored = (['src/a.b2frame/chunks.b2frame', 'src/a.b2frame/00000000.chunk']
              if layout == 'sparse' else ['src/a.b2frame'])
    stored += ['src/plain', 'src/sub']
    for path in stored:
        os.utime(path, ns=times)
    with Mount('src', 'mnt', '-o', 'noatime') as mount:
        check(read(mount / 'a') == DATA and read(mount / 'plain') == DATA,
              'content')
        os.listdir(mount / 'sub')
        for path in stored:
            check(os.stat(path).st_atime_ns == times[0], path)


@layouts
def a_time_that_was_set_shows_while_the_file_is_written_out(layout):
    times = {f'f{i}': 123456789012345678 + i for i in range(100)}
    with mounted(layout) as mount:
        for name, mtime in times.items():
            with open(mount / name, 'wb') as file:
                file.write(DATA)
                file.flush()
                os.utime(file.fileno(), ns=(10**18, mtime))
        if not drop_caches():
            print('skipped: only root can make the kernel forget')
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            drop_caches()
            drop_caches()
            for name, mtime in times.items():
                check(os.stat(mount / name).st_mtime_ns == mtime,
                      f'{layout}: time of {name}')


@layouts
def a_change_that_fails_keeps_the_time_that_was_set(layout):
    with mounted(layout, '-o', 'lock') as mount:
        with open(mount / 'a', 'wb') as file:
            file.write(DATA)
            file.flush()
            os.utime(file.fileno(), ns=(10**18, 10**18))
            check(error_of(os.posix_fallocate, file.fileno(), 0, 1 << 62) in
                  (errno.EFBIG, errno.ENOSPC), 'fallocate')
        check(os.stat(mount / 'a').st_mtime_ns == 10**18, 'time in the mount')
    stored = 'src/a.b2frame' + '/chunks.b2frame' * (layout == 'sparse')
    check(os.stat(stored).st_mtime_ns == 10**18, 'time of the file')


@layouts
def own_metadata_are_no_change_by_others(layout):
    """Otherwise the daemon would tell the kernel to drop its pages."""
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
    with mounted(layout, '-d') as mount:
        with open(mount / 'a', 'r+b') as file:
            for change in (lambda: os.utime(mount / 'a', (1, 2)),
                           lambda: os.chmod(mount / 'a', 0o600),
                           lambda: os.setxattr(mount / 'a', 'user.x', b'1'),
                           lambda: os.link('src/a.b2frame', 'src/x')
                           if layout == 'contiguous' else None,
                           lambda: os.rename(mount / 'a', mount / 'b'),
                           lambda: os.rename(mount / 'b', mount / 'a')):
                change()
                for name in os.listdir(mount.path):
                    os.stat(mount / name)
            file.write(b'x')
        check(read(mount / 'a') == b'x' + DATA[1:], 'content')
        mount.stop(signal.SIGTERM)
        check('NOTIFY' not in mount.log(), 'the kernel was told something')


@layouts
def another_mount_may_restore_the_time_of_a_frame_that_is_open(layout):
    """Another mount that has closed the frame does so a moment later."""
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
    stored = 'src/a.b2frame'
    if layout == 'sparse':
        stored += '/chunks.b2frame'
    with mounted(layout) as mount:
        with open(mount / 'a', 'ab', buffering=0) as file:
            os.utime(stored, ns=(10**18, 10**18))
            sh('stat --cached=never %s' % (mount / 'a'))
            check(file.write(b'more') == 4, 'nothing is written')
            os.fsync(file.fileno())
        check(read(mount / 'a') == DATA + b'more', 'content')


@layouts
def it_may_do_so_between_lookup_and_open(layout):
    """An open that finds a changed frame makes the kernel look the frame up
    again, once."""
    need_root('drop caches')
    stored = 'src/a.b2frame'
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
    with mounted(layout) as mount:
        check(read(mount / 'a') == DATA, 'first content')
        b2frame('truncate', '--size', '1000', stored)
        check(read(mount / 'a') == DATA[:1000], 'next content')
        time.sleep(3 * CLOSE_DELAY)  # times are less trusted before
        drop_caches()
        fd = os.open(mount / 'a', os.O_PATH)
        os.utime(stored + '/chunks.b2frame' * (layout == 'sparse'),
                 ns=(10**18, 10**18))
        with open('/proc/self/fd/%d' % fd, 'rb') as file:
            check(file.read() == DATA[:1000], 'content')
        os.close(fd)


@layouts
def a_frame_may_change_between_lookup_and_open(layout):
    stored = 'src/a.b2frame'
    with mounted(layout) as mount:
        for name, data in ('a', DATA), ('b', DATA[::-1] + b'12345'):
            write(mount / name, data)
    with mounted(layout) as mount:
        fd = os.open(mount / 'a', os.O_PATH)
        os.rename('src/b.b2frame', 'src/c.b2frame')
        sh('rm -r src/a.b2frame && mv src/c.b2frame src/a.b2frame')
        with open('/proc/self/fd/%d' % fd, 'ab') as file:
            file.write(b'x')
        check(read(mount / 'a') == DATA[::-1] + b'12345x', 'another frame')
        os.close(fd)
    with mounted(layout) as mount:
        fd = os.open(mount / 'a', os.O_PATH)
        for more in b'1', DATA:
            subprocess.run([B2FRAME, 'append', stored, '-'], input=more,
                           check=True)
        with open('/proc/self/fd/%d' % fd, 'ab') as file:
            check(file.tell() == 2 * len(DATA) + 7, 'size')
            file.write(b'y')
        check(read(mount / 'a') == DATA[::-1] + b'12345x1' + DATA + b'y', 'longer')
        os.close(fd)
    with mounted(layout) as mount:
        fd = os.open(mount / 'a', os.O_PATH)
        b2frame('truncate', '--size', '10', stored)
        check(error_of(open, '/proc/self/fd/%d' % fd, 'rb') == errno.ESTALE,
              'a shorter frame was opened')
        with open('/proc/self/fd/%d' % fd, 'wb') as file:
            file.write(b'z')
        check(read(mount / 'a') == b'z', 'overwritten')
        os.close(fd)


@layouts
def what_a_user_makes_is_the_users(layout):
    need_users()
    os.mkdir('src/team')
    os.chown('src/team', 0, 77)
    os.chmod('src/team', 0o2777)
    for path in ('..', '.', 'src'):
        os.chmod(path, 0o777)
    with mounted(layout, '-o', 'allow_other') as mount:
        check(as_nobody(make_all, mount) == 0, 'cannot be made')
        for name, gid in (('file', NOBODY), ('dir', NOBODY), ('link', NOBODY),
                          ('team/file', 77), ('team/dir', 77)):
            st = os.lstat(mount / name)
            check((st.st_uid, st.st_gid) == (NOBODY, gid), name)
        check(os.stat(mount / 'team/dir').st_mode & stat.S_ISGID, 'S_ISGID')
        check(as_nobody(read, mount / 'file') == 0, 'cannot be read')


def poke(path, flags):
    """Write a page over the second one."""
    page = mmap.mmap(-1, mmap.PAGESIZE)
    fd = os.open(path, flags)
    os.pwrite(fd, page, mmap.PAGESIZE)
    os.close(fd)


def allocate(path):
    fd = os.open(path, os.O_RDWR)
    os.posix_fallocate(fd, 0, 2 * len(DATA))
    os.close(fd)


CHANGES = {
    'write': lambda path: poke(path, os.O_RDWR),
    'direct': lambda path: poke(path, os.O_RDWR | os.O_DIRECT),
    'truncate': lambda path: os.truncate(path, 5),
    'open': lambda path: os.close(os.open(path, os.O_WRONLY | os.O_TRUNC)),
    'allocate': allocate,
    'chown': lambda path: os.chown(path, -1, os.stat(path).st_gid),
}


@layouts
def set_user_id_is_lost_as_in_any_directory(layout):
    for path in ('..', '.', 'src'):
        os.chmod(path, 0o777)
    os.mkdir('plain')
    callers, options = [error_of], []
    if can_act_as_others():
        callers, options = [as_nobody, error_of], ['-o', 'allow_other']
    else:
        print('skipped: only root can act as other users')
    with mounted(layout, *options) as mount:
        for name, change in CHANGES.items():
            for mode in (0o6777, 0o2767):
                for call in callers:
                    modes = [mode_after(os.path.join(top, name), mode,
                                        call, change)
                             for top in ('plain', mount.path)]
                    check(modes[0] == modes[1], f'{name} by {call.__name__}: '
                          f'{mode:o} becomes {modes[0]:o}, not {modes[1]:o}')


def mode_after(path, mode, call, change):
    """Return the mode of a file after a call by another user, or by us, has
    changed it."""
    write(path, DATA)
    if can_act_as_others():
        os.chown(path, NOBODY, NOBODY)
    os.chmod(path, mode)
    check(call(change, path) == 0, path)
    return stat.S_IMODE(os.stat(path).st_mode)


def small_writes_ask_nothing():
    """The kernel combines small writes, and sends no request for each."""
    os.makedirs('src')
    with Mount('src', 'mnt', '-d') as mount:
        with open(mount / 'a', 'wb', buffering=0) as file:
            for _ in range(1000):
                file.write(bytes(4096))
        asked = mount.log().count('opcode: ')
        check(0 < asked < 100, f'{asked} requests')


def make_all(mount):
    for top in ('', 'team/'):
        write(mount / (top + 'file'), DATA)
        os.mkdir(mount / (top + 'dir'))
    os.symlink('x', mount / 'link')


@layouts
def file_that_is_open_is_opened_as_its_mode_says(layout):
    need_users()
    os.chmod('.', 0o755)
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
        os.chmod(mount / 'a', 0o600)
    with mounted(layout, '-o', 'allow_other') as mount:
        with opened(mount / 'a', os.O_RDWR):
            for mode, flags in ((0o604, os.O_RDONLY), (0o602, os.O_WRONLY),
                                (0o606, os.O_RDWR)):
                os.chmod(mount / 'a', mode)
                check(as_nobody(os.open, mount / 'a', flags) == 0,
                      '%o is refused' % mode)
                os.chmod(mount / 'a', 0o600)
                check(as_nobody(os.open, mount / 'a', flags) == errno.EACCES,
                      '%o is granted when it is over' % mode)


@layouts
def mode_without_set_user_id_shows_at_once(layout):
    need_users()
    with mounted(layout, '-o', 'allow_other') as mount:
        os.chmod('.', 0o755)
        write(mount / 'a', DATA)

        def change(call):
            fd = os.open(mount / 'a', os.O_WRONLY)
            call(fd)

        for call in (lambda fd: os.pwrite(fd, b'x', 9),
                     lambda fd: os.ftruncate(fd, 1000),
                     lambda fd: os.posix_fallocate(fd, 0, 2000)):
            os.chmod(mount / 'a', 0o6777)
            # Ask for nothing but the mode, which the kernel knows.
            check(sh('stat -c %a mnt/a') == '6777\n', 'mode before')
            check(as_nobody(change, call) == 0, 'failed')
            check(sh('stat -c %a mnt/a') == '777\n', 'mode after')


@layouts
def holes_are_punched(layout):
    with mounted(layout, '-o', 'chunksize=4K') as mount:
        write(mount / 'a', DATA)
        sh('fallocate -p -o 10000 -l 100000 mnt/a')
        model = DATA[:10000] + bytes(100000) + DATA[110000:]
        check(read(mount / 'a') == model, 'punched')
        sh('fallocate -z -o 290000 -l 20000 mnt/a')
        model = model[:290000] + bytes(20000)
        check(read(mount / 'a') == model, 'zeroed')
        sh('fallocate -l 320000 mnt/a')
        check(os.path.getsize(mount / 'a') == 320000, 'longer')
        check(os.stat(mount / 'a').st_blocks > 0, 'blocks before the commit')
        sh('sync -d mnt/a')
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.lseek(fd, 20000, os.SEEK_DATA) >= 106496, 'SEEK_DATA')
        os.close(fd)
    with mounted(layout) as mount:
        check(read(mount / 'a') == model + bytes(10000), 'mounted again')


@layouts
def attributes_are_set(layout):
    with mounted(layout) as mount:
        write(mount / 'a', DATA)
        path = mount / 'a'
        os.setxattr(path, 'user.b2frame.vlmeta.colour', b'red')
        os.setxattr(path, 'user.b2frame.vlmeta.colour', b'green and blue')
        check(os.getxattr(path, 'user.b2frame.vlmeta.colour') ==
              b'green and blue', 'vlmetalayer')
        check(error_of(os.setxattr, path, 'user.b2frame.vlmeta.colour', b'x',
                       os.XATTR_CREATE) == errno.EEXIST, 'XATTR_CREATE')
        check(error_of(os.setxattr, path, 'user.b2frame.info', b'') ==
              errno.EPERM, 'info')
        check(error_of(os.setxattr, path, 'user.b2frame.meta.none', b'x') ==
              errno.EINVAL, 'a new metalayer')
        check(read(path) == DATA, 'content')
    with mounted(layout) as mount:
        path = mount / 'a'
        check(os.getxattr(path, 'user.b2frame.vlmeta.colour') ==
              b'green and blue', 'mounted again')
        os.removexattr(path, 'user.b2frame.vlmeta.colour')
        check(error_of(os.getxattr, path, 'user.b2frame.vlmeta.colour') ==
              errno.ENODATA, 'removed')
        check(error_of(os.removexattr, path, 'user.b2frame.vlmeta.colour') ==
              errno.ENODATA, 'removed twice')


@layouts
def directories_go_with_what_killed_programs_left(layout):
    os.makedirs('src/d/.framefs-tmp.1.0')
    write('src/d/y', b'')
    with mounted(layout) as mount:
        check(error_of(os.rmdir, mount / 'd') == errno.ENOTEMPTY, 'not empty')
        os.unlink(mount / 'd/y')
        os.rmdir(mount / 'd')
    check(os.listdir('src') == [], 'is left')


@layouts
def names_that_cannot_be(layout):
    with mounted(layout) as mount:
        longest = os.statvfs('mnt').f_namemax
        write(mount / ('x' * longest), b'1')
        check(error_of(write, mount / ('x' * (longest + 1)), b'1') ==
              errno.ENAMETOOLONG, 'too long')
        check(error_of(os.mkdir, mount / ('x' * (longest + 1))) ==
              errno.ENAMETOOLONG, 'too long for a directory')
        check(error_of(os.stat, mount / ('x' * (longest + 1))) ==
              errno.ENAMETOOLONG, 'too long to be there')
        check(error_of(write, mount / '.framefs-tmp.1', b'1') == errno.EPERM,
              'a temporary one')


def kept_names():
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        write(mount / 'a', DATA)
        write(mount / 'b.b2frame', DATA)
        check(read('src/a') == DATA, 'is no plain file')
        check(is_frame('b.b2frame', 'contiguous'), 'is no frame')
        check(read(mount / 'b.b2frame') == DATA, 'content')
        check(error_of(os.rename, mount / 'b.b2frame', mount / 'c') ==
              errno.EXDEV, 'ceases to be a frame')


def plain_files_are_written_through():
    os.mkdir('src')
    write('src/plain', DATA)
    with Mount('src', 'mnt') as mount:
        with open(mount / 'plain', 'r+b') as file:
            file.seek(1000)
            file.write(b'hello')
        with open(mount / 'plain', 'ab') as file:
            file.write(b'end')
            file.flush()
            os.fsync(file.fileno())
        wanted = DATA[:1000] + b'hello' + DATA[1005:] + b'end'
        check(read('src/plain') == wanted, 'below')
        check(read(mount / 'plain') == wanted, 'above')
        os.mkfifo(mount / 'fifo')
        check(stat.S_ISFIFO(os.stat('src/fifo').st_mode), 'fifo')


def write_fully(fd, data):
    """Write data to the start of a file, in as many calls as it takes."""
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], done)


@layouts
def full_disk(layout):
    with tmpfs('src', '2m'):
        with mounted(layout, '-o', 'chunksize=64K') as mount:
            write(mount / 'kept', DATA)
            sh('sync -d mnt/kept')
            write('src/ballast', bytes(1000000))
            data = random.Random(6).randbytes(1500000)
            fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
            error = error_of(write_fully, fd, data)
            check(error == errno.ENOSPC, 'fits: %d' % error)
            os.unlink('src/ballast')
            os.fsync(fd)
            write_fully(fd, data)
            os.fsync(fd)
            os.close(fd)
            check(read(mount / 'a') == data, 'content')
        with mounted(layout) as mount:
            check(read(mount / 'a') == data, 'content, mounted again')
            check(read(mount / 'kept') == DATA, 'what was there')


@layouts
def what_is_removed_at_once_is_never_written(layout):
    with mounted(layout, '-o', 'close=later') as mount:
        before = mount.descriptors() + 1  # the private directory
        for _ in range(20):
            written = bytes_written(mount)
            start = time.monotonic()
            write(mount / 'a', DATA)
            check(os.path.getsize(mount / 'a') == len(DATA), 'size')
            os.unlink(mount / 'a')
            at_once = time.monotonic() - start < CLOSE_DELAY
            wait_for(lambda: mount.descriptors() <= before,
                     'the file to be closed')
            # A commit may come first when the machine was slower.
            check(not at_once or
                  bytes_written(mount) - written < len(DATA) // 2,
                  'was written')


def bytes_written(mount):
    """Return the bytes that the daemon has written, to files and to the
    kernel."""
    with open('/proc/%d/io' % mount.daemon.pid, encoding='ascii') as counts:
        return int(dict(line.split(': ') for line in counts)['wchar'])


@layouts
def files_that_are_opened_again_while_they_are_closed(layout):
    with mounted(layout) as mount:
        for _ in range(100):
            for name in 'ab':
                with open(mount / name, 'ab') as file:
                    file.write(b'line\n')
            check(read(mount / 'a') == read(mount / 'b'), 'they differ')
    with mounted(layout) as mount:
        for name in 'ab':
            check(read(mount / name) == b'line\n' * 100, 'mounted again')


@layouts
def killed_daemon_loses_nothing_that_was_synced(layout):
    with mounted(layout) as mount:
        file = open(mount / 'a', 'wb', buffering=0)
        file.write(DATA)
        os.fsync(file.fileno())
        file.write(DATA)
        mount.crash()
        error_of(file.close)
    with mounted(layout) as mount:
        check(read(mount / 'a')[:len(DATA)] == DATA, 'content')


@layouts
def unmounting_waits_until_all_is_written(layout):
    with mounted(layout, '-o', 'commit=0') as mount:
        for i in range(20):
            write(mount / str(i), DATA[i:])
        sh('fusermount3 -u mnt')
        mount.daemon.wait()
    wait_for(lambda: not is_mounted('mnt'), 'the end')
    with mounted(layout) as mount:
        for i in range(20):
            check(read(mount / str(i)) == DATA[i:], 'file %d' % i)


def read_only():
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        check(error_of(write, mount / 'a', b'') == errno.EROFS, 'is made')


main(new_file_is_a_frame,
     overwrite_append_truncate,
     two_processes_append,
     shared_mapping,
     rename_takes_the_place_of_another,
     rename_while_it_is_written,
     frames_take_the_places_of_other_files,
     exchange_and_no_replace,
     frames_change_places_with_other_files,
     names_that_are_kept_are_exchanged,
     removed_file_lives_while_it_is_open,
     sparse_left_over_from_a_dead_daemon_is_removed,
     sparse_on_another_file_system_lives_while_it_is_open,
     hard_links,
     one_of_two_names_goes,
     owner_mode_and_times,
     looking_at_a_frame_is_no_access,
     with_noatime_reading_is_no_access,
     a_time_that_was_set_shows_while_the_file_is_written_out,
     a_change_that_fails_keeps_the_time_that_was_set,
     own_metadata_are_no_change_by_others,
     another_mount_may_restore_the_time_of_a_frame_that_is_open,
     it_may_do_so_between_lookup_and_open,
     a_frame_may_change_between_lookup_and_open,
     what_a_user_makes_is_the_users,
     set_user_id_is_lost_as_in_any_directory,
     small_writes_ask_nothing,
     file_that_is_open_is_opened_as_its_mode_says,
     mode_without_set_user_id_shows_at_once,
     holes_are_punched,
     attributes_are_set,
     directories_go_with_what_killed_programs_left,
     names_that_cannot_be,
     kept_names,
     plain_files_are_written_through,
     full_disk,
     what_is_removed_at_once_is_never_written,
     files_that_are_opened_again_while_they_are_closed,
     killed_daemon_loses_nothing_that_was_synced,
     unmounting_waits_until_all_is_written,
     read_only)
