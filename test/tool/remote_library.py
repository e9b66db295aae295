# SPDX-License-Identifier: BSD-3-Clause
"""Frames by URL as a program sees them that uses libframefs."""

import ctypes
import os

import harness


class Library:
    """A handle of libframefs from a build directory, for a `with` statement."""

    def __init__(self, build, options=''):
        if harness.SANITIZED:
            raise harness.Skipped('Python cannot load a sanitized library')
        self.lib = ctypes.CDLL(os.path.join(build, 'src/lib/libframefs.so.0'))
        self.lib.framefs_error.restype = ctypes.c_char_p
        self.lib.framefs_size.restype = ctypes.c_uint64
        self.lib.framefs_pread.restype = ctypes.c_ssize_t
        self.lib.framefs_pwrite.restype = ctypes.c_ssize_t
        for name in ('pread', 'pwrite'):
            getattr(self.lib, 'framefs_' + name).argtypes = (
                ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                ctypes.c_uint64)
        for name in ('free', 'close', 'size', 'sync'):
            getattr(self.lib, 'framefs_' + name).argtypes = (ctypes.c_void_p,)
        self.handle = ctypes.c_void_p()
        self.check(self.lib.framefs_new(options.encode(),
                                        ctypes.byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.framefs_free(self.handle)

    def check(self, result):
        if result < 0:
            raise OSError(-result, self.lib.framefs_error().decode())
        return result

    def open(self, name, offset=0, flags=0):
        handle = ctypes.c_void_p()
        self.check(self.lib.framefs_open(
            self.handle, name.encode(), flags, ctypes.c_uint64(offset),
            ctypes.byref(handle)))
        return LibraryFrame(self, handle)

    def create(self, name, options=''):
        handle = ctypes.c_void_p()
        self.check(self.lib.framefs_create(
            self.handle, name.encode(), options.encode(), ctypes.byref(handle)))
        return LibraryFrame(self, handle)


class LibraryFrame:
    """An open frame, for a `with` statement."""

    def __init__(self, library, handle):
        self.library = library
        self.lib = library.lib
        self.handle = handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lib.framefs_close(self.handle)

    def size(self):
        return self.lib.framefs_size(self.handle)

    def read(self, offset=0, length=None):
        if length is None:
            length = self.size() - offset
        buf = ctypes.create_string_buffer(length)
        got = self.library.check(self.lib.framefs_pread(self.handle, buf,
                                                        length, offset))
        return buf.raw[:got]

    def write(self, data, offset=0):
        self.library.check(self.lib.framefs_pwrite(self.handle, data, len(data),
                                                   offset))

    def sync(self):
        self.library.check(self.lib.framefs_sync(self.handle))

    def call(self, name, *args):
        """Call any function of a frame."""
        return self.library.check(getattr(self.lib, 'framefs_' + name)(
            self.handle, *args))

    def key_of(self, chunk_no):
        key = ctypes.c_uint64()
        self.call('chunk_key', ctypes.c_uint64(chunk_no), ctypes.byref(key))
        return key.value

    def key_get(self, key, size):
        """Return the decoded chunk with a key, of at most `size` bytes."""
        buf = ctypes.create_string_buffer(size)
        got = self.call('key_get', ctypes.c_uint64(key), 0, buf,
                        ctypes.c_size_t(size))
        return buf.raw[:got]

    def key_put(self, key, data):
        self.call('key_put', ctypes.c_uint64(key), 0, data,
                  ctypes.c_size_t(len(data)))

    def key_append(self, data):
        key = ctypes.c_uint64()
        self.call('key_append', 0, data, ctypes.c_size_t(len(data)),
                  ctypes.byref(key))
        return key.value

    def key_delete(self, key):
        self.call('key_delete', ctypes.c_uint64(key))

    def reorder(self, order):
        self.call('chunk_reorder', (ctypes.c_uint64 * len(order))(*order),
                  ctypes.c_uint64(len(order)))
