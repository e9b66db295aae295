#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast frames are read through a mount, beside a plain file on the same disk.

usage: bench_read.py MAKE_FRAME FRAMEFS [SIZE]

For frames of SIZE (1G) decoded bytes: one sequential pass in pieces of 1 MiB,
and single reads of 4 KiB at random places.  Cold: framefs freshly mounted and
the kernel's caches dropped before each round; hot: the same reads once more.
Each figure is the median of three rounds, in which frame and plain file take
turns.  The directory is FRAMEFS_BENCH_DIR or the current one.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

SKIP = 77
ROUNDS = 3
PIECE = 1 << 20
PAGE = 4096
NRANDOM = 4096

FRAMES = (
    ('lz4', 'shuffle', ()),
    ('blosclz', 'shuffle', ()),
    ('zstd', 'shuffle', ()),
    ('lz4', 'bitshuffle', ()),
    ('lz4', 'shuffle', ('--sparse',)),
)


class Mount:
    """A frame, mounted by a fresh daemon while in the `with` block."""

    def __init__(self, framefs, frame, directory):
        self.command = [framefs, '-f', '-o', 'ro', frame, directory]
        self.directory = directory

    def __enter__(self):
        self.daemon = subprocess.Popen(self.command)
        while not os.path.ismount(self.directory):
            if self.daemon.poll() is not None:
                sys.exit('bench_read: framefs ended with status %d'
                         % self.daemon.returncode)
            time.sleep(0.01)
        name, = os.listdir(self.directory)
        return os.path.join(self.directory, name)

    def __exit__(self, *exception):
        subprocess.run(['umount', self.directory], check=True)
        self.daemon.wait()


def drop_caches():
    os.sync()
    with open('/proc/sys/vm/drop_caches', 'w') as control:
        control.write('3\n')


def read_all(path):
    """Returns MB (10^6 bytes) a second."""
    piece = bytearray(PIECE)
    nbytes = 0
    start = time.monotonic()
    with open(path, 'rb', buffering=0) as file:
        while True:
            n = file.readinto(piece)
            if n == 0:
                break
            nbytes += n
    return nbytes / 1e6 / (time.monotonic() - start)


def read_random(path, seed):
    """Returns reads a second."""
    pick = random.Random(seed)
    npages = os.path.getsize(path) // PAGE
    places = [PAGE * pick.randrange(npages) for _ in range(NRANDOM)]
    page = bytearray(PAGE)
    file = os.open(path, os.O_RDONLY)
    start = time.monotonic()
    for place in places:
        os.preadv(file, [page], place)
    elapsed = time.monotonic() - start
    os.close(file)
    return NRANDOM / elapsed


def measure(path, read, *args):
    """Returns the rates cold and hot."""
    drop_caches()
    return read(path, *args), read(path, *args)


def compare(mount, plain, read, *args):
    """Returns medians: frame cold and hot, plain file cold and hot."""
    rounds = []
    for _ in range(ROUNDS):
        with mount as path:
            rates = measure(path, read, *args)
        rounds.append(rates + measure(plain, read, *args))
    return [statistics.median(rates) for rates in zip(*rounds)]


def report(name, what, unit, rates):
    cold, hot, plain_cold, plain_hot = rates
    for state, rate, plain in (('cold', cold, plain_cold),
                               ('hot', hot, plain_hot)):
        print('%-24s %-10s %-5s %9.0f %9.0f %-5s %7.2f'
              % (name, what, state, rate, plain, unit, rate / plain),
              flush=True)


def copy(source, destination):
    with open(source, 'rb') as src, open(destination, 'wb') as dst:
        while True:
            piece = src.read(PIECE)
            if not piece:
                break
            dst.write(piece)


def bench(make_frame, framefs, size, directory, frame):
    codec, filter_name, options = frame
    name = ' '.join((codec, filter_name) + options)
    path = os.path.join(directory, codec + filter_name + '.b2frame')
    plain = os.path.join(directory, 'plain')
    mount = Mount(framefs, path, os.path.join(directory, 'mount'))

    subprocess.run([make_frame, path, '--size', size, '--codec', codec,
                    '--filter', filter_name, *options], check=True)
    with mount as file:
        copy(file, plain)
    report(name, 'sequential', 'MB/s', compare(mount, plain, read_all))
    report(name, 'random', 'IOPS', compare(mount, plain, read_random, size))
    subprocess.run(['rm', '-r', path, plain], check=True)


def main():
    make_frame, framefs = sys.argv[1:3]
    size = sys.argv[3] if len(sys.argv) > 3 else '1G'

    if os.geteuid() != 0 or not os.path.exists('/dev/fuse'):
        print('needs /dev/fuse and root, who may drop caches')
        sys.exit(SKIP)

    print('%-24s %-16s %9s %9s %-5s %7s'
          % ('frame', 'read', 'framefs', 'plain', '', 'ratio'), flush=True)
    place = os.environ.get('FRAMEFS_BENCH_DIR', '.')
    with tempfile.TemporaryDirectory(dir=place) as directory:
        os.mkdir(os.path.join(directory, 'mount'))
        for frame in FRAMES:
            bench(make_frame, framefs, size, directory, frame)


if __name__ == '__main__':
    main()
