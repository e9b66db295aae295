# SPDX-License-Identifier: BSD-3-Clause
"""The frames of test/data, and those of a large corpus beside the source tree,
with the content that each has."""

import collections
import csv
import hashlib
import os
import sys

from harness import SKIP, SOURCE

csv.field_size_limit(1 << 24)

DATA = os.path.join(SOURCE, 'test', 'data')
# A script reads a corpus if that is its last argument: `corpus`, or `plugins`,
# whose frames have codecs and filters of arrays and of old versions.
WANTED = sys.argv[-1] if sys.argv[-1] in ('corpus', 'plugins') else None
CORPUS = os.environ.get('FRAMEFS_CORPUS') or os.path.join(
    os.path.dirname(SOURCE), 'shared', WANTED or 'corpus')

# Codecs that the build may lack, and lacks.
LACKING = set(os.environ.get('FRAMEFS_LACKING', '').split())

# One frame, as in test/data/frames/manifest.tsv; `path` is absolute.  For an
# array, size and content are those of its chunks.
Frame = collections.namedtuple(
    'Frame', 'id path offset nbytes sha256 name error windows array')

Window = collections.namedtuple('Window', 'offset length sha256')


def table(path):
    """Return the rows of a tab-separated file that has one header line."""
    with open(path, encoding='utf-8', newline='\n') as lines:
        return list(csv.DictReader(lines, delimiter='\t',
                                   quoting=csv.QUOTE_NONE))


def windows(text):
    """Parse START+LEN:SHA256 items, which are separated by semicolons."""
    result = []
    for word in filter(None, text.split(';')):
        place, sha256 = word.split(':')
        offset, length = place.split('+')
        result.append(Window(int(offset), int(length), sha256))
    return result


def arrays(path):
    """Return the ids of the frames that are arrays, from a table of
    metalayers."""
    return {row['id'] for row in table(path)
            if row['kind'] == 'fixed' and row['name'] in ('b2nd', 'caterva')}


def error_of(text):
    """Return the error of a frame, or none if it is ENOTSUP:CODEC, and the
    build has that codec."""
    error, _, codec = text.partition(':')
    return error if not codec or codec in LACKING else ''


def data_frames():
    """Return the frames of test/data."""
    top = os.path.join(DATA, 'frames')
    are_arrays = arrays(os.path.join(top, 'layers.tsv'))
    return [Frame(r['id'], os.path.join(top, r['path']), int(r['offset']),
                  int(r['nbytes']), r['sha256'], r['name'], error_of(r['error']),
                  windows(r['windows']), r['id'] in are_arrays)
            for r in table(os.path.join(top, 'manifest.tsv'))]


def features(row):
    """Return the features of a row of the corpus: values by key, and bare
    words."""
    words = row['features'].split(';')
    return (dict(w.split('=', 1) for w in words if '=' in w),
            {w for w in words if '=' not in w})


def corpus_frame(row):
    """Return the frame of a row of the corpus.  For an array, it describes the
    chunks."""
    values, words = features(row)
    prefix = 'schunk_' if row['kind'] == 'b2nd' else ''
    nbytes = int(values.get(prefix + 'nbytes', row['nbytes']))
    sha256 = values.get('schunk_sha256', '-') if prefix else row['sha256']
    places = ';'.join(values[prefix + w] for w in
                      ('head', 'middle', 'tail', 'patch')
                      if prefix + w in values)
    lacking = {row['codec'], values.get('codec')} & LACKING and \
        'plugin codec' in words and not words & {'has=memcpy'}
    return Frame(row['id'], os.path.join(CORPUS, row['path']),
                 int(values.get('offset', 0)), nbytes, sha256, '',
                 'ENOTSUP' if lacking else '',
                 windows(places) if sha256 == '-' else [],
                 row['kind'] == 'b2nd')


def old_frames():
    """Return the frames of old versions.  Arrays are left out, because their
    raw files do not hold their chunks."""
    top = os.path.join(CORPUS, 'old-versions')
    if not os.path.exists(top):
        return []
    result = []
    for name in sorted(os.listdir(top)):
        raw = os.path.join(top, name + '.raw')
        if not os.path.exists(raw) or name.endswith('.b2nd'):
            continue
        with open(raw, 'rb') as content:
            data = content.read()
        result.append(Frame('old-' + name, os.path.join(top, name), 0,
                            len(data), hashlib.sha256(data).hexdigest(),
                            '', '', [], False))
    return result


def need_corpus():
    """Exit as skipped if there is no corpus beside the source tree."""
    if not os.path.exists(os.path.join(CORPUS, 'manifest.tsv')):
        print('no corpus at', CORPUS)
        sys.exit(SKIP)


def corpus_frames():
    return [corpus_frame(r)
            for r in table(os.path.join(CORPUS, 'manifest.tsv'))]


class Item:
    """A frame and its metalayers, as a set of rows, or None if they are
    unknown."""

    def __init__(self, frame, layers):
        self.id = frame.id
        self.frame = frame
        self.layers = layers


def with_layers(frames, path):
    """Return frames as items, with the metalayers of a table."""
    rows = {}
    for row in table(path):
        rows.setdefault(row['id'], set()).add(
            (row['kind'], row['name'], int(row['nbytes']), row['sha256']))
    # The table of the plugins lacks metalayers of the older kind.
    none = None if WANTED == 'plugins' else set()
    return [Item(frame, rows.get(frame.id, none)) for frame in frames]


def data_items():
    """Return the frames of test/data with their metalayers."""
    return with_layers(data_frames(),
                       os.path.join(DATA, 'frames', 'layers.tsv'))


def corpus_items():
    """Return the frames of the corpus, and those of old versions, with their
    metalayers."""
    return with_layers(corpus_frames(), os.path.join(CORPUS, 'layers.tsv')) + \
        [Item(frame, None) for frame in old_frames()]
