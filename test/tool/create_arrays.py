#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame create_arrays
"""create makes arrays from bytes in C order and from .npy files.

usage: create_arrays.py B2FRAME [TEST...]
"""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys

import harness
import oracle
from harness import LAYOUTS, check, main

TOOL = os.path.abspath(sys.argv[1])


def b2frame(*words, stdin=None, status=0):
    done = subprocess.run([TOOL, *words], input=stdin, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=harness.environment(), timeout=120)
    check(done.returncode == status, '%s: status %d: %s' %
          (words, done.returncode, done.stderr.decode(errors='replace')))
    return done


def npy(text, items):
    """Return a .npy file of version 1."""
    head = b'\x93NUMPY\1\0' + struct.pack('<H', len(text) + 1)
    return head + text.encode('latin-1') + b'\n' + items


def check_array(path, items, shape, dtype):
    check(b2frame('cat', path).stdout == items, path + ': items')
    check(b': ok' in b2frame('verify', path).stdout, path)
    info = json.loads(b2frame('info', '--json', '--chunks', path).stdout)
    array = info['array']
    check(array['shape'] == shape and array['dtype'] == dtype, str(array))
    size = info['typesize']
    for extent in array['blocks']:
        size *= extent
    check(info['blocksize'] == size, 'blocksize %d' % info['blocksize'])
    check(all(chunk.get('blocksize', size) == size for chunk in info['chunks']
              if chunk['kind'] == 'blocks'), 'blocks of chunks')
    return array


def bytes_become_an_array():
    pick = random.Random(6)
    items = pick.randbytes(50 * 60 * 8)
    for layout in LAYOUTS:
        path = layout + '.b2nd'
        b2frame('create', '--layout', layout, '--shape', '50,60', '--dtype',
                '<f8', '--chunks', '20,25', '--blocks', '7,25', '-', path,
                stdin=items)
        array = check_array(path, items, [50, 60], '<f8')
        check(array['chunks'] == [20, 25] and array['blocks'] == [7, 25],
              'extents')
        if oracle.is_here():
            done = subprocess.run(
                [oracle.PYTHON, oracle.ORACLE, 'array-sha256', path],
                stdout=subprocess.PIPE, check=True, text=True)
            check(done.stdout.split()[0] == hashlib.sha256(items).hexdigest(),
                  'others read: ' + done.stdout)


def shapes_are_chosen():
    pick = random.Random(6)
    items = pick.randbytes(300 * 200 * 4)
    b2frame('create', '--shape', '300,200', '--dtype', '<i4', '--chunksize',
            '64K', '--blocksize', '4K', '-', 'a.b2nd', stdin=items)
    array = check_array('a.b2nd', items, [300, 200], '<i4')
    check(array['chunks'] == [75, 200] or array['chunks'] == [150, 100],
          str(array))
    check(array['blocks'][0] * array['blocks'][1] * 4 <= 4096, str(array))


def npy_files_become_arrays():
    pick = random.Random(6)
    cases = [
        ("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 4, 5), }",
         [3, 4, 5], '<i2', 120),
        ("{'descr': '>f8', 'fortran_order': False, 'shape': (), }", [], '>f8',
         8),
        ("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3), }", [0, 3],
         '|u1', 0),
        ("{'descr': [('ü', '<i4'), ('b', '|S3')], 'fortran_order': False, "
         "'shape': (7,), }", [7], "[('ü', '<i4'), ('b', '|S3')]", 49),
    ]
    for number, (text, shape, dtype, size) in enumerate(cases):
        items = pick.randbytes(size)
        with open('x.npy', 'wb') as out:
            out.write(npy(text, items))
        path = 'npy%d.b2nd' % number
        b2frame('create', 'x.npy', path)
        check_array(path, items, shape, dtype)
        check(b2frame('cat', '--npy', path).stdout.endswith(items), path)


def fortran_order_becomes_c_order():
    pick = random.Random(8)
    for number, (shape, words) in enumerate([
            ([50, 60], ['--chunks', '20,25', '--blocks', '7,25']),
            ([5, 6, 7], []), ([1, 9], []), ([9, 1], []), ([0, 3], []),
            ([3, 4, 2, 5], ['--chunks', '1,4,2,2']),
            ([2000, 1500], ['--chunksize', '64K']),
            ([700, 3, 2], ['--chunks', '700,1,1'])]):
        size = 2
        for extent in shape:
            size *= extent
        items = pick.randbytes(size)
        with open('f.npy', 'wb') as out:
            out.write(npy("{'descr': '<i2', 'fortran_order': True, 'shape': "
                          '(%s), }' % ', '.join(map(str, shape)), items))
        path = 'f%d.b2nd' % number
        b2frame('create', *words, 'f.npy', path)
        check_array(path, transposed(items, 2, shape), shape, '<i2')
    # The input is read from where a shell has left it.
    with open('f.npy', 'rb') as file:
        file.seek(0)
        subprocess.run([TOOL, 'create', '-', 'g.b2nd'], stdin=file, check=True,
                       timeout=120)
    check(b2frame('cat', 'g.b2nd').stdout ==
          transposed(items, 2, shape), 'standard input')
    for change, said in [(lambda b: b[:-1], b'fewer'),
                         (lambda b: b + b'x', b'more')]:
        with open('bad.npy', 'wb') as out:
            out.write(change(open('f.npy', 'rb').read()))
        done = b2frame('create', 'bad.npy', 'bad.b2nd', status=1)
        check(said in done.stderr, done.stderr.decode())
        check(not os.path.exists('bad.b2nd'), 'something is left')


def transposed(items, itemsize, shape):
    """Return items in C order that are in Fortran order."""
    if not items:
        return items
    strides = [itemsize]
    for extent in shape[:-1]:
        strides.append(strides[-1] * extent)
    rows = [0]
    for extent, stride in zip(shape, strides):
        rows = [row + i * stride for row in rows for i in range(extent)]
    return b''.join(items[at:at + itemsize] for at in rows)


def check_oracle(path, items):
    """Let another program read the items, if it is there."""
    if not oracle.is_here():
        return
    complaints = oracle.array_complaints({path: items})
    check(not complaints, complaints)


def cells_are_written_with_shape():
    """Codecs and filters that use the shape of blocks, of several types."""
    pick = random.Random(6)
    for dtype, size, words in [
            ('|u1', 1, ['--codec', 'ndlz:4']),
            ('<u2', 2, ['--codec', 'ndlz:8']),
            ('<i4', 4, ['--codec', 'ndlz:4', '--filters', 'none']),
            ('<i4', 4, ['--filters', 'ndcell:3+shuffle']),
            ('<f8', 8, ['--codec', 'zstd', '--filters', 'ndcell:4+bitshuffle'])]:
        items = bytes(pick.choices([1, 2, 250], [20, 5, 1],
                                   k=50 * 60 * size))
        path = 'cells%s%d.b2nd' % (dtype[1:], len(words))
        b2frame('create', *words, '--shape', '50,60', '--dtype', dtype,
                '--chunks', '24,25', '--blocks', '8,16', '-', path,
                stdin=items)
        check_array(path, items, [50, 60], dtype)
        check_oracle(path, items)
        back = 'back-' + path
        b2frame('convert', '--codec', 'lz4', '--filters', 'none', path, back)
        check(b2frame('cat', back).stdout == items, path + ' converted')
        b2frame('convert', *words, back, 'again-' + path)
        check(b2frame('cat', 'again-' + path).stdout == items, path + ' again')


def means_lose_digits():
    items = b''.join(struct.pack('<d', x) for x in range(8 * 8))
    b2frame('create', '--filters', 'ndmean:2', '--shape', '8,8', '--dtype',
            '<f8', '--blocks', '8,8', '-', 'mean.b2nd', stdin=items)
    data = b2frame('cat', 'mean.b2nd').stdout
    check(struct.unpack('<4d', data[:32]) == (4.5, 4.5, 6.5, 6.5), 'means')
    check_oracle('mean.b2nd', data)


def zfp_loses_digits():
    if 'zfp_acc' not in b2frame('create', '--help').stdout.decode():
        return
    values = [1.5 + i / 300 + (i % 50) ** 2 / 1000 for i in range(50 * 60)]
    items = struct.pack('<3000d', *values)
    array = ['--shape', '50,60', '--dtype', '<f8', '--chunks', '24,25',
             '--blocks', '8,16']
    for codec, most in [('zfp_acc:-3', 1e-3), ('zfp_prec:20', 1e-2),
                        ('zfp_rate:40', 1e-2)]:
        path = codec[:7] + '.b2nd'
        b2frame('create', '--codec', codec, *array, '-', path, stdin=items)
        data = b2frame('cat', path).stdout
        read = struct.unpack('<3000d', data)
        worst = max(abs(a - b) for a, b in zip(values, read))
        check(0 < worst <= most, '%s: %g' % (codec, worst))
        check(os.path.getsize(path) < len(items), codec + ': large')
        check_oracle(path, data)
    for words in [['--codec', 'zfp_acc:-3', '--filters', 'shuffle'],
                  ['--codec', 'zfp_rate:101'],
                  ['--codec', 'zfp_acc:-3', '--blocks', '3,16']]:
        b2frame('create', *array, *words, '-', 'bad.b2nd', stdin=items,
                status=1)


def cells_without_a_shape_are_refused():
    items = bytes(range(200))
    array = ['--shape', '10,20', '--dtype', '|u1']
    for words, status in [
            (['--codec', 'ndlz:4'], 1),
            (['--filters', 'ndcell:2'], 1),
            (['--codec', 'ndlz', *array], 2),
            (['--codec', 'ndlz:x', *array], 2),
            (['--codec', 'lz4:3', *array], 2),
            (['--codec', 'ndlz:5', *array], 1),
            (['--codec', 'ndlz:4', '--shape', '200', '--dtype', '|u1'], 1),
            (['--filters', 'ndcell:0', *array], 1),
            (['--filters', 'ndcell:100', *array], 1),
            (['--filters', 'ndmean:2', *array], 1)]:
        done = b2frame('create', *words, '-', 'bad.b2nd', stdin=items,
                       status=status)
        check(b'b2frame' in done.stderr, str(words))
        check(not os.path.exists('bad.b2nd'), str(words))
    b2frame('create', '-', 'plain.b2frame', stdin=items)
    done = b2frame('convert', '--codec', 'ndlz:4', 'plain.b2frame',
                   'bad.b2nd', status=1)
    check(b'wants an array' in done.stderr, 'convert says ' +
          done.stderr.decode())


def wrong_arrays_are_refused():
    pick = random.Random(6)
    items = pick.randbytes(100)
    shape = ['--shape', '10,10', '--dtype', '|u1']
    for stdin, words in [
            (items[1:], shape), (items + b'x', shape),
            (items, ['--shape', '10,10']),
            (items, ['--dtype', '|u1']),
            (items, ['--chunks', '5,5']),
            (items, ['--blocks', '5,5']),
            (items, ['--shape', '10,x', '--dtype', '|u1']),
            (items, ['--shape', '10,10', '--dtype', 'int']),
            (items, shape + ['--chunks', '5']),
            (items, shape + ['--chunks', '5,5', '--blocks', '6,5']),
            (items, shape + ['--chunks', '0,5']),
            (items, ['--shape', '9223372036854775807,2', '--dtype', '<f8']),
    ]:
        done = b2frame('create', *words, '-', 'bad.b2nd', stdin=stdin,
                       status=1)
        check(done.stderr.count(b'\n') == 1, done.stderr.decode())
    with open('f.npy', 'wb') as out:
        out.write(npy("{'descr': '<i4', 'fortran_order': 1, "
                      "'shape': (5, 5), }", items))
    b2frame('create', 'f.npy', 'bad.b2nd', status=1)
    # The header tells the dtype, too, and would have to be compared.
    done = b2frame('create', '--dtype', '<i4', 'f.npy', 'bad.b2nd', status=1)
    check(b'--dtype needs a --shape' in done.stderr, done.stderr.decode())
    check(not os.path.exists('bad.b2nd'), 'something is left')


main(bytes_become_an_array, shapes_are_chosen, npy_files_become_arrays,
     fortran_order_becomes_c_order,
     cells_are_written_with_shape, means_lose_digits, zfp_loses_digits,
     cells_without_a_shape_are_refused, wrong_arrays_are_refused)
