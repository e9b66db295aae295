#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 sequence; timeout 300
"""Common operations on a tree in a bucket, in random order, agree with a model.

The test copies files, appends to them, and changes, truncates, moves and
removes them through two mounts of one prefix, waiting until the second shows
what the first did.  It also unmounts and mounts again at once.  After each step
the frame is read by `b2frame cat` on the server's disk, or by a mount.

usage: mount_s3_sequence.py FRAMEFS [TEST...]

FRAMEFS_SEQUENCE_STEPS (60) sets the number of steps, and FRAMEFS_SEQUENCE_SEED
(a new one) their order.
"""

import errno
import glob
import os
import random
import shutil
import subprocess

from mounted import (FRAMEFS, b2frame, check, harness, is_mounted, main, read,
                     wait_for, write)
from s3_server import S3

STEPS = int(os.environ.get('FRAMEFS_SEQUENCE_STEPS', '60'))
SEED = int(os.environ.get('FRAMEFS_SEQUENCE_SEED', random.randrange(10**6)))
SIZE_MAX = 1 << 20
NAMES = ['a', 'b', 'c', 'd/a', 'd/b']
WHERE = ['mnt', 'second']


def shows(path, content):
    """Does a file have this content?  None: it does not exist."""
    try:
        return read(path) == content
    except FileNotFoundError:
        return content is None
    except OSError as error:
        # The other mount has removed or replaced the frame since it was opened.
        check(error.errno in (errno.EIO, errno.ESTALE), error)
        return False


def framefs(*words):
    """Run framefs, which must succeed."""
    done = harness.run(FRAMEFS, *words)
    check(done.returncode == 0, done.stderr.decode())


class Sequence:
    """The mounts and the model of their content."""

    def __init__(self, url):
        self.choice = random.Random(SEED)
        self.url = url
        self.files = {}
        self.steps = []
        for path in WHERE:
            os.makedirs(path, exist_ok=True)
            self.mount(path)
        os.mkdir('mnt/d')
        wait_for(lambda: os.path.isdir('second/d'), 'the directory')

    def mount(self, path):
        framefs('-o', 'chunksize=64K,revalidate=1', self.url, path)

    def end(self):
        for path in WHERE:
            framefs('--unmount', path)

    def bytes(self, most=SIZE_MAX):
        """Return bytes that are partly compressible."""
        n = self.choice.randrange(most)
        half = self.choice.randbytes(n // 2)
        return half + bytes([self.choice.randrange(256)]) * (n - n // 2)

    def show(self, name, top):
        """Wait until a mount shows a file as it is, because it and the kernel
        trust names and states for a while."""
        path = os.path.join(top, name)
        wait_for(lambda: shows(path, self.files.get(name)),
                 '%s to show the last change' % path)
        return path

    def top(self):
        top = self.choice.choice(WHERE)
        self.steps[-1].append(top)
        return top

    def path(self, name):
        return self.show(name, self.top())

    def name(self):
        name = self.choice.choice(sorted(self.files))
        self.steps[-1].append(name)
        return name

    def copy(self):
        name = self.choice.choice(NAMES)
        self.steps[-1].append(name)
        data = self.bytes()
        with open(self.path(name), 'wb') as file:
            file.write(data)
        self.files[name] = data
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
        self.steps[-1].append(to)
        top = self.top()
        shutil.move(self.show(name, top), self.show(to, top),
                    shutil.copyfile)
        self.files[to] = self.files.pop(name)
        return to

    def remove(self):
        name = self.name()
        os.unlink(self.path(name))
        del self.files[name]

    def mount_again(self):
        """Mount again at once, while the previous daemon may still be at
        work."""
        top = self.top()
        name = self.name()
        with open(self.show(name, top), 'ab') as file:
            file.write(b'more')
        self.files[name] += b'more'
        subprocess.run(['fusermount3', '-u', top], check=True)
        self.mount(top)
        return name

    def check_frame(self, name):
        # A mount takes the next suffix if its listing still has the first.
        frames = [os.path.dirname(index) for index in glob.glob(
            'top/runs/%s.b2f*/chunks.b2frame' % name)]
        check(len(frames) == 1, '%s on the server: %s' % (name, frames))
        b2frame('verify', frames[0])
        found = b2frame('cat', frames[0])
        check(found == self.files[name], '%s on the server: %d bytes for %d' %
              (name, len(found), len(self.files[name])))

    def step(self):
        change = self.copy
        if self.files:
            change = self.choice.choice(
                [self.copy, self.append, self.append, self.overwrite, self.cut,
                 self.move, self.remove, self.mount_again])
        self.steps.append([change.__name__])
        name = change()
        if name:
            self.check_frame(name)
        if name and self.choice.random() < 0.5:
            self.path(name)


def what_people_do_comes_out_right():
    os.makedirs('top/runs')
    write('top/runs/notes.txt', b'no frame')
    with S3('top') as server:
        sequence = Sequence(server.url + 'runs')
        try:
            for _ in range(STEPS):
                sequence.step()
            for name in NAMES:
                sequence.path(name)
            sequence.end()
            for name in sequence.files:
                sequence.check_frame(name)
        except BaseException:
            print('seed %d, after %s' % (SEED, sequence.steps[-12:]))
            raise
        finally:
            for path in WHERE:
                if is_mounted(path):
                    subprocess.run(['umount', '-l', path], check=False)


harness.need_remote()
main(what_people_do_comes_out_right)
