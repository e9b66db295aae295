#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: frames oracle; args change_frames
"""Another program reads frames that were changed at random.

usage: oracle_frames.py CHANGE_FRAMES

Skipped unless that program, an independent reader, lies beside the source tree.
"""

import os
import subprocess
import sys
import tempfile

import oracle
from harness import SKIP

COUNT = 48


def contents(directory):
    """Return the content that each frame must hold, by its path."""
    result = {}
    for number in range(COUNT):
        path = os.path.join(directory, str(number))
        with open(path + '.raw', 'rb') as raw:
            result[path + '.b2frame'] = raw.read()
    return result


def main():
    if not os.path.exists(sys.argv[1]):
        print('built without libcheck')
        return SKIP
    if not oracle.is_here():
        print('no oracle beside the source tree')
        return SKIP
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.argv[1], directory, str(COUNT)], check=True)
        complaints = oracle.complaints(contents(directory))
    print(complaints or '%d frames are read alike' % COUNT)
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main())
