#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print the name by which the dynamic linker knows a library.

usage: soname.py LIBRARY COMPILER...

LIBRARY is its name for `-l`.
"""

import re
import subprocess
import sys


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def main():
    name, *compiler = sys.argv[1:]
    path = run(*compiler, '-print-file-name=lib%s.so' % name).strip()
    found = re.search(r'SONAME.*\[(.*)\]', run('readelf', '-d', path))
    if not found:
        sys.exit('%s has no SONAME' % path)
    print(found[1])


main()
