#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame manual
"""The manual page and --help name the same verbs and options.

usage: manual.py B2FRAME
"""

import os
import re
import shutil
import subprocess
import sys

from harness import SOURCE
from scene import TOOL, verbs

PAGE = os.path.join(SOURCE, 'tools', 'b2frame.1')


def help_options(*words):
    """Return the options that a help text lists, and the text."""
    text = subprocess.run([TOOL, *words, '--help'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return set(re.findall(r'^ +(--[a-z-]+)', text, re.MULTILINE)), text


def page_options(text):
    """Return the options that a piece of the page lists."""
    return {'-' + word for word in
            re.findall(r'^\.It Fl (-[a-z-]+)', text, re.MULTILINE)}


def main():
    failures = []
    with open(PAGE, encoding='utf-8') as page:
        general, *parts = re.split(r'^\.Ss (\w+)\n', page.read(),
                                   flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2]))
    common = page_options(general) - {'--lock'}

    if set(sections) != set(verbs()):
        failures.append('verbs: %s in --help, %s in the page' %
                        (verbs(), list(sections)))
    for verb in verbs():
        told = help_options(verb)[0]
        written = page_options(sections.get(verb, '')) | common
        if told != written:
            failures.append('%s: %s' % (verb, told ^ written))
    if shutil.which('mandoc'):
        lint = subprocess.run(['mandoc', '-Tlint', '-Wwarning', PAGE],
                              stdout=subprocess.PIPE, text=True, check=False)
        if lint.stdout:
            failures.append(lint.stdout)
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
