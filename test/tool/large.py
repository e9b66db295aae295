#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""b2frame create and cat take 3 GiB in little memory.

usage: large.py B2FRAME
"""

import filecmp
import subprocess
import sys

import corpus
from scene import TOOL, b2frame, check, main, numbers

MIB = 1 << 20
SIZE = 3 << 30
MEMORY = 256 << 20
BLOCK = numbers(MIB)


def block(number):
    """Each mebibyte is another one."""
    return number.to_bytes(8, 'little') + BLOCK[8:]


def feed(pipe):
    with pipe:
        for number in range(SIZE // MIB):
            pipe.write(block(number))


def what_was_piped_in_comes_out():
    """Through both at a time, by way of a pipe and of a file."""
    with subprocess.Popen([TOOL, 'create', '-', 'a'],
                          stdin=subprocess.PIPE) as tool:
        feed(tool.stdin)
    check(tool.returncode == 0, 'create: status %d' % tool.returncode)

    with subprocess.Popen([TOOL, 'cat', 'a'], stdout=subprocess.PIPE) as tool, \
            open('file', 'wb') as file:
        for number in range(SIZE // MIB):
            piece = tool.stdout.read(MIB)
            check(piece == block(number), 'differs at %d MiB' % number)
            file.write(piece)
        check(tool.stdout.read(1) == b'', 'there is more')
    check(tool.returncode == 0, 'cat: status %d' % tool.returncode)

    b2frame('create', 'file', 'b')
    check(filecmp.cmp('a', 'b', shallow=False), 'of a file comes another frame')
    check(corpus.peak_memory() < MEMORY,
          'takes %d MiB' % (corpus.peak_memory() >> 20))


if corpus.SANITIZED:
    sys.exit(corpus.SKIP)
main(what_was_piped_in_comes_out)
