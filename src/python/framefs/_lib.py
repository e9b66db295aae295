# SPDX-License-Identifier: BSD-3-Clause
"""libframefs by ctypes: its structs, functions and errors."""

import ctypes
import errno
import os
import threading
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_ssize_t
from ctypes import c_uint32, c_uint64, c_void_p
from typing import Any, Optional

READ, WRITE, ARRAY = 0, 1, 2  # flags of framefs_open()
DECODED, STORED = 0, 1  # forms of a chunk
NDIM_MAX = 16


class Error(OSError):
    """A call of libframefs failed; `errno` and `strerror` say why."""


class DamagedError(Error):
    """The bytes of a frame break the format."""


class UnsupportedError(Error):
    """The frame needs a codec or filter that libframefs lacks, or cannot be
    changed."""


class StaleError(Error):
    """Another program has changed a frame that is open for writing."""


class BusyError(Error):
    """Another program keeps a frame locked, or is changing it."""


_ERRORS = {
    errno.EBADMSG: DamagedError,
    errno.EBUSY: BusyError,
    errno.ENOTSUP: UnsupportedError,
    errno.ESTALE: StaleError,
}


class Array(ctypes.Structure):
    """struct framefs_array"""
    _fields_ = [('ndim', c_uint32), ('itemsize', c_uint32),
                ('shape', c_uint64 * NDIM_MAX),
                ('chunks', c_uint32 * NDIM_MAX),
                ('blocks', c_uint32 * NDIM_MAX),
                ('dtype', c_char_p)]


class Region(ctypes.Structure):
    """struct framefs_region"""
    _fields_ = [('ndim', c_uint32), ('itemsize', c_uint32),
                ('start', POINTER(c_uint64)), ('count', POINTER(c_uint64)),
                ('strides', POINTER(c_int64))]


class Info(ctypes.Structure):
    """struct framefs_info"""
    _fields_ = [('size', c_uint64), ('stored', c_uint64),
                ('nchunks', c_uint64), ('chunksize', c_uint32),
                ('blocksize', c_uint32), ('typesize', c_uint32),
                ('clevel', c_uint32), ('codec', ctypes.c_char * 16),
                ('sparse', c_uint32), ('version', c_uint32)]


_FUNCTIONS = {
    'new': (c_int, c_char_p, POINTER(c_void_p)),
    'free': (None, c_void_p),
    'open': (c_int, c_void_p, c_char_p, c_int, c_uint64, POINTER(c_void_p)),
    'open_memory': (c_int, c_void_p, c_void_p, c_size_t, c_int,
                    POINTER(c_void_p)),
    'create': (c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p)),
    'close': (c_int, c_void_p),
    'size': (c_uint64, c_void_p),
    'pread': (c_ssize_t, c_void_p, c_void_p, c_size_t, c_uint64),
    'pwrite': (c_ssize_t, c_void_p, c_void_p, c_size_t, c_uint64),
    'truncate': (c_int, c_void_p, c_uint64),
    'sync': (c_int, c_void_p),
    'info': (c_int, c_void_p, POINTER(Info), c_size_t),
    'info_json': (c_ssize_t, c_void_p, c_void_p, c_size_t),
    'meta_list': (c_ssize_t, c_void_p, c_void_p, c_size_t),
    'meta_get': (c_ssize_t, c_void_p, c_char_p, c_void_p, c_size_t),
    'meta_set': (c_int, c_void_p, c_char_p, c_void_p, c_size_t),
    'meta_remove': (c_int, c_void_p, c_char_p),
    'array_create': (c_int, c_void_p, c_char_p, c_char_p, POINTER(Array),
                     POINTER(c_void_p)),
    'array_info': (c_int, c_void_p, POINTER(Array), c_size_t),
    'array_dtype': (c_ssize_t, c_void_p, c_void_p, c_size_t),
    'array_read': (c_int, c_void_p, POINTER(Region), c_void_p),
    'array_write': (c_int, c_void_p, POINTER(Region), c_void_p),
    'array_resize': (c_int, c_void_p, POINTER(c_uint64)),
    'chunk_get': (c_ssize_t, c_void_p, c_uint64, c_int, c_void_p, c_size_t),
    'chunk_put': (c_int, c_void_p, c_uint64, c_int, c_void_p, c_size_t),
    'chunk_insert': (c_int, c_void_p, c_uint64, c_int, c_void_p, c_size_t),
    'chunk_delete': (c_int, c_void_p, c_uint64),
    'chunk_key': (c_int, c_void_p, c_uint64, c_void_p),
    'key_find': (c_int, c_void_p, c_uint64, c_void_p),
    'key_get': (c_ssize_t, c_void_p, c_uint64, c_int, c_void_p, c_size_t),
    'key_put': (c_int, c_void_p, c_uint64, c_int, c_void_p, c_size_t),
    'key_append': (c_int, c_void_p, c_int, c_void_p, c_size_t, c_void_p),
    'key_delete': (c_int, c_void_p, c_uint64),
    'chunk_reorder': (c_int, c_void_p, POINTER(c_uint64), c_uint64),
    'version': (c_char_p,),
    'error': (c_char_p,),
}


def _load() -> Any:
    library = ctypes.CDLL('libframefs.so.0')
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, 'framefs_' + name)
        function.restype = result
        function.argtypes = arguments
    return library


_library = _load()


def raw(name: str, *arguments: Any) -> Any:
    """Call a function that cannot fail."""
    return getattr(_library, 'framefs_' + name)(*arguments)


def call(name: str, *arguments: Any) -> int:
    """Call a function; raise an exception if it fails."""
    result = raw(name, *arguments)
    if result >= 0:
        return result
    text = raw('error').decode(errors='replace')
    raise _ERRORS.get(-result, OSError)(-result, text)


def get_bytes(name: str, *arguments: Any) -> bytes:
    """Call a function that fills a buffer and tells the length it needs."""
    while True:
        size = call(name, *arguments, None, 0)
        buffer = ctypes.create_string_buffer(size + 1)
        try:
            length = call(name, *arguments, buffer, size + 1)
        except OSError as error:
            if error.errno == errno.ERANGE:
                continue  # it has grown
            raise
        return buffer.raw[:length]


class Handle:
    """A library handle, which its frames keep alive."""

    def __init__(self, options: Optional[str] = None) -> None:
        out = c_void_p()
        call('new', os.fsencode(options) if options else None, out)
        self.value = out
        self._pid = os.getpid()

    def __del__(self) -> None:
        # A child process must not use the handle of its parent.
        if hasattr(self, 'value') and self._pid == os.getpid():
            raw('free', self.value)


_lock = threading.Lock()
_shared: Optional[Handle] = None


def shared_handle() -> Handle:
    """Return the handle of all frames that are opened without options."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Handle()
        return _shared


def _after_fork() -> None:
    global _shared, _lock
    _lock = threading.Lock()
    _shared = None


os.register_at_fork(after_in_child=_after_fork)
