#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame map; timeout 300
"""b2frame map draws a frame.

usage: map.py B2FRAME [TEST...]
"""

import os
import pty
import re
import subprocess
import xml.etree.ElementTree

import corpus
import harness
from scene import (TOOL, b2frame, check, check_names, fails, frame, main,
                   misuse, noise, read, write)

DATA = os.path.join(corpus.DATA, 'frames')
MEDLEY = os.path.join(DATA, 'medley-4.b2frame')
SVG = '{http://www.w3.org/2000/svg}'
KIB = 1024


def draw(path, **variables):
    """Return the drawing in a terminal of 40 columns."""
    ours, theirs = pty.openpty()
    environment = dict(harness.environment(), COLUMNS='40', **variables)
    for name in ('COLORTERM', 'NO_COLOR'):
        if name not in variables:
            environment.pop(name, None)
    with subprocess.Popen([TOOL, 'map', path], stdin=subprocess.DEVNULL,
                          stdout=theirs, env=environment) as tool:
        os.close(theirs)
        drawn = b''
        try:
            while piece := os.read(ours, 65536):
                drawn += piece
        except OSError:
            pass  # the tool has closed the terminal
    os.close(ours)
    check(tool.returncode == 0, 'status %d' % tool.returncode)
    return drawn.decode().replace('\r\n', '\n')


def characters_stand_for_ratios_and_kinds():
    content = noise(4 * KIB) + bytes(8 * KIB) + b'abcdefgh' * 4 * KIB
    frame('a', content, '--chunksize', '4K', '--typesize', '1')
    lines = b2frame('map', 'a').decode().splitlines()
    check(lines[1] == '11 chunks', lines)
    check(lines[2] == '0..55555555', lines)
    check('dead space 0 B' in lines[4], lines)
    check(lines[-1].startswith('. zeros'), lines)


def special_chunks_are_told_apart():
    lines = b2frame('map', MEDLEY).decode().splitlines()
    check(lines[2] == '0=.N1...0=12=.1', lines)


def damage_shows():
    frame('a', noise(20 * KIB), '--chunksize', '4K')
    data = read('a')
    at = data.index(noise(12)) - 32 + 12
    write('a', data[:at] + b'\xff' * 4 + data[at + 4:])
    check('\n!0000\n' in b2frame('map', 'a').decode(), 'no damage')


def dead_space_shows():
    frame('a', noise(64 * KIB), '--chunksize', '16K')
    b2frame('update', 'a', '1', '-', stdin=bytes(16 * KIB))
    lines = b2frame('map', 'a').decode().splitlines()
    check('dead space 16.' in lines[4] and '~~~~~' in lines[5], lines)
    b2frame('compact', 'a')
    lines = b2frame('map', 'a').decode().splitlines()
    check('dead space 0 B' in lines[4] and '~' not in lines[5], lines)


def many_chunks_come_in_groups():
    frame('a', noise(100000), '--chunksize', '10')
    lines = b2frame('map', 'a').decode().splitlines()
    check(lines[1] == '10000 chunks, 6 in a cell', lines)
    check(sum(len(line) for line in lines[2:lines.index('')]) == 1667, lines)


def a_terminal_has_colors():
    drawn = draw(MEDLEY, TERM='xterm', COLORTERM='truecolor')
    check('\033[48;2;' in drawn, drawn)
    drawn = draw(MEDLEY, TERM='xterm-256color')
    check('\033[48;5;' in drawn and '48;2' not in drawn, drawn)
    plain = re.sub('\033[^m]*m', '', drawn).split('\n')
    check(len(plain[2]) == 30 and len(plain[5]) <= 40, plain)


def colors_can_be_refused():
    for variables in ({'TERM': 'xterm'}, {'TERM': 'dumb'},
                      {'TERM': 'xterm-256color', 'NO_COLOR': '1'}):
        check('\033' not in draw(MEDLEY, **variables), variables)


def a_picture_has_a_cell_for_each_chunk():
    b2frame('map', '--svg', 'a.svg', MEDLEY)
    root = xml.etree.ElementTree.parse('a.svg').getroot()
    titles = [title.text for title in root.iter(SVG + 'title')]
    check(len(titles) == 15 and titles[2] == 'chunk 2: zeros', titles)
    check(b2frame('map', '--svg', '-', MEDLEY) == read('a.svg'), 'stdout')


def names_do_not_break_the_picture():
    frame('<&>\n\1', b'x')
    b2frame('map', '--svg', 'a.svg', '<&>\n\1')
    root = xml.etree.ElementTree.parse('a.svg').getroot()
    check(root.find(SVG + 'text').text == '<&>\\x0a\\x01', 'name')


def all_frames_can_be_drawn():
    for item in corpus.data_frames():
        options = ['--frame-offset', str(item.offset)] * (item.offset > 0)
        done = harness.run(TOOL, 'map', '--svg', '-', *options, item.path)
        if item.error:
            continue
        check(done.returncode == 0, item.id)
        xml.etree.ElementTree.fromstring(done.stdout)


def hostile_frames_do_no_harm():
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        harness.run(TOOL, 'map', os.path.join(top, row['path']), timeout=10)


def a_picture_is_not_overwritten_without_force():
    write('a.svg', b'mine')
    fails('exists already', 'map', '--svg', 'a.svg', MEDLEY)
    check(read('a.svg') == b'mine', 'overwritten')
    b2frame('map', '--force', '--svg', 'a.svg', MEDLEY)
    check(read('a.svg').startswith(b'<svg'), 'not replaced')
    check_names('a.svg')


def wrong_usage_is_told():
    misuse('map', '--svg')
    misuse('map', 'a', 'b')
    write('noise', noise(1000))
    fails('no Blosc2 frame', 'map', 'noise')


main(characters_stand_for_ratios_and_kinds, special_chunks_are_told_apart,
     damage_shows, dead_space_shows, many_chunks_come_in_groups,
     a_terminal_has_colors, colors_can_be_refused,
     a_picture_has_a_cell_for_each_chunk, names_do_not_break_the_picture,
     all_frames_can_be_drawn, hostile_frames_do_no_harm,
     a_picture_is_not_overwritten_without_force, wrong_usage_is_told)
