# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write until the daemon dies, and know the content that must be
left."""

import ctypes
import os
import random
import struct
import threading
import traceback

from mounted import check, harness, read

CHUNKSIZE = 16384
PAGE = 4096
NRECORDS = 40
PUNCH_HOLE_KEEP_SIZE = 3

libc = ctypes.CDLL(None, use_errno=True)


nsyncs = 0  # acknowledged ones; approximate, because threads count in parallel


def sync(fd):
    global nsyncs
    os.fsync(fd)
    nsyncs += 1


def filled(size, *key):
    """Return bytes that depend on a key, and that compress more or less
    well."""
    choice = random.Random(repr(key))
    head = struct.pack('<%dI' % len(key), *key)
    n = choice.randrange(size - len(head))
    return (head + choice.randbytes(n)).ljust(size, b'%d' % (key[-1] % 10))


class Records:
    """A file of records, each as large as a chunk.  A record holds the number
    of its version; every seventh version is a hole."""

    def __init__(self, name, piece, flags, writers):
        self.name = name
        self.piece = piece  # bytes in a piece, which holds its version
        self.flags = flags
        self.writers = writers
        self.issued = [0] * NRECORDS
        self.written = [0] * NRECORDS  # and not lost in a kill
        self.acked = [0] * NRECORDS

    def content(self, number, version):
        if version % 7 == 0:
            return bytes(CHUNKSIZE)
        return b''.join(filled(self.piece, number, i, version)
                        for i in range(CHUNKSIZE // self.piece))

    def write(self, fd, number):
        """Write a record, or punch a hole."""
        self.issued[number] += 1
        data = self.content(number, self.issued[number])
        off = number * CHUNKSIZE
        if any(data):
            check(os.pwrite(fd, data, off) == CHUNKSIZE, 'short write')
        elif libc.fallocate(fd, PUNCH_HOLE_KEEP_SIZE, ctypes.c_long(off),
                            ctypes.c_long(CHUNKSIZE)) < 0:
            raise OSError(ctypes.get_errno(), 'fallocate')
        self.written[number] = self.issued[number]

    def loads(self):
        return [lambda *args, i=i: self.work(i, *args)
                for i in range(self.writers)]

    def work(self, writer, mount, choice, ending):
        """Each writer has records of its own."""
        mine = range(writer, NRECORDS, self.writers)
        fd = os.open(mount / self.name, os.O_RDWR | os.O_CREAT | self.flags)
        try:
            while not ending.is_set():
                self.write(fd, choice.choice(mine))
                if choice.random() < 0.1:
                    sync(fd)
                    for number in mine:
                        self.acked[number] = self.written[number]
        finally:
            os.close(fd)

    def check(self, mount):
        data = read(mount / self.name)
        for number in range(NRECORDS):
            off = number * CHUNKSIZE
            record = data[off:off + CHUNKSIZE].ljust(CHUNKSIZE, b'\0')
            self.check_record(number, record)

    def check_record(self, number, record):
        """Each piece of a record has the last acknowledged version, or a newer
        one."""
        versions = range(self.acked[number], self.issued[number] + 1)
        found = []
        for i in range(CHUNKSIZE // self.piece):
            part = record[i * self.piece:(i + 1) * self.piece]
            version = struct.unpack_from('<3I', part)[2]
            check(not any(part) or struct.unpack_from('<2I', part) ==
                  (number, i), '%s: record %d, piece %d is %s' %
                  (self.name, number, i, struct.unpack_from('<3I', part)))
            if not any(part):
                version = max((v for v in versions if v % 7 == 0), default=-1)
            check(version in versions, '%s: record %d, piece %d is of version '
                  '%d, not %d to %d' % (self.name, number, i, version,
                                        versions[0], versions[-1]))
            check(version % 7 == 0 or part == filled(self.piece, number, i,
                                                     version),
                  '%s: record %d, piece %d is a mixture' %
                  (self.name, number, i))
            found.append(version)
        self.acked[number] = self.written[number] = min(found)


class Log:
    """A file that grows at its end, and is truncated now and then.  Each byte
    is determined by its offset."""

    STREAM = filled(1 << 20, 0)

    def __init__(self, name):
        self.name = name
        self.low = self.high = 0  # range of sizes since the last fsync()

    def loads(self):
        return [self.work]

    def work(self, mount, choice, ending):
        fd = os.open(mount / self.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            size = self.low
            os.ftruncate(fd, size)
            while not ending.is_set():
                if choice.random() < 0.03 or size + 20000 > len(self.STREAM):
                    size = choice.choice((0, choice.randrange(size + 1)))
                    self.low = min(self.low, size)
                    os.ftruncate(fd, size)
                piece = self.STREAM[size:size + choice.randrange(1, 20000)]
                self.high = max(self.high, size + len(piece))
                check(os.write(fd, piece) == len(piece), 'short write')
                size += len(piece)
                if choice.random() < 0.1:
                    sync(fd)
                    self.low = self.high = size
        finally:
            os.close(fd)

    def check(self, mount):
        data = read(mount / self.name)
        check(self.low <= len(data) <= self.high, '%s: size %d, not %d to %d' %
              (self.name, len(data), self.low, self.high))
        check(data[:self.low] == self.STREAM[:self.low],
              self.name + ': lost what was acknowledged')
        check(all(byte in (0, wanted) for byte, wanted in
                  zip(data[self.low:], self.STREAM[self.low:])),
              self.name + ': holds what was never written')
        self.high = max(self.high, len(data))


class Load:
    """The threads that write until the daemon dies."""

    def __init__(self, subjects):
        self.subjects = subjects
        self.ending = threading.Event()
        self.failures = []

    def run(self, load, *args):
        try:
            load(*args, self.ending)
        except (OSError, harness.Failure):
            if not self.ending.is_set():
                self.failures.append(traceback.format_exc())
                self.ending.set()

    def start(self, mount, choice):
        threads = [threading.Thread(target=self.run, args=(
            load, mount, random.Random(choice.random())))
            for subject in self.subjects for load in subject.loads()]
        for thread in threads:
            thread.start()
        return threads
