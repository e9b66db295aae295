#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of --help and of the manual page work as they stand.

usage: examples.py B2FRAME PAGE VERB...
"""

import os
import re
import subprocess
import sys

import corpus
from scene import TOOL, check, frame, main, numbers, write

PAGE = os.path.abspath(sys.argv[2])
VERBS = sys.argv[3:]
CHUNK = 128 << 10


def script(path, text):
    write(path, ('#!/bin/sh\n' + text).encode())
    os.chmod(path, 0o755)


def prepare():
    """Make everything that the examples name."""
    os.mkdir('bin')
    os.symlink(TOOL, 'bin/b2frame')
    script('bin/sensor', 'echo 21 K')
    os.mkdir('archive')
    content = numbers(10 * CHUNK)
    for name in ('run7.f64', 'run7.raw'):
        write(name, content)
    for name in ('header.raw', 'corrected.raw'):
        write(name, content[:CHUNK])
    for name in ('run7.b2frame', 'measurements.b2frame', 'log.b2frame'):
        frame(name, content, '--chunksize', str(CHUNK))
    subprocess.run('(head -c 4096 /dev/zero; cat run7.b2frame) >archive.bin',
                   shell=True, check=True)


def clear():
    subprocess.run('rm -rf *', shell=True, check=True)


def run(command):
    """Run one example, with nothing left of earlier ones."""
    prepare()
    path = os.path.abspath('bin') + ':' + os.environ['PATH']
    done = subprocess.run(['sh', '-c', command], capture_output=True,
                          check=False, text=True,
                          env=dict(corpus.environment(), PATH=path))
    check(done.returncode == 0, '%s: status %d, says: %s' %
          (command, done.returncode, done.stderr))
    clear()


def those_of_help():
    for verb in VERBS:
        text = subprocess.run([TOOL, verb, '--help'], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        examples = re.findall(r'^  (.*)$', text.split('\nExample')[1],
                              re.MULTILINE)
        check(examples, verb + ' has no example')
        for command in examples:
            run(command)


def those_of_the_manual_page():
    """Consecutive examples with no text between them belong together."""
    with open(PAGE, encoding='utf-8') as page:
        text = page.read().split('.Sh EXAMPLES')[1].split('.Sh ')[0]
    groups = re.findall(r'(?:^\.Dl \$ .*\n)+', text, re.MULTILINE)
    check(groups, 'there are none')
    for group in groups:
        commands = re.findall(r'^\.Dl \$ (.*)$', group, re.MULTILINE)
        run(' &&\n'.join(commands).replace(r'\e', '\\'))


sys.argv[2:] = []
main(those_of_help, those_of_the_manual_page)
