# SPDX-License-Identifier: BSD-3-Clause
"""Figures of several rounds: medians, spread, and their output."""

import json
import statistics

UNITS = {
    # unit: figure of a run, whether more is better
    'MB/s': (lambda run: run.count / 1e6 / run.seconds, True),
    '/s': (lambda run: run.count / run.seconds, True),
    'x': (lambda run: run.count / run.seconds, True),
    'ms': (lambda run: run.seconds * 1e3, False),
    'GETs': (lambda run: run.count, False),
    'KB': (lambda run: run.count, False),
}


class Run:
    """The measurements of one piece of work.

    seconds  time that it took
    count    bytes or operations
    client   seconds of processor time of the program that did the work
    daemon   the same of the FUSE server, or None without one
    rss      peak memory of the server in bytes, or None
    cache    bytes that the server may keep data in, or None
    p50      seconds within which half of the operations ended; 0 if unknown
    p99      seconds within which 99 % of them ended; 0 if unknown
    """

    def __init__(self, seconds, count, client, daemon=None, rss=None,
                 cache=None, p50=0, p99=0):
        self.seconds = seconds
        self.count = count
        self.client = client
        self.daemon = daemon
        self.rss = rss
        self.cache = cache
        self.p50 = p50
        self.p99 = p99


class Cell:
    """The runs of one rival for one row."""

    def __init__(self, unit):
        self.unit = unit
        self.runs = []
        self.limit = None  # highest possible rate of this rival
        self.least = None  # least possible processor time, in the unit of cpu()

    def rates(self):
        return [UNITS[self.unit][0](run) for run in self.runs]

    def median(self):
        return statistics.median(self.rates())

    def spread(self):
        """Return half of the range of the rounds, as a fraction of the
        median."""
        rates = self.rates()
        return (max(rates) - min(rates)) / 2 / max(self.median(), 1e-9)

    def cpu(self, who):
        """Return seconds of processor time for each byte or operation."""
        times = [getattr(run, who) for run in self.runs]
        if None in times:
            return None
        return statistics.median(time / (run.count or 1)
                                 for time, run in zip(times, self.runs))

    def of_least(self):
        """Return the least possible processor time as a fraction of the
        measured one."""
        times = self.cpu('daemon'), self.cpu('client')
        return self.least / sum(times) if self.least else None

    def rss(self):
        sizes = [run.rss for run in self.runs if run.rss is not None]
        return max(sizes, default=None)

    def overhead(self):
        """Return the memory that is used in addition to the cache, in bytes."""
        sizes = [run.rss - run.cache for run in self.runs
                 if run.rss is not None and run.cache is not None]
        return max(sizes, default=None)

    def speed_beside(self, rate):
        """Return the speed as a fraction of another rate of the same unit."""
        return (self.median() / rate if UNITS[self.unit][1]
                else rate / self.median())


class Results:
    """Cells by row and rival, in the order of their first runs."""

    def __init__(self):
        self.rows = {}

    def add(self, row, unit, rival, run):
        cells = self.rows.setdefault(row, {})
        cells.setdefault(rival, Cell(unit)).runs.append(run)

    def cell(self, row, rival):
        return self.rows.get(row, {}).get(rival)

    def records(self, row):
        """Yield all that is known of a row, as records for JSON."""
        for rival, cell in self.rows[row].items():
            record = {
                'row': row, 'rival': rival, 'unit': cell.unit,
                'median': cell.median(), 'spread': cell.spread(),
                'rounds': cell.rates(), 'limit': cell.limit,
                'daemon': cell.cpu('daemon'), 'client': cell.cpu('client'),
                'rss': cell.rss(),
                'p50': statistics.median(run.p50 for run in cell.runs),
                'p99': statistics.median(run.p99 for run in cell.runs),
            }
            for other in ('plain', 'ceiling'):
                beside = self.cell(row, other)
                record['of_' + other] = (
                    cell.speed_beside(beside.median())
                    if beside and other != rival else None)
            record['of_least'] = cell.of_least()
            record['of_limit'] = (cell.speed_beside(cell.limit)
                                  if cell.limit else None)
            yield record


COLUMNS = '%-23s %-18s %9s %-5s %4s %8s %8s %9s %8s %8s %8s %8s %5s'


def number(value, scale=1.0, digits=2):
    return '' if value is None else '%.*f' % (digits, value * scale)


def rate(value, unit):
    return number(value, digits=2 if unit in ('ms', 'x') else 0)


def print_heading():
    print('Processor time is in seconds for each GB, or microseconds for each '
          'operation;\nmemory in MiB.\n')
    print(COLUMNS % ('row', 'rival', 'median', '', '+-%', 'of plain',
                     'of ceil.', 'limit', 'of limit', 'of least', 'daemon',
                     'client', 'mem.'), flush=True)


def print_row(results, row):
    name = row
    for record in results.records(row):
        unit = record['unit']
        scale = 1e9 if unit == 'MB/s' else 1e6
        digits = 2 if unit == 'MB/s' else 1
        print(COLUMNS % (
            name, record['rival'], rate(record['median'], unit), unit,
            number(record['spread'], 100, 0),
            number(record['of_plain']), number(record['of_ceiling']),
            rate(record['limit'], unit), number(record['of_limit']),
            number(record['of_least']),
            number(record['daemon'], scale, digits),
            number(record['client'], scale, digits),
            number(record['rss'], 2 ** -20, 0)), flush=True)
        name = ''


def print_targets(targets):
    print('\n%-60s %-8s %8s %9s' % ('target', '', 'wanted', 'measured'))
    for target in targets:
        print('%-60s %-8s %8s %9s  %s' % (
            target['what'], target['bound'], number(target['wanted']),
            number(target['measured']), target['verdict']))


def print_json(machine, results, targets):
    records = [record for row in results.rows
               for record in results.records(row)]
    print(json.dumps({'machine': machine, 'rows': records,
                      'targets': targets}, indent=1))
