#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: s3 library; timeout 120; args b2frame build
"""libframefs changes frames on a server of S3.

usage: s3_library.py B2FRAME BUILD [TEST...]
"""

import errno
import os
import shutil
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


class Keys:
    """What the chunks with each key have ever held."""

    def __init__(self):
        self.contents = {}

    def give(self, key, content):
        self.contents.setdefault(key, set()).add(content)

    def check(self, there):
        """Each key leads to what its chunk has held, or is lost.  Return how
        many are not."""
        found = 0
        for key, contents in self.contents.items():
            try:
                check(there.key_get(key, CHUNK) in contents,
                      'key %d leads to another chunk' % key)
                found += 1
            except FileNotFoundError:
                pass
        return found


def overwrite(there, keys, number):
    keys.give(there.key_of(number), noise(CHUNK, number))
    there.write(noise(CHUNK, number), number * CHUNK)
    there.sync()


def put(there, keys, number):
    keys.give(there.key_of(number), noise(CHUNK, number))
    there.key_put(there.key_of(number), noise(CHUNK, number))


def append(there, keys, number):
    keys.give(there.key_append(noise(CHUNK, number)), noise(CHUNK, number))


def delete(there, _keys, number):
    there.key_delete(there.key_of(number))


def swap(there, _keys, number):
    order = list(range(there.size() // CHUNK))
    order[0], order[number] = number, 0
    there.reorder(order)


CHANGES = (overwrite, put, append, delete, swap)


def race(s3, mine, other, with_keys):
    """Make a change just when another program has made one.  Return whether both
    were made."""
    keys = Keys()
    with Library(BUILD) as library, Library(BUILD) as second:
        if with_keys:
            with library.open(s3.url + 'f', flags=WRITE) as there:
                for number in range(8):
                    keys.give(there.key_of(number), there.read(
                        number * CHUNK, CHUNK))
        with library.open(s3.url + 'f', flags=WRITE) as there, \
                second.open(s3.url + 'f', flags=WRITE) as elsewhere:
            begun = []

            def interfere(request, _number):
                if (request.method == 'PUT' and not begun and
                        request.path == '/f/chunks.b2frame'):
                    begun.append(request)
                    begun.append(error_of(other, elsewhere, keys, 5))
            s3.forget(interfere)
            said = error_of(mine, there, keys, 2)
            s3.forget()
            check(len(begun) == 2, 'no race')
        with library.open(s3.url + 'f') as there:
            found = keys.check(there)
    b2frame('verify', s3.url + 'f')
    for error in said, begun[1]:
        check(not error or error.errno == errno.ESTALE, '%s' % error)
    check(not with_keys or found >= 6, '%d are left' % found)
    return not said and not begun[1]


def keys_lead_to_their_chunks_after_any_merge():
    merged = []
    for with_keys, changes in (True, CHANGES), (False, (overwrite, append)):
        for mine in changes:
            for other in changes:
                frame('f', CONTENT, '--layout', 'sparse', '--chunksize',
                      str(CHUNK))
                with S3('.') as s3:
                    if race(s3, mine, other, with_keys):
                        merged.append((with_keys, mine, other))
                shutil.rmtree('f')
    check((True, overwrite, overwrite) in merged and
          (True, overwrite, put) in merged, '%s' % merged)


harness.need_remote()
main(keys_lead_to_their_chunks_after_any_merge,
     frames_are_written_to,
     frames_are_made,
     contiguous_frames_are_only_read)
