#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged and deceptive frames show an error or right content, and no more.

usage: mount_hostile.py FRAMEFS [corpus]

Without `corpus` the frames of test/data/bad are tried, with it all that lie
beside the source tree.
"""

import collections
import errno
import hashlib
import os
import stat
import subprocess
import sys
import time

from mounted import Mount, check, corpus, need_fuse, read, workplace

TIMEOUT = 30 if corpus.SANITIZED else 5  # seconds for any frame
WHOLE = 64 << 20    # bytes of content that are compared
MEMORY = 288 << 20  # bytes: the cache, and 32 MiB

# What was tried, what may come of it, and the sums the content may have.
Case = collections.namedtuple('Case', 'id path accept sums')


def cases(top):
    result = []
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        accept = set(row['accept'].split(','))
        sums = {row[word + '_sha256'] for word in accept & {'base', 'ref'}}
        result.append(Case(row['id'], row['path'], accept, sums - {'-', ''}))
    return result


def special_cases(top):
    """Frames with pipes, links and holes in them, made on the spot."""
    subprocess.run([os.path.join(top, 'make_special.sh'), 'special'],
                   check=True)
    base = corpus.table(os.path.join(top, 'bases', 'base.tsv'))[0]
    return [Case(row['id'], row['path'], set(row['accept'].split(',')),
                 {base['sha256']})
            for row in corpus.table(os.path.join(top, 'special.tsv'))]


def shown_path(mount, case):
    stem = mount / os.path.splitext(case.path)[0]
    return stem if os.path.exists(stem) else mount / case.path


def check_readable(case, path, size):
    """The whole file can be read: may it be this?"""
    if size > WHOLE:
        check(len(read(path, size - 4096, 4096)) == 4096, 'is cut short')
        return
    data = read(path)
    check(len(data) == size, '%d bytes, not %d' % (len(data), size))
    if hashlib.sha256(data).hexdigest() in case.sums:
        return
    check(case.accept & {'any', 'raw', 'prefix'} or not case.sums,
          'has other content')


def try_file(case, path, size):
    """Read a file; is all of it readable?"""
    try:
        check_readable(case, path, size)
        os.listxattr(path)
        return True
    except OSError as error:
        check(error.errno in (errno.EIO, errno.EOPNOTSUPP, errno.ENOMEM),
              'fails with %s' % error)
        return False


def try_case(case, path):
    st = os.lstat(path)
    if stat.S_ISDIR(st.st_mode):
        check(case.accept & {'directory', 'error', 'any'}, 'is a directory')
        return
    check(stat.S_ISREG(st.st_mode), 'mode %o' % st.st_mode)
    readable = try_file(case, path, st.st_size)
    check(readable or case.accept & {'error', 'any'}, 'is refused')


def main():
    need_fuse()
    with workplace():
        if sys.argv[2:] == ['corpus']:
            corpus.need_corpus()
            top = os.path.join(corpus.CORPUS, 'hostile')
            run(top, cases(top), special_cases(top))
        else:
            top = os.path.join(corpus.DATA, 'bad')
            run(top, cases(top), [])


def run(top, ordinary, special):
    os.makedirs('special', exist_ok=True)
    os.mkdir('mnt2')
    with Mount(top, 'mnt', '-o', 'raw') as mount, \
            Mount('special', 'mnt2', '-o', 'raw') as other:
        def test(case):
            where = other if case in special else mount
            start = time.monotonic()
            try_case(case, shown_path(where, case))
            check(time.monotonic() - start < TIMEOUT, 'takes long')
            check(corpus.SANITIZED or where.memory() < MEMORY,
                  'daemon holds %d bytes' % where.memory())
            check(where.daemon.poll() is None, 'kills the daemon')

        corpus.run_all(test, ordinary + special)


main()
