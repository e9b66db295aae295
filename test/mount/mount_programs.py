#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount programs
"""Programs that know nothing of frames read them as they read any file.

usage: mount_programs.py FRAMEFS [TEST...]
"""

import os
import random
import struct
import threading

from mounted import (Mount, check, chunk_offset, frame, harness, main, read,
                     sh, write)

CHUNKSIZE = 30000
DATA = random.Random(1).randbytes(1000000)
LINES = b''.join(b'line %d of many\n' % i for i in range(20000))


def make(name='src/a.b2frame', data=DATA, chunksize=CHUNKSIZE, **how):
    os.makedirs('src', exist_ok=True)
    write(name, frame(data, chunksize, **how))
    write('raw', data)


def whole_file():
    make()
    with Mount('src', 'mnt'):
        for command in ('cmp raw mnt/a', 'cat mnt/a | cmp - raw',
                        'cp mnt/a copy && cmp copy raw',
                        'dd if=mnt/a bs=4k status=none | cmp - raw',
                        'dd if=mnt/a bs=1M iflag=direct status=none | cmp - raw',
                        'dd if=mnt/a bs=1000 iflag=direct status=none | '
                        'cmp - raw',
                        'tail -c 12345 mnt/a | cmp - raw -i 0:987655',
                        'dd if=mnt/a bs=777 skip=100 count=3 status=none | '
                        'cmp -n 2331 - raw -i 0:77700'):
            sh(command)
        check(sh('sha256sum <mnt/a') == sh('sha256sum <raw'), 'sha256sum')


def text():
    make(data=LINES)
    with Mount('src', 'mnt'):
        check(sh('grep -c 7 mnt/a') == sh('grep -c 7 raw'), 'grep -c')
        check(sh('tail -n 3 mnt/a') == sh('tail -n 3 raw'), 'tail -n')
        check(sh('wc -l <mnt/a') == sh('wc -l <raw'), 'wc -l')
        check(sh('tac mnt/a | head -n 2') == sh('tac raw | head -n 2'), 'tac')


def attributes():
    make(data=bytes(1000) + DATA[:200000])
    os.chmod('src/a.b2frame', 0o604)
    os.utime('src/a.b2frame', ns=(10**18, 123456789012345678))
    with Mount('src', 'mnt') as mount:
        below = os.stat('src/a.b2frame')
        st = os.stat(mount / 'a')
        check(st.st_size == 201000, 'size')
        check((st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, st.st_ino,
               st.st_nlink, st.st_blocks) ==
              (below.st_mode, below.st_uid, below.st_gid, below.st_mtime_ns,
               below.st_ino, 1, below.st_blocks), 'other attributes')
        check(sh('du --apparent-size -B1 mnt/a | cut -f1') == '201000\n',
              'du --apparent-size')
        check(sh('du -B1 mnt/a | cut -f1') ==
              sh('du -B1 src/a.b2frame | cut -f1'), 'du')
        check(' 201000 ' in sh('ls -l mnt'), 'ls -l')
        check(sh('find mnt -type f -size 201000c') == 'mnt/a\n', 'find')
        check(not os.statvfs(mount.path).f_flag & os.ST_RDONLY, 'read-only')


def holes():
    data = bytes(40 * 4096) + DATA[:4096] + bytes(20 * 4096)
    make(data=data, chunksize=4096)
    punch('src/a.b2frame', data, 4096)
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.lseek(fd, 0, os.SEEK_DATA) == 40 * 4096, 'SEEK_DATA')
        check(os.lseek(fd, 40 * 4096, os.SEEK_HOLE) == 41 * 4096, 'SEEK_HOLE')
        os.close(fd)
        sh('cp --sparse=always mnt/a copy && cmp copy raw')
        check(os.stat('copy').st_blocks < 16, 'the copy has no holes')
        sh('tar -cSf archive.tar -C mnt a && tar -xf archive.tar && cmp a raw')


def punch(path, data, chunksize):
    """Make the index of a frame say that its chunks of zeros are zeros."""
    index = chunk_offset(len(data) // chunksize, chunksize) + 32
    with open(path, 'r+b') as file:
        for i in range(len(data) // chunksize):
            if not any(data[i * chunksize:(i + 1) * chunksize]):
                file.seek(index + 8 * i)
                file.write(bytes(7) + b'\x81')


def numpy_reads_and_maps():
    make(data=b''.join(struct.pack('<f', i) for i in range(250000)),
         typesize=4)
    with Mount('src', 'mnt') as mount:
        # The distribution's NumPy belongs to this Python, and the tests may run
        # in another.
        sh("""/usr/bin/python3 -c "
import numpy
array = numpy.arange(250000, dtype='<f4')
assert (numpy.fromfile('%s', '<f4') == array).all(), 'fromfile'
mapped = numpy.memmap('%s', '<f4', mode='r')
assert (mapped[::-7] == array[::-7]).all(), 'memmap'
assert (mapped == array).all(), 'memmap, whole'
" """ % (mount / 'a', mount / 'a'))


def eight_readers_at_once():
    make()
    wrong = []

    def reader(seed, path):
        pick = random.Random(seed)
        with open(path, 'rb', buffering=0) as file:
            for _ in range(30 if harness.SANITIZED else 200):
                off = pick.randrange(len(DATA))
                length = pick.choice((1, 100, 4096, 70000))
                got = os.pread(file.fileno(), length, off)
                if got != DATA[off:off + length]:
                    wrong.append(off)

    with Mount('src', 'mnt', '-o', 'cache=1M,chunksize=64K') as mount:
        threads = [threading.Thread(target=reader, args=(i, mount / 'a'))
                   for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not wrong, 'wrong bytes at %s' % wrong[:5])


def backwards_in_odd_pieces():
    make()
    with Mount('src', 'mnt') as mount:
        pieces = []
        end = len(DATA)
        while end > 0:
            off = max(0, end - 12347)
            pieces.append(read(mount / 'a', off, end - off))
            end = off
        check(b''.join(reversed(pieces)) == DATA, 'content')
        check(read(mount / 'a', len(DATA), 10) == b'', 'bytes behind the end')


main(whole_file,
     text,
     attributes,
     holes,
     numpy_reads_and_maps,
     eight_readers_at_once,
     backwards_in_odd_pieces)
