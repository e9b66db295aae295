#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libframefs gives no wrong byte of a damaged frame: right ones, or an error.

usage: damage.py SOURCE BUILD

FRAMEFS_FLIPS sets how many bits are flipped (3000), FRAMEFS_OVERWRITES how many
blocks of 4 KiB are overwritten (600); each in one of the frames, which is then
right again.  FRAMEFS_SEED is the seed of both (1).
"""

import collections
import ctypes
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
sys.path[:0] = [os.path.join(SOURCE, 'test', 'tool'),
                os.path.join(SOURCE, 'src', 'python')]
os.environ['LD_LIBRARY_PATH'] = os.path.join(BUILD, 'src', 'lib')

from harness import SANITIZED, SKIP, read, write  # noqa: E402
from samples import files, samples  # noqa: E402

FLIPS = int(os.environ.get('FRAMEFS_FLIPS', 3000))
OVERWRITES = int(os.environ.get('FRAMEFS_OVERWRITES', 600))
SEED = int(os.environ.get('FRAMEFS_SEED', 1))
BLOCK = 4096
PIECE = 16384
BUFFER = 1 << 20
ARRAY = 2  # FRAMEFS_ARRAY


class Damaged(Exception):
    """The library refuses what was asked for."""


class Extents(ctypes.Structure):
    """struct framefs_array"""
    _fields_ = [('ndim', ctypes.c_uint32), ('itemsize', ctypes.c_uint32),
                ('shape', ctypes.c_uint64 * 16),
                ('chunks', ctypes.c_uint32 * 16),
                ('blocks', ctypes.c_uint32 * 16), ('dtype', ctypes.c_char_p)]


class Library:
    """The functions of libframefs that the test needs."""

    def __init__(self):
        self.functions = ctypes.CDLL(os.path.join(BUILD, 'src', 'lib',
                                                  'libframefs.so'))
        self.buffer = ctypes.create_string_buffer(BUFFER)
        self.fs = ctypes.c_void_p()
        self.call('new', b'threads=1,cache=16M', ctypes.byref(self.fs))

    def call(self, name, *arguments):
        function = getattr(self.functions, 'framefs_' + name)
        function.restype = ctypes.c_ssize_t
        result = function(*arguments)
        if ctypes.c_int(result & 0xffffffff).value < 0:
            raise Damaged(name)
        return result

    def open(self, path, flags=0):
        frame = ctypes.c_void_p()
        self.call('open', self.fs, path.encode(), flags, ctypes.c_uint64(0),
                  ctypes.byref(frame))
        return frame

    def read(self, frame, size, offset):
        n = self.call('pread', frame, self.buffer, ctypes.c_size_t(size),
                      ctypes.c_uint64(offset))
        return self.buffer.raw[:n]

    def names(self, frame):
        n = self.call('meta_list', frame, self.buffer, ctypes.c_size_t(BUFFER))
        return self.buffer.raw[:n].split(b'\0')[:-1]

    def layer(self, frame, name):
        n = self.call('meta_get', frame, name, self.buffer,
                      ctypes.c_size_t(BUFFER))
        return self.buffer.raw[:n]

    def extents(self, frame):
        found = Extents()
        self.call('array_info', frame, ctypes.byref(found),
                  ctypes.c_size_t(ctypes.sizeof(found)))
        return found


# A library with sanitizers cannot be loaded.
if SANITIZED:
    sys.exit(SKIP)
LIBRARY = Library()


def b2frame(*words, stdin=b''):
    return subprocess.run([os.path.join(BUILD, 'tools', 'b2frame'), *words],
                          input=stdin, check=True,
                          stdout=subprocess.PIPE).stdout


class Frame:
    """A frame, and what it shows: the bytes in pieces, the metalayers, and of an
    array also shape and chunks."""

    def __init__(self, path):
        self.path = path
        self.size = len(b2frame('cat', path))
        self.files = files(path)
        self.older = {}
        self.is_array = 'array' in path
        self.right = {}
        self.right = dict(self.look())
        assert None not in self.right.values()

    def keep_older(self, copy):
        """Take the files of an older state for stale blocks."""
        for name in self.files:
            old = name.replace(self.path, copy, 1)
            self.older[name] = read(old) if os.path.exists(old) else b''

    def look(self):
        """Return what is shown of all parts; None: an error."""
        shown = collections.defaultdict(lambda: None)
        for part, see in (('bytes', self.see_bytes), ('layers', self.see_layers),
                          ('array', self.see_array)):
            try:
                see(shown)
            except Damaged:
                shown[part] = None
        return shown

    def see_bytes(self, shown):
        frame = LIBRARY.open(self.path)
        for offset in range(0, self.size, PIECE):
            try:
                shown[offset] = LIBRARY.read(frame, PIECE, offset)
            except Damaged:
                continue
            # Bytes before an error come without it.
            right = self.right.get(offset, b'')
            if right.startswith(shown[offset]) and right != shown[offset]:
                shown[offset] = None
        LIBRARY.call('close', frame)

    def see_layers(self, shown):
        frame = LIBRARY.open(self.path)
        try:
            for name in LIBRARY.names(frame):
                try:
                    shown[name] = LIBRARY.layer(frame, name)
                except Damaged:
                    shown[name] = None
        finally:
            LIBRARY.call('close', frame)

    def see_array(self, shown):
        if not self.is_array:
            return
        frame = LIBRARY.open(self.path, ARRAY)
        try:
            found = LIBRARY.extents(frame)
            shown['chunks'] = [tuple(found.chunks[:found.ndim]),
                               tuple(found.blocks[:found.ndim])]
            shown['grid'] = [-(-items // chunk) for items, chunk in
                             zip(found.shape[:found.ndim], found.chunks)]
        finally:
            LIBRARY.call('close', frame)

    def check(self, what):
        """Compare what is shown with what is right.  Return whether all of it
        is shown."""
        shown = self.look()
        missing = [part for part in self.right if shown[part] is None]
        for part in shown:
            # Other programs may overwrite a metalayer of the header.
            if shown[part] is None or str(part).startswith("b'meta."):
                continue
            if shown[part] != self.right.get(part):
                sys.exit('%s: wrong %s: %s' % (self.path, part, what))
        return not missing


def make_frames():
    """Make frames of all kinds, with metalayers, and older states of them."""
    for path, _ in samples(b2frame):
        b2frame('meta', 'set', path, 'old', '-', stdin=b'before' * 9)
        shutil.copytree(path, 'older-' + path) if os.path.isdir(path) else \
            shutil.copyfile(path, 'older-' + path)
        size = min(16384, len(b2frame('cat', path)))
        chunk = b2frame('cat', '--length', str(size), path)
        info = b2frame('info', '--json', path)
        chunksize = int(info.split(b'"chunksize":')[1].split(b',')[0])
        b2frame('update', path, '1', '-',
                stdin=(chunk * 9)[1:chunksize + 1])
        b2frame('meta', 'set', path, 'old', '-', stdin=b'behind' * 9)
        b2frame('meta', 'set', path, 'new', '-',
                stdin=random.Random(3).randbytes(900))
        frame = Frame(path)
        frame.keep_older('older-' + path)
        yield frame
    for layout in 'contiguous', 'sparse':
        path = layout + '-array'
        b2frame('create', '--layout', layout, '--shape', '60,100', '--dtype',
                '<i4', '--chunks', '20,30', '--blocks', '7,8', '-', path,
                stdin=struct.pack('<6000i', *range(6000)))
        yield Frame(path)


def patch(name, offset, data):
    with open(name, 'r+b', buffering=0) as file:
        file.seek(offset)
        file.write(data)
    os.utime(name, (1, 1))


def damage(frame, name, offset, data, what):
    """Overwrite bytes, and look at the frame.  Return whether all is shown."""
    old = read(name, offset, len(data))
    patch(name, offset, data)
    harmless = frame.check(what)
    patch(name, offset, old)
    return harmless


def flip(frame, rng):
    name = rng.choice(frame.files)
    bit = rng.randrange(8 * os.path.getsize(name))
    byte = read(name, bit // 8, 1)[0] ^ 1 << bit % 8
    return damage(frame, name, bit // 8, bytes([byte]),
                  'bit %d of %s' % (bit, name))


def overwrite(frame, rng):
    name = rng.choice(frame.files)
    end = os.path.getsize(name)
    offset = rng.randrange(end) // BLOCK * BLOCK
    size = min(BLOCK, end - offset)
    donor = rng.choice(frame.files)
    other = rng.randrange(os.path.getsize(donor)) // BLOCK * BLOCK
    # An old header makes the frame an old state of it, and is no damage.
    older = frame.older.get(name, b'') if offset > 0 else b''
    data = rng.choice((bytes(size), read(donor, other, size),
                       older[offset:offset + size]))
    return damage(frame, name, offset, data[:size], '%d bytes at %d of %s' %
                  (len(data), offset, name))


def main():
    frames = list(make_frames())
    for harm, number in (flip, FLIPS), (overwrite, OVERWRITES):
        rng = random.Random(SEED)
        harmless = sum(harm(frames[i % len(frames)], rng)
                       for i in range(number))
        print('%s: %d of %d do no harm' % (harm.__name__, harmless, number),
              flush=True)
        if harmless > number / 2:
            sys.exit('too many')
    for frame in frames:
        if not frame.check('at last'):
            sys.exit('%s is spoiled' % frame.path)


with tempfile.TemporaryDirectory(prefix='framefs-test-') as top:
    os.chdir(top)
    main()
    os.chdir('/')
