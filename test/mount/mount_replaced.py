#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount replaced
"""A file is replaced or made shorter by another mount of the same directory, or
directly in the directory, while programs in a mount have it open.

usage: mount_replaced.py FRAMEFS [TEST...]

Each version of the content has a size of its own, and every 8 bytes of it hold
the version and their position, so that a reader knows which versions its bytes
are of.

FRAMEFS_REPLACED_SECONDS (0.5) is how long programs replace and read a file in
each of the cases with both at a time, and FRAMEFS_REPLACED_STEPS (5) the number
of changes in the others.  FRAMEFS_REPLACED_SEED (a new one) sets the sizes.
"""

import array
import collections
import contextlib
import errno
import functools
import mmap
import os
import random
import signal
import struct
import time
import traceback

from mounted import (Mount, b2frame, check, frame, harness, main, read, start,
                     wait_for, write)

SECONDS = float(os.environ.get('FRAMEFS_REPLACED_SECONDS', '0.5'))
STEPS = int(os.environ.get('FRAMEFS_REPLACED_STEPS', '5'))
SEED = int(os.environ.get('FRAMEFS_REPLACED_SEED', random.randrange(10**6)))
KINDS = ('contiguous', 'sparse', 'plain')
SIZE_MAX = 400000
CHUNKSIZE = 65536
OPTIONS = '-o', 'chunksize=64K,plain=txt'


def words(version, n):
    """Return so many words of a version."""
    first = version << 32
    return array.array('Q', range(first, first + n)).tobytes()


@functools.lru_cache(64)
def content(version):
    """Return the content of a version."""
    return words(version,
                 random.Random(SEED + version).randrange(1, SIZE_MAX // 8))


def versions_in(data):
    """Return which versions bytes are of, with their positions."""
    found = collections.OrderedDict()
    for i, word in enumerate(array.array('Q', data[:len(data) // 8 * 8])):
        found.setdefault(word >> 32, 8 * i)
    return '%d bytes, versions from offsets on: %s' % (len(data), dict(found))


def version_of(data):
    """Return the version that bytes are the whole of; they must be."""
    version = struct.unpack('<Q', data[:8])[0] >> 32 if len(data) >= 8 else 0
    check(version > 0 and data == content(version),
          'mixed or cut: %s; version %d has %d' %
          (versions_in(data), version, len(content(version))))
    return version


class File:
    """A file of some kind, and how the second mount, or a program in SOURCE,
    changes it."""

    def __init__(self, kind, direct):
        self.kind = kind
        self.direct = direct
        self.shown = 'a.txt' if kind == 'plain' else 'a'
        self.stored = 'src/' + self.shown + \
            ('' if kind == 'plain' else '.b2frame')
        self.seen = os.path.join('mnt', self.shown)
        self.top = 'src' if direct else 'second'
        self.target = self.stored if direct \
            else os.path.join('second', self.shown)

    def stored_bytes(self, data):
        """Return what a file under SOURCE holds that shows such data."""
        return data if self.kind == 'plain' else frame(data, CHUNKSIZE)

    def write(self, path, data):
        write(path, self.stored_bytes(data) if self.direct else data)

    def rename_over(self, data):
        new = os.path.join(self.top, 'new' +
                           os.path.splitext(self.target)[1])
        self.write(new, data)
        os.rename(new, self.target)

    def rewrite(self, data):
        self.write(self.target, data)

    def cut(self, size):
        if self.direct and self.kind != 'plain':
            b2frame('truncate', '--size', str(size), self.stored)
        else:
            os.truncate(self.target, size)


@contextlib.contextmanager
def mounted(kind, options='rw'):
    """Mount `src` twice, with more options."""
    layout = 'sparse' if kind == 'sparse' else 'contiguous'
    os.makedirs('src', exist_ok=True)
    os.makedirs('second', exist_ok=True)
    how = *OPTIONS, '-o', 'layout=%s,%s' % (layout, options)
    with Mount('src', 'mnt', *how) as mount, Mount('src', 'second', *how):
        yield mount


def kinds(*whose, **how):
    """Run a case for each kind of files, and for changes by the second mount,
    by programs in SOURCE or both.  These cannot rename sparse frames over each
    other."""
    def of(test):
        @functools.wraps(test)
        def all_kinds():
            failures = []
            for kind in KINDS:
                for direct in whose:
                    place = '%s-%s' % (kind, 'direct' if direct else 'mount')
                    os.mkdir(place)
                    with harness.inside(place):
                        os.mkdir('mnt')
                        try:
                            with mounted(kind, **how):
                                test(File(kind, direct))
                        except (harness.Failure, OSError) as failure:
                            failures.append('%s: %s' % (place, failure))
            check(not failures, 'seed %d: ' % SEED + '\n'.join(failures))
        return all_kinds
    return of


def read_at(fd, off):
    """Read some bytes; None if the file is stale."""
    try:
        return os.pread(fd, 70000, off)
    except OSError as error:
        check(error.errno == errno.ESTALE, 'error %d' % error.errno)
        return None


def read_held(fd, old, new):
    """Read from a descriptor that was opened before a change.  Each read gives
    bytes of one version, or ESTALE.  It is shorter if the next bytes are
    stale."""
    for off in range(0, len(old) + 1, 60000):
        data = read_at(fd, off)
        if data is None or data in (old[off:off + 70000], new[off:off + 70000]):
            continue
        whole = next((whole for whole in (old, new)
                      if whole[off:off + len(data)] == data), None)
        check(whole and read_at(fd, off + len(data)) is None,
              'descriptor of before, offset %d: %s' % (off, versions_in(data)))


def check_map(mapped, old, new):
    """Likewise with mapped pages; reading them may end a process."""
    def compare():
        for off in range(0, len(old), 4096):
            page = mapped[off:off + 4096]
            check(page in (old[off:off + 4096], new[off:off + len(page)]),
                  'page at %d: %s' % (off, versions_in(page)))

    status = os.waitstatus_to_exitcode(os.waitpid(start(compare), 0)[1])
    check(status in (0, -signal.SIGBUS), 'mapped page: status %d' % status)


def check_new(path, data, what):
    """A program that opens a file gets this content, whole, and the size."""
    with open(path, 'rb', buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        got = file.readall()
    check(got == data, '%s: is %s instead of %s' %
          (what, versions_in(got), versions_in(data)))
    check(size == len(data), '%s: size %d' % (what, size))


def change_step(file, choice, version, old):
    """Change a file.  Return what it was, and the new content."""
    how = ['rewrite', 'rename_over']
    if file.kind == 'sparse' and file.direct:
        how = ['cut']
    how = choice.choice(how + ['cut'] * (len(old) > 64))
    if how == 'cut':
        size = choice.randrange(1, len(old) // 8) * 8
        file.cut(size)
        return how, old[:size]
    getattr(file, how)(content(version))
    return how, content(version)


@kinds(False, True)
def held_file_is_shown_anew_at_once(file):
    """A descriptor and mapped pages from before are no reason to show older
    bytes or another size to a program that opens the file anew."""
    choice = random.Random(SEED)
    if file.kind == 'sparse':
        write('second/a', content(1))
    else:
        file.rewrite(content(1))
    old = content(1)
    for version in range(2, 2 + STEPS):
        with open(file.seen, 'rb', buffering=0) as held, \
                open(file.seen, 'rb', buffering=0) as unread:
            check(held.readall() == old, 'content')
            mapped = mmap.mmap(unread.fileno(), 0, prot=mmap.PROT_READ)
            mapped[:choice.randrange(len(old))]
            how, new = change_step(file, choice, version, old)
            for i in range(2):
                check_new(file.seen, new, '%s, open %d' % (how, i))
                read_held(held.fileno(), old, new)
                check_map(mapped, old, new)
                read_held(unread.fileno(), old, new)
            mapped.close()
        check_new(file.seen, new, how + ', nothing held')
        if len(new) < 64:
            file.rewrite(content(version)) if file.kind != 'sparse' else \
                write('second/a', content(version))
            new = content(version)
            wait_for(lambda data=new: read(file.seen) == data, 'more content')
        old = new


@kinds(False, True, options='attr_timeout=0')
def program_that_is_reading_gets_the_old_file_to_its_end(file):
    """Even if it asks for attributes meanwhile."""
    if file.kind == 'sparse' and file.direct:
        return
    old = words(1, SIZE_MAX // 8)
    file.rewrite(old)
    with open(file.seen, 'rb', buffering=0) as held:
        os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        data = b''.join(held.read(len(old) // 16) for _ in range(4))
        file.rename_over(words(2, SIZE_MAX // 4))
        with contextlib.suppress(OSError):  # ESTALE
            for _ in range(12):
                os.fstat(held.fileno())
                data += held.read(len(old) // 16)
        check(data == old[:len(data)], 'is mixed: ' + versions_in(data))
        check(file.kind == 'sparse' or len(data) > len(old) - 16, 'is cut')


def ask(path, counts):
    """Ask for the attributes of a file until the end."""
    fd = os.open(path, os.O_PATH)
    counts[FIRST] = 1
    while not counts[STOP]:
        os.fstat(fd)
        time.sleep(0.001)


def replace_at(file, data, counts):
    """Replace a file when the time has come."""
    while not counts[NEWEST] and not counts[STOP]:
        time.sleep(0.001)
    file.rename_over(data)


def read_until(end, fd, size):
    """Read a file again and again, whole, by single calls.  Check that each
    gives bytes of one version; it is shorter if the next bytes are stale."""
    buffer = mmap.mmap(-1, size)
    while time.monotonic() < end:
        try:
            n = os.preadv(fd, [buffer], 0)
        except OSError as error:
            check(error.errno == errno.ESTALE, 'read: %s' % error)
            return
        ends = buffer[:8] + buffer[n - 8:n]
        first, last = (word >> 32 for word in struct.unpack('<2Q', ends))
        check(first == last, 'mixed: ' + versions_in(buffer[:n]))


def read_last(fd, off):
    """Read the last page, and let the daemon see that."""
    os.posix_fadvise(fd, off, 0, os.POSIX_FADV_DONTNEED)
    os.pread(fd, 1, off)


@kinds(False, True, options='attr_timeout=0')
def program_that_reads_from_the_cache_gets_one_version(file):
    """Even if it has asked for no page for so long that it might wait for more,
    and another program asks for attributes."""
    if file.kind == 'plain' or (file.kind == 'sparse' and file.direct):
        return
    old = words(1, (4 << 20) // 8)
    new = words(2, len(old) // 8 + 1)
    file.rewrite(old)
    counts = Counts()
    with open(file.seen, 'rb', buffering=0) as held:
        children = [start(lambda: ask(file.seen, counts)),
                    start(lambda: replace_at(file, new, counts))]
        try:
            check(held.readall() == old, 'content')
            # The kernel may have asked for it before others.
            last = len(old) - mmap.PAGESIZE
            read_last(held.fileno(), last)
            # Longer than it takes until a program counts as one that waits.
            read_until(time.monotonic() + 1.1, held.fileno(), len(old))
            wait_for(lambda: counts[FIRST], 'the program that asks')
            counts[NEWEST] = 2
            read_until(time.monotonic() + 1, held.fileno(), len(old))
            if file.kind == 'contiguous':
                # The kernel may have dropped other pages while they were read.
                read_last(held.fileno(), last)
                wait_for(lambda: os.fstat(held.fileno()).st_size == len(new),
                         'the new frame')
                check(os.pread(held.fileno(), len(new), 0) == new,
                      'content of the new frame')
        finally:
            counts[STOP] = 1
            statuses = [os.waitpid(child, 0)[1] for child in children]
    check(statuses == [0, 0], 'cannot ask or replace')


def frame_that_a_commit_has_put_into_another_file_is_followed():
    """Several programs have it open, and others open it anew."""
    content = random.Random(SEED).randbytes(SIZE_MAX)
    with mounted('contiguous'):
        write('second/a', content)
        with open('mnt/a', 'rb') as first, open('mnt/a', 'rb') as second:
            check(first.read() == second.read() == content, 'content')
            for number in range(3):
                was = os.stat('src/a.b2frame').st_ino
                with open('second/a', 'ab') as file:
                    file.write(b'more' * 1000)
                content += b'more' * 1000
                b2frame('compact', 'src/a.b2frame')
                check(os.stat('src/a.b2frame').st_ino != was,
                      'it is in the same file')
                check_new('mnt/a', content, 'after change %d' % number)
                for file in first, second:
                    wait_for(lambda fd=file.fileno(): os.fstat(fd).st_size ==
                             len(content), 'the new size')
                    check(os.pread(file.fileno(), 1 << 20, 0) == content,
                          'content of an older descriptor')


class Counts:
    """Numbers that processes share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    def __getitem__(self, i):
        return struct.unpack_from('<Q', self.memory, 8 * i)[0]

    def __setitem__(self, i, value):
        struct.pack_into('<Q', self.memory, 8 * i, value)


NEWEST, STOP, FIRST = 0, 1, 2  # the last version that is in place; the end


class Unopened(Exception):
    """A file was replaced again and again while it was being opened."""


def open_to_read(path):
    try:
        return open(path, 'rb', buffering=0)
    except OSError as error:
        check(error.errno == errno.ESTALE, 'open: %s' % error)
        raise Unopened from None


def read_by_opening(path, piece):
    """Open, read whole and close."""
    with open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        data = b''
        while True:
            more = os.read(file.fileno(), piece)
            if not more:
                break
            data += more
    version = version_of(data)
    check(size == len(data), 'size %d' % size)
    return version


def read_by_map(path):
    with open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapped:
            return version_of(mapped[:])


def read_long_held(path):
    """Hold a file open, and read it whole by a single call each time."""
    with open_to_read(path) as file:
        for _ in range(100):
            data = os.pread(file.fileno(), 1 << 20, 0)
            # A read is shorter if the next bytes give an error.
            more = os.pread(file.fileno(), 1 << 20, len(data))
            check(not more, 'more bytes: ' + versions_in(more))
            version = version_of(data)
    return version


READERS = (lambda path: read_by_opening(path, 1 << 20),
           lambda path: read_by_opening(path, 50000), read_by_map,
           read_long_held)


def run_reader(number, path, counts):
    """Read until the end, and count: tries, errors of open(), errors of
    reads."""
    me = FIRST + 4 * number
    while not counts[STOP]:
        before = counts[NEWEST]
        counts[me] += 1
        try:
            version = READERS[number](path)
        except Unopened:
            counts[me + 1] += 1
            continue
        except OSError as error:
            check(error.errno == errno.ESTALE, 'read: %s' % error)
            counts[me + 2] += 1
            continue
        check(version >= before, 'version %d is older than %d' %
              (version, before))


def start_reader(number, path, counts):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        if number == 2:
            # The process may end by SIGBUS, and another goes on.
            while not counts[STOP]:
                inner = os.fork()
                if inner == 0:
                    break
                status = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
                if status != -signal.SIGBUS:
                    os._exit(status)
                counts[FIRST + 4 * number + 2] += 1
            else:
                os._exit(0)
        run_reader(number, path, counts)
        status = 0
    except BaseException as error:
        print('reader %d: %s' % (number, error), flush=True)
        if not isinstance(error, harness.Failure):
            traceback.print_exc()
    finally:
        os._exit(status)


@kinds(False, True)
def readers_get_one_version_of_a_file_that_is_replaced(file):
    if file.kind == 'sparse' and file.direct:
        return
    counts = Counts()
    file.rewrite(content(1))
    check(read(file.seen) == content(1), 'content')
    counts[NEWEST] = 1
    readers = [start_reader(i, file.seen, counts) for i in range(len(READERS))]
    end = time.monotonic() + SECONDS
    try:
        version = 1
        while version < 4 or time.monotonic() < end:
            version += 1
            file.rename_over(content(version))
            counts[NEWEST] = version
    finally:
        counts[STOP] = 1
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                    for child in readers]
    print('%s: %d versions; tries, errors of open and read: %s' %
          (file.kind, version,
           [[counts[FIRST + 4 * i + j] for j in range(3)]
            for i in range(len(READERS))]))
    check(statuses == [0] * len(READERS), 'wrong bytes')


main(held_file_is_shown_anew_at_once,
     program_that_is_reading_gets_the_old_file_to_its_end,
     program_that_reads_from_the_cache_gets_one_version,
     frame_that_a_commit_has_put_into_another_file_is_followed,
     readers_get_one_version_of_a_file_that_is_replaced)
