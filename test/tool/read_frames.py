#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame frames; timeout 300
# test: b2frame corpus; suite corpus; timeout 900; args b2frame corpus
# test: b2frame plugins; suite corpus; timeout 900; args b2frame plugins
"""Every frame has the content that its writer recorded.

usage: read_frames.py B2FRAME [corpus|plugins]

The script reads the frames of test/data, or with another argument
all frames of that corpus, beside the source tree.
"""

import hashlib
import json
import random
import sys

import corpus
import harness
from harness import check

TOOL = sys.argv[1]


def b2frame(verb, frame, *options, timeout=60):
    if frame.offset:
        options += ('--frame-offset', str(frame.offset))
    return harness.run(TOOL, verb, *options, frame.path, timeout=timeout)


def view(frame):
    """Return the options for the view that the manifests describe: the chunks
    of an array.  Other frames need no option."""
    return ['--raw'] if frame.array else []


def cat(frame, offset=None, length=None):
    options = view(frame)
    if offset is not None:
        options += ['--offset', str(offset)]
    if length is not None:
        options += ['--length', str(length)]
    done = b2frame('cat', frame, *options)
    check(done.returncode == 0, done.stderr.decode().strip())
    check(not done.stderr, 'says ' + done.stderr.decode().strip())
    return done.stdout


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def check_whole(frame):
    """Read all bytes, then the same bytes in two odd pieces."""
    data = cat(frame)
    check(len(data) == frame.nbytes, 'has %d bytes' % len(data))
    check(sha256(data) == frame.sha256, 'has other content')

    pick = random.Random(frame.id)
    offset = pick.randint(0, len(data))
    length = pick.randint(0, len(data))
    check(cat(frame, offset, length) == data[offset:offset + length],
          'differs in %d+%d' % (offset, length))
    check(cat(frame, offset) == data[offset:], 'differs from %d' % offset)
    check(cat(frame, frame.nbytes) == b'', 'has bytes behind its end')


def check_windows(frame):
    for window in frame.windows:
        data = cat(frame, window.offset, window.length)
        check(len(data) == window.length and sha256(data) == window.sha256,
              'differs in %d+%d' % (window.offset, window.length))


def check_refused(frame):
    """cat and verify refuse the frame in one line."""
    word = {'ENOTSUP': 'not supported', 'EBADMSG': ''}[frame.error]
    done = b2frame('cat', frame, *view(frame))
    said = done.stderr.decode()
    check(done.returncode == 1, 'is not refused')
    check(said.startswith('b2frame: %s: ' % frame.path) and word in said and
          said.count('\n') == 1, 'is refused with: ' + said)


def check_verify(frame):
    done = b2frame('verify', frame)
    said = done.stdout.decode()
    if frame.error:
        check(done.returncode == 1 and said.startswith(frame.path + ': '),
              'verify finds no fault')
    else:
        check(done.returncode == 0 and said == frame.path + ': ok\n',
              'verify says ' + said)


def printable(name):
    """Return a name as it is written in layers.tsv."""
    return ''.join('\\x%02x' % ord(c) if c < ' ' or c in '\\\x7f' else c
                   for c in name)


def layers_of(info):
    """Return the metalayers of `info --json` as rows of layers.tsv."""
    return {(layer['kind'], printable(layer['name']), layer['size'],
             sha256(bytes.fromhex(layer['content'])))
            for layer in info['metalayers']}


def check_info(frame, layers):
    done = b2frame('info', frame, '--json')
    if frame.error == 'EBADMSG' and done.returncode == 1:
        return
    check(done.returncode == 0, done.stderr.decode().strip())
    info = json.loads(done.stdout)
    check(info['nbytes'] == frame.nbytes, 'info: nbytes %d' % info['nbytes'])
    if layers is not None:
        check(layers_of(info) == layers, 'info: metalayers differ')


def test(item):
    frame, layers = item.frame, item.layers
    if frame.error:
        check_refused(frame)
    elif frame.windows:
        check_windows(frame)
    else:
        check_whole(frame)
    check_verify(frame)
    check_info(frame, layers)
    limit = 0 if harness.SANITIZED else 288 << 20
    check(not limit or harness.peak_memory() < limit,
          'takes %d MiB' % (harness.peak_memory() >> 20))


def main():
    harness.limit_memory()
    if corpus.WANTED:
        corpus.need_corpus()
        items = corpus.corpus_items()
    else:
        items = corpus.data_items()
    harness.run_all(test, items)


main()
