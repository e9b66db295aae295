#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount permissions; timeout 600; alone
"""A mount of root's gives every user the access that SOURCE gives, and no more.

usage: mount_permissions.py FRAMEFS [TEST...]

Six users, some of whom share groups, make random calls on files, in a plain
directory tree and in one behind a mount.  Each call has the same result in
both, or fails with the same error.  The trees are the same in the end: kinds,
modes, owners, sizes, links and access control lists.

FRAMEFS_PERMISSION_STEPS (600) sets the number of calls, and
FRAMEFS_PERMISSION_SEED selects them.
"""

import contextlib
import errno
import os
import pickle
import random
import stat

from mounted import (LAYOUTS, Mount, Skipped, check, disk, inside, layouts,
                     main, make_acl, need_users)

STEPS = int(os.environ.get('FRAMEFS_PERMISSION_STEPS', '600'))
SEED = int(os.environ.get('FRAMEFS_PERMISSION_SEED', '1'))
LOOK = 50  # number of calls between two comparisons of the trees

FIRST_ID = 61000
# The groups of each user besides the user's own.
GROUPS = [(100, 101), (100,), (101, 102), (102, 103), (100, 103), ()]
USERS = range(len(GROUPS))
ACCESS = 'system.posix_acl_access'
DEFAULT = 'system.posix_acl_default'
NAMES = ('a', 'b', 'c')

# A call that may fail with this error behind the mount alone.
SPARSE_LINK = ('link', errno.EPERM)


def id_of(user):
    return FIRST_ID + user


def gid_of(group):
    return FIRST_ID + group


def random_acl(choice):
    entries = [(1, choice.randrange(8), None), (4, choice.randrange(8), None),
               (0x10, choice.randrange(8), None),
               (0x20, choice.randrange(8), None)]
    for user in choice.sample(USERS, choice.randrange(1, 3)):
        entries.append((2, choice.randrange(8), id_of(user)))
    for group in choice.sample((100, 101, 102), choice.randrange(2)):
        entries.append((8, choice.randrange(8), gid_of(group)))
    return make_acl(entries)


# The calls that users make.  Each takes the path first.

def look(path):
    st = os.lstat(path)
    return (stat.S_IFMT(st.st_mode), st.st_mode, st.st_uid, st.st_gid,
            st.st_size if stat.S_ISREG(st.st_mode) else 0)


@contextlib.contextmanager
def opened(path, *how):
    """Open a file; without O_NONBLOCK, a fifo would wait for the other end."""
    fd = os.open(path, how[0] | os.O_NONBLOCK, *how[1:])
    try:
        yield fd
    finally:
        os.close(fd)


def read_file(path):
    with opened(path, os.O_RDONLY) as fd:
        return os.read(fd, 100)


def append(path):
    with opened(path, os.O_WRONLY | os.O_APPEND) as fd:
        os.write(fd, b'more ')


def overwrite(path):
    with opened(path, os.O_RDWR) as fd:
        os.pwrite(fd, b'X', 0)


def create(path, mode, umask, flags):
    os.umask(umask)
    with opened(path, os.O_CREAT | os.O_RDWR | flags, mode) as fd:
        os.write(fd, b'#!/bin/true\n')


def create_node(path, mode, umask):
    os.umask(umask)
    os.mknod(path, mode)


def make_directory(path, mode, umask):
    os.umask(umask)
    os.mkdir(path, mode)


def execute(path):
    child = os.fork()
    if child == 0:
        try:
            os.execv(path, [path])
        except OSError as error:
            os._exit(error.errno)
        os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_attribute(path, name):
    return os.getxattr(path, name, follow_symlinks=False)


def attributes(path):
    return sorted(os.listxattr(path, follow_symlinks=False))


CALLS = {call.__name__: call for call in (
    look, read_file, append, overwrite, create, create_node, make_directory,
    execute, read_attribute, attributes)}
CALLS.update({
    'truncate': os.truncate,
    'chmod': os.chmod,
    'chown': lambda path, uid, gid: os.chown(path, uid, gid,
                                             follow_symlinks=False),
    'touch': os.utime,
    'utime': lambda path: os.utime(path, (1, 2)),
    'setxattr': lambda path, name, value: os.setxattr(
        path, name, value, follow_symlinks=False),
    'removexattr': lambda path, name: os.removexattr(
        path, name, follow_symlinks=False),
    'access': os.access,
    'list': lambda path: sorted(os.listdir(path)),
    'unlink': os.unlink,
    'rmdir': os.rmdir,
    'symlink': lambda path, to: os.symlink(to, path),
    'readlink': os.readlink,
    'statvfs': lambda path: os.statvfs(path).f_bsize and None,
})
PAIRS = {
    'link': lambda path, other: os.link(path, other, follow_symlinks=False),
    'rename': os.rename,
}


def do(top, name, path, *args):
    """Make a call on a path below a directory.  Return its result or its
    error."""
    try:
        if name in PAIRS:
            return PAIRS[name](top + path, top + args[0])
        return CALLS[name](top + path, *args)
    except OSError as error:
        return ('errno', error.errno)


class User:
    """A process that makes calls on behalf of a user."""

    def __init__(self, user):
        orders, self.orders = os.pipe()
        self.replies, replies = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            for fd in range(3, 256):  # pipes of other users, too
                if fd not in (orders, replies):
                    with contextlib.suppress(OSError):
                        os.close(fd)
            os.setgroups([gid_of(group) for group in GROUPS[user]])
            os.setresgid(id_of(user), id_of(user), id_of(user))
            os.setresuid(id_of(user), id_of(user), id_of(user))
            with os.fdopen(orders, 'rb') as source, \
                    os.fdopen(replies, 'wb') as sink:
                with contextlib.suppress(EOFError):
                    while True:
                        pickle.dump(do(*pickle.load(source)), sink)
                        sink.flush()
            os._exit(0)
        os.close(orders)
        os.close(replies)
        self.source = os.fdopen(self.replies, 'rb')
        self.sink = os.fdopen(self.orders, 'wb')

    def __call__(self, *order):
        pickle.dump(order, self.sink)
        self.sink.flush()
        return pickle.load(self.source)

    def close(self):
        self.sink.close()
        self.source.close()
        os.waitpid(self.child, 0)


@contextlib.contextmanager
def all_users():
    users = []
    try:
        for user in USERS:
            users.append(User(user))
        yield users
    finally:
        for user in users:
            user.close()


def random_path(choice):
    return '/'.join([''] + [choice.choice(NAMES)
                            for _ in range(choice.choice((1, 2, 2, 2, 3)))])


def random_mode(choice):
    mode = choice.choice((0o600, 0o640, 0o644, 0o660, 0o666, 0o700, 0o750,
                          0o755, 0o770, 0o777, choice.randrange(0o1000)))
    return mode | choice.choice((0, 0, 0, 0, 0o1000, 0o2000, 0o4000))


def random_call(choice):
    """Return a random call, as the arguments of do() that follow the
    directory."""
    path = random_path(choice)
    umask = choice.choice((0o022, 0o027, 0o077, 0o002, 0))
    name = choice.choice(sorted(CALLS) + ['create'] * 5 + sorted(PAIRS) * 3 +
                         ['chmod'] * 3 + ['make_directory'] * 2 +
                         ['setxattr'] * 3 + ['overwrite', 'append'])
    args = {
        'create': lambda: (random_mode(choice), umask,
                           choice.choice((0, os.O_EXCL, os.O_TRUNC))),
        'create_node': lambda: (
            choice.choice((stat.S_IFIFO, stat.S_IFREG, stat.S_IFSOCK,
                           stat.S_IFBLK)) | random_mode(choice), umask),
        'make_directory': lambda: (random_mode(choice), umask),
        'truncate': lambda: (choice.randrange(20),),
        'chmod': lambda: (random_mode(choice),),
        # The two ids are never both -1, because the kernel does not pass that
        # on.
        'chown': lambda: (
            choice.choice([-1, -1] + [id_of(user) for user in USERS]),
            choice.choice([gid_of(group) for group in (100, 101, 102)] +
                          [id_of(user) for user in USERS])),
        'access': lambda: (choice.randrange(8),),
        'setxattr': lambda: choice.choice((
            ('user.colour', b'green'), ('trusted.colour', b'red'),
            (ACCESS, random_acl(choice)), (DEFAULT, random_acl(choice)))),
        'removexattr': lambda: (choice.choice(('user.colour', ACCESS,
                                               DEFAULT)),),
        'read_attribute': lambda: (choice.choice(('user.colour',
                                                  'trusted.colour', ACCESS,
                                                  DEFAULT)),),
        'symlink': lambda: (choice.choice(NAMES),),
        'link': lambda: (random_path(choice),),
        'rename': lambda: (random_path(choice),),
    }.get(name, lambda: ())()
    return (name, path, *args)


def describe(path):
    """Return all that must be equal about a file."""
    st = os.lstat(path)
    lists = []
    for name in (ACCESS, DEFAULT):
        try:
            lists.append(os.getxattr(path, name, follow_symlinks=False))
        except OSError as error:
            lists.append(error.errno)
    is_file = stat.S_ISREG(st.st_mode)
    return (oct(st.st_mode), st.st_uid, st.st_gid,
            st.st_nlink if is_file else 0, st.st_size if is_file else 0, lists)


def survey(top):
    found = {}
    for parent, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(parent, name)
            found[path[len(top):]] = describe(path)
    return found


def describe_all(top, order):
    """Describe the files that a call uses, and the directories above them."""
    text = ''
    for path in [name for name in order[1:3] if str(name).startswith('/')]:
        while path:
            if os.path.lexists(top + path):
                text += '%s: %s; ' % (path, describe(top + path))
            path = os.path.dirname(path).rstrip('/')
    return text


def compare(one, other, when):
    a, b = survey(one), survey(other)
    for path in sorted(set(a) | set(b)):
        check(a.get(path) == b.get(path), '%s: %s is %s, behind the mount %s' %
              (when, path, a.get(path), b.get(path)))


def make_roots(choice, *tops):
    """Make directories of users in each tree, and let all users write to its
    top."""
    for name in NAMES:
        mode = choice.choice((0o777, 0o1777, 0o2777, 0o775))
        owner = id_of(choice.choice(USERS))
        group = gid_of(choice.choice((100, 101, 102)))
        acl = random_acl(choice) if choice.random() < 0.4 else None
        for top in tops:
            os.mkdir(top + '/' + name)
            os.chown(top + '/' + name, owner, group)
            os.chmod(top + '/' + name, mode)
            if acl:
                os.setxattr(top + '/' + name, DEFAULT, acl)
    for top in tops:
        os.chmod(top, 0o1777)


def open_up(choice, one, other):
    """Grant access to files and directories that users have locked themselves
    out of, and replace directories that they have removed."""
    for path, what in survey(one).items():
        if choice.random() < 0.3 and not stat.S_ISLNK(int(what[0], 8)):
            folder = stat.S_ISDIR(int(what[0], 8))
            for top in (one, other):
                with contextlib.suppress(OSError):
                    os.removexattr(top + path, ACCESS)
                os.chmod(top + path, 0o777 if folder else 0o666)
    for name in NAMES:
        if not os.path.lexists(one + '/' + name):
            for top in (one, other):
                os.mkdir(top + '/' + name)
                os.chmod(top + '/' + name, 0o1777)


def is_error(result):
    return isinstance(result, tuple) and result[:1] == ('errno',)


def is_allowed(order, plain, behind, layout):
    if plain == behind:
        return True
    return layout == 'sparse' and order[0] == 'link' and \
        behind == ('errno', errno.EPERM)


def undo(order, plain):
    """Undo a call that succeeds only without the mount."""
    if order[0] == 'link' and plain is None:
        os.unlink('plain' + order[2])


def need_lists(path):
    """Skip the test where the file system has no access control lists."""
    try:
        os.setxattr(path, ACCESS, make_acl([(1, 7, None), (2, 7, FIRST_ID),
                                            (4, 5, None), (0x10, 7, None),
                                            (0x20, 5, None)]))
        os.removexattr(path, ACCESS)
    except OSError:
        raise Skipped('no access control lists here') from None


def run(layout, seed):
    need_users()
    choice = random.Random(seed)
    done = 0
    for name in ('.', '..', '../..'):  # as far as they are ours
        if 'framefs-test-' in os.path.realpath(name):
            os.chmod(name, 0o755)
    os.mkdir('plain')
    need_lists('plain')
    os.chmod('src', 0o755)
    with Mount('src', 'mnt', '-o', 'allow_other,layout=' + layout) as mount:
        here = os.path.realpath('.')
        make_roots(choice, 'plain', 'mnt')
        compare('plain', mount.path, 'at first')
        with all_users() as users:
            for step in range(STEPS):
                order = random_call(choice)
                user = choice.randrange(len(users))
                plain = users[user](here + '/plain', *order)
                behind = users[user](here + '/mnt', *order)
                what = 'seed %d, step %d, user %d: %s' % (seed, step, user,
                                                          order)
                check(is_allowed(order, plain, behind, layout),
                      '%s: %s, behind the mount %s\n%s\n%s\n%s' %
                      (what, plain, behind, describe_all('plain', order),
                       describe_all(mount.path, order), mount.log()))
                done += not is_error(plain)
                if plain != behind:
                    undo(order, plain)
                if step % LOOK == LOOK - 1:
                    compare('plain', mount.path, what)
                    open_up(choice, 'plain', mount.path)
        check(done > STEPS // 10, 'only %d of %d calls succeed' % (done, STEPS))


@layouts
def users_get_what_they_get_without_a_mount(layout):
    run(layout, SEED)


@contextlib.contextmanager
def image(kind):
    """Make a file system of this kind, and work in it."""
    with disk('disk', '320M', kind), inside('disk'):
        os.mkdir('src')
        os.mkdir('mnt')
        yield


def run_on(kind):
    for layout in LAYOUTS:
        with image(kind):
            run(layout, SEED + 1)


def on_ext4():
    run_on('ext4')


def on_xfs():
    run_on('xfs')


main(users_get_what_they_get_without_a_mount,
     on_ext4,
     on_xfs)
