#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount append
"""Programs in two mounts of one directory write to one frame.  Each opens it,
writes one record, and closes it.

usage: mount_append.py FRAMEFS [TEST...]

A record counts as acknowledged if all of these calls succeeded.  Each
acknowledged record must be in the frame, and whatever is in the frame was
written by one of the programs.

FRAMEFS_APPEND_RECORDS is the number of records that each program has
acknowledged.
"""

import collections
import contextlib
import errno
import os
import random
import struct
import sys
import time
import traceback
import zlib

from mounted import (Mount, PATIENCE, b2frame, check, check_sound, layouts,
                     main, read, write)

NPROGRAMS = 3  # in each mount
NRECORDS = int(os.environ.get('FRAMEFS_APPEND_RECORDS', '25'))
PART = 64
BODY = struct.Struct('<QQQQ24s')
# The kernel gives EIO to one of the programs whose pages were refused.
AGAIN = (errno.ESTALE, errno.EBUSY, errno.EIO)


def part(program, number, part_no, nparts):
    """Return a part of a record, which has a sum and no zero at its end."""
    body = BODY.pack(program, number, part_no, nparts, b'%024d' % number)
    return body + struct.pack('<II', zlib.crc32(body), 0xffffffff)


def record(program, number, nparts=1):
    return b''.join(part(program, number, part_no, nparts)
                    for part_no in range(nparts))


def parse(data):
    """Return the program, the number, the part and how many there are."""
    found = BODY.unpack(data[:BODY.size])[:4]
    return found if data == part(*found) else None


def put(fd, data, off, sync):
    """Write to a file, and close it."""
    try:
        if off is None:
            written = os.write(fd, data)
        else:
            written = os.pwrite(fd, data, off)
        check(written == len(data), 'wrote %d bytes' % written)
        if sync:
            os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(fd)
        raise
    os.close(fd)


def is_put(counts, path, flags, *args):
    """Is a record acknowledged?  Programs are told to try again if another
    mount changes the frame."""
    call = 'open'
    try:
        fd = os.open(path, flags)
        call = 'write'
        put(fd, *args)
        return True
    except OSError as error:
        if error.errno not in AGAIN:
            raise
        counts['%s-%s' % (call, errno.errorcode[error.errno])] += 1
        return False


class Program:
    """A child process that writes records, and the numbers of those that were
    acknowledged."""

    def __init__(self, number, work):
        self.number = number
        self.acknowledged = []
        self.counts = collections.Counter()
        self.results, end = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            status = 1
            try:
                os.close(self.results)
                with open(end, 'w', encoding='ascii') as results:
                    for result in work(number, self.counts):
                        results.write('%d\n' % result)
                        results.flush()
                    for item in self.counts.items():
                        results.write('%s %d\n' % item)
                status = 0
            except BaseException:
                traceback.print_exc(file=sys.stdout)
                sys.stdout.flush()
            finally:
                os._exit(status)
        os.close(end)

    def finish(self):
        """Wait until it ends, and note what it has done."""
        with open(self.results, encoding='ascii') as results:
            for line in results:
                what, *count = line.split()
                if count:
                    self.counts[what] += int(count[0])
                else:
                    self.acknowledged.append(int(what))
        self.child, status = 0, os.waitpid(self.child, 0)[1]
        check(status == 0, 'program %d failed' % self.number)

    def kill(self):
        if self.child:
            os.kill(self.child, 9)
            os.waitpid(self.child, 0)


def run(*works):
    """Run programs beside each other until all have ended."""
    programs = []
    try:
        for number, work in enumerate(works):
            programs.append(Program(number + 1, work))
        for program in programs:
            program.finish()
    finally:
        for program in programs:
            program.kill()
    if os.environ.get('FRAMEFS_APPEND_RECORDS'):
        print(sum((program.counts for program in programs),
                  collections.Counter()))
    return programs


@contextlib.contextmanager
def two_mounts(layout, data=b''):
    """Mount a directory with one frame twice."""
    os.mkdir('second')
    write('in', data)
    b2frame('create', '--layout', layout, '--chunksize', '64K', 'in',
            'src/a.b2frame')
    with Mount('src', 'mnt') as one, Mount('src', 'second') as two:
        yield one, two


def find_records(data, where):
    """Return how often the file has each record.  It has nothing else."""
    found = collections.Counter()
    expected = None
    for off in range(0, len(data), PART):
        what = parse(data[off:off + PART])
        check(what and (what == expected or not expected and what[2] == 0),
              '%s: at %d of %d: %s' %
              (where, off, len(data), what or data[off:off + PART]))
        program, number, part_no, nparts = what
        expected = None
        if part_no + 1 < nparts:
            expected = program, number, part_no + 1, nparts
        else:
            found[program, number] += 1
    check(not expected, where + ': the last record is not whole')
    return found


def check_appended(data, programs, where):
    """The file has each acknowledged record once, and nothing else but whole
    records."""
    found = find_records(data, where)
    lost = [(program.number, number) for program in programs
            for number in program.acknowledged
            if not found[program.number, number]]
    check(not lost, '%s: lost %d records of %d: %s' %
          (where, len(lost), sum(len(program.acknowledged)
                                 for program in programs), lost[:10]))
    twice = [what for what, count in found.items() if count > 1]
    check(not twice, '%s: more than once: %s' % (where, twice[:10]))


def check_slots(data, programs, where):
    """Each slot has the last record that was acknowledged, or a later one."""
    for program in programs:
        off = (program.number - 1) * PART
        what = parse(data[off:off + PART])
        check(what and what[0] == program.number and
              what[1] >= program.acknowledged[-1],
              '%s: slot of program %d has %s, not %d' %
              (where, program.number, what, program.acknowledged[-1]))


def check_everywhere(checks, mounts, programs):
    """Check the file through both mounts, and then the stored frame."""
    for mount in mounts:
        checks(read(mount / 'a'), programs, mount.path)


def check_stored(checks, programs):
    check_sound('src/a.b2frame')
    checks(b2frame('cat', 'src/a.b2frame'), programs, 'stored')


def put_all(counts, put_next):
    """Call a function with numbers until enough records are acknowledged, and
    yield the numbers of these."""
    end = time.monotonic() + PATIENCE + NRECORDS
    number = done = 0
    while done < NRECORDS:
        check(time.monotonic() < end, 'only %d records: %s' % (done, counts))
        number += 1
        if put_next(number):
            done += 1
            yield number


def appender(path, nparts, sync):
    """Return a program that appends records of one to `nparts` parts."""
    def work(program, counts):
        choice = random.Random(program)
        return put_all(counts, lambda number: is_put(
            counts, path, os.O_WRONLY | os.O_APPEND,
            record(program, number, choice.randint(1, nparts)), None, sync))
    return work


def slot_writer(path, sync):
    """Return a program that overwrites its slot of a page."""
    def work(program, counts):
        return put_all(counts, lambda number: is_put(
            counts, path, os.O_RDWR, record(program, number),
            (program - 1) * PART, sync))
    return work


def append(layout, nparts, sync):
    with two_mounts(layout) as mounts:
        programs = run(*(appender(mount / 'a', nparts, sync)
                         for mount in mounts for _ in range(NPROGRAMS)))
        check_everywhere(check_appended, mounts, programs)
    check_stored(check_appended, programs)


@layouts
def appended_records_are_all_there(layout):
    append(layout, 1, False)


@layouts
def synced_records_are_all_there(layout):
    append(layout, 1, True)


@layouts
def records_of_several_pages_are_all_there(layout):
    append(layout, 200, True)


@layouts
def slots_of_a_page_keep_what_was_written_last(layout):
    with two_mounts(layout, bytes(8192)) as mounts:
        programs = run(*(slot_writer(mount / 'a', sync) for mount in mounts
                         for sync in (False, False, True)))
        check_everywhere(check_slots, mounts, programs)
    check_stored(check_slots, programs)


main(appended_records_are_all_there, synced_records_are_all_there,
     records_of_several_pages_are_all_there,
     slots_of_a_page_keep_what_was_written_last)
