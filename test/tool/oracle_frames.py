#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames that were changed by chance, read by another program.

usage: oracle_frames.py CHANGE_FRAMES

Skipped unless that program, an independent reader, lies beside the source
tree.
"""

import os
import subprocess
import sys
import tempfile

from corpus import SKIP, SOURCE

COUNT = 48
PYTHON = '/usr/bin/python3'
ORACLE = os.environ.get('FRAMEFS_ORACLE') or os.path.join(
    os.path.dirname(SOURCE), 'shared', 'oracle', 'b2frame.py')


def check(directory, number):
    """Does the oracle read what the frame must hold?"""
    path = os.path.join(directory, f'{number}.b2frame')
    with open(os.path.join(directory, f'{number}.raw'), 'rb') as raw:
        expected = raw.read()
    result = subprocess.run([PYTHON, ORACLE, 'cat', path],
                            stdout=subprocess.PIPE, check=False)
    if result.returncode == 0 and result.stdout == expected:
        return True
    print(f'frame {number}: exit {result.returncode}, '
          f'{len(result.stdout)} bytes for {len(expected)}')
    return False


def main():
    if not os.path.exists(ORACLE) or not os.path.exists(PYTHON):
        print('no oracle beside the source tree')
        return SKIP
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([sys.argv[1], directory, str(COUNT)], check=True)
        results = [check(directory, n) for n in range(COUNT)]
    print(f'{sum(results)} of {COUNT} frames are read alike')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
