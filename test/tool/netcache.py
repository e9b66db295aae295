#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: netcache; timeout 120; args b2frame build
"""What was fetched from a server is kept on disk, and nothing wrong is.

usage: netcache.py B2FRAME BUILD_ROOT [TEST...]
"""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time

BUILD = os.path.abspath(sys.argv.pop(2))

# The modules below take the other arguments.
# pylint: disable=wrong-import-position
from remote_library import Library
from s3_server import KEY, S3, SECRET
from scene import (TOOL, b2frame, check, fails, frame, harness, layouts, main, noise,
                   small_disk)
from web import Plan, Web

CHUNK = 300000
CONTENT = noise(12 * CHUNK + 17)
HOUR = 3600


def make(layout, content=CONTENT, chunksize=CHUNK, path='f'):
    return age(frame(path, content, '--layout', layout, '--chunksize',
                     str(chunksize)))


def age(path, seconds=HOUR):
    """Make a frame look as if it had not been changed for a while."""
    then = time.time() - seconds
    for name in [path, *files(path)]:
        os.utime(name, (then, then))
    return path


def files(path):
    return [os.path.join(directory, name)
            for directory, _, names in os.walk(path) for name in names]


@contextlib.contextmanager
def options(*words, path='cache'):
    """Let b2frame keep what it fetches."""
    os.environ['FRAMEFS_REMOTE'] = ','.join(('netcache=' + path,) + words)
    try:
        yield
    finally:
        del os.environ['FRAMEFS_REMOTE']


def cat(url, content=CONTENT):
    check(b2frame('cat', url) == content, 'other content')


@layouts
def a_second_program_asks_nothing_if_nothing_changes(layout):
    for chunksize in 1000, 100000, CHUNK, 1 << 20, 8 << 20:
        make(layout, chunksize=chunksize, path=str(chunksize))
        with Web('.') as web, options('revalidate=inf'):
            cat(web.url + str(chunksize))
            web.forget()
            cat(web.url + str(chunksize))
            b2frame('info', web.url + str(chunksize))
            b2frame('verify', web.url + str(chunksize))
            check(not web.requests, 'asks %s' % web.requests)


@layouts
def a_second_program_asks_for_the_state_only(layout):
    make(layout)
    with Web('.') as web, options('revalidate=0'):
        cat(web.url + 'f')
        count = len(web.requests)
        web.forget()
        cat(web.url + 'f')
        asked = {(r.path, r.range) for r in web.requests}
        index = '/f' if layout == 'contiguous' else '/f/chunks.b2frame'
        check(len(asked) < count / 2 and
              {path for path, _ in asked} <= {'/f', '/f/', index},
              'asks %s' % asked)


def parts_are_kept_too():
    """Reads of other ranges find what earlier ones have fetched."""
    make('contiguous', chunksize=4 << 20)
    with Web('.') as web, Library(BUILD, 'netcache=cache,revalidate=inf') as one:
        with one.open(web.url + 'f') as opened:
            for start in range(0, 3 << 20, 100000):
                check(opened.read(start, 5000) == CONTENT[start:start + 5000],
                      'other content')
        web.forget()
        with options('revalidate=inf'):
            part = b2frame('cat', '--offset', '2000000', '--length', '5000',
                           web.url + 'f')
        check(part == CONTENT[2000000:2005000], 'other content')
        check(not web.requests, 'asks %s' % web.requests)


@layouts
def a_changed_frame_shows(layout):
    make(layout)
    other = CONTENT[::-1]
    with Web('.') as web, options('revalidate=0'):
        cat(web.url + 'f')
        remove('f')
        age(make(layout, other), HOUR // 2)
        cat(web.url + 'f', other)
        cat(web.url + 'f', other)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def chunks_are_kept_of_settled_frames_only():
    """Somebody may still be copying the frame to the server, the index first:
    then a chunk may be an older one."""
    make('sparse')
    newer = make('sparse', CONTENT[::-1], path='newer')
    with Web('.') as web, options('revalidate=0'):
        shutil.copy(newer + '/chunks.b2frame', 'f')
        fails('an older chunk', 'cat', web.url + 'f')
        b2frame('cat', '-o', 'sums=off', web.url + 'f')
        for name in files(newer):
            shutil.copy2(name, 'f')
        cat(web.url + 'f', CONTENT[::-1])


@layouts
def wrong_files_are_found_and_removed(layout):
    make(layout)
    with Web('.') as web, options('revalidate=inf'):
        cat(web.url + 'f')
        for harm in truncate, empty, lengthen, flip_start, flip_end, swap:
            kept = files('cache')
            harm(kept)
            web.forget()
            cat(web.url + 'f')
            check(web.requests, harm.__name__ + ': asks nothing')
            cat(web.url + 'f')  # fetches what stood before a wrong block
            web.forget()
            cat(web.url + 'f')
            check(not web.requests, harm.__name__ + ': is not repaired')


def truncate(names):
    for name in names:
        os.truncate(name, os.path.getsize(name) // 2)


def empty(names):
    for name in names:
        os.truncate(name, 0)


def lengthen(names):
    for name in names:
        with open(name, 'ab') as file:
            file.write(b'more')


def flip(name, offset):
    with open(name, 'r+b') as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def flip_start(names):
    for name in names:
        flip(name, 60)


def flip_end(names):
    for name in names:
        flip(name, os.path.getsize(name) - 1)


def swap(names):
    """Give each file the name of another one."""
    contents = [harness.read(name) for name in names]
    for name, content in zip(names, contents[1:] + contents[:1]):
        harness.write(name, content)


def a_cache_does_not_grow_beyond_its_limit():
    content = noise(40 << 20)
    make('sparse', content)
    with Web('.') as web, options('revalidate=inf', 'netcache_size=16M'):
        cat(web.url + 'f', content)
        size = sum(os.stat(name).st_blocks * 512 for name in files('cache'))
        check(4 << 20 < size < 20 << 20, 'has %d bytes' % size)
        cat(web.url + 'f', content)


def old_files_go_first():
    make('sparse', noise(12 << 20))
    with Web('.') as web, options('revalidate=inf', 'netcache_size=16M'):
        b2frame('cat', web.url + 'f')
        old = files('cache')
        for name in old:
            os.utime(name, (1, 1))
        os.utime(old[0])
        make('sparse', noise(16 << 20, 1), path='g')
        b2frame('cat', web.url + 'g')
        left = set(old) & set(files('cache'))
        check(len(left) < len(old) / 2, '%d of %d stay' % (len(left), len(old)))


def what_killed_writers_leave_goes():
    make('sparse', noise(24 << 20))
    with Web('.') as web, options('revalidate=inf', 'netcache_size=16M'):
        os.mkdir('cache', 0o700)
        left = []
        for folder in '0123456789abcdef':
            os.mkdir('cache/' + folder)
            for name, seconds in ('tmp-1', 0), ('tmp-2', 2 * HOUR):
                left.append('cache/%s/%s' % (folder, name))
                harness.write(left[-1], b'x')
                age(left[-1], seconds)
        b2frame('cat', web.url + 'f')
        stay = [name for name in left if os.path.exists(name)]
        check(sum(name.endswith('-1') for name in stay) == 16 and
              len(stay) < 26, 'stay: %s' % stay)


def a_full_disk_fails_no_read():
    make('sparse', noise(24 << 20))
    with small_disk(16 << 20), Web('.') as web:
        with options('revalidate=inf', path='disk/cache'):
            for _ in range(2):
                cat(web.url + 'f', noise(24 << 20))
            disk = os.statvfs('disk')
            check(disk.f_bavail >= disk.f_blocks // 25, 'the disk is full')
            check(files('disk/cache'), 'keeps nothing')


def a_directory_of_others_is_not_used():
    make('contiguous')
    os.mkdir('open')
    os.chmod('open', 0o770)
    os.mkdir('target', 0o700)
    os.symlink('target', 'link')
    harness.write('file', b'')
    bad = ['open', 'link', 'file', 'none/below']
    if os.geteuid() == 0:
        os.mkdir('other', 0o700)
        os.chown('other', 1, 1)
        bad.append('other')
    with Web('.') as web:
        for path in bad:
            with options(path=path):
                done = subprocess.run([TOOL, 'cat', web.url + 'f'], check=False,
                                      capture_output=True, timeout=60,
                                      env=harness.environment())
            said = done.stderr.decode()
            check(done.returncode == 0 and done.stdout == CONTENT and
                  'netcache=' + path in said and said.count('\n') == 1, said)
            check(not files(path), path + ' is used')


def others_cannot_read_it():
    make('contiguous')
    os.umask(0)
    with Web('.') as web, options('revalidate=inf'):
        cat(web.url + 'f')
    for directory, _, names in os.walk('cache'):
        for name in [directory, *(os.path.join(directory, n) for n in names)]:
            mode = stat.S_IMODE(os.stat(name).st_mode)
            check(mode & 0o077 == 0, '%s: mode %o' % (name, mode))


def signatures_do_not_matter_and_are_not_kept():
    make('contiguous')
    with Web('.') as web, options('revalidate=inf'):
        cat(web.url + 'f?part=1&X-Amz-Signature=hidden&X-Amz-Date=1')
        web.forget()
        cat(web.url + 'f?part=1&X-Amz-Signature=other&X-Amz-Date=2')
        check(not web.requests, 'asks %s' % web.requests)
        cat(web.url + 'f?part=2&X-Amz-Signature=hidden')
        check(web.requests, 'asks nothing')
        check(all(b'hidden' not in harness.read(name) and 'hidden' not in name
                  for name in files('cache')), 'keeps a secret')


def a_bucket_is_that_of_its_server():
    make('sparse')
    os.makedirs('other')
    make('sparse', CONTENT[::-1], path='other/f')
    with options('revalidate=inf'):
        with S3('.') as one, S3('other') as two:
            cat(one.url + 'f', CONTENT[::-1])  # `two` has set the environment
            os.environ['AWS_ENDPOINT_URL_S3'] = one.endpoint
            cat(one.url + 'f')
            one.forget()
            cat(one.url + 'f')
            check(not one.requests, 'asks %s' % one.requests)
            del two
        for name in files('cache'):
            data = harness.read(name)
            check(SECRET.encode() not in data and KEY.encode() not in data,
                  'keeps a secret')


def many_programs_share_a_cache():
    make('sparse')
    with Web('.') as web, options('revalidate=inf'):
        for _ in range(3):
            tools = [subprocess.Popen([TOOL, 'cat', web.url + 'f'],
                                      stdout=subprocess.PIPE,
                                      env=harness.environment())
                     for _ in range(4)]
            for tool in tools:
                check(tool.communicate(timeout=60)[0] == CONTENT, 'content')


@layouts
def a_broken_promise_heals(layout):
    """The frame changes, although the user has said that it would not."""
    make(layout)
    with Web('.') as web, options('revalidate=inf'):
        b2frame('cat', '--length', '1000', web.url + 'f')
        remove('f')
        make(layout, CONTENT[::-1])
        for name in files('f')[:-1]:
            os.utime(name)
        subprocess.run([TOOL, 'cat', web.url + 'f'], check=False,
                       capture_output=True, timeout=60,
                       env=harness.environment())
        if layout == 'contiguous':
            cat(web.url + 'f', CONTENT[::-1])


def a_weak_tag_is_not_kept():
    make('contiguous')
    with Web('.', lambda *_: Plan(etag='W/"1"')) as web, \
            options('revalidate=inf'):
        cat(web.url + 'f')
        check(not files('cache'), 'is kept')


def a_long_reader_keeps_what_it_reads():
    """Threads of one program that read at the same time."""
    make('sparse')
    with Web('.') as web:
        with Library(BUILD, 'netcache=cache,revalidate=inf') as library, \
                library.open(web.url + 'f') as opened:
            wrong = []

            def read(seed):
                for i in range(40):
                    start = (seed * 7919 + i * 104729) % (len(CONTENT) - 9000)
                    if opened.read(start, 9000) != CONTENT[start:start + 9000]:
                        wrong.append(start)

            threads = [threading.Thread(target=read, args=(seed,))
                       for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        check(not wrong, 'other content at %s' % wrong)
        web.forget()
        with options('revalidate=inf'):
            cat(web.url + 'f')
        check(len(web.requests) < 4, 'asks %d times' % len(web.requests))


harness.need_remote()
main(a_second_program_asks_nothing_if_nothing_changes,
     a_second_program_asks_for_the_state_only,
     parts_are_kept_too,
     a_changed_frame_shows,
     chunks_are_kept_of_settled_frames_only,
     wrong_files_are_found_and_removed,
     a_cache_does_not_grow_beyond_its_limit,
     old_files_go_first,
     what_killed_writers_leave_goes,
     a_full_disk_fails_no_read,
     a_directory_of_others_is_not_used,
     others_cannot_read_it,
     signatures_do_not_matter_and_are_not_kept,
     a_bucket_is_that_of_its_server,
     many_programs_share_a_cache,
     a_broken_promise_heals,
     a_weak_tag_is_not_kept,
     a_long_reader_keeps_what_it_reads)
