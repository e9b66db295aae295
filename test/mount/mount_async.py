#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount async
"""Programs that read through the kernel's cache see asynchronous O_DIRECT
writes.

usage: mount_async.py FRAMEFS [TEST...]
"""

import ctypes
import mmap
import os
import platform
import threading

from mounted import Mount, check, main, write

SIZE = 65536
WRITES = 500
WRITE_COMMAND = 1  # IOCB_CMD_PWRITE
CALLS = {  # io_setup, io_submit, io_getevents
    'x86_64': (206, 209, 208),
    'aarch64': (0, 2, 4),
}


class Request(ctypes.Structure):
    """struct iocb of linux/aio_abi.h, as it is on little-endian machines."""
    _fields_ = [('data', ctypes.c_uint64), ('key', ctypes.c_uint32),
                ('flags', ctypes.c_uint32), ('command', ctypes.c_uint16),
                ('priority', ctypes.c_int16), ('fd', ctypes.c_uint32),
                ('address', ctypes.c_uint64), ('len', ctypes.c_uint64),
                ('off', ctypes.c_int64), ('reserved', ctypes.c_uint64),
                ('more_flags', ctypes.c_uint32), ('event', ctypes.c_uint32)]


class Queue:
    """Asynchronous writes, one at a time."""

    def __init__(self):
        self.calls = CALLS[platform.machine()]
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.context = ctypes.c_ulong(0)
        self.call(0, 1, ctypes.byref(self.context))

    def call(self, which, *args):
        result = self.libc.syscall(
            self.calls[which], *(ctypes.c_long(arg) if isinstance(arg, int)
                                 else arg for arg in args))
        check(result >= 0, os.strerror(ctypes.get_errno()))
        return result

    def write(self, fd, buffer):
        """Write a buffer to the start of a file, and return when the write is
        complete."""
        memory = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        request = Request(command=WRITE_COMMAND, fd=fd, len=len(buffer),
                          address=ctypes.addressof(memory))
        event = (ctypes.c_int64 * 4)()
        self.call(1, self.context, 1,
                  ctypes.byref(ctypes.c_void_p(ctypes.addressof(request))))
        self.call(2, self.context, 1, 1, event, None)
        check(event[2] == len(buffer), 'written %d' % event[2])


def asynchronous_writes_are_seen_by_all_who_read():
    if platform.machine() not in CALLS:
        return
    os.mkdir('src')
    queue = Queue()
    over = threading.Event()
    with Mount('src', 'mnt') as mount:
        write(mount / 'x', bytes(SIZE))
        reader = os.open(mount / 'x', os.O_RDONLY)
        writer = os.open(mount / 'x', os.O_WRONLY | os.O_DIRECT)

        def fill_the_cache():
            while not over.is_set():
                os.pread(reader, SIZE, 0)

        threads = [threading.Thread(target=fill_the_cache) for _ in range(3)]
        for thread in threads:
            thread.start()
        stale = 0
        buffer = mmap.mmap(-1, SIZE)
        for i in range(WRITES):
            content = bytes([i % 255 + 1]) * SIZE
            buffer[:] = content
            queue.write(writer, buffer)
            stale += os.pread(reader, SIZE, 0) != content
        over.set()
        for thread in threads:
            thread.join()
        os.close(reader)
        os.close(writer)
        check(stale == 0, '%d of %d reads are stale' % (stale, WRITES))


main(asynchronous_writes_are_seen_by_all_who_read)
