# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and frames, and what belongs to them."""

import ast
import ctypes
import json
import os
from collections.abc import MutableMapping
from collections.abc import Sequence as SequenceABC
from typing import (Any, Callable, Dict, Iterator, List, Optional, Sequence,
                    Tuple, Union)

import numpy

from . import _index, _lib
from ._lib import call


def _parse_dtype(text: str, itemsize: int) -> 'numpy.dtype[Any]':
    """Return the type that a frame says its items have; bytes if it is unknown
    or does not suit them.  The text may be anything."""
    plain = numpy.dtype('V%d' % itemsize)
    try:
        dtype = numpy.dtype(ast.literal_eval(text) if text[:1] in '[({'
                            else text) if text else plain
    except (ValueError, TypeError, SyntaxError, KeyError, OverflowError,
            RecursionError, MemoryError):
        return plain
    if dtype.itemsize != itemsize or dtype.hasobject or dtype.subdtype:
        return plain
    return dtype


def create(path: bytes, shape: Union[int, Sequence[int], None], dtype: Any,
           parts: Sequence[Optional[Sequence[int]]],
           options: Optional[str]) -> None:
    """Create a frame; see framefs.create()."""
    handle = _lib.shared_handle()
    out = ctypes.c_void_p()
    text = os.fsencode(options) if options else None
    if shape is None:
        call('create', handle.value, path, text, out)
    else:
        array = _describe(shape, numpy.dtype(dtype), parts)
        call('array_create', handle.value, path, text, array, out)
    call('close', out)


def _describe(shape: Union[int, Sequence[int]], dtype: 'numpy.dtype[Any]',
              parts: Sequence[Optional[Sequence[int]]]) -> _lib.Array:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(extents) > _lib.NDIM_MAX:
        raise ValueError('an array has at most %d dimensions' % _lib.NDIM_MAX)
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype:
        raise TypeError('items of type %s cannot be stored' % dtype)
    array = _lib.Array(len(extents), dtype.itemsize)
    array.dtype = (dtype.str if dtype.names is None
                   else str(dtype.descr)).encode()
    for field, given in zip((array.chunks, array.blocks), parts):
        if given is not None and len(given) != len(extents):
            raise ValueError('chunks and blocks have as many dimensions as the '
                             'array')
        for i, extent in enumerate(given or ()):
            field[i] = _extent(extent, 2**31)
    for i, extent in enumerate(extents):
        array.shape[i] = _extent(extent, 2**63)
    return array


def _extent(value: int, end: int) -> int:
    if not 0 <= value < end:
        raise ValueError('not an extent: %d' % value)
    return value


class Array:
    """An open frame, as framefs.open() and framefs.create() return it.

    It has shape, dtype, ndim, size, itemsize and nbytes as a NumPy array,
    chunks and blocks, which are the extents of these, and can be indexed like
    one.  Integers, slices, None, "..." and one-dimensional arrays of integers
    or booleans are possible.
    """

    def __init__(self, path: Any, mode: str = 'r', *, dtype: Any = None,
                 options: Optional[str] = None, offset: int = 0) -> None:
        if mode not in ('r', 'r+'):
            raise ValueError("mode is 'r' or 'r+', not %r" % (mode,))
        self._frame: Optional[ctypes.c_void_p] = None
        self._again = (path, mode, dtype, options, offset)
        self.path = self._name(path)
        self.mode = mode
        self._handle = (_lib.Handle(options) if options
                        else _lib.shared_handle())
        self._pid = os.getpid()
        flags = _lib.ARRAY | (_lib.WRITE if mode == 'r+' else _lib.READ)
        self._frame = self._start(path, flags, offset)
        try:
            self._find_type(dtype)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _name(path: Any) -> Any:
        return os.fspath(path)

    def _start(self, path: Any, flags: int, offset: int) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        call('open', self._handle.value, os.fsencode(path), flags, offset, out)
        return out

    def _find_type(self, dtype: Any) -> None:
        described = self._describe()
        wanted = None if dtype is None else numpy.dtype(dtype)
        self.is_array = described is not None
        if described is None:
            self.dtype = wanted or numpy.dtype('u1')
        else:
            text = _lib.get_bytes('array_dtype', self._open)
            self.dtype = wanted or _parse_dtype(
                text.decode(errors='replace'), described.itemsize)
        if self.dtype.hasobject or self.dtype.itemsize == 0 or (
                described is not None and
                self.dtype.itemsize != described.itemsize):
            raise TypeError('%s: items have not the type %s' %
                            (self.path, self.dtype))

    def _describe(self) -> Optional[_lib.Array]:
        described = _lib.Array()
        result = _lib.raw('array_info', self._open, described,
                          ctypes.sizeof(described))
        return described if result >= 0 else None

    @property
    def _open(self) -> ctypes.c_void_p:
        if self._frame is None:
            raise ValueError('%s is closed' % self.path)
        if self._pid != os.getpid():
            raise ValueError('%s was opened before a fork' % self.path)
        return self._frame

    @property
    def _extents(self) -> Tuple[Tuple[int, ...], ...]:
        """Shape, extents of chunks, extents of blocks."""
        described = self._describe()
        if described is not None:
            return tuple(tuple(field[:described.ndim]) for field in (
                described.shape, described.chunks, described.blocks))
        info = self._info()
        itemsize = self.dtype.itemsize
        size = _lib.raw('size', self._open) // itemsize
        return ((size,), (max(info.chunksize // itemsize, 1),),
                (max(info.blocksize // itemsize, 1),))

    def _info(self) -> _lib.Info:
        info = _lib.Info()
        call('info', self._open, info, ctypes.sizeof(info))
        return info

    shape = property(lambda self: self._extents[0], doc='items along each '
                     'dimension')
    chunks = property(lambda self: self._extents[1], doc='items of a chunk '
                      'along each dimension')
    blocks = property(lambda self: self._extents[2], doc='items of a block '
                      'along each dimension')
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)

    @property
    def size(self) -> int:
        """The number of items."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        """The decoded size in bytes."""
        return self.size * self.itemsize

    @property
    def info(self) -> Dict[str, Any]:
        """A description of the frame, as "b2frame info --json" prints it."""
        return json.loads(_lib.get_bytes('info_json', self._open))

    @property
    def attrs(self) -> 'Attrs':
        """The vlmetalayers, which are bytes, by their names."""
        return Attrs(self)

    @property
    def chunk_list(self) -> 'ChunkList':
        """The chunks, as of the last commit."""
        return ChunkList(self)

    @property
    def chunk_map(self) -> 'ChunkMap':
        """The chunks by their keys, as of the last commit."""
        return ChunkMap(self)

    def __repr__(self) -> str:
        if self._frame is None:
            return '<closed framefs.Array %r>' % self.path
        return '<framefs.Array %r, shape %s, dtype %s>' % (
            self.path, self.shape, self.dtype)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError('len() of an array without dimensions')
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        shape = self.shape
        full = _index.complete(index, len(shape))
        if _index.is_advanced(full):
            region, inner = _index.box(full, shape)
            part = self._new([count for _, count in region])
            self._transfer('read', [start for start, _ in region], part)
            return part[inner]
        axes = _index.parse(full, shape)
        shaped = _index.result(full, axes)
        # As with NumPy, "..." gives an array even of one item.
        items = index if isinstance(index, tuple) else (index,)
        if any(one is Ellipsis for one in items):
            shaped += (Ellipsis,)
        return self._read_axes(axes)[shaped]

    def __setitem__(self, index: Any, value: Any) -> None:
        shape = self.shape
        full = _index.complete(index, len(shape))
        if _index.is_advanced(full):
            raise IndexError('arrays cannot be indices of what is written')
        axes = _index.parse(full, shape)
        wanted = [axis.count for axis in axes]
        kept = [1 if one is None else 0 for one in full]
        dims = iter(axes)
        visible = [n for n in (1 if new else self._visible(next(dims))
                               for new in kept) if n is not None]
        data = numpy.asarray(value, self.dtype)
        while data.ndim > len(visible) and data.shape[0] == 1:
            data = data[0]
        data = numpy.broadcast_to(data, visible).reshape(wanted)
        self._write_axes(axes, data)

    @staticmethod
    def _visible(axis: _index.Axis) -> Optional[int]:
        return axis.count if axis.keep else None

    def _new(self, counts: Sequence[int]) -> 'numpy.ndarray[Any, Any]':
        return numpy.empty(counts, self.dtype)

    def _read_axes(self, axes: Sequence[_index.Axis]) -> Any:
        """Read the items of axes, by way of all items between them where the
        steps are short."""
        far = self._far_step(axes)
        if far is not None:
            out = self._new([axis.count for axis in axes])
            for one, part in self._single(axes, far, out):
                part[...] = self._read_axes(one)
            return out
        region = [_index.bounds(axis) for axis in axes]
        out = self._new([count for _, count in region])
        self._transfer('read', [start for start, _ in region], out)
        steps = tuple(slice(None, None, axis.step) for axis in axes)
        out = out[steps + (Ellipsis,)]
        return out if all(abs(axis.step) == 1 for axis in axes) else out.copy()

    def _far_step(self, axes: Sequence[_index.Axis]) -> Optional[int]:
        for dim, (axis, block) in enumerate(zip(axes, self.blocks)):
            if axis.count > 1 and abs(axis.step) > block:
                return dim
        return None

    @staticmethod
    def _single(axes: Sequence[_index.Axis], dim: int, array: Any
                ) -> Iterator[Tuple[List[_index.Axis], Any]]:
        """For each item of one axis, give that axis alone, and its part of the
        array."""
        axis = axes[dim]
        for k in range(axis.count):
            one = list(axes)
            one[dim] = _index.Axis(axis.start + k * axis.step, 1, 1, axis.keep)
            yield one, array[(slice(None),) * dim + (slice(k, k + 1),)]

    def _write_axes(self, axes: Sequence[_index.Axis], data: Any) -> None:
        for dim, axis in enumerate(axes):
            if axis.count > 1 and abs(axis.step) > 1:
                for one, part in self._single(axes, dim, data):
                    self._write_axes(one, part)
                return
        steps = tuple(slice(None, None, axis.step if axis.count > 1 else 1)
                      for axis in axes)
        self._transfer('write', [_index.bounds(axis)[0] for axis in axes],
                       data[steps + (Ellipsis,)])

    def _transfer(self, what: str, start: Sequence[int], memory: Any) -> None:
        """Read or write a region, from or to an array of its shape."""
        if memory.size == 0:
            return
        if not self.is_array:
            self._transfer_bytes(what, start[0] * self.itemsize, memory)
            return
        n = max(memory.ndim, 1)
        region = _lib.Region(memory.ndim, self.itemsize,
                             (ctypes.c_uint64 * n)(*start),
                             (ctypes.c_uint64 * n)(*memory.shape),
                             (ctypes.c_int64 * n)(*memory.strides))
        call('array_' + what, self._open, region, _address(memory))

    def _transfer_bytes(self, what: str, off: int, memory: Any) -> None:
        if what == 'write':
            data = numpy.ascontiguousarray(memory)
            call('pwrite', self._open, _address(data), data.nbytes, off)
            return
        done = 0
        while done < memory.nbytes:
            n = call('pread', self._open, _address(memory) + done,
                     memory.nbytes - done, off + done)
            if n == 0:
                raise _lib.StaleError('%s has become shorter' % self.path)
            done += n

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy is False:
            raise ValueError('the items have to be decoded to a new array')
        whole = self[...]
        return numpy.asarray(whole, dtype)

    def __buffer__(self, flags: int) -> memoryview:
        """Give all items to a program that asks for a buffer (Python 3.12)."""
        whole = numpy.asarray(self)
        whole.flags.writeable = False
        return memoryview(whole)

    def resize(self, shape: Union[int, Sequence[int]]) -> None:
        """Change the shape; new items are zeros."""
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(extents) != self.ndim:
            raise ValueError('an array keeps its number of dimensions')
        checked = [_extent(extent, 2**63) for extent in extents]
        if self.is_array:
            call('array_resize', self._open,
                 (ctypes.c_uint64 * max(len(checked), 1))(*checked))
        else:
            call('truncate', self._open, checked[0] * self.itemsize)

    def sync(self) -> None:
        """Commit what was written, durably."""
        call('sync', self._open)

    def close(self) -> None:
        """Commit what was written, durably, and close the frame."""
        frame, self._frame = self._frame, None
        if frame is not None and self._pid == os.getpid():
            call('close', frame)

    def __enter__(self) -> 'Array':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, '_frame', None) is not None:
            self.close()

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
        if self.mode != 'r':
            raise TypeError('a frame that is open for writing stays in its '
                            'process')
        return _open_again, self._again


class MemoryArray(Array):
    """A frame in memory, as framefs.frombuffer() returns it."""

    @staticmethod
    def _name(path: Any) -> Any:
        return 'memory'

    def _start(self, path: Any, flags: int, offset: int) -> ctypes.c_void_p:
        self._bytes = numpy.frombuffer(path, 'u1')  # keeps the buffer in place
        out = ctypes.c_void_p()
        call('open_memory', self._handle.value, _address(self._bytes),
             self._bytes.size, flags, out)
        return out

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
        return MemoryArray, (self._bytes.tobytes(), 'r')


def _open_again(path: Any, mode: str, dtype: Any, options: Optional[str],
                offset: int) -> Array:
    return Array(path, mode, dtype=dtype, options=options, offset=offset)


def _address(array: Any) -> int:
    return array.__array_interface__['data'][0]


class Attrs(MutableMapping):  # type: ignore[type-arg]
    """The vlmetalayers of a frame, which are bytes.  Each change is committed
    at once."""

    def __init__(self, frame: Array) -> None:
        self._frame = frame

    def _get(self, name: str) -> bytes:
        return _lib.get_bytes('meta_get', self._frame._open,
                              ('vlmeta.' + name).encode())

    def __getitem__(self, name: str) -> bytes:
        if name not in list(self):
            raise KeyError(name)
        return self._get(name)

    def __setitem__(self, name: str, value: bytes) -> None:
        data = bytes(value)
        call('meta_set', self._frame._open, ('vlmeta.' + name).encode(), data,
             len(data))

    def __delitem__(self, name: str) -> None:
        if name not in list(self):
            raise KeyError(name)
        call('meta_remove', self._frame._open, ('vlmeta.' + name).encode())

    def __iter__(self) -> Iterator[str]:
        names = _lib.get_bytes('meta_list', self._frame._open).split(b'\0')
        return iter([name[7:].decode(errors='surrogateescape')
                     for name in names if name.startswith(b'vlmeta.')])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ChunkList(SequenceABC):  # type: ignore[type-arg]
    """The chunks of a frame, decoded, as of its last commit.  Each change is
    committed at once."""

    def __init__(self, frame: Array) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return self._frame._info().nchunks

    def _number(self, number: int, end: int) -> int:
        at = number + len(self) if number < 0 else number
        if not 0 <= at < end:
            raise IndexError('there is no chunk %d' % number)
        return at

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        return self._get(number, _lib.DECODED)

    def _get(self, number: int, form: int) -> bytes:
        at = self._number(number, len(self))
        return _lib.get_bytes('chunk_get', self._frame._open, at, form)

    def stored(self, number: int) -> bytes:
        """Return a chunk as it is stored, compressed, with its header; b'' if
        the index of the frame alone tells what it holds."""
        return self._get(number, _lib.STORED)

    def __setitem__(self, number: int, data: bytes) -> None:
        self.put(number, data)

    def put(self, number: int, data: bytes, stored: bool = False) -> None:
        """Replace a chunk."""
        call('chunk_put', self._frame._open, self._number(number, len(self)),
             int(stored), bytes(data), len(data))

    def insert(self, number: int, data: bytes, stored: bool = False) -> None:
        """Insert a chunk before another one, or at the end."""
        call('chunk_insert', self._frame._open,
             self._number(number, len(self) + 1), int(stored), bytes(data),
             len(data))

    def append(self, data: bytes, stored: bool = False) -> None:
        """Insert a chunk at the end."""
        self.insert(len(self), data, stored)

    def __delitem__(self, number: int) -> None:
        call('chunk_delete', self._frame._open,
             self._number(number, len(self)))

    def reorder(self, order: Sequence[int]) -> None:
        """Change the order: to each place moves the chunk with the number that
        is there."""
        numbers = [self._number(number, len(self)) for number in order]
        call('chunk_reorder', self._frame._open,
             (ctypes.c_uint64 * max(len(numbers), 1))(*numbers), len(numbers))


class ChunkMap(MutableMapping):  # type: ignore[type-arg]
    """The chunks of a frame, decoded, by keys that stay with them: a key is a
    number that no later chunk of the frame gets.  A frame has keys as soon as
    one was asked for with of() or append().  Each change is committed at
    once."""

    def __init__(self, frame: Array) -> None:
        self._frame = frame

    @staticmethod
    def _checked(key: Any) -> int:
        if not isinstance(key, int) or not 0 < key < 2**64:
            raise KeyError(key)
        return key

    def _call(self, name: str, key: Any, *arguments: Any) -> None:
        try:
            call(name, self._frame._open, self._checked(key), *arguments)
        except FileNotFoundError:
            raise KeyError(key) from None

    def _get(self, key: Any, form: int) -> bytes:
        try:
            return _lib.get_bytes('key_get', self._frame._open,
                                  self._checked(key), form)
        except FileNotFoundError:
            raise KeyError(key) from None

    def __getitem__(self, key: int) -> bytes:
        return self._get(key, _lib.DECODED)

    def stored(self, key: int) -> bytes:
        """Return a chunk as ChunkList.stored() does."""
        return self._get(key, _lib.STORED)

    def __setitem__(self, key: int, data: bytes) -> None:
        self.put(key, data)

    def put(self, key: int, data: bytes, stored: bool = False) -> None:
        """Replace the chunk with a key, which must exist."""
        self._call('key_put', key, int(stored), bytes(data), len(data))

    def append(self, data: bytes, stored: bool = False) -> int:
        """Insert a chunk at the end, and return its key."""
        key = ctypes.c_uint64()
        call('key_append', self._frame._open, int(stored), bytes(data),
             len(data), ctypes.byref(key))
        return key.value

    def __delitem__(self, key: int) -> None:
        self._call('key_delete', key)

    def of(self, number: int) -> int:
        """Return the key of the chunk with a number."""
        chunks = ChunkList(self._frame)
        key = ctypes.c_uint64()
        try:
            call('chunk_key', self._frame._open,
                 chunks._number(number, len(chunks)), ctypes.byref(key))
        except FileNotFoundError:
            raise KeyError(number) from None
        return key.value

    def number(self, key: int) -> int:
        """Return the number of the chunk with a key."""
        found = ctypes.c_uint64()
        self._call('key_find', key, ctypes.byref(found))
        return found.value

    def __contains__(self, key: object) -> bool:
        try:
            self.number(key)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[int]:
        if 'framefs.keys' not in self._frame.attrs:
            return
        for number in range(len(ChunkList(self._frame))):
            try:
                yield self.of(number)
            except (KeyError, IndexError):
                continue  # it has none yet, or is gone

    def __len__(self) -> int:
        return sum(1 for _ in self)
