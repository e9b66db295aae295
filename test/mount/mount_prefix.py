#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount prefix; timeout 600
"""A prefix of a bucket is mounted like a local tree.

usage: mount_prefix.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import os
import shutil
import stat
import subprocess

from mounted import (FRAMEFS, PATIENCE, Mount, b2frame, check, error_of, frame,
                     harness, main, read, replace, sh, wait_for, write,
                     write_sparse)
from s3_server import S3, error
from web import Plan

DATA = {name: name.encode() * 5000 for name in
        ('one', 'two', 'three', 'four', 'five')}


def make():
    """Make the objects of a bucket below `top`."""
    os.makedirs('top/runs/2024/deep')
    os.mkdir('top/other')
    write('top/runs/one.b2frame', frame(DATA['one'], 5000))
    write_sparse('top/runs/two.b2frame', DATA['two'])
    write_sparse('top/runs/2024/three', DATA['three'])
    write('top/runs/2024/deep/four.b2nd', frame(DATA['four'], 9999))
    write('top/runs/2024/five', frame(b'', 10))
    write('top/runs/2024/five.b2f', frame(DATA['five'], 10000))
    write('top/runs/notes.txt', b'no frame\n' * 9000)
    write('top/runs/empty', b'')
    write('top/other/hidden.b2frame', frame(b'x', 10))


def tree(path):
    """Return the types, sizes and contents of all that is below a path."""
    found = {}
    for where, dirs, files in os.walk(path):
        for name in dirs:
            found[os.path.relpath(os.path.join(where, name), path)] = None
        for name in files:
            full = os.path.join(where, name)
            content = read(full)
            check(os.stat(full).st_size == len(content), 'size of ' + full)
            found[os.path.relpath(full, path)] = content
    return found


def lists(server):
    return sum('list-type' in request.query for request in server.requests)


def forget(server, plan=None):
    server.forget(plan)


@contextlib.contextmanager
def mounted(url='runs', *options, **how):
    """Serve and mount, for a `with` statement, which gives both."""
    with S3('top', **how) as server:
        with Mount(server.url + url, 'mnt', *(
                word for option in options for word in ('-o', option))) as mount:
            yield server, mount


def a_tree_shows_like_a_local_one():
    make()
    os.mkdir('local')
    for options in (), ('names=keep',), ('chunks',), ('npy',):
        with Mount('top/runs', 'local', '-o',
                   ','.join(('ro',) + options)) as local:
            expected = tree(local.path)
        check('2024/deep' in expected and len(expected) > 8, 'is shown')
        with mounted('runs', *options) as (server, mount):
            found = tree(mount.path)
            check(found == expected, '%s: %s %s' % (
                options, sorted(found.items() - expected.items()),
                sorted(expected.items() - found.items())))
            check(not server.refused, 'is refused')
            check(not mount.log(), mount.log())


def a_whole_bucket_shows():
    make()
    for url in '', 'other/':
        with mounted(url) as (_, mount):
            check(sorted(os.listdir(mount.path)) ==
                  (['hidden'] if url else ['other', 'runs']), 'names')
    shutil.rmtree('top')
    os.mkdir('top')
    with mounted('') as (_, mount):
        check(os.listdir(mount.path) == [], 'names in an empty bucket')


def attributes_are_sensible():
    make()
    with mounted() as (_, mount):
        for name, mode in (('one', 0o100444), ('2024', 0o040755),
                           ('notes.txt', 0o100444), ('two', 0o100644)):
            st = os.stat(mount / name)
            check(st.st_mode == mode and st.st_uid == os.getuid(),
                  '%s: %s' % (name, st))
        there = os.stat('top/runs/notes.txt')
        check(os.stat(mount / 'notes.txt').st_mtime == int(there.st_mtime),
              'time')
        inodes = {os.stat(mount / name).st_ino for name in os.listdir(
            mount.path)}
        check(len(inodes) == 5 and inodes == {
            entry.inode() for entry in os.scandir(mount.path)}, 'numbers')
        check(os.statvfs(mount.path).f_blocks == 0, 'statfs')


def nothing_can_be_changed():
    make()
    with mounted('runs', 'ro') as (_, mount):
        for call, *words in ((write, mount / 'new', b'x'),
                             (write, mount / 'notes.txt', b'x'),
                             (os.unlink, mount / 'one'),
                             (os.mkdir, mount / 'dir'),
                             (os.rmdir, mount / '2024'),
                             (os.chmod, mount / 'two', 0o600),
                             (os.rename, mount / 'one', mount / 'six')):
            check(error_of(call, *words) == errno.EROFS, '%s' % call)
        check(error_of(read, mount / 'none') == errno.ENOENT, 'no such file')
        check(error_of(read, mount / 'none/x') == errno.ENOENT, 'nor below')
        check(error_of(os.listdir, mount / 'one') == errno.ENOTDIR,
              'is no directory')


def programs_work():
    make()
    with mounted() as (_, mount):
        for command, words in (
                ('find %s -type f | wc -l', '8'),
                ('find %s -type d | wc -l', '3'),
                ('grep -rlc twotwo %s | wc -l', '1'),
                ('tail -c 3 %s/notes.txt', 'me'),
                ('ls -lR %s | grep -c 2024', '3'),
                ('cd %s && cat 2024/deep/../three | wc -c', '25000')):
            done = subprocess.run(command % mount.path, shell=True, check=True,
                                  capture_output=True, text=True)
            check(words in done.stdout and not done.stderr,
                  '%s: %s' % (command, done))


def a_list_costs_a_request_for_each_page():
    os.makedirs('top/runs')
    one = frame(b'content', 10)
    for i in range(10000):
        write('top/runs/run%05d.b2frame' % i, one)
    with mounted('runs', 'revalidate=60') as (server, mount):
        forget(server)
        check(sorted(os.listdir(mount.path)) ==
              ['run%05d' % i for i in range(10000)], 'names')
        check(len(server.requests) == 10 and lists(server) == 10,
              '%d requests' % len(server.requests))
        forget(server)
        check(all(os.stat(mount / ('run%05d' % i)).st_size == 7
                  for i in range(2000)), 'sizes')
        check(lists(server) == 0 and 2000 <= len(server.requests) <= 2200,
              '%d requests' % len(server.requests))
        heads = {request.path for request in server.requests}
        check(len(heads) == len(server.requests), 'asks twice')


def a_name_in_a_large_directory_costs_few_requests():
    make()
    for i in range(100):
        write('top/runs/x%03d' % i, b'')
    with S3('top') as server:
        server.page = 10
        with Mount(server.url + 'runs', 'mnt') as mount:
            check(lists(server) == 1, '%d lists to mount' % lists(server))
            forget(server)
            check(read(mount / 'two') == DATA['two'], 'content')
            check(lists(server) <= 2, '%d lists' % lists(server))
            forget(server)
            check(error_of(read, mount / 'three') == errno.ENOENT, 'is there')
            check(lists(server) == 1, '%d lists' % lists(server))
            check(len(os.listdir(mount.path)) == 105, 'names')
            # All that are asked for one by one are listed together at last.
            wait_for(lambda: error_of(os.stat, mount / 'n') == errno.ENOENT and
                     lists(server) > 24, 'another list')


def heads_come_together():
    os.makedirs('top')
    for i in range(64):
        write_sparse('top/f%02d.b2frame' % i, b'x')
    with mounted('', 'revalidate=60') as (server, mount):
        forget(server)
        check({os.stat(mount / ('f%02d' % i)).st_size for i in range(3)} ==
              {1}, 'sizes')
        wait_for(lambda: len(server.requests) >= 16 and
                 any('f09' in request.path for request in server.requests),
                 'others')
        forget(server)
        os.stat(mount / 'f09')
        check(not any('f09' in request.path for request in server.requests),
              'asks again')


def hostile_keys_do_not_show():
    make()
    with S3('top') as server:
        server.more_keys = [
            'runs//x', 'runs//', 'runs/./y', 'runs/../z', 'runs/.', 'runs/..',
            'runs/' + 256 * 'x', 'runs/a\nb', 'runs/n\0ul', 'runs/ü',
            'runs/one.b2frame/x', 'runs/2024', 'runs/', 'runs//one.b2frame',
            'runs/.framefs-x/y', 'runs/' + 255 * 'y']
        with Mount(server.url + 'runs', 'mnt') as mount:
            names = set(os.listdir(mount.path))
            check(names >= {'two', 'a\nb', 'ü', '2024', 'notes.txt', 255 * 'y'},
                  '%s' % names)
            check(not names & {'x', '', '.', '..', 'n', 'n\0ul', 'y', 'z'} and
                  all('/' not in name and len(name) < 256 for name in names),
                  '%s' % names)
            # The object and the prefix one.b2frame cannot both show.
            check(stat.S_ISDIR(os.stat(mount / 'one.b2frame').st_mode),
                  'prefix and object')
            check(read(mount / 'two') == DATA['two'], 'content')
            check(not error_of(os.stat, mount / 'a\nb'), 'newline')
            os.listdir(mount.path)
            said = mount.log()
            check(said.count('\n') == 1 and 'cannot show' in said, said)


def names_mislead_nobody():
    make()
    os.makedirs('top/runs/archive.b2frame/in')
    write('top/runs/archive.b2frame/in/file', b'x')
    write('top/runs/bad.b2frame', b'this is no frame')
    with mounted() as (_, mount):
        # Until it is looked at, it counts as a frame.
        with contextlib.suppress(OSError):
            os.stat(mount / 'archive')
        check(stat.S_ISDIR(os.stat(mount / 'archive.b2frame').st_mode),
              'is no directory')
        check(error_of(os.stat, mount / 'archive') == errno.ENOENT, 'two names')
        check(read(mount / 'archive.b2frame/in/file') == b'x', 'content')
        names = os.listdir(mount.path)
        check('archive.b2frame' in names and 'archive' not in names, 'names')
        check(os.stat(mount / 'bad').st_size == 16, 'size')
        check(error_of(read, mount / 'bad') == errno.EIO, 'is read')
        check('bad.b2frame' in mount.log(), mount.log())
        types = {entry.name: entry.is_file() for entry in os.scandir(
            mount / '2024')}
        check(types == {'three': True, 'deep': False, 'five': True,
                        'five.b2f': True}, '%s' % types)


def shows(path, content):
    """Does a file show this content?  There is an error while an older index is
    known of a chunk that was overwritten, as no writer should."""
    try:
        return read(path) == content
    except OSError:
        return False


def commits_of_others_show():
    for revalidate in '0', '1':
        make()
        with mounted('runs', 'revalidate=' + revalidate) as (_, mount):
            before = os.stat(mount / 'one').st_ino
            for name in 'one', 'two':
                check(read(mount / name) == DATA[name], 'content')
            check(read(mount / 'notes.txt')[:9] == b'no frame\n', 'content')
            replace('top/runs/one.b2frame', frame(DATA['four'], 5000))
            shutil.rmtree('top/runs/two.b2frame')
            write_sparse('top/runs/two.b2frame', DATA['three'] + b'more')
            replace('top/runs/notes.txt', b'other\n')
            write('top/runs/new.b2frame', frame(b'new', 10))
            for name, content in (('one', DATA['four']),
                                  ('two', DATA['three'] + b'more'),
                                  ('notes.txt', b'other\n'), ('new', b'new')):
                wait_for(lambda n=name, c=content: shows(mount / n, c), name)
            check(os.stat(mount / 'one').st_ino == before, 'number')
            os.unlink('top/runs/one.b2frame')
            shutil.rmtree('top/runs/2024')
            for name in 'one', '2024':
                wait_for(lambda n=name: error_of(os.stat, mount / n) ==
                         errno.ENOENT, 'the end of ' + name)
            check(sorted(os.listdir(mount.path)) ==
                  ['empty', 'new', 'notes.txt', 'two'], 'names')
        shutil.rmtree('top')



def a_file_that_is_open_shows_the_newest_state():
    make()
    write('top/runs/notes.txt', b'a' * 4000000)
    with mounted('runs', 'revalidate=0') as (_, mount):
        with open(mount / 'notes.txt', 'rb', buffering=0) as file:
            check(os.pread(file.fileno(), 4096, 0) == b'a' * 4096, 'content')
            replace('top/runs/notes.txt', b'b' * 4000000)
            check(os.pread(file.fileno(), 4096, 3000000) == b'b' * 4096,
                  'later content')
            wait_for(lambda: read(mount / 'notes.txt') == b'b' * 4000000,
                     'the new content')


def what_is_known_to_have_changed_is_asked_for_again():
    """Although all that the server has told counts for a minute."""
    old, new = (os.urandom(1000000) for _ in range(2))
    os.mkdir('top')
    write('top/one.b2frame', frame(old, 50000))
    write('top/plain', old)
    with mounted('', 'revalidate=60', 'readahead=0') as (_, mount):
        with open(mount / 'one', 'rb', buffering=0) as one, \
                open(mount / 'plain', 'rb', buffering=0) as plain:
            for file in one, plain:
                check(os.pread(file.fileno(), 99, 0) == old[:99], 'content')
            replace('top/one.b2frame', frame(new, 50000))
            replace('top/plain', new)
            for file in one, plain:
                check(os.pread(file.fileno(), 99, 800000) ==
                      new[800000:800099], 'newer content')


def a_server_that_is_away_gives_an_error():
    make()

    def fail(*_):
        return Plan(status=503)

    with mounted('runs', 'timeout=2', 'retries=1', 'revalidate=0') as (
            server, mount):
        forget(server, fail)
        for call, name in ((os.listdir, ''), (os.stat, 'one'),
                           (os.stat, 'none'), (os.listdir, '2024')):
            check(error_of(call, mount / name) == errno.EIO,
                  '%s of %s' % (call, name))
        said = mount.log()
        check('status: 503' in said, said)
        forget(server, lambda *_: Plan(status=200, body=b'<x/>'))
        check(error_of(os.listdir, mount.path) == errno.EIO, 'rubbish')
        check('list of keys' in mount.log(), mount.log())
        forget(server, lambda *_: Plan(status=403, body=error('AccessDenied')))
        check(error_of(os.listdir, mount.path) == errno.EACCES, 'no access')
        forget(server)
        check(len(os.listdir(mount.path)) == 5, 'names')
        check(read(mount / 'one') == DATA['one'], 'content')


def a_list_without_end_is_refused():
    make()
    page = '<ListBucketResult><IsTruncated>true</IsTruncated>' \
        '<NextContinuationToken>%s</NextContinuationToken></ListBucketResult>'

    def other_pages(_, number):
        return Plan(status=200, body=(page % number).encode())

    def same_page(*_):
        return Plan(status=200, body=(page % 'same').encode())

    with mounted('runs', 'revalidate=0') as (server, mount):
        for plan in other_pages, same_page:
            server.forget(plan)
            check(error_of(os.listdir, mount.path) == errno.EIO, 'is listed')
            check(1 < len(server.requests) < 300, '%d requests' %
                  len(server.requests))
        check('does not end' in mount.log(), mount.log())


def faults_reach_no_program():
    make()
    plans = [Plan(status=503), Plan(reset=True), Plan(cut=9)]

    def plan(_, number):
        return plans[number // 3 % 3] if number % 3 == 2 else None

    with S3('top', plan) as server, Mount(server.url + 'runs', 'mnt') as mount:
        found = tree(mount.path)
        check(found['2024/deep/four'] == DATA['four'] and len(found) == 10,
              '%s' % sorted(found))


def what_cannot_be_mounted_is_told():
    make()
    write('file', b'')
    with S3('top') as server:
        for words, reason in (((server.url + 'none', 'mnt'), 'No such file'),
                              ((server.url + 'run', 'mnt'), 'No such file'),
                              ((server.url + 'runs', 'file'), 'is none'),
                              (('-o', 'offset=10', server.url + 'runs', 'mnt'),
                               'offset=')):
            done = subprocess.run([FRAMEFS, *words], check=False, text=True,
                                  capture_output=True, timeout=PATIENCE,
                                  env=harness.environment())
            check(done.returncode != 0 and reason in done.stderr and
                  done.stderr.count('\n') == 1, '%s' % done)


def a_daemon_serves():
    make()
    with S3('top') as server:
        done = subprocess.run([FRAMEFS, server.url + 'runs', 'mnt'],
                              check=True, env=harness.environment())
        try:
            check(done.returncode == 0 and read('mnt/one') == DATA['one'],
                  'content')
        finally:
            sh('fusermount3 -u mnt')


harness.need_remote()
main(a_tree_shows_like_a_local_one,
     a_whole_bucket_shows,
     attributes_are_sensible,
     nothing_can_be_changed,
     programs_work,
     a_list_costs_a_request_for_each_page,
     a_name_in_a_large_directory_costs_few_requests,
     heads_come_together,
     hostile_keys_do_not_show,
     names_mislead_nobody,
     commits_of_others_show,
     a_file_that_is_open_shows_the_newest_state,
     what_is_known_to_have_changed_is_asked_for_again,
     a_server_that_is_away_gives_an_error,
     a_list_without_end_is_refused,
     faults_reach_no_program,
     what_cannot_be_mounted_is_told,
     a_daemon_serves)
