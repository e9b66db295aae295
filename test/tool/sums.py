#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame sums; timeout 120
"""Bytes of a frame that are damaged are reported, and never decoded.

usage: sums.py B2FRAME [CASE...]

FRAMEFS_FLIPS sets how many bits are flipped, FRAMEFS_OVERWRITES how many blocks
of 4 KiB are overwritten; each in one of the frames, which is then right again.
FRAMEFS_SEED is the seed of both.
"""

import json
import os
import random
import shutil

import corpus
import scene
from samples import files, patched, samples
from scene import TOOL, b2frame, check, harness, main, noise, read, write

FLIPS = int(os.environ.get('FRAMEFS_FLIPS', 400))
OVERWRITES = int(os.environ.get('FRAMEFS_OVERWRITES', 120))
SEED = int(os.environ.get('FRAMEFS_SEED', 1))
BLOCK = 4096


def look(path, content, what):
    """Check that a damaged frame gives its content or an error.  Return whether
    it gives the content."""
    done = harness.run(TOOL, 'cat', path)
    if done.returncode == 0:
        check(done.stdout == content, '%s: wrong bytes: %s' % (path, what))
        return True
    check(content.startswith(done.stdout),
          '%s: wrong bytes before an error: %s' % (path, what))
    check(harness.run(TOOL, 'verify', '--quiet', path).returncode == 1,
          '%s: verify sees no fault: %s' % (path, what))
    return False


def a_flipped_bit_is_seen():
    frames = list(samples(b2frame))
    rng = random.Random(SEED)
    good = 0
    for i in range(FLIPS):
        path, content = frames[i % len(frames)]
        name = rng.choice(files(path))
        bit = rng.randrange(8 * os.path.getsize(name))
        byte = read(name, bit // 8, 1)[0] ^ 1 << bit % 8
        with patched(name, bit // 8, bytes([byte])):
            good += look(path, content, 'bit %d of %s' % (bit, name))
    check(good < FLIPS / 2, '%d of %d flips do no harm' % (good, FLIPS))
    for path, content in frames:
        check(b2frame('cat', path) == content, '%s is spoiled' % path)


def an_overwritten_block_is_seen():
    frames = list(samples(b2frame))
    rng = random.Random(SEED + 1)
    for i in range(OVERWRITES):
        path, content = frames[i % len(frames)]
        name = rng.choice(files(path))
        end = os.path.getsize(name)
        offset = rng.randrange(end) // BLOCK * BLOCK
        size = min(BLOCK, end - offset)
        donor = rng.choice(files(path))
        other = rng.randrange(os.path.getsize(donor)) // BLOCK * BLOCK
        data = rng.choice((bytes(size), read(donor, other, size)))[:size]
        with patched(name, offset, data):
            look(path, content, '%d bytes at %d of %s' % (len(data), offset,
                                                          name))


def verified(path, *options, status=0):
    """Verify a frame.  Return what is said of it."""
    done = harness.run(TOOL, 'verify', '--json', *options, path)
    check(done.returncode == status, '%s: status %d: %s' %
          (path, done.returncode, done.stdout))
    return json.loads(done.stdout)[0]


def sums_alone_find_damage():
    """Flip a bit in each block of 512 bytes of the streams of chunks."""
    rng = random.Random(3)
    for path, _ in samples(b2frame):
        found = verified(path, '--sums')
        check(found['summed'] == found['blocks'] > 0, found)
        name = max(files(path), key=os.path.getsize)
        for start in range(1000, os.path.getsize(name) - 2000, 9999):
            at = start + rng.randrange(512)
            byte = read(name, at, 1)[0] ^ 1 << rng.randrange(8)
            with patched(name, at, bytes([byte])):
                seen = harness.run(TOOL, 'verify', path).returncode
                check(harness.run(TOOL, 'verify', '--sums',
                                  path).returncode == seen,
                      '%s: byte %d' % (name, at))


def frames_of_others_get_sums_on_request():
    """Some of test/data, as far as they can be changed."""
    given = 0
    for row in list(corpus.data_frames())[::8]:
        if row.offset:
            continue
        before = harness.run(TOOL, 'cat', row.path)
        copy = shutil.copytree if os.path.isdir(row.path) else shutil.copyfile
        path = copy(row.path, os.path.basename(row.path))
        done = harness.run(TOOL, 'compact', '--sums', path)
        after = harness.run(TOOL, 'cat', path)
        check((before.returncode, before.stdout) ==
              (after.returncode, after.stdout), '%s is spoiled' % path)
        if done.returncode == 0 and before.returncode == 0:
            found = verified(path, '--sums')
            check(verified(path)['summed'] == found['summed'], path)
            given += found['summed'] == found['blocks'] > 0
    check(given > 10, '%d frames have got sums' % given)


def a_chunk_in_the_place_of_another_is_seen():
    content = noise(5000, 1) + noise(5000, 2)
    write('content', content)
    b2frame('create', '--layout', 'sparse', '--chunksize', '5000', 'content',
            'a')
    first, second = (os.path.join('a', '%08d.chunk' % i) for i in range(2))
    with patched(first, 0, read(second)):
        check(not look('a', content, 'another chunk'), 'it is not seen')


def sums_are_counted_and_ignored_on_request():
    content = noise(50000)
    b2frame('create', '--chunksize', '10000', '--blocksize', '5000', '--clevel',
            '0', write('content', content), 'a')
    check(scene.info('a')['sums'] ==
          {'in_force': True, 'stored': 5, 'summed': 5}, scene.info('a'))
    check(b'5 of 5 stored' in b2frame('info', 'a'), 'info')
    check(b2frame('verify', 'a') == b'a: ok, 10 of 10 blocks have sums\n', 'verify')
    at = os.path.getsize('a') // 2
    with patched('a', at, bytes([read('a', at, 1)[0] ^ 1])):
        said = harness.run(TOOL, 'verify', 'a').stdout.decode().splitlines()
        check(len(said) == 2 and
              said[1] == 'a: 9 of 10 blocks match their sums', said)
        check(verified('a', status=1)['right'] == 9, 'JSON')
        wrong = b2frame('cat', '-o', 'sums=off', 'a')
        check(sum(a != b for a, b in zip(wrong, content)) == 1, 'cat')
        b2frame('convert', '-o', 'sums=off', 'a', 'b')
        check(b2frame('cat', 'b') == wrong, 'convert')
        check(verified('a', '-o', 'sums=off')['summed'] == 0, 'verify')
        check(not scene.info('a', '-o', 'sums=off')['sums']['in_force'], 'info')
    content = mixed('c')
    found = scene.info('c')['sums']
    check(found['in_force'] and found['summed'] == 2 < found['stored'], found)


def repair_saves_no_damaged_block():
    content = noise(50000)
    for options in (('--layout', 'sparse'), ('--clevel', '0')):
        b2frame('create', '--force', '--chunksize', '10000', *options,
                write('content', content), 'a')
        name = files('a')[0]
        at = os.path.getsize(name) // 2
        byte = read(name, at, 1)[0] ^ 1
        with patched(name, at, bytes([byte])):
            harness.run(TOOL, 'repair', '--force', 'a', 'b')
        saved = b2frame('cat', 'b')
        check(len(saved) == len(content) and
              sum(saved[i:i + 10000] == content[i:i + 10000]
                  for i in range(0, 50000, 10000)) == 4 and
              bytes(10000) in saved, 'the damaged chunk is not zeros')
        shutil.rmtree('a', ignore_errors=True)
        shutil.rmtree('b', ignore_errors=True)


def a_copy_of_stored_chunks_has_their_sums():
    """convert copies chunks as they are stored; damaged ones get no sums."""
    for path, content in samples(b2frame):
        layout = 'contiguous' if os.path.isdir(path) else 'sparse'
        b2frame('convert', '--force', '--layout', layout, path, 'copy')
        found = verified('copy', '--sums')
        check(found['summed'] == found['blocks'] ==
              verified(path, '--sums')['blocks'], '%s: %s' % (path, found))
        check(b2frame('cat', 'copy') == content, path)
        name = files(path)[0]
        at = os.path.getsize(name) // 2
        with patched(name, at, bytes([read(name, at, 1)[0] ^ 1])):
            done = harness.run(TOOL, 'convert', '--force', '--layout', layout,
                               path, 'copy')
            check(done.returncode == 1, '%s: damage is copied' % path)
        shutil.rmtree('copy', ignore_errors=True)
        if os.path.exists('copy'):
            os.unlink('copy')


def guarded(path):
    """Return the file with the guard of a frame, and where it starts and ends."""
    for name in files(path):
        data = read(name)
        start = data.rfind(b'b2guard\x02')
        if start >= 0:
            return name, start, data.rfind(b'framefs\x01')
    raise AssertionError('%s has no guard' % path)


def is_readable_in_spite(path, content, damage):
    """Check that a frame with a damaged guard gives its content, and that it is
    told."""
    what = '%s: %s' % (path, damage)
    check(b2frame('cat', path) == content, what)
    found = verified(path, '--sums', status=1)
    check(len(found['faults']) == 1 and 'guard' in found['faults'][0]['reason'],
          '%s: %s' % (what, found))
    check(found['summed'] > 0, what)


def a_lost_guard_loses_nothing():
    for path, content in samples(b2frame):
        name, start, end = guarded(path)
        with patched(name, start, noise(end - start)):
            is_readable_in_spite(path, content, 'noise')
            with patched(name, 37, b'\xff'):
                b2frame('cat', path, status=1)
    with open(name, 'r+b') as file:
        file.seek(start)
        file.write(bytes(end - start))
    b2frame('compact', path)
    check(not verified(path, '--sums')['faults'], 'the guard is not made again')


def mixed(path):
    """Make a frame in which only some chunks have sums, and sizes differ.  Return
    its content."""
    shutil.copyfile(next(row.path for row in corpus.data_frames()
                         if row.path.endswith('/varchunks-lz4.b2frame')), path)
    b2frame('append', path, write('more', noise(1000)))
    b2frame('append', path, write('more', noise(3000)))
    return b2frame('cat', path)


def a_flipped_bit_of_a_guard_loses_nothing():
    content = mixed('mixed')
    name, start, end = guarded('mixed')
    check(end - start > 72 + 16 + 8 + 16, 'there are no ranges and groups')
    for bit in range(8 * start, 8 * end, 13):
        byte = read(name, bit // 8, 1)[0] ^ 1 << bit % 8
        with patched(name, bit // 8, bytes([byte])):
            is_readable_in_spite('mixed', content, 'bit %d' % bit)


main(sums_are_counted_and_ignored_on_request, a_flipped_bit_is_seen, an_overwritten_block_is_seen,
     sums_alone_find_damage, frames_of_others_get_sums_on_request,
     a_chunk_in_the_place_of_another_is_seen, repair_saves_no_damaged_block,
     a_copy_of_stored_chunks_has_their_sums,
     a_lost_guard_loses_nothing, a_flipped_bit_of_a_guard_loses_nothing)
