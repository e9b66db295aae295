#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame estimate; timeout 180
"""b2frame estimate tries settings that may suit a file.

usage: estimate.py B2FRAME [TEST...]
"""

import json
import os
import re

from scene import (b2frame, check, check_frame, fails, info, main, misuse,
                   noise, numbers, write)

KIB = 1024


def estimate(*words, stdin=b''):
    return json.loads(b2frame('estimate', '--json', '--sample', '64K', *words,
                              stdin=stdin))


def every_codec_filter_and_typesize_is_tried():
    told = estimate(write('in', numbers(64 * KIB)))
    trials = told['trials']
    listed = re.search(r'--codec NAME +(.*)',
                       b2frame('create', '--help').decode())[1]
    codecs = re.split(', | or ', listed.split(';')[0])
    check(len(codecs) >= 5, listed)
    check({t['codec'] for t in trials} == set(codecs), trials)
    check({t['typesize'] for t in trials} == {1, 2, 4, 8, 16}, trials)
    check({t['filters'] for t in trials} ==
          {'none', 'shuffle', 'bitshuffle', 'shuffle+bytedelta',
           'delta+shuffle'}, trials)
    ratios = [t['ratio'] for t in trials]
    check(ratios == sorted(ratios, reverse=True), ratios)
    check(len({t['options'] for t in trials}) == len(trials), 'twice')
    check(all(t['compress_mbs'] > 0 and t['decompress_mbs'] > 0
              for t in trials), trials)
    check(told['sample'] == 64 * KIB, told['sample'])


def the_smallest_is_best_for_size():
    told = estimate('--typesize', '4', write('in', numbers(64 * KIB)))
    check(told['best']['size']['ratio'] == told['trials'][0]['ratio'], told)
    check(told['best']['size']['ratio'] > 10, told['best'])
    check(set(told['best']) == {'size', 'speed', 'balance'}, told['best'])


def the_ratio_is_what_create_makes():
    data = numbers(64 * KIB)
    write('in', data)
    for trial in estimate('in', '--typesize', '4')['trials'][::6]:
        words = [word for option in trial['options'].split(',')
                 for word in ('--' + option).split('=')]
        b2frame('create', '--force', '--chunksize', '64K', *words, 'in', 'a')
        made, = info('a', '--chunks')['chunks']
        check(abs(len(data) / made['cbytes'] - trial['ratio']) < 0.001,
              '%s: %d bytes' % (trial, made['cbytes']))
    check_frame('a', data)


def the_lines_that_are_printed_can_be_typed():
    text = b2frame('estimate', '--typesize', '4',
                   write('in', noise(10 * KIB))).decode()
    lines = re.findall(r'^  b2frame create (.*)$', text, re.MULTILINE)
    check(len(lines) == 3 and text.count('  framefs -o codec=') == 3, text)
    for line in lines:
        b2frame('create', '--force', *line.split(), 'in', 'a')
        check_frame('a', noise(10 * KIB))
    check('more, which --all shows' in text, text)
    text = b2frame('estimate', '--typesize', '4', '--all', 'in').decode()
    check('which --all shows' not in text and text.count('zstd ') > 10, text)


def a_pipe_will_do():
    told = estimate('-', '--typesize', '4', stdin=numbers(100 * KIB))
    check(told['sample'] == 64 * KIB, told['sample'])
    told = estimate('-', '--typesize', '3', stdin=b'x')
    check(told['sample'] == 1, told['sample'])


def the_sample_comes_from_all_over_the_file():
    with open('in', 'wb') as file:
        for part in range(8):
            file.write(noise(1 << 20, part) if part > 3 else bytes(1 << 20))
    text = b2frame('estimate', '--json', '--sample', '2M', '--typesize', '1',
                   'in')
    ratio = json.loads(text)['best']['size']['ratio']
    check(1.9 < ratio < 2.1, ratio)


def what_cannot_be_read_is_told():
    fails('is empty', 'estimate', write('empty', b''))
    fails('No such file', 'estimate', 'none')
    os.mkdir('directory')
    fails('directory', 'estimate', 'directory')


def wrong_usage_is_told():
    misuse('estimate')
    misuse('estimate', 'a', 'b')
    misuse('estimate', '--typesize', '256', 'a')
    misuse('estimate', '--typesize', '0', 'a')
    misuse('estimate', '--sample', '0', 'a')
    misuse('estimate', '--sample', 'all', 'a')
    misuse('estimate', '--frame-offset', '1', 'a')


main(every_codec_filter_and_typesize_is_tried, the_smallest_is_best_for_size,
     the_ratio_is_what_create_makes, the_lines_that_are_printed_can_be_typed,
     a_pipe_will_do, the_sample_comes_from_all_over_the_file,
     what_cannot_be_read_is_told, wrong_usage_is_told)
