#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame large; timeout 300
"""b2frame handles 3 GiB, and frames of very many chunks, in little memory.

usage: large.py B2FRAME
"""

import filecmp
import subprocess
import sys

import harness
from scene import TOOL, b2frame, check, info, main, numbers

MIB = 1 << 20
SIZE = 3 << 30
MEMORY = 256 << 20
BLOCK = numbers(MIB)
NCHUNKS = 268435451  # with 8 bytes each, the longest possible index
CHUNKSIZE = 4096
CHUNK = BLOCK[:CHUNKSIZE]


def block(number):
    """Return a mebibyte that differs for each number."""
    return number.to_bytes(8, 'little') + BLOCK[8:]


def feed(pipe):
    with pipe:
        for number in range(SIZE // MIB):
            pipe.write(block(number))


def what_was_piped_in_comes_out():
    """The data goes through create and cat in turn, by way of a pipe and of a
    file."""
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
    check(harness.peak_memory() < MEMORY,
          'takes %d MiB' % (harness.peak_memory() >> 20))


def cat(frame, number):
    """Return the bytes of one chunk."""
    with subprocess.Popen(
            [TOOL, 'cat', '--offset', str(number * CHUNKSIZE), '--length',
             str(CHUNKSIZE), frame], stdout=subprocess.PIPE) as tool:
        return tool.stdout.read()


def check_chunks(frame):
    """All chunks but two are zeros."""
    b2frame('verify', frame)
    check(info(frame)['nchunks'] == NCHUNKS, '%s: nchunks' % frame)
    for number in (0, 1, NCHUNKS // 2, NCHUNKS - 1):
        expected = CHUNK if number in (0, NCHUNKS // 2) else bytes(CHUNKSIZE)
        check(cat(frame, number) == expected, '%s: chunk %d' % (frame, number))


def as_many_chunks_as_an_index_can_have():
    with open('chunk', 'wb') as file:
        file.write(CHUNK)
    for layout, other in (('contiguous', 'sparse'), ('sparse', 'contiguous')):
        b2frame('create', '--chunksize', str(CHUNKSIZE), '--layout', layout,
                'chunk', layout)
        b2frame('truncate', '--size', str(NCHUNKS * CHUNKSIZE), layout)
        b2frame('update', layout, str(NCHUNKS // 2), 'chunk')
        check_chunks(layout)
        b2frame('convert', '--layout', other, layout, 'converted' + other)
        check_chunks('converted' + other)
        b2frame('compact', layout)
        check_chunks(layout)
    b2frame('repair', 'contiguous', 'repaired')
    check_chunks('repaired')
    check(harness.peak_memory() < MEMORY,
          'takes %d MiB' % (harness.peak_memory() >> 20))


if harness.SANITIZED:
    sys.exit(harness.SKIP)
main(what_was_piped_in_comes_out, as_many_chunks_as_an_index_can_have)
