# SPDX-License-Identifier: BSD-3-Clause
"""What all test scripts share: checks, running a program, and running the cases
of a script.  scene.py adds to this what tests of b2frame need, and
../mount/mounted.py what tests of a mount need."""

import concurrent.futures
import contextlib
import functools
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback

SKIP = 77  # exit status of a test that cannot run here
CRASH = 99  # exit status of a sanitizer that found an error
LAYOUTS = ('contiguous', 'sparse')

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# Sanitizers slow the program under test down, and make it use more memory.
SANITIZED = os.environ.get('FRAMEFS_SANITIZE', 'none') != 'none'


class Failure(Exception):
    """The error that a test found, in a phrase."""


class Skipped(Exception):
    """A case that cannot run here, and the reason."""


def check(holds, what):
    if not holds:
        raise Failure(what)


def read(path, *where):
    """Return all bytes of a file, or those at an offset and length."""
    with open(path, 'rb') as file:
        if not where:
            return file.read()
        return os.pread(file.fileno(), where[1], where[0])


def age(path):
    """Let a file, and those in a directory, be older than this second."""
    then = time.time() - 60
    for name in [path] + ([os.path.join(path, name) for name in
                           os.listdir(path)] if os.path.isdir(path) else []):
        os.utime(name, (then, then))


def write(path, data):
    """Create a file, or overwrite it.  Return its path."""
    with open(path, 'wb') as file:
        file.write(data)
    return path


def limit_memory():
    """Limit a program's memory, so that a runaway cannot exhaust the
    machine."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def peak_memory():
    """Return the most bytes that any program run so far has used at a time."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def environment():
    """Return the environment in which tests run programs."""
    return dict(os.environ, LC_ALL='C.UTF-8',
                ASAN_OPTIONS='exitcode=%d:allocator_may_return_null=1:'
                             'quarantine_size_mb=8' % CRASH,
                UBSAN_OPTIONS='halt_on_error=1:print_stacktrace=1:'
                              'exitcode=%d' % CRASH,
                TSAN_OPTIONS='exitcode=%d' % CRASH)


def run(*words, timeout=60):
    """Run a program to its end.  It must not crash."""
    if SANITIZED:
        timeout *= 6
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(), timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Failure('%s: no end in %d s' % (words[1], timeout)) from None
    check(done.returncode in (0, 1, 2),
          '%s: status %d: %s' % (words[1], done.returncode,
                                 done.stderr.decode(errors='replace')))
    return done


def run_all(test, items):
    """Test each item, two at a time.  Exits 1 if any fails."""
    failures = 0

    def guarded(item):
        try:
            return test(item)
        except Failure as failure:
            return '%s: %s' % (item.id, failure)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for text in pool.map(guarded, items):
            if text:
                print(text)
                failures += 1
    print('%d of %d failed, peak memory %d MiB' %
          (failures, len(items), peak_memory() >> 20))
    sys.exit(failures > 0)


def takes_less(seconds, call, *args):
    """Call a function, which takes less time than that at least once in three
    tries: a busy machine may be slower at any moment."""
    for _ in range(3):
        start = time.monotonic()
        call(*args)
        if time.monotonic() - start < seconds:
            return
    raise Failure('takes %.1f s or longer' % seconds)


@contextlib.contextmanager
def inside(path):
    """Work in a directory, for a `with` statement."""
    old = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(old)


@contextlib.contextmanager
def workplace():
    """Work in a temporary directory, for a `with` statement, which gives its
    path."""
    with tempfile.TemporaryDirectory(prefix='framefs-test-') as top:
        with inside(top):
            yield top


@functools.cache
def can_mount():
    """Can we mount file systems that need no device?  Root of a user namespace
    can, too, if it has a mount namespace."""
    with tempfile.TemporaryDirectory(prefix='framefs-test-') as path:
        done = subprocess.run(['mount', '-t', 'tmpfs', 'none', path],
                              check=False, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            subprocess.run(['umount', path], check=True)
    return done.returncode == 0


def need_remote():
    """Exit as skipped if this build cannot read frames by URL."""
    if os.environ.get('FRAMEFS_REMOTE_BUILT') == 'false':
        print('built without libcurl')
        sys.exit(SKIP)


def need_mounts():
    """Skip the test where no tmpfs can be mounted."""
    if not can_mount():
        raise Skipped('only root can mount a tmpfs')


@contextlib.contextmanager
def tmpfs(path, size='50%'):
    """Mount a file system in memory on a directory, which is made if there is
    none, for a `with` statement.  Skip the test where none can be mounted."""
    need_mounts()
    os.makedirs(path, exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%s' % size, 'none',
                    path], check=True)
    try:
        yield path
    finally:
        subprocess.run(['umount', path], check=True)


def layouts(test):
    """Run a case on each layout, in a directory of its own."""
    @functools.wraps(test)
    def both():
        for layout in LAYOUTS:
            os.mkdir(layout)
            with inside(layout):
                test(layout)
    return both


def passes(case, place):
    """Run a case in a directory of its own.  Return whether it passes."""
    try:
        with place():
            case()
        return True
    except Failure as failure:
        print('%s: %s' % (case.__name__, failure))
    except (OSError, subprocess.SubprocessError):
        print('%s:' % case.__name__)
        traceback.print_exc(file=sys.stdout)
    return False


def main(*cases, place=workplace):
    """Run all cases, or those that the command line names after the program,
    each in a directory of its own.  Exit as skipped if all of them are."""
    by_name = {case.__name__: case for case in cases}
    unknown = set(sys.argv[2:]) - set(by_name)
    if unknown:
        sys.exit('no such case: ' + ', '.join(unknown))
    chosen = [by_name[name] for name in sys.argv[2:]] or cases
    failures = skips = 0
    for case in chosen:
        try:
            failures += not passes(case, place)
        except Skipped as reason:
            print('%s: skipped: %s' % (case.__name__, reason))
            skips += 1
    print('%d of %d failed' % (failures, len(chosen)))
    if skips == len(chosen):
        sys.exit(SKIP)
    sys.exit(failures > 0)
