# SPDX-License-Identifier: BSD-3-Clause
"""Codecs, filters and their kernels, without a mount."""

import subprocess

from figures import Run
from reads import CODECS
from rivals import Rival
from scenes import Scene

MB = 1000000


def at_rate(rate):
    """Return a run of one thread at a rate in MB/s."""
    return Run(1 / rate, MB, 1 / rate)


class InProcess(Scene):
    """Programs that do their own rounds, and mount nothing."""

    def rounds(self, wanted):
        return 1

    def prepare(self, rival):
        pass


class Codec(InProcess):
    """Chunks of 1 MiB, with each codec."""

    def __init__(self, stock, quick, filter_name, clevel):
        super().__init__(stock, quick)
        self.filter_name = filter_name
        self.clevel = clevel
        name = '%s.%d' % (filter_name, clevel)
        self.rows = {'decode.' + name: 'MB/s', 'encode.' + name: 'MB/s',
                     'ratio.' + name: 'x'}

    def rivals(self):
        yield Rival('memcpy', None)
        for codec in ('lz4', 'zstd') if self.quick else CODECS:
            yield Rival(codec, None)

    def run(self, rival):
        is_codec = rival.name != 'memcpy'
        rates = self.stock.costs.rates(rival.name if is_codec else 'lz4',
                                       self.filter_name, self.clevel)
        decode, encode, ratio = self.rows
        yield decode, at_rate(rates['decode' if is_codec else 'memcpy'])
        if is_codec:
            yield encode, at_rate(rates['encode'])
            yield ratio, Run(1, rates['ratio'], 0)


class Kernels(InProcess):
    """The fastest kernels of this machine, for some typesizes, and two ways to
    copy: memcpy(), and a loop of vector loads and stores."""
    rows = {'kernel.' + name: 'MB/s' for name in (
        'shuffle', 'unshuffle', 'bitshuffle', 'bitunshuffle')}

    def __init__(self, stock, quick):
        super().__init__(stock, quick)
        self.rates = {}

    def rivals(self):
        said = subprocess.run([self.stock.program('bench_shuffle')],
                              check=True, stdout=subprocess.PIPE).stdout
        lines = [line.split() for line in said.decode().splitlines()[1:]]
        for line in lines:
            if line[0] != lines[0][0] or len(line) < 7:
                continue
            kernel, typesize, direction, rate, memcpy, loop = line[:6]
            rates = self.rates.setdefault('kernel.' + direction, {})
            rates['%s-%s' % (kernel, typesize)] = float(rate) * 1e3
            rates['memcpy'] = float(memcpy) * 1e3
            rates['loop'] = float(loop) * 1e3
        copies = ['memcpy', 'loop']
        for name in copies + [name for name in rates if name not in copies]:
            yield Rival(name, None)

    def run(self, rival):
        for row, rates in self.rates.items():
            yield row, at_rate(rates[rival.name])


def scenes(stock, quick):
    for filter_name in ('shuffle',) if quick else ('shuffle', 'bitshuffle',
                                                   'none'):
        for clevel in (5,) if quick else (1, 5, 9):
            yield Codec(stock, quick, filter_name, clevel)
    yield Kernels(stock, quick)
