#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount names
"""Entries show under the right names, the same in lookups and listings.

usage: mount_names.py FRAMEFS [TEST...]
"""

import errno
import os

from mounted import (Mount, check, error_of, frame, main, read, write,
                     write_sparse)

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


main(suffixes_are_dropped,
     other_files_keep_their_names,
     file_goes_before_a_frame,
     frames_that_want_one_name_follow_an_order,
     name_that_is_given_up_can_be_taken,
     frame_replaces_a_file_only_where_it_then_shows,
     suffix_alone_is_a_name,
     lock_files_and_temporaries_do_not_show,
     names_are_kept_if_asked,
     longest_names_show)
