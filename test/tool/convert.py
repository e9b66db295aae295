#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame convert; timeout 300
"""b2frame convert copies frames to another layout or compression.

usage: convert.py B2FRAME [TEST...]
"""

import os
import signal
import stat
import subprocess

import corpus
import harness
from scene import (LAYOUTS, TIMEOUT, TOOL, b2frame, check, check_frame,
                   check_names, copy, fails, frame, has_begun, info, main,
                   misuse, noise, numbers, read, remove, small_disk, write)



def layers(path, *options):
    """Return the metalayers.  The nameless layer of old frames gets its current
    name."""
    return [dict(layer, kind='vl', name='usermeta')
            if layer['kind'] == 'usermeta' else layer
            for layer in info(path, *options)['metalayers']]


def stored(path, *options):
    """Return the description of the chunks without their places, and without
    their sizes, to which sums add."""
    return [{key: value for key, value in chunk.items()
             if key not in ('offset', 'id', 'cbytes')}
            for chunk in info(path, '--chunks', *options)['chunks']]


def chunks_are_copied_as_they_are():
    """The test converts all frames of test/data that it can read."""
    for row in corpus.data_frames():
        options = ('--frame-offset', str(row.offset)) if row.offset else ()
        told = info(row.path, *options) if row.error != 'EBADMSG' else {}
        if row.error or row.windows or told['nbytes'] > 1 << 24:
            continue
        layout = LAYOUTS[told['layout'] == 'contiguous']
        content = b2frame('cat', *options, row.path)
        b2frame('convert', '--layout', layout, *options, row.path, 'a')
        check(info('a')['layout'] == layout, row.id + ': layout')
        check(b2frame('cat', 'a') == content, row.id + ': content')
        b2frame('verify', 'a')
        check(layers('a') == layers(row.path, *options), row.id + ': layers')
        if told['format'] == 'E' and not row.id.startswith(('short-', 'odd-')):
            check(stored('a') == stored(row.path, *options),
                  row.id + ': chunks')
        remove('a')


def there_and_back_is_the_same_frame():
    content = numbers(50000) + bytes(20000) + noise(30001)
    frame('a', content, '--chunksize', '10000')
    b2frame('meta', 'set', 'a', 'note', '-', stdin=b'vl')
    b2frame('compact', 'a')
    b2frame('convert', '--layout', 'sparse', 'a', 'b')
    check_frame('b', content)
    b2frame('convert', '--layout', 'contiguous', 'b', 'c')
    check_frame('c', content)
    check(read('a') == read('c'), 'the frames differ')
    check([c['kind'] for c in stored('b')].count('zeros') == 2, stored('b'))


def frames_whose_codec_is_lacking_are_copied():
    path = os.path.join(corpus.DATA, 'frames', 'ndlz4.b2nd')
    lacking = bytearray(read(path))
    for chunk in info(path, '--chunks')['chunks']:
        if chunk['kind'] == 'blocks':
            lacking[chunk['offset'] + 22] = 200  # a codec of a user
    with open('lacking.b2nd', 'wb') as out:
        out.write(lacking)
    b2frame('convert', '--layout', 'sparse', 'lacking.b2nd', 'a')
    b2frame('convert', '--layout', 'contiguous', 'a', 'b')
    check(stored('b') == stored('lacking.b2nd'), 'chunks')
    fails('', 'convert', '--codec', 'lz4', '--filters', 'none', 'lacking.b2nd',
          'c')
    check_names('a', 'b', 'lacking.b2nd')


def chunks_are_encoded_as_is_said():
    content = numbers(100000)
    frame('a', b'', '--typesize', '4', '--chunksize', '10000', '--clevel', '3')
    b2frame('meta', 'set', '--fixed', 'a', 'fixed', '-', stdin=b'header')
    b2frame('meta', 'set', 'a', 'vl', '-', stdin=b'trailer')
    b2frame('append', 'a', '-', stdin=content)
    b2frame('convert', '--codec', 'zstd', 'a', 'b')
    b2frame('convert', '--chunksize', '7001', '--layout', 'sparse', 'a', 'c')
    b2frame('convert', '--typesize', 'auto', '--filters', 'bitshuffle', 'a',
            'd')
    for name in 'bcd':
        check_frame(name, content)
        check(layers(name) == layers('a'), name + ': metalayers')
    told = info('b')
    check((told['codec'], told['clevel'], told['typesize'], told['chunksize'],
           told['layout']) == ('zstd', 3, 4, 10000, 'contiguous'), told)
    told = info('c')
    check((told['codec'], told['typesize'], told['chunksize'],
           told['layout']) == ('lz4', 4, 7000, 'sparse'), told)
    check(info('d')['filters'][0]['name'] == 'bitshuffle', info('d'))


def same_parameters_mean_a_copy():
    frame('a', numbers(100000), '--typesize', '4', '--chunksize', '10000',
          '--clevel', '9')
    b2frame('convert', '--typesize', '4', '--clevel', '9', 'a', 'b')
    check(read('a') == read('b'), 'the frames differ')


def holes_stay_holes():
    frame('a', b'x')
    b2frame('truncate', '--size', '1T', 'a')
    for options in ((), ('--codec', 'zstd', '--chunksize', '4M')):
        b2frame('convert', *options, 'a', 'b')
        check(info('b')['nbytes'] == 1 << 40, info('b'))
        check(os.path.getsize('b') < 1 << 20, 'takes up space')
        check(b2frame('cat', '--length', '3', 'b') == b'x\0\0', 'content')
        remove('b')


def frames_of_chunks_of_any_size_become_ordinary():
    for row in corpus.data_frames():
        if row.error or row.offset or row.windows or \
                info(row.path)['chunksize'] or not info(row.path)['nbytes']:
            continue
        b2frame('convert', '--chunksize', '5000', row.path, 'a')
        check(info('a')['chunksize'] > 0, row.id + ': chunksize')
        check_frame('a', b2frame('cat', row.path))
        remove('a')


def owner_mode_and_times_are_kept():
    frame('a', noise(3000), '--chunksize', '1000')
    if os.geteuid() == 0:
        os.chown('a', 1234, 4321)
    os.chmod('a', 0o604)
    os.utime('a', ns=(10**18 + 1, 10**18 + 2))
    want = os.stat('a')
    b2frame('convert', '--layout', 'sparse', 'a', 'b')
    b2frame('convert', '--layout', 'contiguous', 'b', 'c')
    for path in ('b/chunks.b2frame', 'c'):
        got = os.stat(path)
        check((got.st_uid, got.st_gid, got.st_mode, got.st_mtime_ns) ==
              (want.st_uid, want.st_gid, want.st_mode, want.st_mtime_ns),
              '%s: %s' % (path, got))
    check(stat.S_IMODE(os.stat('b').st_mode) == 0o705, 'mode of the directory')


def nothing_is_replaced_without_force():
    frame('a', b'new')
    write('b', b'old')
    fails('exists already', 'convert', 'a', 'b')
    fails('exists already', 'convert', 'a', 'a')
    check(read('b') == b'old', 'is replaced')
    b2frame('convert', '--force', 'a', 'b')
    check_frame('b', b'new')
    b2frame('convert', '--force', '--layout', 'sparse', 'a', 'a')
    check_frame('a', b'new')
    b2frame('convert', '--force', '--clevel', '9', 'a', 'a')
    check_frame('a', b'new')
    check(os.path.isdir('a'), 'layout')
    check_names('a', 'b')


def a_sparse_frame_is_replaced_with_its_lock():
    frame('a', b'new')
    frame('b', b'old', '--layout', 'sparse')
    write('b/.b2lock', b'')
    b2frame('convert', '--force', 'a', 'b')
    check_frame('b', b'new')
    check_names('a', 'b')


def wrong_usage_is_explained():
    frame('a', b'x')
    misuse('convert')
    misuse('convert', 'a')
    misuse('convert', 'a', 'b', 'c')
    misuse('convert', '--layout', 'round', 'a', 'b')
    misuse('convert', '--codec', 'rar', 'a', 'b')
    fails('trunc_prec wants', 'convert', '--filters', 'trunc_prec:99', 'a', 'b')
    misuse('convert', '--frobnicate', 'a', 'b')
    check_names('a')


def what_cannot_be_read_or_written_is_named():
    frame('a', noise(1 << 20))
    write('plain', b'no frame' * 100)
    fails('none: No such file', 'convert', 'none', 'b')
    fails('plain: offset 0: ', 'convert', 'plain', 'b')
    fails('none/b: No such file', 'convert', 'a', 'none/b')
    check_names('a', 'plain')
    with small_disk(256 << 10) as disk:
        for options in ((), ('--codec', 'zstd'), ('--layout', 'sparse')):
            fails('No space left', 'convert', *options, 'a', disk + '/b')
            check_names(directory=disk)


def damaged_frames_leave_nothing_or_a_frame():
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        copy(os.path.join(top, row['path']), 'f')
        for options in ((), ('--codec', 'zlib')):
            done = harness.run(TOOL, 'convert', *options, 'f', 'g')
            what = '%s: status %d, says: %s' % (
                row['id'], done.returncode, done.stderr.decode())
            check(done.returncode in (0, 1) and
                  done.stderr.count(b'\n') == done.returncode, what)
            check(os.path.exists('g') == (done.returncode == 0), what)
            if os.path.exists('g'):
                remove('g')
            check_names('f')
        remove('f')


def interrupted_it_leaves_nothing():
    """The interrupt may arrive at any moment of the work."""
    frame('a', noise(8 << 20), '--chunksize', '16K')
    for options in (('--layout', 'sparse'), ('--codec', 'zlib')):
        with subprocess.Popen([TOOL, 'convert', *options, 'a', 'b'],
                              stderr=subprocess.PIPE) as tool:
            while not has_begun(tool) and tool.poll() is None:
                pass
            tool.send_signal(signal.SIGTERM)
            said = tool.stderr.read()
            status = tool.wait(timeout=TIMEOUT)
        check(status in (0, -signal.SIGTERM) and not said,
              'status %d, says %s' % (status, said))
        if status == 0:
            check_frame('b', noise(8 << 20))
            remove('b')
        check_names('a')


main(chunks_are_copied_as_they_are,
     there_and_back_is_the_same_frame,
     frames_whose_codec_is_lacking_are_copied,
     chunks_are_encoded_as_is_said,
     same_parameters_mean_a_copy,
     holes_stay_holes,
     frames_of_chunks_of_any_size_become_ordinary,
     owner_mode_and_times_are_kept,
     nothing_is_replaced_without_force,
     a_sparse_frame_is_replaced_with_its_lock,
     wrong_usage_is_explained,
     what_cannot_be_read_or_written_is_named,
     damaged_frames_leave_nothing_or_a_frame,
     interrupted_it_leaves_nothing)
