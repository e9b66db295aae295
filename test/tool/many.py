#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame many; timeout 120
"""Verbs of b2frame work on many frames, and on all frames below a directory.

usage: many.py B2FRAME [TEST...]
"""

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import zipfile

from scene import (TIMEOUT, TOOL, b2frame, check, check_names, copy, fails,
                   frame, harness, info, main, misuse, noise, numbers, read,
                   small_disk, work, write)

WEIRD = b'new\nline\xff.b2frame'


def make_tree():
    """Make a tree of five good frames, and what only looks like one."""
    os.makedirs('tree/sub/deep')
    for name in ('tree/a.b2frame', 'tree/sub/b', 'tree/sub/deep/c.b2nd'):
        frame(name, numbers(100000))
    frame('tree/sparse', numbers(300000), '--layout', 'sparse')
    os.rename('tree/sub/b', b'tree/sub/' + WEIRD)
    frame('tree/magic-alone', numbers(1000))
    write('tree/plain', b'plain')
    write('tree/.framefs-tmp.0123', read('tree/a.b2frame'))
    write('tree/a.b2frame.b2lock', b'')
    os.mkfifo('tree/fifo.b2frame')


def frames_below_a_directory_are_found():
    make_tree()
    told = json.loads(work('verify', '-r', '--json', 'tree')[0])
    names = [item['frame'] for item in told]
    check(names == ['tree/a.b2frame', 'tree/magic-alone', 'tree/sparse',
                    'tree/sub/deep/c.b2nd',
                    r'tree/sub/new\x0aline\xff.b2frame'], names)
    check(all(item['ok'] for item in told), told)
    check(told[-1].get('escaped') is True, told[-1])
    check(work('verify', '-r', 'tree/')[0].count(': ok') == 5, 'a slash')
    check(work('verify', 'tree/sparse', '-r', 'tree/sub')[0].count(': ok') ==
          3, 'frames beside trees')
    os.chdir('tree')
    check(work('verify', '-r', '.')[0].count(': ok') == 5, 'here')


def a_damaged_frame_does_not_hide_the_others():
    make_tree()
    write('tree/sub/broken.b2frame', read('tree/a.b2frame')[:-1000])
    write('tree/none.b2frame', b'')
    said, messages = work('verify', '-r', 'tree', status=1)
    check(said.count(': ok') == 5, said)
    check('tree/none.b2frame: ' in said and 'broken.b2frame: ' in said, said)
    check(not messages, messages)
    said, messages = work('info', '-r', 'tree', status=1)
    check('5 frames' in said or '7 frames' in said, said)
    check(messages.count('\n') == 2, messages)
    work('compact', '-r', 'tree', status=1)


def a_table_has_a_row_for_each_and_the_sums():
    make_tree()
    said, _ = work('info', '-r', 'tree')
    lines = said.splitlines()
    check(len(lines) == 7, said)
    check(lines[1].split()[0] == '100000' and 'tree/a.b2frame' in lines[1],
          said)
    check(lines[-1].split()[0] == '601000', said)
    told = json.loads(work('info', '--json', 'tree/a.b2frame',
                           'tree/sparse')[0])
    check([item['frame'] for item in told] == ['tree/a.b2frame',
                                               'tree/sparse'], told)
    check(told[0]['info'] == info('tree/a.b2frame'), told)
    misuse('info', '--chunks', '-r', 'tree')


def no_link_is_followed():
    make_tree()
    os.mkdir('other')
    write('other/bad.b2frame', b'bad')
    os.symlink('../other', 'tree/directory')
    os.symlink('../other/bad.b2frame', 'tree/file.b2frame')
    os.symlink('..', 'tree/loop')
    os.makedirs('tree/false')
    os.symlink('../../tree/sparse/chunks.b2frame', 'tree/false/chunks.b2frame')
    check(work('verify', '-r', 'tree')[0].count('\n') == 5, 'others are found')
    os.symlink('tree', 'link')
    check(work('verify', '-r', 'link')[0].count(': ok') == 5,
          'a link that the user names is one')


def what_cannot_be_read_is_named():
    make_tree()
    fails('none: No such file', 'verify', '-r', 'none')
    fails('Not a directory', 'verify', '-r', 'tree/a.b2frame/x')
    check(json.loads(work('verify', '-r', '--json', 'tree/false',
                          status=1)[0])[0]['ok'] is False, 'none is good')
    os.mkdir('empty')
    check(work('verify', '-r', 'empty')[0] == '', 'an empty tree')
    check(json.loads(work('verify', '-r', '--json', 'empty')[0]) == [], 'JSON')


def all_are_compacted():
    make_tree()
    frame('tree/changed', noise(300000), '--chunksize', '60000')
    write('chunk', noise(60000, 1))
    b2frame('update', 'tree/changed', '1', 'chunk')
    before = os.path.getsize('tree/changed')
    work('compact', '--threads', '3', '-r', 'tree')
    check(os.path.getsize('tree/changed') < before, 'is as large')
    check(work('verify', '-r', 'tree')[0].count(': ok') == 6, 'damaged')


def order_does_not_depend_on_threads():
    os.mkdir('tree')
    for i in range(40):
        frame('tree/%02d.b2frame' % i, numbers(1000 if i % 7 else 1 << 20))
    one = work('info', '-r', '--threads', '1', 'tree')
    check(work('info', '-r', '--threads', '16', 'tree') == one, 'they differ')
    check([line.split()[-1] for line in one[0].splitlines()[1:-1]] ==
          ['tree/%02d.b2frame' % i for i in range(40)], one)


def deep_trees_are_read():
    os.makedirs('tree/' + 'd/' * 300)
    frame('tree/' + 'd/' * 300 + 'x.b2frame', b'x')
    check(work('verify', '-r', 'tree')[0].count(': ok') == 1, 'not found')


def a_full_standard_output_ends_the_work():
    os.mkdir('tree')
    for i in range(100):
        frame('tree/%d.b2frame' % i, b'x')
    for words in (('verify',), ('verify', '--json'), ('info',)):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([TOOL, *words, '-r', 'tree'], stdout=full,
                                  stderr=subprocess.PIPE, check=False,
                                  timeout=TIMEOUT, env=harness.environment())
        said = done.stderr.decode()
        check(done.returncode == 1 and said.count('\n') == 1 and
              'standard output: ' in said, said)


def damaged_stores_are_told_with_the_place():
    with zipfile.ZipFile('bad.b2z', 'w') as store:
        store.writestr('a.b2nd', b'x' * 100)
        store.writestr('b.b2nd', b'y' * 100)
    data = bytearray(read('bad.b2z'))
    entry = data.rfind(b'PK\1\2')
    data[entry + 42:entry + 46] = b'\xff\xff\xff\x7f'
    write('bad.b2z', data)
    said = 'offset %d: a member of a zip archive lies outside it' % entry
    for words in (('ls', 'bad.b2z'), ('info', 'bad.b2z/a'),
                  ('cat', 'bad.b2z/b'), ('verify', 'bad.b2z/a.b2nd'),
                  ('convert', 'bad.b2z/a', 'c'), ('verify', '-r', 'bad.b2z')):
        fails(said, *words)


def many_directories_may_be_given():
    names = ['d%d' % i for i in range(200)]
    for name in names:
        os.mkdir(name)
    frame('d199/a', b'x')
    check(work('verify', '-r', *names)[0].startswith('d199/a: ok'), 'not found')


def an_interrupt_ends_all_processes():
    os.mkdir('tree')
    frame('tree/0.b2frame', numbers(1 << 20))
    for i in range(1, 300):
        copy('tree/0.b2frame', 'tree/%d.b2frame' % i)
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([TOOL, 'verify', '-r', '--threads', '4', 'tree'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(harness.environment())) as tool:
            tool.send_signal(signal.SIGCONT)
            while not read('/proc/%d/task/%d/children' % (tool.pid, tool.pid)):
                check(tool.poll() is None, 'has ended')
            tool.send_signal(number)
            said = tool.stderr.read()
            check(tool.wait(TIMEOUT) == -number, tool.returncode)
        check(not said, said)


def verify_goes_on_after_an_interruption():
    names = ['tree/%03d-' % i + 'x' * 100 for i in range(200)]
    os.mkdir('tree')
    frame(names[0], numbers(1 << 20))
    for name in names[1:]:
        copy(names[0], name)
    write(names[0], read(names[1])[:-30])
    words = ('verify', '--idle', '--threads', '2', '--resume', 'state', '-r',
             'tree')
    with subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE,
                          env=dict(harness.environment())) as tool:
        # It waits for a reader before it has said all.
        fcntl.fcntl(tool.stdout, fcntl.F_SETPIPE_SZ, 4096)
        while not os.path.exists('state'):
            check(tool.poll() is None, 'has ended')
        tool.send_signal(signal.SIGTERM)
        said = tool.stdout.read().decode()
        check(tool.wait(TIMEOUT) == -signal.SIGTERM, tool.returncode)
    last = read('state').decode().split(' ', 2)[2]
    more = work(*words, status=1)[0]
    done = [line.split(':')[0] for line in said.splitlines()]
    rest = [line.split(':')[0] for line in more.splitlines()]
    check(last in done and last not in rest, last)
    check(set(done + rest) == set(names), 'frames')
    check(min(rest) > last, 'begins with ' + rest[0])
    check(not os.path.exists('state'), 'state is left')


def where_to_go_on_is_checked():
    make_tree()
    write('state', b'b2frame-resume 0 tree/magic-alone')
    check(work('verify', '--resume', 'state', '-r', 'tree')[0].count(': ok') ==
          3, 'those behind')
    write('state', b'b2frame-resume 2 tree/magic-alone')
    work('verify', '--resume', 'state', '-r', 'tree', status=1)
    for known in b'', b'b2frame-resume 2 tree/none', b'b2frame-resume x':
        write('state', known)
        check(work('verify', '--resume', 'state', '-r', 'tree')[0].count(
            ': ok') == 5, 'from the start')
    write('state', b'a file of the user')
    fails('not a file of --resume', 'verify', '--resume', 'state', '-r', 'tree')
    check(read('state') == b'a file of the user', 'is overwritten')


def a_place_that_cannot_be_kept_is_told():
    make_tree()
    with small_disk(64 << 10) as disk:
        state = disk + '/state'
        write(state, b'b2frame-resume 0 tree/magic-alone')
        with contextlib.suppress(OSError), open(disk + '/rest', 'wb') as rest:
            rest.write(b'x' * (64 << 10))
        said, complaints = work('verify', '--resume', state, '-r', 'tree')
        check(said.count(': ok') == 3, said)
        check(complaints.count(os.strerror(errno.ENOSPC)) == 1, complaints)
        check_names('rest', directory=disk)


def what_was_made_of_each_is_told():
    make_tree()
    write('tree/none.b2frame', b'')
    os.makedirs('files/sub')
    write('files/a', numbers(100000))
    write('files/sub/b', noise(5000))
    told = json.loads(work('compact', '-r', '--json', 'tree', status=1)[0])
    check([item['ok'] for item in told] == [True, True, False, True, True, True],
          told)
    check(told[0]['nbytes'] == 100000 and told[0]['before'] > 0 and
          told[0]['stored'] == info('tree/a.b2frame')['stored'], told[0])
    said = work('compact', '--table', 'tree/a.b2frame', 'tree/sparse')[0]
    lines = said.splitlines()
    check(len(lines) == 4 and 'tree/a.b2frame' in lines[1] and
          lines[-1].endswith('2 frames'), said)
    check(work('compact', 'tree/a.b2frame')[0] == '', 'it is not asked to tell')
    told = json.loads(work('create', '-r', '--json', 'files', 'made')[0])
    check([(item['frame'], item['before'], item['nbytes']) for item in told] ==
          [('made/a.b2frame', 100000, 100000),
           ('made/sub/b.b2frame', 5000, 5000)], told)
    check(json.loads(work('create', '-r', '--json', 'files', 'made')[0]) == [],
          'they are made already')
    said = work('convert', '-r', '--table', '--codec', 'zstd', 'made', 'zstd')[0]
    check(said.splitlines()[-1].endswith('2 frames'), said)
    misuse('create', '--json', 'files/a', 'a.b2frame')
    misuse('convert', '--table', 'made/a.b2frame', 'a.b2frame')


main(frames_below_a_directory_are_found,
     a_damaged_frame_does_not_hide_the_others,
     a_table_has_a_row_for_each_and_the_sums,
     no_link_is_followed,
     what_cannot_be_read_is_named,
     all_are_compacted,
     order_does_not_depend_on_threads,
     deep_trees_are_read,
     damaged_stores_are_told_with_the_place,
     many_directories_may_be_given,
     a_full_standard_output_ends_the_work,
     an_interrupt_ends_all_processes,
     verify_goes_on_after_an_interruption,
     where_to_go_on_is_checked,
     a_place_that_cannot_be_kept_is_told,
     what_was_made_of_each_is_told)
