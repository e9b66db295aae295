#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame damaged
"""b2frame names a damaged chunk, and loses only the bytes of that chunk.

usage: damaged.py B2FRAME
"""

import json
import os
import re
import shutil
import sys
import tempfile

import corpus
import harness
from harness import check

TOOL = sys.argv[1]


def b2frame(verb, path, *options):
    return harness.run(TOOL, verb, *options, path)


def spoil(path, offset):
    """Make the stream at an offset longer than its chunk."""
    with open(path, 'r+b') as frame:
        frame.seek(offset)
        frame.write(b'\xff\xff\xff\x7f')


class Case:
    """A copy of a frame to damage, and its description."""

    def __init__(self, name, top):
        self.id = name
        self.path = os.path.join(top, name)
        source = os.path.join(corpus.DATA, 'frames', name)
        self.sparse = os.path.isdir(source)
        copy = shutil.copytree if self.sparse else shutil.copyfile
        copy(source, self.path)
        self.content = b2frame('cat', self.path).stdout
        info = b2frame('info', self.path, '--json', '--chunks').stdout
        self.chunks = json.loads(info)['chunks']

    def damage(self, chunk):
        """Spoil the first stream of a chunk.  Return the message that must
        follow."""
        path, offset, place = self.path, 0, ''
        if self.sparse:
            place = '%08X.chunk: ' % chunk['id']
            path = os.path.join(path, place[:-2])
        else:
            offset = chunk['offset']
        offset += 32 + 4 * chunk['nblocks']
        spoil(path, offset)
        return '%schunk %d, offset (%d|%d): ' % (place, chunk['number'],
                                                 offset, offset + 4)


def test(case):
    """Spoil a chunk in the middle, and read the bytes around it."""
    chunk = [c for c in case.chunks if c['kind'] == 'blocks'][1]
    start = sum(c['nbytes'] for c in case.chunks[:chunk['number']])
    end = start + chunk['nbytes']
    place = case.damage(chunk)

    done = b2frame('cat', case.path)
    said = done.stderr.decode()
    check(done.returncode == 1, 'cat: status %d' % done.returncode)
    check(done.stdout == case.content[:start],
          'cat: %d bytes, not %d' % (len(done.stdout), start))
    check(re.fullmatch('b2frame: %s: %s.*\n' % (case.path, place), said),
          'cat: says ' + said)

    done = b2frame('cat', case.path, '--offset', str(end))
    check(done.returncode == 0 and done.stdout == case.content[end:],
          'cat: what follows is lost')

    done = b2frame('verify', case.path)
    said = done.stdout.decode()
    check(done.returncode == 1 and not done.stderr, 'verify: no fault')
    check(re.fullmatch('%s: %s.*\n' % (case.path, place), said),
          'verify: says ' + said)

    done = b2frame('verify', case.path, '--json')
    result, = json.loads(done.stdout)
    fault, = result['faults']
    check(done.returncode == 1 and result['frame'] == case.path and
          not result['ok'] and fault['kind'] == 'damaged' and
          fault['chunk'] == chunk['number'], 'verify --json: %s' % result)


with tempfile.TemporaryDirectory() as directory:
    harness.run_all(test, [Case(name, directory) for name in
                          ('v2231-plain.b2frame', 'v204-dir.b2frame')])
