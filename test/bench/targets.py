# SPDX-License-Identifier: BSD-3-Clause
"""The targets of framefs, and whether it reaches them."""

from stock import BTRFS, MIB

TYPESIZES = ('2', '4', '8', '16')


class Judge:
    """Collects verdicts on the measurements."""

    def __init__(self, results, costs):
        self.results = results
        self.costs = costs
        self.verdicts = []

    def at_least(self, what, wanted, measured):
        self.add(what, 'at least', wanted, measured,
                 measured is not None and measured >= wanted)

    def at_most(self, what, wanted, measured):
        self.add(what, 'at most', wanted, measured,
                 measured is not None and measured <= wanted)

    def add(self, what, bound, wanted, measured, reached):
        self.verdicts.append({
            'what': what, 'bound': bound, 'wanted': wanted,
            'measured': measured,
            'verdict': 'not measured' if measured is None
            else 'reached' if reached else 'NOT reached'})

    def of_limit(self, row, rival, wanted):
        cell = self.results.cell(row, rival)
        known = cell and cell.limit
        self.at_least('%s, %s: of its limit' % (row, rival), wanted,
                      cell.speed_beside(cell.limit) if known else None)

    def beside(self, row, rival, other, wanted):
        cell = self.results.cell(row, rival)
        known = cell and self.results.cell(row, other)
        self.at_least('%s, %s: x %s' % (row, rival, other), wanted,
                      cell.speed_beside(known.median()) if known else None)


def judge_reads(judge):
    for codec in ('lz4', 'blosclz', 'zstd', 'zlib'):
        judge.of_limit('seq.dd.cold', 'framefs-' + codec, 0.85)
    for codec in ('zstd', 'zlib'):
        judge.beside('seq.dd.cold', 'framefs-' + codec, 'squashfuse-' + codec,
                     3)
        judge.beside('seq.dd.cold', 'framefs-' + codec,
                     'btrfs-' + BTRFS['zstd'], 1.5)
    judge.beside('seq.dd.hot', 'framefs-lz4', 'plain', 0.95)
    judge.of_limit('random.cold.1', 'framefs-lz4-64K', 0.8)
    judge.beside('random.cold.1', 'framefs-lz4-64K', 'squashfuse-lz4', 8)
    judge.of_limit('fault.cold', 'framefs-lz4', 0.8)
    judge.beside('random.cached', 'framefs-lz4', 'ceiling', 0.9)


def judge_writes(judge):
    for row in ('write.1m', 'write.4k'):
        judge.of_limit(row, 'framefs-lz4', 0.8)
    cell = judge.results.cell('overwrite.kept', 'framefs-lz4')
    chunk = MIB * (judge.costs.decode('lz4') + judge.costs.encode('lz4'))
    judge.at_least('overwrite.kept, framefs-lz4: x one chunk coded for each',
                   5, cell.median() * chunk if cell else None)


def judge_kernels(judge):
    for name in ('shuffle', 'unshuffle', 'bitshuffle', 'bitunshuffle'):
        cells = judge.results.rows.get('kernel.' + name, {})
        memcpy = cells.get('memcpy')
        slowest = min((cell.median() for rival, cell in cells.items()
                       if rival.split('-')[-1] in TYPESIZES), default=None)
        judge.at_least('kernel.%s, typesizes %s: x memcpy'
                       % (name, ' '.join(TYPESIZES)), 0.8,
                       slowest / memcpy.median()
                       if slowest and memcpy else None)


def judge_opens(judge):
    for layout, wanted in (('contiguous', 2), ('sparse', 3)):
        row = 'open.%s.1000000' % layout
        cell = judge.results.cell(row, 'framefs-lz4')
        judge.at_most(row + ', framefs-lz4: ms', wanted,
                      cell.median() if cell else None)


def judge_memory(judge, wanted):
    sizes = [cell.overhead() for cells in judge.results.rows.values()
             for cell in cells.values()]
    measured = [size for size in sizes if size is not None]
    judge.at_most('memory of the daemon beside cache=: MiB', wanted,
                  max(measured) / MIB if measured else None)


def judge_remote(judge):
    def figure(row, rival='framefs-lz4'):
        cell = judge.results.cell(row, rival)
        return cell.median() if cell else None

    for layout in ('sparse', 'contiguous'):
        row = 'remote.first.%s.requests' % layout
        judge.at_most(row, 2 if layout == 'sparse' else 3, figure(row))
        judge.beside('remote.dd.' + layout, 'framefs-lz4', 'ceiling', 0.85)
    judge.beside('remote.make.sparse', 'b2frame-lz4', 'ceiling', 0.8)
    judge.beside('remote.write', 'framefs-lz4', 'ceiling', 0.8)
    judge.beside('remote.warm', 'framefs-lz4', 'framefs-local', 0.8)
    judge.at_most('remote.warm.requests', 0, figure('remote.warm.requests'))
    judge.at_most('remote.ls.requests: for 10,000 names', 11,
                  figure('remote.ls.requests'))
    judge.at_least('remote.ls-l: frames/s', 300, figure('remote.ls-l'))
    for nthreads in (1, 8, 32):
        row = 'remote.random.%d' % nthreads
        judge.beside(row, 'framefs-lz4', 'ceiling', 0.9)
        judge.at_most(row + '.requests: for 100 reads', 102,
                      figure(row + '.requests'))
    row = 'remote.random.1.large'
    judge.at_most(row + '.requests: for 100 reads', 200,
                  figure(row + '.requests'))
    judge.at_most(row + '.bytes: KB a read', 300, figure(row + '.bytes'))
    judge_memory(judge, 64)


def judge(results, costs, remote):
    """Return a list of targets, each with its measurement and verdict."""
    verdicts = Judge(results, costs)
    if remote:
        judge_remote(verdicts)
        return verdicts.verdicts
    judge_reads(verdicts)
    judge_writes(verdicts)
    judge_kernels(verdicts)
    judge_opens(verdicts)
    judge_memory(verdicts, 32)
    return verdicts.verdicts
