#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount source
"""Different kinds of SOURCE and MOUNTPOINT are accepted or refused.

usage: mount_source.py FRAMEFS [TEST...]
"""

import os
import stat

from mounted import (Mount, check, frame, main, read, replace, sh, wait_for,
                     write)

DATA = bytes(i * 7 % 251 for i in range(100000))


def frame_shows_as_the_one_file_of_a_directory():
    write('run7.f64.b2frame', frame(DATA, 4096))
    os.chmod('run7.f64.b2frame', 0o640)
    with Mount('run7.f64.b2frame', 'mnt') as mount:
        check(os.listdir(mount.path) == ['run7.f64'], 'is listed otherwise')
        st = os.stat(mount / 'run7.f64')
        check(stat.S_ISREG(st.st_mode) and st.st_mode & 0o7777 == 0o640,
              'mode %o' % st.st_mode)
        check(st.st_size == len(DATA), 'size')
        check(read(mount / 'run7.f64') == DATA, 'content')


def frame_may_have_any_name_as_source():
    write('plain.bin', frame(DATA, 4096))
    os.symlink('plain.bin', 'link')
    with Mount('link', 'mnt') as mount:
        check(os.listdir(mount.path) == ['plain.bin'], 'name')
        check(read(mount / 'plain.bin') == DATA, 'content')


def frame_shows_on_a_file():
    write('a.b2frame', frame(DATA, 4096))
    write('file', b'what is below')
    with Mount('a.b2frame', 'file') as mount:
        check(read(mount.path) == DATA, 'content')
        check(os.path.getsize(mount.path) == len(DATA), 'size')
    check(read('file') == b'what is below', 'the file below changed')


def frame_shows_on_itself():
    write('a.b2frame', frame(DATA, 4096))
    with Mount('a.b2frame', 'a.b2frame') as mount:
        check(read(mount.path) == DATA, 'content')
    check(read('a.b2frame') == frame(DATA, 4096), 'the frame changed')


def directory_shows_on_itself():
    os.mkdir('tree')
    write('tree/a.b2frame', frame(DATA, 4096))
    with Mount('tree', 'tree') as mount:
        check(os.listdir(mount.path) == ['a'], 'is listed otherwise')
        check(read(mount / 'a') == DATA, 'content')


def mount_is_listed_with_the_whole_path_of_its_source():
    os.mkdir('a, b')
    wanted = os.path.realpath('a, b').replace(' ', '\\x20') + '\n'
    with Mount('a, b', 'mnt'):
        # The list has gaps while other programs mount and unmount.
        wait_for(lambda: sh('findmnt --noheadings --raw --output SOURCE mnt',
                            None) == wanted, wanted)


def mount_inside_source_is_not_seen_in_itself():
    os.makedirs('tree/mnt')
    os.mkdir('tree/sub')
    write('tree/sub/a.b2frame', frame(DATA, 4096))
    with Mount('tree', 'tree/mnt') as mount:
        found = [names for _, *names in os.walk(mount.path)]
        check(found == [[['sub'], []], [[], ['a']]], 'holds %s' % found)
        check(not os.path.exists(mount / 'mnt'), 'is there')


def frame_inside_a_larger_file():
    write('container', b'x' * 1234 + frame(DATA, 4096) + b'behind')
    with Mount('container', 'mnt', '-o', 'offset=1234') as mount:
        check(read(mount / 'container') == DATA, 'content')
        st = os.stat(mount / 'container')
        check(st.st_size == len(DATA), 'size')
        check(0 < st.st_blocks * 512 < 2 * len(DATA), 'blocks')


def frame_source_that_is_replaced_shows_the_new_one():
    write('a.b2frame', frame(DATA, 4096))
    with Mount('a.b2frame', 'mnt') as mount:
        check(read(mount / 'a') == DATA, 'content')
        replace('a.b2frame', frame(DATA[1:], 8192))
        check(read(mount / 'a') == DATA[1:], 'content, replaced')


main(frame_shows_as_the_one_file_of_a_directory,
     frame_may_have_any_name_as_source,
     frame_shows_on_a_file,
     frame_shows_on_itself,
     directory_shows_on_itself,
     mount_is_listed_with_the_whole_path_of_its_source,
     mount_inside_source_is_not_seen_in_itself,
     frame_inside_a_larger_file,
     frame_source_that_is_replaced_shows_the_new_one)
