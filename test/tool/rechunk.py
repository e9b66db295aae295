#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame rechunk; timeout 300
"""b2frame convert gives arrays chunks and blocks of other shapes.

usage: rechunk.py B2FRAME [TEST...]
"""

import itertools
import os
import random
import shutil
import signal
import subprocess

import corpus
import harness
import oracle
from scene import (LAYOUTS, TIMEOUT, TOOL, b2frame, check, check_names, copy,
                   fails, frame, has_begun, info, main, misuse, noise, numbers,
                   remove, small_disk)

ITEMS = 60 * 70 * 4


def array(path, *options, shape='60,70', dtype='<i4', content=None):
    """Make an array.  Return its items."""
    if content is None:
        content = bytes(random.Random(3).choices(range(9), k=ITEMS))
    frame(path, content, '--shape', shape, '--dtype', dtype, *options)
    return content


def parts(path):
    told = info(path)['array']
    return told['shape'], told['chunks'], told['blocks']


def check_array(path, content):
    b2frame('verify', path)
    check(b2frame('cat', path) == content, path + ': other items')
    if oracle.is_here():
        complaints = oracle.array_complaints({os.path.abspath(path): content})
        check(not complaints, complaints)


def chunks_get_other_shapes():
    content = array('a', '--chunks', '20,25', '--blocks', '7,25')
    b2frame('meta', 'set', 'a', 'note', '-', stdin=b'text')
    for number, (chunks, blocks) in enumerate([
            ('1,70', '1,7'), ('60,1', '60,1'), ('13,11', '5,4'),
            ('60,70', '60,70'), ('100,100', '33,9'), ('20,25', '20,25')]):
        out = 'b%d' % number
        b2frame('convert', '--chunks', chunks, '--blocks', blocks,
                '--layout', LAYOUTS[number % 2], 'a', out)
        check(parts(out) == ([60, 70], [int(n) for n in chunks.split(',')],
                             [int(n) for n in blocks.split(',')]), parts(out))
        check_array(out, content)
        check(b2frame('meta', 'get', out, 'note') == b'text', 'metalayer')
        check(info(out)['array'].get('dtype') == '<i4', 'dtype')
    back = 'convert', '--chunks', '20,25', '--blocks', '7,25', 'b2', 'c'
    b2frame(*back)
    check_array('c', content)


def dimensions_of_all_kinds():
    pick = random.Random(5)
    for number in range(12):
        ndim = pick.randrange(1, 6)
        shape = [pick.randrange(1, 9) for _ in range(ndim)]
        size = 2
        for extent in shape:
            size *= extent
        content = pick.randbytes(size)
        words = ','.join(str(n) for n in shape)
        path = 'a%d' % number
        array(path, shape=words, dtype='<i2', content=content)
        chunks = [pick.randrange(1, 10) for _ in range(ndim)]
        blocks = [pick.randrange(1, n + 1) for n in chunks]
        b2frame('convert', '--chunks', ','.join(map(str, chunks)), '--blocks',
                ','.join(map(str, blocks)), path, path + 'b')
        check(parts(path + 'b') == (shape, chunks, blocks), 'parts')
        check_array(path + 'b', content)
    for shape in ('', '0,3'):
        array('e' + shape, shape=shape, dtype='<i2',
              content=bytes(2 if shape == '' else 0))
    b2frame('convert', '--chunks', '1,1', 'e0,3', 'f')
    check_array('f', b'')
    b2frame('convert', '--blocksize', '4K', 'e', 'g')
    check_array('g', bytes(2))


def sizes_choose_shapes():
    content = array('a', '--chunks', '20,25')
    b2frame('convert', '--chunksize', '1K', '--blocksize', '128', 'a', 'b')
    _, chunks, blocks = parts('b')
    check(4 * chunks[0] * chunks[1] <= 1024 < 16 * chunks[0] * chunks[1],
          chunks)
    check(4 * blocks[0] * blocks[1] <= 128, blocks)
    check_array('b', content)
    b2frame('convert', '--blocks', '5,5', '--codec', 'zstd', 'b', 'c')
    check(parts('c') == ([60, 70], chunks, [5, 5]), parts('c'))
    check(info('c')['codec'] == 'zstd', 'codec')
    check_array('c', content)


def arrays_of_other_programs():
    """All arrays of test/data that can be read."""
    done = 0
    for row in corpus.data_frames():
        if row.error or row.offset or row.windows:
            continue
        told = info(row.path)
        extents = told.get('array', {}).get('shape')
        if not extents or told['nbytes'] > 1 << 22:
            continue
        chunks = ','.join(str((n + 2) // 3) for n in extents)
        ran = harness.run(TOOL, 'convert', '--codec', 'lz4', '--filters',
                          'shuffle', '--chunks', chunks, row.path, 'a')
        if ran.returncode == 0:
            done += 1
            check_array('a', b2frame('cat', row.path))
            remove('a')
        else:
            check(b'can have no blocks' in ran.stderr,
                  '%s: %s' % (row.id, ran.stderr.decode()))
    check(done > 20, 'only %d' % done)


def zeros_take_no_space():
    array('a', shape='4096,8192', dtype='<i8', content=bytes(1 << 28))
    b2frame('convert', '--chunks', '4096,128', 'a', 'b')
    check(os.path.getsize('b') < 100000, 'takes up space')
    check(all(chunk['kind'] == 'zeros'
              for chunk in info('b', '--chunks')['chunks']), 'stored')


def data_between_zeros_are_copied():
    """Single items, and rows, in an array of zeros."""
    pick = random.Random(7)
    content = bytearray(8 << 20)
    for _ in range(9):
        at = pick.randrange(len(content) // 8)
        content[8 * at:8 * at + 8] = pick.randbytes(8)
    content[5 << 20:(5 << 20) + 30000] = pick.randbytes(30000)
    array('a', '--chunks', '64,64', '--blocks', '16,16', shape='1024,1024',
          dtype='<f8', content=bytes(content))
    check(any(chunk['kind'] == 'zeros'
              for chunk in info('a', '--chunks')['chunks']), 'no holes')
    for number, chunks in enumerate(['1,1024', '1024,1', '128,512', '50,70']):
        b2frame('convert', '--chunks', chunks, 'a', 'b%d' % number)
        check_array('b%d' % number, bytes(content))


def trees_are_converted():
    os.mkdir('t')
    content = array('t/a.b2nd', '--chunks', '20,25')
    array('t/b.b2nd', '--chunks', '10,10')
    b2frame('convert', '-r', '--chunks', '30,7', 't', 'u')
    for name in ('a', 'b'):
        path = 'u/%s.b2nd' % name
        check(parts(path)[1] == [30, 7], parts(path))
        check_array(path, content)
    frame('t/c.b2frame', noise(100))
    array('t/d.b2nd', shape='4200', content=content[:16800])
    ran = harness.run(TOOL, 'convert', '-r', '--chunks', '30,7', 't', 'v')
    said = ran.stderr.decode()
    check(ran.returncode == 1 and 'c.b2frame: --chunks and --blocks need an '
          'array' in said and 'd.b2nd: --chunks 30,7: the array has 1 dim'
          in said, said)
    check_names('a.b2nd', 'b.b2nd', directory='v')


def what_is_wrong_is_named():
    array('a')
    frame('plain', b'x' * 100)
    fails('has 2 dimensions', 'convert', '--chunks', '5', 'a', 'b')
    fails('has 2 dimensions', 'convert', '--chunks', '5,5', '--blocks',
          '1,1,1', 'a', 'b')
    for wrong in ('5,x', '5,-1', ',', '5,,5', '5;5'):
        fails('wants numbers with commas', 'convert', '--chunks', wrong, 'a',
              'b')
    fails('have no items', 'convert', '--chunks', '5,0', 'a', 'b')
    fails('larger than chunks', 'convert', '--chunks', '5,5', '--blocks',
          '6,5', 'a', 'b')
    fails('at most', 'convert', '--chunks', '20000,20000', 'a', 'b')
    fails('need an array', 'convert', '--chunks', '5,5', 'plain', 'b')
    fails('wants', 'convert', '--chunks', '1,1', '--codec', 'ndlz:5', 'a', 'b')
    fails('an array', 'convert', '--chunks', '5,5', '--typesize', '2', 'a',
          'b')
    misuse('convert', '--chunks')
    check_names('a', 'plain')


def full_disks_and_damage_leave_nothing():
    content = noise(4 << 20)
    array('a', '--chunks', '100,100', shape='1024,1024', content=content)
    with small_disk(1 << 20) as disk:
        for layout in LAYOUTS:
            fails('No space left', 'convert', '--chunks', '64,64', '--layout',
                  layout, 'a', disk + '/b')
            check_names(directory=disk)
    where = info('a', '--chunks')['chunks'][50]
    with open('a', 'r+b') as file:
        file.seek(where['offset'] + 100)
        file.write(bytes(4000))
    fails('a: ', 'convert', '--chunks', '64,64', 'a', 'b')
    check_names('a', 'disk')
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        if row['class'] == 'bomb':
            continue
        copy(os.path.join(top, row['path']), 'f')
        ran = harness.run(TOOL, 'convert', '--chunksize', '1K', 'f', 'g')
        check(ran.returncode in (0, 1) and
              ran.stderr.count(b'\n') == ran.returncode, row['id'])
        check(os.path.exists('g') == (ran.returncode == 0), row['id'])
        remove('f')
        if os.path.exists('g'):
            remove('g')


def interrupted_it_leaves_nothing():
    array('a', '--chunks', '100,100', '--clevel', '0', shape='2048,1024',
          content=noise(8 << 20))
    with subprocess.Popen([TOOL, 'convert', '--codec', 'zlib', '--clevel', '9',
                           '--chunks', '64,64', 'a', 'b'],
                          stderr=subprocess.PIPE) as tool:
        while not has_begun(tool) and tool.poll() is None:
            pass
        tool.send_signal(signal.SIGINT)
        said = tool.stderr.read()
        status = tool.wait(timeout=TIMEOUT)
    check(status in (0, -signal.SIGINT) and not said,
          'status %d, says %s' % (status, said))
    check_names('a', *['b'] * (status == 0))


def memory_is_bounded():
    """Chunks as wide as a row become chunks as long as a column."""
    if harness.SANITIZED:
        return
    pattern = numbers(1 << 20)
    with open('in', 'wb') as file:
        for _ in range(int(os.environ.get('FRAMEFS_RECHUNK_MIB', 1024))):
            file.write(pattern)
    nrows = os.path.getsize('in') // 8192
    b2frame('create', '--shape', '%d,1024' % nrows, '--dtype', '<f8',
            '--chunks', '16,1024', 'in', 'a')
    os.unlink('in')
    done = subprocess.run(
        ['/usr/bin/env', 'python3', '-c', 'import os, resource, sys\n'
         'status = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])\n'
         'print(status, resource.getrusage(resource.RUSAGE_CHILDREN)'
         '.ru_maxrss)', TOOL, 'convert', '--chunks', '%d,4' % nrows, 'a', 'b'],
        stdout=subprocess.PIPE, check=True, timeout=TIMEOUT)
    status, peak = map(int, done.stdout.split())
    check(status == 0 and peak < 700 << 10, 'status %d, %d KiB' %
          (status, peak))


main(chunks_get_other_shapes, dimensions_of_all_kinds, sizes_choose_shapes,
     arrays_of_other_programs, zeros_take_no_space,
     data_between_zeros_are_copied, trees_are_converted,
     what_is_wrong_is_named, full_disks_and_damage_leave_nothing,
     interrupted_it_leaves_nothing, memory_is_bounded)
