#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of frames write them as they write any file.

usage: mount_write_programs.py FRAMEFS [TEST...]
"""

import os
import random
import shutil
import sqlite3

from mounted import Mount, check, main, read, sh, write

DATA = random.Random(7).randbytes(500000)


def layouts(test):
    """Run a test on each layout, in a tree of its own."""
    def both():
        for layout in ('contiguous', 'sparse'):
            os.makedirs(layout + '/src')
            os.mkdir(layout + '/mnt')
            os.chdir(layout)
            with Mount('src', 'mnt', '-o', 'layout=' + layout) as mount:
                test(mount)
            with Mount('src', 'mnt') as mount:
                sh('find mnt -type f -exec cat {} + >/dev/null')
            os.chdir('..')
    both.__name__ = test.__name__
    return both


def make_tree():
    """A small tree of all kinds of files, in `tree`."""
    choice = random.Random(8)
    for i in range(60):
        path = 'tree/%d/%d' % (i % 5, i % 3)
        os.makedirs(path, exist_ok=True)
        write('%s/file %d' % (path, i),
              choice.randbytes(choice.choice((0, 1, 100, 5000, 200000))))
        os.utime('%s/file %d' % (path, i), ns=(10**18, 10**18 + i))
    os.symlink('../0', 'tree/1/link')
    os.chmod('tree/2', 0o750)


@layouts
def copied_trees(mount):
    make_tree()
    sh('cp -a tree mnt/copy && diff -r tree mnt/copy')
    st = os.stat('tree/1/1/file 1')
    copy = os.stat(mount / 'copy/1/1/file 1')
    check(st.st_mtime_ns == copy.st_mtime_ns, 'time of modification')
    sh('cp -a mnt/copy mnt/again && diff -r tree mnt/again')
    sh('rm -rf mnt/copy')
    check(os.listdir('mnt') == ['again'], 'is not removed')


@layouts
def archives(_):
    make_tree()
    sh('tar cf tree.tar tree && tar xf tree.tar -C mnt && '
       'diff -r tree mnt/tree && tar df tree.tar -C mnt')
    sh('tar cSf back.tar -C mnt tree && mkdir back && '
       'tar xf back.tar -C back && diff -r tree back/tree')


@layouts
def rsync_copies_once(_):
    if not shutil.which('rsync'):
        return
    make_tree()
    sh('rsync -a tree/ mnt/copy && diff -r tree mnt/copy')
    said = sh('rsync -ai tree/ mnt/copy')
    check(said == '', 'copied again: ' + said)


@layouts
def repositories(_):
    if not shutil.which('git'):
        return
    make_tree()
    git = 'git -c user.name=x -c user.email=x@y -c init.defaultBranch=x '
    sh('cd tree && %s init -q && git add . && %s commit -qm x' % (git, git))
    sh('git clone -q tree mnt/clone && cd mnt/clone && git fsck --strict')
    sh('cd mnt/clone && git status --porcelain && echo x >>new && git add new '
       '&& %s commit -qm new && git gc -q && git fsck --strict' % git)


@layouts
def databases(mount):
    for journal in ('delete', 'wal'):
        base = sqlite3.connect(mount / (journal + '.db'))
        base.execute('pragma journal_mode=' + journal)
        base.execute('create table t (i integer primary key, s text)')
        for i in range(20):
            with base:
                base.executemany('insert into t (s) values (?)',
                                 [(str(i * j) * 9,) for j in range(50)])
        with base:
            base.execute('delete from t where i % 3 = 0')
        check(base.execute('pragma integrity_check').fetchall() == [('ok',)],
              journal)
        base.close()
        base = sqlite3.connect(mount / (journal + '.db'))
        check(base.execute('select count(*) from t').fetchone() == (667,),
              journal + ': rows')
        base.close()


@layouts
def arrays(mount):
    try:
        import numpy
    except ImportError:
        return
    data = numpy.arange(100000, dtype='<f8')
    numpy.save(mount / 'a.npy', data)
    check((numpy.load(mount / 'a.npy') == data).all(), 'load')
    mapped = numpy.memmap(mount / 'b', '<f8', 'w+', shape=data.shape)
    mapped[:] = data
    mapped.flush()
    del mapped
    mapped = numpy.memmap(mount / 'b', '<f8', 'r+')
    mapped[500:600] = -1
    mapped.flush()
    del mapped
    data[500:600] = -1
    check(read(mount / 'b') == data.tobytes(), 'memmap')


@layouts
def pieces_at_odd_offsets(_):
    write('raw', DATA)
    sh('cp raw mnt/a')
    for size, seek in ((777, 100), (4096, 3), (1, 499999), (100000, 1)):
        for name in ('raw', 'mnt/a'):
            sh('dd if=/bin/sh of=%s bs=%d seek=%d count=2 conv=notrunc '
               'status=none' % (name, size, seek))
        sh('cmp raw mnt/a')
    sh('truncate -s 123457 raw mnt/a && cmp raw mnt/a')
    sh('dd if=raw of=mnt/direct bs=64k oflag=direct status=none; true')
    sh('cp --sparse=always mnt/a mnt/b && cmp raw mnt/b')


main(copied_trees,
     archives,
     rsync_copies_once,
     repositories,
     databases,
     arrays,
     pieces_at_odd_offsets)
