#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python module shows frames as arrays, as NumPy would.

usage: python_module.py SOURCE LIBRARIES

FRAMEFS_REGIONS is the number of random regions that are read or written (600).
"""

import doctest
import importlib.util
import os
import pickle
import random
import subprocess
import sys
import tempfile

SOURCE, LIBRARIES = sys.argv[1:3]
MODULE = os.path.join(SOURCE, 'src', 'python')
NREGIONS = int(os.environ.get('FRAMEFS_REGIONS', '600'))
STEPS = 12  # random operations on an array
# The distribution's NumPy belongs to this Python, and the tests may run in
# another.
PYTHONS = (sys.executable, '/usr/bin/python3')
SKIP = 77


def find_python():
    """Return a Python that has NumPy, or None."""
    for python in PYTHONS:
        if os.path.exists(python) and subprocess.run(
                [python, '-c', 'import numpy'], check=False,
                stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def start_again():
    """Run this script with NumPy and the module, and exit as it does."""
    python = find_python()
    if not python or os.environ.get('FRAMEFS_SANITIZE', 'none') != 'none':
        print('no Python with NumPy, or a library with sanitizers')
        sys.exit(SKIP)
    path = os.pathsep.join(
        [MODULE] + os.environ.get('PYTHONPATH', '').split(os.pathsep))
    libraries = os.pathsep.join(
        [LIBRARIES] + os.environ.get('LD_LIBRARY_PATH', '').split(os.pathsep))
    environment = dict(os.environ, PYTHONPATH=path.rstrip(os.pathsep), FRAMEFS_STARTED='1',
                       LD_LIBRARY_PATH=libraries.rstrip(os.pathsep), PYTHONDONTWRITEBYTECODE='1')
    sys.exit(subprocess.run([python, *sys.argv], check=False,
                            env=environment).returncode)


if 'FRAMEFS_STARTED' not in os.environ:
    start_again()

import numpy  # noqa: E402

import framefs  # noqa: E402
from framefs import _array  # noqa: E402

DTYPES = [numpy.dtype(text) for text in (
    'u1', '<i2', '>i4', '<f4', '<f8', '<c16', 'S3', 'V7', 'M8[s]')]
DTYPES.append(numpy.dtype([('a', '<i4'), ('b', '>f8')]))
EXTENTS = (1, 3000, 70, 20, 10, 7, 5, 4, 4)  # largest, by dimensions


def check(holds, *what):
    if not holds:
        raise AssertionError(' '.join(str(one) for one in what))


def raises(exception, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except exception as error:
        return error
    raise AssertionError('%s did not raise %s' % (function, exception))


def fill(shape, dtype, dice):
    size = dtype.itemsize * int(numpy.prod(shape, dtype=int))
    return numpy.frombuffer(dice.randbytes(size), 'u1').copy().view(
        dtype).reshape(shape)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and (
        a.tobytes() == b.tobytes())


def random_slice(extent, dice):
    ends = sorted(dice.randint(0, extent) for _ in range(2))
    if dice.random() < 0.3:
        return slice(None, None, dice.choice((1, 1, -1, 2, -3, 9)))
    if dice.random() < 0.2:
        return slice(ends[1] - 1 if ends[1] else None, None, -1)
    return slice(ends[0], ends[1], dice.choice((None, 1, 1, 2, 5)))


def random_index(shape, dice):
    index = [dice.randrange(-extent, extent) if dice.random() < 0.2
             else random_slice(extent, dice) for extent in shape]
    if dice.random() < 0.2 and index:
        index[dice.randrange(len(index)):] = [Ellipsis]
    if dice.random() < 0.1:
        index.insert(dice.randrange(len(index) + 1), None)
    return tuple(index)


class RandomArray:
    """An array on disk, and what it should hold."""

    def __init__(self, dice):
        ndim = dice.randint(0, 8)
        most = EXTENTS[ndim]
        shape = [dice.randint(1, most) for _ in range(ndim)]
        chunks = [dice.randint(1, extent + 1) for extent in shape]
        blocks = [dice.randint(1, extent) for extent in chunks]
        self.dice = dice
        self.path = tempfile.mktemp('.b2nd', dir=os.getcwd())
        self.model = numpy.zeros(shape, dice.choice(DTYPES))
        self.array = framefs.create(
            self.path, shape, self.model.dtype, chunks, blocks,
            options=dice.choice((None, 'layout=sparse', 'codec=zstd,clevel=1',
                                 'codec=blosclz,filters=bitshuffle')))
        self.what = '%s %s %s %s' % (shape, chunks, blocks, self.model.dtype)
        check(self.array.dtype == self.model.dtype, self.array.dtype)

    def read(self):
        index = random_index(self.model.shape, self.dice)
        check(same(numpy.asarray(self.array[index]),
                   numpy.asarray(self.model[index])), self.what, index)

    def write(self):
        index = random_index(self.model.shape, self.dice)
        wanted = numpy.asarray(self.model[index]).shape
        data = fill(wanted[::-1], self.model.dtype, self.dice).T
        self.model[index] = data
        self.array[index] = data

    def resize(self):
        if self.model.ndim == 0:
            return
        most = EXTENTS[self.model.ndim]
        shape = [self.dice.randint(1, most) if self.dice.random() < 0.5
                 else extent for extent in self.model.shape]
        model = numpy.zeros(shape, self.model.dtype)
        kept = tuple(slice(0, min(a, b))
                     for a, b in zip(shape, self.model.shape))
        model[kept] = self.model[kept]
        self.model = model
        self.array.resize(shape)

    def reopen(self):
        self.array.close()
        self.array = framefs.open(self.path, 'r+')

    def finish(self):
        self.array.close()
        with framefs.open(self.path) as array:
            check(same(array[...], self.model), self.what)


def random_regions():
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    print('seed', seed)
    for _ in range(-(-NREGIONS // STEPS)):
        array = RandomArray(dice)
        for _ in range(STEPS):
            dice.choices((array.read, array.write, array.resize, array.reopen,
                          array.array.sync), (10, 9, 1, 1, 1))[0]()
        array.finish()


def arrays_index():
    model = numpy.arange(60).reshape(5, 12)
    with framefs.create('index.b2nd', (5, 12), model.dtype) as array:
        array[...] = model
        for index in (([3, 1, 1],), ([0, -1], [11, 2]), (slice(1, 4), [5, 0]),
                      (numpy.arange(12) % 5 == 1,), ([],),
                      (slice(None), numpy.arange(12) % 5 == 1),
                      (2, [7, 3]), (slice(None, None, -2), None, [4])):
            if len(index) == 1 and numpy.asarray(index[0]).dtype == bool:
                index = (numpy.array([True, False, True, False, False]),)
            check(same(array[index], model[index]), index)
        for index in ((5,), (-6,), ([5],), (0, 0, 0), ('a',), ([0.5],),
                      (numpy.ones(4, bool),), (..., ...)):
            raises((IndexError, TypeError), array.__getitem__, index)
        raises(IndexError, array.__setitem__, ([0, 1],), 0)
        raises(ValueError, array.__setitem__, 0, [1, 2])
        check(list(array[0]) == list(model[0]) and len(array) == 5)
        check([row.sum() for row in array] == [row.sum() for row in model])
        raises(ValueError, array.__array__, copy=False)


def frames_without_an_array():
    with framefs.create('plain.b2frame', options='chunksize=64K') as frame:
        frame.resize(100000)
        frame[10:20] = range(10)
        frame[::-30000] = [1, 2, 3, 4]
    model = numpy.zeros(100000, 'u1')
    model[10:20] = range(10)
    model[::-30000] = [1, 2, 3, 4]
    with framefs.open('plain.b2frame') as frame:
        check(same(frame[:], model) and same(frame[::-7], model[::-7]))
        check(not frame.is_array and frame.chunks == (65536,))
    with framefs.open('plain.b2frame', dtype='<f4') as frame:
        check(same(frame[1:9], model.view('<f4')[1:9]))


def attributes_and_chunks():
    with framefs.create('attrs.b2frame', options='chunksize=4K,typesize=1'
                        ) as frame:
        frame.attrs['a'] = b'1'
        frame.attrs['b'] = b'\0' * 100000
        check(dict(frame.attrs) == {'a': b'1', 'b': b'\0' * 100000})
        del frame.attrs['a']
        raises(KeyError, frame.attrs.__getitem__, 'a')
        chunks = frame.chunk_list
        chunks.append(b'a' * 4096)
        chunks.append(bytes(range(256)) * 16)
        chunks.insert(1, chunks.stored(1), stored=True)
        chunks.reorder([1, 0, 2])
        chunks[2] = b'z' * 4096
        del chunks[1]
        check(chunks[:] == [bytes(range(256)) * 16, b'z' * 4096])
        raises(framefs.DamagedError, chunks.put, 0, b'\2' * 40, True)
        raises(IndexError, chunks.__getitem__, 2)
        check(frame.info['nchunks'] == 2, frame.info)
        by_key = frame.chunk_map
        check(list(by_key) == [] and 1 not in by_key)
        keys = [by_key.of(0), by_key.of(-1), by_key.append(b'k' * 4096)]
        check(list(by_key) == keys and len(by_key) == 3)
        chunks.reorder([2, 0, 1])
        check([by_key.number(key) for key in keys] == [1, 2, 0])
        by_key[keys[0]] = b'y' * 4096
        check(chunks[1] == b'y' * 4096 == by_key[keys[0]])
        check(by_key.stored(keys[0]) == chunks.stored(1))
        del by_key[keys[1]]
        check(dict(by_key) == {keys[2]: b'k' * 4096, keys[0]: b'y' * 4096})
        for gone in (keys[1], 0, -1, 2**64, 'a'):
            check(gone not in by_key)
            raises(KeyError, by_key.__getitem__, gone)
            raises(KeyError, by_key.put, gone, b'z' * 4096)
            raises(KeyError, by_key.__delitem__, gone)
        raises(IndexError, by_key.of, 2)


def errors_are_clear():
    raises(FileNotFoundError, framefs.open, 'missing')
    with open('rubbish', 'wb') as file:
        file.write(b'rubbish' * 1000)
    error = raises(framefs.Error, framefs.open, 'rubbish')
    check('rubbish' in str(error), error)
    raises(ValueError, framefs.open, 'rubbish', 'w')
    with framefs.create('errors.b2nd', (3,), '<f8') as array:
        raises(FileExistsError, framefs.create, 'errors.b2nd', (3,))
    check('closed' in repr(array))
    raises(ValueError, array.__getitem__, 0)
    raises(TypeError, framefs.create, 'b', (3,), 'O')
    raises(ValueError, framefs.create, 'b', (-1,), 'u1')
    raises(ValueError, framefs.create, 'b', (1,) * 17, 'u1')
    raises(TypeError, framefs.open, 'errors.b2nd', dtype='<f4')
    array = framefs.open('errors.b2nd')
    raises(OSError, array.__setitem__, 0, 1)
    again = pickle.loads(pickle.dumps(array))
    check(same(again[:], numpy.zeros(3)))
    array.close()


def dtypes_may_be_rubbish():
    for text in ('', 'O', '|O8', "[('a', 'O')]", '(' * 9999, '[[[', '{}', '<f4',
                 "('<f4', (2,))", '1+', '\0', "__import__('os')", '[1]', '<M8[q'):
        dtype = _array._parse_dtype(text, 8)
        check(dtype == numpy.dtype('V8'), text, dtype)


def buffers():
    with framefs.create('buffer.b2nd', (4, 5), '<i4') as array:
        array[:] = 7
        if sys.version_info >= (3, 12):
            check(bytes(memoryview(array)) == array[:].tobytes())
        check(numpy.add(array, 1).sum() == 160)


def frames_in_memory():
    with open('index.b2nd', 'rb') as file:
        data = file.read()
    array = framefs.frombuffer(data)
    check(array.shape == (5, 12) and array[3, 3] == 39)
    check(pickle.loads(pickle.dumps(array))[3, 3] == 39)
    raises(framefs.DamagedError, framefs.frombuffer, data[:-1])
    raises(OSError, array.__setitem__, 0, 0)


def dask_reads_it():
    import dask.array
    model = numpy.arange(10000.).reshape(100, 100)
    with framefs.create('dask.b2nd', model.shape, model.dtype, (30, 40)
                        ) as array:
        array[:] = model
    source = framefs.open('dask.b2nd')
    lazy = dask.array.from_array(source)
    check(float(lazy.T[::2, 5:].sum().compute()) == model.T[::2, 5:].sum())
    with framefs.create('stored.b2nd', model.shape, model.dtype, (30, 40)
                        ) as target:
        dask.array.store(lazy + 1, target)
        check(same(target[:], model + 1))


def zarr_copies_it():
    import zarr
    model = numpy.arange(600, dtype='i4').reshape(20, 30)
    with framefs.create('zarr.b2nd', model.shape, model.dtype, (7, 8)) as array:
        array[:] = model
        copy = zarr.array(array, chunks=array.chunks)
        check(same(copy[:], model))
        array[:] = 0
        array[:] = copy
        check(same(array[:], model))


def xarray_labels_it():
    import xarray
    with framefs.create('xarray.b2nd', (20, 30), '<f8') as array:
        array[:] = numpy.arange(600).reshape(20, 30)
        labelled = xarray.DataArray(numpy.asarray(array), dims=('y', 'x'))
        check(float(labelled.sel(y=3).mean('x')) == 104.5)


def doctests():
    failed, tried = doctest.testmod(framefs)
    check(failed == 0 and tried > 5, 'doctests')


def main():
    needs = {dask_reads_it: 'dask', zarr_copies_it: 'zarr',
             xarray_labels_it: 'xarray'}
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        for test in (doctests, arrays_index, frames_without_an_array,
                     attributes_and_chunks, errors_are_clear,
                     dtypes_may_be_rubbish, buffers, frames_in_memory,
                     dask_reads_it,
                     zarr_copies_it, xarray_labels_it, random_regions):
            if test in needs and not importlib.util.find_spec(needs[test]):
                print('skipped:', test.__name__)
                continue
            print(test.__name__, flush=True)
            test()


main()
