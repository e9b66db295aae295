#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame create_killed; timeout 120; args b2frame kill_at
"""create --force that is killed between any two system calls leaves the old
frame or the new one.

The next one removes the rest of a sparse frame, and what has made room for it.

usage: create_killed.py B2FRAME KILL_AT [TEST...]

  KILL_AT  a library that kills the program which it is loaded into before its
           N-th call that changes files
"""

import os
import signal
import subprocess
import sys

KILL_AT = os.path.abspath(sys.argv.pop(2))

# pylint: disable=wrong-import-position
import harness
from scene import (LAYOUTS, TOOL, b2frame, check, check_names, main, noise,
                   remove)

OLD, NEW = noise(5000), noise(7000, seed=1)
CALLS_MAX = 100


def create(layout, name, content, at=0):
    """Make a frame, in a process that is killed before a call.  Return whether
    it survived."""
    words = [TOOL, 'create', '--force', '--layout', layout, '--chunksize', '4K',
             '-', name]
    done = subprocess.run(words, input=content, check=False,
                          stderr=subprocess.PIPE,
                          env=dict(harness.environment(), LD_PRELOAD=KILL_AT,
                                   KILL_AT=str(at)))
    check(done.returncode in (0, -signal.SIGKILL), done.stderr.decode())
    return done.returncode == 0


def replace(old_layout, layout):
    for at in range(1, CALLS_MAX):
        os.mkdir('d')
        check(create(old_layout, 'd/frame', OLD), 'no old frame')
        survived = create(layout, 'd/frame', NEW, at)
        content = b2frame('cat', 'd/frame')
        check(content == NEW or (content == OLD and not survived),
              'call %d: other content' % at)
        check(create('contiguous', 'd/other', OLD), 'no other frame')
        if layout == 'sparse':
            check_names('frame', 'other', directory='d')
        remove('d')
        if survived:
            return
    check(False, 'more calls than expected')


def whole_frames_are_left():
    if harness.SANITIZED:
        raise harness.Skipped('sanitizers must be loaded before other libraries')
    for old_layout in LAYOUTS:
        for layout in LAYOUTS:
            replace(old_layout, layout)


main(whole_frames_are_left)
