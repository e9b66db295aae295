#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount races
"""Names that an attacker exchanges during a request do not mislead the daemon.

usage: mount_races.py FRAMEFS [TEST...]

FRAMEFS_RACE_SECONDS (2) sets how long each test takes.  FRAMEFS_RACE_REQUESTS,
separated by commas, selects the requests.
"""

import contextlib
import ctypes
import os
import stat
import subprocess
import sys
import time
import traceback

from mounted import (B2FRAME, Mount, check, layouts, main, make_acl,
                     need_users, read, sh, write)

SECONDS = float(os.environ.get('FRAMEFS_RACE_SECONDS', '2'))
ATTACKER = 65534
VICTIM = 61000
DATA = bytes(range(256)) * 40
SECRET = b'secret' * 100
OLD = 1000  # a time in seconds, which files get only by mistake
ACCESS = 'system.posix_acl_access'
RENAME_EXCHANGE = 2
AT_FDCWD = -100

libc = ctypes.CDLL(None, use_errno=True)


def exchange(a, b):
    libc.renameat2(AT_FDCWD, a.encode(), AT_FDCWD, b.encode(), RENAME_EXCHANGE)


@contextlib.contextmanager
def opened(path, flags, mode=0o600):
    fd = os.open(path, flags, mode)
    try:
        yield fd
    finally:
        os.close(fd)


# The requests.  Each takes the path of an existing file.

def read_file(path):
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        check(b'secret' not in os.read(fd, 10**6), 'a secret is read')


def overwrite(path):
    with opened(path, os.O_WRONLY | os.O_NONBLOCK) as fd:
        os.pwrite(fd, b'spoilt', 0)


def append(path):
    with opened(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK) as fd:
        os.write(fd, b'spoilt')


def create(path):
    with opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK,
                0o666) as fd:
        os.write(fd, DATA)


def replace(path):
    create(path + '.new')
    os.rename(path + '.new', path)


def rename(path):
    os.rename(path, path + '.moved')
    os.rename(path + '.moved', path)


def link(path):
    os.link(path, path + '.link')
    os.unlink(path + '.link')


def unlink(path):
    os.unlink(path)
    create(path)


def make_directory(path):
    os.mkdir(path + '.dir')
    os.rmdir(path + '.dir')


def make_fifo(path):
    os.mkfifo(path + '.fifo')
    os.unlink(path + '.fifo')


def make_symlink(path):
    os.symlink('f', path + '.symlink')
    os.readlink(path + '.symlink')
    os.unlink(path + '.symlink')


def seek(path):
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        os.lseek(fd, 0, os.SEEK_HOLE)


def allocate(path):
    with opened(path, os.O_WRONLY | os.O_NONBLOCK) as fd:
        os.posix_fallocate(fd, 0, 50)


def copy(path):
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as source, \
            opened(path + '.copy', os.O_RDWR | os.O_CREAT | os.O_TRUNC) as sink:
        os.copy_file_range(source, sink, 10**6)
        check(b'secret' not in os.pread(sink, 10**6, 0), 'a secret is copied')
    os.unlink(path + '.copy')


def read_attribute(path):
    os.getxattr(path, 'user.theirs')
    check(False, 'an attribute is read')


def look(path):
    """The size of one file with the owner of another would be a mixture of
    two."""
    st = os.stat(path)
    check(st.st_size != len(SECRET) or st.st_uid == VICTIM, 'a mixture')


def set_list(path):
    os.setxattr(path, ACCESS, make_acl([
        (1, 7, None), (2, 7, ATTACKER), (4, 7, None), (0x10, 7, None),
        (0x20, 7, None)]))


REQUESTS = {
    'read': read_file,
    'overwrite': overwrite,
    'append': append,
    'create': create,
    'replace': replace,
    'rename': rename,
    'link': link,
    'unlink': unlink,
    'mkdir': make_directory,
    'mknod': make_fifo,
    'symlink': make_symlink,
    'lseek': seek,
    'fallocate': allocate,
    'copy': copy,
    'listxattr': os.listxattr,
    'getxattr': read_attribute,
    'stat': look,
    'setfacl': set_list,
    'truncate': lambda path: os.truncate(path, 100),
    'chmod': lambda path: os.chmod(path, 0o666),
    'chown': lambda path: os.chown(path, -1, os.getgid()),
    'utimens': lambda path: os.utime(path, (1, 1)),
    'setxattr': lambda path: os.setxattr(path, 'user.x', b'x'),
    'removexattr': lambda path: os.removexattr(path, 'user.theirs'),
    'access': lambda path: os.access(path, os.R_OK),
    'list': lambda path: os.listdir(os.path.dirname(path)),
    'statfs': os.statvfs,
}
# The owner of a directory may do these to every file in it.
OF_THE_DIRECTORY = ('unlink', 'replace')
WANTED = [name for name in
          os.environ.get('FRAMEFS_RACE_REQUESTS', ','.join(REQUESTS)).split(',')
          if name]


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


@contextlib.contextmanager
def exchanging(pairs):
    """Start an attacker who exchanges names as fast as possible."""
    child = os.fork()
    if child == 0:
        become(ATTACKER)
        while True:
            for a, b in pairs:
                exchange(a, b)
    try:
        yield
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def make_file(path, layout, owner, mode, data):
    """Make a frame and a plain file."""
    write('in', data)
    sh('%s create --layout %s in %s.b2frame' % (B2FRAME, layout, path))
    write(path + '.txt', data)
    for top in (path + '.b2frame', path + '.txt'):
        parts = [os.path.join(top, part) for part in os.listdir(top)] \
            if os.path.isdir(top) else []
        for part in parts + [top]:
            os.chown(part, owner, owner)
            os.chmod(part, mode | (mode >> 2 & 0o111) if os.path.isdir(part)
                     else mode)
        os.setxattr(top, 'user.theirs' if data == SECRET else 'user.mine', b'x')


def make_directory_of(path, owner, mode):
    os.mkdir(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)


def check_secret(path):
    """The attacker has changed no file of the victim's."""
    st = os.lstat(path)
    folder = stat.S_ISDIR(st.st_mode)
    check(stat.S_IMODE(st.st_mode) == (0o700 if folder else 0o600),
          '%s: mode %o' % (path, st.st_mode))
    check((st.st_uid, st.st_gid) == (VICTIM, VICTIM), path + ': owner')
    check(os.listxattr(path) == ['user.theirs'], path + ': attributes')
    check(st.st_mtime > OLD, path + ': time')
    check(folder or st.st_nlink < 3, path + ': links')
    if path.endswith('.txt'):
        check(read(path) == SECRET, path + ': content')
        return
    done = subprocess.run([B2FRAME, 'cat', path], check=True,
                          stdout=subprocess.PIPE)
    check(done.stdout == SECRET, path + ': content')


def ask(fd, names, requests):
    """Make requests for files in a directory until the time is over."""
    end = time.monotonic() + SECONDS
    calls = [REQUESTS[name] for name in requests]
    rounds = 0
    while time.monotonic() < end:
        for name in names:
            for call in calls:
                with contextlib.suppress(OSError):
                    call('/proc/self/fd/%d/%s' % (fd, name))
        rounds += 1
    check(rounds > 2, 'only %d rounds' % rounds)


def ask_as(user, *args):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            become(user)
            ask(*args)
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
        os._exit(status)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0,
          'what user %d was given' % user)


def prepare():
    need_users()
    os.chmod('.', 0o755)
    os.makedirs('src', exist_ok=True)
    os.chmod('src', 0o755)


@layouts
def who_owns_a_directory_gets_no_file_in_it(layout):
    """The attacker puts another user's file in the place of the attacker's own
    after the daemon has looked that up."""
    prepare()
    make_directory_of('src/D', ATTACKER, 0o777)
    make_file('src/D/mine', layout, ATTACKER, 0o666, DATA)
    make_file('src/D/theirs', layout, VICTIM, 0o600, SECRET)
    pairs = [('src/D/mine' + kind, 'src/D/theirs' + kind)
             for kind in ('.b2frame', '.txt')]
    requests = [name for name in WANTED if name not in OF_THE_DIRECTORY]
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        with opened(mount / 'D', os.O_RDONLY) as fd, exchanging(pairs):
            ask_as(ATTACKER, fd, ('mine', 'mine.txt'), requests)
    theirs = [name for name in os.listdir('src/D')
              if os.lstat('src/D/' + name).st_uid == VICTIM]
    check(len(theirs) == 2, 'files of the victim: %s' % theirs)
    for name in theirs:
        check_secret('src/D/' + name)


@layouts
def what_a_victim_asks_for_meets_the_file_that_he_means(layout):
    """The attacker exchanges a directory with one that has symbolic links to
    the victim's files elsewhere, or with such a link itself."""
    prepare()
    make_directory_of('src/V', VICTIM, 0o700)
    make_file('src/V/f', layout, VICTIM, 0o600, SECRET)
    make_directory_of('src/D', ATTACKER, 0o777)
    for name in ('d', 'e'):
        make_directory_of('src/D/' + name, ATTACKER, 0o777)
    make_file('src/D/d/f', layout, VICTIM, 0o666, DATA)
    for name in ('f.b2frame', 'f.txt'):
        os.symlink('../../V/' + name, 'src/D/e/' + name)
    os.symlink('../V', 'src/D/s')
    names = sorted(os.listdir('src/V'))
    pairs = [('src/D/d', 'src/D/e'), ('src/D/d', 'src/D/s')]
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        with opened(mount / 'D/d', os.O_RDONLY) as fd, exchanging(pairs):
            ask_as(VICTIM, fd, ('f', 'f.txt'), WANTED)
    check(sorted(os.listdir('src/V')) == names, 'names: %s' % os.listdir('src/V'))
    for name in names:
        check_secret('src/V/' + name)


main(who_owns_a_directory_gets_no_file_in_it,
     what_a_victim_asks_for_meets_the_file_that_he_means)
