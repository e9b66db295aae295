#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount write_programs
"""Programs that know nothing of frames write them as they write any file.

usage: mount_write_programs.py FRAMEFS [TEST...]

Each test runs on a mount with default options, and on one of sparse frames.
Afterwards all frames must be sound, and a second mount must show the same as
the first.
"""

import functools
import hashlib
import mmap
import os
import random
import select
import shutil
import sqlite3
import subprocess
import sys

from mounted import (PATIENCE, Mount, check, check_sound, harness, layouts,
                     main, read, sh, write)

DATA = random.Random(7).randbytes(500000)
LINES = b''.join(b'%d line of many\n' % (i * 7919 % 20011)
                 for i in range(20011))


def on_mounts(test):
    """Run a case on a mount with default options, and on one of sparse frames.
    """
    @layouts
    @functools.wraps(test)
    def changes(layout):
        options = ('-o', 'layout=sparse') if layout == 'sparse' else ()
        with Mount('src', 'mnt', *options) as mount:
            test(mount)
            shown = sums('mnt')
        check_sound(*frames('src'))
        with Mount('src', 'mnt'):
            check(sums('mnt') == shown, layout + ': differs, mounted again')
    return changes


def needs(*programs):
    """Run a test only where these programs are installed."""
    lacking = [name for name in programs if not shutil.which(name)]

    def choose(test):
        def skip():
            print('%s: is skipped for lack of %s' % (test.__name__,
                                                     ', '.join(lacking)))
        skip.__name__ = test.__name__
        return skip if lacking else test
    return choose


def frames(top):
    """Return the paths of the frames in a tree.  Every regular file there is
    one."""
    result = []
    for place, dirs, files in os.walk(top):
        sparse = [name for name in dirs if name.endswith('.b2frame')]
        dirs[:] = [name for name in dirs if name not in sparse]
        result += [os.path.join(place, name) for name in sparse + files]
    return [path for path in result if not os.path.islink(path)]


def sums(top):
    """Return the sums of all files in a tree, by path."""
    result = {}
    for place, _, files in os.walk(top):
        for name in files:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                result[path] = hashlib.sha256(read(path)).hexdigest()
    return result


def make_tree():
    """Make a small tree of all kinds of files, in `tree`."""
    choice = random.Random(8)
    for i in range(60):
        path = 'tree/%d/%d' % (i % 5, i % 3)
        os.makedirs(path, exist_ok=True)
        write('%s/file %d' % (path, i),
              choice.randbytes(choice.choice((0, 1, 100, 5000, 200000))))
        os.utime('%s/file %d' % (path, i), ns=(10**18, 10**18 + i))
    os.symlink('../0', 'tree/1/link')
    os.chmod('tree/2', 0o750)


@on_mounts
def copied_trees(mount):
    make_tree()
    sh('cp -a tree mnt/copy && diff -r tree mnt/copy')
    st = os.stat('tree/1/1/file 1')
    copy = os.stat(mount / 'copy/1/1/file 1')
    check(st.st_mtime_ns == copy.st_mtime_ns, 'time of modification')
    sh('cp -a mnt/copy mnt/again && diff -r tree mnt/again')
    sh('rm -rf mnt/copy')
    check(os.listdir('mnt') == ['again'], 'is not removed')


@on_mounts
def archives(_):
    make_tree()
    sh('tar cf tree.tar tree && tar xf tree.tar -C mnt && '
       'diff -r tree mnt/tree && tar df tree.tar -C mnt')
    sh('tar cSf back.tar -C mnt tree && mkdir back && '
       'tar xf back.tar -C back && diff -r tree back/tree')


@needs('rsync')
@on_mounts
def rsync_copies_once(_):
    make_tree()
    sh('rsync -a tree/ mnt/copy && diff -r tree mnt/copy')
    said = sh('rsync -a --itemize-changes tree/ mnt/copy')
    check(said == '', 'copied again: ' + said)
    said = sh('rsync -a --stats tree/ mnt/copy')
    check('files transferred: 0\n' in said, said)
    write('tree/0/0/file 0', DATA)
    said = sh('rsync -a --inplace --no-whole-file --itemize-changes tree/ '
              'mnt/copy')
    check(said.count('\n') == 1, 'one file: ' + said)
    sh('diff -r tree mnt/copy')


MAIN_C = b"""#include <stdio.h>
#include "answer.h"
int main(void) { printf("%d\\n", answer()); return 0; }
"""
MAKEFILE = b"""answer: main.o libanswer.a
\tcc -o $@ main.o -L. -lanswer
libanswer.a: answer.o
\tar rcs $@ $<
main.o answer.o: answer.h
"""
MESON_BUILD = b"""project('answer', 'c')
lib = shared_library('answer', 'answer.c')
test('answer', executable('answer', 'main.c', link_with: lib))
"""


def make_project():
    """Make a tar archive of a small project."""
    os.mkdir('project')
    write('project/main.c', MAIN_C)
    write('project/answer.h', b'int answer(void);\n')
    write('project/answer.c', b'#include "answer.h"\n'
                              b'int answer(void) { return 42; }\n')
    write('project/Makefile', MAKEFILE)
    write('project/meson.build', MESON_BUILD)
    sh('tar cf project.tar project')


@needs('make', 'cc', 'ar')
@on_mounts
def make_builds(mount):
    make_project()
    sh('tar xf project.tar -C mnt && make -C mnt/project', patience=60)
    check(sh('mnt/project/answer') == '42\n', 'what was built')
    check('up to date' in sh('make -C mnt/project'), 'is built again')
    sh("sed -i s/42/43/ mnt/project/answer.c && make -C mnt/project")
    check(sh('mnt/project/answer') == '43\n', 'what was built anew')
    os.unlink(mount / 'project/answer')


@needs('meson', 'ninja', 'cc')
@on_mounts
def meson_builds(_):
    make_project()
    sh('tar xf project.tar -C mnt && cd mnt/project && meson setup out && '
       'meson test -C out', patience=120)
    check('no work to do' in sh('ninja -C mnt/project/out'), 'is built again')


@needs('git')
@on_mounts
def repositories(_):
    make_tree()
    git = 'git -c user.name=x -c user.email=x@y -c init.defaultBranch=x '
    sh('cd tree && %s init -q && git add . && %s commit -qm x' % (git, git))
    sh('git clone -q tree mnt/clone && cd mnt/clone && git fsck --strict')
    check(sh('cd mnt/clone && git status --porcelain') == '', 'status')
    sh('cd mnt/clone && echo x >>new && git add new && '
       '%s commit -qm new && git gc -q && git fsck --strict' % git)
    sh('git clone -q mnt/clone mnt/bare && diff -r -x .git mnt/clone mnt/bare')


@on_mounts
def databases(mount):
    for journal in ('delete', 'wal'):
        path = mount / (journal + '.db')
        base = sqlite3.connect(path)
        base.execute('pragma journal_mode=' + journal)
        base.execute('create table t (i integer primary key, s text)')
        for i in range(20):
            with base:
                base.executemany('insert into t (s) values (?)',
                                 [(str(i * j) * 9,) for j in range(50)])
        with base:
            base.execute('delete from t where i % 3 = 0')
        ask = ('import sqlite3, sys\n'
               'base = sqlite3.connect(sys.argv[1])\n'
               'print(base.execute("select count(*) from t").fetchone()[0],\n'
               '      base.execute("pragma integrity_check").fetchone()[0])')
        said = subprocess.run([sys.executable, '-c', ask, path], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        check(said == '667 ok\n', journal + ', another process: ' + said)
        check(base.execute('pragma integrity_check').fetchall() == [('ok',)],
              journal)
        base.execute('vacuum')
        base.close()


ARRAYS = """
import numpy
data = numpy.arange(100000, dtype='<f8')
numpy.save('mnt/a.npy', data)
assert (numpy.load('mnt/a.npy') == data).all()
numpy.savez('mnt/a.npz', x=data, y=data[::-1])
assert (numpy.load('mnt/a.npz')['y'] == data[::-1]).all()
mapped = numpy.memmap('mnt/b', '<f8', 'w+', shape=data.shape)
mapped[:] = data
mapped.flush()
del mapped
mapped = numpy.memmap('mnt/b', '<f8', 'r+')
mapped[500:600] = -1
mapped.flush()
del mapped
data[500:600] = -1
assert open('mnt/b', 'rb').read() == data.tobytes()
mapped = numpy.load('mnt/a.npy', mmap_mode='r+')
mapped[-1] = 7
del mapped
assert numpy.load('mnt/a.npy')[-1] == 7
"""


@on_mounts
def arrays(_):
    write('arrays.py', ARRAYS.encode())
    # The distribution's NumPy belongs to this Python, and the tests may run in
    # another.
    sh('/usr/bin/python3 arrays.py', patience=60)


@on_mounts
def pieces_at_odd_offsets(_):
    write('raw', DATA)
    sh('cp raw mnt/a')
    for size, seek in ((777, 100), (4096, 3), (1, 499999), (100000, 1)):
        for name in ('raw', 'mnt/a'):
            sh('dd if=/bin/sh of=%s bs=%d seek=%d count=2 conv=notrunc '
               'status=none' % (name, size, seek))
        sh('cmp raw mnt/a')
    sh('truncate -s 123457 raw mnt/a && cmp raw mnt/a')
    sh('truncate -s +200000 raw mnt/a && cmp raw mnt/a')
    sh('cp --sparse=always mnt/a mnt/b && cmp raw mnt/b')
    sh('mv mnt/b mnt/a && cmp raw mnt/a')


@on_mounts
def direct_writes_and_reads(_):
    write('raw', DATA)
    sh('dd if=raw of=mnt/a bs=64k oflag=direct status=none && cmp raw mnt/a')
    sh('dd if=mnt/a bs=12k iflag=direct status=none | cmp - raw')
    for size, seek in ((4096, 3), (65536, 2), (512, 55)):
        sh('dd if=raw of=raw2 bs=%d count=3 status=none; '
           'for f in raw mnt/a; do dd if=raw2 of=$f bs=%d seek=%d conv=notrunc '
           'oflag=direct status=none || exit; done; cmp raw mnt/a' %
           (size, size, seek))
    sh('cat mnt/a | cmp - raw')


@needs('fio')
@on_mounts
def fio_verifies(_):
    size = '2m' if harness.SANITIZED else '8m'
    for direct in (0, 1):
        sh('fio --name=verify%d --directory=mnt --ioengine=psync --direct=%d '
           '--rw=randwrite --bsrange=4k-1m --size=%s --numjobs=4 --loops=2 '
           '--fallocate=none --end_fsync=1 --verify=crc32c --verify_fatal=1' %
           (direct, direct, size), patience=120)


@on_mounts
def text_changed_in_place(_):
    write('raw', LINES)
    sh('cp raw mnt/a')
    for command in ('sed -i s/line/LINE/', 'sort -n -o %s',
                    "perl -pi -e 's/many/few/'", 'sed -i 100,200d',
                    'truncate -s -1', 'sort -r -o %s'):
        for name in ('raw', 'mnt/a'):
            sh((command.replace('%s', name)) + ' ' + name)
        sh('cmp raw mnt/a')
    for command in ('grep -n 77', 'grep -c LINE', 'head -n 3', 'tail -n 3',
                    'wc', 'sha256sum <'):
        check(sh(command + ' raw').replace('raw', 'mnt/a') ==
              sh(command + ' mnt/a'), command)


@on_mounts
def tail_follows(mount):
    write(mount / 'log', b'first\n')
    with subprocess.Popen(['tail', '-n', '+1', '-f', mount / 'log'],
                          stdout=subprocess.PIPE) as tail:
        try:
            expect(tail.stdout, b'first\n')
            for i in range(5):
                with open(mount / 'log', 'ab') as log:
                    log.write(b'line %d\n' % i)
                expect(tail.stdout, b'line %d\n' % i)
        finally:
            tail.kill()


def expect(pipe, line):
    ready, _, _ = select.select([pipe], [], [], PATIENCE)
    check(ready and pipe.readline() == line, 'does not come: %s' % line)


@on_mounts
def mapping_of_two_processes(mount):
    write(mount / 'a', DATA)
    script = ('import mmap, sys\n'
              'with open(sys.argv[1], "r+b") as file:\n'
              '    mapped = mmap.mmap(file.fileno(), 0)\n'
              '    print(mapped[100000:100005].decode(), flush=True)\n'
              '    mapped[200000:200005] = b"child"\n'
              '    input()\n')
    with open(mount / 'a', 'r+b') as file, \
            mmap.mmap(file.fileno(), 0) as mapped:
        mapped[100000:100005] = b'front'
        with subprocess.Popen([sys.executable, '-c', script, mount / 'a'],
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            expect(child.stdout, b'front\n')
            child.communicate(b'\n')
            check(child.returncode == 0, 'the other process')
        check(mapped[200000:200005] == b'child', 'what it wrote')
        check(os.pread(file.fileno(), 5, 200000) == b'child', 'read')
    check(read(mount / 'a') == DATA[:100000] + b'front' + DATA[100005:200000] +
          b'child' + DATA[200005:], 'content')


main(copied_trees,
     archives,
     rsync_copies_once,
     make_builds,
     meson_builds,
     repositories,
     databases,
     arrays,
     pieces_at_odd_offsets,
     direct_writes_and_reads,
     fio_verifies,
     text_changed_in_place,
     tail_follows,
     mapping_of_two_processes)
