#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount hostile
# test: mount corpus hostile; suite hostile; timeout 900; args framefs corpus
"""Damaged and deceptive frames show an error or right content, both as chunks
and as the items of arrays.

usage: mount_hostile.py FRAMEFS [corpus]

The script tries the frames of test/data/bad, or with `corpus` all frames that
lie beside the source tree.
"""

import collections
import contextlib
import errno
import hashlib
import os
import stat
import subprocess
import sys
import time

from mounted import Mount, check, corpus, harness, need_fuse, read, workplace

TIMEOUT = 60  # seconds for any frame
WHOLE = 64 << 20    # bytes; the content of larger files is not compared
MEMORY = 288 << 20  # bytes: the cache, and 32 MiB

# The frame, the outcomes that are accepted, and the sums that the chunks and
# the items of an array may have.
Case = collections.namedtuple('Case', 'id path accept sums arrays')


def cases(top):
    result = []
    for row in corpus.table(os.path.join(top, 'manifest.tsv')):
        accept = set(row['accept'].split(','))
        right = accept & {'base', 'ref'}
        sums = {row[word + '_sha256'] for word in right}
        arrays = {row.get(word + '_array_sha256', '-') for word in right}
        result.append(Case(row['id'], row['path'], accept, sums - {'-', ''},
                           arrays - {'-', ''}))
    return result


def special_cases(top):
    """Make frames that contain pipes, links and holes."""
    subprocess.run([os.path.join(top, 'make_special.sh'), 'special'],
                   check=True)
    base = corpus.table(os.path.join(top, 'bases', 'base.tsv'))[0]
    return [Case(row['id'], row['path'], set(row['accept'].split(',')),
                 {base['sha256']}, set())
            for row in corpus.table(os.path.join(top, 'special.tsv'))]


def shown_path(mount, case):
    stem = mount / os.path.splitext(case.path)[0]
    for path in stem, stem + '.npy':
        if os.path.exists(path):
            return path
    return mount / case.path


def sums_of(case, view):
    """Return the sums that the content may have, or an empty set if they are
    unknown.  A damaged array may no longer be recognized as one, and then shows
    its chunks."""
    if view == 'raw' or not case.path.endswith('.b2nd'):
        return case.sums
    return case.arrays and case.arrays | case.sums


def items_of(data):
    """Return the items that follow the header of a .npy file."""
    if data[6] == 1:
        return data[10 + int.from_bytes(data[8:10], 'little'):]
    return data[12 + int.from_bytes(data[8:12], 'little'):]


def check_readable(case, path, size, view):
    """Read the whole file, and check that it may have this content."""
    if size > WHOLE:
        check(len(read(path, size - 4096, 4096)) == 4096, 'is cut short')
        return
    data = read(path)
    check(len(data) == size, '%d bytes, not %d' % (len(data), size))
    if path.endswith('.npy'):
        data = items_of(data)
    sums = sums_of(case, view)
    if hashlib.sha256(data).hexdigest() in sums:
        return
    check(case.accept & {'any', 'raw', 'prefix'} or not sums,
          'has other content')


def try_file(case, path, size, view):
    """Read a file.  Is all of it readable?"""
    try:
        check_readable(case, path, size, view)
        os.listxattr(path)
        return True
    except OSError as error:
        check(error.errno in (errno.EIO, errno.EOPNOTSUPP, errno.ENOMEM),
              'fails with %s' % error)
        return False


def is_passed_through(mount, case, path):
    """Does the mount pass the frame through as a plain file, because its header
    is damaged?"""
    source = os.path.join(mount.source, case.path)
    return (path == mount / case.path and os.path.isfile(source) and
            read(path) == read(source))


def try_case(case, mount, view):
    path = shown_path(mount, case)
    st = os.lstat(path)
    if stat.S_ISDIR(st.st_mode):
        check(case.accept & {'directory', 'error', 'any'}, 'is a directory')
        return
    check(stat.S_ISREG(st.st_mode), 'mode %o' % st.st_mode)
    if is_passed_through(mount, case, path):
        check(case.accept & {'error', 'any'}, 'is passed through')
        return
    readable = try_file(case, path, st.st_size, view)
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


# One case in one of the mounts.
Trial = collections.namedtuple('Trial', 'id case mount view')


def test(trial):
    case, mount, view = trial.case, trial.mount, trial.view
    start = time.monotonic()
    try_case(case, mount, view)
    check(time.monotonic() - start < TIMEOUT, 'takes long')
    check(harness.SANITIZED or mount.memory() < MEMORY,
          'daemon holds %d bytes' % mount.memory())
    check(mount.daemon.poll() is None, 'kills the daemon')


def run(top, ordinary, special):
    os.makedirs('special', exist_ok=True)
    trials = []
    with contextlib.ExitStack() as mounts:
        for view in 'raw', 'items', 'npy':
            options = [] if view == 'items' else ['-o', view]
            for source, tried in (top, ordinary), ('special', special):
                point = 'mnt-%s-%s' % (view, os.path.basename(source))
                os.mkdir(point)
                mount = mounts.enter_context(Mount(source, point, *options))
                trials += [Trial(case.id + ' ' + view, case, mount, view)
                           for case in tried]
        harness.run_all(test, trials)


main()
