#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount traps
"""The daemon deletes or converts nothing because of its name alone.

usage: mount_traps.py FRAMEFS [TEST...]
"""

import errno
import os
import shutil

from mounted import (B2FRAME, Mount, check, error_of, frame, layouts, main,
                     read, sh, wait_for, write, write_sparse)

DATA = bytes(range(256)) * 40
INDEX = 'chunks.b2frame'


def tree(top):
    """Return the names, kinds and content of all entries in a directory
    tree."""
    found = {}
    for parent, folders, files in os.walk(top):
        for name in folders:
            found[os.path.join(parent, name)] = None
        for name in files:
            path = os.path.join(parent, name)
            found[path] = read(path) if os.path.isfile(path) else None
    return found


def make_traps(top):
    """Make files of users under names that look like ours."""
    os.makedirs(top + '/.framefs-tmp.1')
    write(top + '/.framefs-tmp.1/thesis', b'precious')
    os.makedirs(top + '/.framefs-tmp.12.0/.framefs-tmp.34')
    write(top + '/.framefs-tmp.12.0/.framefs-tmp.34/00000000.chunk', b'mine')
    os.makedirs(top + '/.framefs-tmp.backup/x')
    write(top + '/.framefs-tmp.backup/x/y', b'data')
    write(top + '/.framefs-tmp.0123456789abcdef', b'mine')
    write_sparse(top + '/.framefs-tmp.7', DATA)
    os.makedirs(top + '/old.b2lock')
    write(top + '/old.b2lock/data', b'results')


@layouts
def what_only_bears_such_a_name_stays(layout):
    make_traps('src')
    make_traps('src/d')
    before = tree('src')
    for _ in range(2):
        with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
            for name in (mount / 'd', mount.path):
                check(sorted(os.listdir(name)) ==
                      sorted(['.framefs-tmp.backup', 'old.b2lock'] +
                             (['d'] if name == mount.path else [])),
                      os.listdir(name))
            check(read(mount / 'd/old.b2lock/data') == b'results', 'lock')
            shutil.rmtree(mount / 'd/old.b2lock')
            shutil.rmtree(mount / 'd/.framefs-tmp.backup')
            check(error_of(os.rmdir, mount / 'd') == errno.ENOTEMPTY, 'rmdir')
            os.mkdir(mount / 'e')
            check(error_of(os.rename, mount / 'e', mount / 'd') ==
                  errno.ENOTEMPTY, 'rename')
            os.rmdir(mount / 'e')
        for name in ('old.b2lock', '.framefs-tmp.backup/x'):
            os.makedirs('src/d/' + name)
        write('src/d/old.b2lock/data', b'results')
        write('src/d/.framefs-tmp.backup/x/y', b'data')
        check(tree('src') == before, 'something is gone')


def what_killed_programs_left_goes():
    os.makedirs('src/d/.framefs-tmp.9.0')
    os.makedirs('src/d/.framefs-tmp.9.1')
    write('src/d/.framefs-tmp.9.1/' + INDEX, b'')
    sh('%s create --layout sparse /dev/null src/d/.framefs-tmp.9.2' % B2FRAME)
    write_sparse('src/d/.framefs-tmp.9.3', DATA)
    write('src/d/.framefs-tmp.9.3/.framefs-tmp.private', b'')
    os.mkdir('src/d/.framefs-tmp.9.4')
    write('src/d/.framefs-tmp.9.4/.framefs-tmp.private', b'')
    write_sparse('src/d/.framefs-tmp.9.4/.framefs-tmp.777', DATA)
    write('src/d/draft', DATA)
    os.rename('src/d/draft',
              'src/d/.framefs-tmp.%016x' % os.stat('src/d/draft').st_ino)
    with Mount('src', 'mnt') as mount:
        check(os.listdir(mount / 'd') == [], 'shows')
        check(os.listdir('src/d') == [], 'is left')


@layouts
def a_frame_among_other_files_is_not_removed(layout):
    write_sparse('src/a.b2frame', DATA)
    write('src/a.b2frame/notes', b'precious')
    os.mkdir('src/a.b2frame/folder')
    before = tree('src')
    with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
        write(mount / 'b', b'new')
        check(read(mount / 'a') == DATA, 'content')
        check(error_of(os.unlink, mount / 'a') == errno.ENOTEMPTY, 'unlink')
        check(error_of(os.rename, mount / 'b', mount / 'a') ==
              errno.ENOTEMPTY, 'rename')
        check(read(mount / 'a') == DATA, 'content after that')
        check(read(mount / 'b') == b'new', 'the other')
        os.unlink(mount / 'b')
    check(tree('src') == before, 'something is gone')


@layouts
def no_name_makes_a_frame_of_a_directory(layout):
    os.makedirs('src/d/folder')
    write('src/d/keep', b'precious')
    write('src/d/plain', b'plain')
    with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
        for index in (INDEX, 'chunks.b2eframe'):
            path = mount / ('d/' + index)
            for how in (lambda p: os.symlink('to', p), os.mkfifo, os.mkdir,
                        lambda p: os.rename(mount / 'd/plain', p),
                        lambda p: os.rename(mount / 'd/folder', p),
                        lambda p: os.link(mount / 'd/plain', p)):
                check(error_of(how, path) == errno.EPERM, index)
        for name in ('chunks', INDEX, 'chunks.b2eframe'):
            write(mount / ('d/' + name), name.encode())
        os.rename(mount / 'd/chunks', mount / 'd/other')
        os.rename(mount / 'd/other', mount / 'd/chunks')
        check(os.path.isdir(mount / 'd'), 'is a directory')
    with Mount('src', 'mnt') as mount:
        for name in ('chunks', INDEX, 'chunks.b2eframe'):
            check(read(mount / ('d/' + name)) == name.encode(), name)
        check(read(mount / 'd/keep') == b'precious', 'keep')


def a_directory_with_such_a_name_in_it_is_one():
    for n, how in enumerate((lambda p: os.symlink('keep', p), os.mkfifo,
                             os.mkdir, lambda p: write(p, b'no frame'),
                             lambda p: write(p, b''))):
        os.makedirs('src/d%d' % n)
        write('src/d%d/keep' % n, b'precious')
        how('src/d%d/%s' % (n, INDEX))
    with Mount('src', 'mnt') as mount:
        for n in range(5):
            path = mount / ('d%d' % n)
            check(read(path + '/keep') == b'precious', 'd%d' % n)
            check(sorted(os.listdir(path)) == sorted([INDEX, 'keep']), 'names')
            check(error_of(os.unlink, path) in (errno.EISDIR, errno.EPERM),
                  'unlink')


def lock_files_are_known_by_their_frame_and_content():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, 4096))
    write('src/a.b2frame.b2lock', bytes(8) + b'\3' + bytes(7))
    write('src/b.b2lock', b'')
    write('src/gone.b2frame.b2lock', bytes(16))
    write('src/text.b2frame', frame(DATA, 4096))
    write('src/text.b2frame.b2lock', b'a text, and no lock file')
    with Mount('src', 'mnt') as mount:
        check(sorted(os.listdir('mnt')) ==
              ['a', 'b.b2lock', 'gone.b2frame.b2lock', 'text',
               'text.b2frame.b2lock'], os.listdir('mnt'))
        write(mount / 'a.b2frame.b2lock', b'what was written')
        check(read(mount / 'a.b2frame.b2lock') == b'what was written', 'is read')
        check(read('src/a.b2frame.b2lock')[8] == 3, 'the lock file')
        for name in ('a.b2frame.b2lock', 'b.b2lock', 'gone.b2frame.b2lock',
                     'text.b2frame.b2lock', 'a'):
            os.unlink(mount / name)
        check(os.listdir('src') == ['text.b2frame'], os.listdir('src'))
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        write(mount / 'x.b2lock', b'')
        check(os.path.getsize(mount / 'x.b2lock') == 0, 'an empty one')
        for how in (lambda p: write(p, b''),
                    lambda p: os.link(mount / 'x.b2lock', p),
                    lambda p: os.rename(mount / 'x.b2lock', p)):
            check(error_of(how, mount / 'text.b2frame.b2lock') == errno.EPERM,
                  'one of a frame')


def projects_with_such_names_can_be_cloned():
    os.mkdir('src')
    sh('git init -q project && cd project && git config user.email a@b && '
       'git config user.name a && echo 1 >x.b2lock && mkdir d.b2lock && '
       ': >d.b2lock/.b2lock && echo 2 >.framefs-tmp.mine && git add -A && '
       'git commit -qm a')
    for options in ('names=keep', 'layout=sparse', 'layout=contiguous'):
        with Mount('src', 'mnt', '-o', options):
            sh('git clone -q project mnt/clone && cd mnt/clone && '
               'git diff --exit-code && git status --porcelain >../status && '
               'test ! -s ../status && cd .. && rm -r clone status')
        check(os.listdir('src') == [], os.listdir('src'))


def copies_of_sparse_frames_are_frames():
    """The mount keeps names as they are, and the files of a copy arrive in any
    order."""
    os.mkdir('src')
    write('in', DATA)
    sh('%s create --layout sparse --chunksize 256 --clevel 0 in copied' %
       B2FRAME)
    files = sorted(os.listdir('copied'))
    check(len(files) > 20, 'few chunks')
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        sh('cp -r copied mnt/cp && cp -a copied mnt/cp-a')
        for n, order in enumerate((files, files[::-1])):
            path = mount / ('f%d' % n)
            os.mkdir(path)
            for name in order:
                check(os.path.isdir(path), 'a frame before it is whole')
                content = read('copied/' + name)
                with open(path + '/' + name, 'wb', buffering=0) as file:
                    file.write(content[:len(content) // 2])
                    os.stat(path)
                    file.write(content[len(content) // 2:])
        for name in ('cp', 'cp-a', 'f0', 'f1'):
            wait_for(lambda name=name: os.path.isfile(mount / name), name)
            check(read(mount / name) == DATA, name)
            check(sorted(os.listdir('src/' + name)) == files, name + ': files')
            check(all(read('src/%s/%s' % (name, file)) == read('copied/' + file)
                      for file in files), name + ': stored')


main(what_only_bears_such_a_name_stays,
     what_killed_programs_left_goes,
     a_frame_among_other_files_is_not_removed,
     no_name_makes_a_frame_of_a_directory,
     a_directory_with_such_a_name_in_it_is_one,
     lock_files_are_known_by_their_frame_and_content,
     projects_with_such_names_can_be_cloned,
     copies_of_sparse_frames_are_frames)
