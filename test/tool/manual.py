#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual page and --help name the same verbs and options.

usage: manual.py PROGRAM PAGE [VERB...]
"""

import re
import shutil
import subprocess
import sys


def help_options(*words):
    """Return the options that a help text lists, and the text."""
    text = subprocess.run([sys.argv[1], *words, '--help'], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return set(re.findall(r'^ +(--[a-z-]+)', text, re.MULTILINE)), text


def page_options(text):
    """Return the options that a piece of the page lists."""
    return {'-' + word for word in
            re.findall(r'^\.It Fl (-[a-z-]+)', text, re.MULTILINE)}


def main():
    program, path, *verbs = sys.argv[1:]
    failures = []
    with open(path, encoding='utf-8') as page:
        general, *parts = re.split(r'^\.Ss (\w+)\n', page.read(),
                                   flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2]))
    common = page_options(general) - {'--version', '--lock'}

    listed = re.findall(r'^  (\w+) ', help_options()[1], re.MULTILINE)
    if not set(listed) >= set(sections) == set(verbs):
        failures.append('verbs: %s in --help, %s in the page' %
                        (listed, list(sections)))
    for verb in verbs:
        told = help_options(verb)[0]
        written = page_options(sections.get(verb, '')) | common
        if told != written:
            failures.append('%s: %s' % (verb, told ^ written))
    if shutil.which('mandoc'):
        lint = subprocess.run(['mandoc', '-Tlint', '-Wwarning', path],
                              stdout=subprocess.PIPE, text=True, check=False)
        if lint.stdout:
            failures.append(lint.stdout)
    for failure in failures:
        print('%s: %s' % (program, failure))
    sys.exit(bool(failures))


main()
