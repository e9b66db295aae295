#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: s3 create; timeout 120; args b2frame
"""b2frame makes frames on a server of S3.

usage: s3_create.py B2FRAME [TEST...]
"""

import os
import signal
import subprocess
import threading
import time

from s3_server import S3, error
from scene import (TOOL, b2frame, check, check_frame, fails, frame, harness,
                   info, main, noise, read, write)
from web import Plan

CHUNK = 5000
NCHUNKS = 40
CONTENT = noise(NCHUNKS * CHUNK)
OPTIONS = ('--chunksize', str(CHUNK))
SPARSE = (*OPTIONS, '--layout', 'sparse')


def create(url, *options, content=CONTENT, **how):
    return b2frame('create', *options, '-', url, stdin=content, **how)


def is_chunk(request):
    return request.method == 'PUT' and request.path.endswith('.chunk')


def chunks(path='f'):
    return sorted(name for name in os.listdir(path) if name.endswith('.chunk'))


def a_sparse_frame_is_made():
    with S3('.') as s3:
        create(s3.url + 'f', *SPARSE)
        check_frame('f', CONTENT)
        check(s3.requests[-1].path == '/f/chunks.b2frame' and
              s3.requests[-1].headers['If-None-Match'] == '*', 'last request')
        fails('--force', 'create', *SPARSE, '-', s3.url + 'f', stdin=CONTENT)
        create(s3.url + 'f', *SPARSE, '--force', content=CONTENT[::-1])
        check_frame('f', CONTENT[::-1])
        fails('web servers', 'create', *SPARSE, '-', 'http://127.0.0.1:1/f',
              stdin=b'')


def zeros_and_short_ends_are_right():
    content = CONTENT[:3 * CHUNK] + bytes(30 * CHUNK) + CONTENT[:CHUNK + 7]
    with S3('.') as s3:
        create(s3.url + 'f', *SPARSE, content=content)
        check_frame('f', content)
        frame('local', content, *SPARSE)
        b2frame('convert', 'local', s3.url + 'g')
        check_frame('g', content)
        create(s3.url + 'empty', *SPARSE, content=b'')
        check_frame('empty', b'')


def arrays_are_made():
    """An array that is interrupted has no name."""
    options = ('--shape', '100,250', '--dtype', '<f8', '--layout', 'sparse')
    with S3('.') as s3:
        create(s3.url + 'a', *options)
        check(b2frame('cat', s3.url + 'a') == CONTENT, 'content')
        check(info(s3.url + 'a')['array']['shape'] == [100, 250], 'shape')
        for layout in ('sparse', 'contiguous'):
            b2frame('convert', '--chunks', '30,41', '--layout', layout,
                    s3.url + 'a', s3.url + layout)
            check(info(s3.url + layout)['array']['chunks'] == [30, 41],
                  'chunks')
            check(b2frame('cat', s3.url + layout) == CONTENT, 'items')
        indexes = [request for request in s3.requests
                   if request.method == 'PUT' and
                   request.path == '/a/chunks.b2frame']
        check(len(indexes) == 1, 'it had a name before it was whole')


def objects_are_put_at_the_same_time():
    """The server does not answer before eight requests have come."""
    frame('local', CONTENT, *SPARSE)
    for words in ('create', *SPARSE, '-'), ('convert', 'local'):
        with S3('.') as s3:
            together = threading.Event()
            seen = []

            def hold(request, _number, seen=seen, together=together):
                if not is_chunk(request):
                    return None
                seen.append(request)
                if len(seen) == 8:
                    together.set()
                return Plan(hold=together)
            s3.forget(hold)
            b2frame(*words, s3.url + words[0], stdin=CONTENT)
            check_frame(words[0], CONTENT)


def an_interrupted_program_deletes_what_it_put():
    """Only the last object stays, for gc."""
    with S3('.') as s3:
        many = threading.Event()
        seen = []

        def note(request, _number):
            if is_chunk(request):
                seen.append(request)
                if len(seen) == 20:
                    many.set()
        s3.forget(note)
        tool = subprocess.Popen([TOOL, 'create', *SPARSE, '-', s3.url + 'f'],
                                stdin=subprocess.PIPE,
                                env=harness.environment())
        tool.stdin.write(CONTENT)
        tool.stdin.flush()
        check(many.wait(60), 'nothing is put')
        tool.send_signal(signal.SIGINT)
        tool.wait()
        tool.stdin.close()
        check(tool.returncode == -signal.SIGINT, '%d' % tool.returncode)
        check('chunks.b2frame' not in os.listdir('f'), 'there is an index')
        check(len(chunks()) == 1, '%s' % chunks())
        last = chunks()[0]
        check(b2frame('gc', s3.url + 'f') == b'', 'young objects are deleted')
        said = b2frame('gc', '-o', 'grace=0', s3.url + 'f').decode()
        check(said == last + '\n' and not chunks(), said)


def what_a_killed_program_put_is_garbage():
    with S3('.') as s3:
        seen = []

        def kill(request, _number):
            if is_chunk(request):
                seen.append(request)
                if len(seen) == 30:
                    tool.kill()
        s3.forget(kill)
        with subprocess.Popen([TOOL, 'create', *SPARSE, '-', s3.url + 'f'],
                              stdin=subprocess.PIPE,
                              env=harness.environment()) as tool:
            tool.stdin.write(CONTENT)
        s3.forget()
        end = time.monotonic() + 20
        left = chunks()  # the server may still carry out other requests
        while not left and time.monotonic() < end:
            time.sleep(0.01)
            left = chunks()
        check(left, 'nothing is left')
        create(s3.url + 'f', *SPARSE)
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'content')
        write('f/note.txt', b'no chunk')
        said = b2frame('gc', '-o', 'grace=0', s3.url + 'f').decode().split()
        check(set(left) <= set(said), '%s' % said)
        os.unlink('f/note.txt')
        check_frame('f', CONTENT)


# Contiguous frames: the first part has 8 MiB.
LARGE = noise(30 << 20)
MIB = ('--chunksize', '1M', '--codec', 'zstd', '--clevel', '1')


def uploads(s3, method='PUT'):
    return [request for request in s3.requests if request.method == method and
            'uploadId' in request.query]


def a_contiguous_frame_is_made():
    with S3('.') as s3:
        url = s3.url + 'dir/f'
        create(url, *OPTIONS)
        check_frame('dir/f', CONTENT)
        check(s3.requests[-1].headers['If-None-Match'] == '*' and
              not uploads(s3), 'a small frame is put at once')
        fails('--force', 'create', *OPTIONS, '-', url, stdin=CONTENT)
        create(url, *MIB, '--force', content=LARGE)
        check_frame('dir/f', LARGE)
        check(len(uploads(s3)) == 4 and not s3.bucket.uploads, 'no parts')
        check(s3.requests[-1].headers['If-Match'], 'no condition')
        frame('local', LARGE, *MIB)
        check(read('local') == read('dir/f'), 'differs from a local one')
        b2frame('convert', 'local', s3.url + 'copy')
        check(read('local') == read('copy'), 'the copy differs')
        b2frame('convert', '--layout', 'sparse', url, s3.url + 'sparse')
        check_frame('sparse', LARGE)
        b2frame('convert', '--layout', 'contiguous', s3.url + 'sparse',
                s3.url + 'back')
        check_frame('back', LARGE)
        fails('no contiguous frame', 'convert', '--force', url,
              s3.url + 'sparse')
        fails('slash', 'create', '-', s3.url + 'new/', stdin=CONTENT)
        create(s3.url + 'empty', content=b'')
        check_frame('empty', b'')
        create(s3.url + 'array', '--shape', '100,250', '--dtype', '<f8')
        check(b2frame('cat', s3.url + 'array') == CONTENT, 'array')


def parts_are_sent_at_the_same_time():
    with S3('.') as s3:
        together = threading.Event()
        seen = []

        def hold(request, _number):
            if request.method != 'PUT' or 'uploadId' not in request.query:
                return None
            seen.append(request)
            if len(seen) == 3:
                together.set()
            return Plan(hold=together)
        s3.forget(hold)
        create(s3.url + 'f', *MIB, content=LARGE)
        check_frame('f', LARGE)


def a_lost_reply_does_no_harm_to_an_upload():
    with S3('.') as s3:
        for lost in range(6):
            seen = []

            def lose(request, _number, lost=lost, seen=seen):
                if 'upload' not in request.query:
                    return None
                seen.append(request)
                return Plan(lost=len(seen) == lost + 1)
            s3.forget(lose)
            create(s3.url + 'f%d' % lost, *MIB, content=LARGE)
            check(read('f%d' % lost) == read('f0'), 'another frame')
        check_frame('f0', LARGE)


def an_upload_replaces_nothing():
    """Another program makes a frame while this one sends its parts.  The server
    need not look at conditions when parts are put together."""
    for heeds in True, False:
        for force in (), ('--force',):
            with S3('.') as s3:
                write('f', b'older')

                def race(request, _number, heeds=heeds, s3=s3):
                    if 'partNumber=2' in request.query:
                        write('f', b'of another program')
                    if request.method == 'POST' and not heeds:
                        s3.bucket.conditions = 'ignored'
                if not force:
                    os.unlink('f')
                s3.forget(race)
                create(s3.url + 'f', *MIB, *force, content=LARGE, status=1)
                check(read('f') == b'of another program', 'is replaced')
                check(not s3.bucket.uploads, 'the parts stay')
            os.unlink('f')


def an_upload_is_aborted():
    """By a signal, and by an error of the input or of the server."""
    with S3('.') as s3:
        many = threading.Event()

        def note(request, _number):
            if 'partNumber=2' in request.query:
                many.set()
        s3.forget(note)
        with subprocess.Popen([TOOL, 'create', *MIB, '-', s3.url + 'f'],
                              stdin=subprocess.PIPE,
                              env=harness.environment()) as tool:
            tool.stdin.write(LARGE)
            tool.stdin.flush()
            check(many.wait(60), 'nothing is sent')
            check(s3.bucket.uploads, 'no upload')
            tool.send_signal(signal.SIGINT)
            tool.wait()
        check(tool.returncode == -signal.SIGINT, '%d' % tool.returncode)
        check(not s3.bucket.uploads, 'the parts stay')
        for wrong in 'partNumber=3', 'uploadId=':
            s3.forget(lambda request, _number, wrong=wrong: Plan(
                status=403, body=error('QuotaExceeded'))
                if wrong in request.query and
                request.method != 'DELETE' else None)
            said = create(s3.url + 'f', *MIB, content=LARGE, status=1)
            check('quota' in said, said)
            check(not s3.bucket.uploads, 'the parts stay')
        s3.forget(lambda request, _number: Plan(
            status=200, body=error('XMinioStorageFull'))
            if request.method == 'POST' and 'uploadId=' in request.query
            else None)
        said = create(s3.url + 'f', *MIB, content=LARGE, status=1)
        check('No space left' in said, said)
        check(not s3.bucket.uploads, 'the parts stay')
        check(not os.path.exists('f'), 'is there')


def an_upload_that_was_left_is_aborted_by_gc():
    """The reply to the request that began it was lost."""
    with S3('.') as s3:
        uploads_of = s3.bucket.uploads
        s3.page = 1
        for name in 'f', 'f', 'f', 'f2':
            uploads_of[name + str(len(uploads_of))] = {
                'id': None, 'key': name, 'begun': time.time() - 1000}
        uploads_of['young'] = {'id': None, 'key': 'f', 'begun': time.time()}
        before = sorted(uploads_of)
        for there in False, True:
            url = s3.url + 'f'
            check(not b2frame('gc', url), 'of others')
            said = b2frame('gc', '--dry-run', '-o', 'grace=500', url).decode()
            check(said.split() == ['upload', 'f0', 'upload', 'f1', 'upload',
                                   'f2'], said)
            check(sorted(uploads_of) == before, 'a dry run deletes')
            if not there:
                create(url, content=CONTENT)
                check(sorted(uploads_of) == before, 'create deletes')
        b2frame('gc', '-o', 'grace=500', url)
        check(sorted(uploads_of) == ['f23', 'young'], '%s' % uploads_of)
        s3.forget(lambda request, _number: Plan(
            status=403, body=error('AccessDenied'))
            if 'uploads' in request.query else None)
        check(not b2frame('gc', '-o', 'grace=0', url), 'a list that is refused')
        check_frame('f', CONTENT)


def a_frame_without_index_is_repaired():
    frame('f', CONTENT, *SPARSE)
    with S3('.') as s3:
        b2frame('repair', s3.url + 'f', s3.url + 'whole')
        check_frame('whole', CONTENT)
        os.unlink('f/chunks.b2frame')
        # Which metalayers there were is not known, so this is no success.
        for out in 'saved', s3.url + 'saved2':
            subprocess.run([TOOL, 'repair', s3.url + 'f', out], check=False,
                           env=harness.environment(), stdout=subprocess.PIPE)
            check(b2frame('cat', out) == CONTENT, out)
        fails('No such file', 'repair', s3.url + 'none')


def an_object_that_may_be_of_others_stays():
    """Another program has put a chunk, and the server does not say so."""
    with S3('.') as s3:
        def hide(request, _number):
            if (request.path != '/f/00000005.chunk' or
                    request.method == 'DELETE'):
                return None
            if request.method == 'PUT':
                write('f/00000005.chunk', b'of another program')
            return Plan(reset=True)
        s3.forget(hide)
        done = subprocess.run(
            [TOOL, 'create', *SPARSE, '-o', 'retries=1', '-', s3.url + 'f'],
            input=CONTENT, check=False, env=harness.environment(),
            stderr=subprocess.PIPE)
        check(done.returncode == 1, '%d' % done.returncode)
        check(read('f/00000005.chunk') == b'of another program', 'is gone')


def an_error_ends_all():
    """The server refuses one chunk, or the index."""
    for bad in '0000000C.chunk', 'chunks.b2frame':
        with S3('.') as s3:
            s3.forget(lambda request, _number, bad=bad: Plan(
                status=403, body=error('QuotaExceeded'))
                if request.method == 'PUT' and request.path == '/f/' + bad
                else None)
            said = create(s3.url + 'f', *SPARSE, status=1)
            check('quota' in said, said)
            check('chunks.b2frame' not in os.listdir('f'), 'an index')
            s3.forget()
            b2frame('gc', '-o', 'grace=0', s3.url + 'f')
            check(not chunks(), '%s' % chunks())


harness.need_remote()
main(a_sparse_frame_is_made,
     zeros_and_short_ends_are_right,
     arrays_are_made,
     objects_are_put_at_the_same_time,
     an_interrupted_program_deletes_what_it_put,
     what_a_killed_program_put_is_garbage,
     a_contiguous_frame_is_made,
     parts_are_sent_at_the_same_time,
     a_lost_reply_does_no_harm_to_an_upload,
     an_upload_replaces_nothing,
     an_upload_is_aborted,
     an_upload_that_was_left_is_aborted_by_gc,
     a_frame_without_index_is_repaired,
     an_object_that_may_be_of_others_stays,
     an_error_ends_all)
