#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame create; timeout 120
"""b2frame create makes frames from files and from standard input.

usage: create.py B2FRAME [TEST...]
"""

import os
import signal
import stat
import subprocess

from scene import (LAYOUTS, TIMEOUT, TOOL, b2frame, check, check_frame,
                   check_names, fails, frame, harness, has_begun, info,
                   interrupt, main, misuse, noise, numbers, read, remove,
                   small_disk, write)

MIB = 1 << 20


def content_of_any_size_comes_back():
    for size in (0, 1, 3, MIB - 1, MIB, MIB + 1):
        data = numbers(size)
        write('in', data)
        for layout in LAYOUTS:
            b2frame('create', '--layout', layout, 'in', 'file')
            b2frame('create', '--layout', layout, '-', 'pipe', stdin=data)
            for name in ('file', 'pipe'):
                check(os.path.isdir(name) == (layout == 'sparse'), 'layout')
                check_frame(name, data)
                b2frame('create', '--force', '--layout', 'contiguous', 'in',
                        name)
                os.unlink(name)


def file_and_pipe_make_the_same_frame():
    data = numbers(3 * MIB) + noise(MIB + 5)
    b2frame('create', '--chunksize', '64K', write('in', data), 'file')
    frame('pipe', data, '--chunksize', '64K')
    check(read('file') == read('pipe'), 'the frames differ')


def standard_output_gets_the_same_frame():
    write('in', numbers(3 * MIB))
    b2frame('create', 'in', 'a')
    os.environ['TMPDIR'] = os.getcwd()
    check(b2frame('create', 'in', '-') == read('a'), 'create')
    check(b2frame('convert', 'a', '-') == read('a'), 'convert')
    fails('Is a directory', 'create', '--layout', 'sparse', 'in', '-')
    os.environ['TMPDIR'] = 'none'
    fails('No such file', 'create', 'in', '-')
    del os.environ['TMPDIR']
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([TOOL, 'create', 'in', '-'], stdout=full,
                              stderr=subprocess.PIPE, check=False)
    check(done.returncode == 1 and b'No space left' in done.stderr, done)
    os.environ['TMPDIR'] = os.getcwd()
    write('in', noise(3 * MIB))  # more than a pipe holds
    with subprocess.Popen([TOOL, 'create', 'in', '-'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as tool:
        tool.stdout.close()
        check(tool.stderr.read() == b'', 'complains of a pipe that is closed')
    del os.environ['TMPDIR']
    check(tool.returncode == -signal.SIGPIPE, tool.returncode)
    check_names('in', 'a')


def options_are_heeded():
    frame('a', numbers(100000), '--codec', 'zstd', '--clevel', '7',
          '--filters', 'shuffle+bytedelta:4', '--typesize', '4', '--chunksize',
          '10000', '--blocksize', '1000')
    check_frame('a', numbers(100000))
    told = info('a', '--chunks')
    check((told['codec'], told['clevel'], told['typesize'], told['chunksize'],
           told['blocksize']) == ('zstd', 7, 4, 10000, 1000), told)
    check([(f['name'], f['meta']) for f in told['filters']] ==
          [('shuffle', 0), ('bytedelta', 4)], told['filters'])
    check(told['nchunks'] == 10, told['nchunks'])
    frame('b', numbers(100000), '--codec', 'blosclz', '--filters', 'none')
    check((info('b')['codec'], info('b')['filters']) == ('blosclz', []), 'b')


def typesize_goes_with_the_content():
    frame('numbers', numbers(100000))
    frame('noise', noise(100000))
    check(info('numbers')['typesize'] == 4, info('numbers')['typesize'])
    check(info('noise')['typesize'] == 1, info('noise')['typesize'])


def chunksize_is_a_multiple_of_the_typesize():
    frame('a', noise(1000), '--typesize', '7', '--chunksize', '100')
    check(info('a')['chunksize'] == 98, info('a')['chunksize'])
    check_frame('a', noise(1000))


def holes_take_neither_time_nor_space():
    size = 1 << 40
    with open('in', 'wb') as file:
        file.seek(3 * MIB + 5)
        file.write(numbers(1000))
        file.truncate(size)
    b2frame('create', 'in', 'a')
    check(info('a')['nbytes'] == size, 'size')
    check(info('a')['typesize'] == 4, 'typesize')
    check(os.path.getsize('a') < MIB, 'takes %d' % os.path.getsize('a'))
    part = b2frame('cat', '--length', '5M', 'a')
    check(part == bytes(3 * MIB + 5) + numbers(1000) +
          bytes(2 * MIB - 1005), 'content')


def owner_mode_and_times_are_kept():
    write('in', noise(300000))
    os.chmod('in', 0o640)
    os.utime('in', ns=(1000000000123456789, 1100000000123456789))
    if os.geteuid() == 0:
        os.chown('in', 1234, 4321)
    want = os.stat('in')
    b2frame('create', 'in', 'a')
    b2frame('create', '--layout', 'sparse', 'in', 'b')
    for path in ('a', 'b/chunks.b2frame'):
        got = os.stat(path)
        check((got.st_uid, got.st_gid, got.st_mode, got.st_mtime_ns) ==
              (want.st_uid, want.st_gid, want.st_mode, want.st_mtime_ns),
              '%s: %s' % (path, got))
    check(os.stat('a').st_atime_ns == want.st_atime_ns, 'access time')
    for name in os.listdir('b') + ['.']:
        got = os.stat(os.path.join('b', name))
        mode = 0o750 if name == '.' else 0o640
        check((got.st_uid, got.st_gid, stat.S_IMODE(got.st_mode)) ==
              (want.st_uid, want.st_gid, mode), '%s: %s' % (name, got))


def pipe_makes_a_file_like_any_other():
    old = os.umask(0o027)
    try:
        frame('a', b'x')
        frame('b', b'x', '--layout', 'sparse')
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(os.stat(path).st_mode)
             for path in ('a', 'b', 'b/chunks.b2frame')]
    check(modes == [0o640, 0o750, 0o640], [oct(mode) for mode in modes])


def nothing_is_replaced_without_force():
    write('in', b'new')
    frame('sparse', b'old', '--layout', 'sparse')
    write('file', b'old')
    os.symlink('nowhere', 'link')
    for name in ('sparse', 'sparse/', 'file', 'link'):
        fails('exists already', 'create', 'in', name)
    check(read('file') == b'old', 'is replaced')
    check_names('in', 'sparse', 'file', 'link')


def force_replaces_files_and_frames():
    write('in', b'new')
    for layout in LAYOUTS:
        frame('sparse', b'old', '--layout', 'sparse', '--force')
        frame('file', b'old', '--force')
        frame('target', b'old', '--force')
        if not os.path.islink('link'):
            os.symlink('target', 'link')
        for name in ('sparse', 'file', 'link'):
            b2frame('create', '--force', '--layout', layout, 'in', name)
            check_frame(name, b'new')
        check(os.path.islink('link'), 'the link is replaced')
        check_names('in', 'sparse', 'file', 'target', 'link')


def force_spares_what_is_no_frame():
    write('in', b'new')
    os.mkdir('empty')
    os.mkdir('full')
    write('full/keep', b'')
    frame('both', b'old', '--layout', 'sparse')
    write('both/keep', b'')
    os.mkfifo('fifo')
    for name in ('empty', 'full', 'both', 'fifo', '.', '/dev/null'):
        fails('is not replaced', 'create', '--force', 'in', name)
    check_names('in', 'empty', 'full', 'both', 'fifo')


def wrong_usage_is_explained():
    write('in', b'x')
    misuse('create')
    misuse('create', 'in')
    misuse('create', 'in', 'a', 'b')
    misuse('create', '--frobnicate', 'in', 'a')
    for option, value in (('--codec', 'rar'), ('--clevel', '10'),
                          ('--clevel', '-1'), ('--filters', 'sieve'),
                          ('--filters', ''), ('--typesize', '0'),
                          ('--typesize', '256'), ('--chunksize', '0'),
                          ('--chunksize', '3G'), ('--chunksize', '1X'),
                          ('--blocksize', '-'), ('--layout', 'round')):
        misuse('create', option, value, 'in', 'a')
    misuse('create', '--filters', 'trunc_prec:99', '--typesize', '4', 'in', 'a')
    check_names('in')


def what_cannot_be_read_or_written_is_named():
    write('in', b'x')
    fails('none: No such file', 'create', 'none', 'a')
    fails('.: Is a directory', 'create', '.', 'a')
    fails('none/a: No such file', 'create', 'in', 'none/a')
    fails('in/a: Not a directory', 'create', 'in', 'in/a')
    fails('n' * 256 + ': File name too long', 'create', 'in', 'n' * 256)
    check_names('in')


def full_disk_leaves_nothing():
    write('in', noise(3 * MIB))
    with small_disk(2 * MIB) as disk:
        for layout in LAYOUTS:
            fails('No space left', 'create', '--layout', layout, 'in',
                  disk + '/a')
            check_names(directory=disk)
        frame(disk + '/a', b'old')
        fails('No space left', 'create', '--force', 'in', disk + '/a')
        check_frame(disk + '/a', b'old')
        check_names('a', directory=disk)


def interrupted_it_leaves_nothing():
    for layout in LAYOUTS:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            interrupt(number, 'create', '--layout', layout, '-', 'a',
                      first=noise(3 * MIB))
            check_names()
    frame('a', b'old')
    interrupt(signal.SIGINT, 'create', '--force', '-', 'a', first=noise(MIB))
    check_frame('a', b'old')
    check_names('a')


def what_was_left_when_it_was_killed_goes_with_the_next():
    for layout in LAYOUTS:
        interrupt(signal.SIGKILL, 'create', '--layout', layout, '-', 'a',
                  first=noise(3 * MIB))
        check(layout == 'contiguous' or os.listdir('.'), 'nothing was left')
        frame('b', b'next')
        check_names('b')
        os.unlink('b')


def what_goes_to_standard_output_has_no_name():
    os.mkdir('tmp')
    write('in', noise(3 * MIB))
    with subprocess.Popen([TOOL, 'create', 'in', '-'], stdout=subprocess.PIPE,
                          bufsize=0,
                          env=dict(harness.environment(), TMPDIR='tmp')) as tool:
        start = tool.stdout.read(1)
        check(not os.listdir('tmp'), 'it has: %s' % os.listdir('tmp'))
        write('a', start + tool.stdout.read())
        check(tool.wait(TIMEOUT) == 0, 'status')
    check_frame('a', noise(3 * MIB))


def what_others_are_making_stays():
    for layout in LAYOUTS:
        words = [TOOL, 'create', '--layout', layout, '-', 'a']
        with subprocess.Popen(words, stdin=subprocess.PIPE, bufsize=0,
                              env=harness.environment()) as tool:
            tool.stdin.write(noise(3 * MIB))
            while not has_begun(tool):
                check(tool.poll() is None, 'has ended')
            frame('b', b'other')
            tool.stdin.close()
            check(tool.wait(TIMEOUT) == 0, 'it was disturbed')
        check_frame('a', noise(3 * MIB))
        check_names('a', 'b')
        remove('a')
        remove('b')


main(content_of_any_size_comes_back,
     file_and_pipe_make_the_same_frame,
     standard_output_gets_the_same_frame,
     options_are_heeded,
     typesize_goes_with_the_content,
     chunksize_is_a_multiple_of_the_typesize,
     holes_take_neither_time_nor_space,
     owner_mode_and_times_are_kept,
     pipe_makes_a_file_like_any_other,
     nothing_is_replaced_without_force,
     force_replaces_files_and_frames,
     force_spares_what_is_no_frame,
     wrong_usage_is_explained,
     what_cannot_be_read_or_written_is_named,
     full_disk_leaves_nothing,
     interrupted_it_leaves_nothing,
     what_was_left_when_it_was_killed_goes_with_the_next,
     what_goes_to_standard_output_has_no_name,
     what_others_are_making_stays)
