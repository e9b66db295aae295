#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame bad; timeout 300
# test: b2frame hostile; suite hostile; timeout 900; args b2frame corpus
# test: b2frame hostile plugins; suite hostile; args b2frame plugins
"""Damaged and deceptive frames show an error or right content, and nothing
else.

usage: hostile.py B2FRAME [corpus|plugins]

The script tries the frames of test/data/bad, or with `corpus` all frames that
lie beside the source tree.
"""

import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import corpus
import harness
from harness import check

TOOL = sys.argv[1]
TIMEOUT = 60        # seconds for any frame
WHOLE = 64 << 20    # bytes; the content of larger frames is not compared
PIECE = 1 << 20     # bytes read from either end of larger frames
MEMORY = 288 << 20  # bytes: the cache, and 32 MiB

# The frame, the outcomes that are accepted, and the content that it may have,
# also as an array in C order.
Case = collections.namedtuple('Case', 'id path accept contents base arrays')


def b2frame(verb, path, *options):
    return harness.run(TOOL, verb, *options, path, timeout=TIMEOUT)


def bases_out_of_order():
    """Return the ids of frames whose chunks are not stored in the order of the
    index."""
    path = os.path.join(corpus.CORPUS, 'manifest.tsv')
    if not os.path.exists(path):
        return set()
    return {row['id'] for row in corpus.table(path)
            if 'index-order' in row['features']}


def base_content(row, out_of_order):
    """Return the content of the intact frame, or None if it is not at hand or
    cannot be compared.  A damaged index cannot be compared when the chunks are
    out of order, because its other entries name them in order."""
    base = row.get('base', '-')
    if row['class'] == 'index' and base in out_of_order:
        return None
    path = os.path.join(corpus.CORPUS, 'raw', base + '.raw')
    if not os.path.exists(path):
        return None
    with open(path, 'rb') as content:
        data = content.read()
    right = hashlib.sha256(data).hexdigest() == row['base_sha256']
    return data if right else None


def cases(top):
    result = []
    out_of_order = bases_out_of_order()
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        accept = set(row['accept'].split(','))
        contents = {row[word + '_sha256'] for word in accept & {'base', 'ref'}}
        arrays = {row.get(word + '_array_sha256', '-')
                  for word in accept & {'base', 'ref'}}
        result.append(Case(row['id'], os.path.join(top, row['path']), accept,
                           contents - {'-', ''}, base_content(row, out_of_order),
                           arrays - {'-', ''}))
    return result


def special_cases(directory):
    """Make frames that contain pipes, links and holes."""
    top = os.path.join(corpus.CORPUS, 'hostile')
    if not os.path.exists(os.path.join(top, 'special.tsv')):
        return []
    subprocess.run([os.path.join(top, 'make_special.sh'), directory],
                   check=True)
    base = corpus.table(os.path.join(top, 'bases', 'base.tsv'))[0]
    return [Case(row['id'], os.path.join(directory, row['path']),
                 set(row['accept'].split(',')), {base['sha256']}, None, set())
            for row in corpus.table(os.path.join(top, 'special.tsv'))]


def check_error(done, case):
    said = done.stderr.decode(errors='replace')
    check(said.startswith('b2frame: %s: ' % case.path) and
          said.count('\n') == 1, 'is refused with: ' + said)


def check_content(case, data, nbytes):
    """Check that this may be the complete content."""
    check(len(data) == nbytes, '%d bytes, info says %d' % (len(data), nbytes))
    if hashlib.sha256(data).hexdigest() in case.contents:
        return
    if 'prefix' in case.accept and case.base and case.base.startswith(data):
        return
    check('any' in case.accept or not case.contents, 'has other content')


def cat(case, *options):
    """Read a frame.  For an array, read the chunks, because `info` counts their
    bytes."""
    view = ['--raw'] if case.path.endswith('.b2nd') else []
    return b2frame('cat', case.path, *view, *options)


def try_cat(case, nbytes):
    """Read a frame.  Is all of it readable?"""
    if nbytes <= WHOLE:
        done = cat(case)
    else:
        done = cat(case, '--length', str(PIECE))
        if done.returncode == 0:
            done = cat(case, '--offset', str(nbytes - PIECE))
    if done.returncode == 0:
        if nbytes <= WHOLE:
            check_content(case, done.stdout, nbytes)
        return True
    check_error(done, case)
    check('any' in case.accept or not case.base or
          case.base.startswith(done.stdout), 'delivers wrong bytes')
    return False


def try_array(case):
    """Read the items of an array.  It may be refused, or may no longer be an
    array."""
    done = b2frame('cat', case.path)
    if done.returncode != 0:
        check_error(done, case)
        check(case.accept & {'error', 'any'}, 'array is refused')
        return
    check('any' in case.accept or
          hashlib.sha256(done.stdout).hexdigest() in
          case.arrays | case.contents,
          'array has other content')


def try_repair(case):
    """A frame that repair writes can be read."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, 'out')
        harness.run(TOOL, 'repair', case.path, out)
        if os.path.exists(out):
            done = harness.run(TOOL, 'cat', '--length', '0', out)
            check(done.returncode == 0,
                  'repaired: says ' + done.stderr.decode(errors='replace'))


def test(case):
    done = b2frame('info', case.path, '--json')
    opened = done.returncode == 0
    if opened:
        readable = try_cat(case, json.loads(done.stdout)['nbytes'])
    else:
        check_error(done, case)
        done = cat(case)
        check(done.returncode == 1 and not done.stdout,
              'is read though info refuses it')
        check_error(done, case)
        readable = False
    check(readable or case.accept & {'error', 'any'}, 'is refused')

    if case.arrays and opened:
        try_array(case)
    shown = b2frame('cat', case.path, '--length', '0').returncode == 0
    done = b2frame('verify', case.path)
    check(done.returncode == 1 or
          readable and shown and case.accept != {'error'},
          'verify finds no fault')
    check(harness.SANITIZED or harness.peak_memory() < MEMORY,
          'takes %d MiB' % (harness.peak_memory() >> 20))


def test_with_repair(case):
    test(case)
    try_repair(case)


def main():
    harness.limit_memory()
    if corpus.WANTED:
        corpus.need_corpus()
        with tempfile.TemporaryDirectory() as directory:
            harness.run_all(test_with_repair,
                           cases(os.path.join(corpus.CORPUS, 'hostile')) +
                           special_cases(directory))
    harness.run_all(test, cases(os.path.join(corpus.DATA, 'bad')))


main()
