#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: s3 write; timeout 180; args b2frame
"""b2frame changes frames on a server of S3.

usage: s3_write.py B2FRAME [TEST...]
"""

import contextlib
import os
import shutil
import subprocess

from s3_server import S3, error
from scene import (TOOL, b2frame, check, check_frame, fails, frame, harness,
                   info, main, noise, read, write)
from web import Plan

CHUNK = 5000
NCHUNKS = 8
CONTENT = noise(NCHUNKS * CHUNK)
NEW = noise(CHUNK, 1)


def make(path='f', layout='sparse'):
    return frame(path, CONTENT, '--layout', layout, '--chunksize', str(CHUNK))


def replaced(content, chunk_no, new):
    return (content[:chunk_no * CHUNK] + new +
            content[(chunk_no + 1) * CHUNK:])


def options(*words):
    os.environ['FRAMEFS_REMOTE'] = ','.join(words)


@contextlib.contextmanager
def bucket(**how):
    """Serve a frame, for a `with` statement, which gives the server and the
    URL of the frame."""
    make()
    with S3('.', **how) as s3:
        yield s3, s3.url + 'f'
        check(not s3.refused, 'refused: %s' % s3.refused)


def changes(s3):
    """The requests that have changed something, without those of the probe."""
    return [(request.method, os.path.basename(request.path))
            for request in s3.requests if request.method not in ('GET', 'HEAD')
            and '.framefs-probe' not in request.path]


def update(url, chunk_no, new=NEW, **how):
    b2frame('update', url, str(chunk_no), '-', stdin=new, **how)


def chunk_name(number):
    return '%08X.chunk' % number


def own_changes_are_seen_though_the_disk_has_an_older_state():
    with bucket() as (_, url):
        options('netcache=cache', 'revalidate=inf')
        check(b2frame('cat', url) == CONTENT, 'other content')
        update(url, 3)
        for _ in range(2):
            check(b2frame('cat', url) == replaced(CONTENT, 3, NEW), 'is old')


def verbs_do_as_they_do_on_files():
    with bucket() as (_, url):
        shutil.copytree('f', 'local')
        for words in (['append', None, '-'], ['insert', None, '2', '-'],
                      ['update', None, '3', '-'], ['delete', None, '4'],
                      ['truncate', '--size', str(11 * CHUNK + 7), None],
                      ['truncate', '--size', str(6 * CHUNK + 99), None],
                      ['meta', 'set', None, 'note', '-'],
                      ['meta', 'set', None, 'rest', '-'],
                      ['meta', 'rm', None, 'rest']):
            for path in url, 'local':
                b2frame(*(word or path for word in words), stdin=NEW)
        check(b2frame('cat', url) == read_frame('local'), 'other content')
        for key in 'nbytes', 'nchunks':
            check(info(url)[key] == info('local')[key], key)
        check(b2frame('meta', 'get', url, 'note') == NEW, 'other metalayer')
        b2frame('verify', url)
        check_frame('f', read_frame('local'))


def read_frame(path):
    return b2frame('cat', path)


def an_update_costs_two_puts():
    with bucket() as (s3, url):
        update(url, 3)
        check(changes(s3) == [('PUT', chunk_name(NCHUNKS)),
                              ('PUT', 'chunks.b2frame')],
              '%s' % changes(s3))
        check(s3.requests[-1].headers['If-Match'], 'no condition')
        check(not any('probe' in name for name in os.listdir('f')),
              'the probe is there')
        check_frame('f', replaced(CONTENT, 3, NEW))


def ids_are_used_once():
    """Nothing is deleted, and ids of left objects are not used."""
    with bucket() as (s3, url):
        s3.page = 2
        b2frame('delete', url, '7')
        for number in 20, 9, 11:
            write('f/' + chunk_name(number), b'left')
        write('f/FFFFFFFF.other', b'left')
        update(url, 0)
        check(changes(s3)[-2] == ('PUT', chunk_name(21)), '%s' % changes(s3))
        update(url, 0)
        check(changes(s3)[-2] == ('PUT', chunk_name(22)), '%s' % changes(s3))
        check(not any(method == 'DELETE' for method, _ in changes(s3)),
              'something was deleted')
        check(read('f/' + chunk_name(20)) == b'left', 'a file is overwritten')
        check_frame('f', replaced(CONTENT[:7 * CHUNK], 0, NEW))


def a_name_that_is_taken_is_not_overwritten():
    with bucket() as (s3, url):
        def take(request, _number):
            path = request.path[1:]
            if (request.method == 'PUT' and path.endswith('.chunk') and
                    int(path[2:10], 16) < NCHUNKS + 3):
                write(path, b'of another writer')
        s3.forget(take)
        update(url, 3)
        for number in range(NCHUNKS, NCHUNKS + 3):
            check(read('f/' + chunk_name(number)) == b'of another writer',
                  'is overwritten')
        check_frame('f', replaced(CONTENT, 3, NEW))


def a_lost_reply_is_no_conflict():
    """The reply to each PUT in turn is lost, that of the probe too."""
    with bucket() as (s3, url):
        content = CONTENT
        for lost in range(8):
            seen = []

            def lose(request, _number):
                if request.method != 'PUT':
                    return None
                seen.append(request)
                return Plan(lost=len(seen) == lost + 1)
            s3.forget(lose)
            new = noise(CHUNK, lost)
            update(url, lost, new)
            content = replaced(content, lost, new)
            check_frame('f', content)


def a_server_that_is_busy_is_asked_again():
    with bucket() as (s3, url):
        s3.forget(lambda _, number: Plan(status=503) if number % 3 == 1
                  else Plan(reset=True) if number % 7 == 2 else None)
        update(url, 3)
        s3.forget()
        check_frame('f', replaced(CONTENT, 3, NEW))


def a_server_that_is_full_says_so():
    with bucket() as (s3, url):
        for status, code, said in (
                (507, 'Full', 'No space left'),
                (507, 'XMinioStorageFull', 'No space left'),
                (400, 'XMinioAdminBucketQuotaExceeded', 'quota exceeded'),
                (413, 'QuotaExceeded', 'quota exceeded'),
                (403, 'QuotaExceeded', 'quota exceeded'),
                (403, 'AccessDenied', 'Permission denied')):
            s3.forget(lambda request, _number, reply=(status, code): Plan(
                status=reply[0], body=error(reply[1]))
                if request.method == 'PUT' and 'probe' not in request.path
                else None)
            check(said in b2frame('update', url, '3', '-', stdin=NEW, status=1),
                  code)
        s3.forget()
        check_frame('f', CONTENT)


def etags_are_spelled_as_the_server_wants():
    for conditions in 'quoted', 'bare':
        with bucket() as (s3, url):
            s3.bucket.conditions = conditions
            update(url, 3)
            match = s3.requests[-1].headers['If-Match']
            check((match[0] == '"') == (conditions == 'quoted'), match)
            check_frame('f', replaced(CONTENT, 3, NEW))
        shutil.rmtree('f')


def a_server_without_conditions_has_one_writer():
    for conditions in 'ignored', 'unknown':
        with bucket() as (s3, url):
            s3.bucket.conditions = conditions
            fails('single_writer', 'update', url, '3', '-', stdin=NEW)
            check(not changes(s3), '%s' % changes(s3))
            options('single_writer')
            update(url, 3)
            check_frame('f', replaced(CONTENT, 3, NEW))
            options()
        shutil.rmtree('f')


def garbage_goes_when_its_time_has_come():
    with bucket() as (_, url):
        options('grace=0')
        update(url, 3)
        check(not os.path.exists('f/' + chunk_name(3)), 'garbage')
        check(len(os.listdir('f')) == NCHUNKS + 1, '%s' % os.listdir('f'))
        check_frame('f', replaced(CONTENT, 3, NEW))


def of_two_writers_one_wins():
    """Another program replaces the index just before this one does."""
    with bucket() as (s3, url):
        begun = []

        def race(request, _number):
            if (request.method == 'PUT' and
                    request.path == '/f/chunks.b2frame' and not begun):
                begun.append(request)
                update(url, 5, NEW[::-1])
        s3.forget(race)
        b2frame('update', url, '3', '-', stdin=NEW, status=1)
        check(begun, 'no race')
        check_frame('f', replaced(CONTENT, 5, NEW[::-1]))


def a_writer_that_is_killed_leaves_one_state():
    """It is killed at each PUT in turn, before and after the server has carried
    it out."""
    with bucket() as (s3, url):
        content = CONTENT
        for case in range(22):  # some servers need more PUTs
            new = noise(CHUNK, case)
            seen = []
            tool = subprocess.Popen([TOOL, 'update', url, '2', '-'],
                                    stdin=subprocess.PIPE,
                                    env=harness.environment())

            def kill(request, _number, case=case, seen=seen, tool=tool):
                if request.method != 'PUT':
                    return None
                seen.append(request.path)
                if len(seen) != case // 2 + 1:
                    return None
                tool.kill()
                tool.wait()
                return Plan(lost=True) if case % 2 else Plan(reset=True)
            s3.forget(kill)
            with tool.stdin:
                tool.stdin.write(new)
            tool.wait()
            s3.forget()
            done = (tool.returncode == 0 or
                    (case % 2 and seen[-1].endswith('chunks.b2frame')))
            if done:
                content = replaced(content, 2, new)
            check(b2frame('cat', url) == content, 'case %d' % case)
            b2frame('verify', url)
        check(tool.returncode == 0 and content != CONTENT, 'never done')
        for name in os.listdir('f'):
            if 'probe' in name:
                os.unlink('f/' + name)
        check_frame('f', content)


def garbage_is_collected():
    with bucket() as (s3, url):
        update(url, 3)
        write('f/' + chunk_name(50), b'left')
        write('f/note.txt', b'no chunk')
        check(not b2frame('gc', url), 'young objects are deleted')
        garbage = '%s\n%s\n' % (chunk_name(3), chunk_name(50))
        write('f/' + chunk_name(51), b'left, with the highest id')
        said = b2frame('gc', '--dry-run', '-o', 'grace=0', url).decode()
        check(said == garbage, said)
        check(os.path.exists('f/' + chunk_name(3)), 'a dry run deletes')
        s3.page = 3
        said = b2frame('gc', '-o', 'grace=0', url).decode()
        check(said == garbage, said)
        check(sorted(os.listdir('f')) == sorted(
            [chunk_name(n) for n in range(NCHUNKS + 1) if n != 3] +
            [chunk_name(51), 'chunks.b2frame', 'note.txt']),
              '%s' % os.listdir('f'))
        os.unlink('f/note.txt')
        check_frame('f', replaced(CONTENT, 3, NEW))
        fails('is no URL', 'gc', 'f')


def ids_of_garbage_are_not_used_again():
    """Whoever deletes it: gc, or the program that has made it."""
    for collect in True, False:
        with bucket() as (s3, url):
            if collect:
                b2frame('delete', url, str(NCHUNKS - 1))
                b2frame('gc', '-o', 'grace=0', url)
            else:
                b2frame('delete', url, str(NCHUNKS - 1), '-o', 'grace=0')
            check(os.path.exists('f/' + chunk_name(NCHUNKS - 1)), 'is gone')
            s3.forget()
            update(url, 0)
            check(changes(s3)[0] == ('PUT', chunk_name(NCHUNKS)),
                  '%s' % changes(s3))
            b2frame('gc', '-o', 'grace=0', url)
            check(sorted(os.listdir('f')) == sorted(
                [chunk_name(n) for n in range(1, NCHUNKS + 1)
                 if n != NCHUNKS - 1] + ['chunks.b2frame']),
                  '%s' % os.listdir('f'))
            check_frame('f', replaced(CONTENT[:(NCHUNKS - 1) * CHUNK], 0, NEW))
        shutil.rmtree('f')


def a_chunk_put_after_a_lost_delete_stays():
    with bucket() as (s3, url):
        write('f/' + chunk_name(50), b'left')
        write('f/' + chunk_name(51), b'left')
        seen = []

        def lose(request, _number):
            if seen:
                write('f/' + chunk_name(50), b'new')
                s3.plan = None
            elif (request.method == 'DELETE' and
                  request.path == '/f/' + chunk_name(50)):
                seen.append(request)
                return Plan(lost=True)
            return None
        s3.forget(lose)
        b2frame('gc', '-o', 'grace=0', url, status=1)
        check(read('f/' + chunk_name(50)) == b'new', 'is gone')


def chunks_of_a_newer_index_are_not_collected():
    """Another program commits while objects are listed."""
    with bucket() as (s3, url):
        shutil.copytree('f', 'newer')
        b2frame('update', 'newer', '3', '-', stdin=NEW)
        before = set(os.listdir('f'))

        def commit(request, _number):
            if 'list-type' in request.query:
                for name in os.listdir('newer'):
                    write('f/' + name, read('newer/' + name))
        s3.forget(commit)
        b2frame('gc', '-o', 'grace=0', url)
        s3.forget()
        check(before - set(os.listdir('f')) <= {chunk_name(3)}, 'deleted')
        check(b2frame('cat', url) == replaced(CONTENT, 3, NEW), 'content')
        b2frame('verify', url)


def frames_are_converted_to_the_server():
    make('whole', 'contiguous')
    with bucket() as (s3, url):
        new = s3.url + 'dir/new'
        b2frame('convert', '--layout', 'sparse', 'whole', new)
        check_frame('dir/new', CONTENT)
        check(changes(s3)[-1] == ('PUT', 'chunks.b2frame') and
              s3.requests[-1].headers['If-None-Match'] == '*',
              '%s' % changes(s3)[-1:])
        fails('--force', 'convert', '--layout', 'sparse', 'whole', new)
        update(new, 1)
        b2frame('convert', '--force', '--codec', 'zstd', url, new)
        check_frame('dir/new', CONTENT)
        check(s3.requests[-1].headers['If-Match'], 'no condition')
        fails('no sparse frame', 'convert', '--force', url, s3.url + 'whole')


def what_cannot_be_changed_is_refused():
    make('whole', 'contiguous')
    with bucket() as (s3, url):
        fails('--layout sparse', 'update', s3.url + 'whole', '3', '-',
              stdin=NEW)
        fails('web servers', 'update', 'http://127.0.0.1:1/f/', '3', '-')
        fails('takes no URL', 'compact', url)
        check(not changes(s3), '%s' % changes(s3))


harness.need_remote()
main(own_changes_are_seen_though_the_disk_has_an_older_state,
     verbs_do_as_they_do_on_files,
     an_update_costs_two_puts,
     ids_are_used_once,
     a_name_that_is_taken_is_not_overwritten,
     a_lost_reply_is_no_conflict,
     a_server_that_is_busy_is_asked_again,
     a_server_that_is_full_says_so,
     etags_are_spelled_as_the_server_wants,
     a_server_without_conditions_has_one_writer,
     garbage_goes_when_its_time_has_come,
     of_two_writers_one_wins,
     a_writer_that_is_killed_leaves_one_state,
     garbage_is_collected,
     ids_of_garbage_are_not_used_again,
     a_chunk_put_after_a_lost_delete_stays,
     chunks_of_a_newer_index_are_not_collected,
     frames_are_converted_to_the_server,
     what_cannot_be_changed_is_refused)
