#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount sequence
"""Common operations on a mounted directory, in random order, agree with a
model.

The test copies files, appends to them, and truncates, moves and removes them:
through the mount, through a second one of SOURCE or of a directory in it, and
with b2frame under SOURCE.  It also unmounts and mounts again at once.  After
each step the content is read somewhere else: through a mount, by a reader of
libframefs that stays open, by `b2frame cat` directly after close(), and
directly after unmounting.

usage: mount_sequence.py FRAMEFS [TEST...]

FRAMEFS_SEQUENCE_STEPS (150) sets the number of steps on each layout,
FRAMEFS_SEQUENCE_SEED (a new one) their order, and FRAMEFS_SEQUENCE_MOUNTS (1)
the number of mounts, up to 3.
"""

import ctypes
import os
import random
import subprocess

from mounted import (B2FRAME, FRAMEFS, check, harness, is_mounted, layouts,
                     main, read, wait_for)

STEPS = int(os.environ.get('FRAMEFS_SEQUENCE_STEPS', '150'))
SEED = int(os.environ.get('FRAMEFS_SEQUENCE_SEED', random.randrange(10**6)))
LIBRARY = os.path.join(os.path.dirname(FRAMEFS), '../src/lib/libframefs.so.0')
NMOUNTS = int(os.environ.get('FRAMEFS_SEQUENCE_MOUNTS', '1'))
SIZE_MAX = 3 << 20
NAMES = ['a', 'b', 'c', 'd/a', 'd/b']


def number(path):
    """Return the inode number of a path, or 0 if it does not exist."""
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return 0


class Reader:
    """A frame that libframefs holds open for reading."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(LIBRARY)
        self.lib.framefs_pread.restype = ctypes.c_ssize_t
        self.lib.framefs_size.restype = ctypes.c_uint64
        self.lib.framefs_error.restype = ctypes.c_char_p
        self.fs, self.frame = ctypes.c_void_p(), ctypes.c_void_p()
        check(self.lib.framefs_new(b'cache=4M', ctypes.byref(self.fs)) == 0,
              'no reader')
        r = self.lib.framefs_open(self.fs, path.encode(), 0,
                                  ctypes.c_uint64(0), ctypes.byref(self.frame))
        check(r == 0, self.lib.framefs_error().decode())

    def read(self):
        size = self.lib.framefs_size(self.frame)
        data = ctypes.create_string_buffer(size + 1)
        n = self.lib.framefs_pread(self.frame, data, ctypes.c_size_t(size),
                                   ctypes.c_uint64(0))
        check(n >= 0, self.lib.framefs_error().decode())
        return data.raw[:n]

    def close(self):
        self.lib.framefs_close(self.frame)
        self.lib.framefs_free(self.fs)


class Sequence:
    """The mounts, the model of their content, and the open readers."""

    def __init__(self, layout, seed):
        self.choice = random.Random(seed)
        self.layout = layout
        self.files = {}
        self.readers = {}
        self.steps = []
        self.where = ['mnt', 'second', 'inner'][:NMOUNTS]
        os.makedirs('src/d')
        for path in self.where:
            os.makedirs(path, exist_ok=True)
            self.mount(path, 'src/d' if path == 'inner' else 'src')

    def mount(self, path, source):
        harness.run(FRAMEFS, '-o', 'chunksize=64K,layout=' + self.layout, source,
                   path)

    def unmount(self, path):
        subprocess.run(['fusermount3', '-u', path], check=True)

    def end(self):
        for reader in self.readers.values():
            reader.close()
        for path in self.where:
            if is_mounted(path):
                harness.run(FRAMEFS, '--unmount', path)

    def bytes(self, most=SIZE_MAX):
        """Return bytes that are partly compressible."""
        n = self.choice.randrange(most)
        half = self.choice.randbytes(n // 2)
        return half + bytes([self.choice.randrange(256)]) * (n - n // 2)

    def paths(self, name):
        """Return the paths at which a file shows."""
        paths = [top + '/' + name for top in self.where[:2]]
        if 'inner' in self.where and name[:2] == 'd/':
            paths.append('inner/' + name[2:])
        return paths

    def await_names(self, *names):
        """Wait, because the kernel trusts a name for a second after it looked
        it up."""
        for name in names:
            for path in self.paths(name):
                wait_for(lambda shown=path, stored=self.frame(name):
                         number(shown) == number(stored),
                         '%s is not %s' % (path, self.frame(name)))

    def path(self, name):
        path = self.choice.choice(self.paths(name))
        self.steps[-1].append(path)
        return path

    def frame(self, name):
        return 'src/' + name + '.b2frame'

    def name(self):
        return self.choice.choice(sorted(self.files))

    def copy(self):
        name = self.choice.choice(NAMES)
        data = self.bytes()
        with open(self.path(name), 'wb') as file:
            file.write(data)
        self.files[name] = data
        self.await_names(name)
        return name

    def append(self):
        name, data = self.name(), self.bytes(200000)
        with open(self.path(name), 'ab') as file:
            file.write(data)
            if self.choice.random() < 0.3:
                file.flush()
                os.fsync(file.fileno())
        self.files[name] += data
        return name

    def overwrite(self):
        name, data = self.name(), self.bytes(200000)
        old = self.files[name]
        off = self.choice.randrange(len(old) + 1)
        with open(self.path(name), 'r+b') as file:
            file.seek(off)
            file.write(data)
        self.files[name] = old[:off] + data + old[off + len(data):]
        return name

    def cut(self):
        name = self.name()
        size = self.choice.randrange(len(self.files[name]) + 1)
        os.truncate(self.path(name), size)
        self.files[name] = self.files[name][:size]
        return name

    def move(self):
        name, to = self.name(), self.choice.choice(NAMES)
        if name == to:
            return name
        top = self.choice.choice(self.where[:2])
        os.rename(os.path.join(top, name), os.path.join(top, to))
        self.files[to] = self.files.pop(name)
        self.await_names(name, to)
        for moved in (name, to):
            if moved in self.readers:
                self.readers.pop(moved).close()
        return to

    def remove(self):
        name = self.name()
        os.unlink(self.path(name))
        del self.files[name]
        self.await_names(name)
        if name in self.readers:
            self.readers.pop(name).close()

    def append_by_tool(self):
        name, data = self.name(), self.bytes(200000)
        done = subprocess.run([B2FRAME, 'append', self.frame(name), '-'],
                              input=data, stderr=subprocess.PIPE, check=False)
        check(done.returncode == 0, 'append: %r' % done.stderr)
        self.files[name] += data
        return name

    def mount_again(self):
        """Mount again at once, while the previous daemon may still be at
        work."""
        name = self.name()
        self.unmount('mnt')
        self.check_frame(name)
        self.mount('mnt', 'src')
        return name

    def check_frame(self, name):
        done = subprocess.run([B2FRAME, 'cat', self.frame(name)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        check(done.returncode == 0 and done.stdout == self.files[name],
              '%s under SOURCE: %d bytes for %d, %r' % (
                  name, len(done.stdout), len(self.files[name]), done.stderr))

    def check_mounts(self, name):
        for path in self.paths(name):
            data = read(path)
            check(data == self.files[name], '%s: %d bytes for %d' % (
                path, len(data), len(self.files[name])))

    def check_reader(self, name):
        if name not in self.readers:
            self.readers[name] = Reader(self.frame(name))
        data = self.readers[name].read()
        check(data == self.files[name], '%s by libframefs: %d bytes for %d' % (
            name, len(data), len(self.files[name])))

    def step(self):
        change = self.copy
        if self.files:
            change = self.choice.choice(
                [self.copy, self.append, self.append, self.overwrite, self.cut,
                 self.move, self.remove, self.append_by_tool,
                 self.mount_again])
        self.steps.append([change.__name__])
        name = change()
        self.steps[-1].append(name)
        if name:
            self.check_frame(name)
            self.choice.choice(CHECKS)(self, name)


# This Python cannot load a library that was built with sanitizers.
CHECKS = [Sequence.check_mounts]
if not harness.SANITIZED:
    CHECKS.append(Sequence.check_reader)


@layouts
def what_people_do_comes_out_right(layout):
    sequence = Sequence(layout, SEED)
    try:
        for _ in range(STEPS):
            sequence.step()
        for name in sequence.files:
            sequence.check_mounts(name)
        sequence.end()
        for name in sequence.files:
            sequence.check_frame(name)
    except BaseException:
        print('%s, seed %d, after %s' % (layout, SEED, sequence.steps[-12:]))
        raise
    finally:
        for path in sequence.where:
            if is_mounted(path):
                subprocess.run(['umount', '-l', path], check=False)


main(what_people_do_comes_out_right)
