#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount life
"""Tests of the command line, the daemon, signals and unmounting.

usage: mount_life.py FRAMEFS [TEST...]
"""

import errno
import os
import re
import signal
import subprocess
import time

from mounted import (FRAMEFS, PATIENCE, Mount, check, corpus, error_of, frame,
                     harness, is_mounted, lacks, main, read, sh, write)

DATA = bytes(range(256)) * 100


def make():
    os.mkdir('src')
    write('src/a.b2frame', frame(DATA, 10000))


def framefs(*words):
    """Run framefs, and wait for the program that was started to exit."""
    return subprocess.run([FRAMEFS, *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=harness.environment(), text=True, check=False,
                          timeout=60)


def refused(status, said, *words):
    done = framefs(*words)
    check(done.returncode == status, '%s: status %d' % (words, done.returncode))
    check(re.search(said, done.stderr) and done.stderr.count('\n') == 1 and
          not done.stdout, '%s: says %r' % (words, done.stderr))
    check(not is_mounted('mnt'), '%s: is mounted' % (words,))


def wrong_usage_is_named():
    make()
    for words, said in ((('src',), 'MOUNTPOINT'),
                        (('src', 'mnt', 'more'), 'more'),
                        (('-x', 'src', 'mnt'), '-x'),
                        (('--frob', 'src', 'mnt'), '--frob'),
                        (('-o', 'frob=3', 'src', 'mnt'), 'frob=3'),
                        (('-o', 'ro,frob', 'src', 'mnt'), 'frob'),
                        (('-o', 'cache=12Q', 'src', 'mnt'), 'cache=12Q'),
                        (('-o', 'cache=99999999T', 'src', 'mnt'), 'cache='),
                        (('-o', 'cache=', 'src', 'mnt'), 'cache='),
                        (('-o', 'chunksize=128M', 'src', 'mnt'),
                         'chunksize=134217728.*cache=268435456'),
                        (('-o', 'cache=1M', 'src', 'mnt'),
                         'chunksize=1048576.*cache=1048576'),
                        (('-o', 'threads=0', 'src', 'mnt'), 'threads=0'),
                        (('-o', 'threads=-1', 'src', 'mnt'), 'threads=-1'),
                        (('-o', 'io_uring', 'src', 'mnt'), 'io_uring'),
                        (('-o', 'io_uring,ro,lock', 'src', 'mnt'), 'io_uring'),
                        (('-o', 'names=drop', 'src', 'mnt'), 'names=drop'),
                        (('-o', 'uid=nobody', 'src', 'mnt'), 'uid=nobody')):
        refused(2, said, *words)


def bad_source_is_one_line():
    make()
    write('text', b'no frame')
    write('short.b2frame', b'\x9e\xa8b2frame\0')
    os.mkfifo('fifo')
    for source, said in (('nowhere', 'nowhere: No such file'),
                         ('text', 'text: .*offset 0'),
                         ('short.b2frame', 'short.b2frame: '),
                         ('fifo', 'fifo: neither')):
        refused(1, said, source, 'mnt')
    refused(1, 'src: .*offset', '-o', 'offset=1', 'src', 'mnt')
    refused(1, 'text: ', '-o', 'offset=8', 'text', 'mnt')
    refused(1, 'nowhere', 'src', 'nowhere')
    refused(1, 'text is none', 'src', 'text')


def help_and_version():
    done = framefs('--help')
    check(done.returncode == 0 and not done.stderr and
          done.stdout.startswith('usage: framefs '), 'help')
    done = framefs('--version')
    check(done.returncode == 0 and not done.stderr and
          re.fullmatch(r'framefs [0-9.]+\n', done.stdout), 'version')


def outer(page):
    """Return the lines of a manual page that are in no list of a list."""
    kept = []
    depth = 0
    for line in page.splitlines():
        depth += line.startswith('.Bl') - line.startswith('.El')
        if depth < 2:
            kept.append(line)
    return '\n'.join(kept)


def manual_page_and_help_name_the_same_options():
    told = set(re.findall(r'^  ([a-z-]+)', framefs('--help').stdout, re.M))
    with open(os.path.join(harness.SOURCE, 'tools', 'framefs.1'),
              encoding='utf-8') as page:
        items = re.findall(r'^\.It (Fl|Cm) ([a-z-]+)', outer(page.read()),
                           re.M)
    written = {('-' if macro == 'Fl' else '') + name for macro, name in items}
    check(told == written - {'-o'}, 'only one of them has %s' %
          (told ^ written))


def daemon_answers_when_its_parent_leaves():
    make()
    done = framefs('src', 'mnt')
    try:
        check(done.returncode == 0 and not done.stderr, 'is not mounted')
        check(read('mnt/a') == DATA, 'content')
        line = sh('grep %s/mnt /proc/self/mounts' % os.getcwd())
        check(' fuse.framefs rw,' in line and 'default_permissions' in line,
              'mounts says ' + line)
    finally:
        sh('fusermount3 -u mnt')
    check(os.listdir('mnt') == [], 'is still mounted')


def largest_read_is_as_asked_for():
    make()
    done = framefs('-o', 'max_read=4096', 'src', 'mnt')
    check(done.returncode == 0, 'status %d' % done.returncode)
    try:
        check(read('mnt/a') == DATA, 'content')
    finally:
        sh('fusermount3 -u mnt')


def closed_standard_streams_do_no_harm():
    make()
    sh('%s src mnt <&- >&- 2>&-' % FRAMEFS)
    try:
        check(read('mnt/a') == DATA, 'content')
    finally:
        sh('fusermount3 -u mnt')


def signals_unmount():
    make()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Mount('src', 'mnt') as mount:
            check(read(mount / 'a') == DATA, 'content')
            check(mount.stop(number) == 0, 'status')
            check(not is_mounted('mnt'), 'is still mounted')
            check(mount.log() == '', 'says ' + mount.log())


def signal_unmounts_while_a_file_is_open():
    make()
    with Mount('src', 'mnt') as mount:
        fd = os.open(mount / 'a', os.O_RDONLY)
        check(os.read(fd, 1 << 20) == DATA, 'content')
        check(mount.stop(signal.SIGTERM) == 0, 'status')
        check(not is_mounted('mnt'), 'is still mounted')
        error_of(os.close, fd)


def daemon_leaves_while_a_ring_is_busy():
    if lacks('FRAMEFS_URING', (6, 14), 'io_uring'):
        return
    make()
    with Mount('src', 'mnt', '-o', 'ro,io_uring') as mount:
        check(read(mount / 'a') == DATA, 'content')
        names = sh('cat /proc/%d/task/*/comm' % mount.daemon.pid)
        offered = '/sys/module/fuse/parameters/enable_uring'
        check(('fuse-ring-0' in names) ==
              (os.path.exists(offered) and read(offered) == b'Y\n'),
              'its threads are ' + names)
        readers = [subprocess.Popen(
            ['sh', '-c', 'while dd if=mnt/a iflag=direct bs=1k; do :; done'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(4)]
        time.sleep(0.2)
        check(mount.stop(signal.SIGTERM) == 0, 'status')
        for reader in readers:
            reader.wait(60)
        check(mount.log() == '', 'says ' + mount.log())


def unmounting_ends_the_daemon():
    make()
    with Mount('src', 'mnt') as mount:
        sh('fusermount3 -u mnt')
        check(mount.daemon.wait(20) == 0, 'status')


def mount_that_a_dead_daemon_left_is_recognised():
    make()
    with Mount('src', 'mnt') as mount:
        check(mount.stop(signal.SIGKILL) == -signal.SIGKILL, 'is not killed')
        check(error_of(os.listdir, 'mnt') == errno.ENOTCONN, 'still answers')
        done = framefs('src', 'mnt')
        check(done.returncode == 1, 'status %d' % done.returncode)
        check(done.stderr.endswith('fusermount3 -u mnt\n') and
              done.stderr.count('\n') == 1, 'says ' + done.stderr)
        sh(done.stderr[done.stderr.index('fusermount3'):])
        check(not is_mounted('mnt'), 'is still mounted')
        mount.daemon.returncode = 0


def one_tib_of_zeros_is_read_anywhere_at_once():
    tib = os.path.join(corpus.DATA, 'frames', 'zeros-1tib-data-inside.b2frame')
    with Mount(tib, 'mnt') as mount:
        path = mount / 'zeros-1tib-data-inside'
        start = time.monotonic()
        check(os.path.getsize(path) == 1 << 40, 'size')
        for off in range(0, 1 << 40, 1 << 34):
            check(len(read(path, off, 1 << 20)) == 1 << 20, 'length')
        check(time.monotonic() - start < PATIENCE, 'takes long')
        check(harness.SANITIZED or mount.memory() < 64 << 20,
              'takes %d bytes' % mount.memory())


main(wrong_usage_is_named,
     bad_source_is_one_line,
     help_and_version,
     manual_page_and_help_name_the_same_options,
     daemon_answers_when_its_parent_leaves,
     largest_read_is_as_asked_for,
     closed_standard_streams_do_no_harm,
     signals_unmount,
     signal_unmounts_while_a_file_is_open,
     daemon_leaves_while_a_ring_is_busy,
     unmounting_ends_the_daemon,
     mount_that_a_dead_daemon_left_is_recognised,
     one_tib_of_zeros_is_read_anywhere_at_once)
