#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount kill; suite kill
"""A daemon that is killed leaves frames in the state of their last commit.

usage: mount_kill.py FRAMEFS [TEST...]

Several threads write through a mount until the daemon is killed at a random
moment.  Then every frame is valid, and holds the data that fsync()
acknowledged, or newer data.  A chunk that was written by one call is all old or
all new.  The next daemon continues, and removes the files that the killed one
left behind.

FRAMEFS_KILL_RUNS sets the number of kills, and FRAMEFS_KILL_SEED their moments.
"""

import glob
import json
import os
import random
import signal
import struct
import subprocess
import time

from load import CHUNKSIZE, PAGE, Load, Log, Records, filled
from mounted import (B2FRAME, Mount, check, harness, main, read, stored_frames,
                     write)

RUNS = int(os.environ.get('FRAMEFS_KILL_RUNS',
                          '40' if harness.SANITIZED else '200'))
SEED = int(os.environ.get('FRAMEFS_KILL_SEED', '1'))
LONGEST = 0.15  # seconds of load before a kill


class Names:
    """Files that atomically replace other files."""

    NAMES = ('a', 'b', 'c')

    def __init__(self, name):
        self.name = name
        self.acked = dict.fromkeys(self.NAMES, 0)  # 0: no such file
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
        """Remove a name.  The file may stay open for a while."""
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
        """Replace a file by another, which is complete because it was synced
        before, or at least closed."""
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


def kill(mount, load, choice):
    """Let the load run for a while, then kill the daemon, sometimes while it is
    about to exit."""
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


def check_frames():
    """Is every frame valid?"""
    done = subprocess.run([B2FRAME, 'verify', '--quiet', *stored_frames()],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, 'verify: ' + done.stdout.decode())


def check_nothing_is_left():
    """Does the source hold nothing but frames, and do sparse ones hold no stray
    file?"""
    check(not temporaries('src'), 'left: %s' % temporaries('src'))
    for path in filter(os.path.isdir, stored_frames()):
        info = json.loads(harness.run(B2FRAME, 'info', '--json', '--chunks',
                                     path).stdout)
        wanted = ['%08X.chunk' % chunk['id'] for chunk in info['chunks']
                  if 'id' in chunk]
        check(sorted(os.listdir(path)) == sorted(wanted + ['chunks.b2frame']),
              '%s: has %s for %s' % (path, os.listdir(path), wanted))


def run(layout, subjects, choice):
    """Run one daemon, from its start to its end."""
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
