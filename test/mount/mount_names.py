#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount names
"""Entries show under the right names, the same in lookups and listings.

usage: mount_names.py FRAMEFS [TEST...]

FRAMEFS_NAMES_RENAMES (300) sets the number of random renames in each mode,
FRAMEFS_NAMES_SEED (a new one) their order.
"""

import ctypes
import errno
import os
import random
import struct

from mounted import (Mount, check, error_of, frame, main, read, wait_for, write,
                     write_sparse)

RENAMES = int(os.environ.get('FRAMEFS_NAMES_RENAMES', '300'))
SEED = int(os.environ.get('FRAMEFS_NAMES_SEED', random.randrange(10**6)))
NOREPLACE, EXCHANGE = 1, 2

OTHER = b'no frame'


def content(name):
    """Return the content of the frame with this name."""
    return b'content of ' + name.encode()


def make(*names):
    """Make a directory `src` of frames.  A name that ends in '/' is a sparse
    frame, one that ends in '!' a file that is no frame."""
    os.mkdir('src')
    for name in names:
        bare = name.rstrip('!/')
        if name.endswith('!'):
            write('src/' + bare, OTHER)
        elif name.endswith('/'):
            write_sparse('src/' + bare, content(bare))
        else:
            write('src/' + name, frame(content(name), 4096))


def expect(shown, *options):
    """The mount of `src` shows exactly these names, with the content of these
    frames, or of a file that is no frame if the value is None."""
    with Mount('src', 'mnt', *options) as mount:
        listed = sorted(os.listdir(mount.path))
        check(listed == sorted(shown), 'lists %s' % listed)
        check(sorted(e.name for e in os.scandir(mount.path) if
                     e.is_file(follow_symlinks=False)) == sorted(shown),
              'types differ')
        for name, stored in shown.items():
            right = content(stored) if stored else OTHER
            check(read(mount / name) == right, name + ' has other content')
            check(os.stat(mount / name).st_ino ==
                  os.stat('src/' + (stored or name)).st_ino, name + ': inode')
        longest = os.statvfs(mount.path).f_namemax
        for name in set(os.listdir('src')) - set(shown):
            absent = errno.ENOENT
            if len(name) > longest:
                absent = errno.ENAMETOOLONG
            check(error_of(os.stat, mount / name) == absent,
                  name + ' is there but not listed')


def suffixes_are_dropped():
    make('a.b2frame', 'b.b2f', 'c.b2', 'd.b2nd', 'run7.f64.b2frame',
         'e.b2frame/', 'f.b2eframe/', 'g/')
    expect({'a': 'a.b2frame', 'b': 'b.b2f', 'c': 'c.b2', 'd': 'd.b2nd',
            'run7.f64': 'run7.f64.b2frame', 'e': 'e.b2frame',
            'f': 'f.b2eframe', 'g': 'g'})


def other_files_keep_their_names():
    make('a.b2frame!', 'b!', 'c.b2eframe!', 'x.txt!')
    expect({'a.b2frame': None, 'b': None, 'c.b2eframe': None, 'x.txt': None})


def file_goes_before_a_frame():
    make('a!', 'a.b2frame', 'b!', 'b.b2frame', 'b.b2')
    expect({'a': None, 'a.b2frame': 'a.b2frame', 'b': None,
            'b.b2frame': 'b.b2frame', 'b.b2': 'b.b2'})


def frames_that_want_one_name_follow_an_order():
    make('a.b2eframe/', 'a.b2nd', 'a.b2', 'a.b2f', 'a.b2frame', 'b.b2nd',
         'b.b2f/')
    expect({'a': 'a.b2frame', 'a.b2f': 'a.b2f', 'a.b2': 'a.b2',
            'a.b2nd': 'a.b2nd', 'a.b2eframe': 'a.b2eframe',
            'b': 'b.b2f', 'b.b2nd': 'b.b2nd'})


def name_that_is_given_up_can_be_taken():
    make('a.b2frame', 'a.b2frame.b2frame', 'b.b2.b2', 'b.b2', 'b!')
    expect({'a': 'a.b2frame', 'a.b2frame': 'a.b2frame.b2frame',
            'b': None, 'b.b2': 'b.b2', 'b.b2.b2': 'b.b2.b2'})


def frame_replaces_a_file_only_where_it_then_shows():
    make('a!', 'a.b2frame', 'b!', 'b.b2nd', 'c!', 'c.b2f', 'x.b2frame')
    os.mkdir('src/d')
    write('src/d/a.b2frame', frame(b'other', 4096))
    with Mount('src', 'mnt') as mount:
        for path in 'x', 'd/a':
            check(error_of(os.rename, mount / path, mount / 'a') ==
                  errno.EEXIST, path + ' replaces a')
        os.rename(mount / 'x', mount / 'b')
        os.rename(mount / 'c.b2f', mount / 'c')
        for name, data in (('a', OTHER), ('b', content('x.b2frame')),
                           ('b.b2nd', content('b.b2nd')),
                           ('c', content('c.b2f'))):
            check(read(mount / name) == data, name + ' has other content')
        check(sorted(os.listdir(mount.path)) ==
              ['a', 'a.b2frame', 'b', 'b.b2nd', 'c', 'd'], 'names')


def suffix_alone_is_a_name():
    make('.b2frame', '..b2frame', '...b2', '.x.b2')
    expect({'.b2frame': '.b2frame', '..b2frame': '..b2frame',
            '...b2': '...b2', '.x': '.x.b2'})


def lock_files_and_temporaries_do_not_show():
    make('a.b2frame', '.b2lock!', '.framefs-tmp.1.2!', '.framefs-tmp.x!',
         '.framefs-tmp.y.b2frame', 'x.b2lock.b2frame')
    write('src/a.b2frame.b2lock', bytes(16))
    expect({'a': 'a.b2frame', '.b2lock': None, '.framefs-tmp.x': None,
            '.framefs-tmp.y': '.framefs-tmp.y.b2frame',
            'x.b2lock': 'x.b2lock.b2frame'})


def names_are_kept_if_asked():
    make('a.b2frame', 'a!', 'b.b2', 'c.b2frame/')
    write('src/a.b2frame.b2lock', bytes(16))
    expect({'a.b2frame': 'a.b2frame', 'a': None, 'b.b2': 'b.b2',
            'c.b2frame': 'c.b2frame'}, '-o', 'names=keep')


def longest_names_show():
    make('x' * 247 + '.b2frame', 'y' * 255 + '!', 'z' * 252 + '.b2')
    expect({'x' * 247: 'x' * 247 + '.b2frame', 'y' * 255: None,
            'z' * 252: 'z' * 252 + '.b2'})
    with Mount('src', 'mnt') as mount:
        check(error_of(os.stat, mount / ('x' * 256)) == errno.ENAMETOOLONG,
              'a name of 256 bytes')
        check(os.statvfs(mount.path).f_namemax ==
              os.statvfs('src').f_namemax - len('.b2frame'), 'f_namemax')
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        check(os.statvfs(mount.path).f_namemax ==
              os.statvfs('src').f_namemax, 'f_namemax with names=keep')


def renameat2(path, to, flags):
    """Rename with flags, as renameat2(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(path), -100, os.fsencode(to), flags):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def npy(items):
    """Return a .npy file of these bytes."""
    text = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % \
        len(items)
    text += b' ' * (-(11 + len(text)) % 64) + b'\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) + text + items


def frames_get_the_name_that_was_asked_for():
    make('x.b2frame', 'p.b2f', 'p.b2frame', 'both.b2f', 'both.b2frame', 'r!',
         's.b2f', 't.b2frame', 'u.b2f', 'u.b2frame/',
         'w!', 'w.b2frame.b2frame')
    os.mkdir('src/d')
    write('src/d/x.b2frame', frame(content('d'), 4096))
    with Mount('src', 'mnt') as mount:
        def moved(name, to, data, flags=0):
            before = os.listdir(mount.path)
            there = os.path.exists(mount / to)
            renameat2(mount / name, mount / to, flags)
            check(read(mount / to) == data, '%s to %s' % (name, to))
            check(len(os.listdir(mount.path)) ==
                  len(before) - (there and flags != EXCHANGE) - ('/' in name) *
                  (there - 1), '%s to %s: names' % (name, to))

        for suffix in '.b2frame', '.b2f', '.b2nd', '.b2':
            moved('x', 'x' + suffix, content('x.b2frame'))
            moved('x' + suffix, 'x', content('x.b2frame'))
        # The one that takes the place would show without its suffix.
        moved('p', 'p.b2f', content('p.b2frame'))
        check('p' not in os.listdir(mount.path), 'p is there')
        moved('u', 'u.b2f', content('u.b2frame'))
        moved('both', 'both.b2f', content('both.b2frame'), EXCHANGE)
        check(read(mount / 'both') == content('both.b2f'), 'exchanged')
        check(error_of(renameat2, mount / 's', mount / 't', NOREPLACE) ==
              errno.EEXIST, 'replaced')
        moved('s', 's.b2frame', content('s.b2f'), NOREPLACE)
        # The file takes the name that the frame would be stored under.
        moved('w.b2frame', 'w', content('w.b2frame.b2frame'), EXCHANGE)
        check(read(mount / 'w.b2frame') == OTHER, 'exchanged with a file')
        moved('w.b2frame', 'w', OTHER, EXCHANGE)
        moved('d/x', 'y.b2frame', content('d'))
        moved('y.b2frame', 'r', content('d'))
        check(error_of(os.rename, mount / 'r', mount / 'd') == errno.EISDIR,
              'a directory is replaced')


def array_that_is_replaced_keeps_its_name():
    """Programs write a new file and rename it over the old one."""
    os.mkdir('src')
    first, second = npy(b'first'), npy(b'second!')
    with Mount('src', 'mnt', '-o', 'npy') as mount:
        write(mount / 'x.npy', first)
        write(mount / 'y.npy', first)
        wait_for(lambda: os.path.exists('src/x.b2nd') and
                 os.path.exists('src/y.b2nd'), 'two arrays')
        write(mount / 'x.npy.new', second)
        os.rename(mount / 'x.npy.new', mount / 'x.npy')
        check(read(mount / 'x.npy') == second, 'content')
        check(sorted(os.listdir(mount.path)) == ['x.npy', 'y.npy'],
              str(os.listdir(mount.path)))
        os.rename(mount / 'y.npy', mount / 'z.npy')
        check(read(mount / 'z.npy') == first, 'content of the array')
        os.rename(mount / 'z.npy', mount / 'x.npy')
        check(read(mount / 'x.npy') == first, 'content of the array')
        check(error_of(os.rename, mount / 'x.npy', mount / 'plain') ==
              errno.EXDEV, 'an array cannot show so')
        check(os.listdir(mount.path) == ['x.npy'], str(os.listdir(mount.path)))


def file_without_a_free_name_stays_plain():
    """All names under which the frame of a new file could be stored are
    taken."""
    make('x.b2f!', 'x.b2nd!', 'y.b2frame!', 'y.b2f!', 'y.b2!', 'y.b2nd!',
         'z.b2.b2f!', 'z.b2.b2!', 'z.b2.b2nd!', 'z.b2')
    for name in 'x.b2frame', 'x.b2', 'z.b2.b2frame':
        os.mkdir('src/' + name)
    with Mount('src', 'mnt') as mount:
        for name in 'x', 'y':
            write(mount / name, b'stays')
            check(read(mount / name) == b'stays', 'content')
            check(read('src/' + name) == b'stays', name + ' is no plain file')
        # This name would make a frame of a file that holds one.
        check(error_of(write, mount / 'z.b2', b'') == errno.EPERM, 'z.b2')
        write(mount / 'u', b'moved')
        os.unlink(mount / 'x')
        check(error_of(os.rename, mount / 'u', mount / 'x') == errno.EXDEV,
              'the frame has a name')
        check(error_of(os.link, mount / 'u', mount / 'x') == errno.EXDEV,
              'the link has a name')


def put_random(choice, top, array, keep):
    """Make a directory of random entries.  If names are kept, a plain file that
    holds a frame could become that by its new name, so there is none."""
    os.mkdir(top)
    for name in [stem + suffix for stem in 'xy' for suffix in (
            '', '.b2frame', '.b2f', '.b2nd', '.npy', '.npy.b2frame')]:
        data = choice.randbytes(20)
        kind = choice.choice('frame sparse array plain link'.split() +
                             6 * [''])
        path = top + '/' + name
        if keep and not name[1:].startswith('.b2') and kind != 'sparse':
            kind = kind and 'plain'
        if kind == 'frame':
            write(path, frame(data, 4096))
        elif kind == 'sparse':
            write_sparse(path, data)
        elif kind == 'array':
            write(path, array.replace(b'0123456789', data[:10]))
        elif kind:
            write(path, data)


def shown_in(top):
    """Return the content of the files in a directory by their names."""
    return {name: read(top + '/' + name) for name in os.listdir(top)}


def rename_randomly(choice, mount, number):
    top = mount / number
    before = shown_in(top)
    names = sorted(before) + ['x', 'x.b2f', 'x.b2frame', 'x.npy', 'y.npy', 'z']
    name, to = choice.choice(sorted(before)), choice.choice(names)
    flags = choice.choice((0, 0, NOREPLACE, EXCHANGE))
    error = error_of(renameat2, top + '/' + name, top + '/' + to, flags)
    after = shown_in(top)
    case = 'seed %d: %s of %s to %s, flags %d: %s, now %s' % (
        SEED, sorted(os.listdir(mount.source + '/' + number)), name, to, flags, error,
        sorted(after))
    wanted = sorted(before.values())
    if name == to or error:
        check(error in (0, errno.EEXIST, errno.EXDEV, errno.ENOENT), case)
        check(before == after, case)
        return error
    check(after.get(to) == before[name], case)
    if flags == EXCHANGE:
        check(after.get(name) == before[to], case)
    elif to in before:
        wanted.remove(before[to])
    check(sorted(after.values()) == wanted, case)
    return error


def entries_show_where_they_were_renamed_to():
    os.mkdir('made')
    with Mount('made', 'mnt', '-o', 'npy') as mount:
        write(mount / 'a.npy', npy(b'0123456789'))
        wait_for(lambda: os.path.exists('made/a.b2nd'), 'an array')
    array = read('made/a.b2nd')
    check(b'0123456789' in array, 'is compressed')
    choice = random.Random(SEED)
    for options in '', ',npy', ',names=keep', ',npy,layout=sparse':
        os.mkdir('src' + options)
        for i in range(RENAMES):
            put_random(choice, 'src%s/%d' % (options, i), array,
                       'keep' in options)
        with Mount('src' + options, 'mnt', '-o', 'sums=off' + options) as mount:
            nfailed = sum(rename_randomly(choice, mount, str(i)) > 0
                          for i in range(RENAMES)
                          if os.listdir(mount / str(i)))
        check(nfailed < RENAMES / 2, '%d of %d failed' % (nfailed, RENAMES))


main(suffixes_are_dropped,
     other_files_keep_their_names,
     file_goes_before_a_frame,
     frames_that_want_one_name_follow_an_order,
     name_that_is_given_up_can_be_taken,
     frame_replaces_a_file_only_where_it_then_shows,
     suffix_alone_is_a_name,
     lock_files_and_temporaries_do_not_show,
     names_are_kept_if_asked,
     longest_names_show,
     frames_get_the_name_that_was_asked_for,
     array_that_is_replaced_keeps_its_name,
     file_without_a_free_name_stays_plain,
     entries_show_where_they_were_renamed_to)
