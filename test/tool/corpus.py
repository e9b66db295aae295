# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the test scripts: tables of frames, and running a program."""

import collections
import concurrent.futures
import csv
import hashlib
import os
import resource
import subprocess
import sys

SKIP = 77
csv.field_size_limit(1 << 24)

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DATA = os.path.join(SOURCE, 'test', 'data')
CORPUS = os.environ.get('FRAMEFS_CORPUS') or os.path.join(
    os.path.dirname(SOURCE), 'shared', 'corpus')

# Sanitizers slow the program under test down, and make it use more memory.
SANITIZED = os.environ.get('FRAMEFS_SANITIZE', 'none') != 'none'

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


def data_frames():
    """Return the frames of test/data."""
    top = os.path.join(DATA, 'frames')
    are_arrays = arrays(os.path.join(top, 'layers.tsv'))
    return [Frame(r['id'], os.path.join(top, r['path']), int(r['offset']),
                  int(r['nbytes']), r['sha256'], r['name'], r['error'],
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
    lacking = words & {'plugin codec', 'plugin filter'} and \
        'bytedelta34' not in row['filters']
    return Frame(row['id'], os.path.join(CORPUS, row['path']),
                 int(values.get('offset', 0)), nbytes, sha256, '',
                 'ENOTSUP' if lacking else '',
                 windows(places) if sha256 == '-' else [],
                 row['kind'] == 'b2nd')


def old_frames():
    """Return the frames of old versions.  Arrays are left out, because their
    raw files do not hold their chunks."""
    top = os.path.join(CORPUS, 'old-versions')
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


def limit_memory():
    """Limit a program's memory, so that a runaway cannot exhaust the
    machine."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def peak_memory():
    """Return the most bytes that any program run so far has used at a time."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


class Failure(Exception):
    """The error that a test found, in a phrase."""


def check(holds, what):
    if not holds:
        raise Failure(what)


CRASH = 99  # exit status of a sanitizer that found an error


def environment():
    return dict(os.environ, LC_ALL='C.UTF-8',
                ASAN_OPTIONS='exitcode=%d:allocator_may_return_null=1:'
                             'quarantine_size_mb=8' % CRASH,
                UBSAN_OPTIONS='halt_on_error=1:print_stacktrace=1:'
                              'exitcode=%d' % CRASH,
                TSAN_OPTIONS='exitcode=%d' % CRASH)


def run(*words, timeout=60):
    """Run a program to its end.  It must not crash."""
    if SANITIZED:
        timeout *= 6
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(), timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Failure('%s: no end in %d s' % (words[1], timeout)) from None
    check(done.returncode in (0, 1, 2),
          '%s: status %d: %s' % (words[1], done.returncode,
                                 done.stderr.decode(errors='replace')))
    return done


def run_all(test, items):
    """Test each item, two at a time.  Exits 1 if any fails."""
    failures = 0

    def guarded(item):
        try:
            return test(item)
        except Failure as failure:
            return '%s: %s' % (item.id, failure)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for text in pool.map(guarded, items):
            if text:
                print(text)
                failures += 1
    print('%d of %d failed, peak memory %d MiB' %
          (failures, len(items), peak_memory() >> 20))
    sys.exit(failures > 0)
