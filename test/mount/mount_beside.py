#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount beside
"""Two mounts show what other programs make of SOURCE, entry by entry.

Programs create, replace, rename and remove frames and other entries, directly
in SOURCE and through the mounts, in random order.  After each step both mounts
must show what the rule for names says, with the right types, sizes and content.
Other programs are also at work while a directory is listed.

usage: mount_beside.py FRAMEFS [TEST...]

FRAMEFS_BESIDE_STEPS (150) sets the number of steps, FRAMEFS_BESIDE_SEED (a new
one) their order.
"""

import errno
import os
import random
import shutil
import stat
import threading

from mounted import (Mount, b2frame, check, error_of, frame, main, read,
                     replace, write, write_sparse)

STEPS = int(os.environ.get('FRAMEFS_BESIDE_STEPS', '150'))
SEED = int(os.environ.get('FRAMEFS_BESIDE_SEED', random.randrange(10**6)))
SUFFIXES = ['.b2frame', '.b2f', '.b2', '.b2nd', '.b2b', '.b2eframe']
FILE_SUFFIXES = SUFFIXES[:4]
SHOWN = ['a', 'b', 'c', 'a.b2f', 'b.b2frame', 'c.b2']
STORED = [name + suffix for name in 'abc' for suffix in ['', *SUFFIXES]]
STORED += ['a.b2f.b2frame', 'a.b2f.b2', 'b.b2frame.b2f']
OPTIONS = ('-o', 'chunksize=64K,entry_timeout=0,attr_timeout=0')
MAGIC = b'\x9e\xa8b2frame\0'


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


class Source:
    """The model: what a directory under SOURCE shows."""

    def __init__(self, path):
        self.path = path
        self.decoded = {}  # by the bytes of a frame
        self.names = {name for name in os.listdir(path)
                      if not name.startswith('.')}
        self.frames = {name for name in self.names if self.is_frame(name)}

    def look(self):
        """Return a model of the same directory as it is now."""
        now = Source(self.path)
        now.decoded = self.decoded
        return now

    def is_frame(self, name):
        path = self.path + '/' + name
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            return os.path.exists(path + '/chunks.b2frame')
        return (stat.S_ISREG(mode) and
                os.path.splitext(name)[1] in FILE_SUFFIXES and
                read(path)[2:10] == MAGIC[2:])

    def shows(self, name):
        """Return the name under which an entry shows."""
        stem, suffix = os.path.splitext(name)
        if name not in self.frames or suffix not in SUFFIXES:
            return name
        if stem in self.names and self.shows(stem) == stem:
            return name
        first = SUFFIXES[:SUFFIXES.index(suffix)]
        if any(stem + other in self.frames for other in first):
            return name
        return stem

    def shown(self):
        """Return stored names by the names that show."""
        return {self.shows(name): name for name in self.names}

    def content(self, name):
        """Return what a file shows."""
        path = self.path + '/' + name
        if name not in self.frames:
            return read(path)
        if os.path.isdir(path):
            return b2frame('cat', '--raw', path)
        stored = read(path)
        if stored not in self.decoded:
            self.decoded[stored] = b2frame('cat', '--raw', path)
        return self.decoded[stored]


class Sequence:
    def __init__(self, seed, mounts):
        self.choice = random.Random(seed)
        self.mounts = mounts
        self.model = Source('src')
        self.steps = []

    def data(self):
        size = self.choice.choice([1, 100, 5000, 70000])
        return self.choice.randbytes(16) * (1 + size // 16)

    def pick(self, names):
        name = self.choice.choice(sorted(names))
        self.steps[-1].append(name)
        return name

    def stored(self):
        return 'src/' + self.pick(STORED)

    # Steps of programs that work in SOURCE.

    def put_frame(self):
        path = self.stored()
        if not os.path.isdir(path):
            replace(path, frame(self.data(), 4096))

    def put_plain(self):
        path = self.stored()
        if not os.path.isdir(path):
            replace(path, self.data())

    def overwrite_plain(self):
        path = self.stored()
        if os.path.isfile(path):
            with open(path, 'r+b') as file:
                file.write(b'no frame: %d' % len(self.steps))

    def put_sparse(self):
        path = self.stored()
        if not os.path.lexists(path):
            write_sparse('src/.new', self.data())
            os.rename('src/.new', path)

    def put_directory(self):
        path = self.stored()
        if not os.path.lexists(path):
            os.mkdir(path)

    def put_link(self):
        path = self.stored()
        if not os.path.lexists(path):
            os.symlink('a', path)

    def remove_stored(self):
        remove(self.stored())

    def rename_stored(self):
        path, to = self.stored(), self.stored()
        if os.path.lexists(path) and path != to:
            if os.path.isdir(path) or os.path.isdir(to):
                remove(to)
            os.rename(path, to)

    # Steps of programs that work in a mount.

    def write_shown(self):
        path = self.choice.choice(self.mounts) / self.pick(SHOWN)
        self.steps[-1].append(path)
        if not os.path.isdir(path) and not os.path.islink(path):
            data = self.data()
            write(path, data)
            check(read(path) == data, path + ' is not what was written')

    def remove_shown(self):
        names = self.model.shown()
        if names:
            name = self.pick(names)
            remove(self.choice.choice(self.mounts) / name)
            check(not os.path.lexists('src/' + names[name]), 'still there')

    def rename_shown(self):
        names = self.model.shown()
        top = self.choice.choice(self.mounts)
        if not names:
            return
        path, to = top / self.pick(names), top / self.pick(SHOWN)
        if path == to or os.path.isdir(path) or os.path.isdir(to):
            return
        data = None if os.path.islink(path) else read(path)
        # A frame that could not show under the new name is not moved.
        error = error_of(os.rename, path, to)
        check(error in (0, errno.EXDEV, errno.EEXIST), os.strerror(error))
        # A plain file may become a frame by its new name.
        check(error or not data or data[2:10] == MAGIC[2:] or
              read(to) == data, to + ' is not what was moved')

    def step(self):
        change = self.choice.choice(
            [self.put_frame, self.put_frame, self.put_plain, self.put_sparse,
             self.overwrite_plain, self.put_directory, self.put_link,
             self.remove_stored, self.remove_stored, self.rename_stored,
             self.write_shown, self.write_shown, self.remove_shown,
             self.rename_shown])
        self.steps.append([change.__name__])
        change()
        self.model = self.model.look()
        for mount in self.mounts:
            self.compare(mount)

    def compare(self, mount):
        shown = self.model.shown()
        listed = sorted(os.listdir(mount.path))
        check(listed == sorted(shown), '%s lists %s for %s, stored as %s' % (
            mount.path, listed, sorted(shown), sorted(self.model.names)))
        for entry in os.scandir(mount.path):
            self.compare_entry(entry, shown[entry.name])
        for name in [*SHOWN, *STORED]:
            check(name in shown or not os.path.lexists(mount / name),
                  '%s shows %s' % (mount.path, name))

    def compare_entry(self, entry, name):
        is_frame = name in self.model.frames
        mode = os.lstat('src/' + name).st_mode
        kind = stat.S_IFREG if is_frame else stat.S_IFMT(mode)
        info = os.lstat(entry.path)
        check(stat.S_IFMT(info.st_mode) == kind, entry.path + ': type')
        check(entry.is_file(follow_symlinks=False) == (kind == stat.S_IFREG),
              entry.path + ': listed type')
        if kind == stat.S_IFREG:
            content = self.model.content(name)
            check(info.st_size == len(content), '%s: size %d, not %d' % (
                entry.path, info.st_size, len(content)))
            check(read(entry.path) == content, entry.path + ': content')


def mounts_show_what_others_have_changed():
    os.mkdir('src')
    os.mkdir('second')
    with Mount('src', 'mnt', *OPTIONS) as mount, \
            Mount('src', 'second', *OPTIONS) as second:
        sequence = Sequence(SEED, [mount, second])
        try:
            for _ in range(STEPS):
                sequence.step()
        except BaseException:
            print('seed %d, %d steps, at last %s' % (
                SEED, len(sequence.steps), sequence.steps[-6:]))
            raise


def listings_are_whole_while_others_work():
    """Each listing has the entries that nobody touches, once."""
    os.mkdir('src')
    kept = {'kept%d' % i: b'content %d' % i for i in range(200)}
    for name, data in kept.items():
        write('src/%s.b2frame' % name, frame(data, 4096))
    stop = threading.Event()

    def work():
        choice = random.Random(SEED)
        while not stop.is_set():
            path = 'src/moving%d' % choice.randrange(50)
            suffix = choice.choice(FILE_SUFFIXES)
            if choice.random() < 0.5:
                replace(path + suffix, frame(b'x', 4096))
            elif os.path.exists(path + suffix):
                os.rename(path + suffix, path + choice.choice(FILE_SUFFIXES))
            for other in FILE_SUFFIXES:
                if choice.random() < 0.2:
                    remove(path + other)

    worker = threading.Thread(target=work)
    with Mount('src', 'mnt', *OPTIONS) as mount:
        worker.start()
        try:
            for i in range(max(STEPS // 10, 10)):
                listed = [name for name in os.listdir(mount.path)
                          if name.startswith('kept')]
                check(sorted(listed) == sorted(kept), 'listing %d' % i)
                for entry in os.scandir(mount.path):
                    if entry.name in kept:
                        check(entry.stat().st_size == len(kept[entry.name]),
                              entry.path + ': size')
            for name, data in kept.items():
                check(read(mount / name) == data, name + ': content')
        finally:
            stop.set()
            worker.join()


main(mounts_show_what_others_have_changed,
     listings_are_whole_while_others_work)
