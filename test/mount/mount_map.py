#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount map; timeout 600; args framefs map_array
"""An ordinary program maps an array that is much larger than the cache.

usage: mount_map.py FRAMEFS MAP_ARRAY
"""

import json
import os
import sys

from mounted import B2FRAME, Mount, check, harness, main, sh

MAP_ARRAY = os.path.abspath(sys.argv.pop(2))
MIB = 1 << 20
ROWS = 4096 if harness.SANITIZED else 32768
CACHE = (192 if harness.SANITIZED else 256) * MIB  # a row of chunks is 64 MiB
# A busy machine decodes some blocks ahead too late, when the reader no longer
# needs them.
SPARE = 10 if harness.SANITIZED else 2  # percent
PATIENCE = 240


def decoded(mount):
    """Return the number of bytes decoded so far."""
    return json.loads(os.getxattr(mount.path, 'user.framefs.stats'))['read'][
        'decoded']


def make():
    """Make a plane of 4 GiB, or a smaller one with sanitizers, because they are
    slow."""
    os.mkdir('src')
    sh("%s %d 32768 | %s create --shape %d,32768 --dtype '<u4' "
       '--chunks 512,512 --blocks 128,128 - src/plane.b2nd' %
       (MAP_ARRAY, ROWS, B2FRAME, ROWS), patience=PATIENCE)


def a_plane_larger_than_the_cache_is_mapped():
    make()
    with Mount('src', 'mnt', '-o', 'ro,cache=%d' % CACHE) as mount:
        print(sh('%s %d 32768 mnt/plane' % (MAP_ARRAY, ROWS),
                 patience=PATIENCE))
        check(mount.memory() < CACHE + 64 * MIB or harness.SANITIZED,
              'memory: %d' % mount.memory())
        check(decoded(mount) < ROWS * 32768 * 4 * 5 // 4,
              'decoded: %d' % decoded(mount))


def a_scan_decodes_hardly_a_block_twice():
    make()
    # At the end of a row of chunks, the next row is in the cache as well,
    # because it is decoded ahead.
    with Mount('src', 'mnt', '-o', 'ro,cache=256M') as mount:
        sh('dd if=mnt/plane of=/dev/null bs=1M', patience=PATIENCE)
        check(decoded(mount) <= ROWS * 32768 * 4 * (100 + SPARE) // 100,
              'decoded: %d' % decoded(mount))


main(a_plane_larger_than_the_cache_is_mapped,
     a_scan_decodes_hardly_a_block_twice)
