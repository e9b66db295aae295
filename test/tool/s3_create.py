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

from s3_server import S3, error
from scene import (TOOL, b2frame, check, check_frame, fails, frame, harness,
                   info, main, noise, write)
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
        left = chunks()  # the server may still carry out other requests
        check(left, 'nothing is left')
        create(s3.url + 'f', *SPARSE)
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'content')
        write('f/note.txt', b'no chunk')
        said = b2frame('gc', '-o', 'grace=0', s3.url + 'f').decode().split()
        check(set(left) <= set(said), '%s' % said)
        os.unlink('f/note.txt')
        check_frame('f', CONTENT)


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
     an_error_ends_all)
