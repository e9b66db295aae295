#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount examples
"""The examples of README.md and framefs.1 work as they stand.

The examples of b2frame.1 and of --help are run by test/tool/examples.py.
Examples that build, install or test framefs are left out.

usage: mount_examples.py FRAMEFS [TEST...]
"""

import os
import re
import shutil
import struct
import subprocess
import sys

from mounted import (B2FRAME, FRAMEFS, PATIENCE, check, harness, is_mounted,
                     main, sh, write)

TOOLS = os.path.dirname(FRAMEFS)
LIBRARY = os.path.join(os.path.dirname(TOOLS), 'src', 'lib')
VALUES = struct.pack('<100000d', *range(100000))


def text_of(*path):
    with open(os.path.join(harness.SOURCE, *path), encoding='utf-8') as text:
        return text.read()


def blocks(text):
    """Return the indented pieces of a Markdown text, in order."""
    found = re.findall(r'(?:^(?:    .*|)\n)+', text, re.MULTILINE)
    pieces = [re.sub(r'^    ', '', piece, flags=re.M).strip('\n')
              for piece in found]
    return [piece + '\n' for piece in pieces if piece]


def python_with_numpy():
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and subprocess.run(
                [python, '-c', 'import numpy'], check=False,
                stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def prepare():
    """Make everything that the examples name."""
    os.makedirs('bin')
    os.symlink(FRAMEFS, 'bin/framefs')
    os.symlink(B2FRAME, 'bin/b2frame')
    if python_with_numpy():
        os.symlink(python_with_numpy(), 'bin/python3')
    for name in ('runs', 'data', 'arrays'):
        os.mkdir(name)
    for name in ('run8.f64', 'model.out'):
        write(name, VALUES)
    sh('%s create run8.f64 run7.b2frame' % B2FRAME)
    shutil.copy('run7.b2frame', 'runs/run7.f64.b2frame')
    shutil.copy('run7.b2frame', 'data/run7.f64.b2frame')
    for name in ('archive.bin', 'container.bin'):
        sh('(head -c 4096 /dev/zero; cat run7.b2frame) >' + name)
    sh('head -c 20000 run7.b2frame >broken.b2frame')


def can_run(command):
    """Does this machine have NumPy and the other programs that a line needs?"""
    if 'numpy' in command:
        return python_with_numpy() is not None
    return shutil.which(command.split()[0]) or command.split()[0] in (
        'framefs', 'b2frame')


def run(script):
    """Run some lines in a shell, as a user would type them."""
    path = os.path.abspath('bin') + ':' + os.environ['PATH']
    done = subprocess.run(['sh', '-ec', script], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE,
                          env=dict(harness.environment(), PATH=path))
    for place in ('mnt', 'run7.raw'):
        if os.path.exists(place) and is_mounted(place):
            sh('fusermount3 -uz ' + place)
    check(done.returncode == 0, '%s: status %d: %s' %
          (script, done.returncode, done.stdout))
    return done.stdout


def run_session(lines):
    """Run the lines that follow a prompt."""
    commands = [line[2:] for line in lines if line.startswith('$ ')]
    check(commands, 'no example')
    return run('\n'.join(filter(can_run, commands)))


def the_session_of_the_readme():
    prepare()
    first = next(block for block in blocks(text_of('README.md'))
                 if block.startswith('$ '))
    said = run_session(first.splitlines())
    check('run7.f64' in said, said)
    check(os.path.exists('runs/model.out.b2frame'), 'nothing was written')


def the_mount_options_of_the_readme():
    prepare()
    examples = re.findall(r'^\| `.*\| `(framefs -o .*?)` \|',
                          text_of('README.md'), re.MULTILINE)
    check(len(examples) > 10, 'too few: %s' % examples)
    for command in examples:
        run(command + '\nls mnt\nfusermount3 -u mnt')


def the_verbs_of_the_readme():
    prepare()
    verbs = next(block for block in blocks(text_of('README.md'))
                 if block.startswith('b2frame '))
    os.unlink('run7.b2frame')
    run('b2frame create run8.f64 run7.b2frame')
    for command in verbs.splitlines():
        if 'repair' not in command:
            run(command.replace('*.b2frame', 'run*.b2frame'))


def broken_frames_are_repaired_as_the_readme_says():
    prepare()
    command, = re.findall(r'^    (b2frame repair .*)', text_of('README.md'),
                          re.MULTILINE)
    run(command + ' || test $? = 1\nb2frame verify saved.b2frame')


def the_python_of_the_readme():
    prepare()
    if harness.SANITIZED:
        return
    script = next(block for block in blocks(text_of('README.md'))
                  if block.startswith('import ctypes'))
    done = subprocess.run([sys.executable, '-c', script], check=False,
                          capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(harness.environment(),
                                   LD_LIBRARY_PATH=LIBRARY))
    check(done.stdout == '800000 10.0 11.0 12.0\n',
          done.stdout + done.stderr)


def the_sessions_of_the_manual_page():
    prepare()
    text = text_of('tools', 'framefs.1').split('.Sh EXAMPLES')[1]
    sessions = re.findall(r'^\.Bd -literal.*?\n(\$ .*?)^\.Ed',
                          text.split('.Sh ')[0], re.MULTILINE | re.DOTALL)
    check(len(sessions) == 3, 'there are %d' % len(sessions))
    for session in sessions:
        run_session(session.splitlines())


main(the_session_of_the_readme,
     the_mount_options_of_the_readme,
     the_verbs_of_the_readme,
     broken_frames_are_repaired_as_the_readme_says,
     the_python_of_the_readme,
     the_sessions_of_the_manual_page)
