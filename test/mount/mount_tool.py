#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount tool
"""b2frame changes frames through the files of a mount.

usage: mount_tool.py FRAMEFS [TEST...]
"""

import functools
import json
import os
import random
import signal
import subprocess

from mounted import (B2FRAME, PATIENCE, Mount, check, check_frames, error_of,
                     harness, heed_signals, layouts, main, read, wait_for,
                     write)

SIZE = 1000  # bytes in a chunk
NOISE = random.Random(1).randbytes(20 * SIZE)
CHUNKS = [NOISE[i:i + SIZE] for i in range(0, len(NOISE), SIZE)]


def b2frame(*words, stdin=b'', status=0, says=''):
    """Run the tool, which prints nothing, or this message in one line."""
    done = subprocess.run([B2FRAME, *words], input=stdin, check=False,
                          capture_output=True, env=harness.environment(),
                          timeout=PATIENCE)
    said = done.stderr.decode()
    what = '%s: status %d, says %s' % (' '.join(words), done.returncode, said)
    check(done.returncode == status and not done.stdout, what)
    check(says in said and said.count('\n') == bool(says), what)


def on_chunks(test):
    """Run a case on a frame of three chunks and a half, for each layout.  The
    case returns the new content, which both the mount and the frame must have.
    """
    @layouts
    @functools.wraps(test)
    def changes(layout):
        data = b''.join(CHUNKS[:3]) + CHUNKS[3][:500]
        options = 'chunksize=%d,typesize=1,layout=%s' % (SIZE, layout)
        with Mount('src', 'mnt', '-o', options) as mount:
            write(mount / 'a', data)
            wanted = test(mount / 'a', data)
            check(read(mount / 'a') == wanted, 'content')
            check(os.stat(mount / 'a').st_size == len(wanted), 'size')
        check_frames({'src/a.b2frame': wanted})
    return changes


@on_chunks
def insert(path, data):
    b2frame('insert', path, '0', '-', stdin=CHUNKS[9])
    b2frame('insert', path, '2', '-', stdin=CHUNKS[8])
    return CHUNKS[9] + data[:SIZE] + CHUNKS[8] + data[SIZE:]


@on_chunks
def reading_verbs(path, data):
    """The verbs that read a frame find that of a mounted file."""
    write(path, data + b'more')  # which is not committed yet
    run = functools.partial(subprocess.run, check=True, capture_output=True,
                            timeout=PATIENCE, env=harness.environment())
    told = json.loads(run([B2FRAME, 'info', '--json', path]).stdout)
    check(told['nbytes'] == len(data) + 4, told)
    check(run([B2FRAME, 'cat', path]).stdout == data + b'more', 'cat')
    check(b': ok' in run([B2FRAME, 'verify', path]).stdout, 'verify')
    check(b'4 chunks' in run([B2FRAME, 'map', path]).stdout, 'map')
    mount = os.path.dirname(path)
    write(os.path.join(mount, 'inner'), read('src/a.b2frame')
          if os.path.isfile('src/a.b2frame') else b'')
    if os.path.isfile('src/a.b2frame'):
        # A file whose bytes are a frame is that frame, not the one around it.
        said = run([B2FRAME, 'cat', os.path.join(mount, 'inner')]).stdout
        check(said == data + b'more', 'inner')
    os.unlink(os.path.join(mount, 'inner'))
    return data + b'more'


@on_chunks
def insert_at_the_end(path, data):
    os.truncate(path, 3 * SIZE)
    b2frame('insert', path, '3', '-', stdin=CHUNKS[9])
    b2frame('insert', path, '4', '-', stdin=b'short')
    return data[:3 * SIZE] + CHUNKS[9] + b'short'


@on_chunks
def update(path, data):
    b2frame('update', path, '1', '-', stdin=CHUNKS[9])
    b2frame('update', path, '3', '-', stdin=b'short')
    return data[:SIZE] + CHUNKS[9] + data[2 * SIZE:3 * SIZE] + b'short'


@on_chunks
def delete(path, data):
    b2frame('delete', path, '3')
    b2frame('delete', path, '0')
    return data[SIZE:3 * SIZE]


@on_chunks
def reorder(path, data):
    b2frame('reorder', path, '0-3')
    b2frame('reorder', path, '2,1,0,3')
    b2frame('reorder', path, '-', stdin=b'0 2 1 3')
    return CHUNKS[2] + CHUNKS[0] + CHUNKS[1] + data[3 * SIZE:]


@on_chunks
def append(path, data):
    write('in', NOISE)
    b2frame('append', path, '-', stdin=b'some')
    b2frame('append', path, 'in')
    b2frame('append', path, '-')
    return data + b'some' + NOISE


@on_chunks
def truncate(path, data):
    b2frame('truncate', '--size', '10K', path)
    b2frame('truncate', '--size', '1500', path)
    b2frame('truncate', '--size', '2500', path)
    return data[:1500] + bytes(1000)


@on_chunks
def what_is_not_yet_committed_counts(path, data):
    with open(path, 'r+b', buffering=0) as file:
        file.seek(3 * SIZE)
        file.write(CHUNKS[4] + CHUNKS[5])
        b2frame('delete', path, '3')
        b2frame('update', path, '3', '-', stdin=CHUNKS[6])
    return data[:3 * SIZE] + CHUNKS[6]


@on_chunks
def wrong_changes_change_nothing(path, data):
    for words, says in (
            (('insert', path, '9', '-'), 'there is no chunk 9, but 4'),
            (('insert', path, '1', '-'), "chunk 1 can't have 4 bytes"),
            (('insert', path, '4', '-'), 'Invalid argument'),
            (('update', path, '4', '-'), 'there is no chunk 4, but 4'),
            (('update', path, '0', '-'), "chunk 0 can't have 4 bytes"),
            (('delete', path, '4'), 'there is no chunk 4, but 4'),
            (('reorder', path, '3,0,1,2'), 'the list must have'),
            (('reorder', path, '0,0,1,3'), 'the list must have'),
            (('reorder', path, '0,1'), 'the list must have'),
            (('append', path, 'none'), 'No such file'),
            (('update', path, '0', 'none'), 'No such file')):
        b2frame(*words, stdin=b'four', status=1, says=says)
    return data


def other_files_are_what_they_were():
    os.mkdir('src')
    write('src/plain', b'plain')
    write('raw', NOISE)
    b2frame('create', '--chunksize', '1000', 'raw', 'src/a.b2frame')
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        b2frame('delete', mount / 'plain', '0', status=1, says='plain: ')
        b2frame('delete', mount / 'a', '0', status=1, says='Read-only file')
    b2frame('delete', 'src/a.b2frame', '0')
    check_frames({'src/a.b2frame': NOISE[SIZE:]})


MIB = 1 << 20


def begin_append(mount, data, **options):
    """Begin to append to a file, and wait until more than a MiB is there.  The
    caller ends the program."""
    write(mount / 'a', b'before')
    tool = subprocess.Popen([B2FRAME, 'append', mount / 'a', '-'],
                            stdin=subprocess.PIPE, bufsize=0,
                            preexec_fn=heed_signals,
                            env=harness.environment(), **options)
    tool.stdin.write(data)
    wait_for(lambda: os.stat(mount / 'a').st_size > MIB, 'what is appended')
    return tool


def an_interrupt_leaves_nothing_appended():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        with begin_append(mount, bytes(3 * MIB)) as tool:
            tool.send_signal(signal.SIGINT)
            check(tool.wait(PATIENCE) == -signal.SIGINT, 'status')
        check(read(mount / 'a') == b'before', 'content')


def an_interrupt_cuts_off_nothing_that_others_appended():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        with begin_append(mount, bytes(MIB), stderr=subprocess.PIPE) as tool:
            with open(mount / 'a', 'ab') as file:
                file.write(b'behind')
            tool.send_signal(signal.SIGINT)
            check(tool.wait(PATIENCE) == -signal.SIGINT, 'status')
            said = tool.stderr.read()
        check(b'another program has appended' in said, 'says %r' % said)
        check(read(mount / 'a') == b'before' + bytes(MIB) + b'behind',
              'content')


def what_others_append_beside_the_tool_stays():
    os.mkdir('src')
    piece = bytes(MIB)
    with Mount('src', 'mnt') as mount:
        with begin_append(mount, piece) as tool:
            with open(mount / 'a', 'ab') as file:
                file.write(b'between')
            tool.stdin.write(piece)
            tool.stdin.close()
            check(tool.wait(PATIENCE) == 0, 'status')
        check(read(mount / 'a') == b'before' + piece + b'between' + piece,
              'content')


def lock_waits(path):
    """Does a process wait for a lock of the file?"""
    inode = ':%d ' % os.stat(path).st_ino
    return any('->' in line and inode in line
               for line in read('/proc/locks').decode().splitlines())


def what_is_appended_at_a_time_comes_in_turn():
    os.mkdir('src')
    half = bytes(MIB)
    with Mount('src', 'mnt') as mount:
        with begin_append(mount, half) as first:
            write('in', NOISE)
            with subprocess.Popen([B2FRAME, 'append', mount / 'a', 'in'],
                                  env=harness.environment()) as second:
                wait_for(lambda: lock_waits(mount / 'a') or
                         second.poll() is not None, 'the second one')
                first.stdin.write(half)
                first.stdin.close()
                check(second.wait(PATIENCE) == 0, 'status of the second')
            check(first.wait(PATIENCE) == 0, 'status of the first')
        check(read(mount / 'a') == b'before' + 2 * half + NOISE, 'content')


@layouts
def frame_that_was_converted_and_renamed_loses_no_change(layout):
    """A program that had it open before gets an error, or its bytes are in the
    frame.  Nothing has the old name when the program writes."""
    with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
        write(mount / 'a', b'before')
        fd = os.open(mount / 'a', os.O_WRONLY | os.O_APPEND)
        os.write(fd, b' that')
        os.fsync(fd)
        b2frame('convert', '--force', '--layout', layout, 'src/a.b2frame',
                'src/a.b2frame')
        os.rename('src/a.b2frame', 'src/b.b2frame')
        done = not error_of(os.write, fd, b', and more')
        done = not error_of(os.fsync, fd) and done
        done = not error_of(os.close, fd) and done
    check_frames({'src/b.b2frame': b'before that' + b', and more' * done})


def force_while(layout, act, says):
    """Make a frame with --force, and act when that is under way.  It must fail,
    and say this."""
    with subprocess.Popen([B2FRAME, 'create', '--force', '--layout', layout,
                           '-', 'src/a.b2frame'], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          env=harness.environment()) as tool:
        tool.stdin.write(bytes(MIB))
        act()
        _, said = tool.communicate(b'end', PATIENCE)
    check(tool.returncode == 1 and says in said.decode(),
          'status %d: %s' % (tool.returncode, said))


@layouts
def force_replaces_nothing_that_came_later(layout):
    def put(data):
        b2frame('create', '--layout', layout, '-', 'src/a.b2frame', stdin=data)

    def put_another():
        os.rename('src/a.b2frame', 'src/old.b2frame')
        put(b'another')

    force_while(layout, lambda: put(b'first'), 'appeared meanwhile')
    check_frames({'src/a.b2frame': b'first'})
    force_while(layout, put_another, 'was replaced or renamed meanwhile')
    check_frames({'src/a.b2frame': b'another', 'src/old.b2frame': b'first'})
    check(sorted(os.listdir('src')) == ['a.b2frame', 'old.b2frame'], 'names')


main(insert,
     reading_verbs,
     insert_at_the_end,
     update,
     delete,
     reorder,
     append,
     truncate,
     what_is_not_yet_committed_counts,
     wrong_changes_change_nothing,
     other_files_are_what_they_were,
     an_interrupt_leaves_nothing_appended,
     an_interrupt_cuts_off_nothing_that_others_appended,
     what_others_append_beside_the_tool_stays,
     what_is_appended_at_a_time_comes_in_turn,
     frame_that_was_converted_and_renamed_loses_no_change,
     force_replaces_nothing_that_came_later)
