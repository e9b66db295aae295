#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: versions; args version b2frame framefs
"""Packages and programs have the same version as meson.build.

usage: versions.py VERSION B2FRAME FRAMEFS
"""

import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
VERSION = sys.argv[1]
PLACES = (
    ('packaging/debian/changelog', r'^framefs \(([^)-]*)-[^)]*\)'),
    ('packaging/framefs.spec', r'^Version: *(.*)'),
    ('packaging/framefs.spec', r'^\* .*> - ([^-]*)-'),
)


def main():
    found = []
    for path, pattern in PLACES:
        with open(os.path.join(SOURCE, path), encoding='utf-8') as text:
            found.append((path, re.search(pattern, text.read(), re.M)[1]))
    for program in sys.argv[2:]:
        said = subprocess.run([program, '--version'], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        found.append((program, said.split()[1]))
    wrong = [place for place in found if place[1] != VERSION]
    for place in wrong:
        print('%s: %s, not %s' % (*place, VERSION))
    sys.exit(bool(wrong))


main()
