# SPDX-License-Identifier: BSD-3-Clause
"""Scenes: work that rivals do in turn, each in a fresh mount."""

import json
import os
import subprocess
import time

from figures import Run


class Scene:
    """Work that gives one or more rows of the tables.

    rows   units by name of row
    stock  source of files and rivals
    quick  do as little as possible
    """
    rows = {}

    def __init__(self, stock, quick):
        self.stock = stock
        self.quick = quick

    def rivals(self):
        """Yield the rivals that take part, and make the files that they
        need."""
        raise NotImplementedError

    def rounds(self, wanted):
        """Return how often rivals take turns if `wanted` rounds are asked
        for."""
        return wanted

    def prepare(self, rival):
        """Prepare for a rival before it is mounted."""
        self.stock.touch_memory()

    def run(self, rival):
        """Yield the name of a row and the run that was made for it."""
        raise NotImplementedError

    def limits(self, results):
        """Set the limits of cells."""

    # For subclasses

    def time(self, rival, command, count=None):
        """Run a program.  bench_io itself reports the time and the amount of
        its work; for other programs the whole run is timed."""
        daemon = rival.cpu()
        start = time.monotonic()
        said, usage = run_measured(command)
        seconds = time.monotonic() - start
        told = {'seconds': seconds, 'count': count,
                'cpu': usage.ru_utime + usage.ru_stime, 'p50': 0, 'p99': 0}
        if count is None:
            told = json.loads(said)
        if daemon is not None:
            daemon = rival.cpu() - daemon
        return Run(told['seconds'], told['count'], told['cpu'], daemon,
                   rival.rss(), rival.cache, told['p50'], told['p99'])

    def io(self, rival, *words):
        return self.time(rival, [self.stock.program('bench_io'),
                                 *map(str, words)])


def run_measured(command):
    """Return a program's output, and the resources that it used."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE)
    try:
        with child.stdout:
            said = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        # The mount of its open files has to be unmounted.
        child.kill()
        child.wait()
        raise
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return said, usage


def set_limits(results, row, seconds_of):
    """Set limits to the rate at which all processors are busy, if each byte or
    operation costs the ceiling's time and `seconds_of(codec)`."""
    for cell, _ in set_least(results, row, seconds_of):
        scale = 1e-6 if cell.unit == 'MB/s' else 1
        cell.limit = scale * os.cpu_count() / cell.least


def set_limits_by_latency(results, row, seconds_of):
    """Set limits to the rate of sequential operations that each take the
    ceiling's time and `seconds_of(codec)`."""
    for cell, coding in set_least(results, row, seconds_of):
        cell.limit = 1 / (1 / results.cell(row, 'ceiling').median() + coding)


def set_least(results, row, seconds_of):
    """Set the least processor time of cells: that of the ceiling, and of
    coding. Return pairs of a cell and the seconds of coding."""
    ceiling = results.cell(row, 'ceiling')
    if not ceiling:
        return []
    pairs = [(ceiling, 0)] + [
        (cell, seconds_of(rival.split('-')[1]))
        for rival, cell in results.rows[row].items()
        if rival.startswith('framefs-')]
    for cell, coding in pairs:
        cell.least = ceiling.cpu('daemon') + ceiling.cpu('client') + coding
    return pairs
