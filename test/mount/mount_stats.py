#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount stats
"""A mount counts its work, and its figures are right.

usage: mount_stats.py FRAMEFS [TEST...]
"""

import errno
import json
import mmap
import os
import random
import signal
import subprocess
import time

from mounted import (B2FRAME, FRAMEFS, PATIENCE, Mount, b2frame, check,
                     chunk_offset, error_of, frame, harness, main, opened,
                     read, sh, wait_for, write)

BLOCK = 64 << 10
NBLOCKS = 64
SIZE = NBLOCKS * BLOCK
ATTRIBUTE = 'user.framefs.stats'


def run(*words):
    return subprocess.run([FRAMEFS, *map(str, words)], check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          env=harness.environment(), timeout=PATIENCE)


def stats(mount):
    done = run('--stats', '--json', mount.path)
    check(done.returncode == 0, '--stats: ' + done.stderr)
    check(done.stdout.count('\n') == 1, 'JSON on more than a line')
    return json.loads(done.stdout)


def make(name, data, *options):
    write('raw', data)
    b2frame('create', '--chunksize', '1M', '--blocksize', str(BLOCK),
            '--filters', 'none', *options, 'raw', 'src/' + name + '.b2frame')
    # What was read of a frame that had just changed is read again.
    wait_for(lambda: time.time() -
             os.stat('src/' + name + '.b2frame').st_ctime > 0.5,
             'the frame to be old enough')


def read_direct(fd, off, size):
    """Read without the kernel's cache.  A test that counts the bytes reads like
    this, because the kernel asks again for pages that it has dropped, and it
    drops pages whenever anybody on the machine tells it to."""
    with mmap.mmap(-1, size) as buffer:
        check(os.preadv(fd, [buffer], off) == size, 'a short read')
        return bytes(buffer)


def direct(path):
    return opened(path, os.O_RDONLY | os.O_DIRECT)


def texts(size, seed=1):
    """Return bytes that compress well, but not to almost nothing."""
    words = random.Random(seed).randbytes(size // 4)
    return b''.join(words[i:i + 1024] + bytes(3072)
                    for i in range(0, len(words), 1024))


def blocks_and_bytes_are_those_that_were_read():
    os.mkdir('src')
    data = texts(SIZE)
    make('a', data)
    with Mount('src', 'mnt', '-o', 'readahead=0') as mount, \
            direct(mount / 'a') as fd:
        check(stats(mount)['read']['blocks_decoded'] == 0, 'before a read')
        check(read_direct(fd, 0, SIZE) == data, 'content')
        first = stats(mount)
        check(first['read']['blocks_decoded'] == NBLOCKS, first)
        check(first['read']['bytes'] == SIZE, first)
        check(first['read']['decoded'] == SIZE, first)
        stored = os.stat('src/a.b2frame').st_size
        check(stored < SIZE // 2, 'it does not compress')
        check(abs(first['read']['decoded_from'] - stored) < 4096, first)
        check(first['cache']['misses'] > 0, first)
        check(SIZE < first['cache']['used'] <= first['cache']['size'], first)
        read_direct(fd, BLOCK, BLOCK)
        again = stats(mount)
        check(again['read']['blocks_decoded'] == NBLOCKS, again)
        check(again['read']['bytes'] == SIZE + BLOCK, again)
        check(again['cache']['hits'] == first['cache']['hits'] + 1, again)
        check(again['cache']['misses'] == first['cache']['misses'], again)
        check(again['errors'] == 0, again)


def one_block_is_decoded_for_a_small_read():
    os.mkdir('src')
    make('a', texts(SIZE))
    with Mount('src', 'mnt', '-o', 'readahead=0') as mount, \
            direct(mount / 'a') as fd:
        read_direct(fd, 5 * BLOCK, 4096)
        got = stats(mount)
        check(got['read']['blocks_decoded'] == 1, got)
        check(got['read']['bytes'] == 4096, got)
        check(got['cache']['misses'] == 1, got)


def all_that_is_decoded_ahead_of_a_reader_is_used():
    os.mkdir('src')
    make('a', texts(SIZE))
    with Mount('src', 'mnt', '-o', 'readahead=2M') as mount, \
            open(mount / 'a', 'rb', buffering=0) as file:
        # A reader that is faster than the threads leaves them nothing to do.
        data = b''.join(file.read(BLOCK) for _ in range(16))
        wait_for(lambda: stats(mount)['readahead']['blocks'] > 0, 'read-ahead')
        check(data + file.read() == texts(SIZE), 'content')
        got = stats(mount)
        ahead = got['readahead']
        check(ahead['blocks'] > 0 and ahead['used'] == ahead['blocks'], got)
        check(ahead['wasted'] == 0, got)
        check(got['read']['blocks_decoded'] == NBLOCKS, got)


def arrays_wider_than_the_cache_are_counted():
    os.mkdir('src')
    for name, chunks in ('wide', '64,256'), ('narrow', '8,4096'):
        sh('head -c 4194304 /dev/urandom | %s create --shape 1024,4096 '
           '--dtype "|u1" --chunks %s --blocks %s - src/%s.b2nd' %
           (B2FRAME, chunks, chunks, name))
    for cache, name, counted in (('1M', 'wide', False), ('200K', 'wide', True),
                                 ('200K', 'narrow', False)):
        with Mount('src', 'mnt', '-o', 'ro,cache=' + cache) as mount:
            read(mount / name)
            # A scan is counted more than once if its requests arrive out of
            # order.
            got = stats(mount)['read']['wide_scans']
            check((got > 0) == counted,
                  'cache=%s, %s: %d' % (cache, name, got))


def what_is_decoded_ahead_and_dropped_is_wasted():
    os.mkdir('src')
    make('a', texts(SIZE))
    make('b', texts(4 * SIZE, 2))
    with Mount('src', 'mnt', '-o', 'cache=8M,readahead=2M') as mount:
        with open(mount / 'a', 'rb', buffering=0) as file:
            for _ in range(16):
                file.read(BLOCK)
            wait_for(lambda: stats(mount)['readahead']['blocks'] >
                     stats(mount)['readahead']['used'], 'read-ahead')
        with direct(mount / 'b') as fd:
            for off in range(4 * SIZE - BLOCK, 0, -BLOCK):
                read_direct(fd, off, BLOCK)
        ahead = stats(mount)['readahead']
        check(ahead['wasted'] > 0, ahead)
        check(ahead['used'] + ahead['wasted'] == ahead['blocks'], ahead)


def bytes_written_are_dirty_then_committed():
    os.mkdir('src')
    data = texts(SIZE)
    # The mount has close=later, because the program that asks for the figures
    # closes the descriptor that it inherits.
    options = 'commit=0,close=later,chunksize=1M,filters=none'
    with Mount('src', 'mnt', '-o', options) as mount:
        with opened(mount / 'a', os.O_CREAT | os.O_WRONLY) as fd:
            os.pwrite(fd, data, 0)
            os.fsync(fd)
            got = stats(mount)
        commits = got['written']['commits']
        check(got['written']['bytes'] == SIZE, got)
        check(got['written']['encoded'] == SIZE, got)
        check(got['written']['encoded_to'] < SIZE // 2, got)
        check(commits > 0 and got['written']['commits_failed'] == 0, got)
        check(got['cache']['dirty'] == 0, got)

        with opened(mount / 'a', os.O_WRONLY | os.O_DIRECT) as fd:
            with mmap.mmap(-1, BLOCK) as buffer:
                os.pwrite(fd, buffer, 0)
            got = stats(mount)
            check(got['written']['bytes'] == SIZE + BLOCK, got)
            check(got['cache']['dirty'] >= BLOCK, got)
            check(got['written']['commits'] == commits, got)
            os.fsync(fd)
            got = stats(mount)
            check(got['cache']['dirty'] == 0, got)
            check(got['written']['commits'] == commits + 1, got)


def damage_that_programs_meet_is_counted():
    os.mkdir('src')
    bad = bytearray(frame(bytes(3 * BLOCK), BLOCK))
    bad[chunk_offset(1, BLOCK) + 12] ^= 0xff
    write('src/a.b2frame', bad)
    with Mount('src', 'mnt', '-o', 'readahead=0') as mount, \
            direct(mount / 'a') as fd:
        read_direct(fd, 0, 4096)
        check(stats(mount)['errors'] == 0, 'before')
        for n in (1, 2):
            check(error_of(read_direct, fd, BLOCK, 4096) == errno.EIO,
                  'a damaged chunk is read')
            check(stats(mount)['errors'] == n, stats(mount))


def the_signal_logs_the_same():
    os.mkdir('src')
    make('a', texts(SIZE))
    with Mount('src', 'mnt', '-o', 'readahead=0') as mount:
        read(mount / 'a')
        mount.daemon.send_signal(signal.SIGUSR1)
        wait_for(lambda: mount.log().endswith('\n'), 'a line of the log')
        line = mount.log().splitlines()[-1]
        check(line.startswith('framefs: {'), line)
        logged = json.loads(line[len('framefs: '):])
        told = stats(mount)
        check(logged.keys() == told.keys(), line)
        check(logged['read'] == told['read'], line)
        check(read(mount / 'a') == texts(SIZE), 'content, after it')


def a_table_says_it_to_people():
    os.mkdir('src')
    make('a', texts(SIZE))
    with Mount('src', 'mnt', '-o', 'readahead=0') as mount:
        with direct(mount / 'a') as fd:
            read_direct(fd, 0, SIZE)
        done = run('--stats', mount.path)
        check(done.returncode == 0 and not done.stderr, done.stderr)
        lines = dict(line.split(None, 1) for line in done.stdout.splitlines())
        check(list(lines) == ['cache', 'hits', 'read', 'decoded', 'readahead',
                              'written', 'encoded', 'commits', 'errors'],
              done.stdout)
        check(lines['read'] == '4.0 MiB', done.stdout)
        check(lines['decoded'].startswith('64 blocks, 4.0 MiB from '),
              done.stdout)


def a_watch_goes_on_until_the_mount_is_gone():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        with subprocess.Popen([FRAMEFS, '--stats', '--watch', mount.path],
                              stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE) as watch:
            check('written/s' in watch.stdout.readline(), 'no heading')
            for _ in range(2):
                check(watch.stdout.readline().split()[-1] == '0', 'errors')
            mount.stop(signal.SIGTERM)
            check(watch.wait(PATIENCE) == 1, 'it ends well')
            check(watch.stderr.read().startswith('framefs: mnt: '),
                  'last words')


def prometheus_gets_each_figure_with_its_type():
    os.mkdir('src')
    make('a', texts(SIZE))
    path = 'mnt"1"'
    os.mkdir(path)
    with Mount('src', path) as mount:
        with direct(mount / 'a') as fd:
            read_direct(fd, 0, BLOCK)
        done = run('--stats', '--prometheus', path)
        check(done.returncode == 0, done.stderr)
        check(run('--stats', '--prometheus', '--json', path).returncode == 2,
              'JSON for Prometheus')
    label = os.path.realpath(path).replace('"', '\\"')
    lines = done.stdout.splitlines()
    values = {}
    for about, kind, value in zip(lines[::3], lines[1::3], lines[2::3]):
        name = about.split()[2]
        wanted = 'counter' if name.endswith('_total') else 'gauge'
        check(kind == '# TYPE %s %s' % (name, wanted), kind)
        check(value.startswith('%s{mountpoint="%s"} ' % (name, label)), value)
        check(name not in values, 'twice: ' + name)
        values[name] = int(value.rsplit(' ', 1)[1])
    check(values['framefs_read_bytes_total'] == BLOCK, values)
    check(values['framefs_decoded_blocks_total'] == 1, values)
    check(values['framefs_cache_size_bytes'] == 256 << 20, values)


def other_places_are_refused():
    os.makedirs('src/dir')
    os.setxattr('src/dir', ATTRIBUTE, b'{}')
    os.setxattr('src', ATTRIBUTE, b'{}')
    with Mount('src', 'mnt') as mount:
        for path, word in (('src', 'framefs is not mounted there'),
                           ('/proc', 'framefs is not mounted there'),
                           (mount / 'dir', 'framefs is not mounted there'),
                           ('none', 'No such file or directory')):
            done = run('--stats', path)
            check(done.returncode == 1 and not done.stdout, path)
            check(done.stderr == 'framefs: %s: %s\n' % (path, word),
                  done.stderr)
        check('cache' in stats(mount), 'an attribute of SOURCE shows')
    for words in (['--stats'], ['--stats', 'a', 'b'], ['--json', 'a', 'b'],
                  ['--watch', 'a']):
        done = run(*words)
        check(done.returncode == 2 and done.stderr, words)


def the_attribute_is_neither_listed_nor_changed():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        check(ATTRIBUTE not in os.listxattr(mount.path), 'it is listed')
        check('cache' in json.loads(os.getxattr(mount.path, ATTRIBUTE)),
              'its value')
        check(error_of(os.setxattr, mount.path, ATTRIBUTE, b'x') ==
              errno.EPERM, 'it is set')
        check(error_of(os.removexattr, mount.path, ATTRIBUTE) == errno.EPERM,
              'it is removed')
    sh('mkdir copy && cp -a mnt/. copy')


def a_frame_on_a_file_tells_too():
    write('a.b2frame', frame(bytes(range(256)) * 64, 4096))
    write('here', b'')
    with Mount('a.b2frame', 'here') as mount:
        with direct(mount.path) as fd:
            read_direct(fd, 0, 1 << 14)
        got = stats(mount)
        check(got['read']['bytes'] == 1 << 14, got)
        check(got['read']['blocks_decoded'] == 4, got)


main(blocks_and_bytes_are_those_that_were_read,
     one_block_is_decoded_for_a_small_read,
     all_that_is_decoded_ahead_of_a_reader_is_used,
     arrays_wider_than_the_cache_are_counted,
     what_is_decoded_ahead_and_dropped_is_wasted,
     bytes_written_are_dirty_then_committed,
     damage_that_programs_meet_is_counted,
     the_signal_logs_the_same,
     a_table_says_it_to_people,
     a_watch_goes_on_until_the_mount_is_gone,
     prometheus_gets_each_figure_with_its_type,
     other_places_are_refused,
     the_attribute_is_neither_listed_nor_changed,
     a_frame_on_a_file_tells_too)
