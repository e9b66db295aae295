#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast files are written through a mount, beside a plain directory.

usage: bench_write.py [--quick] [--json] FRAMEFS [SIZE]

A file of SIZE MiB (1024) is written in pieces of 4 KiB and of 1 MiB, with each
codec; 4 KiB are overwritten at random places, synced at the end or each time;
and 20,000 files of 1 KiB are made, looked at and removed.  Times include
fsync() of the one file, but not of the many.  Each figure is the median of three
rounds, in which mount and plain directory take turns.  --quick is one small
round.  The directory is FRAMEFS_BENCH_DIR or the current one.
"""

import argparse
import array
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

SKIP = 77
PAGE = 4096
MIB = 1 << 20

MOUNTS = (
    ('lz4', 'layout=contiguous,codec=lz4'),
    ('blosclz', 'layout=contiguous,codec=blosclz'),
    ('lz4hc', 'layout=contiguous,codec=lz4hc'),
    ('zlib', 'layout=contiguous,codec=zlib'),
    ('zstd', 'layout=contiguous,codec=zstd'),
    ('lz4 sparse', 'layout=sparse,codec=lz4'),
)
LAYOUTS = ('lz4', 'lz4 sparse')  # all else does not depend on the codec


def make_data():
    """A walk by chance: 16 MiB of numbers that compress by half or so."""
    choice = random.Random(1)
    numbers = array.array('i')
    value = 0
    for _ in range(4 * MIB):
        value += int(choice.random() * 4096) - 2048
        numbers.append(value)
    return memoryview(numbers).cast('B')


class Work:
    """What is done in a directory, and how fast."""

    def __init__(self, quick, size):
        self.data = make_data()
        self.size = size * MIB
        self.npages = 1000 if quick else 20000
        self.nsynced = 50 if quick else 500
        self.nfiles = 500 if quick else 20000

    def sequential(self, top, piece):
        """MB (10^6 bytes) a second."""
        fd = os.open(top + '/file', os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        start = time.monotonic()
        for off in range(0, self.size, piece):
            at = off % len(self.data)
            os.write(fd, self.data[at:at + piece])
        os.fsync(fd)
        elapsed = time.monotonic() - start
        os.close(fd)
        return self.size / 1e6 / elapsed

    def overwrite(self, top, npages, synced):
        """Writes of a page a second, into the file that is there."""
        choice = random.Random(2)
        fd = os.open(top + '/file', os.O_RDWR)
        start = time.monotonic()
        for _ in range(npages):
            at = PAGE * choice.randrange(len(self.data) // PAGE)
            os.pwrite(fd, self.data[at:at + PAGE],
                      PAGE * choice.randrange(self.size // PAGE))
            if synced:
                os.fsync(fd)
        os.fsync(fd)
        elapsed = time.monotonic() - start
        os.close(fd)
        return npages / elapsed

    def paths(self, top):
        return [top + '/small/f%d' % i for i in range(self.nfiles)]

    def create(self, top):
        """Files a second."""
        os.mkdir(top + '/small')
        start = time.monotonic()
        for path in self.paths(top):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT)
            os.write(fd, self.data[:1024])
            os.close(fd)
        return self.nfiles / (time.monotonic() - start)

    def stat(self, top):
        start = time.monotonic()
        for path in self.paths(top):
            os.stat(path)
        return self.nfiles / (time.monotonic() - start)

    def unlink(self, top):
        start = time.monotonic()
        for path in self.paths(top):
            os.unlink(path)
        rate = self.nfiles / (time.monotonic() - start)
        os.rmdir(top + '/small')
        return rate

    def all(self, top, small):
        """The rates of everything, by name and unit."""
        rates = {
            ('sequential 4K', 'MB/s'): self.sequential(top, PAGE),
            ('sequential 1M', 'MB/s'): self.sequential(top, MIB),
        }
        if small:
            rates['random 4K', 'IOPS'] = self.overwrite(top, self.npages, False)
            rates['random 4K synced', 'IOPS'] = self.overwrite(
                top, self.nsynced, True)
            rates['create', 'files/s'] = self.create(top)
            rates['stat', 'files/s'] = self.stat(top)
            rates['unlink', 'files/s'] = self.unlink(top)
        os.unlink(top + '/file')
        return rates


class Mount:
    """A directory, mounted by a fresh daemon while in the `with` block."""

    def __init__(self, framefs, options, source, directory):
        self.command = [framefs, '-f', '-o', options, source, directory]
        self.directory = directory

    def __enter__(self):
        self.daemon = subprocess.Popen(self.command)
        while not os.path.ismount(self.directory):
            if self.daemon.poll() is not None:
                sys.exit('bench_write: framefs ended with status %d'
                         % self.daemon.returncode)
            time.sleep(0.01)
        return self.directory

    def __exit__(self, *exception):
        subprocess.run(['umount', self.directory], check=True)
        self.daemon.wait()


def measure(work, framefs, directory, options, small, rounds):
    """Rates of mount and plain directory in each round."""
    source, target, plain = (os.path.join(directory, name)
                             for name in ('source', 'mount', 'plain'))
    results = []
    for _ in range(rounds):
        with Mount(framefs, options, source, target) as top:
            mounted = work.all(top, small)
        results.append((mounted, work.all(plain, small)))
    return results


def medians(name, results):
    for key in results[0][0]:
        rate, plain = (statistics.median(result[i][key] for result in results)
                       for i in (0, 1))
        yield {'mount': name, 'work': key[0], 'unit': key[1],
               'framefs': round(rate, 1), 'plain': round(plain, 1),
               'ratio': round(rate / plain, 3)}


def bench(args, directory):
    work = Work(args.quick, args.size or (64 if args.quick else 1024))
    for name in ('source', 'mount', 'plain'):
        os.mkdir(os.path.join(directory, name))
    for name, options in MOUNTS:
        results = measure(work, args.framefs, directory, options,
                          name in LAYOUTS, 1 if args.quick else 3)
        yield from medians(name, results)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--json', action='store_true')
    parser.add_argument('framefs')
    parser.add_argument('size', nargs='?', type=int)
    args = parser.parse_args()

    if not os.path.exists('/dev/fuse') or os.geteuid() != 0:
        print('needs /dev/fuse and root')
        sys.exit(SKIP)

    if not args.json:
        print('%-12s %-18s %9s %9s %-8s %7s' % (
            'mount', 'work', 'framefs', 'plain', '', 'ratio'), flush=True)
    place = os.environ.get('FRAMEFS_BENCH_DIR', '.')
    rows = []
    with tempfile.TemporaryDirectory(dir=place) as directory:
        for row in bench(args, directory):
            rows.append(row)
            if not args.json:
                print('%-12s %-18s %9.0f %9.0f %-8s %7.2f' % (
                    row['mount'], row['work'], row['framefs'], row['plain'],
                    row['unit'], row['ratio']), flush=True)
    if args.json:
        print(json.dumps(rows, indent=1))


if __name__ == '__main__':
    main()
