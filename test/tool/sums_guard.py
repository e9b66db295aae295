#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame sums guard; timeout 300
"""The guard of a frame is as documented, and tells damage of metalayers and old
chunks from changes by other programs.

usage: sums_guard.py B2FRAME [CASE...]
"""

import json
import os
import random
import shutil
import struct
import sys

import corpus
import harness
import sums_format
from samples import files, patched, samples
from scene import (TOOL, b2frame, check, fails, info, layouts, main, noise,
                   read, write)
from sums_format import Sums

if not sums_format.XXHASH:
    print('libxxhash is not installed')
    sys.exit(harness.SKIP)


def flipped(path, bit):
    return patched(path, bit // 8,
                   bytes([read(path, bit // 8, 1)[0] ^ 1 << bit % 8]))


def sums_of(path):
    return Sums(path, json.loads(b2frame('info', '--json', '--chunks', path)))


def verified(path, *options, status=0):
    """Verify a frame.  Return what is said of it."""
    done = harness.run(TOOL, 'verify', '--json', *options, path)
    check(done.returncode == status, '%s: status %d: %s' %
          (path, done.returncode, done.stdout))
    return json.loads(done.stdout)[0]


def is_as_documented(path, what=''):
    """Compare the sums of a frame with what the manual says they are.  Return
    them."""
    sums = sums_of(path)
    what = '%s: %s' % (path, what)
    check(sums.in_force, what + 'no sums are in force')
    check(sums.guard == sums.expected_guard(), what + 'guard')
    check(sums.fingerprint == sums.expected_fingerprint(), what + 'fingerprint')
    tags = sums.expected_tags()
    check(None not in tags, '%s: record of chunk %s' % (what, tags))
    if sums.ntags:
        check(all(found in (0, right)
                  for found, right in zip(sums.tags, tags)),
              '%s: tags %s, not %s' % (what, sums.tags, tags))
    return sums


def array(path, *options):
    """Make an array of two dimensions.  Return its items."""
    content = struct.pack('<6000i', *range(6000))
    b2frame('create', *options, '--shape', '60,100', '--dtype', '<i4',
            '--chunks', '20,30', '--blocks', '7,8', write('content', content),
            path)
    return content


def sums_are_as_documented():
    for path, _ in samples(b2frame):
        b2frame('meta', 'set', path, 'one', '-', stdin=b'content')
        b2frame('meta', 'set', path, 'two', '-', stdin=bytes(3000))
        sums = is_as_documented(path)
        check(list(sums.tags) == sums.expected_tags(), 'tags of %s' % path)
    for layout in harness.LAYOUTS:
        array(layout, '--layout', layout)
        check(sums_format.le64(is_as_documented(layout).guard,
                               sums_format.ARRAY), 'array')


def random_change(path, rng):
    """Change a frame by some verb.  Return which one."""
    found = info(path)
    n, size = found['nchunks'], found['chunksize']
    data = rng.choice((noise(size, rng.random()), bytes(size), b'ab' * 999))
    write('chunk', data[:size].ljust(size, b'x'))
    if n == 1:
        words = ('append', path, 'chunk')
        b2frame(*words)
        return words
    words = rng.choice((
        ('append', path, 'chunk'), ('update', path, str(rng.randrange(n)),
                                    'chunk'),
        ('insert', path, str(rng.randrange(n)), 'chunk'),
        ('delete', path, str(rng.randrange(n))),
        ('truncate', '--size', str(size * rng.randrange(1, n + 3)), path),
        ('reorder', path, ','.join(map(str, rng.sample(range(n), n)))),
        ('meta', 'set', path, 'layer%d' % rng.randrange(3), 'chunk'),
        ('compact', path)))
    b2frame(*words)
    return words


@layouts
def every_change_leaves_sums_as_documented(layout):
    rng = random.Random(layout)
    write('content', noise(20000))
    b2frame('create', '--layout', layout, '--chunksize', '2000', '--blocksize',
            '500', 'content', 'f')
    for _ in range(25):
        words = random_change('f', rng)
        sums = is_as_documented('f', '%s: ' % ' '.join(words))
        check(list(sums.tags) == sums.expected_tags(),
              'tags after %s' % ' '.join(words))
    check(verified('f')['ok'], 'verify')


def many_chunks_have_no_tags():
    """Tags end where there are too many chunks, and come back for new ones."""
    size = 4 * sums_format.TAGS_MAX
    write('content', noise(size))
    b2frame('create', '--chunksize', '4', '--typesize', '4', '--clevel', '0',
            'content', 'f')
    check(len(is_as_documented('f').tags) == sums_format.TAGS_MAX, 'tags')
    b2frame('append', 'f', '-', stdin=b'1234')
    check(not is_as_documented('f').tags, 'tags of many')
    b2frame('truncate', '--size', str(size), 'f')
    check(not any(is_as_documented('f').tags), 'old tags')
    b2frame('update', 'f', '7', '-', stdin=b'abcd')
    tags = is_as_documented('f').tags
    check([i for i, tag in enumerate(tags) if tag] == [7], 'new tag')
    b2frame('compact', 'f')
    check(all(is_as_documented('f').tags), 'tags after compact')


def frames_of_others_stay_partly_unsummed():
    shutil.copyfile(next(row.path for row in corpus.data_frames()
                         if row.path.endswith('/varchunks-lz4.b2frame')), 'f')
    b2frame('append', 'f', '-', stdin=noise(1000))
    b2frame('append', 'f', '-', stdin=noise(3000))
    sums = is_as_documented('f')
    check(sums.ranges() and sums.tags[-1] and not sums.tags[0], 'f')


def layered(layout):
    """Make a frame with vlmetalayers.  Return its content and theirs."""
    content = noise(20000)
    b2frame('create', '--force', '--layout', layout, '--chunksize', '5000',
            write('content', content), 'f')
    layers = {'one': b'first', 'two': bytes(300), 'three': noise(400)}
    for name, data in layers.items():
        b2frame('meta', 'set', 'f', name, '-', stdin=data)
    return content, layers


def are_right_or_refused(layers):
    """Check that no wrong metalayer is shown.  Return whether one is refused."""
    refused = False
    for name, data in layers.items():
        done = harness.run(TOOL, 'meta', 'get', 'f', name)
        check(done.returncode == 1 or done.stdout == data, name)
        refused |= done.returncode == 1
    return refused


@layouts
def a_flipped_bit_in_the_trailer_is_seen(layout):
    content, layers = layered(layout)
    name = files('f')[-1]
    sums = sums_of('f')
    rng = random.Random(layout)
    seen = 0
    for at in range(sums.trailer_off, sums.frame_len - 23, 29):
        with flipped(name, 8 * at + rng.randrange(8)):
            what = 'byte %d of the trailer' % (at - sums.trailer_off)
            check(b2frame('cat', 'f') == content, what)
            if are_right_or_refused(layers):
                verified('f', status=1)
                seen += 'must be repaired' in fails('offset', 'append', 'f',
                                                    'content')
    check(seen > 15, '%d are seen' % seen)
    check(verified('f')['ok'], 'the frame is spoiled')


@layouts
def repair_saves_the_vlmetalayers_that_are_right(layout):
    content, layers = layered(layout)
    name = files('f')[-1]
    _, off, _ = sums_of('f').vl()[1]
    with flipped(name, 8 * (off + 5 + 3)):
        are_right_or_refused(layers)
        b2frame('cat', '-o', 'sums=off', 'f')
        harness.run(TOOL, 'repair', '--force', 'f', 'saved')
    check(b2frame('cat', 'saved') == content, 'content')
    for layer in 'one', 'three':
        check(b2frame('meta', 'get', 'saved', layer) == layers[layer], layer)
    fails('', 'meta', 'get', 'saved', 'two')
    is_as_documented('saved')


def b2nd_of(path):
    """Return the place of the metalayer of an array, and its content."""
    for name, off, content in sums_of(path).fixed():
        if name == b'b2nd':
            return off + 5, content
    raise AssertionError('%s is no array' % path)


@layouts
def a_flipped_bit_of_a_shape_is_seen(layout):
    """Unless the same number of chunks holds it: then verify says so."""
    array('f', '--layout', layout)
    name = files('f')[-1]
    off, content = b2nd_of('f')
    shape = 8 * 4, 8 * (4 + 9 * 2)
    dtype = 8 * (len(content) - 9)
    noted = 0
    for bit in range(0, 8 * len(content), 1 if layout == 'sparse' else 7):
        with flipped(name, 8 * off + bit):
            found = harness.run(TOOL, 'verify', '--json', 'f')
            result = json.loads(found.stdout)[0]
            if found.returncode == 1:
                continue
            noted += 1
            check(shape[0] <= bit < shape[1] or bit >= dtype or
                  8 <= bit < 16, 'bit %d is not seen' % bit)
            check(len(result['notes']) == 1, 'bit %d: %s' % (bit, result))
    check(3 < noted < 100, '%d are noted' % noted)
    check(not verified('f')['notes'], 'the frame is spoiled')


@layouts
def a_chunk_shape_in_the_padding_is_seen(layout):
    """Chunks of 20 and of 21 rows both take three blocks of 7."""
    array('f', '--layout', layout)
    content = b2frame('cat', 'f')
    name = files('f')[-1]
    off, layer = b2nd_of('f')
    rows = off + 4 + 9 * 2 + 1 + 1 + 3
    check(read(name, rows, 1) == bytes([20]), 'rows of a chunk')
    with patched(name, rows, bytes([21])):
        check('shape' in verified('f', status=1)['faults'][0]['reason'], 'f')
        fails('must be repaired', 'append', 'f', 'content')
        harness.run(TOOL, 'repair', '--force', 'f', 'saved')
    check(b2nd_of('saved')[1] == layer, 'the metalayer is not restored')
    check(b2frame('cat', 'saved') == content, 'content')


@layouts
def a_metalayer_may_be_overwritten_by_others(layout):
    """It is noted, no change is refused, and the next one makes a new sum."""
    b2frame('create', '--layout', layout, '/dev/null', 'f')
    for name in 'one', 'two':
        b2frame('meta', 'set', '--fixed', 'f', name, '-', stdin=b'before')
    b2frame('append', 'f', '-', stdin=noise(5000))
    name = files('f')[-1]
    at = read(name).index(b'before')
    with open(name, 'r+b') as file:
        file.seek(at)
        file.write(b'others')
    notes = verified('f')['notes']
    check(len(notes) == 1 and notes[0]['offset'] == at, notes)
    check(b'note: ' in b2frame('verify', 'f'), 'verify')
    check(b2frame('meta', 'get', 'f', 'one') == b'others', 'content')
    b2frame('append', 'f', '-', stdin=noise(300))
    check(not verified('f')['notes'], 'notes')
    is_as_documented('f')
    with patched(name, at - 20, b'\xff'):
        verified('f', status=1)


def twins(layout):
    """Make two frames whose chunks lie at the same places.  Return contents."""
    contents = []
    for i in range(2):
        contents.append(noise(20000, i))
        b2frame('create', '--layout', layout, '--clevel', '0', '--chunksize',
                '5000', write('content', contents[i]), 'f%d' % i)
    return contents


@layouts
def an_old_chunk_in_its_place_is_refused(layout):
    new, old = twins(layout)
    sums = sums_of('f0'), sums_of('f1')
    check(is_as_documented('f0').tags != is_as_documented('f1').tags, 'tags')
    name = 'f0/00000002.chunk' if layout == 'sparse' else 'f0'
    at = sums[0].header_len + sums[0].place(sums[0].info['chunks'][2])
    at, size = (0, os.path.getsize(name)) if layout == 'sparse' else (at, 5064)
    with patched(name, at, read(name.replace('f0', 'f1'), at, size)):
        said = fails('an older chunk', 'cat', '--offset', '10000', '--length',
                     '5000', 'f0')
        check('chunk 2' in said, said)
        check(b2frame('cat', '--length', '10000', 'f0') == new[:10000], 'before')
        check(b2frame('cat', '--offset', '15000', 'f0') == new[15000:], 'after')
        faults = verified('f0', status=1)['faults']
        check([fault['chunk'] for fault in faults] == [2], faults)
        verified('f0', '--sums', status=1)
        harness.run(TOOL, 'repair', 'f0', 'saved')
        check(b2frame('cat', '-o', 'sums=off', 'f0')[10000:15000] ==
              old[10000:15000], 'without sums')
        # Writing the frame anew does not make it right.
        copy = shutil.copytree if layout == 'sparse' else shutil.copyfile
        copy('f0', 'copy')
        b2frame('compact', 'copy')
        check(harness.run(TOOL, 'cat', 'copy').returncode == 1, 'copy')
    check(b2frame('cat', 'saved') == new[:10000] + bytes(5000) + new[15000:],
          'repair')
    check(b2frame('cat', 'f0') == new, 'the frame is spoiled')


@layouts
def a_lost_record_loses_nothing(layout):
    """The tag shows that the chunk is right."""
    new, _ = twins(layout)
    sums = sums_of('f0')
    chunk = sums.info['chunks'][1]
    record = sums.check_record(sums.place(chunk))
    name = 'f0/00000001.chunk' if layout == 'sparse' else 'f0'
    at = chunk.get('offset', 0) + chunk['cbytes']
    with patched(name, at, noise(len(record))):
        check(b2frame('cat', 'f0') == new, 'content')
        check(verified('f0')['ok'], 'verify')
        copy = shutil.copytree if layout == 'sparse' else shutil.copyfile
        copy('f0', 'copy')
        b2frame('compact', 'copy')
        check(b2frame('cat', 'copy') == new, 'compact')
        with flipped(name, 8 * (at - 100)):
            check(harness.run(TOOL, 'cat', 'f0').returncode == 1, 'damage')


@layouts
def lost_tags_lose_nothing(layout):
    content = noise(20000)
    b2frame('create', '--layout', layout, '--chunksize', '100',
            write('content', content), 'f')
    sums = is_as_documented('f')
    name = files('f')[-1]
    with patched(name, sums.guard_off - 4 * sums.ntags,
                 bytes(4 * sums.ntags)):
        check(b2frame('cat', 'f') == content, 'content')
        faults = verified('f', '--sums', status=1)['faults']
        check(len(faults) == 1 and 'tags' in faults[0]['reason'], faults)
        copy = shutil.copytree if layout == 'sparse' else shutil.copyfile
        copy('f', 'copy')
    b2frame('append', 'copy', '-', stdin=noise(100))
    check(verified('copy')['ok'], 'tags are made again')
    tags = is_as_documented('copy').tags
    check(tags[-1] and not any(tags[:-1]), tags)


def guard_of_kind(kind, sums):
    """Make the frame file that another version wrote."""
    index_end = sums.index_off + len(sums.index)
    guard = (b'b2guard' + bytes([kind]) + bytes(16) +
             sums_format.record_of(sums.index, 0))
    data = bytearray(sums.data[:index_end] + guard + sums.stamp +
                     sums.data[sums.trailer_off:])
    struct.pack_into('>Q', data, 16, len(data))
    sums.frame_len, sums.guard = len(data), guard
    data[-16:] = sums.expected_fingerprint()
    return bytes(data)


@layouts
def a_guard_of_another_kind_is_ignored(layout):
    content = noise(20000)
    for chunksize, kind in ('5000', 1), ('100', 1), ('5000', 3):
        b2frame('create', '--force', '--layout', layout, '--clevel', '0',
                '--chunksize', chunksize, write('content', content), 'f')
        name = files('f')[-1]
        write(name, guard_of_kind(kind, sums_of('f')))
        check(b2frame('cat', 'f') == content, 'content')
        check(not info('f')['sums']['in_force'], 'sums')
        check(verified('f')['summed'] == 0, 'verify')
        b2frame('append', 'f', '-', stdin=noise(100))
        sums = is_as_documented('f')
        check(sums.ranges() and sums.tags[-1], 'the new chunk')


main(sums_are_as_documented, every_change_leaves_sums_as_documented,
     many_chunks_have_no_tags, frames_of_others_stay_partly_unsummed,
     a_flipped_bit_in_the_trailer_is_seen,
     repair_saves_the_vlmetalayers_that_are_right,
     a_flipped_bit_of_a_shape_is_seen, a_chunk_shape_in_the_padding_is_seen,
     a_metalayer_may_be_overwritten_by_others,
     an_old_chunk_in_its_place_is_refused, a_lost_record_loses_nothing,
     lost_tags_lose_nothing, a_guard_of_another_kind_is_ignored)
