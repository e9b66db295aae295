#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount frames
# test: mount corpus; suite corpus; timeout 900; args framefs corpus
# test: mount plugins; suite corpus; timeout 900; args framefs plugins
"""The mount shows each frame with the content that its writer recorded.

usage: mount_frames.py FRAMEFS [corpus|plugins]

The script reads the frames of test/data, or with another argument
all frames of that corpus, beside the source tree.
"""

import concurrent.futures
import errno
import hashlib
import json
import mmap
import os
import random
import sys

from mounted import (Mount, check, corpus, error_of, harness, need_fuse, read,
                     workplace)

SUFFIXES = ('.b2frame', '.b2f', '.b2', '.b2nd', '.b2eframe')
PREFIXES = {'user.b2frame.meta.': 'fixed', 'user.b2frame.vlmeta.': 'vl',
            'user.b2frame.usermeta': 'usermeta'}
VALUE_MAX = 65536  # bytes; the system does not pass on longer attributes
MEMORY = 288 << 20  # bytes: the cache, and 32 MiB


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def direct(fd, off, length):
    """Read without the kernel's cache."""
    buffer = mmap.mmap(-1, length)
    count = os.preadv(fd, [buffer], off)
    return buffer[:count]


def in_pieces(fd, nbytes, seed):
    """Return the content.  Eight threads read it in odd pieces, last piece
    first."""
    pick = random.Random(seed)
    places = []
    end = nbytes
    while end > 0:
        off = max(0, end - pick.randint(1, 1 + nbytes // 20))
        places.append((off, end - off))
        end = off
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        pieces = list(pool.map(lambda place: direct(fd, *place), places))
    return b''.join(reversed(pieces))


def check_content(frame, path):
    data = read(path)
    check(len(data) == frame.nbytes, 'has %d bytes' % len(data))
    check(sha256(data) == frame.sha256, 'has other content')
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        check(in_pieces(fd, len(data), frame.id) == data, 'differs in pieces')
    finally:
        os.close(fd)


def check_windows(frame, path):
    for window in frame.windows:
        data = read(path, window.offset, window.length)
        check(len(data) == window.length and sha256(data) == window.sha256,
              'differs in %d+%d' % (window.offset, window.length))


def check_refused(frame, path):
    wanted = {'ENOTSUP': errno.EOPNOTSUPP, 'EBADMSG': errno.EIO}
    check(error_of(read, path) == wanted[frame.error], 'is not refused')


def printable(name):
    """Return a name as it is written in layers.tsv."""
    return ''.join('\\x%02x' % ord(c) if c < ' ' or c in '\\\x7f' else c
                   for c in name)


def layer(path, attribute):
    """Return an extended attribute as a row of layers.tsv, without its content
    if that is too long, or None if the attribute is no metalayer."""
    for prefix, kind in PREFIXES.items():
        if attribute.startswith(prefix):
            name = printable(attribute[len(prefix):])
            try:
                value = os.getxattr(path, attribute)
            except OSError as error:
                check(error.errno == errno.E2BIG, 'xattr: %s' % error)
                return kind, name, None, None
            return kind, name, len(value), sha256(value)
    return None


def check_layers(path, rows):
    wanted = {row if row[2] <= VALUE_MAX else row[:2] + (None, None)
              for row in rows}
    found = {layer(path, name) for name in os.listxattr(path)} - {None}
    check(found == wanted, 'metalayers differ: %s' % (found ^ wanted))


def check_shown(frame, layers, path):
    size = os.stat(path).st_size
    check(size == frame.nbytes or frame.error == 'EBADMSG', 'size %d' % size)
    if frame.error:
        check_refused(frame, path)
    elif frame.windows:
        check_windows(frame, path)
    elif frame.sha256 != '-':
        check_content(frame, path)
    if frame.error != 'EBADMSG':
        info = json.loads(os.getxattr(path, 'user.b2frame.info'))
        check(info['nbytes'] == frame.nbytes, 'info: %d bytes' % info['nbytes'])
        if layers is not None:
            check_layers(path, layers)


def shown_path(top, mount, frame):
    """Return the path at which a frame shows, or None if its name is not that
    of a frame."""
    path = os.path.relpath(frame.path, top)
    if frame.name:
        return mount / os.path.join(os.path.dirname(path), frame.name)
    stem, suffix = os.path.splitext(path)
    if frame.offset > 0 or suffix not in SUFFIXES:
        return None
    return mount / (stem if os.path.exists(mount / stem) else path)


def main():
    need_fuse()
    if corpus.WANTED:
        corpus.need_corpus()
        top = corpus.CORPUS
        items = corpus.corpus_items()
    else:
        top = os.path.join(corpus.DATA, 'frames')
        items = corpus.data_items()

    with workplace():
        os.mkdir('mnt-raw')
        with Mount(top, 'mnt') as ordinary, \
                Mount(top, 'mnt-raw', '-o', 'raw') as raw:
            run(top, items, ordinary, raw)


def run(top, items, ordinary, raw):
    def test(item):
        # The manifests describe the chunks of arrays.
        mount = raw if item.frame.array else ordinary
        path = shown_path(top, mount, item.frame)
        if path:
            check_shown(item.frame, item.layers, path)
            check(harness.SANITIZED or mount.memory() < MEMORY,
                  'daemon holds %d bytes' % mount.memory())
            return
        point = 'mnt-' + item.id
        os.mkdir(point)
        with Mount(item.frame.path, point, *mount.options, '-o',
                   'offset=%d' % item.frame.offset) as own:
            name, = os.listdir(own.path)
            check_shown(item.frame, item.layers, own / name)

    harness.run_all(test, items)


main()
