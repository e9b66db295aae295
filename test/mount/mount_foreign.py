#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount foreign
# test: mount corpus foreign; suite corpus; timeout 900; args framefs corpus
"""Frames that other programs wrote are changed through a mount, and an
independent reader then reads the new content.

usage: mount_foreign.py FRAMEFS [corpus]

The script changes copies of the frames of test/data, or with `corpus` copies of
all frames that lie beside the source tree.
"""

import contextlib
import errno
import hashlib
import json
import os
import random
import shutil
import sys

from mounted import (Mount, check, check_content, check_sound, corpus, harness,
                     need_fuse, oracle, read, workplace)

NBYTES_MAX = 1 << 20
LOSSY = ('trunc_prec', 'int_trunc')
FIXED_CODECS = ('lizard', 'snappy', 'zfp_acc', 'zfp_prec', 'zfp_rate')
NOT_FOR_ORACLE = ('odd-', 'caterva-', 'lizard', 'snappy', 'zfp_')
OLD_BYTEDELTA = 34
LAYERS = ('user.b2frame.meta.', 'user.b2frame.vlmeta.', 'user.b2frame.usermeta')


class Subject:
    """A copy of a frame, and the change to make to it."""

    def __init__(self, frame, change):
        self.frame = frame
        self.change = change
        self.id = '%s-%s' % (frame.id, change.__name__)
        self.stored = 'src/%s.b2frame' % self.id
        self.content = None
        self.layers = None

    def copy(self):
        if os.path.isdir(self.frame.path):
            shutil.copytree(self.frame.path, self.stored)
        else:
            shutil.copyfile(self.frame.path, self.stored)

    def shown(self, mounts):
        """Return the path to change.  Arrays are changed through the raw mount,
        because only their chunks can be truncated and extended."""
        return mounts['raw' if self.frame.array else 'items'] / self.id


# Each change is made to a file and to its model, a bytearray.

def spans(choice, size, chunksize):
    """Yield ranges to overwrite: at both ends, where chunks meet, and at
    random."""
    for off in {0, size - 1, chunksize - 1, size // chunksize * chunksize - 2,
                choice.randrange(size)}:
        if 0 <= off < size:
            yield off, min(size - off,
                           choice.choice((1, 3, 100, chunksize + 2)))


def overwrite(choice, fd, model, chunksize):
    for off, length in spans(choice, len(model), chunksize):
        piece = choice.randbytes(length)
        os.pwrite(fd, piece, off)
        model[off:off + length] = piece


def append(choice, fd, model, chunksize):
    for length in (1, choice.randrange(chunksize) + 1, chunksize + 1):
        piece = choice.randbytes(length)
        os.pwrite(fd, piece, len(model))
        model += piece
        os.fsync(fd)


def cut(choice, fd, model, chunksize):
    for size in (len(model) - 1, choice.randrange(len(model)),
                 len(model) + chunksize):
        os.ftruncate(fd, size)
        model[:] = (model + bytes(size))[:size]


CHANGES = (overwrite, append, cut)


def layers(path):
    """Return the names of the metalayers, with the contents of those that the
    system passes on.  A commit turns user metadata of old frames into an
    ordinary layer of that name, so both have the new name here."""
    result = {}
    for name in os.listxattr(path):
        if not name.startswith(LAYERS):
            continue
        new_name = name.replace('b2frame.usermeta', 'b2frame.vlmeta.usermeta')
        try:
            result[new_name] = os.getxattr(path, name)
        except OSError as error:
            check(error.errno == errno.E2BIG, '%s: %s' % (name, error))
            result[new_name] = None
    return result


def cannot_be_made(filters):
    """Can framefs decode with these filters, but not encode?"""
    barred = False
    for item in filters:
        if item['id'] == OLD_BYTEDELTA or barred and item['name'] == 'delta':
            return True
        barred |= item['name'] in (*LOSSY, 'delta')
    return False


def is_fixed(info):
    """Is every change refused for this kind of frame?"""
    return (info['vlblocks'] or info['codec'] in FIXED_CODECS or
            any(item['name'] == 'ndmean' for item in info['filters']) or
            cannot_be_made(info['filters']))


def is_refused(subject, info):
    """Is this change refused for the frame?"""
    if is_fixed(info):
        return True
    if subject.change is overwrite or info['nbytes'] == 0:
        return False
    return info['chunksize'] == 0 or 'odd-partial' in subject.id


@contextlib.contextmanager
def mounted():
    """Mount `src` twice: with arrays as their items, and with their raw
    chunks."""
    with Mount('src', 'mnt') as items, \
            Mount('src', 'mnt-raw', '-o', 'raw') as raw:
        yield {'items': items, 'raw': raw}


def change_one(subject, mounts):
    """Change the file that a mount shows, and remember the content that it must
    have."""
    path = subject.shown(mounts)
    info = json.loads(os.getxattr(path, 'user.b2frame.info'))
    subject.content = read(path)
    check(hashlib.sha256(subject.content).hexdigest() == subject.frame.sha256,
          'content before')
    subject.layers = layers(path)
    model = bytearray(subject.content)
    opened = False
    error = 0
    try:
        with open(path, 'r+b', buffering=0) as file:
            opened = True
            subject.change(random.Random(subject.id), file.fileno(), model,
                           info['chunksize'] or 1000)
            os.fsync(file.fileno())
    except OSError as failure:
        error = failure.errno
    check(opened == (not is_fixed(info)), 'opened: %d' % opened)
    refused = is_refused(subject, info)
    check(error == (errno.EOPNOTSUPP if refused else 0), 'error %d' % error)
    if refused:
        return
    subject.content = None
    if not any(item['name'] in LOSSY for item in info['filters']):
        check(read(path) == model, 'content after')
        subject.content = bytes(model)


def look_again(subject, mounts):
    """Does a new mount show the committed change?"""
    path = subject.shown(mounts)
    content = read(path)
    check(subject.content in (None, content), 'content, mounted again')
    check(layers(path) == subject.layers, 'metalayers')
    subject.content = content


def check_stored(subject):
    check_content(subject.stored, subject.content)


def complaints(items):
    """Return the errors that b2frame finds, or else those of an independent
    reader.  That reader skips the frames that it reads differently or not at
    all."""
    try:
        check_sound(*(subject.stored for subject in items))
    except harness.Failure as failure:
        return [str(failure)]
    if not oracle.is_here():
        return []
    return oracle.complaints({
        subject.stored: subject.content for subject in items
        if not subject.id.startswith(NOT_FOR_ORACLE)}).splitlines()


def subjects():
    """Return a copy of each frame of known content for each change."""
    if sys.argv[2:] == ['corpus']:
        corpus.need_corpus()
        frames = corpus.corpus_frames() + corpus.old_frames()
    else:
        frames = corpus.data_frames()
    result = [Subject(frame, change) for frame in frames
              if not frame.error and frame.sha256 != '-' and
              frame.offset == 0 and frame.nbytes <= NBYTES_MAX
              for change in CHANGES if frame.nbytes > 0 or change is append]
    return result[::4] if harness.SANITIZED else result


def main():
    need_fuse()
    items = subjects()
    failures = []

    def each(step):
        for subject in items:
            try:
                step(subject)
            except (harness.Failure, OSError) as failure:
                failures.append('%s: %s' % (subject.id, failure))

    with workplace():
        os.mkdir('src')
        os.mkdir('mnt-raw')
        each(Subject.copy)
        with mounted() as mounts:
            each(lambda subject: change_one(subject, mounts))
        with mounted() as mounts:
            each(lambda subject: look_again(subject, mounts))
        each(check_stored)
        failures += complaints(items)
    print('\n'.join(failures))
    print('%d of %d failed' % (len(failures), len(items)))
    sys.exit(len(failures) > 0)


main()
