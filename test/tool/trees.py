#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame trees; timeout 120
"""b2frame create -r and convert -r make trees of frames.

usage: trees.py B2FRAME [TEST...]
"""

import os
import signal
import stat
import subprocess

from scene import (LAYOUTS, TIMEOUT, TOOL, b2frame, check, check_frame, frame,
                   harness, info, main, misuse, noise, numbers, read,
                   small_disk, work, write)

MIB = 1 << 20
NPY = (b'\x93NUMPY\x01\x00\x76\x00' +
       b"{'descr': '<f4', 'fortran_order': False, 'shape': (5, 50), }".ljust(117)
       + b'\n' + numbers(1000))
WEIRD = b'new\nline\xff'


def run(*words, status=0):
    """Run the tool, which prints nothing.  Return its messages."""
    printed, said = work(*words, status=status)
    check(not printed, '%s: %s' % (words, printed))
    return said


def make_tree():
    os.makedirs('in/sub/empty')
    write('in/a', numbers(300000))
    write('in/none', b'')
    write('in/sub/large', noise(3 * MIB))
    write(b'in/sub/' + WEIRD, b'weird')
    write('in/sub/x.npy', NPY)
    write('in/sub/text.npy', b'no array')
    write('in/old.b2frame', b'no frame')
    os.symlink('a', 'in/link')
    os.symlink('/nowhere', 'in/sub/dangling')
    os.chmod('in/sub', 0o750)
    for path in ('in/a', 'in/sub/empty', 'in/sub'):
        os.utime(path, ns=(10**18 + 5, 11 * 10**17 + 7))


def names_in(top):
    return sorted(os.path.relpath(os.path.join(place, name), top)
                  for place, folders, files in os.walk(top)
                  for name in folders + files)


def check_tree(out='out'):
    weird = os.fsdecode(WEIRD)
    check(names_in(out) == sorted([
        'a.b2frame', 'none.b2frame', 'old.b2frame.b2frame', 'link', 'sub',
        'sub/large.b2frame', 'sub/%s.b2frame' % weird, 'sub/x.b2nd',
        'sub/text.npy.b2frame', 'sub/empty', 'sub/dangling']), names_in(out))
    check_frame(out + '/a.b2frame', numbers(300000))
    check_frame(out + '/sub/large.b2frame', noise(3 * MIB))
    check_frame(out + '/none.b2frame', b'')
    check_frame(out + '/sub/text.npy.b2frame', b'no array')
    check(info(out + '/sub/x.b2nd')['array']['shape'] == [5, 50], 'the array')
    check(os.readlink(out + '/sub/dangling') == '/nowhere', 'the link')
    for name, made in (('a', 'a.b2frame'), ('sub', 'sub'),
                       ('sub/empty', 'sub/empty')):
        want, got = os.stat('in/' + name), os.stat(out + '/' + made)
        check((want.st_mtime_ns, stat.S_IMODE(want.st_mode), want.st_uid) ==
              (got.st_mtime_ns, stat.S_IMODE(got.st_mode), got.st_uid), made)


def a_tree_becomes_a_tree_of_frames():
    make_tree()
    said = run('create', '-r', 'in', 'out')
    check(not said, said)
    check_tree()
    check(stat.S_IMODE(os.stat('out').st_mode) ==
          stat.S_IMODE(os.stat('in').st_mode), 'the mode of the tree')


def a_tree_of_frames_is_converted():
    make_tree()
    run('create', '-r', 'in/', 'out/')
    write('out/README', b'no frame')
    write('out/a.b2frame.b2lock', b'')
    for layout in LAYOUTS:
        to = 'to-' + layout
        said = run('convert', '-r', '--codec', 'zstd', '--clevel', '1',
                   '--layout', layout, 'out', to)
        check(said.count('\n') == 1 and '1 files that are no frames' in said,
              said)
        check(info(to + '/sub/large.b2frame')['codec'] == 'zstd', 'codec')
        run('convert', '-r', to, 'back-' + layout)
        run('convert', '-r', '--layout', 'contiguous', 'back-' + layout,
            'again-' + layout)
        check_tree('again-' + layout)


def work_goes_on_where_it_ended():
    make_tree()
    run('create', '-r', 'in', 'out')
    kept = os.stat('out/a.b2frame').st_ino
    os.unlink('out/sub/large.b2frame')
    run('create', '-r', 'in', 'out')
    check_tree()
    check(os.stat('out/a.b2frame').st_ino == kept, 'is made again')
    os.utime('in/a', ns=(0, 5))
    said = run('create', '-r', 'in', 'out', status=1)
    check('out/a.b2frame: exists already' in said and said.count('\n') == 1,
          said)
    run('create', '-r', '--force', 'in', 'out')
    check_tree()
    check(os.stat('out/a.b2frame').st_ino != kept, 'is not made again')


def an_interrupt_leaves_only_whole_frames():
    os.makedirs('in/sub')
    for i in range(200):
        write('in/sub/%d' % i, numbers(MIB))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen([TOOL, 'create', '-r', '--threads', '3', 'in',
                               'out'], stderr=subprocess.PIPE,
                              env=harness.environment()) as tool:
            while not os.path.exists('out/sub/0.b2frame'):
                check(tool.poll() is None, 'has ended')
            tool.send_signal(number)
            said = tool.stderr.read()
            check(tool.wait(TIMEOUT) == -number, tool.returncode)
        check(not said, said)
        names = os.listdir('out/sub')
        check(number == signal.SIGKILL or
              all(name.endswith('.b2frame') for name in names), names)
        b2frame('verify', '--quiet', '-r', 'out')
        os.unlink('out/sub/0.b2frame')
    run('create', '-r', 'in', 'out')
    check(sorted(os.listdir('out/sub')) ==
          sorted('%d.b2frame' % i for i in range(200)), 'not all is there')
    b2frame('verify', '--quiet', '-r', 'out')


def a_full_disk_is_told_and_work_goes_on():
    make_tree()
    with small_disk(2 * MIB) as disk:
        # One after another, so that only the large file finds no room.
        said = run('create', '-r', '--threads', '1', 'in', disk + '/out',
                   status=1)
        check('large.b2frame: ' in said and
              said.count('No space left') == said.count('\n'), said)
        check_frame(disk + '/out/a.b2frame', numbers(300000))
        subprocess.run(['mount', '-o', 'remount,size=8M', disk], check=True)
        run('create', '-r', 'in', disk + '/out')
        check_tree(disk + '/out')


def a_failure_does_not_hide_the_rest():
    make_tree()
    os.mkdir('out')
    os.makedirs('out/a.b2frame/keep')
    write('out/sub', b'a file in the way')
    said = run('create', '-r', '--force', 'in', 'out', status=1)
    check('out/a.b2frame: ' in said and 'out/sub' in said, said)
    check_frame('out/old.b2frame.b2frame', b'no frame')
    check(os.path.isdir('out/a.b2frame/keep'), 'is replaced')
    check(read('out/sub') == b'a file in the way', 'is replaced')


def links_lead_nowhere():
    """No link in the new tree is followed, and none of the old one."""
    make_tree()
    os.mkdir('other')
    write('other/secret', b'secret')
    os.symlink('../other', 'in/away')
    os.makedirs('out')
    os.symlink('../other', 'out/sub')
    write('victim', b'old')
    os.symlink('../victim', 'out/a.b2frame')
    said = run('create', '-r', '--force', 'in', 'out', status=1)
    check('out/sub' in said, said)
    check(os.listdir('other') == ['secret'], os.listdir('other'))
    check(read('victim') == b'old', 'the link was followed')
    check(os.path.islink('out/away'), 'the link was followed')


def a_tree_in_itself_is_left_out():
    make_tree()
    for _ in range(2):
        run('create', '-r', 'in', 'in/out')
        check(not os.path.exists('in/out/out'), 'is not left out')
    os.rename('in/out', 'out')
    check_tree()
    check('is the tree that is read' in run('create', '-r', 'in', 'in/.',
                                            status=1), 'the same tree')


def what_is_no_file_is_left_out():
    make_tree()
    os.mkfifo('in/fifo')
    said = run('create', '-r', 'in', 'out')
    check(said.count('\n') == 1 and 'in/fifo: ' in said, said)
    check_tree()


def no_directory_turns_into_a_frame():
    make_tree()
    write('in/sub/chunks', b'a name that is reserved')
    said = run('create', '-r', 'in', 'out', status=1)
    check(said.count('\n') == 1 and 'in/sub/chunks: ' in said, said)
    check_tree()


def wrong_usage_is_explained():
    make_tree()
    misuse('create', '-r', 'in')
    misuse('create', '-r', '--shape', '3', '--dtype', '<f8', 'in', 'out')
    misuse('create', '-r', 'in', 's3://bucket/out')
    misuse('convert', '-r', '--frame-offset', '1', 'in', 'out')
    check('none: No such file' in run('create', '-r', 'none', 'out', status=1),
          'none')
    check('neither a directory nor a .npz file' in run('create', '-r', 'in/a', 'out', status=1),
          'a file')
    check('in/a: Not a directory' in run('convert', '-r', 'in', 'in/a',
                                         status=1), 'to a file')
    check('-: Not' in run('create', '-r', '-', 'out', status=1) or
          '-: No such file' in run('create', '-r', '-', 'out', status=1), '-')


main(a_tree_becomes_a_tree_of_frames,
     a_tree_of_frames_is_converted,
     work_goes_on_where_it_ended,
     an_interrupt_leaves_only_whole_frames,
     a_full_disk_is_told_and_work_goes_on,
     a_failure_does_not_hide_the_rest,
     links_lead_nowhere,
     a_tree_in_itself_is_left_out,
     what_is_no_file_is_left_out,
     no_directory_turns_into_a_frame,
     wrong_usage_is_explained)
