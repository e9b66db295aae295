# SPDX-License-Identifier: BSD-3-Clause
"""Processor time of encoding and decoding, measured in process."""

import functools
import json
import subprocess


class Costs:
    """Runs bench_codec, once for each combination of arguments."""

    def __init__(self, program):
        self.program = program
        self.rates = functools.lru_cache(maxsize=None)(self.measure)

    def measure(self, codec, filter_name='shuffle', clevel=5, blocksize=0):
        """Return the MB/s of `encode`, `decode` and `memcpy`, and the
        `ratio`."""
        done = subprocess.run(
            [self.program, codec, filter_name, str(clevel), str(blocksize)],
            check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    # Seconds of processor time for each byte

    def decode(self, codec, blocksize=0):
        return 1e-6 / self.rates(codec, blocksize=blocksize)['decode']

    def encode(self, codec):
        return 1e-6 / self.rates(codec)['encode']
