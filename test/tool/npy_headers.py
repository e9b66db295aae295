#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# test: npy headers; args npy_header
"""npy_headers.py NPY_HEADER: NumPy reads the .npy headers of framefs.

The script gives the tool dtypes as python-blosc2 writes them into its arrays,
and np.load() must return the same dtypes.  It runs with the distribution's
Python, because other ones may lack NumPy.
"""
import io
import random
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

SIMPLE = ['|i1', '|u1', '<i2', '>u2', '<i4', '>i4', '<i8', '<u8', '<f2', '<f4',
          '>f8', '<f16', '<c8', '>c16', '|b1', '|S1', '|S15', '<U5', '>U3',
          '|V12', '<M8[ns]', '>M8[D]', '<M8[25s]', '<m8[us]', '<m8', '<M8']
DEPTH = 3
NAMES = ['a', 'b', 'ü', '日本', "it's", 'a "b"', "'\"", 'x\ny', '\t', '\\', 'é\xa0',
         '\U0001f600', '0', 'with space', '{', '[(', ',']


def structured(rng, depth):
    """Return a dtype with fields of any kind."""
    names = rng.sample(NAMES, rng.randint(1, 4))
    titles = [rng.choice([None, f'title {name}']) for name in names]
    formats = [some(rng, depth - 1) for _ in names]
    if rng.random() < 0.5:
        fields = [(name if title is None else (title, name), *form)
                  for name, title, form in zip(names, titles, formats)]
        # NumPy does not print the padding of an aligned dtype inside another
        # one.
        return np.dtype(fields, align=depth == DEPTH and rng.random() < 0.5)
    offsets = []
    end = 0
    formats = [np.dtype(form[0] if len(form) == 1 else form) for form in formats]
    for form in formats:
        offsets.append(end + rng.randint(0, 9))
        end = offsets[-1] + form.itemsize
    spec = {'names': names, 'formats': formats, 'offsets': offsets,
            'itemsize': end + rng.randint(0, 9)}
    if any(titles):
        spec['titles'] = titles
    return np.dtype(spec)


def some(rng, depth):
    """Return the type of a field, or its type and shape."""
    if depth > 0 and rng.random() < 0.4:
        kind = structured(rng, depth)
    else:
        kind = np.dtype(rng.choice(SIMPLE))
    if rng.random() < 0.3:
        return kind, tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3)))
    return (kind,)


def text_of(dtype):
    """Return the text of a dtype as python-blosc2 writes it."""
    return dtype.str if dtype.fields is None else str(dtype)


def check(tool, dtype, shape):
    """Make a header, append items, and load the result."""
    made = subprocess.run(
        [tool, str(dtype.itemsize), text_of(dtype), *map(str, shape)],
        check=True, stdout=subprocess.PIPE).stdout
    assert len(made) % 64 == 0
    count = int(np.prod(shape, dtype=int))
    items = random.Random(1).randbytes(count * dtype.itemsize)
    loaded = np.load(io.BytesIO(made + items), max_header_size=1 << 20)
    assert loaded.shape == shape, (loaded.shape, shape)
    # Compare with NumPy's own conversion, because not every dtype equals itself
    # after the round trip.
    expected = np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(dtype))
    assert loaded.dtype == expected, (loaded.dtype, expected)
    assert loaded.itemsize == dtype.itemsize
    assert dtype.fields or loaded.tobytes() == items, dtype


def main():
    tool = sys.argv[1]
    rng = random.Random(6)
    shapes = [(), (0,), (5,), (3, 4), (2, 0, 3), (1,) * 16]
    for text in SIMPLE:
        for shape in shapes:
            check(tool, np.dtype(text), shape)
    for _ in range(300):
        check(tool, structured(rng, DEPTH), rng.choice(shapes))


if __name__ == '__main__':
    main()
