#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: remote frames; timeout 120; args b2frame build
# test: remote corpus; suite corpus; timeout 900; args b2frame build corpus
"""Frames have the content by URL that they have as files.

usage: remote_frames.py B2FRAME BUILD_ROOT [corpus] [TEST...]

The script reads the frames of test/data, good and damaged, or with `corpus`
all frames that lie beside the source tree.
"""

import concurrent.futures
import glob
import hashlib
import os
import subprocess
import sys
import urllib.parse

import corpus
import harness
from harness import check
from nginx import Nginx
from remote_library import Library
from s3_server import S3
from web import Web

TOOL = os.path.abspath(sys.argv[1])
BUILD = sys.argv[2]
LARGE = sys.argv[3:4] == ['corpus']
WHOLE = 64 << 20  # bytes; larger frames are not compared whole
EACH = 1 if LARGE else 8  # of so many frames one is tried by itself
del sys.argv[2:4 if LARGE else 3]

TOP = corpus.CORPUS if LARGE else corpus.DATA


def frames():
    if LARGE:
        corpus.need_corpus()
        return [item.frame for item in corpus.corpus_items()]
    return corpus.data_frames()


def hostile():
    """Return the paths of damaged frames."""
    top = os.path.join(TOP, 'hostile' if LARGE else 'bad')
    return [os.path.join(top, row['path'])
            for row in corpus.table(os.path.join(top, 'manifest.tsv'))]


def url_of(server, path):
    return server.url + urllib.parse.quote(os.path.relpath(path, TOP))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def each(test, items, what):
    """Test items, several at a time, and list all that fail."""
    def guarded(item):
        try:
            test(item)
        except (harness.Failure, OSError) as failure:
            return '%s: %s' % (what(item), failure)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        failures = list(filter(None, pool.map(guarded, items)))
    check(not failures, '%d fail:\n%s' % (len(failures),
                                          '\n'.join(failures[:20])))


def check_by_library(library, server, frame):
    try:
        with library.open(url_of(server, frame.path), frame.offset) as opened:
            check(opened.size() == frame.nbytes, 'size %d' % opened.size())
            for window in frame.windows:
                data = opened.read(window.offset, window.length)
                check(sha256(data) == window.sha256, 'other content')
            if not frame.windows and not frame.error:
                check(sha256(opened.read()) == frame.sha256, 'other content')
            elif not frame.windows:
                opened.read(0, min(frame.nbytes, WHOLE))
    except OSError:
        if not frame.error:
            raise


def read_all(server, library):
    each(lambda frame: check_by_library(library, server, frame), frames(),
         lambda frame: frame.id)


def the_library_reads_them():
    with Web(TOP) as web, Library(BUILD, 'timeout=60') as library:
        read_all(web, library)


def the_library_reads_them_from_nginx():
    with Nginx(TOP) as nginx, Library(BUILD, 'timeout=60') as library:
        read_all(nginx, library)


def the_library_reads_them_from_s3():
    with S3(TOP) as s3, Library(BUILD, 'timeout=60') as library:
        read_all(s3, library)
        check(not s3.refused, 'is refused')


def run(*words):
    """Run b2frame; return its status, output and messages."""
    done = subprocess.run([TOOL, *words], check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120,
                          env=harness.environment())
    return done.returncode, done.stdout, done.stderr


def check_cat(server, frame):
    offset = ('--frame-offset', str(frame.offset)) if frame.offset else ()
    raw = ('--raw',) if frame.array else ()
    status, data, said = run('cat', *offset, *raw, url_of(server, frame.path))
    if frame.error:
        check(status == 1, 'is not refused')
        return
    check(status == 0 and not said, said.decode())
    check(sha256(data) == frame.sha256, 'other content')


def b2frame_reads_them():
    """The library has read all of them, so some are enough."""
    chosen = [frame for frame in frames()
              if not frame.windows and frame.nbytes <= WHOLE][::EACH]
    with Web(TOP) as web:
        each(lambda frame: check_cat(web, frame), chosen,
             lambda frame: frame.id)


def as_files(server, text):
    """Return messages with the names of files in place of URLs."""
    return text.decode().replace(server.url, TOP + '/')


def check_hostile(server, path):
    words = ('cat', '--length', '1M')
    here = run(*words, path)
    status, data, said = run(*words, url_of(server, path))
    check((status, data) == here[:2], 'other content')
    check(as_files(server, said) == here[2].decode(), said.decode())


def damaged_frames_give_what_they_give_as_files():
    """A server has no directories without an index, and no chunk that is a
    directory: these are missing there."""
    paths = [path for path in hostile() if
             not os.path.isdir(path) or os.path.isfile(
                 path + '/chunks.b2frame') and not glob.glob(
                     path + '/*.chunk/')]
    with Web(TOP) as web:
        here = run('verify', *paths)
        there = run('verify', *(url_of(web, path) for path in paths))
        check(there[0] == here[0], 'status %d' % there[0])
        for stream in (1, 2):
            lines = set(as_files(web, there[stream]).splitlines())
            odd = lines ^ set(here[stream].decode().splitlines())
            check(not odd, 'by URL or as files only: ' + '\n'.join(odd))
        each(lambda path: check_hostile(web, path), paths[::EACH],
             lambda path: path)


harness.need_remote()
harness.main(the_library_reads_them,
             the_library_reads_them_from_nginx,
             the_library_reads_them_from_s3,
             b2frame_reads_them,
             damaged_frames_give_what_they_give_as_files)
