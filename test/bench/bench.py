#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure framefs and its rivals in turn, on the same data: see tools/bench."""

import argparse
import fnmatch
import os
import platform
import shutil
import signal
import sys
import tempfile

import arrays
import figures
import inprocess
import opens
import reads
import remotes
import targets
import uploads
import writes
from stock import MIB, Stock, has_btrfs, has_squashfuse

LOCAL = (reads, arrays, writes, opens, inprocess)
REMOTE = (remotes, uploads)
SKIP = 77
NEEDED = 14  # times the size of the large file, for all files together


def choose_place(size):
    """Choose memory if there is enough, because the disk is not under test."""
    for place in ('/dev/shm', '.'):
        if os.path.isdir(place) and \
                shutil.disk_usage(place).free > NEEDED * size:
            return place
    sys.exit('bench: no room for %d MiB; say where with --place' %
             (NEEDED * size // MIB))


def is_wanted(name, patterns):
    return not patterns or any(
        name == pattern or name.startswith(pattern + '.') or
        fnmatch.fnmatch(name, pattern) for pattern in patterns)


def play(scene, args, results):
    """Run all rounds of a scene."""
    rivals = [rival for rival in scene.rivals()
              if is_wanted(rival.name, args.rival)]
    for _ in range(scene.rounds(args.rounds)):
        for rival in rivals:
            scene.prepare(rival)
            with rival:
                for row, run in scene.run(rival):
                    if is_wanted(row, args.rows):
                        results.add(row, scene.rows[row], rival.name, run)


def wanted_scenes(module, stock, args):
    return [scene for scene in module.scenes(stock, args.quick)
            if any(is_wanted(row, args.rows) for row in scene.rows)]


def check_rows(stock, args):
    """Exit if a ROW names none."""
    rows = [row for module in args.modules
            for scene in module.scenes(stock, args.quick)
            for row in scene.rows]
    for pattern in args.rows:
        if not any(is_wanted(row, [pattern]) for row in rows):
            sys.exit('bench: there is no row %s; --list prints all' % pattern)


def bench(stock, args):
    results = figures.Results()
    if not args.json:
        figures.print_heading()
    for module in args.modules:
        for scene in wanted_scenes(module, stock, args):
            play(scene, args, results)
            scene.limits(results)
            if not args.json:
                for row in scene.rows:
                    if row in results.rows:
                        figures.print_row(results, row)
        stock.clear()
    return results


def parse_args():
    parser = argparse.ArgumentParser(
        prog='tools/bench', description='Measure framefs beside a plain file, '
        'a minimal FUSE server, and squashfuse and btrfs if they are there.')
    parser.add_argument('--quick', action='store_true',
                        help='less data and three rounds: figures are rough')
    parser.add_argument('--remote', action='store_true',
                        help='frames behind URLs, with nginx as the server')
    parser.add_argument('--json', action='store_true',
                        help='everything that was measured, as JSON')
    parser.add_argument('--list', action='store_true',
                        help='only print the names of rows')
    parser.add_argument('--size', type=int, metavar='MIB',
                        help='of the large file (512; quick 128)')
    parser.add_argument('--rounds', type=int, metavar='N',
                        help='in which rivals take turns (5; quick 3)')
    parser.add_argument('--place', metavar='DIR', help='where the data are '
                        'made (/dev/shm if it has room)')
    parser.add_argument('--rival', action='append', metavar='NAME',
                        help='only this one; may be given more than once')
    parser.add_argument('--build', default='.', metavar='DIR',
                        help='a build directory of meson')
    parser.add_argument('rows', nargs='*', metavar='ROW',
                        help='only these: seq, random.cold.1, seq.*.hot, ...')
    args = parser.parse_args()
    args.size = (args.size or (128 if args.quick else 512)) * MIB
    args.modules = REMOTE if args.remote else LOCAL
    args.rounds = args.rounds or (3 if args.quick else 5)
    return args


def describe_machine(args):
    return {
        'cpus': os.cpu_count(), 'kernel': platform.release(),
        'size': args.size, 'rounds': args.rounds, 'place': args.place,
        'squashfuse': has_squashfuse(), 'btrfs': has_btrfs(),
    }


def print_machine(machine):
    print('%d processors, Linux %s; %d MiB in %s, %d rounds'
          % (machine['cpus'], machine['kernel'], machine['size'] // MIB,
             machine['place'], machine['rounds']))
    for name in ('squashfuse', 'btrfs'):
        if not machine[name]:
            print('%s is not installed, and left out' % name)


def main():
    args = parse_args()
    if not args.list and (os.geteuid() != 0 or
                          not os.path.exists('/dev/fuse')):
        print('needs root and /dev/fuse')
        sys.exit(SKIP)
    if args.remote and not args.list and not remotes.is_possible(args.build):
        print('needs nginx and libcurl')
        sys.exit(SKIP)
    # Exit normally on SIGTERM, so that everything is unmounted.
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(1))
    args.place = args.place or choose_place(args.size)
    with tempfile.TemporaryDirectory(prefix='framefs-bench-',
                                     dir=args.place) as top:
        stock = Stock(os.path.abspath(args.build), os.path.realpath(top),
                      args.size)
        check_rows(stock, args)
        if args.list:
            print('\n'.join(row for module in args.modules
                            for scene in wanted_scenes(module, stock, args)
                            for row in scene.rows))
            return
        machine = describe_machine(args)
        if not args.json:
            print_machine(machine)
        results = bench(stock, args)
        if not results.rows:
            sys.exit('bench: nothing is measured: there is no rival %s' %
                     ' or '.join(args.rival or ['here']))
        verdicts = targets.judge(results, stock.costs, args.remote)
    if args.json:
        figures.print_json(machine, results, verdicts)
    else:
        figures.print_targets(verdicts)


if __name__ == '__main__':
    main()
