#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount kill_calls; suite kill; timeout 600; args framefs kill_at
"""A daemon that is killed between any two system calls leaves whole files.

usage: mount_kill_calls.py FRAMEFS KILL_AT [TEST...]

  KILL_AT  a library that kills the program which it is loaded into before its
           N-th call that changes files

Each test is repeated with the daemon killed before its first call, its second
and so on, until it survives.  After each kill every file has the content that
the last step left, or that the interrupted step was about to leave.  The next
daemon removes temporary files of the killed one, but no files of users that
have similar names.
"""

import contextlib
import glob
import json
import os
import random
import shutil
import signal
import struct
import sys

KILL_AT = os.path.abspath(sys.argv.pop(2))

# pylint: disable=wrong-import-position
from mounted import (B2FRAME, LAYOUTS, Mount, check, check_sound, frame,
                     harness, main, need_fuse, read, sh, stored_frames, tmpfs,
                     wait_for, write)

CHUNKSIZE = 16 << 10
A, B, C = (random.Random(seed).randbytes(2 * CHUNKSIZE + 10) for seed in range(3))
CALLS_MAX = 400
TEMPORARY = '.framefs-tmp.'
MARK = TEMPORARY + 'private'
# These are files of users, although their names look like ours.
KEPT = ('src/.framefs-tmp.77/keep', 'src/.framefs-tmp.88',
        'src/.framefs-tmp.0123456789abcdef',
        'src/.framefs-tmp.0123456789abcdef.0123456789abcdef')


def mounted(layout, more=''):
    return Mount('src', 'mnt', '-o', 'cache=4M,chunksize=%d,layout=%s%s' % (
        CHUNKSIZE, layout, more))


@contextlib.contextmanager
def loaded(at):
    """A program that is started now is killed before that call."""
    os.environ.update(LD_PRELOAD=KILL_AT, KILL_AT=str(at))
    try:
        yield
    finally:
        del os.environ['LD_PRELOAD'], os.environ['KILL_AT']


def put_frame(layout, path, data):
    write('in', data)
    sh('%s create --layout %s --chunksize %d in %s.b2frame' % (
        B2FRAME, layout, CHUNKSIZE, path))


def with_gap(data):
    """Return a frame with so much unused space that a change rewrites it."""
    old = frame(data, CHUNKSIZE)
    end = 0x61 + int.from_bytes(old[0x27:0x2f], 'big')
    gap = bytes(4 * len(data))
    new = bytearray(old[:end] + gap + old[end:])
    struct.pack_into('>Q', new, 0x10, len(new))
    struct.pack_into('>Q', new, 0x27, end - 0x61 + len(gap))
    return bytes(new)


@contextlib.contextmanager
def source(disk):
    """Make directories to work in.  If `disk` is set, mount a file system in
    them."""
    os.makedirs('src/d')
    try:
        with tmpfs('src/d') if disk else contextlib.nullcontext():
            yield
    finally:
        shutil.rmtree('src')


def make_frames(layout, path):
    other = LAYOUTS[layout == LAYOUTS[0]]
    os.makedirs(path + '/d')
    for kind, name, data in ((layout, 'a', A), (layout, 'b', B),
                             (layout, 'd/c', C), (other, 'x', C)):
        put_frame(kind, os.path.join(path, name), data)
    write(path + '/gap.b2frame', with_gap(A))


def fill_source(layout):
    frames = 'frames-' + layout
    if not os.path.exists(frames):
        make_frames(layout, frames)
    shutil.copytree(frames, 'src', dirs_exist_ok=True)
    os.mkdir('src/.framefs-tmp.77')
    for path in KEPT:
        write(path, b'mine')


def temporaries():
    """Return the paths that have temporary names and are not in KEPT.  The mark
    in a sparse frame does not count, because it does no harm."""
    return sorted(
        path for path in glob.glob('src/**', recursive=True, include_hidden=True)
        if TEMPORARY in path and path not in KEPT and
        path != os.path.dirname(KEPT[0]) and
        not path.endswith('.b2frame/' + MARK))


class Model:
    """The files of a mount, and the contents that each may have, None if it may
    be missing."""

    def __init__(self, mount):
        self.mount = mount
        self.files = {'a': {A}, 'b': {B}, 'd/c': {C}, 'x': {C}, 'gap': {A}}

    def do(self, call, between=None, **after):
        """Make a call after which the files have the content in `after`.  If it
        is interrupted, they have that, their old content, or one of `between`.
        """
        after = {name.replace('_', '/'): data for name, data in after.items()}
        for name, data in after.items():
            old = self.files.setdefault(name, {None})
            self.files[name] = old | {data} | set(between or ())
        call()
        for name, data in after.items():
            self.files[name] = {data}

    def put(self, name, data):
        """Make or overwrite a file."""
        self.do(lambda: write(self.mount / name, data), (b'',),
                **{name.replace('/', '_'): data})

    def rename(self, name, to, data, left=()):
        key, to_key = name.replace('/', '_'), to.replace('/', '_')
        self.do(lambda: os.rename(self.mount / name, self.mount / to), left,
                **{key: None, to_key: data})

    def change(self, name, off, data):
        """Overwrite a part of a file, and sync it."""
        old, = self.files[name]

        def work():
            fd = os.open(self.mount / name, os.O_RDWR)
            try:
                os.pwrite(fd, data, off)
                os.fsync(fd)
            finally:
                os.close(fd)

        self.do(work, **{name.replace('/', '_'):
                         old[:off] + data + old[off + len(data):]})

    def await_form(self, path):
        """Wait until a file is stored under this path alone, unless the daemon
        is killed before."""
        def is_done():
            stored = {other for other in glob.glob('src/[nv]*')
                      if not other.endswith('.new')}
            return self.mount.daemon.poll() is not None or \
                path in stored and not any(
                    other != path and other[:5] == path[:5] for other in stored)

        wait_for(is_done, path)

    def check(self):
        """Compare each file, then change it, which removes its orphans."""
        list(os.walk('mnt'))  # removes what the killed daemon has left
        shown = {os.path.relpath(path, 'mnt') for path in
                 glob.glob('mnt/**', recursive=True) if os.path.isfile(path)}
        for name, may in self.files.items():
            data = read('mnt/' + name) if name in shown else None
            check(data in may, '%s: %s' % (name, 'is missing' if data is None else
                                           'other content, %d bytes' % len(data)))
        check(shown <= self.files.keys(), 'shows %s' % shown)
        for name in shown:
            if name != 'v.npy' or not os.path.exists('src/v.b2nd'):
                os.truncate('mnt/' + name, 100)


def check_left(model, layout, more):
    """Check the files that a killed daemon left."""
    with mounted(layout, ',npy' if 'npy' in more else ''):
        model.check()
        for parent, _, _ in os.walk('mnt'):
            os.listdir(parent)
    check(not temporaries(), 'left: %s' % temporaries())
    for path in KEPT:
        check(read(path) == b'mine', path)
    check_sound(*stored_frames())
    for path in filter(os.path.isdir, stored_frames()):
        done = harness.run(B2FRAME, 'info', '--json', '--chunks', path)
        wanted = {'%08X.chunk' % chunk['id'] for chunk in
                  json.loads(done.stdout)['chunks'] if 'id' in chunk}
        check(set(os.listdir(path)) - {MARK} == wanted | {'chunks.b2frame'},
              '%s has %s' % (path, os.listdir(path)))


def lives(steps, layout, at, more):
    """Run the steps with a daemon that may be killed.  Return whether it
    survived."""
    fill_source(layout)
    mount = mounted(layout, more)
    model = Model(mount)
    try:
        with contextlib.suppress(harness.Failure, OSError):
            with loaded(at):
                mount.__enter__()
            steps(model)
        alive = mount.daemon and mount.daemon.poll() is None
        status = mount.stop(signal.SIGTERM) if alive else -signal.SIGKILL
    finally:
        mount.kill()
    check(status in (0, -signal.SIGKILL), 'status %d' % status)
    check_left(model, layout, more)
    return status == 0


def at_each_call(steps, disk=False, more=''):
    """Return a test that kills the daemon before each call, for both layouts.
    `more` are options of the mount."""
    def test():
        for layout in LAYOUTS:
            at = 0
            try:
                alive = False
                while not alive:
                    at += 1
                    check(at < CALLS_MAX, 'it does not end')
                    with source(disk):
                        alive = lives(steps, layout, at, more)
                check(at > 5, 'it is not killed')
            except BaseException:
                print('%s: before call %d' % (layout, at))
                raise
    test.__name__ = steps.__name__
    return test


def with_forms(steps):
    """Return the same test with files that get another form."""
    return at_each_call(steps, more=',npy,plain=below=20000')


def with_disk(steps):
    """Return the same test with `d` on another file system, which only root can
    mount."""
    return at_each_call(steps, os.getuid() == 0)


@at_each_call
def make_and_overwrite(model):
    model.put('n', A)
    model.put('d/n', B)
    model.change('b', CHUNKSIZE, A[:CHUNKSIZE])
    model.change('b', 5, b'hello')
    model.put('a', C)


@at_each_call
def take_the_place_of_another(model):
    model.put('n', A)
    # If one of the two is sparse, the replaced file may be left under the old
    # name.
    model.rename('n', 'b', A, (B,))
    model.rename('b', 'd/c', A, (C,))
    model.rename('x', 'a', C, (A,))


@at_each_call
def remove(model):
    def unlink_open():
        fd = os.open(model.mount / 'b', os.O_RDWR)
        try:
            os.unlink(model.mount / 'b')
            os.pwrite(fd, A, 1000)
            os.fsync(fd)
        finally:
            os.close(fd)

    model.do(unlink_open, b=None)
    model.do(lambda: os.unlink(model.mount / 'x'), x=None)
    model.do(lambda: os.unlink(model.mount / 'd/c'), d_c=None)
    os.rmdir(model.mount / 'd')


@with_disk
def replace_and_remove_on_another_disk(model):
    model.put('d/n', A)
    model.rename('d/n', 'd/c', A, (C,))
    model.do(lambda: os.unlink(model.mount / 'd/c'), d_c=None)


@at_each_call
def write_anew(model):
    model.change('gap', 5, b'hello')
    model.change('gap', 0, b'again')


@with_forms
def become_plain_and_a_frame_again(model):
    model.put('n', A[:5000])
    model.await_form('src/n')
    model.put('n', B)
    model.await_form('src/n.b2frame')
    model.change('n', 5, b'hello')


@with_forms
def become_an_array_and_another_one(model):
    text = b"{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }"
    for items in A[:4000], B[:6000]:
        header = b'\x93NUMPY\1\0\x76\0' + (text % (len(items) // 4)).ljust(117)
        model.put('v.npy', header + b'\n' + items)
        model.await_form('src/v.b2nd')


need_fuse()
if harness.SANITIZED:
    print('skipped: a library cannot be loaded before the sanitizer')
    sys.exit(harness.SKIP)
main(make_and_overwrite,
     take_the_place_of_another,
     remove,
     replace_and_remove_on_another_disk,
     write_anew,
     become_plain_and_a_frame_again,
     become_an_array_and_another_one)
