#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame repair; timeout 600
"""b2frame repair saves the readable parts of a frame, and reports the lost
ones.

usage: repair.py B2FRAME [TEST...]
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import time

import corpus
import harness
from scene import (LAYOUTS, TOOL, b2frame, check, check_frame, check_names,
                   fails, has_begun, info, main, misuse, noise, read, remove,
                   small_disk, write)

DATA = os.path.join(corpus.DATA, 'frames')


def repair(*words, whole):
    """Run the verb.  Return its report."""
    done = harness.run(TOOL, 'repair', *words)
    said = done.stdout.decode()
    check(done.returncode == (not whole) and not done.stderr,
          'status %d, says %s%s' % (done.returncode, said,
                                    done.stderr.decode()))
    return said


def take(name, path='frame'):
    """Copy a frame that another program wrote, so that a test can damage it.
    Return its content."""
    source = os.path.join(DATA, name + '.b2frame')
    (shutil.copytree if os.path.isdir(source) else shutil.copyfile)(source,
                                                                    path)
    return b2frame('cat', path)


def patch(path, offset, data):
    with open(path, 'r+b') as file:
        file.seek(offset)
        file.write(data)


class Layout:
    """The offsets and sizes of the parts in a frame's file."""

    def __init__(self, path):
        self.data = read(path)
        self.header_len, self.frame_len = struct.unpack('>IxQ',
                                                        self.data[11:24])
        self.nbytes, self.cbytes = struct.unpack('>QxQ', self.data[30:47])
        self.trailer_len, = struct.unpack(
            '>I', self.data[self.frame_len - 22:self.frame_len - 18])
        self.trailer = self.frame_len - self.trailer_len
        self.index = self.header_len
        if not self.data[26]:
            self.index += self.cbytes


def saved_as(content, *words, whole=False):
    """The repaired frame is good and has this content."""
    said = repair('frame', 'out', *words, whole=whole)
    check_frame('out', content)
    return said


def a_good_frame_is_copied():
    for name in ('v2231-plain', 'v204-dir', 'varchunks-zstd', 'vlblocks-zstd',
                 'medley-4', 'beta4-plain', 'short-header-lz4', 'empty-file'):
        content = take(name)
        told = info('frame')
        saved_as(content, whole=True)
        for key in ('sparse', 'typesize', 'nchunks', 'codec', 'metalayers'):
            check(info('out').get(key) == told.get(key), name + ': ' + key)
        check('frame: %d of %d chunks' % (told['nchunks'], told['nchunks']) in
              repair('frame', whole=True), name)
        for path in ('frame', 'out'):
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)


def a_trailer_that_is_cut_off_costs_its_metalayers():
    content = take('v2231-plain')
    layout = Layout('frame')
    os.truncate('frame', layout.trailer)
    said = saved_as(content)
    check('file is shorter than the frame' in said and
          'not all metalayers' in said, said)
    names = [layer['name'] for layer in info('out')['metalayers']]
    check(names == ['my_info', 'second'], names)


def a_trailer_that_lacks_its_end_costs_nothing():
    content = take('v2231-plain')
    metalayers = info('frame')['metalayers']
    os.truncate('frame', Layout('frame').frame_len - 23)
    saved_as(content, whole=True)
    check(info('out')['metalayers'] == metalayers, 'metalayers')


def a_header_may_lie_about_lengths():
    for offset, value in ((11, b'\x7f\xff\xff\xff'),
                          (16, struct.pack('>Q', 1 << 40)),
                          (16, struct.pack('>Q', 500)),
                          (39, struct.pack('>Q', 3)),
                          (39, struct.pack('>Q', 1 << 62))):
        content = take('v2231-plain')
        patch('frame', offset, value)
        said = repair('frame', 'out', whole=True)
        check('cannot be opened' in said and 'an index was found' in said, said)
        check_frame('out', content)
        os.unlink('out')


def a_frame_without_header_has_its_chunks():
    content = take('delete-front')
    patch('frame', 0, bytes(97))
    said = saved_as(content)
    check('the header is lost' in said, said)
    check(info('out')['typesize'] == 4, info('out')['typesize'])


def without_index_chunks_come_in_the_order_of_the_file():
    content = take('plus1item-lz4')
    layout = Layout('frame')
    patch('frame', layout.index, b'\xaa' * (layout.trailer - layout.index))
    said = saved_as(content)
    check('the index is lost' in said, said)


def special_chunks_are_lost_with_the_index():
    content = take('v2231-plain')
    layout = Layout('frame')
    patch('frame', layout.index, b'\xaa' * (layout.trailer - layout.index))
    said = saved_as(content[:4 * 1600] + content[7 * 1600:])
    check('the header counts 14932 bytes' in said, said)


def a_damaged_chunk_becomes_zeros():
    for name in ('v2231-plain', 'varchunks-lz4'):
        content = take(name)
        chunks = info('frame', '--chunks')['chunks']
        start = sum(c['nbytes'] for c in chunks[:2])
        end = start + chunks[2]['nbytes']
        patch('frame', chunks[2]['offset'] + 36, b'\xff\xff\xff\x7f')
        said = saved_as(content[:start] + bytes(end - start) + content[end:])
        check('frame: chunk 2 is lost, bytes %d to %d: offset ' %
              (start, end - 1) in said, said)
        os.unlink('out')


def a_missing_chunk_file_becomes_zeros():
    content = take('v204-dir')
    chunks = info('frame', '--chunks')['chunks']
    os.unlink('frame/%08X.chunk' % chunks[1]['id'])
    start, size = chunks[0]['nbytes'], chunks[1]['nbytes']
    said = saved_as(content[:start] + bytes(size) + content[start + size:])
    check('chunk file is missing' in said, said)


def a_chunk_without_bytes_has_nothing_to_decode():
    """No chunk has bytes, so the tool has allocated no buffer for decoded bytes
    before it meets one."""
    take('v204-dir')
    nothing = bytes((5, 1, 5, 4)) + struct.pack('<III', 0, 1, 32) + bytes(16)
    for name in os.listdir('frame'):
        if name.endswith('.chunk'):
            write('frame/' + name, nothing)
    said = repair('frame', whole=False)
    check('of which 10132 bytes are missing' in said, said)


def chunk_files_do_without_their_index():
    content = take('threads-4-dir')
    layer = info('frame')['metalayers']
    os.unlink('frame/chunks.b2frame')
    said = saved_as(content)
    check('No such file' in said and 'order of their files' in said, said)
    check(not layer or 'not all metalayers' in said, said)


def chunk_of(data):
    """Return a chunk that stores its bytes uncompressed."""
    return (bytes((5, 1, 7, 4)) +
            struct.pack('<III', len(data), len(data), len(data) + 32) +
            bytes(16) + data)


def index_of(entries):
    data = b''.join(struct.pack('<q', entry) for entry in entries)
    return (bytes((5, 1, 7, 8)) +
            struct.pack('<III', len(data), len(data), len(data) + 32) +
            bytes(16) + data)


def an_append_that_was_killed_is_completed():
    """The reference library writes a chunk over the index, then the new index
    behind the chunk, and the header last."""
    before = take('plus1item-lz4')
    chunks = info('frame', '--chunks')['chunks']
    layout = Layout('frame')
    more = noise(chunks[0]['nbytes'])
    entries = [c['offset'] - layout.header_len for c in chunks]

    # The library was killed after it wrote the chunk.  The old chunks are all
    # known.
    whole = [c for c in chunks if c['nbytes'] == chunks[0]['nbytes']]
    size = sum(c['nbytes'] for c in whole)
    write('frame', layout.data[:layout.index] + chunk_of(more))
    saved_as(before[:size] + more)
    # It was killed while it wrote the chunk.
    write('frame', layout.data[:layout.index] + chunk_of(more)[:-1])
    saved_as(before, '--force')
    # It was killed after it wrote the index.
    entries[-1] = entries[0]
    entries[0] = layout.index - layout.header_len
    write('frame', layout.data[:layout.index] + chunk_of(more) +
          index_of(entries))
    first = chunks[0]['nbytes']
    saved_as(more + before[first:size] + before[:first], '--force')


def a_damaged_index_gives_what_is_left_of_it():
    """Impossible entries are replaced by the chunks that no entry names."""
    content = take('recompressed-copy')
    layout = Layout('frame')
    chunks = info('frame', '--chunks')['chunks']
    entries = [c['offset'] - layout.header_len for c in chunks]
    entries[1] = 1 << 40
    index = index_of(entries)
    end = layout.index + len(index)
    write('frame', layout.data[:layout.index] + index +
          layout.data[layout.trailer:])
    patch('frame', 16, struct.pack('>Q', end + layout.trailer_len))
    said = saved_as(content)
    check('is a guess' in said, said)
    # An old index is no chunk that an entry may have named.
    old = index_of(entries[:1])
    write('frame', layout.data[:layout.index] + old + index +
          layout.data[layout.trailer:])
    cbytes = end - layout.header_len - len(index) + len(old)
    patch('frame', 16, struct.pack('>Q', end + len(old) + layout.trailer_len))
    patch('frame', 39, struct.pack('>Q', cbytes))
    said = saved_as(content, '--force')
    check('is a guess' in said, said)


# Create options, and the offsets of bytes in the array's metalayer.  They hold
# for arrays with as many dimensions as ARRAY.
ARRAY = ('--shape', '50,60', '--dtype', '<f8', '--chunks', '20,25')
KIND, NDIM, ITEMS_0, CHUNK_0, BLOCK_0, DTYPE = 0, 2, 5, 24, 35, 45


def make_array(layout='contiguous', blocks=(7, 25)):
    """Make an array.  Return its items, the path of the file that has its
    header, and the offset of its metalayer there."""
    items = noise(50 * 60 * 8)
    if os.path.exists('frame'):
        remove('frame')
    b2frame('create', *ARRAY, '--blocks', '%d,%d' % blocks, '--layout', layout,
            '-', 'frame', stdin=items)
    path = 'frame/chunks.b2frame' if layout == 'sparse' else 'frame'
    return items, path, read(path).index(b'\x97\0\2\x92\xd3')


def check_shape(path, dtype='<f8', blocks=(7, 25)):
    array = info(path)['array']
    check([array['shape'], array['chunks'], array['blocks'],
           array.get('dtype')] == [[50, 60], [20, 25], list(blocks), dtype],
          str(array))


def bytes_of_an_array_that_others_tell_are_mended():
    for layout in LAYOUTS:
        for offset, value in ((KIND, b'\xff'), (NDIM, b'\x10'), (NDIM, b'\1'),
                              (3, b'\0'), (CHUNK_0 - 1, b'\0'),
                              (DTYPE, b'\0'), (DTYPE + 4, b'\1'),
                              (DTYPE + 1, b'\xff')):
            items, path, start = make_array(layout)
            patch(path, start + offset, value)
            done = harness.run(TOOL, 'verify', 'frame').stdout.decode()
            place = re.search(r'offset (\d+): .*array', done)
            check(place and start <= int(place[1]) <= start + 60, done)
            said = repair('frame', 'out', '--force', whole=True)
            check('metalayer b2nd is mended: ' in said and place[0] in said,
                  said)
            check_frame_array('out', items)
            check_shape('out')
            repair('frame', '--in-place', whole=True)
            check_frame_array('frame', items)


def check_frame_array(path, items):
    b2frame('verify', path)
    check(b2frame('cat', path) == items, path + ': other items')


def make_sparse_items():
    """Make an array of zeros, except for the last row of chunks.  Return its
    items."""
    items = bytes(40 * 60 * 8) + noise(10 * 60 * 8)
    b2frame('create', '--force', '--shape', '50,60', '--dtype', '<f8', '--chunks',
            '10,60', '--blocks', '5,60', '-', 'frame', stdin=items)
    return items


def an_array_with_runs_of_zeros_keeps_its_size():
    items = make_sparse_items()
    chunks = info('frame', '--chunks')['chunks']
    # The header of the only stored chunk claims too large a size.
    patch('frame', chunks[4]['offset'] + 4, b'\xff' * 4)
    said = repair('frame', 'out', '--force', whole=False)
    check('of %d bytes %d are lost' % (len(items), 10 * 60 * 8) in said, said)
    check(b2frame('cat', 'out') == bytes(len(items)), 'other items')
    check(info('out')['nbytes'] == len(items), 'size')


def an_index_of_an_older_state_does_not_hide_a_loss():
    """The older index is from the creation of the frame, before any chunk was
    stored."""
    items = make_sparse_items()
    write('frame', read('frame')[:-1000])
    said = repair('frame', 'out', '--force', whole=False)
    check('of %d bytes 0 are lost' % len(items) not in said, said)
    check('the index is lost' in said, said)


def an_array_may_lose_its_dtype():
    items, path, start = make_array()
    patch(path, start + DTYPE + 5, b'\0')
    said = repair('frame', 'out', whole=False)
    check('metalayer b2nd is saved without its dtype: ' in said, said)
    check_frame_array('out', items)
    check_shape('out', None)


def an_array_tells_that_the_typesize_is_wrong():
    items, path, _ = make_array()
    patch(path, 48, struct.pack('>I', 1000))
    said = repair('frame', 'out', whole=True)
    check('with the typesize of the chunks: ' in said, said)
    check_frame_array('out', items)
    check(info('out')['typesize'] == 8, 'typesize')


def an_extent_that_follows_from_the_others_is_mended():
    """A block extent follows from the blocksize, and a chunk extent from the
    chunksize if the chunk needs no padding."""
    for offset, value in ((BLOCK_0, b'\x7f'), (BLOCK_0 + 3, b'\0'),
                          (CHUNK_0 + 5, b'\x7f'), (CHUNK_0 + 8, b'\0')):
        items, path, start = make_array(blocks=(7, 1))
        patch(path, start + offset, value)
        fails('array', 'cat', 'frame')
        said = repair('frame', 'out', '--force', whole=True)
        check('metalayer b2nd is mended: ' in said, said)
        check_frame_array('out', items)
        check_shape('out', blocks=(7, 1))


def an_array_whose_extents_are_damaged_becomes_chunks():
    """Neither the shape nor a chunk whose last block is cut follows from other
    fields."""
    for offset in ITEMS_0, CHUNK_0:
        _, path, start = make_array()
        chunks = b2frame('cat', '--raw', 'frame')
        layer = b2frame('meta', 'get', '--fixed', 'frame', 'b2nd')
        patch(path, start + offset, b'\x7f')
        fails('array', 'cat', 'frame')
        said = repair('frame', 'out', '--force', whole=False)
        check('metalayer b2nd is kept as vlmetalayer damaged.NAME: offset ' in
              said, said)
        check_frame('out', chunks)
        kept = b2frame('meta', 'get', 'out', 'damaged.b2nd')
        check(len(kept) == len(layer) and kept[:offset] == layer[:offset] and
              kept[offset + 1:] == layer[offset + 1:], 'metalayer')


def an_array_that_is_cut_short_has_zeros_at_its_end():
    items, path, _ = make_array()
    b2frame('compact', 'frame')
    chunks = info('frame', '--chunks')['chunks']
    check(len(chunks) == 9, len(chunks))
    os.truncate(path, chunks[6]['offset'] + 100)
    said = repair('frame', 'out', whole=False)
    size = chunks[0]['nbytes']
    check('frame: the header counts %d bytes in 9 chunks, of which %d bytes in '
          '3 chunks are missing; zeros take their place, behind the others\n'
          % (9 * size, 3 * size) in said, said)
    check('of %d bytes %d are lost' % (9 * size, 3 * size) in said, said)
    check_shape('out')
    rows = 40 * 60 * 8
    check_frame_array('out', items[:rows] + bytes(len(items) - rows))


def what_a_frame_that_is_cut_short_lacks_is_told():
    content = noise(4 << 20)
    b2frame('create', '--chunksize', '64K', '-', 'frame', stdin=content)
    b2frame('compact', 'frame')
    chunks = info('frame', '--chunks')['chunks']
    os.truncate('frame', chunks[10]['offset'] + 1)
    for words in (), ('out',):
        said = repair('frame', *words, whole=False)
        check('frame: the header counts 4194304 bytes in 64 chunks, of which '
              '3538944 bytes in 54 chunks are missing\n' in said, said)
        check(said.endswith(
            'frame: 10 of 64 chunks and 0 metalayers are saved; of 4194304 '
            'bytes 3538944 are lost\n'), said)
    check_frame('out', content[:10 << 16])


def an_index_of_old_is_not_taken_for_the_last():
    """An array starts as zeros, and the index of that state stays in the
    file."""
    _, path, _ = make_array()
    shutil.copyfile(path, 'frame.whole')
    chunks = info('frame', '--chunks')['chunks']
    # The last chunk in the file is not always number 8, because a slow machine
    # reuses the extents that its first chunks have freed.
    last = max(range(9), key=lambda i: chunks[i]['offset'])
    os.truncate(path, chunks[last]['offset'] + 100)
    said = repair('frame', 'out', whole=False)
    check('the index is lost' in said and '8 of 9 chunks' in said, said)
    saved = b2frame('cat', '--raw', 'out')
    size = chunks[0]['nbytes']
    whole = b2frame('cat', '--raw', 'frame.whole')
    for i in range(9):
        check(i == last or whole[i * size:(i + 1) * size] in saved,
              'chunk %d' % i)


def an_old_index_among_the_chunks_is_no_data():
    """Both in a frame whose chunks differ in size, and without a header."""
    for name, has_header in (('varchunks-lz4', True), ('filter-order-0', False),
                             ('plus1item-lz4', True)):
        content = take(name)
        layout = Layout('frame')
        ends = [c['offset'] + c['cbytes'] - layout.header_len
                for c in info('frame', '--chunks')['chunks']]
        # Either all its places have chunks, or most of them have none now.
        for places in ([0], [0, ends[0] + 1, ends[0] + 2, 1 << 9, 1 << 10]):
            end = layout.header_len + ends[0]
            write('frame', layout.data[:end] + index_of(places) +
                  layout.data[end:layout.index] + b'\xaa' * 60)
            if not has_header:
                patch('frame', 0, bytes(layout.header_len))
            said = saved_as(content, '--force')
            check('left over' not in said, said)


def small_numbers_are_no_old_index():
    content = struct.pack('<2000q', *range(2000))
    b2frame('create', '--typesize', '8', '--chunksize', '1K', '-', 'frame',
            stdin=content)
    layout = Layout('frame')
    write('frame', layout.data[:layout.index] + b'\xaa' * 60)
    saved_as(content)
    patch('frame', 0, bytes(layout.header_len))
    saved_as(content, '--force')


def in_place_keeps_owner_and_mode():
    """An index may also have the name of the first sparse frames."""
    for name, old in (('v2231-plain', None), ('v204-dir', None),
                      ('v204-dir', 'frame/chunks.b2eframe')):
        content = take(name)
        index = 'frame/chunks.b2frame' if os.path.isdir('frame') else 'frame'
        layout = Layout(index)
        os.truncate(index, layout.frame_len - 23)
        os.chmod(index, 0o640)
        os.utime(index, (1000, 1000))
        if old:
            os.rename(index, old)
        repair('--in-place', 'frame', whole=True)
        check_frame('frame', content)
        check_names('frame')
        check((os.stat(index).st_mode & 0o777, os.stat(index).st_mtime) ==
              (0o640, 1000), 'mode or time')
        inode = os.stat('frame').st_ino
        repair('--in-place', 'frame', whole=True)
        check(os.stat('frame').st_ino == inode, 'a whole frame is replaced')
        (shutil.rmtree if os.path.isdir('frame') else os.unlink)('frame')


def a_lost_index_gets_the_mode_of_its_directory():
    content = take('threads-4-dir')
    os.unlink('frame/chunks.b2frame')
    os.chmod('frame', 0o750)
    repair('--in-place', 'frame', whole=False)
    check_frame('frame', content)
    mode = os.stat('frame/chunks.b2frame').st_mode & 0o777
    check(mode == 0o640, 'mode 0%o' % mode)


def a_frame_inside_a_file_ends_where_the_next_begins():
    content = take('v2231-plain')
    data = read('frame')
    other = read(os.path.join(DATA, 'plus1item-lz4.b2frame'))
    end = Layout('frame').frame_len
    write('frame', bytes(100) + data[:end - 5] + b'wrong' + other)
    said = repair('--frame-offset', '100', 'frame', 'out', whole=True)
    check('cannot be opened' not in said, said)
    write('frame', bytes(100) + data[:end - 20] + bytes(20) + other)
    said = repair('--frame-offset', '100', 'frame', 'out', '--force',
                  whole=True)
    check('an index was found' in said, said)
    check_frame('out', content)


def the_input_is_left_alone():
    take('v2231-plain')
    os.truncate('frame', 3000)
    before = read('frame'), os.stat('frame').st_mtime_ns
    repair('frame', whole=False)
    check_names('frame')
    repair('frame', 'out', whole=False)
    check((read('frame'), os.stat('frame').st_mtime_ns) == before, 'changed')


def nothing_is_overwritten_without_force():
    content = take('v2231-plain')
    write('out', b'mine')
    done = harness.run(TOOL, 'repair', 'frame', 'out')
    check(done.returncode == 1 and b'out: exists already' in done.stderr,
          done.stderr)
    check(read('out') == b'mine', 'overwritten')
    saved_as(content, '--force', whole=True)


def wrong_usage_is_told():
    misuse('repair', 'a', 'b', 'c')
    misuse('repair', '--in-place', 'a', 'b')
    misuse('repair', '--in-place', '--frame-offset', '1', 'a')
    misuse('repair', '--json', 'a')


def what_is_no_frame_has_no_chunks():
    write('noise', noise(100000))
    write('empty', b'')
    os.mkdir('directory')
    for name in ('noise', 'empty', 'directory'):
        fails('no chunk is left', 'repair', name, 'out')
    fails('No such file', 'repair', 'none')


def a_flood_of_headers_takes_no_flood_of_time():
    """The file is full of chunk headers that each claim half of it."""
    size = 1 << 22
    head = (bytes((5, 1, 7, 4)) + struct.pack('<III', 1 << 20, 1 << 10,
                                              size >> 1) + bytes(16))
    write('frame', bytes(97) + head * (size // len(head)))
    start = time.monotonic()
    harness.run(TOOL, 'repair', 'frame')
    took = time.monotonic() - start
    check(took < 60, 'takes %d s' % took)


def a_flood_of_indexes_takes_no_flood_of_time():
    """Each chunk claims to be an index of four million equal entries."""
    count = 24000
    chunk = struct.pack('<4B3I15xBq', 5, 1, 5, 8, 32 << 20, 1 << 20, 40,
                        3 << 4, 7)
    write('frame', bytes(100) + chunk * count)
    said = repair('frame', 'out', whole=False)
    check('%d of %d chunks' % (count, count) in said, said)


def hostile_frames_do_no_harm():
    top = os.path.join(corpus.DATA, 'bad')
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        path = os.path.join(top, row['path'])
        done = harness.run(TOOL, 'repair', path, 'out')
        if os.path.exists('out'):
            said = harness.run(TOOL, 'verify', 'out').stdout.decode()
            check(all(line.startswith('out: ok') or
                      re.search('not supported|match their sums$|'
                                '(a filter|codec zfp) (needs|cannot)', line)
                      for line in said.splitlines()), path + ': ' + said)
            (shutil.rmtree if os.path.isdir('out') else os.unlink)('out')
        else:
            said = done.stderr.decode()
            check(done.returncode == 1 and re.fullmatch('b2frame: .*\n', said),
                  '%s: says %s' % (path, said))
    check(harness.SANITIZED or harness.peak_memory() < 512 << 20,
          'takes %d MiB' % (harness.peak_memory() >> 20))


def a_full_disk_leaves_nothing():
    with small_disk(64 << 10) as disk:
        b2frame('create', '-', 'frame', stdin=noise(100 << 10))
        done = harness.run(TOOL, 'repair', 'frame', disk + '/out')
        check(done.returncode == 1 and b'No space left' in done.stderr,
              done.stderr)
        check_names(directory=disk)


def an_interrupt_leaves_nothing():
    b2frame('create', '-', 'frame', '--chunksize', '4K', stdin=noise(64 << 20))
    with subprocess.Popen([TOOL, 'repair', 'frame', 'out'],
                          stdout=subprocess.DEVNULL,
                          env=harness.environment()) as tool:
        while not has_begun(tool) and tool.poll() is None:
            pass
        tool.send_signal(signal.SIGINT)
        status = tool.wait()
    check(status == -signal.SIGINT, 'status %d' % status)
    check_names('frame')


main(a_good_frame_is_copied, a_trailer_that_is_cut_off_costs_its_metalayers,
     a_trailer_that_lacks_its_end_costs_nothing, a_header_may_lie_about_lengths,
     a_frame_without_header_has_its_chunks,
     without_index_chunks_come_in_the_order_of_the_file,
     special_chunks_are_lost_with_the_index, a_damaged_chunk_becomes_zeros,
     a_missing_chunk_file_becomes_zeros,
     a_chunk_without_bytes_has_nothing_to_decode, chunk_files_do_without_their_index,
     an_append_that_was_killed_is_completed,
     a_damaged_index_gives_what_is_left_of_it,
     bytes_of_an_array_that_others_tell_are_mended,
     an_array_with_runs_of_zeros_keeps_its_size,
     an_index_of_an_older_state_does_not_hide_a_loss,
     an_array_may_lose_its_dtype,
     an_array_tells_that_the_typesize_is_wrong,
     an_extent_that_follows_from_the_others_is_mended,
     an_array_whose_extents_are_damaged_becomes_chunks,
     an_array_that_is_cut_short_has_zeros_at_its_end,
     what_a_frame_that_is_cut_short_lacks_is_told,
     an_index_of_old_is_not_taken_for_the_last,
     an_old_index_among_the_chunks_is_no_data, small_numbers_are_no_old_index,
     in_place_keeps_owner_and_mode,
     a_lost_index_gets_the_mode_of_its_directory,
     a_frame_inside_a_file_ends_where_the_next_begins,
     the_input_is_left_alone, nothing_is_overwritten_without_force,
     wrong_usage_is_told, what_is_no_frame_has_no_chunks,
     a_flood_of_headers_takes_no_flood_of_time,
     a_flood_of_indexes_takes_no_flood_of_time, hostile_frames_do_no_harm,
     a_full_disk_leaves_nothing, an_interrupt_leaves_nothing)
