#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame change; timeout 300
"""The verbs of b2frame that change the chunks of a frame.

usage: change.py B2FRAME [TEST...]
"""

import os
import signal
import struct

import corpus
import harness
from scene import (LAYOUTS, TOOL, b2frame, check, check_frame, check_names,
                   copy, fails, frame, info, interrupt, layouts, main, misuse,
                   noise, numbers, read, remove, small_disk, write)

SIZE = 1000
CHANGES = {
    'append': ('f', 'in'),
    'insert': ('f', '0', 'in'),
    'update': ('f', '0', 'in'),
    'delete': ('f', '0'),
    'reorder': ('f', '1,0,2'),
    'truncate': ('--size', '1500', 'f'),
    'compact': ('f',),
}


def make(content, layout='contiguous', path='f'):
    """Make a frame of chunks of SIZE bytes."""
    return frame(path, content, '--chunksize', str(SIZE), '--typesize', '1',
                 '--layout', layout, '--force')


def chunks(*numbers_):
    """Return the content of some chunks, which all differ."""
    return b''.join(noise(SIZE, n) for n in numbers_)


@layouts
def append_goes_on_behind_the_last_byte(layout):
    content = b''
    make(content, layout)
    for size in (0, 1, 998, 1, 1, 2500, 1000, 10):
        more = noise(size, size)
        b2frame('append', 'f', '-', stdin=more)
        content += more
        check_frame('f', content)
    write('in', noise(5000, 1))
    b2frame('append', 'f', 'in')
    check_frame('f', content + noise(5000, 1))
    check(info('f')['chunksize'] == SIZE, 'chunksize')


def append_lets_holes_be_holes():
    make(noise(1500))
    with open('in', 'wb') as file:
        file.truncate(1 << 30)
    b2frame('append', 'f', 'in')
    check(info('f')['nbytes'] == (1 << 30) + 1500, 'size')
    check(b2frame('cat', '--length', '2000', 'f') == noise(1500) + bytes(500),
          'content')
    check(os.path.getsize('f') < 1 << 20, 'takes up space')


@layouts
def insert_moves_what_follows(layout):
    make(chunks(1, 2), layout)
    b2frame('insert', 'f', '0', write('in', chunks(0)))
    b2frame('insert', 'f', '3', '-', stdin=chunks(4))
    b2frame('insert', 'f', '3', '-', stdin=chunks(3))
    b2frame('insert', 'f', '5', '-', stdin=b'end')
    check_frame('f', chunks(0, 1, 2, 3, 4) + b'end')


@layouts
def update_replaces_a_chunk(layout):
    make(chunks(0, 1, 2), layout)
    b2frame('update', 'f', '1', '-', stdin=chunks(7))
    b2frame('update', 'f', '2', '-', stdin=b'end')
    check_frame('f', chunks(0, 7) + b'end')
    b2frame('update', 'f', '0', '-', stdin=bytes(SIZE))
    check_frame('f', bytes(SIZE) + chunks(7) + b'end')
    check(info('f', '--chunks')['chunks'][0]['kind'] == 'zeros', 'kind')


@layouts
def keys_stay_with_their_chunks(layout):
    """The vlmetalayer has no checks, so the keys are those of the places."""
    keys = [7, 3, 9]
    make(chunks(0, 1, 2), layout)
    b2frame('meta', 'set', 'f', 'framefs.keys', '-',
            stdin=struct.pack('<10Q', 1, 0, 20, 3, *keys, 0, 0, 0))

    def shown(path='f'):
        return [chunk.get('key')
                for chunk in info(path, '--chunks')['chunks']]
    check(shown() == keys, shown())
    b2frame('reorder', 'f', '2,0,1')
    b2frame('delete', 'f', '1')
    b2frame('insert', 'f', '1', '-', stdin=chunks(5))
    b2frame('update', 'f', '0', '-', stdin=chunks(6))
    b2frame('append', 'f', '-', stdin=chunks(8))
    b2frame('compact', 'f')
    check(shown() == [9, 20, 3, 21], shown())
    table = b2frame('info', '--chunks', 'f').decode()
    check(table.split('key')[-1].split('\n')[2].split()[:2] == ['1', '20'],
          table)
    b2frame('convert', '--force', '--layout', 'sparse', 'f', 'g')
    check(shown('g') == [9, 20, 3, 21], shown('g'))
    b2frame('convert', '--force', '--codec', 'zlib', 'f', 'g')
    check(shown('g') == [None] * 4, shown('g'))
    b2frame('truncate', '--size', '0', 'f')
    b2frame('append', 'f', '-', stdin=chunks(8))
    check(shown() == [22], shown())


@layouts
def delete_closes_the_gap(layout):
    make(chunks(0, 1, 2) + b'end', layout)
    b2frame('delete', 'f', '1')
    check_frame('f', chunks(0, 2) + b'end')
    b2frame('delete', 'f', '2')
    b2frame('delete', 'f', '0')
    b2frame('delete', 'f', '0')
    check_frame('f', b'')
    b2frame('append', 'f', '-', stdin=chunks(5))
    check_frame('f', chunks(5))


@layouts
def reorder_takes_numbers_and_runs(layout):
    make(chunks(*range(10)), layout)
    b2frame('reorder', 'f', '9-5,0,1-3, 4')
    check_frame('f', chunks(9, 8, 7, 6, 5, 0, 1, 2, 3, 4))
    write('order', b'9-0\n')
    b2frame('reorder', 'f', '@order')
    b2frame('reorder', 'f', '@order')  # which is the old order
    fails('none: No such file', 'reorder', 'f', '@none')
    b2frame('reorder', 'f', '-', stdin=b'5-9\n4\n3\n2 1\t0\n')
    check_frame('f', chunks(*range(10)))


@layouts
def truncate_cuts_and_grows(layout):
    content = chunks(0, 1, 2, 3)
    make(content, layout)
    for size in (3500, 3200, 2000, 1999, 1, 0, 10, 1000, 3333):
        b2frame('truncate', '--size', str(size), 'f')
        content = content[:size] + bytes(max(0, size - len(content)))
        check_frame('f', content)
    b2frame('truncate', '--size', '1M', 'f')
    check(info('f')['nbytes'] == 1 << 20, 'size')


def compact_gives_dead_space_back():
    make(chunks(*range(20)))
    for _ in range(3):
        for n in range(20):
            b2frame('update', 'f', str(n), '-', stdin=chunks(n + 50))
    before = os.path.getsize('f')
    os.chmod('f', 0o640)
    b2frame('compact', 'f')
    check_frame('f', chunks(*range(50, 70)))
    check(os.path.getsize('f') < before, 'is no smaller')
    check(os.path.getsize('f') < 21 * (SIZE + 32) + 500, 'is too large')
    check(os.stat('f').st_mode & 0o777 == 0o640, 'mode')
    places = [c['offset'] for c in info('f', '--chunks')['chunks']]
    check(places == sorted(places), 'out of order')
    check_names('f')


def compact_removes_files_without_chunks():
    make(chunks(0, 1), 'sparse')
    write('f/0000002A.chunk', b'orphan')
    b2frame('compact', 'f')
    check_frame('f', chunks(0, 1))
    check_names('00000000.chunk', '00000001.chunk', 'chunks.b2frame',
                directory='f')


# Codecs of the first betas, which no program writes any more.
ONLY_READ = ('lizard', 'snappy')


def whole_frames():
    """Yield the readable frames of test/data, each with its description."""
    for row in corpus.data_frames():
        if not row.error and not row.offset and not row.windows:
            yield row.path, info(row.path)


def chunks_of_any_size_are_kept_apart():
    found = 0
    for source, told in whole_frames():
        if told['chunksize'] > 0 or told['nchunks'] == 0 or told['vlblocks']:
            continue
        copy(source, 'v')
        content = b2frame('cat', 'v')
        b2frame('append', 'v', '-', stdin=b'abc')
        b2frame('insert', 'v', '0', '-', stdin=b'defgh')
        check_frame('v', b'defgh' + content + b'abc')
        b2frame('update', 'v', '0', '-', stdin=numbers(5000))
        b2frame('delete', 'v', str(told['nchunks'] + 1))
        b2frame('compact', 'v')
        check_frame('v', numbers(5000) + content)
        fails('keeps its size', 'truncate', '--size', '10', 'v')
        remove('v')
        found += 1
    check(found > 0, 'there are no such frames')


def old_frames_become_new_ones():
    found = 0
    for source, told in whole_frames():
        if told['format'] == 'E' or told['codec'] in ONLY_READ:
            continue
        copy(source, 'old')
        content = b2frame('cat', 'old')
        b2frame('append', 'old', '-', stdin=b'more')
        check_frame('old', content + b'more')
        check(info('old')['format'] == 'E', source + ' keeps its format')
        remove('old')
        found += 1
    check(found > 0, 'there are no such frames')


def what_does_not_fit_changes_nothing():
    make(chunks(0, 1) + b'end')
    before = read('f')
    write('in', chunks(5))
    write('short', b'short')
    write('none', b'')
    fails("can't have 5 bytes", 'insert', 'f', '0', 'short')
    fails("can't have 5 bytes", 'update', 'f', '1', 'short')
    fails("can't have 1000 bytes", 'insert', 'f', '3', 'in')
    fails('no chunk 3, but 3', 'update', 'f', '3', 'in')
    fails('no chunk 4, but 3', 'insert', 'f', '4', 'in')
    fails('no chunk 3', 'delete', 'f', '3')
    fails('is empty', 'insert', 'f', '0', 'none')
    for order in ('', '0', '0,1,2,3', '0,0,2', '2,1,0', '0,1,x', '0;1,2',
                  '0-99999999999', '1-', '99999999999999999999'):
        fails('each of the 3 chunks once', 'reorder', 'f', order)
    check(read('f') == before, 'the frame has changed')


def chunks_of_an_array_stay_as_they_are():
    write('in', chunks(5))
    for layer in 'b2nd', 'caterva':
        frame('f', b'', '--chunksize', str(SIZE))
        b2frame('meta', 'set', '--fixed', 'f', layer, '-', stdin=b'shape')
        for verb in ('append', 'insert', 'delete', 'reorder', 'truncate'):
            fails('f: is an array', verb, *CHANGES[verb])
        fails('f: offset', 'convert', '--chunksize', '5000', 'f', 'g')
        b2frame('compact', 'f')
        b2frame('convert', '--codec', 'zstd', 'f', 'g')
        check_names('f', 'g', 'in')
        os.unlink('f')
        os.unlink('g')


def a_chunk_of_an_array_is_replaced():
    write('in', chunks(0, 1, 2))
    b2frame('create', '--shape', '3,1000', '--chunks', '1,1000', '--dtype',
            '|u1', 'in', 'f')
    b2frame('update', 'f', '1', '-', stdin=chunks(7))
    check_frame('f', chunks(0, 7, 2))


def wrong_usage_is_explained():
    write('in', chunks(5))
    make(chunks(0, 1, 2))
    before = read('f')
    for verb, words in CHANGES.items():
        misuse(verb)
        misuse(verb, *words[:-1])
        if verb != 'compact':
            misuse(verb, *words, 'x')
        misuse(verb, '--frobnicate', *words)
        misuse(verb, '--frame-offset', '0', *words)
    for number in ('x', '-1', '1-2', '', '99999999999999999999'):
        misuse('delete', '--', 'f', number)
        misuse('insert', '--', 'f', number, 'in')
        misuse('update', '--', 'f', number, 'in')
    misuse('truncate', 'f')
    misuse('truncate', '--size', 'x', 'f')
    check(read('f') == before, 'the frame has changed')


def what_cannot_be_read_is_named():
    make(chunks(0, 1, 2))
    write('plain', b'no frame' * 100)
    os.mkdir('empty')
    for verb, words in CHANGES.items():
        for path, reason in (('none', 'No such file'), ('plain', 'offset 0: '),
                             ('empty', 'No such file')):
            write('in', chunks(5))
            words = [path if word == 'f' else word for word in CHANGES[verb]]
            said = fails(reason, verb, *words)
            check(said.startswith('b2frame: %s: ' % path), said)
        os.unlink('in')
        if 'in' in words:
            fails('in: No such file', verb, *CHANGES[verb])
    check(read('plain') == b'no frame' * 100, 'is written over')


def damaged_frames_fail_or_stay_good():
    """Each verb succeeds or prints one line, and never crashes."""
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        for verb in ('compact', 'truncate'):
            copy(os.path.join(top, row['path']), 'f')
            done = harness.run(TOOL, verb, *CHANGES[verb])
            said = done.stderr.decode(errors='replace')
            check(done.returncode in (0, 1) and
                  said.count('\n') == done.returncode,
                  '%s %s: %d, %s' % (verb, row['id'], done.returncode, said))
            remove('f')


def full_disk_leaves_the_frame_as_it_was():
    with small_disk(256 << 10) as disk:
        for layout in LAYOUTS:
            path = disk + '/f'
            make(chunks(0, 1), layout, path)
            names = os.listdir(disk)
            fails('No space left', 'append', path, '-', stdin=noise(1 << 20))
            check_frame(path, chunks(0, 1))
            check_names(*names, directory=disk)
            b2frame('append', path, '-', stdin=b'small')
            check_frame(path, chunks(0, 1) + b'small')
            remove(path)


def interrupted_append_leaves_the_frame_as_it_was():
    for layout in LAYOUTS:
        for number in (signal.SIGINT, signal.SIGTERM):
            make(chunks(0, 1), layout)
            grown = (lambda _: len(os.listdir('f')) > 4) if layout == 'sparse' \
                else (lambda _: os.path.getsize('f') > 10 * SIZE)
            interrupt(number, 'append', 'f', '-', first=noise(200 * SIZE),
                      begun=grown)
            check_frame('f', chunks(0, 1))
            b2frame('append', 'f', '-', stdin=b'more')
            check_frame('f', chunks(0, 1) + b'more')
            check_names('f')
            b2frame('create', '--force', '/dev/null', 'f')


main(append_goes_on_behind_the_last_byte,
     append_lets_holes_be_holes,
     insert_moves_what_follows,
     update_replaces_a_chunk,
     keys_stay_with_their_chunks,
     delete_closes_the_gap,
     reorder_takes_numbers_and_runs,
     truncate_cuts_and_grows,
     compact_gives_dead_space_back,
     compact_removes_files_without_chunks,
     chunks_of_any_size_are_kept_apart,
     old_frames_become_new_ones,
     what_does_not_fit_changes_nothing,
     chunks_of_an_array_stay_as_they_are,
     a_chunk_of_an_array_is_replaced,
     wrong_usage_is_explained,
     what_cannot_be_read_is_named,
     damaged_frames_fail_or_stay_good,
     full_disk_leaves_the_frame_as_it_was,
     interrupted_append_leaves_the_frame_as_it_was)
