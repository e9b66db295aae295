#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount chunk_files
"""With -o chunks each frame has a directory of its chunks beside it.

usage: mount_chunk_files.py FRAMEFS [TEST...]
"""

import concurrent.futures
import errno
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess

import stores
from mounted import (B2FRAME, REFUSED, Mount, check, chunk, chunk_offset,
                     corpus, error_of, frame, harness, main, read, replace, sh,
                     wait_for, write, write_sparse)

FRAMES = os.path.join(corpus.DATA, 'frames')
BAD = os.path.join(corpus.DATA, 'bad')
DATA = random.Random(6).randbytes(20500)
SIZE = 2000  # bytes in a chunk
NCHUNKS = 11
MIB = 1 << 20
LIMIT = 16 << 20  # limit of a frame's content, and of memory, in bytes
ZEROS = 0x81 << 56  # index entry of a chunk of zeros. Format: frame.md


def described(path):
    """Return the description of a frame's chunks by b2frame, or None if it
    fails."""
    done = harness.run(B2FRAME, 'info', '--json', '--chunks', path)
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)


def stored(path, one):
    """Return the bytes of a chunk, from the frame's file or from the chunk's
    own."""
    if one['cbytes'] == 0:
        return b''
    if 'id' in one:
        return read('%s/%08X.chunk' % (path, one['id']))[:one['cbytes']]
    return read(path, one['offset'], one['cbytes'])


def names(nchunks):
    return [name for i in range(nchunks)
            for name in ('%08d' % i, '%08d.chunk' % i)]


def check_chunks(top, path, content):
    """The directory lists the files of all chunks, and each has the right
    content."""
    info = described(path)
    check(sorted(os.listdir(top)) == names(info['nchunks']), top + ': names')
    off = 0
    for one in info['chunks']:
        file = '%s/%08d' % (top, one['number'])
        data = content[off:off + one['nbytes']]
        check(read(file) == data, file)
        check(read(file, 3, 40) == data[3:43], file + ': window')
        check(os.stat(file).st_size == len(data), file + ': size')
        file += '.chunk'
        data = stored(path, one)
        check(read(file) == data, file)
        check(read(file, 7, 20) == data[7:27], file + ': window')
        check(os.stat(file).st_size == len(data), file + ': size')
        off += one['nbytes']
    check(off == len(content), top + ': not all of it')


def chunks_of_all_kinds_of_frames_are_files():
    """These include contiguous and sparse frames, frames of old versions,
    arrays, and frames whose chunks differ in size."""
    tried = set()
    with Mount(FRAMES, 'mnt', '-o', 'ro,raw,chunks') as mount:
        for known in corpus.data_frames():
            if not known.name or known.error or known.nbytes > LIMIT:
                continue
            info = described(known.path)
            if not info:
                continue
            check_chunks(mount / known.name + '.chunks', known.path,
                         read(mount / known.name))
            tried.add((info['layout'], info['chunksize'] == 0))
            tried.update(one['kind'] for one in info['chunks'])
        check(mount.log() == '', mount.log())
    wanted = {('contiguous', False), ('contiguous', True), ('sparse', False),
              ('sparse', True), 'zeros', 'nans', 'value', 'copy', 'blocks'}
    check(tried >= wanted, 'not tried: %s' % (wanted - tried))


def chunks_of_an_array_have_their_padding():
    write('items', DATA[:7 * 9 * 4])
    os.mkdir('src')
    sh(B2FRAME + ' create --shape 7,9 --dtype "<i4" --chunks 4,4 --blocks 2,3 '
       'items src/a.b2nd')
    content = harness.run(B2FRAME, 'cat', '--raw', 'src/a.b2nd').stdout
    check(len(content) > 7 * 9 * 4, 'no padding')
    for options, name in (('chunks', 'a'), ('npy,chunks', 'a.npy'),
                          ('names=keep,chunks', 'a.b2nd')):
        with Mount('src', 'mnt', '-o', options) as mount:
            check(sorted(os.listdir('mnt')) == [name, name + '.chunks'], name)
            check_chunks(mount / name + '.chunks', 'src/a.b2nd', content)


def frames_in_stores_have_them_too():
    os.mkdir('src')
    write('src/x.b2frame', frame(DATA, SIZE))
    members = {'group/far.b2f': frame(DATA, SIZE)}
    values = {'/near': frame(DATA[:5000], SIZE)}
    stores.make_zip('src/s.b2z', members, values)
    stores.make_directory('src/d.b2d', members, values)
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        for kind in 's.b2z', 'd.b2d':
            check(sorted(os.listdir(mount / kind)) ==
                  ['group', 'near', 'near.chunks'], kind)
            check_chunks(mount / kind + '/group/far.chunks', 'src/x.b2frame',
                         DATA)
            check(len(os.listdir(mount / kind + '/near.chunks')) == 6, kind)
            check(read(mount / kind + '/near.chunks/00000002') == DATA[4000:
                                                                      5000],
                  kind)
        check(mount.log() == '', mount.log())
    with Mount('src/s.b2z', 'mnt', '-o', 'chunks') as mount:
        check(read(mount / 'group/far.chunks/00000001') == DATA[SIZE:2 * SIZE],
              'store alone')


def a_frame_that_is_mounted_alone_has_one():
    os.mkdir('src')
    os.mkdir('part')
    write('src/x.b2frame', frame(DATA, SIZE))
    write('container', bytes(100) + frame(DATA, SIZE))
    write_sparse('src/y.b2frame', DATA)
    for source, name, options in (('src/x.b2frame', 'x', 'chunks'),
                                  ('src/y.b2frame', 'y', 'chunks'),
                                  ('container', 'container',
                                   'chunks,offset=100')):
        with Mount(source, 'mnt', '-o', options) as mount:
            check(sorted(os.listdir('mnt')) == [name, name + '.chunks'], name)
            first = DATA[:SIZE] if name != 'y' else DATA
            check(read(mount / name + '.chunks/00000000') == first, name)
            check(read(mount / name + '.chunks/00000000.chunk') ==
                  chunk(first), name)
    with Mount('src/y.b2frame', 'src/y.b2frame', '-o', 'chunks') as mount:
        check(read(mount / 'y.chunks/00000000') == DATA, 'mounted upon itself')


def what_is_there_comes_before_directories_of_chunks():
    os.mkdir('src')
    for name in 'x', 'y', 'z':
        write('src/%s.b2frame' % name, frame(DATA, SIZE))
    write('src/x.chunks', b'mine')
    os.mkdir('src/y.chunks')
    write('src/z.chunks.b2frame', frame(b'frame', SIZE))
    write('src/plain', b'')
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        check(sorted(os.listdir('mnt')) ==
              ['plain', 'x', 'x.chunks', 'y', 'y.chunks', 'z', 'z.chunks',
               'z.chunks.chunks'], os.listdir('mnt'))
        check(read(mount / 'x.chunks') == b'mine', 'file')
        check(os.listdir(mount / 'y.chunks') == [], 'directory')
        check(read(mount / 'z.chunks') == b'frame', 'frame')
        check(not os.path.exists(mount / 'plain.chunks'), 'of no frame')
    with Mount('src', 'mnt') as mount:
        check(not os.path.exists(mount / 'z.chunks.chunks'), 'unasked')


def names_are_numbers_of_chunks_and_no_others():
    os.mkdir('src')
    write('src/x.b2frame', frame(DATA, SIZE))
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        for name in ('0', '0000000', '000000000', '00000011', '-0000001',
                     '0000000a', '00000000.chun', '00000000.chunk.chunk',
                     ' 0000000', '+0000000', '99999999999999999999',
                     '18446744073709551616', '00000011.chunk', '.chunk',
                     '00000000.b2frame', '9' * 255):
            check(not os.path.exists(mount / 'x.chunks/' + name), name)


def many(nchunks):
    """Return a frame of chunks that are one zero each.  A single chunk
    compresses the whole index."""
    whole = frame(b'a', 1)
    index = struct.pack('<BBBBIII15xBQ', 5, 1, 0x17, 8, 8 * nchunks,
                        8 << 17, 40, 0x30, ZEROS)
    head = bytearray(whole[:0x61])
    tail = whole[0x61 + 33 + 40:]
    head[0x10:0x18] = struct.pack('>Q', 0x61 + len(index) + len(tail))
    head[0x1e:0x26] = struct.pack('>Q', nchunks)
    head[0x27:0x2f] = bytes(8)
    return bytes(head) + index + tail


def more_chunks_take_more_digits():
    nchunks = 100000002
    os.mkdir('src')
    write('src/x.b2frame', many(nchunks))
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        check(os.stat(mount / 'x').st_size == nchunks, 'frame')
        for name in '00000000', '99999999', '100000001':
            check(read(mount / 'x.chunks/' + name) == b'\0', name)
            check(read(mount / 'x.chunks/' + name + '.chunk') == b'', name)
        for name in '099999999', '0100000001', '100000002':
            check(not os.path.exists(mount / 'x.chunks/' + name), name)


def a_million_chunks_are_listed_without_memory():
    nchunks = 1000000
    os.mkdir('src')
    write('src/x.b2frame', many(nchunks))
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        os.stat(mount / 'x.chunks')
        before = mount.memory()
        with os.scandir(mount / 'x.chunks') as entries:
            check([entry.name for entry in itertools.islice(entries, 3)] ==
                  names(2)[:3], 'the first ones')
        said = sh('ls -f mnt/x.chunks | tail -n 1; ls -f mnt/x.chunks | wc -l')
        check(said.split() == ['00999999.chunk', str(2 * nchunks + 2)], said)
        check(harness.SANITIZED or mount.memory() < before + LIMIT,
              'memory: %d' % mount.memory())


def nothing_but_their_content_changes():
    os.mkdir('src')
    write('src/x.b2frame', frame(DATA, SIZE))
    os.chmod('src/x.b2frame', 0o640)
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        top = mount / 'x.chunks'
        one = top + '/00000001'
        mode = os.stat(top).st_mode & 0o777, os.stat(one).st_mode & 0o777
        check(mode == (0o750, 0o640), 'modes %o %o' % mode)
        for call, *args in (
                (os.unlink, one), (os.rmdir, top), (os.truncate, one, 3),
                (os.unlink, one + '.chunk'),
                (write, top + '/new', b''), (write, top + '/key-1', b''),
                (write, top + '/00000012', b''), (write, top + '/11', b''),
                (os.mkdir, top + '/new'), (os.chmod, one, 0o600),
                (os.chmod, top, 0o700), (os.utime, one), (os.utime, top),
                (os.rename, one, mount / 'y'), (os.rename, top, mount / 'y'),
                (os.rename, mount / 'x', top + '/y'),
                (os.link, one, mount / 'y'), (os.symlink, 'x', top + '/y'),
                (os.setxattr, one, 'user.a', b'b')):
            check(error_of(call, *args) in REFUSED + (errno.EPERM,),
                  '%s: %d' % (call.__name__, error_of(call, *args)))
        check(error_of(os.mkdir, top) == errno.EEXIST, 'mkdir')
        check(error_of(os.unlink, top) == errno.EISDIR, 'unlink')
        check(os.listxattr(one) == [] and os.listxattr(top) == [], 'attributes')
        check(read(mount / 'x') == DATA, 'content')


def put(path, *pieces):
    """Write a chunk, and return the error of that or of the close."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for piece in pieces:
            os.write(fd, piece)
    except OSError as error:
        check(error_of(os.close, fd) == error.errno, 'close')
        return error.errno
    return error_of(os.close, fd)


def what_is_written_to_them_is_put():
    a, b, c = (bytes([n]) * SIZE for n in (1, 2, 3))
    os.mkdir('src')
    for name in 'x', 'y':
        write('in', DATA[:2 * SIZE + 7])
        sh('%s create --typesize 1 --chunksize %d --layout %s in '
           'src/%s.b2frame' % (B2FRAME, SIZE, 'sparse' if name == 'y' else
                               'contiguous', name))
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        for name in 'x', 'y':
            top = mount / name + '.chunks'
            content = [DATA[:SIZE], DATA[SIZE:2 * SIZE], DATA[2 * SIZE:][:7]]

            def seen():
                check(read(mount / name) == b''.join(content), 'frame')
                for i, chunk_ in enumerate(content):
                    check(read(top + '/%08d' % i) == chunk_, 'chunk %d' % i)
                check(harness.run(B2FRAME, 'cat', 'src/%s.b2frame' % name)
                      .stdout == b''.join(content), 'stored')
            check(put(top + '/00000001', a[:100], a[100:]) == 0, 'put')
            content[1] = a
            seen()
            for bad in (a[1:], a + b'b', b'c'):
                check(put(top + '/00000001', bad) in (errno.EINVAL,
                                                      errno.EFBIG), 'size')
                seen()
            check(put(top + '/00000001') == 0, 'nothing')
            seen()
            with open(top + '/00000000', 'r+b', buffering=0) as file:
                file.seek(10)
                file.write(b'changed')
                check(os.pread(file.fileno(), 9, 9) == DATA[9:10] + b'changed' +
                      DATA[17:18], 'own bytes')
                check(read(top + '/00000000') == content[0], 'before')
                os.fsync(file.fileno())
                content[0] = DATA[:10] + b'changed' + DATA[17:SIZE]
                seen()
            check(error_of(put, top + '/00000003') == errno.EINVAL, 'no place')
            check(put(top + '/00000002', b) == 0, 'last')
            check(put(top + '/00000003', c) == 0, 'next')
            check(put(top + '/00000004', c[:9]) == 0, 'short')
            content[2:] = [b, c, c[:9]]
            seen()
            stored_ = read(top + '/00000003.chunk')
            check(put(top + '/00000001.chunk', stored_) == 0, 'as stored')
            content[1] = c
            seen()
            for bad in (b'no chunk', stored_[:-1], stored_ + b'\0',
                        b'\xff' * len(stored_)):
                check(put(top + '/00000001.chunk', bad) != 0, 'bad')
                seen()
        check(harness.run(B2FRAME, 'verify', 'src/x.b2frame',
                          'src/y.b2frame').returncode == 0, 'damaged')


def make_large():
    """Make a frame of chunks of 1 MiB, the last of which is shorter.  Return
    the options of a mount with 4 MiB of memory."""
    os.mkdir('src')
    write('in', bytes(2 * MIB + 1000))
    sh('%s create --typesize 1 --chunksize %d in src/x.b2frame' %
       (B2FRAME, MIB))
    return '-o', 'chunks,cache=4M'


def what_is_refused_in_part_is_not_put():
    options = make_large()
    with Mount('src', 'mnt', *options) as mount:
        last = mount / 'x.chunks/00000002'
        fd = os.open(last, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b'begin')
        check(error_of(os.pwrite, fd, b'ab', MIB - 1) == errno.EFBIG, 'write')
        check(error_of(os.fsync, fd) == errno.EFBIG, 'fsync')
        check(error_of(os.close, fd) == errno.EFBIG, 'close')
        check(read(last) == bytes(1000), 'is put')
        fd = os.open(last, os.O_WRONLY | os.O_TRUNC)
        check(error_of(os.pwrite, fd, b'ab', MIB - 1) == errno.EFBIG, 'write')
        os.write(fd, b'whole')
        check(error_of(os.fsync, fd) == errno.EFBIG, 'before the cut')
        os.ftruncate(fd, 5)
        os.close(fd)
        check(read(last) == b'whole', 'is not put')


def drafts_share_half_of_the_cache():
    options = make_large()
    with Mount('src', 'mnt', *options) as mount:
        last = mount / 'x.chunks/00000002'
        fd = os.open(last, os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b'begin')
        with open(mount / 'x.chunks/00000000', 'r+b'), \
                open(mount / 'x.chunks/00000001', 'wb', buffering=0) as other:
            other.write(bytes(MIB // 2))
            check(error_of(other.write, bytes(MIB // 2)) == errno.ENOMEM,
                  'other')
            check(error_of(os.pwrite, fd, bytes(MIB), 0) == errno.ENOMEM,
                  'memory')
            check(error_of(os.open, mount / 'x.chunks/00000001', os.O_RDWR) ==
                  errno.ENOMEM, 'open')
            check(error_of(os.fsync, fd) == errno.ENOMEM, 'fsync')
            other.truncate(0)
        # The kernel reports the close of the others a moment later.
        wait_for(lambda: error_of(os.pwrite, fd, b'a' * MIB, 0) == 0, 'memory')
        os.close(fd)
        check(read(last) == b'a' * MIB, 'is not put')
        check(read(mount / 'x') == bytes(2 * MIB) + b'a' * MIB, 'content')


def programs_that_put_chunks_wait_for_memory():
    """Each of them gets it, though there is not enough for all at a time."""
    options = make_large()
    os.rename('src/x.b2frame', 'src/x0.b2frame')
    for i in range(1, 4):
        shutil.copy('src/x0.b2frame', 'src/x%d.b2frame' % i)

    def put_often(i):
        for value in range(1, 6):
            # While others have the memory, there is none for the bytes.
            wait_for(lambda: put(mount / 'x%d.chunks/00000001' % i,
                                 bytes([value]) * MIB) == 0, 'memory')

    with Mount('src', 'mnt', *options) as mount, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(put_often, range(4)))
        for i in range(4):
            check(read(mount / 'x%d' % i) == bytes(MIB) + b'\5' * MIB +
                  bytes(1000), 'content')


def chunk_that_says_it_is_huge_takes_no_memory():
    options = make_large()
    huge = struct.pack('<BBBBIII15xB', 5, 1, 0x17, 1, 2000000000, 1 << 20, 32,
                       0x10)
    with Mount('src', 'mnt', *options) as mount:
        stored_ = mount / 'x.chunks/00000002.chunk'
        check(put(stored_, huge) == errno.EINVAL, 'put')
        status = read('/proc/%d/status' % mount.daemon.pid).decode()
        most = int(re.search(r'VmHWM:\s+(\d+)', status)[1])
        check(harness.SANITIZED or most < 100000, 'takes %d KiB' % most)
        check(read(mount / 'x') == bytes(2 * MIB + 1000), 'content')


def keys_are_names_of_chunks():
    values = [bytes([n]) * SIZE for n in (1, 2, 3)]
    os.mkdir('src')
    write('in', b''.join(values))
    sh('%s create --typesize 1 --chunksize %d in src/x.b2frame' %
       (B2FRAME, SIZE))
    write('in', struct.pack('<10Q', 1, 0, 99, 3, 7, 3, 9, 0, 0, 0))
    sh(B2FRAME + ' meta set src/x.b2frame framefs.keys in')
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        top = mount / 'x.chunks/'
        for name in ('key-', 'key-0', 'key-1', 'key-07', 'key--7', 'key- 7',
                     'key-7.chunk', 'key-18446744073709551623'):
            check(not os.path.exists(top + name), name)
        check(sorted(os.listdir(top)) == names(3), 'listed')
        check([read(top + 'key-%d' % key) for key in (7, 3, 9)] == values,
              'read')
        with open(top + 'key-9', 'r+b', buffering=0) as late:
            late.write(b'late')
            os.unlink(top + 'key-7')
            check(not os.path.exists(top + 'key-7'), 'removed')
            check(read(mount / 'x') == values[1] + values[2], 'rest')
            check(put(top + 'key-3', values[0]) == 0, 'put')
        check(read(mount / 'x') == values[0] + b'late' + values[2][4:], 'both')
        with open(top + 'key-9', 'r+b', buffering=0) as late:
            late.write(b'gone')
            os.unlink(top + 'key-9')
            check(error_of(os.fsync, late.fileno()) == errno.ESTALE, 'gone')
            check(error_of(late.close) == errno.ESTALE, 'told again')
        check(read(mount / 'x') == values[0], 'one')
        check(put(top + '00000001', values[1]) == 0, 'next')
        check(read(top + 'key-99') == values[1], 'new key')
        for key in 3, 99:
            os.unlink(top + 'key-%d' % key)
        check(read(mount / 'x') == b'' and os.listdir(top) == [], 'empty')


def two_programs_lose_nothing():
    os.mkdir('src')
    write('in', bytes(8 * SIZE))
    sh('%s create --typesize 1 --chunksize %d in src/x.b2frame' %
       (B2FRAME, SIZE))
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        top = mount / 'x.chunks/'
        script = ('for i in 1 2 3 4 5; do for n in %s; do head -c %d /dev/zero | '
                  'tr "\\0" $n | cat >%s0000000$n || exit 1; done; done')
        programs = [subprocess.Popen(['sh', '-c', script % (n, SIZE, top)])
                    for n in ('0 1 2 3', '4 5 6 7')]
        check([program.wait() for program in programs] == [0, 0], 'failed')
        wanted = b''.join(b'%d' % n * SIZE for n in range(8))
        check(read(mount / 'x') == wanted, 'content')
        fd = os.open(mount / 'x', os.O_RDWR)
        os.write(fd, b'by the file')
        check(put(top + '00000001', b'k' * SIZE) == 0, 'beside a writer')
        told = error_of(os.fsync, fd)
        error_of(os.close, fd)
        check(told in (0, errno.ESTALE), 'told %d' % told)
        check(read(top + '00000001') == b'k' * SIZE, 'put')
        check(read(top + '00000000')[:11] ==
              (b'by the file' if told == 0 else b'0' * 11), 'written')
    check(harness.run(B2FRAME, 'verify', 'src/x.b2frame').returncode == 0,
          'damaged')


def frames_are_renamed_and_removed_as_ever():
    os.mkdir('src')
    os.mkdir('src/sub')
    for name in 'x', 'sub/a', 'sub/b':
        write('src/%s.b2frame' % name, frame(DATA, SIZE))
    write_sparse('src/sub/c.b2frame', DATA)
    write('src/sub/plain', b'')
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        check(len(os.listdir(mount / 'x.chunks')) == 2 * NCHUNKS, 'before')
        with open(mount / 'x.chunks/00000003', 'rb', buffering=0) as file:
            os.rename(mount / 'x', mount / 'y')
            check(read(mount / 'y.chunks/00000002') == DATA[2 * SIZE:
                                                            3 * SIZE], 'new')
            check(sorted(os.listdir('mnt')) == ['sub', 'y', 'y.chunks'],
                  'names')
            check(error_of(os.listdir, mount / 'x.chunks') == errno.ENOENT,
                  'old')
            os.unlink(mount / 'y')
            check(os.listdir('mnt') == ['sub'], 'removed')
            check(file.read() == DATA[3 * SIZE:4 * SIZE], 'open')
        sh('ls -lR mnt/sub >ls.out && rm -rf mnt/sub')
        check(os.listdir('mnt') == [], 'tree')
        check(mount.log() == '', mount.log())
    check(os.listdir('src') == [], 'below')


def an_open_chunk_of_a_removed_frame_has_attributes():
    """The kernel asks for them again when those that it has are old."""
    os.mkdir('src')
    write('src/x.b2frame', frame(DATA, SIZE))
    with Mount('src', 'mnt', '-o', 'chunks,attr_timeout=0') as mount:
        with open(mount / 'x.chunks/00000003', 'rb', buffering=0) as file:
            os.unlink(mount / 'x')
            st = os.fstat(file.fileno())
            check((st.st_size, st.st_nlink) == (SIZE, 0), 'has %s' % (st,))
            check(file.read() == DATA[3 * SIZE:4 * SIZE], 'content')


def they_follow_the_frame():
    """The directory follows when other programs replace the frame, and when
    programs write through the mount."""
    other = DATA[::-1][:5 * SIZE]
    os.mkdir('src')
    write('src/x.b2frame', frame(DATA, SIZE))
    with Mount('src', 'mnt', '-o', 'chunks,chunksize=%d' % SIZE) as mount:
        top = mount / 'x.chunks'
        fd = os.open(top, os.O_RDONLY)
        late = os.open(top + '/00000009', os.O_RDONLY)
        check(len(os.listdir(fd)) == 2 * NCHUNKS, 'before')
        check(read(top + '/00000001') == DATA[SIZE:2 * SIZE], 'before')
        replace('src/x.b2frame', frame(other, SIZE))
        check(len(os.listdir(fd)) == 10, 'open directory')
        check(len(os.listdir(top)) == 10, 'directory')
        check(read(top + '/00000001') == other[SIZE:2 * SIZE], 'chunk')
        check(read(top + '/00000001.chunk') == chunk(other[SIZE:2 * SIZE]),
              'stored')
        check(error_of(os.pread, late, 9, 0) in (0, errno.ESTALE), 'late')
        os.close(late)
        # The kernel reports the close of the last handle a moment later.
        wait_for(lambda: error_of(read, top + '/00000009') in
                 (errno.ENOENT, errno.ESTALE), 'what is gone')
        os.close(fd)
        with open(mount / 'x', 'r+b', buffering=0) as file:
            file.write(DATA[:SIZE])
            os.ftruncate(file.fileno(), 3 * SIZE + 5)
            os.fsync(file.fileno())
        check(len(os.listdir(top)) == 8, 'written')
        check(read(top + '/00000000') == DATA[:SIZE], 'written')
        check(read(top + '/00000003') == other[3 * SIZE:3 * SIZE + 5], 'cut')
        check(os.stat(top + '/00000003').st_size == 5, 'size')


def holes_are_those_of_the_frame():
    os.mkdir('src')
    write('zeros', DATA[:100] + bytes(10000))
    sh(B2FRAME + ' create --typesize 1 --chunksize 5000 zeros src/x.b2frame')
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        for name, data, hole in (('00000000', 0, 5000),
                                 ('00000001', None, 0)):
            fd = os.open(mount / 'x.chunks/' + name, os.O_RDONLY)
            if data is None:
                check(error_of(os.lseek, fd, 0, os.SEEK_DATA) == errno.ENXIO,
                      name)
            else:
                check(os.lseek(fd, 0, os.SEEK_DATA) == data, name)
            check(os.lseek(fd, 0, os.SEEK_HOLE) == hole, name)
            os.close(fd)


def a_chunk_is_copied_with_its_own_content():
    """A copy inside the mount, which the daemon makes by itself, has the bytes
    of that chunk, also if source and target have chunks of one size."""
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', 'chunks,chunksize=%d' % 4096) as mount:
        write(mount / 'f', DATA)
        top = mount / 'f.chunks'
        for name in sorted(os.listdir(top)):
            data = read(top + '/' + name)
            with open(top + '/' + name, 'rb') as source, \
                    open(mount / name, 'wb') as target:
                os.copy_file_range(source.fileno(), target.fileno(), len(DATA))
            check(read(mount / name) == data, name + ': copy')


def a_damaged_chunk_is_told_and_no_other():
    whole = bytearray(frame(DATA, SIZE))
    at = chunk_offset(4, SIZE)
    whole[at + 12:at + 16] = b'\xff\xff\xff\x7f'
    os.mkdir('src')
    write('src/x.b2frame', whole)
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        top = mount / 'x.chunks/'
        check(sorted(os.listdir(top)) == names(NCHUNKS), 'names')
        sh('ls -l ' + top)
        for i in range(NCHUNKS):
            name = top + '%08d' % i
            if i == 4:
                check(error_of(read, name) == errno.EIO, name)
                check(error_of(read, name + '.chunk') == errno.EIO, name)
            else:
                check(read(name) == DATA[i * SIZE:(i + 1) * SIZE], name)
        check('x.b2frame/00000004' in mount.log(), mount.log())


def a_stored_chunk_is_compared_with_its_sums():
    os.mkdir('src')
    write('in', DATA)
    sh('%s create --chunksize %d in src/x.b2frame' % (B2FRAME, SIZE))
    one = described('src/x.b2frame')['chunks'][3]
    at = one['offset'] + one['cbytes'] - 100
    with open('src/x.b2frame', 'r+b') as file:
        file.seek(at)
        file.write(bytes([read('src/x.b2frame', at, 1)[0] ^ 1]))
    damaged, other = 'x.chunks/00000003.chunk', 'x.chunks/00000004.chunk'
    with Mount('src', 'mnt', '-o', 'chunks,sums=off') as mount:
        check(len(read(mount / damaged)) == one['cbytes'], 'is not ignored')
    with Mount('src', 'mnt', '-o', 'chunks') as mount:
        check(error_of(read, mount / damaged) == errno.EIO, 'is not seen')
        check('x.b2frame/00000003.chunk' in mount.log(), mount.log())
        check(put(mount / damaged, read(mount / other)) == 0, 'put')
        check(read(mount / 'x.chunks/00000003') ==
              DATA[4 * SIZE:5 * SIZE], 'is not replaced')


def hostile_frames_do_no_harm():
    with Mount(BAD, 'mnt', '-o', 'ro,raw,chunks') as mount:
        tops = [name for name in os.listdir('mnt') if name.endswith('.chunks')]
        check(len(tops) > 100, 'few: %d' % len(tops))
        for top in tops:
            top = mount / top
            try:
                with os.scandir(top) as entries:
                    some = [entry.name for entry in
                            itertools.islice(entries, 40)]
            except OSError as error:
                check(error.errno in (errno.EIO, errno.EOPNOTSUPP), top)
                continue
            for name in some:
                subprocess.run(['head', '-c', '100000', top + '/' + name],
                               stdout=subprocess.DEVNULL, check=False,
                               stderr=subprocess.DEVNULL, timeout=60)
        check(mount.daemon.poll() is None, 'the daemon is gone')


if __name__ == '__main__':
    main(chunks_of_all_kinds_of_frames_are_files,
         chunks_of_an_array_have_their_padding,
         frames_in_stores_have_them_too,
         a_frame_that_is_mounted_alone_has_one,
         what_is_there_comes_before_directories_of_chunks,
         names_are_numbers_of_chunks_and_no_others,
         more_chunks_take_more_digits,
         a_million_chunks_are_listed_without_memory,
         nothing_but_their_content_changes,
         what_is_written_to_them_is_put,
         what_is_refused_in_part_is_not_put,
         drafts_share_half_of_the_cache,
         programs_that_put_chunks_wait_for_memory,
         chunk_that_says_it_is_huge_takes_no_memory,
         keys_are_names_of_chunks,
         two_programs_lose_nothing,
         frames_are_renamed_and_removed_as_ever,
         an_open_chunk_of_a_removed_frame_has_attributes,
         they_follow_the_frame,
         holes_are_those_of_the_frame,
         a_chunk_is_copied_with_its_own_content,
         a_damaged_chunk_is_told_and_no_other,
         a_stored_chunk_is_compared_with_its_sums,
         hostile_frames_do_no_harm)
