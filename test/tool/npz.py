#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame npz
"""b2frame create -r makes arrays of the members of a .npz file.

usage: npz.py B2FRAME [TEST...]
"""

import io
import os
import random
import signal
import struct
import subprocess
import zipfile

import harness
from scene import (TIMEOUT, TOOL, b2frame, check, check_names, fails, info,
                   main, misuse, noise, read, small_disk, write)


def npy(items, shape, dtype='<i2', order=False):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % (
        dtype, order, shape)
    return (b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) +
            text.encode('latin-1') + items)


def archive(path, members, method=zipfile.ZIP_STORED, **how):
    """Write members as numpy.savez() does."""
    with zipfile.ZipFile(path, 'w', method, **how) as out:
        for name, content in members.items():
            with out.open(name, 'w', force_zip64=True) as member:
                member.write(content)


def check_array(path, items, shape):
    b2frame('verify', path)
    check(b2frame('cat', path) == items, path + ': items')
    check(info(path)['array']['shape'] == shape, path + ': shape')


def says(*words):
    """Run the tool, which fails.  Return what it says."""
    ran = harness.run(TOOL, *words)
    check(ran.returncode == 1, 'status %d' % ran.returncode)
    return ran.stderr.decode()


def members_become_arrays():
    pick = random.Random(1)
    a = bytes(pick.choices(range(4), k=400000))
    b = pick.randbytes(24)
    turned = b''.join(b[2 * (row + 3 * column):][:2]
                      for row in range(3) for column in range(4))
    members = {'a.npy': npy(a, '(400, 500)'), 'b.npy': npy(b, '(3, 4)', '<i2',
                                                           True),
               'group/c.npy': npy(b'', '(0,)'), 'd': npy(b[:2], '()')}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive('x.npz', members, method)
        os.utime('x.npz', ns=(10**18, 10**18 + 7))
        out = 'out%d' % method
        b2frame('create', '-r', '--codec', 'zstd', 'x.npz', out + '/')
        check_names('a.b2nd', 'b.b2nd', 'd.b2nd', 'group', directory=out)
        check_array(out + '/a.b2nd', a, [400, 500])
        check_array(out + '/b.b2nd', turned, [3, 4])
        check_array(out + '/group/c.b2nd', b'', [0])
        check_array(out + '/d.b2nd', b[:2], [])
        check(info(out + '/a.b2nd')['codec'] == 'zstd', 'codec')
        check(os.stat(out + '/a.b2nd').st_mtime_ns == 10**18 + 7, 'time')


def interrupted_work_continues():
    archive('x.npz', {'a.npy': npy(b'ab', '(1,)'), 'b.npy': npy(b'cd', '()')})
    b2frame('create', '-r', 'x.npz', 'out')
    os.unlink('out/a.b2nd')
    old = os.stat('out/b.b2nd').st_ino
    b2frame('create', '-r', 'x.npz', 'out')
    check(os.stat('out/b.b2nd').st_ino == old, 'is made again')
    check_array('out/a.b2nd', b'ab', [1])
    os.utime('out/b.b2nd')
    check('exists already' in says('create', '-r', 'x.npz', 'out'), 'exists')
    b2frame('create', '-r', '--force', 'x.npz', 'out')


def others_are_made_when_one_fails():
    archive('x.npz', {'a.npy': npy(b'ab', '(1,)'), 'b.txt': b'no array',
                      'c.npy': npy(b'ab', '(1,)', '|O'),
                      'd.npy': npy(b'ab', '(2,)'), 'e.npy': b'',
                      'f.npy': npy(b'cd', '(1,)')})
    said = says('create', '-r', 'x.npz', 'out')
    check(said.count('\n') == 4 and 'x.npz/b.txt: is not a .npy file' in said
          and 'c.npy' in said and 'fewer' in said and
          'x.npz/e.npy: is not' in said, said)
    check_names('a.b2nd', 'f.b2nd', directory='out')


def hostile_names_are_refused():
    good = npy(b'ab', '(1,)')
    write('victim', b'x')
    for name in ('../a.npy', '/tmp/a.npy', 'b/../../a.npy', 'b//a.npy',
                 './a.npy', 'a\n.npy', 'b\\a.npy', '\x1b[2J.npy', 'b/..',
                 'n' * 300 + '.npy'):
        archive('x.npz', {'good.npy': good, name: good})
        said = says('create', '-r', 'x.npz', 'out')
        check('leads elsewhere' in said and said.count('\n') == 1, said)
        check_names('victim', 'x.npz')
    os.mkdir('out')
    os.symlink('..', 'out/group')
    archive('x.npz', {'group/a.npy': good})
    says('create', '-r', 'x.npz', 'out')
    check_names('out', 'victim', 'x.npz')


def patched(data, find, off, value):
    """Change a field of all records that start with a magic."""
    data = bytearray(data)
    at = data.find(find)
    while at >= 0:
        data[at + off:at + off + len(value)] = value
        at = data.find(find, at + 1)
    return bytes(data)


def damaged_archives_make_nothing():
    good = npy(bytes(2000), '(1000,)')
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        archive('x.npz', {'a.npy': good, 'b.npy': good}, method)
        whole = read('x.npz')
        entry, local = b'PK\1\2', b'PK\3\4'
        second = whole.find(local, 10)
        for name, data, said in [
                ('encrypted', patched(whole, entry, 8, b'\1\0'), 'encrypted'),
                ('method', patched(whole, entry, 10, b'\x0c\0'),
                 'does not use'),
                ('checksum', patched(whole, entry, 16, b'abcd'), 'checksum'),
                ('place', patched(whole, entry, 42, bytes(4)), 'overlaps'),
                ('byte', whole[:second - 30] + b'\xff\xff\xff' +
                 whole[second - 27:], ''),
                ('size', patched(whole, entry, 24, struct.pack('<I', 70)), ''),
                ('name', whole.replace(b'b.npy', b'a.npy'), 'twice'),
                ('cut', whole[:-30], ''), ('no zip', b'x' * 100, '.npz')]:
            write('y.npz', data)
            told = says('create', '-r', 'y.npz', 'out')
            check(said in told, '%s: says %s' % (name, told))
            left = os.listdir('out') if os.path.exists('out') else []
            # Only what was not damaged is made.
            check(not left or name == 'byte' and left == ['b.b2nd'] or
                  name == 'byte' and method == 8, '%s: %s' % (name, left))
            for path in left:
                os.unlink('out/' + path)


def bombs_are_refused():
    """A member that decodes to more than its header says."""
    data = io.BytesIO()
    archive(data, {'a.npy': npy(bytes(1 << 25), '(16777216,)')},
            zipfile.ZIP_DEFLATED)
    raw = data.getvalue()
    write('x.npz', patched(raw, b'PK\1\2', 24, struct.pack('<I', 1000)))
    check('more bytes' in says('create', '-r', 'x.npz', 'out'), 'bomb')
    check_names(directory='out')


def wrong_usage_is_explained():
    archive('x.npz', {'a.npy': npy(b'ab', '(1,)')})
    misuse('create', '-r', '--shape', '1', '--dtype', '|u1', 'x.npz', 'out')
    fails('Not a directory', 'create', '-r', 'x.npz', 'x.npz')
    b2frame('create', 'x.npz', 'x.b2frame')
    check(b2frame('cat', 'x.b2frame') == read('x.npz'), 'one frame')


def full_disks_and_interrupts_leave_whole_frames():
    content = noise(1 << 20)
    archive('x.npz', {'a.npy': npy(content, '(524288,)')},
            zipfile.ZIP_DEFLATED)
    with small_disk(512 << 10) as disk:
        said = says('create', '-r', 'x.npz', disk + '/out')
        check('No space left' in said, said)
        check_names(directory=disk + '/out')
    archive('y.npz', {'%d.npy' % i: npy(content, '(524288,)')
                      for i in range(16)}, zipfile.ZIP_DEFLATED)
    with subprocess.Popen([TOOL, 'create', '-r', '--codec', 'zlib', 'y.npz',
                           'out'], stderr=subprocess.PIPE) as tool:
        while not os.path.exists('out/0.b2nd') and tool.poll() is None:
            pass
        tool.send_signal(signal.SIGTERM)
        said = tool.stderr.read()
        status = tool.wait(timeout=TIMEOUT)
    check(status in (0, -signal.SIGTERM) and not said, '%d %s' % (status, said))
    for name in os.listdir('out'):
        check_array('out/' + name, content, [524288])


main(members_become_arrays, interrupted_work_continues,
     others_are_made_when_one_fails, hostile_names_are_refused,
     damaged_archives_make_nothing, bombs_are_refused,
     wrong_usage_is_explained, full_disks_and_interrupts_leave_whole_frames)
