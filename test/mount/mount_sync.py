#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount sync
"""fsync(2) of anything in a mount, and unmounting, sync the store.

The test uses strace(1) to see the daemon's calls.

usage: mount_sync.py FRAMEFS [TEST...]
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

from mounted import (PATIENCE, Mount, check, check_frames, frame, harness,
                     main, need_fuse, need_mounts, sh, write, write_sparse)

DATA = bytes(range(256)) * 100


@contextlib.contextmanager
def traced(mount):
    """Trace a daemon.  When the `with` statement ends, the set that it gives
    holds the paths that the daemon has synced, and after `fs:` those that it
    has called syncfs(2) for."""
    synced = set()
    calls = os.path.abspath('calls')
    with subprocess.Popen(
            ['strace', '-f', '-y', '-s0', '-e', 'trace=fsync,fdatasync,syncfs',
             '-o', calls, '-p', str(mount.daemon.pid)],
            stderr=subprocess.PIPE, text=True) as tracer:
        check('attached' in tracer.stderr.readline(), 'cannot trace')
        try:
            yield synced
        finally:
            if mount.daemon.poll() is None:
                tracer.send_signal(signal.SIGINT)
            tracer.wait(PATIENCE)
    with open(calls, encoding='utf-8') as lines:
        for call, path in re.findall(r'(\w+)\(\d+<(.*)>[)) ]', lines.read()):
            name = os.path.relpath(path, os.path.realpath('.'))
            synced.add(('fs:' if call == 'syncfs' else '') + name)


def fsync(path, flags=os.O_RDONLY):
    fd = os.open(path, flags)
    os.fsync(fd)
    os.close(fd)


def fsync_of_anything_syncs_what_is_stored():
    os.makedirs('src/dir')
    write('src/plain.txt', b'text')
    os.mkfifo('src/fifo')
    write('src/dir/a.b2frame', frame(DATA, 10000))
    write_sparse('src/sparse.b2frame', DATA)
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        for path in ('plain.txt', 'dir/a.b2frame', 'sparse.b2frame'):
            os.chmod(mount / path, 0o640)
        with traced(mount) as synced:
            fsync('mnt')
            fsync(mount / 'dir')
            fsync(mount / 'plain.txt')
            fsync(mount / 'dir/a.b2frame')
            fsync(mount / 'sparse.b2frame')
    wanted = {'src', 'src/dir', 'src/plain.txt', 'src/dir/a.b2frame',
              'src/sparse.b2frame', 'src/sparse.b2frame/chunks.b2frame'}
    check(synced >= wanted, 'not synced: %s' % (wanted - synced))


def fsync_through_a_reading_handle_syncs_what_others_wrote():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        with open(mount / 'a', 'wb') as writer, traced(mount) as synced:
            writer.write(DATA)
            writer.flush()
            fsync(mount / 'a')
    check('src/a.b2frame' in synced, 'synced are %s' % synced)


def fsync_of_what_was_removed_succeeds():
    os.makedirs('src/dir')
    write('src/plain.txt', b'text')
    write('src/a.b2frame', frame(DATA, 10000))
    write_sparse('src/sparse.b2frame', DATA)
    with Mount('src', 'mnt', '-o', 'names=keep') as mount:
        for name in ('plain.txt', 'a.b2frame', 'sparse.b2frame'):
            for flags in (os.O_RDONLY, os.O_RDWR):
                fd = os.open(mount / name, flags)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(mount / name)
                os.fsync(fd)
                os.close(fd)
                if flags == os.O_RDONLY:
                    write(mount / name, DATA)
        fd = os.open(mount / 'dir', os.O_RDONLY)
        os.rmdir(mount / 'dir')
        os.fsync(fd)
        os.close(fd)


def fsync_where_nothing_is_stored_is_no_error():
    write('a.b2frame', frame(DATA, 10000))
    with Mount('a.b2frame', 'mnt') as mount:
        fsync('mnt')
        fsync(mount / 'a', os.O_RDWR)
    os.mkdir('src')
    os.rename('a.b2frame', 'src/a.b2frame')
    for options in ('chunks', 'ro,chunks'):
        with Mount('src', 'mnt', '-o', options) as mount:
            for path in ('', 'a', 'a.chunks', 'a.chunks/00000000',
                         'a.chunks/00000000.chunk'):
                fsync(mount / path)


def a_rename_syncs_only_what_replaces_another_file():
    os.mkdir('src')
    # The daemon syncs nothing by itself.
    with Mount('src', 'mnt', '-o', 'commit=0') as mount:
        with open(mount / 'a', 'wb', buffering=0) as a, \
                open(mount / 'b', 'wb', buffering=0) as b:
            for file in (a, b):
                file.write(DATA)
                # A close commits, but nothing is synced while a file is open.
                os.close(os.dup(file.fileno()))
            with traced(mount) as synced:
                os.rename(mount / 'a', mount / 'c')
            check(not synced, 'synced: %s' % synced)
            with traced(mount) as synced:
                os.rename(mount / 'b', mount / 'c')
            check('src/b.b2frame' in synced, 'synced: %s' % synced)
    check_frames({'src/c.b2frame': DATA})


def file_systems_below_are_synced_in_the_end():
    """The daemon syncs SOURCE, and each file system below it that was written
    to."""
    need_mounts()
    names = ('made', 'removed', 'renamed', 'opened', 'read')
    os.mkdir('src')
    for name in names:
        os.mkdir('src/' + name)
        sh('mount -t tmpfs none src/' + name)
        write('src/%s/old.txt' % name, b'text')
    try:
        with Mount('src', 'mnt') as mount, traced(mount) as synced:
            os.mkdir(mount / 'made/dir')
            os.unlink(mount / 'removed/old.txt')
            os.rename(mount / 'renamed/old.txt', mount / 'renamed/new.txt')
            write(mount / 'opened/old.txt', b'other')
            with open(mount / 'read/old.txt', 'rb') as file:
                file.read()
            check(mount.stop(signal.SIGTERM) == 0, 'status')
    finally:
        for name in names:
            sh('umount src/' + name)
    wanted = {'fs:src'} | {'fs:src/' + name for name in names[:-1]}
    synced = {path for path in synced if path.startswith('fs:')}
    check(synced == wanted, 'synced are %s' % synced)


need_fuse()
if not shutil.which('strace') or harness.SANITIZED:
    print('no strace here, or not with a sanitizer')
    sys.exit(harness.SKIP)
main(fsync_of_anything_syncs_what_is_stored,
     fsync_through_a_reading_handle_syncs_what_others_wrote,
     fsync_of_what_was_removed_succeeds,
     fsync_where_nothing_is_stored_is_no_error,
     a_rename_syncs_only_what_replaces_another_file,
     file_systems_below_are_synced_in_the_end)
