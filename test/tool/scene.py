# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the tests of b2frame: running it, and checks of frames."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys

import harness
import oracle
from harness import LAYOUTS, check, layouts, main, read, tmpfs, write

TOOL = os.path.abspath(sys.argv[1])
TIMEOUT = 60 if not harness.SANITIZED else 360
TEMPORARY = '.framefs-tmp.'

# Under nohup the signal is ignored, and the tool would rightly ignore it, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def noise(size, seed=0):
    """Return bytes that do not compress."""
    return random.Random(seed).randbytes(size)


def numbers(size):
    """Return bytes that compress best as elements of four bytes."""
    words = b''.join(n.to_bytes(4, 'little') for n in range(size // 4 + 1))
    return words[:size]


def b2frame(*words, stdin=b'', status=0):
    """Run the tool.  Return its standard output.  Its standard error must agree
    with the status: empty, one line, or the usage."""
    done = subprocess.run([TOOL, *words], input=stdin, env=harness.environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TIMEOUT, check=False)
    said = done.stderr.decode(errors='replace')
    what = '%s: status %d, says: %s' % (' '.join(words), done.returncode, said)
    check(done.returncode == status, what)
    check('b2frame: ' in said if status else not said, what)
    check(status == 0 or not done.stdout, what)
    check(status != 1 or said.count('\n') == 1, what)
    check(status != 2 or '\nusage: b2frame ' + words[0] in said, what)
    return said if status else done.stdout


def work(*words, status=0):
    """Run the tool on many files.  Return its output and messages, which may be
    there whatever the status is."""
    done = subprocess.run([TOOL, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT, check=False,
                          env=harness.environment())
    said = done.stderr.decode(errors='replace')
    check(done.returncode == status, '%s: status %d: %s%s' %
          (words, done.returncode, done.stdout, said))
    return done.stdout.decode(errors='replace'), said


def fails(reason, *words, **how):
    """Run the tool, which must fail with one line that has the reason.  Return
    that line."""
    said = b2frame(*words, status=1, **how)
    check(reason in said, '%s: says: %s' % (' '.join(words), said))
    return said


def verbs():
    """Return the verbs that --help lists."""
    listed = b2frame('--help').decode().split('Verbs:\n')[1].split('\n\n')[0]
    return [line.split()[0] for line in listed.splitlines()]


def misuse(*words):
    """Run the tool, which must print its usage."""
    b2frame(*words, status=2)


def info(path, *options):
    return json.loads(b2frame('info', '--json', *options, path))


def check_frame(path, content):
    """The frame is valid, and holds this content."""
    b2frame('verify', path)
    check(b2frame('cat', path) == content, path + ': other content')
    if oracle.is_here():
        complaints = oracle.complaints({os.path.abspath(path): content})
        check(not complaints, 'the oracle: %s' % complaints)


def line_in_list_of_processes(url, held):
    """Read a frame, and return how the process is listed meanwhile, while the
    server holds its requests by a web.Held."""
    with subprocess.Popen([TOOL, 'info', url], stdout=subprocess.DEVNULL,
                          env=harness.environment()) as tool:
        held.seen.wait()
        line = read('/proc/%d/cmdline' % tool.pid)
        held.go.set()
    check(tool.returncode == 0, 'status %d' % tool.returncode)
    return line


def copy(source, path):
    if os.path.isdir(source):
        shutil.copytree(source, path)
    else:
        shutil.copyfile(source, path)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def frame(path, content, *options):
    """Make a frame."""
    b2frame('create', *options, '-', path, stdin=content)
    return path


def check_names(*names, directory='.'):
    """These names are in a directory, and no other ones."""
    found = sorted(os.listdir(directory))
    check(found == sorted(names), 'there are ' + ' '.join(found))


def small_disk(size):
    """Mount a file system that has room for this many bytes."""
    return tmpfs('disk', size)


def has_begun(tool):
    """Has a process opened a file without a name in this directory, or is there
    a file with a temporary name?"""
    here = os.path.join(os.path.realpath('.'), '#')
    with contextlib.suppress(OSError):  # a file closed meanwhile
        for fd in os.scandir('/proc/%d/fd' % tool.pid):
            if os.readlink(fd.path).startswith(here):
                return True
    return any(name.startswith(TEMPORARY) for name in os.listdir('.'))


def interrupt(number, *words, first=b'', begun=has_begun):
    """Send a signal when the tool has read `first` from a pipe and has begun to
    write.  That signal must end the tool."""
    with subprocess.Popen([TOOL, *words], stdin=subprocess.PIPE, bufsize=0,
                          stderr=subprocess.PIPE,
                          env=harness.environment()) as tool:
        tool.stdin.write(first)
        while not begun(tool):
            check(tool.poll() is None, 'has ended before it was interrupted')
        tool.send_signal(number)
        said = tool.stderr.read()
        status = tool.wait(timeout=TIMEOUT)
    check(status == -number, 'status %d after signal %d' % (status, number))
    check(not said, 'says ' + said.decode(errors='replace'))


