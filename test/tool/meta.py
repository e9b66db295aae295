#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame meta; timeout 300
"""b2frame meta lists, gets, sets and removes metalayers.

usage: meta.py B2FRAME [TEST...]
"""

import json
import os

import corpus
import harness
from scene import (LAYOUTS, TOOL, b2frame, check, check_frame, copy, fails,
                   frame, info, main, misuse, noise, read, remove, small_disk,
                   write)



def content(path, name, *options):
    return b2frame('meta', 'get', *options, path, name)


def listed(path):
    return [(layer['kind'], layer['name'], layer['size'])
            for layer in json.loads(b2frame('meta', 'list', '--json', path))]


def vlmetalayers_come_and_go():
    for layout in LAYOUTS:
        frame('f', noise(3000), '--chunksize', '1000', '--layout', layout,
              '--force')
        write('in', noise(500))
        b2frame('meta', 'set', 'f', 'a', 'in')
        b2frame('meta', 'set', 'f', 'b', '-', stdin=b'')
        b2frame('meta', 'set', 'f', 'c', '-', stdin=b'\0' * 100000)
        check(listed('f') == [('vl', 'a', 500), ('vl', 'b', 0),
                              ('vl', 'c', 100000)], listed('f'))
        b2frame('meta', 'set', 'f', 'a', '-', stdin=b'other')
        b2frame('meta', 'rm', 'f', 'b')
        check((content('f', 'a'), content('f', 'c')) ==
              (b'other', bytes(100000)), 'content')
        check([layer[1] for layer in listed('f')] == ['a', 'c'], listed('f'))
        check_frame('f', noise(3000))


def metalayers_are_made_before_there_are_chunks():
    for layout in LAYOUTS:
        frame('f', b'', '--layout', layout, '--force')
        b2frame('meta', 'set', '--fixed', 'f', 'one', '-', stdin=b'1')
        b2frame('meta', 'set', '--fixed', 'f', 'two', '-', stdin=b'22')
        b2frame('append', 'f', '-', stdin=noise(3000))
        fails('keeps its length', 'meta', 'set', 'f', 'one', '-', stdin=b'22')
        fails('before there are chunks', 'meta', 'set', '--fixed', 'f', 'new',
              '-', stdin=b'')
        fails("can't be removed", 'meta', 'rm', 'f', 'one')
        b2frame('meta', 'set', 'f', 'one', '-', stdin=b'x')
        check(listed('f') == [('fixed', 'one', 1), ('fixed', 'two', 2)],
              listed('f'))
        check(content('f', 'one') == b'x', 'content')
        check_frame('f', noise(3000))


def one_name_may_be_of_both_kinds():
    frame('f', b'')
    b2frame('meta', 'set', 'f', 'x', '-', stdin=b'vl')
    b2frame('meta', 'set', '--fixed', 'f', 'x', '-', stdin=b'fixed')
    check(content('f', 'x') == b'vl', 'of the trailer')
    check(content('f', 'x', '--fixed') == b'fixed', 'of the header')
    b2frame('meta', 'set', 'f', 'x', '-', stdin=b'other')
    b2frame('meta', 'rm', 'f', 'x')
    check(content('f', 'x') == b'fixed', 'what is left')
    fails("no metalayer 'y'", 'meta', 'get', '--fixed', 'f', 'y')


def text_and_json_name_the_same():
    found = 0
    for row in corpus.data_frames():
        options = ('--frame-offset', str(row.offset))
        if row.error or (row.offset == 0 and os.path.isdir(row.path)):
            continue
        layers = info(row.path, *options)['metalayers']
        told = json.loads(b2frame('meta', 'list', '--json', *options,
                                  row.path))
        for layer in layers:
            hexed = layer.pop('content')
            if not layer.get('escaped') and '\n' not in layer['name']:
                option = ['--fixed'] if layer['kind'] == 'fixed' else []
                got = content(row.path, layer['name'], *options, *option)
                check(got.hex() == hexed, row.id + ': content')
                found += 1
        check(told == layers, row.id + ': %s' % told)
        lines = b2frame('meta', 'list', *options, row.path).split(b'\n')
        check(len(lines) == len(layers) + 1, row.id + ': %s' % lines)
    check(found > 0, 'there are no metalayers')


def odd_names_are_kept():
    frame('f', b'x')
    for name in (b'', b' ', b'a\nb', b'\xff', b'n' * 31):
        b2frame('meta', 'set', 'f', os.fsdecode(name), '-', stdin=name)
        check(content('f', os.fsdecode(name)) == name, 'content of %s' % name)
    check(b2frame('meta', 'list', 'f').count(b'\n') == 5, 'lines')
    fails('at most 31 bytes', 'meta', 'set', 'f', 'n' * 32, '-', stdin=b'')


def wrong_usage_is_explained():
    frame('f', b'x')
    before = read('f')
    misuse('meta')
    misuse('meta', 'frobnicate', 'f')
    misuse('meta', '--frobnicate', 'list', 'f')
    for words in (('list',), ('get', 'f'), ('set', 'f', 'x'), ('rm', 'f')):
        misuse('meta', *words)
    misuse('meta', 'list', 'f', 'x')
    misuse('meta', 'rm', 'f', 'x', 'y')
    misuse('meta', 'list', '--fixed', 'f')
    misuse('meta', 'rm', '--json', 'f', 'x')
    misuse('meta', 'set', '--frame-offset', '1', 'f', 'x', '-')
    check(read('f') == before, 'the frame has changed')


def what_cannot_be_done_is_named():
    frame('f', b'x')
    write('plain', b'no frame' * 100)
    for words in (('list',), ('get', 'x'), ('set', 'x', '-'), ('rm', 'x')):
        fails('none: No such file', 'meta', words[0], 'none', *words[1:])
        fails('plain: offset 0: ', 'meta', words[0], 'plain', *words[1:])
    fails("no metalayer 'x'", 'meta', 'get', 'f', 'x')
    fails("no metalayer 'x'", 'meta', 'rm', 'f', 'x')
    fails('none: No such file', 'meta', 'set', 'f', 'x', 'none')
    with small_disk(256 << 10) as disk:
        frame(disk + '/f', b'x')
        fails('No space left', 'meta', 'set', disk + '/f', 'x', '-',
              stdin=noise(1 << 20))
        check_frame(disk + '/f', b'x')
        check(listed(disk + '/f') == [], 'it has come')


def damaged_frames_cost_one_line():
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        copy(os.path.join(top, row['path']), 'f')
        for words in (('list', '--json', 'f'), ('rm', 'f', 'x')):
            done = harness.run(TOOL, 'meta', *words)
            check(done.returncode in (0, 1) and
                  done.stderr.count(b'\n') == done.returncode,
                  '%s: %s' % (row['id'], done))
        remove('f')


main(vlmetalayers_come_and_go,
     metalayers_are_made_before_there_are_chunks,
     one_name_may_be_of_both_kinds,
     text_and_json_name_the_same,
     odd_names_are_kept,
     wrong_usage_is_explained,
     what_cannot_be_done_is_named,
     damaged_frames_cost_one_line)
