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
import struct
import sys
import time
import traceback
import zlib

from mounted import (Mount, PATIENCE, b2frame, check, check_sound, layouts,
                     main, read, write)

NPROGRAMS = 3  # in each mount
NRECORDS = int(os.environ.get('FRAMEFS_APPEND_RECORDS', '40'))
RECORD = 64
BODY = struct.Struct('<QQQ32s')
AGAIN = (errno.ESTALE, errno.EBUSY, errno.EIO)
APPEND = os.O_WRONLY | os.O_APPEND


def record(program, number, slot=0):
    """Return a record, which has a sum and no zero at its end."""
    body = BODY.pack(program, number, slot, b'%032d' % number)
    return body + struct.pack('<II', zlib.crc32(body), 0xffffffff)


def parse(data):
    """Return the program, number and slot of a record."""
    program, number, slot, _ = BODY.unpack(data[:BODY.size])
    return (program, number, slot) \
        if data == record(program, number, slot) else None


def put(path, flags, data, off, sync):
    """Open a file, write to it, and close it."""
    fd = os.open(path, flags)
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


def is_put(counts, *args):
    """Is a record acknowledged?  Programs are told to try again if another
    mount changes the frame."""
    try:
        put(*args)
        return True
    except OSError as error:
        if error.errno not in AGAIN:
            raise
        counts[errno.errorcode[error.errno]] += 1
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


def check_appended(data, programs, where):
    """The file has each acknowledged record once, and nothing else but whole
    records."""
    found = collections.Counter()
    for off in range(0, len(data), RECORD):
        what = parse(data[off:off + RECORD])
        check(what, '%s: no record at %d of %d: %s' %
              (where, off, len(data), data[off:off + RECORD]))
        found[what[:2]] += 1
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
        off = (program.number - 1) * RECORD
        what = parse(data[off:off + RECORD])
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


def appender(path, sync):
    """Return a program that appends."""
    def work(program, counts):
        number = done = 0
        end = time.monotonic() + PATIENCE + NRECORDS
        while done < NRECORDS:
            check(time.monotonic() < end, 'only %d records: %s' %
                  (done, counts))
            number += 1
            if is_put(counts, path, APPEND, record(program, number), None,
                      sync):
                done += 1
                yield number
    return work


def slot_writer(path, sync):
    """Return a program that overwrites its slot of a page."""
    def work(program, counts):
        number = done = 0
        off = (program - 1) * RECORD
        end = time.monotonic() + PATIENCE + NRECORDS
        while done < NRECORDS:
            check(time.monotonic() < end, 'only %d records: %s' %
                  (done, counts))
            number += 1
            if is_put(counts, path, os.O_RDWR, record(program, number), off,
                      sync):
                done += 1
                yield number
    return work


@layouts
def appended_records_are_all_there(layout):
    with two_mounts(layout) as mounts:
        programs = run(*(appender(mount / 'a', False) for mount in mounts
                         for _ in range(NPROGRAMS)))
        check_everywhere(check_appended, mounts, programs)
    check_stored(check_appended, programs)


@layouts
def synced_records_are_all_there(layout):
    with two_mounts(layout) as mounts:
        programs = run(*(appender(mount / 'a', True) for mount in mounts
                         for _ in range(NPROGRAMS)))
        check_everywhere(check_appended, mounts, programs)
    check_stored(check_appended, programs)


@layouts
def slots_of_a_page_keep_what_was_written_last(layout):
    with two_mounts(layout, bytes(8192)) as mounts:
        programs = run(*(slot_writer(mount / 'a', sync) for mount in mounts
                         for sync in (False, False, True)))
        check_everywhere(check_slots, mounts, programs)
    check_stored(check_slots, programs)


main(appended_records_are_all_there, synced_records_are_all_there,
     slots_of_a_page_keep_what_was_written_last)
