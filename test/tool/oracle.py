#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An independent reader of frames, if it lies beside the source tree.

usage: oracle.py

Reads lines of a frame's path and the SHA-256 of what it must hold, with a tab
between them, from standard input, and prints one for each frame that is read
otherwise.
"""

import hashlib
import os
import subprocess
import sys

PYTHON = '/usr/bin/python3'
ORACLE = os.environ.get('FRAMEFS_ORACLE') or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))), 'shared', 'oracle', 'b2frame.py')


def is_here():
    return os.path.exists(ORACLE) and os.path.exists(PYTHON)


def complaints(frames):
    """What the reader finds wrong, as text.  `frames` has what each must hold,
    by its path."""
    lines = ['%s\t%s\n' % (path, hashlib.sha256(content).hexdigest())
             for path, content in frames.items()]
    done = subprocess.run([PYTHON, os.path.abspath(__file__)],
                          input=''.join(lines), stdout=subprocess.PIPE,
                          check=True, text=True)
    return done.stdout


def look_at(reader, path, wanted):
    """Print what is wrong with one frame."""
    try:
        content = reader.Frame.open(path).read_all()
    except (reader.FrameError, OSError) as error:
        print('%s: %s' % (path, error))
        return
    if hashlib.sha256(content).hexdigest() != wanted:
        print('%s: other content, %d bytes' % (path, len(content)))


def main():
    sys.path.insert(0, os.path.dirname(ORACLE))
    import b2frame  # pylint: disable=import-outside-toplevel,import-error
    for line in sys.stdin:
        look_at(b2frame, *line.rstrip('\n').split('\t'))


if __name__ == '__main__':
    main()
