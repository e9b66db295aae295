#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame every_verb; timeout 120
"""Every verb of b2frame fails in the way that all verbs promise.

Other tests cover the success of each verb.  This one covers failures: wrong
usage, input that cannot be read or is hostile, a full disk, and an interrupt.

usage: every_verb.py B2FRAME [TEST...]
"""

import glob
import os
import signal
import subprocess

from scene import (TIMEOUT, TOOL, b2frame, check, check_names, copy, frame,
                   harness, main, misuse, noise, numbers, read, remove,
                   small_disk, verbs, write)

CONTENT = numbers(300000)
BAD = sorted(glob.glob(os.path.join(harness.SOURCE, 'test', 'data', 'bad',
                                    '*-not-a-frame.*')))

# The arguments of each verb.  FRAME stands for a frame, OUT for a file to be
# made, and `in` is a file.
VERBS = {
    'info': ('FRAME',),
    'cat': ('FRAME',),
    'verify': ('FRAME',),
    'create': ('in', 'OUT'),
    'append': ('FRAME', 'in'),
    'insert': ('FRAME', '0', 'in'),
    'update': ('FRAME', '0', 'in'),
    'delete': ('FRAME', '0'),
    'reorder': ('FRAME', '1,0,2'),
    'truncate': ('--size', '1M', 'FRAME'),
    'meta list': ('FRAME',),
    'meta get': ('FRAME', 'name'),
    'meta set': ('FRAME', 'name', 'in'),
    'meta rm': ('FRAME', 'name'),
    'convert': ('FRAME', 'OUT'),
    'compact': ('FRAME',),
    'repair': ('FRAME', 'OUT'),
    'map': ('FRAME',),
    'estimate': ('in',),
}
PRINTING = ('info', 'cat', 'verify', 'meta list', 'meta get', 'map',
            'estimate')
# Verbs that store new data, and verbs that do not.
LARGE = ('create', 'append', 'insert', 'update', 'meta set', 'convert', 'repair')
SMALL = ('delete', 'reorder', 'truncate', 'meta rm', 'compact')
JUDGING = ('verify', 'repair')
FROM_STDIN = ('create', 'append', 'insert', 'update', 'reorder', 'meta set',
              'estimate')


def words(verb, path='f', out='out', source='in'):
    names = {'FRAME': path, 'OUT': out, 'in': source}
    return [*verb.split(), *(names.get(word, word) for word in VERBS[verb])]


def refused(verb, *line, stdout=subprocess.PIPE):
    """Run a verb, which must fail.  Return the one line that gives the reason,
    or the standard output of a verb that judges a frame."""
    done = subprocess.run([TOOL, *line], check=False, stdout=stdout,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          timeout=TIMEOUT, env=harness.environment())
    said = done.stderr.decode()
    what = '%s: status %d, says %s%s' % (' '.join(line), done.returncode, said,
                                         done.stdout or '')
    check(done.returncode == 1, what)
    if verb in JUDGING and not said:
        check(done.stdout, what)
        return done.stdout.decode()
    check(said.count('\n') == 1 and said.startswith('b2frame: '), what)
    check(verb in JUDGING or not done.stdout, what)
    return said


def make(directory='.'):
    path = os.path.join(directory, 'f')
    frame(path, CONTENT, '--chunksize', '100000')
    write('in', noise(100000))
    b2frame('meta', 'set', path, 'name', 'in')
    return path


def all_verbs_are_here():
    listed = verbs()
    # These need a server or a store, see ticket.py, s3_write.py and
    # ../mount/mount_stores.py.
    check(set(listed) == {verb.split()[0] for verb in VERBS} |
          {'ticket', 'gc', 'ls'}, listed)


def they_do_it():
    for verb in VERBS:
        make()
        b2frame(*words(verb))
        for name in os.listdir('.'):
            remove(name)


def too_few_words_and_odd_options_are_misuse():
    make()
    before = read('f')
    for verb in VERBS:
        misuse(*verb.split())
        misuse(*verb.split(), '--frobnicate', *words(verb)[len(verb.split()):])
        if verb not in ('info', 'verify', 'compact', 'repair'):
            misuse(*words(verb), 'more')
        check(read('f') == before, verb + ' has changed the frame')
        check_names('f', 'in')


def all_have_the_common_options():
    make()
    for verb in {verb.split()[0]: verb for verb in VERBS}:
        check(b2frame(verb, '-h') == b2frame(verb, '--help'), verb)
        check(b2frame(verb, '-V') == b2frame('--version'), verb)
        for number in ('0', '1025', 'x', '-1'):
            misuse(verb, '--threads', number)
        misuse(verb, '--help=x')
        misuse(verb, '--threads')
    line = words('cat')
    check(b2frame(*line, '--threads', '1') == b2frame(*line), 'cat')


def frames_come_from_standard_input():
    make()
    whole = read('f')
    for verb in ('info', 'cat', 'verify', 'map', 'meta list'):
        line = [*verb.split(), '-']
        want = b2frame(*verb.split(), 'f')
        if verb not in ('verify', 'map'):  # which print the name
            check(b2frame(*line, stdin=whole) == want, verb + ' of a pipe')
            with open('f', 'rb') as file:
                done = subprocess.run([TOOL, *line], stdin=file, check=True,
                                      stdout=subprocess.PIPE)
            check(done.stdout == want, verb + ' of a file')
        b2frame(*line, stdin=whole)
    for data in (b'', b'no frame', whole[:100]):
        for verb in ('info', 'cat', 'map'):
            b2frame(verb, '-', stdin=data, status=1)
    with small_disk(1 << 16) as disk:
        os.environ['TMPDIR'] = disk
        said = b2frame('cat', '-', stdin=whole + noise(1 << 17), status=1)
        del os.environ['TMPDIR']
        check('No space left' in said, verb + ': ' + said)


def what_cannot_be_read_is_named_on_one_line():
    make()
    os.mkdir('directory')
    write('other', b'no frame')
    for verb in VERBS:
        paths = ['none', 'directory']
        if 'FRAME' in VERBS[verb]:
            paths.append('other')
        for path in paths:
            said = refused(verb, *words(verb, path=path, source=path))
            check(path + ': ' in said, said)
        check_names('directory', 'f', 'in', 'other')
        check(read('other') == b'no frame', verb + ' has changed a file')


def hostile_frames_are_refused_on_one_line():
    write('in', noise(100))
    check(BAD, 'there are none')
    for verb in VERBS:
        for bad in BAD if 'FRAME' in VERBS[verb] else ():
            copy(bad, 'f')
            refused(verb, *words(verb))
            remove('f')
            if verb == 'repair' and os.path.exists('out'):
                remove('out')  # whatever repair could save
            check_names('in')


def a_full_standard_output_is_told():
    make()
    for verb, *line in [(verb, *words(verb)) for verb in PRINTING] + [
            ('info', 'info', '--help'), ('cat', 'cat', '--version')]:
        with open('/dev/full', 'wb') as full:
            said = refused(verb, *line, stdout=full)
        check('No space left' in said, verb + ': ' + said)


def fill(path):
    """Fill a disk until no space is left."""
    with open(path, 'wb', buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def a_full_disk_leaves_what_was_there():
    with small_disk(1 << 20) as disk:
        path = make(disk)
        before = read(path)
        write('in', noise(100000))
        write('more', noise(2 << 20))
        for verb in LARGE + SMALL:
            fill(disk + '/filler')
            line = words(verb, path=path, out=disk + '/out', source='more' if
                         verb in ('create', 'append', 'meta set') else 'in')
            if verb in LARGE or not fits(line):
                said = refused(verb, *line)
                check('No space left' in said, verb + ': ' + said)
                check(read(path) == before, verb + ' has changed the frame')
            check_names('f', 'filler', directory=disk)
            os.unlink(disk + '/filler')
            b2frame('verify', path)
            write(path, before)


def fits(line):
    """Does the verb succeed on a full disk?  It does if it frees more space
    than it needs."""
    return subprocess.run([TOOL, *line], check=False, stderr=subprocess.PIPE,
                          env=harness.environment()).returncode == 0


def an_interrupt_changes_nothing():
    path = make()
    before = read(path)
    for verb in FROM_STDIN:
        line = [TOOL, *verb.split(), *words(verb, source='-')[
            len(verb.split()):]]
        if verb == 'reorder':
            line[-1] = '-'
        with subprocess.Popen(line, stdin=subprocess.PIPE, bufsize=0,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE,
                              env=harness.environment()) as tool:
            tool.stdin.write(noise(1 << 17))  # more than a pipe holds
            tool.send_signal(signal.SIGINT)
            said = tool.stderr.read()
            check(tool.wait(TIMEOUT) == -signal.SIGINT,
                  '%s: status %d' % (verb, tool.returncode))
        check(not said, '%s says %s' % (verb, said))
        check(read(path) == before, verb + ' has changed the frame')
        check_names('f', 'in')


main(all_verbs_are_here,
     they_do_it,
     too_few_words_and_odd_options_are_misuse,
     all_have_the_common_options,
     frames_come_from_standard_input,
     what_cannot_be_read_is_named_on_one_line,
     hostile_frames_are_refused_on_one_line,
     a_full_standard_output_is_told,
     a_full_disk_leaves_what_was_there,
     an_interrupt_changes_nothing)
