#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount interchange
"""Other programs read the data that was written to a mount, by any means, from
its frames.

usage: mount_interchange.py FRAMEFS [TEST...]

For each layout and codec, the test writes files of awkward sizes to mounts with
several parameters.  Then b2frame reads their frames, and so does an independent
reader if that lies beside the source tree.
"""

import math
import mmap
import os
import random
import struct

from mounted import (LAYOUTS, Mount, check, check_frames, harness, main,
                     oracle, write)

CODECS = ('blosclz', 'lz4', 'lz4hc', 'zlib', 'zstd')

# The lists differ in length, so that values meet in many combinations.
CLEVELS = (5, 1, 9, 0)
FILTERS = ('shuffle', 'bitshuffle', 'none', 'delta+shuffle',
           'shuffle+bytedelta:%d')
TYPESIZES = ('auto', 4, 3, 8, 1, 16, 255)
CHUNKSIZES = (4096, 10000, 65536, 4100, 30000, 1 << 20)
BLOCKSIZES = ('auto', 1000, 'auto', 4096)


# Contents.

def zeros(_, size):
    return bytes(size)


def nans(_, size):
    return (struct.pack('<d', math.nan) * (size // 8 + 1))[:size]


def repeats(_, size):
    return (b'\x01\x02\x03\x04' * (size // 4 + 1))[:size]


def noise(choice, size):
    return choice.randbytes(size)


def floats(choice, size):
    level = choice.random()
    return struct.pack('<%df' % (size // 4 + 1), *(
        math.sin(level + i / 100) for i in range(size // 4 + 1)))[:size]


def integers(choice, size):
    start = choice.randrange(1000)
    return struct.pack('<%dQ' % (size // 8 + 1),
                       *range(start, start + size // 8 + 1))[:size]


def patches(choice, size):
    """Return stretches of all other kinds, of any length."""
    content = b''
    while len(content) < size:
        kind = choice.choice((zeros, zeros, nans, repeats, noise, floats))
        content += kind(choice, choice.randrange(1, 3 + size // 3))
    return content[:size]


CONTENTS = (floats, patches, noise, integers, zeros, patches, repeats, nans)


# Ways to write them.

def pieces(choice, size):
    """Yield odd pieces, in order."""
    off = 0
    while off < size:
        length = min(choice.randrange(1, 3 + size // 7), size - off)
        yield off, off + length
        off += length


def at_once(_, path, content):
    write(path, content)


def in_shuffled_pieces(choice, path, content):
    places = list(pieces(choice, len(content)))
    choice.shuffle(places)
    with open(path, 'wb', buffering=0) as file:
        for off, end in places:
            os.pwrite(file.fileno(), content[off:end], off)


def appended(choice, path, content):
    write(path, b'')
    for off, end in pieces(choice, len(content)):
        with open(path, 'ab') as file:
            file.write(content[off:end])


def around_holes(choice, path, content):
    with open(path, 'wb', buffering=0) as file:
        file.truncate(len(content))
        for off, end in pieces(choice, len(content)):
            if any(content[off:end]):
                os.pwrite(file.fileno(), content[off:end], off)


def over_other_content(choice, path, content):
    """Overwrite committed content, which was longer or shorter."""
    write(path, choice.randbytes(choice.randrange(2 * len(content) + 2)))
    with open(path, 'r+b', buffering=0) as file:
        os.fsync(file.fileno())
        file.write(content)
        file.truncate(len(content))


def amended(choice, path, content):
    """Commit the content with mistakes, then correct them."""
    wrong = bytearray(content)
    places = [place for place in pieces(choice, len(content))
              if choice.random() < 0.3]
    for off, end in places:
        wrong[off:end] = choice.randbytes(end - off)
    with open(path, 'w+b', buffering=0) as file:
        file.write(wrong)
        os.fsync(file.fileno())
        for off, end in places:
            os.pwrite(file.fileno(), content[off:end], off)


def renamed_over(choice, path, content):
    write(path, choice.randbytes(10000))
    write(path + '.new', content)
    os.rename(path + '.new', path)


def mapped(_, path, content):
    with open(path, 'w+b') as file:
        file.truncate(len(content))
        if content:
            with mmap.mmap(file.fileno(), 0) as view:
                view[:] = content


def copied(_, path, content):
    """Have the system copy the content from one frame to another."""
    write(path + '.from', content)
    with open(path + '.from', 'rb') as file, open(path, 'wb') as to:
        done = 0
        while done < len(content):
            done += os.copy_file_range(file.fileno(), to.fileno(),
                                       len(content) - done)
    os.unlink(path + '.from')


WAYS = (at_once, in_shuffled_pieces, appended, around_holes,
        over_other_content, amended, renamed_over, mapped, copied)


# Parameters.

def parameters(number):
    """Return one combination of the parameters."""
    typesize = TYPESIZES[number % len(TYPESIZES)]
    width = 1 if typesize == 'auto' else typesize
    return {
        'clevel': CLEVELS[number % len(CLEVELS)],
        'filters': FILTERS[number % len(FILTERS)].replace('%d', str(width)),
        'typesize': typesize,
        'chunksize': CHUNKSIZES[number % len(CHUNKSIZES)],
        'blocksize': BLOCKSIZES[number % len(BLOCKSIZES)],
    }


def sizes(params):
    """Return the sizes near the ends of items, blocks and chunks."""
    width = 8 if params['typesize'] == 'auto' else params['typesize']
    chunk = params['chunksize'] - params['chunksize'] % width
    block = 1000 if params['blocksize'] == 'auto' else params['blocksize']
    result = {0, 1, width - 1, width, block - 1, block, block + 1, chunk - 1,
              chunk, chunk + 1}
    if chunk < 1 << 20:
        result |= {2 * chunk, 5 * chunk + 1, 7 * chunk - width}
    return sorted(result)


def fill(mount, number, params):
    """Write files to a mount.  Return their contents by the paths of the
    frames."""
    choice = random.Random(number)
    contents = {}
    for i, size in enumerate(sizes(params)):
        content = CONTENTS[(number + i) % len(CONTENTS)](choice, size)
        way = WAYS[(3 * number + i) % len(WAYS)]
        name = '%d-%s' % (size, way.__name__)
        way(choice, mount / name, content)
        contents['%s/%s.b2frame' % (mount.source, name)] = content
    return contents


def exchange(layout, codec):
    """Return the test of a layout and a codec."""
    def test():
        contents = {}
        first = 8 * (CODECS.index(codec) + len(CODECS) * LAYOUTS.index(layout))
        for number in range(first, first + 8, 3 if harness.SANITIZED else 1):
            params = parameters(number)
            words = ['layout=' + layout, 'codec=' + codec]
            words += ['%s=%s' % item for item in params.items()]
            os.mkdir('src%d' % number)
            with Mount('src%d' % number, 'mnt', '-o',
                       ','.join(words)) as mount:
                contents.update(fill(mount, number, params))
        check_frames(contents)

    test.__name__ = '%s_%s_is_read_by_others' % (layout, codec)
    return test


def metalayers_are_read_by_others():
    choice = random.Random(9)
    layers = {('few', 'empty'): b'', ('few', 'text'): b'text ' * 1000,
              ('no-content', 'noise'): choice.randbytes(30000)}
    layers.update((('many', 'n%d' % i), choice.randbytes(i)) for i in range(16))
    for layout in LAYOUTS:
        os.mkdir(layout)
        with Mount(layout, 'mnt', '-o', 'layout=' + layout) as mount:
            for name, _ in layers:
                write(mount / name, b'' if name == 'no-content' else b'content')
            for (name, layer), content in layers.items():
                attribute = 'user.b2frame.vlmeta.' + layer
                os.setxattr(mount / name, attribute, content[::2])
                os.setxattr(mount / name, attribute, content)
            os.setxattr(mount / 'few', 'user.b2frame.vlmeta.gone', b'gone')
            os.removexattr(mount / 'few', 'user.b2frame.vlmeta.gone')
        stored = '%s/%%s.b2frame' % layout
        check_frames({stored % 'few': b'content', stored % 'many': b'content',
                      stored % 'no-content': b''})
        if oracle.is_here():
            complaints = oracle.complaints(
                {(stored % name, layer): content
                 for (name, layer), content in layers.items()})
            check(not complaints, 'others read: ' + complaints)


main(*(exchange(layout, codec) for layout in LAYOUTS for codec in CODECS),
     metalayers_are_read_by_others)
