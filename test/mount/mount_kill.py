#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that is killed leaves frames as they were committed last.

usage: mount_kill.py FRAMEFS [TEST...]

Several threads write through a mount until the daemon is killed, at a moment
by chance.  Then every frame is valid; what fsync() acknowledged is there, or
what was written later; a chunk that was written at once is all old or all new;
the next daemon goes on, and removes what the last one left lying.

FRAMEFS_KILL_RUNS kills it more often, FRAMEFS_KILL_SEED at other moments.
"""

import ctypes
import glob
import json
import os
import random
import signal
import struct
import subprocess
import threading
import time
import traceback

from mounted import B2FRAME, Mount, check, corpus, main, read, write

RUNS = int(os.environ.get('FRAMEFS_KILL_RUNS',
                          '40' if corpus.SANITIZED else '200'))
SEED = int(os.environ.get('FRAMEFS_KILL_SEED', '1'))
LONGEST = 0.15  # seconds of load before a kill
CHUNKSIZE = 16384
PAGE = 4096
NRECORDS = 40
PUNCH_HOLE_KEEP_SIZE = 3

libc = ctypes.CDLL(None, use_errno=True)


def filled(size, *key):
    """Bytes that depend on a key, and compress more or less well."""
    choice = random.Random(repr(key))
    head = struct.pack('<%dI' % len(key), *key)
    n = choice.randrange(size - len(head))
    return (head + choice.randbytes(n)).ljust(size, b'%d' % (key[-1] % 10))


class Records:
    """A file of records that are chunks.  Each bears the number of its writing;
    with every seventh it becomes a hole."""

    def __init__(self, name, piece, flags, writers):
        self.name = name
        self.piece = piece  # what is written at once
        self.flags = flags
        self.writers = writers
        self.issued = [0] * NRECORDS
        self.written = [0] * NRECORDS  # and not lost by a kill
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
                    os.fsync(fd)
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
        """Each piece is one that was acknowledged, or is newer."""
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
    """A file that grows at its end, and is cut now and then.  Each of its bytes
    is given by its place."""

    STREAM = filled(1 << 20, 0)

    def __init__(self, name):
        self.name = name
        self.low = self.high = 0  # sizes since the last that was acknowledged

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
                    os.fsync(fd)
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


class Names:
    """Files that take the places of others in one step."""

    NAMES = ('a', 'b', 'c')

    def __init__(self, name):
        self.name = name
        self.acked = dict.fromkeys(self.NAMES, 0)  # 0: there is none
        self.issued = dict(self.acked)
        self.version = 0

    def loads(self):
        return [self.work]

    def content(self, version):
        return filled(version * 7919 % 60000 + 20, version)

    def work(self, mount, choice, ending):
        top = mount / self.name
        while not ending.is_set():
            name = choice.choice(self.NAMES)
            if choice.random() < 0.2:
                self.remove(top, name, choice)
            else:
                self.put(top, name, choice)

    def remove(self, top, name, choice):
        """Remove a name; the file may live on for a while."""
        path = os.path.join(top, name)
        if self.acked[name] == 0:
            return
        fd = os.open(path, os.O_RDWR)
        try:
            self.issued[name] = 0
            os.unlink(path)
            self.acked[name] = 0
            if choice.random() < 0.5:
                os.pwrite(fd, b'nobody will read this', 10000)
                os.fsync(fd)
        finally:
            os.close(fd)

    def put(self, top, name, choice):
        """Replace a file by another: it is complete if it was synced before, or
        only closed."""
        self.version += 1
        path = os.path.join(top, name)
        with open(path + '.new', 'wb', buffering=0) as file:
            file.write(self.content(self.version))
            if choice.random() < 0.5:
                os.fsync(file.fileno())
        self.issued[name] = self.version
        os.rename(path + '.new', path)
        self.acked[name] = self.version

    def check(self, mount):
        for name in self.NAMES:
            path = os.path.join(mount / self.name, name)
            wanted = (self.acked[name], self.issued[name])
            data = read(path) if os.path.exists(path) else b'\0' * 4
            version, = struct.unpack_from('<I', data)
            check(version in wanted, '%s: version %d, not %d or %d' %
                  (path, version, *wanted))
            check(version == 0 or data == self.content(version),
                  path + ': not what was written')
            self.acked[name] = self.issued[name] = version


class Load:
    """What writes, until the daemon dies."""

    def __init__(self, subjects):
        self.subjects = subjects
        self.ending = threading.Event()
        self.failures = []

    def run(self, load, *args):
        try:
            load(*args, self.ending)
        except (OSError, corpus.Failure):
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


def kill(mount, load, choice):
    """Let the load go on for a while, and kill the daemon; now and then when it
    is about to leave."""
    leaves = choice.random() < 0.2
    load.ending.wait(choice.random() * LONGEST)
    load.ending.set()
    if leaves:
        mount.daemon.send_signal(signal.SIGTERM)
        time.sleep(choice.random() * LONGEST / 5)
    mount.crash()


def temporaries(top):
    return [path for path in glob.glob(top + '/**', recursive=True,
                                       include_hidden=True)
            if os.path.basename(path).startswith('.framefs-tmp.')]


def frames():
    return [path for path in glob.glob('src/**/*.b2frame', recursive=True)
            if os.path.basename(path) != 'chunks.b2frame']


def check_frames():
    """Is every frame valid?"""
    done = subprocess.run([B2FRAME, 'verify', '--quiet', *frames()],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, 'verify: ' + done.stdout.decode())


def check_nothing_is_left():
    """Is there nothing but frames, and in them nothing but chunks?"""
    check(not temporaries('src'), 'left: %s' % temporaries('src'))
    for path in filter(os.path.isdir, frames()):
        info = json.loads(corpus.run(B2FRAME, 'info', '--json', '--chunks',
                                     path).stdout)
        wanted = ['%08X.chunk' % chunk['id'] for chunk in info['chunks']
                  if 'id' in chunk]
        check(sorted(os.listdir(path)) == sorted(wanted + ['chunks.b2frame']),
              '%s: has %s for %s' % (path, os.listdir(path), wanted))


def run(layout, subjects, choice):
    """One life of a daemon."""
    load = Load(subjects)
    options = 'layout=%s,chunksize=%d,codec=%s,commit=%d,cache=%s' % (
        layout, CHUNKSIZE, choice.choice(('lz4', 'zstd', 'blosclz')),
        choice.randrange(2), choice.choice(('4M', '64M')))
    with Mount('src', 'mnt', '-o', options) as mount:
        for subject in subjects:
            subject.check(mount)
        threads = load.start(mount, choice)
        kill(mount, load, choice)
        for thread in threads:
            thread.join()
        check('Sanitizer' not in mount.log(), mount.log())
    check(not load.failures, 'before the kill: ' + '\n'.join(load.failures))
    check_frames()


def kill_often(layout):
    choice = random.Random(SEED)
    subjects = [Records('direct', CHUNKSIZE, os.O_DIRECT, 2),
                Records('buffered', PAGE, 0, 1), Log('log'), Names('names')]
    os.mkdir('src')
    options = 'layout=%s,chunksize=%d' % (layout, CHUNKSIZE)
    with Mount('src', 'mnt', '-o', options) as mount:
        os.mkdir(mount / 'names')
        for name in ('direct', 'buffered', 'log'):
            write(mount / name, b'')
    for i in range(RUNS // 2):
        try:
            run(layout, subjects, choice)
        except BaseException:
            print('%s: run %d of seed %d' % (layout, i, SEED))
            raise
    with Mount('src', 'mnt') as mount:
        for subject in subjects:
            subject.check(mount)
        for path in glob.glob('mnt/**', recursive=True):
            if os.path.isfile(path):
                os.truncate(path, 100)
    check_frames()
    check_nothing_is_left()


def contiguous():
    kill_often('contiguous')


def sparse():
    kill_often('sparse')


main(contiguous,
     sparse)
