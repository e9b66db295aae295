# SPDX-License-Identifier: BSD-3-Clause
"""Blosc2 frames as arrays.

>>> import framefs, numpy
>>> with framefs.create('t.b2nd', (3, 4), 'i4', options='codec=zstd') as array:
...     array[:] = numpy.arange(12).reshape(3, 4)
...     array.attrs['unit'] = b'metre'

Slicing reads only the blocks that it touches, and gives NumPy arrays:

>>> array = framefs.open('t.b2nd')
>>> array.shape, array.dtype, array.attrs['unit']
((3, 4), dtype('int32'), b'metre')
>>> array[1, ::-1]
array([7, 6, 5, 4], dtype=int32)
>>> int(numpy.asarray(array).sum())
66
>>> array.close()

So is a frame that is in memory:

>>> import pathlib
>>> framefs.frombuffer(pathlib.Path('t.b2nd').read_bytes())[2, 1:]
array([ 9, 10, 11], dtype=int32)

A frame that is no array is one of bytes, or of the items that the caller says:

>>> with framefs.create('t.b2frame') as frame:
...     frame.resize((8,))
...     frame[2:5] = 7
>>> with framefs.open('t.b2frame', dtype='<u2') as frame:
...     frame[:]
array([   0, 1799,    7,    0], dtype=uint16)

A frame can be a small store: its chunks have keys that stay with them.

>>> with framefs.create('store.b2frame', options='chunksize=1K') as frame:
...     first = frame.chunk_map.append(b'a' * 1024)
...     second = frame.chunk_map.append(b'b' * 1024)
...     del frame.chunk_map[first]
...     frame.chunk_map[second][:3], frame.chunk_map.number(second)
(b'bbb', 0)
"""

import os
from typing import Any, Optional, Sequence, Union

from ._array import Array, Attrs, ChunkList, ChunkMap, MemoryArray
from ._lib import (BusyError, DamagedError, Error, StaleError,
                   UnsupportedError, raw)
from . import _array

__all__ = ['Array', 'Attrs', 'BusyError', 'ChunkList', 'ChunkMap',
           'DamagedError', 'Error', 'StaleError', 'UnsupportedError', 'create', 'frombuffer', 'open',
           'version']

Path = Union[str, 'os.PathLike[str]']


def version() -> str:
    """Return the version of libframefs."""
    return raw('version').decode()


def open(path: Path, mode: str = 'r', *, dtype: Any = None,
         options: Optional[str] = None, offset: int = 0) -> Array:
    """Open a frame.

    path     a file, the directory of a sparse frame, or a URL
    mode     'r' to read, 'r+' to read and write
    dtype    the type of the items, of the size that they have.  If it is not
             given, an array has the type that it was stored with, or bytes
             ("V4") if that is not known.  A frame that is no array has items
             of any size; if it is not given, they are bytes ("u1")
    options  as for framefs_new() in libframefs(3), such as "cache=1G".  Frames
             that are opened without share a cache
    offset   where the frame starts in the file
    """
    return Array(path, mode, dtype=dtype, options=options, offset=offset)


def create(path: Path, shape: Union[int, Sequence[int], None] = None,
           dtype: Any = 'u1', chunks: Optional[Sequence[int]] = None,
           blocks: Optional[Sequence[int]] = None, *,
           options: Optional[str] = None) -> Array:
    """Create an array of zeros, or an empty frame, and open it for writing.

    path     must not exist
    shape    of the array; None: the frame is no array
    chunks   extents of chunks, and blocks those of blocks; an extent of 0 is
             chosen, as are all that are not given
    options  as for framefs_create() in libframefs(3), such as
             "codec=zstd,clevel=9,layout=sparse"
    """
    _array.create(os.fsencode(path), shape, dtype, (chunks, blocks), options)
    return Array(path, 'r+', dtype=None if shape is not None else dtype)


def frombuffer(data: Any, *, dtype: Any = None) -> Array:
    """Open a contiguous frame that is in memory, for reading.

    data     bytes, or anything else with the buffer protocol, which must not
             change until the frame is closed
    dtype    as for open()
    """
    return MemoryArray(data, dtype=dtype)
