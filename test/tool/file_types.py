#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: file types; args b2frame
"""file(1), and programs that ask for MIME types, know frames.

usage: file_types.py B2FRAME [TEST...]
"""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import harness
from corpus import SOURCE
from scene import b2frame, check, main, write

TYPES = os.path.join(SOURCE, 'packaging/types')
MIME = 'application/x-blosc2-frame'


def ask(*words):
    done = subprocess.run(['file', '-b', '-m',
                           os.path.join(TYPES, 'framefs.magic'), *words],
                          check=True, capture_output=True, text=True)
    check(not done.stderr, done.stderr)
    return done.stdout.strip()


def file_tells_frames_and_their_sizes():
    write('raw', bytes(range(250)) * 4)
    for layout, kind in (('contiguous', 'contiguous'),
                         ('sparse', 'index of a sparse one')):
        b2frame('create', '--layout', layout, '--typesize', '4', 'raw',
                layout + '.b2frame')
        path = layout + '.b2frame'
        if layout == 'sparse':
            path += '/chunks.b2frame'
        said = ask(path)
        check(said.startswith('Blosc2 frame, %s, 1000 bytes in ' % kind) and
              said.endswith(', items of 4'), said)
        check(ask('--mime-type', path) == MIME, 'MIME type')
    check('Blosc2' not in ask('raw'), 'raw bytes')


def the_mime_type_has_the_same_name():
    top = xml.etree.ElementTree.parse(os.path.join(TYPES, 'framefs.xml'))
    types = [element.get('type') for element in top.getroot()]
    check(types == [MIME], types)


if not shutil.which('file'):
    print('no file(1) here')
    sys.exit(harness.SKIP)
main(file_tells_frames_and_their_sizes,
     the_mime_type_has_the_same_name)
