#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount loaded_codecs
"""Codecs and filters of others are loaded if nobody else could change them.

usage: mount_loaded_codecs.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import json
import os
import random
import shutil
import subprocess
import tempfile

from mounted import (B2FRAME, FRAMEFS, Mount, check, error_of, harness, main,
                     read, write)

BUILT = os.path.join(os.path.dirname(os.path.dirname(FRAMEFS)), 'test',
                     'plugin')
CHOICE = random.Random(1)
DATA = b''.join(bytes([CHOICE.randrange(256)]) * (4 * CHOICE.randrange(1, 90))
                for _ in range(2000))
WANTED = ('--codec', '200', '--filters', '201', '--typesize', '4',
          '--chunksize', '64K')


@contextlib.contextmanager
def plugins():
    """A directory of plug-ins, for a `with` statement.  It is where only this
    user can change it; temporary files are often kept elsewhere."""
    top = '/run' if os.getuid() == 0 else os.environ.get('XDG_RUNTIME_DIR', '')
    if not os.access(top, os.W_OK):
        raise harness.Skipped('there is no directory of this user alone')
    with tempfile.TemporaryDirectory(prefix='framefs-test-', dir=top) as path:
        for name in os.listdir(BUILT):
            if name.endswith('.so'):
                shutil.copy(os.path.join(BUILT, name), path)
                os.chmod(os.path.join(path, name), 0o755)
        yield path


def b2frame(path, *words):
    """Run b2frame.  Return its status, and all that it has said."""
    env = dict(harness.environment(), FRAMEFS_PLUGINS=path)
    done = subprocess.run([B2FRAME, *words], env=env, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout, done.stderr.decode()


def make(path):
    write('in', DATA)
    status, _, said = b2frame(path, 'create', *WANTED, 'in', 'x.b2frame')
    check(status == 0 and said == '', said)


def refused(path, reason):
    status, shown, said = b2frame(path, 'cat', 'x.b2frame')
    check(status == 1 and shown == b'', 'is read')
    check(reason in said, 'says ' + said)


def frames_are_written_and_read():
    with plugins() as path:
        make(path)
        check(os.path.getsize('x.b2frame') < len(DATA) // 20, 'is not encoded')
        check(b2frame(path, 'cat', 'x.b2frame')[1] == DATA, 'content')
        info = json.loads(b2frame(path, 'info', '--json', 'x.b2frame')[1])
        check(info['codec'] == 'runs', 'codec %s' % info['codec'])
        os.mkdir('src')
        os.rename('x.b2frame', 'src/x.b2frame')
        for name, options in (
                ('y', 'plugins=%s,codec=200,filters=201:4'),
                ('z', 'codec=200,filters=201:4,plugins=%s')):
            with Mount('src', 'mnt', '-o', options % path) as mount:
                check(read(mount / 'x') == DATA, 'content in a mount')
                write(mount / name, DATA)
            stored = 'src/%s.b2frame' % name
            check(b2frame(path, 'cat', stored)[1] == DATA, 'what is written')
            check(os.path.getsize(stored) < len(DATA) // 20,
                  'what is written is not encoded')


def without_the_plugin_its_number_is_named():
    with plugins() as path:
        make(path)
        os.remove(path + '/codec-200.so')
        refused(path, 'codec that is not supported (200)')
        shutil.copy(BUILT + '/codec-200.so', path)
        os.remove(path + '/filter-201.so')
        refused(path, 'filter that is not supported (201)')
        refused(path + '/none', 'not supported')


def what_others_can_change_is_not_loaded():
    why = 'others could change'
    with plugins() as path:
        make(path)
        for mode in 0o775, 0o757:
            os.chmod(path, mode)
            refused(path, why)
            os.chmod(path, 0o755)
            os.chmod(path + '/codec-200.so', mode)
            refused(path, why)
            os.chmod(path + '/codec-200.so', 0o755)
        os.mkdir(path + '/sub')
        for name in os.listdir(path):
            if name.endswith('.so'):
                shutil.copy(path + '/' + name, path + '/sub')
        os.symlink('sub', path + '/link')
        check(b2frame(path + '/link', 'cat', 'x.b2frame')[1] == DATA,
              'a link to a directory')
        os.chmod(path, 0o777)
        refused(path + '/link', why)
        os.chmod(path, 0o1777)
        check(b2frame(path + '/sub', 'cat', 'x.b2frame')[1] == DATA,
              'in a sticky directory')
        if os.getuid() == 0:
            os.chown(path + '/sub/codec-200.so', 65534, 65534)
            refused(path + '/sub', why)


def files_of_other_kinds_are_not_loaded():
    with plugins() as path:
        make(path)
        name = path + '/codec-200.so'
        os.rename(name, path + '/other')
        os.symlink('other', name)
        refused(path, 'codec-200.so')
        os.remove(name)
        os.mkfifo(name)
        refused(path, 'codec-200.so: is no ordinary file')
        os.remove(name)
        write(name, b'no shared object')
        os.chmod(name, 0o755)
        refused(path, 'codec-200.so')


def plugins_that_are_not_valid_are_named():
    write('in', DATA)
    with plugins() as path:
        for number, why in ((211, 'version 2'), (212, 'name'),
                            (213, 'cannot decode'), (214, 'does not define'),
                            (215, 'flags')):
            status, _, said = b2frame(path, 'create', '--codec', str(number),
                                      'in', 'y.b2frame')
            check(status != 0, '%d is used' % number)
            check('codec-%d.so' % number in said and why in said,
                  'says ' + said)


def damaged_streams_are_refused():
    with plugins() as path:
        make(path)
        chunks = json.loads(b2frame(path, 'info', '--json', '--chunks',
                                    'x.b2frame')[1])['chunks']
        end = chunks[1]['offset'] + chunks[1]['cbytes']
        with open('x.b2frame', 'r+b') as frame:
            frame.seek(end - 2)
            frame.write(b'\0')
        status, said, _ = b2frame(path, 'verify', 'x.b2frame')
        check(status == 1 and b'do not match their sum' in said,
              'says %s' % said)
        os.mkdir('src')
        os.rename('x.b2frame', 'src/x.b2frame')
        with Mount('src', 'mnt', '-o', 'ro,sums=off,plugins=' + path) as mount:
            check(error_of(read, mount / 'x') == errno.EIO, 'is read')
            check('refused by its codec' in mount.log(), mount.log())


def a_mount_names_the_directory_that_is_not_safe():
    with plugins() as path:
        os.mkdir('src')
        os.chmod(path, 0o777)
        done = subprocess.run([FRAMEFS, '-o', 'plugins=' + path, 'src', '.'],
                              env=harness.environment(), check=False,
                              stderr=subprocess.PIPE)
        said = done.stderr.decode()
        check(done.returncode != 0, 'mounts')
        check('others could change ' + path in said, 'says ' + said)


main(frames_are_written_and_read,
     without_the_plugin_its_number_is_named,
     what_others_can_change_is_not_loaded,
     files_of_other_kinds_are_not_loaded,
     plugins_that_are_not_valid_are_named,
     damaged_streams_are_refused,
     a_mount_names_the_directory_that_is_not_safe)
