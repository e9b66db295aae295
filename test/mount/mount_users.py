#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount users
"""A mount of root's gives other users no more than SOURCE does.

usage: mount_users.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import os
import re
import shlex
import subprocess

from mounted import (B2FRAME, FRAMEFS, NOBODY, Mount, as_nobody, as_user,
                     can_act_as_others, check, disk, error_of, layouts, main,
                     make_acl, need_root, need_users, read, sh, wait_for,
                     write, write_sparse)

OWNER = 61000
DATA = bytes(range(256)) * 40
SECRET = b'secret' * 100



def open_to_all():
    os.chmod('.', 0o755)
    os.makedirs('src', exist_ok=True)
    os.chmod('src', 0o1777)


def mounted(layout, *options):
    need_users()
    open_to_all()
    return Mount('src', 'mnt', '-o', 'allow_other,layout=' + layout, *options)


def append(path):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b'more')
    os.fsync(fd)
    os.close(fd)


@layouts
def an_owner_may_write_what_he_may_not_read(layout):
    with mounted(layout) as mount:
        path = mount / 'a'
        check(as_user(OWNER, write, path, DATA) == 0, 'make')
        os.chmod(path, 0o200)
    with mounted(layout) as mount:
        check(as_user(OWNER, append, path) == 0, 'append')
        check(as_user(OWNER, read, path) == errno.EACCES, 'read')
        check(as_nobody(append, path) == errno.EACCES, 'another')
        check(read(path) == DATA + b'more', 'content')


@layouts
def what_was_opened_is_committed_without_the_right_to_it(layout):
    """A program may lose its right to a file between open() and close()."""
    with mounted(layout) as mount:
        path = mount / 'a'

        def write_on():
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.write(fd, DATA)
            os.fchmod(fd, 0)
            os.write(fd, DATA)
            os.fsync(fd)
            os.close(fd)

        check(as_user(OWNER, write_on) == 0, 'writes')
        check(read(path) == 2 * DATA, 'content')
        for parent, _, files in os.walk('src'):
            for name in files:
                st = os.stat(os.path.join(parent, name))
                check((st.st_uid, st.st_gid) == (OWNER, OWNER),
                      name + ' belongs to %d' % st.st_uid)


@layouts
def modes_and_owners_can_be_changed_at_any_time(layout):
    """The change also applies to the files of a sparse frame, as far as that
    matters."""
    with mounted(layout, '-o', 'chunksize=4K') as mount:
        path = mount / 'a'
        os.umask(0o077)
        check(as_user(OWNER, write, path, DATA) == 0, 'make')
        check(as_nobody(read, path) == errno.EACCES, 'private')
        check(as_user(OWNER, os.chmod, path, 0o644) == 0, 'chmod')
    with mounted(layout, '-o', 'chunksize=4K') as mount:
        check(as_nobody(read, path) == 0, 'not private any more')
        os.chmod(path, 0o600)
        os.chown(path, NOBODY, NOBODY)
    with mounted(layout, '-o', 'chunksize=4K') as mount:
        check(as_nobody(read, path) == 0, 'given away')
        check(as_nobody(append, path) == 0, 'and written to')
        check(as_user(OWNER, read, path) == errno.EACCES, 'taken away')
        check(read(path) == DATA + b'more', 'content')
        os.chown(path, -1, OWNER)
    groups = {os.stat(os.path.join(top, name)).st_gid
              for top, _, names in os.walk('src') for name in names}
    check(groups == {OWNER}, 'groups: %s' % groups)


def reserved_space_is_not_for_users():
    open_to_all()
    with disk('disk', '64M', flags='-m 50'):
        os.chmod('disk', 0o777)
        with Mount('disk', 'mnt', '-o', 'allow_other') as mount:
            def fill():
                with open(mount / 'a', 'wb', buffering=0) as file:
                    while True:
                        file.write(os.urandom(1 << 20))

            check(as_user(OWNER, fill) == errno.ENOSPC, 'is not full')
            st = os.statvfs('disk')
            check(st.f_bfree > 0.3 * st.f_blocks, '%d of %d blocks are free' %
                  (st.f_bfree, st.f_blocks))


def attributes_of_root_do_not_show():
    need_root('set trusted attributes')
    open_to_all()
    write('src/a', b'plain')
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        os.setxattr(mount / 'a', 'trusted.colour', b'red')
        os.setxattr(mount / 'a', 'user.colour', b'green')
        check(sorted(os.listxattr(mount / 'a')) ==
              ['trusted.colour', 'user.colour'], 'for root')

        def look():
            if os.listxattr(mount / 'a') != ['user.colour']:
                raise OSError(errno.EEXIST, 'shows')

        check(as_nobody(look) == 0, 'for others')


def frames_can_be_copied_with_their_attributes():
    open_to_all()
    os.mkdir('to')
    write('in', DATA)
    sh('%s create in src/a.b2frame && %s meta set src/a.b2frame vlmeta.colour '
       '--text green' % (B2FRAME, B2FRAME), None)
    options = ['-o', 'allow_other'] if can_act_as_others() else []
    with Mount('src', 'mnt', *options) as mount:
        os.setxattr(mount / 'a', 'user.b2frame.vlmeta.shape', b'round')
        os.mkdir('mnt2')
        with Mount('to', 'mnt2'):
            for name in os.listxattr(mount / 'a'):
                check(name != 'user.b2frame.info', 'is listed')
            sh('cp --preserve=all mnt/a mnt2/a')
            check(os.getxattr('mnt2/a', 'user.b2frame.vlmeta.shape') ==
                  b'round', 'the copy')
            check(os.getxattr('mnt2/a', 'user.b2frame.info')[:1] == b'{', 'info')


def chunk_files_of_others_are_not_read():
    """A user has put another user's file into a sparse frame."""
    need_users()
    open_to_all()
    write_sparse('src/mine.b2frame', DATA)
    write_sparse('src/theirs', SECRET + bytes(len(DATA) - len(SECRET)))
    for name in ('', '/chunks.b2frame', '/00000000.chunk'):
        os.chown('src/mine.b2frame' + name, OWNER, OWNER)
    os.rename('src/theirs/00000000.chunk', 'src/mine.b2frame/00000000.chunk')
    os.chmod('src/mine.b2frame/00000000.chunk', 0o600)
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        check(as_user(OWNER, read, mount / 'mine') == errno.EACCES, 'is read')
    os.chown('src/mine.b2frame/00000000.chunk', OWNER, OWNER)
    os.chmod('src/mine.b2frame/00000000.chunk', 0o644)
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        check(as_user(OWNER, read, mount / 'mine') == 0, 'is not read')


@layouts
def a_chunk_is_put_into_no_frame_of_another(layout):
    """A user who may rename another's frame cannot write to it, but a program
    may lose its right to the frame that it has opened."""
    with mounted(layout, '-o', 'chunks') as mount:
        chunk = mount / 'mine.chunks/00000000'

        def put(change):
            fd = os.open(chunk, os.O_WRONLY)
            os.write(fd, DATA[::-1])
            change()
            os.fsync(fd)
            os.close(fd)

        def exchange():
            os.rename('src/mine.b2frame', 'src/old.b2frame')
            os.rename('src/theirs.b2frame', 'src/mine.b2frame')

        for user, name in (OWNER, 'mine'), (NOBODY, 'theirs'):
            check(as_user(user, write, mount / name, DATA) == 0, 'make')
        os.chown('src', OWNER, OWNER)
        os.chmod('src', 0o755)
        check(as_user(OWNER, put, lambda: os.chmod(mount / 'mine', 0)) == 0,
              'its own frame')
        check(read(mount / 'mine') == DATA[::-1], 'is not put')
        os.chmod(mount / 'mine', 0o600)
        check(as_user(OWNER, put, exchange) == errno.EACCES, 'another')
        check(read(mount / 'mine') == DATA, 'the frame of another')
        check(read(mount / 'old') == DATA[::-1], 'the frame')


def grant(path, user):
    """Give a user the right to read."""
    os.setxattr(path, 'system.posix_acl_access', make_acl([
        (1, 6, None), (2, 4, user), (4, 0, None), (0x10, 4, None),
        (0x20, 0, None)]))


@layouts
def who_has_a_frame_open_gets_none_that_others_may_read(layout):
    """The open file never shows bytes of the frame that took its name, not even
    if that has the same owner, group and mode."""
    need_users()
    open_to_all()
    for name, data, user in (('a', DATA, NOBODY), ('b', DATA[::-1], OWNER)):
        write('in', data)
        sh('%s create --layout %s in src/%s.b2frame' % (B2FRAME, layout, name))
        os.chmod('src/%s.b2frame' % name, 0o755)
        index = 'src/%s.b2frame' % name + ('/chunks.b2frame' if layout == 'sparse'
                                          else '')
        os.chmod(index, 0o600)
        grant(index, user)
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        check(as_user(NOBODY, read, mount / 'a') == 0, 'cannot read')
        with open(mount / 'a', 'rb') as file:
            check(os.pread(file.fileno(), 5, 0) == DATA[:5], 'content')
            sh('mv -T --exchange src/a.b2frame src/b.b2frame 2>&-'
               ' || mv src/a.b2frame was && mv src/b.b2frame src/a.b2frame')
            check(as_user(OWNER, read, mount / 'a') == 0, 'is not found')
            check(as_user(NOBODY, read, mount / 'a') == errno.EACCES,
                  'may be opened')
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                check(os.pread(file.fileno(), 5, 0) == DATA[:5],
                      'what others may read')
            except OSError as error:
                check(error.errno == errno.ESTALE, 'error %s' % error)


def the_service_recovers_from_a_crash():
    unit = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        '../../packaging/framefs@.service.in')
    lines = dict(re.findall(r'^(Exec\w+)=(.*)$', read(unit).decode(), re.M))
    open_to_all()
    env = dict(os.environ, SOURCE='src', MOUNTPOINT='mnt', OPTIONS='rw')

    def command(name):
        line = lines[name].replace('@bindir@', os.path.dirname(FRAMEFS))
        for variable, value in env.items():
            line = line.replace('${%s}' % variable, shlex.quote(value))
        return shlex.split(line.replace('$$', '$'))

    def execute(name, result):
        done = subprocess.run(command(name), check=False, timeout=60,
                              env=dict(env, SERVICE_RESULT=result))
        check(done.returncode == 0, '%s after %s' % (name, result))

    @contextlib.contextmanager
    def running():
        """Start the service, and kill it at the end."""
        with subprocess.Popen(command('ExecStart')) as daemon:
            try:
                wait_for(lambda: os.path.exists('mnt') and
                         os.path.ismount('mnt'), 'the mount')
                yield daemon
            finally:
                daemon.kill()

    with running():
        write('mnt/a', DATA)
    wait_for(lambda: error_of(os.stat, 'mnt') == errno.ENOTCONN, 'a dead mount')
    execute('ExecStopPost', 'signal')
    with running() as daemon:
        check(read('mnt/a') == DATA, 'content')
        execute('ExecStop', 'success')
        check(daemon.wait(60) == 0, 'end')
    execute('ExecStopPost', 'success')


main(an_owner_may_write_what_he_may_not_read,
     what_was_opened_is_committed_without_the_right_to_it,
     modes_and_owners_can_be_changed_at_any_time,
     reserved_space_is_not_for_users,
     attributes_of_root_do_not_show,
     frames_can_be_copied_with_their_attributes,
     chunk_files_of_others_are_not_read,
     a_chunk_is_put_into_no_frame_of_another,
     who_has_a_frame_open_gets_none_that_others_may_read,
     the_service_recovers_from_a_crash)
