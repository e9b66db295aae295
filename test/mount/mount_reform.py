#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount reform; timeout 600
"""Files that do not pay as frames become plain files once they are closed.

usage: mount_reform.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import glob
import mmap
import os
import random
import stat
import threading
import traceback

from mounted import (FRAMEFS, Mount, act_until, as_user, check, check_content,
                     check_sound, error_of, frame, harness, is_root, layouts,
                     main, make_acl, need_root, need_users, opened, read, tmpfs,
                     wait_for, write)

SMALL = b'small\n' * 100
LARGE = b'compressible\n' * 20000
RANDOM = random.Random(1).randbytes(3 << 20)


def mounted(words='below=64K', layout='contiguous', *more):
    return Mount('src', 'mnt', '-o', ','.join(
        ('plain=' + words, 'chunksize=64K', 'layout=' + layout, *more)))


def is_plain(name):
    return not os.path.exists('src/%s.b2frame' % name) and \
        os.path.isfile('src/' + name)


def is_frame(name):
    return os.path.exists('src/%s.b2frame' % name) and \
        not os.path.exists('src/' + name)


def await_plain(name):
    wait_for(lambda: is_plain(name), name + ' to become plain')


def await_frame(name):
    wait_for(lambda: is_frame(name), name + ' to become a frame')


def check_nothing_left():
    """No temporary file is left under SOURCE."""
    wait_for(lambda: not glob.glob('src/**/.framefs-tmp.*', recursive=True,
                                   include_hidden=True), 'the end of a draft')


@layouts
def small_files_become_plain(layout):
    with mounted('below=64K', layout) as mount:
        write(mount / 'a', SMALL)
        write(mount / 'b', LARGE)
        write(mount / 'empty', b'')
        await_plain('a')
        await_plain('empty')
        for _ in range(2):
            check(read(mount / 'a') == SMALL, 'content')
        check(sorted(os.listdir(mount.path)) == ['a', 'b', 'empty'], 'names')
        check(os.listxattr(mount / 'a') == [], 'attributes show')
        check(error_of(os.getxattr, mount / 'a', 'user.framefs.plain') ==
              errno.ENODATA, 'the mark shows')
        check(read(mount / 'b') == LARGE, 'content of the frame')
        check_nothing_left()
    check(read('src/a') == SMALL, 'content under SOURCE')
    check(is_frame('b'), 'the large one is no frame')
    check_content('src/b.b2frame', LARGE)


@layouts
def files_that_do_not_shrink_become_plain(layout):
    with mounted('incompressible', layout) as mount:
        write(mount / 'a', RANDOM)
        write(mount / 'b', LARGE)
        with open(mount / 'holes', 'wb') as file:
            file.truncate(8 << 20)
            file.seek(4 << 20)
            file.write(RANDOM[:1000])
        await_plain('a')
        check(read(mount / 'a') == RANDOM, 'content')
    check(is_frame('b') and is_frame('holes'), 'a frame that pays is none')


def dead_space_does_not_count():
    os.mkdir('src')
    with mounted('incompressible') as mount:
        write(mount / 'a', LARGE[:120 << 10])
        with open(mount / 'a', 'r+b', buffering=0) as file:
            for i in range(20):
                file.write(bytes([i]) + LARGE[:60 << 10])
                os.fsync(file.fileno())
                file.seek(0)
    check(is_frame('a'), 'is no frame')


def both_rules_and_suffixes_go_together():
    os.mkdir('src')
    with mounted('jpg:below=1000:.tar.gz:incompressible') as mount:
        for name, data in (('x.JPG', LARGE), ('x.tar.gz', LARGE), ('s', b'12'),
                           ('r', RANDOM), ('l', LARGE)):
            write(mount / name, data)
    check(sorted(os.listdir('src')) == ['l.b2frame', 'r', 's', 'x.JPG',
                                        'x.tar.gz'], str(os.listdir('src')))


def wrong_words_are_refused():
    os.mkdir('src')
    for words, said in (('below=', 'below=SIZE'), ('below=0', 'below=SIZE'),
                        ('below=12X', 'below=SIZE'), ('a=b', 'suffixes'),
                        ('', 'suffixes'), ('below=1K:', 'suffixes'),
                        ('below=1K,lock', 'without lock'),
                        ('incompressible,names=keep', 'without names=keep')):
        done = harness.run(FRAMEFS, '-f', '-o',
                           'plain=' + words, 'src', 'mnt')
        check(done.returncode != 0 and said in done.stderr.decode(),
              '%s: %s' % (words, done.stderr.decode()))


@layouts
def attributes_are_kept(layout):
    acl = make_acl([(1, 6, None), (2, 4, 4711), (4, 4, None), (16, 4, None),
                    (32, 0, None)])
    with mounted('below=64K', layout) as mount:
        path = mount / 'a'
        with open(path, 'wb') as file:
            file.write(SMALL)
            with contextlib.suppress(OSError):
                os.setxattr(path, 'user.colour', b'red')
                os.setxattr(path, 'system.posix_acl_access', acl)
            os.fchmod(file.fileno(), 0o640)
            if is_root():
                os.fchown(file.fileno(), 4711, 4712)
        os.utime(path, ns=(10**18 + 7, 10**18 + 123456789))
        before = os.stat(path)
        attributes = {name: os.getxattr(path, name)
                      for name in os.listxattr(path)}
        await_plain('a')
        after = os.stat('src/a')
        for name in ('st_mode', 'st_uid', 'st_gid', 'st_size', 'st_mtime_ns',
                     'st_atime_ns'):
            check(getattr(before, name) == getattr(after, name), name)
        check(attributes == {name: os.getxattr(path, name)
                             for name in os.listxattr(path)}, 'attributes')
        # The same the other way.
        with open(path, 'r+b') as file:
            file.write(LARGE)
        os.utime(path, ns=(10**18 + 7, 10**18 + 123456789))
        await_frame('a')
        after = os.stat(path)
        for name in ('st_mode', 'st_uid', 'st_gid', 'st_mtime_ns'):
            check(getattr(before, name) == getattr(after, name),
                  name + ' of the frame')
        check(attributes == {name: os.getxattr(path, name)
                             for name in os.listxattr(path)},
              'attributes of the frame')
        check(read(path) == LARGE, 'content')


@layouts
def plain_file_that_grows_becomes_a_frame(layout):
    with mounted('below=64K', layout) as mount:
        write(mount / 'a', SMALL)
        await_plain('a')
        with open(mount / 'a', 'ab') as file:
            file.write(LARGE)
        await_frame('a')
        check(read(mount / 'a') == SMALL + LARGE, 'content')
        write(mount / 'a', SMALL)
        await_plain('a')
        check(read(mount / 'a') == SMALL, 'content of the smaller one')
        check_nothing_left()


@layouts
def plain_file_that_shrinks_becomes_a_frame(layout):
    with mounted('incompressible', layout) as mount:
        write(mount / 'a', RANDOM)
        await_plain('a')
        write(mount / 'a', RANDOM[::-1])
        with open(mount / 'b', 'wb') as file:
            file.write(RANDOM)
        await_plain('b')
        check(is_plain('a'), 'is a frame without need')
        write(mount / 'a', LARGE * 10)
        await_frame('a')
        check(read(mount / 'a') == LARGE * 10, 'content')
    check_sound('src/a.b2frame')


@layouts
def file_that_is_truncated_by_its_name_changes_its_form(layout):
    with mounted('below=3000', layout) as mount:
        for i in range(10):
            path = mount / str(i)
            write(path, SMALL)
            await_plain(str(i))
            os.truncate(path, 3500)
            check(read(path) == SMALL + bytes(3500 - len(SMALL)), 'larger')
            await_frame(str(i))
            os.truncate(path, 100)
            check(read(path) == SMALL[:100], 'smaller')
        await_plain('9')
        check_nothing_left()


def plain_files_of_users_stay_plain():
    os.mkdir('src')
    write('src/a', SMALL)
    with mounted() as mount:
        with open(mount / 'a', 'r+b') as file:
            file.write(LARGE)
        write(mount / 'b', SMALL)
        await_plain('b')
    check(is_plain('a') and read('src/a') == LARGE, 'is no plain file')


def frames_and_stores_stay_files():
    """A plain file must not be taken for a frame or a store."""
    os.mkdir('src')
    inner = frame(RANDOM, 4096)
    with mounted('below=64K:incompressible') as mount:
        for name in ('x.b2frame', 'x.b2nd', 'x.b2z', 'x.b2e'):
            write(mount / name, inner)
        write(mount / 'meta', RANDOM)
        os.setxattr(mount / 'meta', 'user.b2frame.vlmeta.v', b'kept')
        write(mount / 'last', SMALL)
        await_plain('last')
        for name in ('x.b2frame', 'x.b2nd', 'x.b2z', 'x.b2e'):
            check(read(mount / name) == inner, name)
        check(os.getxattr(mount / 'meta', 'user.b2frame.vlmeta.v') == b'kept',
              'metalayer')
    check(is_frame('meta'), 'a frame with a metalayer is none')


def file_with_two_names_stays_a_frame():
    os.mkdir('src')
    with mounted() as mount:
        with open(mount / 'a', 'wb') as file:
            file.write(SMALL)
            file.flush()
            os.link(mount / 'a', mount / 'b')
        write(mount / 'c', SMALL)
        await_plain('c')
        check(os.stat(mount / 'a').st_nlink == 2, 'names')
        check(read(mount / 'b') == SMALL, 'content')
    check(is_frame('a') and is_frame('b'), 'is no frame')


def open_file_waits_until_it_is_closed():
    os.mkdir('src')
    with mounted() as mount:
        write(mount / 'a', SMALL)
        with opened(mount / 'a', os.O_RDONLY) as fd:
            write(mount / 'b', SMALL)
            await_plain('b')
            check(is_frame('a'), 'is plain while it is open')
            check(os.pread(fd, 9, 0) == SMALL[:9], 'content')
        await_plain('a')
        # A mapping keeps a file open.
        write(mount / 'm', SMALL)
        with opened(mount / 'm', os.O_RDWR) as fd:
            mapping = mmap.mmap(fd, len(SMALL))
        write(mount / 'n', SMALL)
        await_plain('n')
        check(is_frame('m'), 'is plain while it is mapped')
        mapping[:3] = b'new'
        mapping.close()
        await_plain('m')
        check(read('src/m') == b'new' + SMALL[3:], 'mapped bytes')


def file_is_found_by_what_a_program_knows_of_it():
    """Descriptors of directories, and names that the kernel knows."""
    os.makedirs('src/d')
    with Mount('src', 'mnt', '-o', 'plain=below=64K,entry_timeout=3600,'
               'attr_timeout=3600') as mount:
        fd = os.open(mount / 'd', os.O_RDONLY)
        write(mount / 'd/a', SMALL)
        os.stat('a', dir_fd=fd)
        await_plain('d/a')
        with open(os.open('a', os.O_RDONLY, dir_fd=fd), 'rb') as file:
            check(file.read() == SMALL, 'content')
        write(mount / 'd/b', SMALL)
        await_plain('d/b')
        os.chmod(mount / 'd/b', 0o600)
        check(stat.S_IMODE(os.stat('src/d/b').st_mode) == 0o600, 'mode')
        write(mount / 'd/c', SMALL)
        await_plain('d/c')
        os.rename(mount / 'd/c', mount / 'c')
        check(read('src/c') == SMALL, 'renamed')
        write(mount / 'd/e', SMALL)
        await_plain('d/e')
        os.truncate(mount / 'd/e', 10)
        check(read('src/d/e') == SMALL[:10], 'truncated')
        write(mount / 'd/f', SMALL)
        await_plain('d/f')
        os.unlink(mount / 'd/f')
        check(not os.path.exists('src/d/f'), 'removed')
        os.close(fd)


@layouts
def nothing_is_lost_when_files_are_used_meanwhile(layout):
    """Threads write, append, rename and remove files that change their form all
    the time."""
    contents = (SMALL, LARGE, RANDOM[:300 << 10], b'')
    with mounted('below=4K:incompressible', layout) as mount:
        failures = []

        def work(number):
            rng = random.Random(number)
            known = {}
            for step in range(60):
                name = '%d-%d' % (number, rng.randrange(4))
                path = mount / name
                data = rng.choice(contents)
                action = rng.randrange(6)
                if action == 0 and name in known:
                    with open(path, 'ab') as file:
                        file.write(data)
                    known[name] += data
                elif action == 1 and name in known:
                    os.rename(path, path + '.r')
                    os.rename(path + '.r', path)
                elif action == 2 and name in known:
                    os.unlink(path)
                    del known[name]
                elif action == 3:
                    write(path + '.new', data)
                    os.rename(path + '.new', path)
                    known[name] = data
                else:
                    write(path, data)
                    known[name] = data
                if name in known and read(path) != known[name]:
                    failures.append('%s: step %d' % (name, step))
                if name in known and step % 7 == 0:
                    wait_for(lambda: error_of(os.stat, path) == 0, name)
            results[number] = known

        def guarded(number):
            try:
                work(number)
            except BaseException:  # pylint: disable=broad-except
                failures.append('%d: %s' % (number, traceback.format_exc()))

        results = {}
        threads = [threading.Thread(target=guarded, args=(i,))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failures, '\n'.join(failures[:5]) + mount.log())
        wanted = {name: data for known in results.values()
                  for name, data in known.items()}
        # Files that were closed last may still be changing their form.
        wait_for(lambda: set(os.listdir(mount.path)) == set(wanted), 'names')
    with Mount('src', 'mnt') as mount:
        for name, data in wanted.items():
            check(read(mount / name) == data, name)
        check(set(os.listdir(mount.path)) == set(wanted), 'names, mounted again')
    check_nothing_left()


@layouts
def other_mount_that_writes_keeps_the_frame(layout):
    os.mkdir('other')
    with mounted('below=64K', layout) as one, \
            Mount('src', 'other', '-o', 'chunksize=64K') as two:
        with open(one / 'a', 'wb') as file:
            file.write(SMALL)
            file.flush()
            os.fsync(file.fileno())
            fd = os.open(two / 'a', os.O_RDWR)
        write(one / 'b', SMALL)
        await_plain('b')
        check(is_frame('a'), 'is no frame')
        os.pwrite(fd, b'other', 0)
        os.fsync(fd)
        os.close(fd)
        wait_for(lambda: read(one / 'a') == b'other' + SMALL[5:], 'the content')
        # What the other mount knows of a file is found in its new form.
        write(one / 'c', SMALL)
        os.stat(two / 'c')
        await_plain('c')
        check(read(two / 'c') == SMALL, 'content of the other')
        with open(two / 'c', 'ab') as file:
            file.write(b'more')
        check(read(one / 'c') == SMALL + b'more', 'what the other has written')
    check(read('src/c') == SMALL + b'more', 'content under SOURCE')


def other_mount_that_has_a_plain_file_open_keeps_it():
    os.mkdir('src')
    os.mkdir('other')
    with mounted() as one, Mount('src', 'other') as two:
        write(one / 'a', SMALL)
        await_plain('a')
        fd = os.open(two / 'a', os.O_RDWR)
        write(one / 'a', LARGE)
        write(one / 'b', SMALL)
        await_plain('b')
        check(is_plain('a'), 'is a frame')
        os.pwrite(fd, b'other', 0)
        os.fsync(fd)
        os.close(fd)
        wait_for(lambda: read(one / 'a') == b'other' + LARGE[5:], 'the bytes')


def seen(path, content):
    """Does a program that opens a file by this path see this content?  It may
    not find the file for a moment."""
    try:
        return read(path) == content
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        return False


def append(path, content, more):
    """Append bytes by a mount that has not written the file."""
    def is_appended():
        try:
            with opened(path, os.O_RDWR) as fd:
                if os.pread(fd, 1 << 20, 0) != content:
                    return False
                os.pwrite(fd, more, len(content))
                os.fsync(fd)
                return True
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.ESTALE):
                raise
            return False

    wait_for(is_appended, 'the other mount to see ' + path)


@layouts
def two_mounts_that_change_the_form_lose_nothing(layout):
    """One mount overwrites a file, and another one, to which the same rules
    apply, appends to it at once or while its form changes."""
    os.mkdir('other')
    words = 'below=3000:incompressible'
    with mounted(words, layout) as one, \
            Mount('src', 'other', '-o', 'chunksize=64K,plain=%s,layout=%s' %
                  (words, layout)) as two:
        failures = []

        def work(number, mine, other):
            rng = random.Random(number)
            try:
                for step in range(15):
                    name = '%d-%d' % (number, step % 4)
                    size = rng.choice((0, 10, 2999, 3000, 40000))
                    data = rng.choice((rng.randbytes(size), b'z' * size))
                    more = b'm' * rng.choice((1, 100, 4000))
                    write(mine / name, data)
                    append(other / name, data, more)
                    wait_for(lambda: seen(mine / name, data + more),
                             '%s in step %d' % (name, step))
            except BaseException as error:  # pylint: disable=broad-except
                failures.append('%d: %r' % (number, error))

        threads = [threading.Thread(target=work, args=args) for args in
                   ((0, one, two), (1, two, one), (2, one, two), (3, two, one))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not failures, '%s %s%s' % (failures, one.log(), two.log()))


@layouts
def full_disk_leaves_the_frame(layout):
    data = RANDOM[:2 << 20]
    with tmpfs('src', '6M'), mounted('incompressible', layout) as mount:
        write(mount / 'a', data)
        os.sync()
        # There is no space for a second copy.  One that is being made, and does
        # not fit, may take all space for a moment.
        wait_for(lambda: error_of(write, mount / 'fill',
                                  RANDOM[:2700 << 10]) == 0, 'space')
        act_until(lambda: error_of(write, mount / 'b', RANDOM[:100]),
                  lambda: is_plain('b'), 'b to become plain')
        check(read(mount / 'a') == data, 'content')
        os.unlink(mount / 'fill')
        with open(mount / 'a', 'r+b') as file:
            file.write(b'again')
        await_plain('a')
        check(read('src/a') == b'again' + data[5:], 'content, plain')
        check(mount.log() == '', 'says ' + mount.log())


def owner_needs_no_rights():
    """A mount of root's serves users whose files change their form."""
    need_users()
    need_root('serve other users')
    os.mkdir('src')
    os.chmod('src', 0o777)
    os.chmod('.', 0o755)
    with mounted('below=64K', 'contiguous', 'allow_other') as mount:
        check(as_user(4711, write, mount / 'a', SMALL) == 0, 'cannot write')
        await_plain('a')
        st = os.stat('src/a')
        check((st.st_uid, st.st_gid) == (4711, 4711), 'owner')
        check(as_user(4711, write, mount / 'a', LARGE) == 0, 'cannot overwrite')
        await_frame('a')
        st = os.stat('src/a.b2frame')
        check((st.st_uid, st.st_gid) == (4711, 4711), 'owner of the frame')


main(small_files_become_plain,
     files_that_do_not_shrink_become_plain,
     dead_space_does_not_count,
     both_rules_and_suffixes_go_together,
     wrong_words_are_refused,
     attributes_are_kept,
     plain_file_that_grows_becomes_a_frame,
     plain_file_that_shrinks_becomes_a_frame,
     file_that_is_truncated_by_its_name_changes_its_form,
     plain_files_of_users_stay_plain,
     frames_and_stores_stay_files,
     file_with_two_names_stays_a_frame,
     open_file_waits_until_it_is_closed,
     file_is_found_by_what_a_program_knows_of_it,
     nothing_is_lost_when_files_are_used_meanwhile,
     other_mount_that_writes_keeps_the_frame,
     other_mount_that_has_a_plain_file_open_keeps_it,
     two_mounts_that_change_the_form_lose_nothing,
     full_disk_leaves_the_frame,
     owner_needs_no_rights)
