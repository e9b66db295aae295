#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount arrays
# test: mount corpus arrays; suite corpus; timeout 900; args framefs corpus
"""N-dimensional arrays show as their items in C order, and as .npy files.

usage: mount_arrays.py FRAMEFS [TEST...]
       mount_arrays.py FRAMEFS corpus

With `corpus` the script reads the arrays that lie beside the source tree.
"""

import errno
import hashlib
import itertools
import json
import math
import mmap
import os
import random
import struct
import subprocess
import sys

from mounted import (B2FRAME, Mount, check, corpus, error_of, frame, harness,
                     main, need_fuse, read, sh, wait_for, workplace, write)

# The distribution's NumPy belongs to this Python, and the tests may run in
# another.
NUMPY = '/usr/bin/python3'


def items_of(count, itemsize, seed=1):
    return random.Random(seed).randbytes(count * itemsize)


def up(a, b):
    return -(-a // b)


def chunks_of(items, shape, chunks, blocks, itemsize):
    """Return the chunks of an array, in order.  Format: b2nd.md, 3."""
    grid = [up(n, c) for n, c in zip(shape, chunks)]
    inner = [up(c, b) for c, b in zip(chunks, blocks)]
    block_len = math.prod(blocks)
    chunk_len = block_len * math.prod(inner)
    result = bytearray(math.prod(grid) * chunk_len * itemsize)
    for number, place in enumerate(itertools.product(*map(range, shape))):
        chunk = block = item = 0
        for i, x in enumerate(place):
            r = x % chunks[i]
            chunk = chunk * grid[i] + x // chunks[i]
            block = block * inner[i] + r // blocks[i]
            item = item * blocks[i] + r % blocks[i]
        at = (chunk * chunk_len + block * block_len + item) * itemsize
        result[at:at + itemsize] = \
            items[number * itemsize:(number + 1) * itemsize]
    return bytes(result)


def array(items, shape, chunks, blocks, dtype, itemsize):
    """Return a frame that holds an array.  Format: b2nd.md, 1; frame.md, 3."""
    ndim = len(shape)
    mark = bytes([0x90 + ndim])
    layer = bytes([0x97, 0, ndim]) + mark
    layer += b''.join(struct.pack('>BQ', 0xd3, n) for n in shape)
    for extents in chunks, blocks:
        layer += mark + b''.join(struct.pack('>BI', 0xd2, n) for n in extents)
    text = dtype.encode()
    layer += struct.pack('>BBI', 0, 0xdb, len(text)) + text
    names = b'\xde\0\1\xa4b2nd\xd2'
    start = 0x57 + 4 + len(names) + 4 + 3
    layers = b'\x93\xcd' + struct.pack('>H', 4 + len(names) + 4) + names + \
        struct.pack('>I', start) + b'\xdc\0\1' + \
        struct.pack('>BI', 0xc6, len(layer)) + layer

    blocksize = math.prod(blocks) * itemsize
    padded = [up(c, b) * b for c, b in zip(chunks, blocks)]
    whole = frame(chunks_of(items, shape, chunks, blocks, itemsize),
                  math.prod(padded) * itemsize, itemsize)
    whole = bytearray(whole[:0x57] + layers + whole[0x61:])
    whole[0x0b:0x0f] = struct.pack('>I', 0x57 + len(layers))
    whole[0x10:0x18] = struct.pack('>Q', len(whole))
    whole[0x35:0x39] = struct.pack('>I', blocksize)
    return bytes(whole)


SHAPES = {
    'scalar': ((), (), ()),
    'row': ((1000,), (300,), (70,)),
    'plane': ((60, 70), (25, 32), (8, 32)),
    'rows': ((60, 70), (10, 70), (1, 70)),
    'cube': ((9, 10, 11), (4, 10, 5), (3, 4, 5)),
    'deep': ((2, 3) * 4, (2, 2) * 4, (1, 2) * 4),
}


def make():
    """Write all of SHAPES under src.  Return their items by name."""
    os.mkdir('src')
    result = {}
    for name, (shape, chunks, blocks) in SHAPES.items():
        items = items_of(math.prod(shape), 4)
        write('src/%s.b2nd' % name,
              array(items, shape, chunks, blocks, '<i4', 4))
        result[name] = items
    return result


def numpy(program, *args):
    """Run a program that uses NumPy."""
    done = subprocess.run([NUMPY, '-c', 'import numpy, sys\n' + program, *args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, text=True)
    check(done.returncode == 0, done.stdout)
    return done.stdout


def items_show_in_c_order():
    made = make()
    with Mount('src', 'mnt') as mount:
        check(set(os.listdir('mnt')) == set(made), 'names')
        for name, items in made.items():
            path = mount / name
            check(os.stat(path).st_size == len(items), name + ': size')
            check(read(path) == items, name)
            pick = random.Random(name)
            for _ in range(50):
                off = pick.randint(0, len(items))
                length = pick.randint(0, len(items))
                check(read(path, off, length) == items[off:off + length],
                      '%s: %d+%d' % (name, off, length))
            info = json.loads(os.getxattr(path, 'user.b2frame.info'))
            check(info['array'] == {'shape': list(SHAPES[name][0]),
                                    'chunks': list(SHAPES[name][1]),
                                    'blocks': list(SHAPES[name][2]),
                                    'dtype': '<i4'}, name + ': info')


def programs_map_the_items():
    made = make()
    with Mount('src', 'mnt') as mount:
        with open(mount / 'plane', 'rb') as file:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                check(mapped[::-3] == made['plane'][::-3], 'mmap')
        write('items', made['plane'])
        numpy('''
seen = numpy.memmap(sys.argv[1], '<i4', 'r', shape=(60, 70))
wanted = numpy.fromfile('items', '<i4').reshape(60, 70)
for where in numpy.s_[::7, ::3], numpy.s_[::-1, 5], numpy.s_[33], numpy.s_[:]:
    assert (seen[where] == wanted[where]).all(), where
''', mount / 'plane')


def numpy_loads_npy():
    made = make()
    write('src/plain.b2frame', frame(b'plain', 5))
    with Mount('src', 'mnt', '-o', 'npy') as mount:
        check(set(os.listdir('mnt')) ==
              {name + '.npy' for name in made} | {'plain'}, 'names')
        check(read(mount / 'plain') == b'plain', 'plain')
        write(mount / 'new', b'new')
        check(read(mount / 'new') == b'new', 'new')
        for name, items in made.items():
            write('items', items)
            numpy('''
path, *shape = sys.argv[1:]
wanted = numpy.fromfile('items', '<i4').reshape([int(n) for n in shape])
for mode in None, 'r':
    seen = numpy.load(path, mmap_mode=mode)
    assert seen.dtype == wanted.dtype and seen.shape == wanted.shape, path
    assert (seen == wanted).all(), path
    assert (seen[..., ::-2] == wanted[..., ::-2]).all() if shape else True
''', mount / (name + '.npy'), *map(str, SHAPES[name][0]))


def one_array_alone_shows_as_npy():
    made = make()
    for options in 'npy', 'raw,npy', 'npy,raw':
        with Mount('src/row.b2nd', 'mnt', '-o', options) as mount:
            check(os.listdir('mnt') == ['row.npy'], 'names')
            check(read(mount / 'row.npy', 0, 6) == b'\x93NUMPY', 'header')
            check(read(mount / 'row.npy')[-4000:] == made['row'], 'content')


def raw_shows_the_chunks():
    made = make()
    with Mount('src', 'mnt', '-o', 'raw') as mount:
        for name, (shape, chunks, blocks) in SHAPES.items():
            check(read(mount / name) ==
                  chunks_of(made[name], shape, chunks, blocks, 4), name)


def scribble(path, items, seed):
    """Overwrite pieces of a file.  Return the content that it must have
    then."""
    pick = random.Random(seed)
    items = bytearray(items)
    with open(path, 'r+b', buffering=0) as file:
        for _ in range(30):
            off = pick.randrange(len(items))
            data = pick.randbytes(pick.randint(1, min(900, len(items) - off)))
            os.pwrite(file.fileno(), data, off)
            items[off:off + len(data)] = data
        os.fsync(file.fileno())
    return bytes(items)


def check_stored(name, items):
    """b2frame reads these items, and the stored chunks have their blocks in
    place."""
    path = 'src/%s.b2nd' % name
    check(sh('%s verify %s' % (B2FRAME, path)).startswith(path + ': ok'),
          'unsound')
    done = harness.run(B2FRAME, 'cat', path)
    check(done.stdout == items, name + ': items')
    done = harness.run(B2FRAME, 'cat', '--raw', path)
    shape, chunks, blocks = SHAPES[name]
    check(done.stdout == chunks_of(items, shape, chunks, blocks, 4),
          name + ': chunks')
    info = json.loads(harness.run(B2FRAME, 'info', '--json', '--chunks',
                                 path).stdout)
    sizes = {chunk.get('blocksize', info['blocksize'])
             for chunk in info['chunks'] if chunk['kind'] == 'blocks'}
    check(sizes <= {info['blocksize']}, '%s: blocks %s' % (name, sizes))


def items_can_be_overwritten():
    made = make()
    with Mount('src', 'mnt') as mount:
        for name, items in made.items():
            made[name] = scribble(mount / name, items, name)
            check(read(mount / name) == made[name], name)
    for name, items in made.items():
        check_stored(name, items)
    with Mount('src', 'mnt') as mount:
        numpy('''
mapped = numpy.memmap(sys.argv[1], '<i4', 'r+', shape=(60, 70))
mapped[::2, 7] = 5
mapped.flush()
''', mount / 'plane')
    items = bytearray(made['plane'])
    for row in range(0, 60, 2):
        at = (row * 70 + 7) * 4
        items[at:at + 4] = b'\5\0\0\0'
    check_stored('plane', bytes(items))


def the_size_is_fixed():
    made = make()
    with Mount('src', 'mnt') as mount:
        path = mount / 'plane'
        size = len(made['plane'])
        check(error_of(os.truncate, path, 0) == errno.EPERM, 'cut')
        check(error_of(os.truncate, path, size + 1) == errno.EFBIG, 'longer')
        os.truncate(path, size)
        fd = os.open(path, os.O_RDWR)
        check(error_of(os.posix_fallocate, fd, 0, size + 1) == errno.EFBIG,
              'fallocate')
        check(os.stat(path).st_size == size, 'size')
        # The kernel may delay the write, so the error may come from fsync().
        check(errno.EFBIG in (error_of(os.pwrite, fd, b'x', size),
                              error_of(os.fsync, fd)), 'write')
        check(error_of(os.fsync, fd) == errno.EFBIG, 'fsync')
        os.ftruncate(fd, size)
        os.fsync(fd)
        os.close(fd)
        check(read(path)[:size] == made['plane'], 'content')
    check_stored('plane', made['plane'])


def writes_behind_the_end_are_undone():
    """The kernel extends the file when it accepts the write, and passes the
    data to the daemon later."""
    items = make()['plane']
    size = len(items)
    with Mount('src', 'mnt') as mount:
        path = mount / 'plane'
        fd = os.open(path, os.O_RDWR)
        os.pwrite(fd, b'before', size - 16)
        check(errno.EFBIG in (error_of(os.pwrite, fd, bytes(10000), size - 4),
                              error_of(os.fsync, fd)), 'no error')
        error_of(os.close, fd)
        wait_for(lambda: os.stat(path).st_size == size, 'the right size')
        items = items[:-16] + b'before' + items[-10:-4] + bytes(4)
        check(read(path) == items, 'content')
    check_stored('plane', items)


def damaged_shapes_are_errors():
    made = make()
    whole = bytearray(read('src/plane.b2nd'))
    at = whole.index(struct.pack('>BI', 0xd2, 25))  # the chunk shape
    whole[at + 4] = 33
    write('src/bad.b2nd', bytes(whole))
    with Mount('src', 'mnt') as mount:
        check(error_of(read, mount / 'bad') == errno.EIO, 'is read')
        check(read(mount / 'row') == made['row'], 'the others')
        check('chunks of an array' in mount.log(), mount.log())
    with Mount('src', 'mnt', '-o', 'raw') as mount:
        check(len(read(mount / 'bad')) > 0, 'raw')


def holes_are_known():
    shape, chunks, blocks = (40, 50), (10, 20), (10, 10)
    write('a.b2nd', array(bytes(2000), shape, chunks, blocks, '|u1', 1))
    with Mount('a.b2nd', 'mnt') as mount:
        with open(mount / 'a', 'r+b') as file:
            check(os.lseek(file.fileno(), 0, os.SEEK_HOLE) == 2000, 'stored')


def shape_of(text):
    return tuple(int(n) for n in text.split('x') if n)


def corpus_rows():
    result = []
    for row in corpus.table(os.path.join(corpus.CORPUS, 'manifest.tsv')):
        values, words = corpus.features(row)
        if row['kind'] == 'b2nd' and \
                not words & {'plugin codec', 'plugin filter'}:
            result.append((row, values))
    return result


def check_flat(path, row, values):
    check(os.stat(path).st_size == int(row['nbytes']), row['id'] + ': size')
    if row['sha256'] == '-':
        for word in {'head', 'middle', 'tail', 'patch'} & set(values):
            for window in corpus.windows(values[word]):
                data = read(path, window.offset, window.length)
                check(hashlib.sha256(data).hexdigest() == window.sha256,
                      '%s: %s' % (row['id'], word))
        return
    data = read(path)
    check(hashlib.sha256(data).hexdigest() == row['sha256'], row['id'])
    pick = random.Random(row['id'])
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    for _ in range(20):
        off = pick.randint(0, len(data))
        buffer = mmap.mmap(-1, pick.randint(1, len(data) + 1))
        count = os.preadv(fd, [buffer], off)
        check(buffer[:count] == data[off:off + len(buffer)],
              '%s: at %d' % (row['id'], off))
    os.close(fd)


NPY_CHECK = '''
import ast, hashlib, json
for path, shape, dtype, itemsize, sha256 in json.load(open(sys.argv[1])):
    wanted = numpy.dtype(ast.literal_eval(dtype) if dtype[:1] == '[' else
                         dtype or 'V%d' % itemsize)
    if wanted.itemsize != itemsize:
        wanted = numpy.dtype('V%d' % itemsize)
    whole = numpy.load(path)
    assert whole.shape == tuple(shape), (path, whole.shape)
    assert whole.dtype == wanted, (path, whole.dtype)
    assert hashlib.sha256(whole.tobytes()).hexdigest() == sha256, path
    if 0 in shape:
        continue  # nothing to map
    seen = numpy.load(path, mmap_mode='r')
    where = tuple(slice(None, None, -2) for _ in shape)
    assert seen[where].tobytes() == whole[where].tobytes(), path
'''


def check_corpus():
    """Check arrays that the reference library wrote, as items and as .npy
    files."""
    rows = corpus_rows()
    top = os.path.join(corpus.CORPUS, 'b2nd')
    with workplace():
        with Mount(top, 'mnt') as mount:
            for row, values in rows:
                stem = os.path.splitext(os.path.basename(row['path']))[0]
                if os.path.dirname(row['path']) == 'b2nd':
                    check_flat(mount / stem, row, values)
        with Mount(top, 'mnt', '-o', 'npy') as mount:
            cases = []
            for row, values in rows:
                stem = os.path.splitext(os.path.basename(row['path']))[0]
                if os.path.dirname(row['path']) == 'b2nd' and \
                        row['sha256'] != '-':
                    cases.append((mount / (stem + '.npy'),
                                  shape_of(values['shape']), values['dtype'],
                                  int(row['typesize']), row['sha256']))
            with open('cases', 'w', encoding='utf-8') as out:
                json.dump(cases, out)
            numpy(NPY_CHECK, 'cases')
    print('%d arrays' % len(rows))


if sys.argv[2:] == ['corpus']:
    need_fuse()
    corpus.need_corpus()
    check_corpus()
else:
    main(items_show_in_c_order, programs_map_the_items, numpy_loads_npy,
         one_array_alone_shows_as_npy, raw_shows_the_chunks,
         items_can_be_overwritten, the_size_is_fixed,
         writes_behind_the_end_are_undone,
         damaged_shapes_are_errors, holes_are_known)
