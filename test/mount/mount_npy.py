#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount npy; timeout 300
"""Files that numpy.save() writes become arrays.

usage: mount_npy.py FRAMEFS [TEST...]

The files are put together here as NumPy writes them.  With NumPy, that is used,
too.  FRAMEFS_NPY_ROUNDS (3) is how often arrays are overwritten while they
change their form.
"""

import errno
import json
import mmap
import os
import random
import struct
import subprocess
import threading

from mounted import (FRAMEFS, Mount, b2frame, check, check_sound, error_of, harness,
                     layouts, main, opened, read, sh, wait_for, write)

try:
    import numpy
except ImportError:
    numpy = None
SCRIPT = os.path.abspath(__file__)
ROUNDS = int(os.environ.get('FRAMEFS_NPY_ROUNDS', '3'))
NUMPY = '/usr/bin/python3'  # may have it if this interpreter has not


def header(descr, shape, fortran=False, version=1, align=64):
    """Return the header that NumPy writes.  Format: NumPy's NEP 1."""
    text = "{'descr': %s, 'fortran_order': %r, 'shape': %r, }" % (
        descr, fortran, shape)
    start = 10 if version == 1 else 12
    text += ' ' * (-(start + len(text) + 1) % align) + '\n'
    return b'\x93NUMPY' + bytes([version, 0]) + struct.pack(
        '<H' if version == 1 else '<I', len(text)) + text.encode('latin-1')


def array(descr, itemsize, *shape):
    """Return a .npy file of random items."""
    nitems = 1
    for extent in shape:
        nitems *= extent
    items = random.Random(str(shape)).randbytes(nitems * itemsize)
    return header("'%s'" % descr, shape) + items


def mounted(layout='contiguous', *more):
    return Mount('src', 'mnt', '-o', ','.join(
        ('npy', 'chunksize=64K', 'layout=' + layout, *more)))


def is_array(name):
    return os.path.exists('src/%s.b2nd' % name) and \
        not os.path.exists('src/%s.npy.b2frame' % name)


def await_array(name):
    wait_for(lambda: is_array(name), name + ' to become an array')


def info(name):
    return json.loads(b2frame('info', '--json', 'src/%s.b2nd' % name))['array']


def check_array(name, dtype, shape):
    said = info(name)
    check((said['dtype'], said['shape']) == (dtype, list(shape)), str(said))


@layouts
def saved_file_becomes_an_array(layout):
    cases = {'a': ('<f8', 8, 100, 300), 'b': ('<i2', 2, 7), 'c': ('|u1', 1, 3, 5, 7),
             'big': ('>f4', 4, 300, 200, 20), 'text': ('<U5', 20, 9),
             'time': ('<M8[ns]', 8, 50)}
    files = {name: array(*case) for name, case in cases.items()}
    with mounted(layout) as mount:
        for name, data in files.items():
            write(mount / name + '.npy', data)
            check(read(mount / name + '.npy') == data, name + ' at once')
        for name, data in files.items():
            await_array(name)
            check(read(mount / name + '.npy') == data, name)
            check(os.stat(mount / name + '.npy').st_size == len(data), 'size')
        check(sorted(os.listdir(mount.path)) ==
              sorted(name + '.npy' for name in files), 'names')
    for name, case in cases.items():
        check_array(name, case[0], case[2:])
    check(info('big')['chunks'] != info('big')['shape'], 'one chunk')
    check_sound(*('src/%s.b2nd' % name for name in files))
    with mounted(layout) as mount:
        for name, data in files.items():
            check(read(mount / name + '.npy') == data, name + ' mounted again')


@layouts
def array_is_overwritten_by_another_one(layout):
    first, second = array('<f8', 8, 100, 30), array('<i4', 4, 11)
    with mounted(layout) as mount:
        path = mount / 'x.npy'
        write(path, first)
        await_array('x')
        with opened(path, os.O_RDONLY) as fd:
            write(path, second)
            check(read(path) == second, 'content at once')
            check(os.pread(fd, 50, 0) == first[:50], 'who has it open')
        wait_for(lambda: is_array('x') and info('x')['shape'] == [11],
                 'the other array')
        check(read(path) == second, 'content')
        os.chmod(path, 0o600)
        for data in (first, second, first):
            write(path, data)
            check(read(path) == data, 'written again and again')
        wait_for(lambda: is_array('x') and info('x')['shape'] == [100, 30],
                 'the first array')
        check(os.stat(path).st_mode & 0o777 == 0o600, 'mode')
        os.truncate(path, 0)
        check(os.stat(path).st_size == 0, 'size')
        check(os.listdir(mount.path) == ['x.npy'], 'names')


@layouts
def array_is_overwritten_while_it_changes_its_form(layout):
    """Programs save other arrays just as the older ones are being made."""
    data = array('<f8', 8, 20, 30)
    failures = []

    def overwrite(paths):
        # When the first one is an array, the others are about to be.
        wait_for(lambda: os.path.exists(paths[0].replace('mnt', 'src')[:-3] +
                                        'b2nd'), 'an array')
        for path in paths * 2:
            error = error_of(write, path, data)
            if error or read(path) != data:
                failures.append('%s: %s' % (path, os.strerror(error)))

    with mounted(layout) as mount:
        for turn in range(ROUNDS):
            paths = [mount / '%d.npy' % (turn * 100 + i) for i in range(60)]
            for path in paths:
                write(path, data)
            threads = [threading.Thread(target=overwrite, args=(paths[i::4],))
                       for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            check(not failures, str(failures[:5]) + mount.log())


def file_that_is_no_array_stays_a_file():
    good = array('<f8', 8, 10, 20)
    fields = "[('a', '<i4'), ('b', '<f8')]"
    cases = {
        'text': b'no array',
        'empty': b'',
        'short': good[:-1],
        'long': good + b'x',
        'cut': good[:40],
        'fortran': header("'<f8'", (3, 4), True) + bytes(96),
        'fields': header(fields, (3,)) + bytes(36),
        'objects': header("'|O'", (3,)) + bytes(24),
        'wide': header("'<U100'", (3,)) + bytes(1200),
        'aligned': header("'<f8'", (3,), align=16) + bytes(24),
        'huge': header("'<f8'", (1 << 40, 1 << 40)) + bytes(24),
        'negative': header("'<f8'", (-3,)) + bytes(24),
        'deep': header("'<f8'", (1,) * 40) + bytes(8),
        'claims': b'\x93NUMPY\x02\0\xff\xff\xff\xff' + bytes(100),
        'nested': header('(' * 5000 + ')' * 5000, (3,)) + bytes(24),
        'version': b'\x93NUMPY\x09\0' + good[8:],
    }
    os.mkdir('src')
    with mounted() as mount:
        for name, data in cases.items():
            write(mount / name + '.npy', data)
        write(mount / 'last.npy', good)
        write(mount / 'other', good)
        await_array('last')
        for name, data in cases.items():
            check(read(mount / name + '.npy') == data, name)
    check(mount.log().count('stays an ordinary file') >= len(cases) - 1,
          mount.log())
    check(sorted(os.listdir('src')) == sorted(
        ['last.b2nd', 'other.b2frame'] +
        [name + '.npy.b2frame' for name in cases]), str(os.listdir('src')))


def shapes_without_items_and_dimensions():
    os.mkdir('src')
    files = {'none': header("'<f8'", (0,)), 'zero': header("'<f8'", (3, 0, 2)),
             'scalar': header("'<f8'", ()) + b'12345678'}
    with mounted() as mount:
        for name, data in files.items():
            write(mount / name + '.npy', data)
        write(mount / 'last.npy', array('<f8', 8, 5))
        await_array('last')
    with mounted() as mount:
        for name, data in files.items():
            check(read(mount / name + '.npy') == data, name)


def mapped_array_can_be_changed():
    os.mkdir('src')
    data = array('<f8', 8, 100, 300)
    with mounted() as mount:
        path = mount / 'a.npy'
        with open(path, 'w+b') as file:
            file.truncate(len(data))
            with mmap.mmap(file.fileno(), len(data)) as mapping:
                mapping[:] = data
        await_array('a')
        with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 0) as mapping:
            mapping[128:136] = b'changed!'
            mapping.flush()
        check(read(path) == data[:128] + b'changed!' + data[136:], 'content')
        # Neither the header nor the size can be changed in place.
        write(mount / 'b.npy', data)
        await_array('b')
        fd = os.open(mount / 'b.npy', os.O_RDWR)
        os.pwrite(fd, b'other', 0)
        check(error_of(os.fsync, fd) == errno.EPERM, 'the header is changed')
        error_of(os.close, fd)
        fd = os.open(path, os.O_RDWR)
        check(error_of(os.ftruncate, fd, 0) == errno.EPERM, 'the size is changed')
        os.close(fd)
    check_array('a', '<f8', (100, 300))
    with mounted() as mount:
        check(read(mount / 'a.npy')[128:136] == b'changed!', 'mounted again')


def run_with_numpy(case):
    """Run a case by the interpreter that has NumPy."""
    if subprocess.run([NUMPY, '-c', 'import numpy'], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise harness.Skipped('no numpy here')
    done = subprocess.run([NUMPY, SCRIPT, FRAMEFS, case], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, done.stdout)


def large_array_is_written_in_rows_of_chunks():
    """A row of chunks fits into the cache, so each chunk is encoded once."""
    os.mkdir('src')
    shape = (40, 300, 500)
    data = array('<i4', 4, *shape)
    with Mount('src', 'mnt', '-o', 'npy,cache=16M,chunksize=1M') as mount:
        write(mount / 'a.npy', data)
        await_array('a')
        check(read(mount / 'a.npy') == data, 'content')
        stats = json.loads(sh('%s --stats --json mnt' % FRAMEFS))
    chunks = info('a')['chunks']
    check(chunks[0] * shape[1] * shape[2] * 4 <= 2 << 20, str(chunks))
    check(stats['written']['encoded'] < 3 * len(data), str(stats['written']))


def frame_alone_can_be_changed():
    os.mkdir('src')
    with mounted() as mount:
        write(mount / 'a.npy', array('<f8', 8, 50))
        await_array('a')
    write('file', b'')
    for place, path in (('mnt', 'mnt/a.npy'), ('file', 'file')):
        with Mount('src/a.b2nd', place, '-o', 'npy,plain=below=1M'):
            with open(path, 'r+b') as file:
                file.seek(128)
                file.write(b'changed!' + place.encode())
            check(read(path)[128:136] == b'changed!', 'content')
            check(error_of(os.truncate, path, 0) == errno.EPERM, 'is cut')
    check_array('a', '<f8', (50,))


def name_that_is_taken_keeps_the_file():
    """Another frame has the name that the array would get."""
    os.mkdir('src')
    with mounted() as mount:
        write(mount / 'x', b'no array')
    os.rename('src/x.b2frame', 'src/x.b2nd')
    data = array('<f8', 8, 5)
    with mounted() as mount:
        write(mount / 'x.npy', data)
        write(mount / 'last.npy', data)
        await_array('last')
        check(read(mount / 'x.npy') == data, 'content')
        check(read(mount / 'x') == b'no array', 'content of the other')


def small_arrays_are_arrays_all_the_same():
    os.mkdir('src')
    data = array('<f8', 8, 5)
    with mounted('contiguous', 'plain=below=64K:incompressible') as mount:
        write(mount / 'x.npy', b'none')
        write(mount / 'y.npy', data)
        await_array('y')
        wait_for(lambda: os.path.exists('src/x.npy'), 'a plain file')
        write(mount / 'x.npy', data)
        await_array('x')
        check(read(mount / 'x.npy') == data, 'content')


def numpy_itself():
    if not numpy:
        run_with_numpy('numpy_itself')
        return
    os.mkdir('src')
    rng = numpy.random.default_rng(1)
    with mounted() as mount:
        for dtype in ('f8', '>i4', 'u1', 'c16', 'bool', 'f2', 'M8[s]'):
            for shape in ((), (0,), (7,), (50, 60), (20, 30, 40), (3, 1, 4, 1, 5)):
                name = '%s-%d' % (dtype.replace('>', 'b'), len(shape) + (0 in shape))
                items = (rng.random(shape) * 100).astype(dtype)
                numpy.save(mount / name + '.npy', items)
                got = numpy.load(mount / name + '.npy')
                check(got.dtype == items.dtype and (got == items).all(), name)
                if items.size:
                    await_array(name)
                got = numpy.load(mount / name + '.npy', mmap_mode='r')
                check(got.shape == shape and (got == items).all(), name)
        wide = rng.random((40, 50))
        numpy.save(mount / 'f8-2.npy', wide)
        wait_for(lambda: is_array('f8-2') and info('f8-2')['shape'] == [40, 50],
                 'the other shape')
        mapped = numpy.load(mount / 'f8-2.npy', mmap_mode='r+')
        mapped[3, 4] = 42
        mapped.flush()
        del mapped
        numpy.save(mount / 'fortran.npy', numpy.asfortranarray(wide))
        numpy.save(mount / 'fields.npy', numpy.zeros(5, 'i4,f8'))
        new = numpy.lib.format.open_memmap(mount / 'new.npy', 'w+', 'f4', (99, 9))
        new[:] = 7
        del new
        await_array('new')
    with mounted() as mount:
        wide[3, 4] = 42
        check((numpy.load(mount / 'f8-2.npy') == wide).all(), 'changed')
        check(numpy.load(mount / 'fields.npy').dtype == numpy.dtype('i4,f8'),
              'fields')
        check((numpy.load(mount / 'new.npy') == 7).all(), 'mapped')
    check(os.path.exists('src/fortran.npy.b2frame') and
          os.path.exists('src/fields.npy.b2frame'), 'ordinary files')


main(saved_file_becomes_an_array,
     array_is_overwritten_by_another_one,
     array_is_overwritten_while_it_changes_its_form,
     file_that_is_no_array_stays_a_file,
     shapes_without_items_and_dimensions,
     mapped_array_can_be_changed,
     large_array_is_written_in_rows_of_chunks,
     frame_alone_can_be_changed,
     name_that_is_taken_keeps_the_file,
     small_arrays_are_arrays_all_the_same,
     numpy_itself)
