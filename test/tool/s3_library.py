#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: s3 library; timeout 120; args b2frame build
"""libframefs changes frames on a server of S3.

usage: s3_library.py B2FRAME BUILD [TEST...]
"""

import errno
import os
import sys

BUILD = os.path.abspath(sys.argv.pop(2))

# pylint: disable=wrong-import-position
from remote_library import Library
from s3_server import S3
from scene import b2frame, check, check_frame, frame, harness, main, noise

CHUNK = 5000
CONTENT = noise(8 * CHUNK)
WRITE = 1


def error_of(call, *args):
    try:
        call(*args)
    except OSError as error:
        return error
    return None


def frames_are_written_to():
    frame('f', CONTENT, '--layout', 'sparse', '--chunksize', str(CHUNK))
    with S3('.') as s3, Library(BUILD) as library:
        with library.open(s3.url + 'f', flags=WRITE) as there:
            there.write(b'new', 3 * CHUNK + 7)
            check(there.read(3 * CHUNK + 7, 3) == b'new', 'is not read')
            check(b2frame('cat', s3.url + 'f') == CONTENT, 'is committed')
            there.sync()
            content = CONTENT[:3 * CHUNK + 7] + b'new' + \
                CONTENT[3 * CHUNK + 10:]
            check(b2frame('cat', s3.url + 'f') == content, 'content')
            there.write(b'more', len(CONTENT))
    check_frame('f', content + b'more')


def frames_are_made():
    with S3('.') as s3, Library(BUILD) as library:
        with library.create(s3.url + 'dir/new', 'chunksize=%d' % CHUNK) as new:
            new.write(CONTENT)
        check_frame('dir/new', CONTENT)
        said = error_of(library.create, s3.url + 'dir/new')
        check(said and said.errno == errno.EEXIST, '%s' % said)
        said = error_of(library.create, 'http://127.0.0.1:1/new')
        check(said and said.errno == errno.EROFS, '%s' % said)


def contiguous_frames_are_only_read():
    frame('f', CONTENT, '--layout', 'contiguous')
    with S3('.') as s3, Library(BUILD) as library:
        said = error_of(library.open, s3.url + 'f', 0, WRITE)
        check(said and said.errno == errno.EROFS and
              '--layout sparse' in str(said), '%s' % said)


harness.need_remote()
main(frames_are_written_to,
     frames_are_made,
     contiguous_frames_are_only_read)
