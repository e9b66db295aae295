# SPDX-License-Identifier: BSD-3-Clause
"""Read a frame from Python with nothing but its standard library.

usage: example.py FRAME
"""

import ctypes
import json
import sys

lib = ctypes.CDLL('libframefs.so.0')
lib.framefs_error.restype = ctypes.c_char_p
lib.framefs_size.restype = ctypes.c_uint64
lib.framefs_pread.restype = ctypes.c_ssize_t
lib.framefs_info_json.restype = ctypes.c_ssize_t


def check(result):
    if result < 0:
        raise OSError(-result, lib.framefs_error().decode())
    return result


fs = ctypes.c_void_p()
frame = ctypes.c_void_p()
check(lib.framefs_new(b'cache=64M', ctypes.byref(fs)))
check(lib.framefs_open(fs, sys.argv[1].encode(), 0, ctypes.c_uint64(0),
                       ctypes.byref(frame)))

text = ctypes.create_string_buffer(check(lib.framefs_info_json(frame, 0, 0)) + 1)
check(lib.framefs_info_json(frame, text, ctypes.c_size_t(len(text))))
print(json.loads(text.value)['codec'], lib.framefs_size(frame))

squares = (ctypes.c_uint64 * 3)()
check(lib.framefs_pread(frame, squares, ctypes.c_size_t(24),
                        ctypes.c_uint64(8 * 10)))
print(*squares)

lib.framefs_close(frame)
lib.framefs_free(fs)
