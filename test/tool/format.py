#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: format manual
"""The codecs and filters that framefs-format.7 calls written can be written,
and the other ones are refused.

usage: format.py B2FRAME
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import SOURCE

B2FRAME = sys.argv[1]
PAGE = os.path.join(SOURCE, 'tools', 'framefs-format.7')
LACKING = os.environ.get('FRAMEFS_LACKING', '').split()
failures = []


def table(text, head):
    """Yield each name of a table, and whether it is written.  Names may share a
    row."""
    rows = text.split('.It Em %s ' % head)[1].split('.El')[0]
    for names, written in re.findall(r'^\.It (.*) Ta \w+ Ta (\w+)', rows,
                                     re.MULTILINE):
        for name in names.split(', '):
            yield name, written == 'yes'


# Parameters that some cannot do without.
PARAMETERS = {'trunc_prec': 3, 'int_trunc': 3, 'ndlz': 4, 'ndcell': 2,
              'ndmean': 2, 'zfp_acc': -3, 'zfp_prec': 20, 'zfp_rate': 50}


def is_written(option, name, where):
    """Can an array be written with it?  That suits them all."""
    if name in PARAMETERS:
        name += ':%d' % PARAMETERS[name]
    done = subprocess.run([B2FRAME, 'create', '--force', '--shape', '16,16',
                           '--dtype', '<f8', '--typesize', '8', option, name,
                           '-',
                           os.path.join(where, 'frame')],
                          stderr=subprocess.DEVNULL, check=False,
                          input=bytes(range(256)) * 8)
    return done.returncode == 0


def main():
    with open(PAGE, encoding='utf-8') as page:
        text = page.read()
    with tempfile.TemporaryDirectory() as where:
        for head, option, least in (('codec', '--codec', 8),
                                    ('filter', '--filters', 9)):
            rows = list(table(text, head))
            if len(rows) < least:
                failures.append('no table of ' + head)
            for name, written in rows:
                if name in LACKING:
                    continue
                if is_written(option, name, where) != written:
                    failures.append('%s: written: %s' % (name, not written))
    if shutil.which('mandoc'):
        lint = subprocess.run(['mandoc', '-Tlint', '-Wwarning', PAGE],
                              stdout=subprocess.PIPE, text=True, check=False)
        if lint.stdout:
            failures.append(lint.stdout)
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
