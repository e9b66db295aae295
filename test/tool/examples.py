#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame examples; timeout 300
"""The examples of --help and of the manual page work as they stand.

usage: examples.py B2FRAME [TEST...]
"""

import contextlib
import os
import re
import subprocess
import zipfile

import harness
from s3_server import S3
from scene import TOOL, check, frame, main, numbers, verbs, write

PAGE = os.path.join(harness.SOURCE, 'tools', 'b2frame.1')
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
    frame('series.b2nd', content[:4 << 16], '--shape', '4,256,256', '--dtype',
          '|u1')
    subprocess.run('(head -c 4096 /dev/zero; cat run7.b2frame) >archive.bin',
                   shell=True, check=True)
    os.mkdir('runs')
    write('runs/run8.f64', content)
    with zipfile.ZipFile('model.b2z', 'w') as store:
        store.write('run7.b2frame', 'group/run7.b2f')
    header = (b"{'descr': '|u1', 'fortran_order': True, 'shape': (4, 9), }"
              b'\n')
    with zipfile.ZipFile('results.npz', 'w') as archive:
        archive.writestr('a.npy', b'\x93NUMPY\1\0' + bytes([len(header), 0]) +
                         header + bytes(36))
    os.mkdir('bucket')
    frame('bucket/run7.b2frame', content, '--layout', 'sparse')


def clear():
    subprocess.run('rm -rf *', shell=True, check=True)


def run(command):
    """Run one example, with nothing left of earlier ones."""
    if 's3://' in command and \
            os.environ.get('FRAMEFS_REMOTE_BUILT') == 'false':
        return
    prepare()
    with S3('bucket') if 's3://' in command else contextlib.nullcontext():
        execute(command)
    clear()


def execute(command):
    path = os.path.abspath('bin') + ':' + os.environ['PATH']
    done = subprocess.run(['sh', '-c', command], capture_output=True,
                          check=False, text=True,
                          env=dict(harness.environment(), PATH=path))
    check(done.returncode == 0, '%s: status %d, says: %s' %
          (command, done.returncode, done.stderr))


def those_of_help():
    for verb in verbs():
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


main(those_of_help, those_of_the_manual_page)
