#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""List the test scripts in some directories, for meson.

usage: list_scripts.py DIRECTORY...

Every executable script in a directory is a test.  The lines `# test:` at its
top say how it runs; test/README.md describes them.  Each makes one test, and is
printed as PATH|NAME|SUITE|TIMEOUT|alone|ARGUMENTS, where the fifth field is
empty for a test that runs beside others.
"""

import os
import re
import sys

# What a script does not set itself, by its directory.
DEFAULTS = {
    'mount': {'suite': 'mount', 'timeout': '300', 'args': 'framefs'},
    'tool': {'suite': 'tool', 'timeout': '30', 'args': 'b2frame'},
}
FLAGS = ('alone',)


def properties(path, line):
    """Return the name and the properties that a line sets."""
    name, *words = [word.strip() for word in line.split(';')]
    found = dict(DEFAULTS[os.path.basename(os.path.dirname(path))])
    for word in words:
        key, _, value = word.partition(' ')
        if key in FLAGS and not value:
            value = key
        elif key not in found or not value and key != 'args':
            sys.exit('%s: `# test:` knows no "%s"' % (path, word))
        found[key] = value
    return name, found


def tests(path):
    """Yield a line for each test of a script."""
    with open(path, encoding='utf-8') as script:
        lines = re.findall(r'^# test: *(.*)$', script.read(), re.MULTILINE)
    if not lines:
        sys.exit('%s: an executable script needs a line `# test: NAME`' % path)
    for line in lines:
        name, found = properties(path, line)
        yield '|'.join((path, name, found['suite'], found['timeout'],
                        found.get('alone', ''), found['args']))


def main():
    for directory in sys.argv[1:]:
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            if name.endswith(('.py', '.sh')) and os.access(path, os.X_OK):
                print(*tests(path), sep='\n')


main()
