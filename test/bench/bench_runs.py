#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench runs and reports figures for each scene, so that it stays usable.

usage: bench_runs.py BUILD
"""

import json
import os
import subprocess
import sys

SKIP = 77
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bench.py')
ROWS = {
    # one row of each scene, and some rivals that must take part
    'seq.dd.cold': ('ceiling', 'plain', 'framefs-lz4', 'framefs-zstd'),
    'seq.dd.hot': ('ceiling', 'plain', 'framefs-lz4'),
    'seq.map.cold': ('ceiling', 'framefs-lz4'),
    'parallel.4': ('ceiling', 'framefs-lz4'),
    'random.cold.2': ('ceiling', 'framefs-lz4-64K'),
    'random.cached': ('ceiling', 'framefs-lz4'),
    'fault.cold': ('ceiling', 'framefs-lz4'),
    'array.all': ('ceiling', 'framefs-lz4', 'framefs-lz4-raw'),
    'array.column': ('ceiling', 'framefs-lz4', 'framefs-lz4-raw'),
    'write.4k': ('ceiling', 'plain', 'framefs-lz4', 'framefs-lz4-sparse'),
    'overwrite.kept': ('ceiling', 'plain', 'framefs-lz4'),
    'small.create': ('ceiling', 'plain', 'framefs-lz4'),
    'small.stat': ('ceiling', 'plain', 'framefs-lz4'),
    'small.unlink': ('ceiling', 'plain', 'framefs-lz4'),
    'open.contiguous.10': ('ceiling', 'framefs-lz4'),
    'open.sparse.10': ('ceiling', 'framefs-lz4'),
    'decode.shuffle.5': ('memcpy', 'lz4', 'zstd'),
    'encode.shuffle.5': ('lz4', 'zstd'),
    'kernel.shuffle': ('memcpy', 'loop'),
}
REMOTE = {
    'remote.first.sparse.requests': ('framefs-lz4',),
    'remote.random.8.requests': ('framefs-lz4',),
    'remote.dd.contiguous': ('ceiling', 'framefs-lz4'),
    'remote.make.sparse': ('ceiling', 'b2frame-lz4'),
}
LIMITED = ('seq.dd.cold', 'parallel.4', 'random.cold.2', 'fault.cold',
           'write.4k')


def check(what, message):
    if not what:
        sys.exit('bench_runs: ' + message)


def run(rows, *options):
    """Return what the benchmark tells, or None if it cannot run."""
    done = subprocess.run(
        [sys.executable, BENCH, '--build', sys.argv[1], '--quick', '--json',
         '--size', '16', '--rounds', '1', *options, *rows],
        stdout=subprocess.PIPE, check=False)
    if done.returncode == SKIP:
        return None
    check(done.returncode == 0, 'it ended with %d' % done.returncode)
    return json.loads(done.stdout)


def check_rows(told, rows):
    cells = {(record['row'], record['rival']): record
             for record in told['rows']}
    check({row for row, _ in cells} == set(rows), 'other rows than asked for')
    for row, rivals in rows.items():
        for rival in rivals:
            check((row, rival) in cells, '%s: no %s' % (row, rival))
            check(cells[row, rival]['median'] > 0, '%s: no figure' % row)
    return cells


def check_unknown_rows():
    """A row that does not exist is an error, even beside one that does."""
    done = subprocess.run([sys.executable, BENCH, '--build', sys.argv[1],
                           '--list', 'seq', 'seq.d'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    check(done.returncode == 1 and b'no row seq.d' in done.stderr,
          'a row that does not exist is measured')


def main():
    check_unknown_rows()
    told = run(ROWS)
    if told is None:
        sys.exit(SKIP)
    cells = check_rows(told, ROWS)
    for row in LIMITED:
        check(cells[row, ROWS[row][-1]]['limit'] > 0, '%s: no limit' % row)
    verdicts = {target['verdict'] for target in told['targets']}
    check('not measured' in verdicts and len(verdicts) > 1,
          'verdicts without measurements, or none with')
    told = run(REMOTE, '--remote')
    if told is not None:
        check_rows(told, REMOTE)


if __name__ == '__main__':
    main()
