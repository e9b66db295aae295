#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount stores
"""Stores of python-blosc2 show as directories of the frames that they hold.

usage: mount_stores.py FRAMEFS [TEST...]
"""

import contextlib
import errno
import os
import random
import stat
import struct
import zipfile

import stores
from mounted import (B2FRAME, NOBODY, REFUSED, Mount, as_nobody, check,
                     error_of, frame, harness, main, need_users, read, replace,
                     sh, wait_for, write)

DATA = random.Random(1).randbytes(40000)
ITEMS = random.Random(2).randbytes(60 * 70 * 4)
AUTHOR = 'user.b2frame.vlmeta.author'
KINDS = 'store.b2z', 'store.b2d', 'store.b2e'


def array():
    """Return a frame that is an array of ITEMS."""
    write('items', ITEMS)
    sh(B2FRAME + ' create --shape 60,70 --dtype "<i4" --chunks 25,32 items '
       'array.b2nd')
    return read('array.b2nd')


def described(author):
    """Return a frame that holds the metadata of a folder."""
    return stores.layered(b'', {}, {'author': author})


def make():
    """Write a store of each kind under src.  Return its contents by path."""
    os.mkdir('src')
    plane = array()
    top = {'/__vlmeta__': described(b'me')}
    near = {'/near': frame(DATA, 5000), '/group/deep/near': plane}
    far = {
        'far.b2f': frame(DATA[:999], 500),
        'group/plane.b2nd': plane,
        'group/list.b2b': frame(b'list' * 99, 4),
        'group/__vlmeta__.b2f': described(b'you'),
        'group/other.dat': frame(b'other', 5),
    }
    useless = {
        'notes.txt': b'no frame',
        'far.b2f.b2lock': b'',
        'far.b2f.12345.tmp': frame(b'left over', 9),
    }
    covered = {'/far': frame(b'covered', 7)}
    stores.make_zip('src/store.b2z', {**far, **useless},
                    {**near, **top, **covered})
    stores.make_directory('src/store.b2d', {**far, **useless},
                          {**near, **top, **covered})
    keys = {'/' + os.path.splitext(name)[0]: data
            for name, data in far.items() if not name.endswith('.dat')}
    keys['/group/other.dat'] = far['group/other.dat']
    write('src/store.b2e', stores.embed({**near, **top, **keys}))
    return {
        'near': DATA, 'far': DATA[:999],
        'group/deep/near': ITEMS, 'group/plane': ITEMS,
        'group/list': b'list' * 99, 'group/other.dat': b'other',
    }


def private_stores_are_private():
    need_users()
    make()
    os.chmod('.', 0o755)
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        for store in KINDS:
            paths = [mount / store + path for path in ('/near', '/group/deep/near')]
            with contextlib.ExitStack() as held:
                # Programs that have a frame open can read on, but other
                # programs can no longer open it.
                for path in paths:
                    check(as_nobody(read, path) == 0, path)
                    held.enter_context(open(path, 'rb'))
                sh('chmod -R u=rwX,go= src/' + store)
                for path in paths:
                    check(as_nobody(read, path) == errno.EACCES, path)
                check(as_nobody(os.listdir, mount / store) == errno.EACCES, store)
                check(as_nobody(os.listdir, mount / store + '/group') ==
                      errno.EACCES, store + '/group')
                check(as_nobody(os.getxattr, mount / store, AUTHOR) ==
                      errno.EACCES, store + ': attribute')


def tree(top):
    """Return the files below a directory, by their path there."""
    result = {}
    for path, _, names in os.walk(top, onerror=lambda error: check(
            False, 'cannot list: %s' % error)):
        for name in names:
            whole = os.path.join(path, name)
            result[os.path.relpath(whole, top)] = read(whole)
    return result


def stores_show_as_directories():
    wanted = make()
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        check(sorted(os.listdir('mnt')) == sorted(KINDS), 'stores')
        for kind in KINDS:
            check(tree(mount / kind) == wanted, kind)
            for path, data in wanted.items():
                path = os.path.join(mount / kind, path)
                check(os.stat(path).st_size == len(data), path + ': size')
                check(os.stat(path).st_mode & 0o222 == 0, path + ': mode')
                check(read(path, 17, 1000) == data[17:1017], path + ': window')
        check(mount.log() == '', mount.log())


def metadata_of_folders_are_attributes():
    make()
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        for kind in KINDS:
            check(os.getxattr(mount / kind, AUTHOR) == b'me', kind)
            group = os.path.join(mount / kind, 'group')
            check(os.getxattr(group, AUTHOR) == b'you', group)
            check(AUTHOR in os.listxattr(group), group + ': not listed')
            deep = os.path.join(group, 'deep')
            check(os.listxattr(deep) == [], deep + ': has attributes')
            check(error_of(os.getxattr, deep, AUTHOR) == errno.ENODATA, deep)
            info = os.getxattr(os.path.join(group, 'plane'),
                               'user.b2frame.info')
            check(b'"typesize":4' in info, info)


def names_and_views_follow_the_options():
    make()
    with Mount('src', 'mnt', '-o', 'npy') as mount:
        for kind in KINDS:
            data = read(mount / kind + '/group/plane.npy')
            check(data.endswith(ITEMS) and data.startswith(b'\x93NUMPY'), kind)
            check(len(os.listdir(mount / kind + '/group')) == 4, kind)
    with Mount('src', 'mnt', '-o', 'ro,names=keep,raw') as mount:
        for kind in KINDS[:2]:
            check(sorted(os.listdir(mount / kind)) ==
                  ['far.b2f', 'group', 'near.b2f'], kind)
            check(len(read(mount / kind + '/group/plane.b2nd')) > len(ITEMS),
                  kind)


def a_store_is_mounted_itself():
    wanted = make()
    os.rename('src/store.b2z', 'src/archive')
    for kind in 'archive', 'store.b2d', 'store.b2e':
        with Mount('src/' + kind, 'mnt') as mount:
            check(tree('mnt') == wanted, kind)
            check(os.getxattr('mnt', AUTHOR) == b'me', kind)
            check(error_of(write, mount / 'new', b'') == errno.EROFS, kind)
    write('file', b'')
    said = sh(os.path.join(os.path.dirname(B2FRAME), 'framefs') +
              ' src/store.b2e file', status=1)
    check('is a directory of files' in said, said)


def change_calls(path):
    """Return the calls that would change something in a store."""
    return {
        'write': (os.open, path + '/near', os.O_RDWR),
        'truncate': (os.truncate, path + '/near', 0),
        'create': (os.open, path + '/new', os.O_CREAT | os.O_WRONLY),
        'mkdir': (os.mkdir, path + '/new'),
        'symlink': (os.symlink, 'near', path + '/new'),
        'link': (os.link, path + '/near', path + '/new'),
        'unlink': (os.unlink, path + '/near'),
        'rmdir': (os.rmdir, path + '/group'),
        'rename': (os.rename, path + '/near', path + '/new'),
        'rename out': (os.rename, path + '/near', path + '/../new'),
        'rename in': (os.rename, 'mnt/file', path + '/new'),
        'rename over': (os.rename, 'mnt/empty', path),
        'remove': (os.rmdir, path),
        'chmod': (os.chmod, path + '/near', 0o666),
        'utime': (os.utime, path + '/near', (1, 1)),
        'setxattr': (os.setxattr, path + '/near', AUTHOR, b'x'),
        'removexattr': (os.removexattr, path, AUTHOR),
        'setxattr of a folder': (os.setxattr, path + '/group', AUTHOR, b'x'),
    }


def nothing_in_a_store_changes():
    wanted = make()
    before = {kind: sh('find src/%s -type f -exec md5sum {} +' % kind)
              for kind in KINDS}
    with Mount('src', 'mnt') as mount:
        write(mount / 'file', b'x')
        os.mkdir(mount / 'empty')
        for kind in KINDS:
            for what, call in change_calls(mount / kind).items():
                error = error_of(*call)
                check(error in REFUSED, '%s: %s: %d' % (kind, what, error))
            check(tree(mount / kind) == wanted, kind)
            check(before[kind] == sh('find src/%s -type f -exec md5sum {} +' %
                                     kind), kind + ' was changed')


def a_store_moves_as_one():
    wanted = make()
    with Mount('src', 'mnt') as mount:
        os.mkdir(mount / 'to')
        for kind in KINDS:
            moved = mount / 'to/moved' + os.path.splitext(kind)[1]
            with open(mount / kind + '/near', 'rb') as file:
                os.rename(mount / kind, moved)
                check(file.read() == DATA, kind + ': was open')
            check(not os.path.exists(mount / kind), kind)
            check(tree(moved) == wanted, kind)
        check(error_of(os.rename, mount / 'to/moved.b2z', mount / 'x') ==
              errno.EPERM, 'a store loses its suffix')


def its_owner_may_move_a_store():
    need_users()
    wanted = make()
    for path in ('..', '.', 'src'):
        os.chmod(path, 0o777)
    sh('chown -R %d:%d src' % (NOBODY, NOBODY))
    with Mount('src', 'mnt', '-o', 'allow_other') as mount:
        check(as_nobody(os.mkdir, mount / 'to') == 0, 'mkdir')
        for kind in KINDS:
            check(stat.S_IMODE(os.stat(mount / kind).st_mode) == 0o755, kind)
            check(as_nobody(os.rename, mount / kind, mount / 'to/' + kind) == 0,
                  kind + ': rename')
            check(as_nobody(write, mount / 'to/' + kind + '/new', b'') ==
                  errno.EROFS, kind + ': new')
            check(tree(mount / 'to/' + kind) == wanted, kind)


def new_leaves_show_at_once():
    make()
    with Mount('src', 'mnt') as mount:
        for kind in KINDS:
            check(len(os.listdir(mount / kind)) == 3, kind)
        write('src/store.b2d/new.b2nd', read('array.b2nd'))
        check(read(mount / 'store.b2d/new') == ITEMS, 'a new file')
        replace('src/store.b2d/embed.b2e', stores.embed(
            {'/newer': frame(b'newer', 5)}, 'b2tree'))
        replace('src/store.b2e', stores.embed({'/newer': frame(b'newer', 5)}))
        stores.make_zip('src/new', {'newer.b2f': frame(b'newer', 5)})
        os.rename('src/new', 'src/store.b2z')
        os.remove('src/store.b2d/new.b2nd')
        sh('rm -r src/store.b2d/group src/store.b2d/f*')
        for kind in KINDS:
            wait_for(lambda: os.path.exists(mount / kind + '/newer'), kind)
            check(read(mount / kind + '/newer') == b'newer', kind)
            wait_for(lambda: os.listdir(mount / kind + '/') == ['newer'] and
                     not os.path.exists(mount / kind + '/near'), kind)


def open_leaves_stay_readable():
    make()
    with Mount('src', 'mnt', '-o', 'cache=2M') as mount:
        with open(mount / 'store.b2z/near', 'rb') as file:
            stores.make_zip('src/new', {'near.b2f': frame(b'new', 3)})
            os.rename('src/new', 'src/store.b2z')
            check(os.pread(file.fileno(), 100, 39000) == DATA[39000:39100],
                  'the leaf that was open')
        wait_for(lambda: read(mount / 'store.b2z/near') == b'new', 'the new one')


def open_leaves_follow_what_is_overwritten():
    make()
    new = random.Random(3).randbytes(len(DATA))
    other = {'/a': frame(bytes(30000), 5000), '/near': frame(new, 5000)}
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        files = {kind: open(mount / kind + '/near', 'rb') for kind in KINDS}
        wait_for(lambda: read(mount / 'store.b2e/group/list')[:4] == b'list',
                 'a leaf')
        write('src/store.b2e', stores.embed(other))
        write('src/store.b2d/embed.b2e', stores.embed(other, 'b2tree'))
        stores.make_zip('src/store.b2z', {}, other)
        for kind, file in files.items():
            with file:
                check(os.pread(file.fileno(), 9000, 20000) == new[20000:29000],
                      kind)


def large_zip(path, offset, data):
    """Make an archive that has a member at a large offset.  Format:
    APPNOTE.TXT, 4.3, 4.5.3."""
    name = b'far.b2f'
    with open(path, 'wb') as file:
        file.write(b'PK\3\4')
        file.seek(offset)
        file.write(struct.pack('<IHHHHHIIIHH', 0x04034b50, 45, 0, 0, 0, 0, 0,
                               0, 0, len(name), 4) + name + b'\xfe\xca\0\0')
        file.write(data)
        start = file.tell()
        extra = struct.pack('<HHQQQ', 1, 24, len(data), len(data), offset)
        file.write(struct.pack(
            '<IHHHHHHIIIHHHHHII', 0x02014b50, 45, 45, 0, 0, 0, 0, 0,
            0xffffffff, 0xffffffff, len(name), len(extra), 0, 0, 0, 0,
            0xffffffff) + name + extra)
        end = file.tell()
        file.write(struct.pack('<IQHHIIQQQQ', 0x06064b50, 44, 45, 45, 0, 0, 1,
                               1, end - start, start))
        file.write(struct.pack('<IIQI', 0x07064b50, 0, end, 1))
        file.write(struct.pack('<IHHHHIIH', 0x06054b50, 0, 0, 0xffff, 0xffff,
                               0xffffffff, 0xffffffff, 3) + b'end')


def archives_may_be_large():
    os.mkdir('src')
    large_zip('src/large.b2z', 5 << 30, frame(DATA, 4096))
    with Mount('src', 'mnt') as mount:
        before = mount.memory()
        check(tree(mount / 'large.b2z') == {'far': DATA}, 'far away')
        check(harness.SANITIZED or mount.memory() - before < 8 << 20, 'memory')


def members_that_are_compressed_cannot_be_read():
    os.mkdir('src')
    stores.make_zip('src/repacked.b2z', {'x.b2f': frame(bytes(5000), 5000),
                                         'notes.txt': b'x' * 99},
                    method=zipfile.ZIP_DEFLATED)
    stores.make_zip('src/lost.b2z', {}, {'/x': frame(b'', 1)},
                    zipfile.ZIP_DEFLATED)
    with Mount('src', 'mnt') as mount:
        check(os.listdir(mount / 'repacked.b2z') == ['x'], 'what shows')
        check(error_of(read, mount / 'repacked.b2z/x') == errno.EOPNOTSUPP,
              'a member')
        check('repacked.b2z/x.b2f: offset 0: a member of a zip archive is '
              'compressed' in mount.log(), mount.log())
        check(error_of(os.listdir, mount / 'lost.b2z') == errno.EOPNOTSUPP,
              'an embed store')


def raw_zip(path, entries, **changes):
    """Make an archive from pairs of a name, in bytes, and data.  The keyword
    arguments change fields of the first entry in its directory."""
    body = b''
    directory = b''
    for number, (name, data) in enumerate(entries):
        fields = {'method': 0, 'cbytes': len(data), 'nbytes': len(data),
                  'off': len(body), 'magic': 0x02014b50}
        if number == 0:
            fields.update((key, value) for key, value in changes.items()
                          if key in fields)
        directory += struct.pack(
            '<IHHHHHHIIIHHHHHII', fields['magic'], 20, 20, 0, fields['method'],
            0, 0, 0, fields['cbytes'], fields['nbytes'], len(name), 0, 0, 0, 0,
            0, fields['off']) + name
        body += struct.pack('<IHHHHHIIIHH', 0x04034b50, 20, 0, 0, 0, 0, 0,
                            len(data), len(data), len(name), 0) + name + data
    count = changes.get('count', len(entries))
    write(path, body + directory + struct.pack(
        '<IHHHHIIH', 0x06054b50, 0, 0, count, count,
        changes.get('len', len(directory)), changes.get('start', len(body)), 0))


ONE = [(b'x.b2f', frame(b'one', 3))]
OUT = 'a name in a store leads out of it, or is too long'
TWICE = 'a store has two frames of one name'
OUTSIDE = 'a member of a zip archive lies outside it'
ARCHIVES = {
    'dots': ([(b'../x.b2f', b'')], {}, OUT),
    'inner dots': ([(b'a/../../x.b2f', b'')], {}, OUT),
    'dot': ([(b'./x.b2f', b'')], {}, OUT),
    'absolute': ([(b'/x.b2f', b'')], {}, OUT),
    'no name': ([(b'', b'')], {}, OUT),
    'slashes': ([(b'a//x.b2f', b'')], {}, OUT),
    'zero byte': ([(b'x\0y.b2f', b'')], {}, OUT),
    'long name': ([(b'x' * 256, b'')], {}, OUT),
    'long path': ([(b'x/' * 3000 + b'x', b'')], {}, OUT),
    'twice': (ONE * 2, {}, TWICE),
    'embed twice': ([(b'embed.b2e', b'')] * 2, {}, TWICE),
    'file and folder': ([(b'x', ONE[0][1]), (b'x/y.b2f', b'')], {},
                        'a store has a frame and a folder of one name'),
    'two sizes': (ONE, {'nbytes': 2}, 'a member of a zip archive has two sizes'),
    'too long': (ONE, {'nbytes': 5000, 'cbytes': 5000}, OUTSIDE),
    'far away': (ONE, {'off': 1 << 31}, OUTSIDE),
    'no zip64': (ONE, {'off': 0xffffffff},
                 'an entry of a zip directory lacks its zip64 field'),
    'no entry': (ONE, {'magic': 1},
                 'no entry where one of a zip directory should be'),
    'entries': (ONE, {'count': 2},
                'the directory of a zip archive lies outside it'),
    'no entries': (ONE, {'count': 0},
                   'a zip directory goes on behind its last entry'),
    'many entries': (ONE, {'count': 0xffff},
                     'a zip archive lacks its zip64 record'),
    'start': (ONE, {'start': 5000},
              'the directory of a zip archive lies outside it'),
    'embed': ([(b'embed.b2e', b'no frame at all')], {},
              'this is no Blosc2 frame'),
}


def hostile_archives_are_errors():
    os.mkdir('src')
    for name, (entries, changes, _) in ARCHIVES.items():
        raw_zip('src/%s.b2z' % name, entries, **changes)
    raw_zip('src/cut.b2z', ONE)
    write('src/cut.b2z', read('src/cut.b2z')[:-1])
    wanted = {name: phrase for name, (_, _, phrase) in ARCHIVES.items()}
    wanted['cut'] = 'a zip archive has no end of its directory'
    check_refused(wanted, '.b2z')


def check_refused(wanted, suffix):
    """Each store is refused with its phrase in one line of the log, and another
    store still works."""
    write('src/sound.b2e', stores.embed({'/x': ONE[0][1]}))
    with Mount('src', 'mnt') as mount:
        for name, phrase in wanted.items():
            path = mount / name + suffix
            check(os.path.isdir(path), name + ': no directory')
            for call in (os.listdir, path), (os.stat, path + '/x'):
                check(error_of(*call) == errno.EIO, '%s: %s' % (name, call))
            lines = [line for line in mount.log().splitlines()
                     if ' %s%s: ' % (name, suffix) in line]
            check(len(lines) == 1 and phrase in lines[0],
                  '%s: %s' % (name, lines))
        check(read(mount / 'sound.b2e/x') == b'one', 'a sound store')


MAPS = {
    'no slash': ({'x': (0, 1)}, 'a key in a store starts with no slash'),
    'dots': ({'/../x': (0, 1)}, OUT),
    'zero byte': ({'/x\0': (0, 1)}, OUT),
    'only slash': ({'/a/': (0, 1)}, OUT),
    'too long': ({'/x': (0, 1 << 40)},
                 'a value of an embed store passes its end'),
    'far away': ({'/x': (1 << 62, 1)},
                 'a value of an embed store passes its end'),
    'overflow': ({'/x': ((1 << 64) - 1, 2)},
                 'the map of an embed store is damaged'),
    'file and folder': ({'/x': (0, 1), '/x.b2f/y': (0, 1)},
                        'a store has a frame and a folder of one name'),
}
METADATA = {
    'no map': b'\xc0',
    'cut': stores.pack({'embed_map': {'/x': {'offset': 0}}})[:-3],
    'no length': stores.pack({'embed_map': {'/x': {'offset': 0}}}),
    'many': b'\x81\xa9embed_map\xdf\xff\xff\xff\xff',
    'negative': b'\x81\xa9embed_map\x81\xa2/x\x81\xa6offset\xff',
    'deep': b'\x81\xa1x' + b'\x91' * 100000,
}


def hostile_embed_stores_are_errors():
    os.mkdir('src')
    for name, (keys, _) in MAPS.items():
        write('src/%s.b2e' % name, stores.embed(
            {'/sound': ONE[0][1]}, places={
                key: {'offset': off, 'length': size}
                for key, (off, size) in keys.items()}))
    for name, metadata in METADATA.items():
        write('src/map %s.b2e' % name, stores.layered(
            b'', {'b2embed': stores.MARKER}, {'estore_metadata': metadata}))
    wanted = {name: phrase for name, (_, phrase) in MAPS.items()}
    wanted.update(('map ' + name, 'the map of an embed store is damaged')
                  for name in METADATA)
    check_refused(wanted, '.b2e')


def leaves_that_are_no_frames_are_errors():
    os.mkdir('src')
    sound = frame(DATA, 5000)
    stores.make_zip('src/x.b2z', {'cut.b2f': sound[:-20], 'sound.b2f': sound,
                                  'none.b2nd': b'nothing'},
                    {'/none': b'nothing', '/empty': b''})
    stores.make_directory('src/x.b2d', {'cut.b2f': sound[:-20],
                                        'sound.b2f': sound}, {})
    with Mount('src', 'mnt') as mount:
        for path in ('x.b2z/cut', 'x.b2z/none', 'x.b2z/empty', 'x.b2d/cut'):
            check(error_of(read, mount / path) == errno.EIO, path)
        for path in 'x.b2z/sound', 'x.b2d/sound':
            check(read(mount / path) == DATA, path)


def links_in_a_store_are_not_followed():
    os.mkdir('src')
    write('secret.b2f', frame(b'secret', 6))
    stores.make_directory('src/x.b2d', {'x.b2f': frame(b'x', 1)}, {})
    os.symlink('../../secret.b2f', 'src/x.b2d/link.b2f')
    os.symlink('../..', 'src/x.b2d/up')
    os.mkdir('src/y.b2d')
    os.symlink('../x.b2d/embed.b2e', 'src/y.b2d/embed.b2e')
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        check(os.listdir(mount / 'x.b2d') == ['x'], 'links show')
        for name in 'link', 'up', 'up/secret', '../../secret':
            check(not os.path.exists(mount / 'x.b2d/' + name), name)
        check(os.path.islink(mount / 'y.b2d/embed.b2e'), 'no store')


def b2frame_reads_what_is_in_stores():
    """No mount is needed to list stores and to read the frames in them."""
    contents = make()
    del contents
    for kind in KINDS:
        store = 'src/' + kind
        names = sh('%s ls %s' % (B2FRAME, store)).splitlines()
        check('near.b2f' in names and 'group/deep/near.b2f' in names, names)
        check(kind == 'store.b2e' or 'group/plane.b2nd' in names, names)
        check(len(names) == len(set(names)), names)
        said = sh('%s ls -l %s/' % (B2FRAME, store))
        check(said.count('\n') == len(names) and '(60, 70)' in said, said)
        for name in ('near', 'near.b2f'):
            said = harness.run(B2FRAME, 'cat', '%s/%s' % (store, name)).stdout
            check(said == DATA, '%s in %s' % (name, kind))
        said = sh('%s verify -r %s' % (B2FRAME, store))
        check(said.count(': ok') == len(names), said)
        for verb in ('cat', 'info', 'verify', 'map'):
            done = harness.run(B2FRAME, verb, store + '/none')
            check(done.returncode == 1 and done.stderr.count(b'\n') == 1, done)
        before = read(store) if os.path.isfile(store) else None
        done = harness.run(B2FRAME, 'compact', store + '/near')
        check(done.returncode == 1 and b'Read-only' in done.stderr, done)
        check(before is None or read(store) == before, 'is changed')
    said = sh('%s verify -r src' % B2FRAME)
    check('src/store.b2z/near.b2f: ok' in said, said)
    for path in ('none', 'src/notes.txt', 'src'):
        done = harness.run(B2FRAME, 'ls', path)
        check(done.returncode == 1 and done.stderr.count(b'\n') == 1, done)


def b2frame_refuses_hostile_stores():
    os.mkdir('src')
    stores.make_zip('src/up.b2z', {'../../etc/x.b2f': frame(b'x', 1)})
    write('src/cut.b2z', read('src/up.b2z')[:-9])
    write('src/bad.b2e', stores.embed({'/x': frame(b'x', 1)},
                                      places={'/far': {'offset': 1 << 60,
                                                       'length': 1 << 60}}))
    for name in os.listdir('src'):
        for words in (('ls', 'src/' + name), ('cat', 'src/%s/far' % name)):
            done = harness.run(B2FRAME, *words)
            check(done.returncode == 1 and not done.stdout and
                  done.stderr.count(b'\n') == 1, '%s: %s' % (words, done))


def files_that_are_no_stores_pass_through():
    os.mkdir('src')
    write('src/text.b2z', b'text')
    write('src/empty.b2e', b'')
    write('src/frame.b2e', frame(b'x', 1))
    with Mount('src', 'mnt') as mount:
        for name in os.listdir('src'):
            check(read(mount / name) == read('src/' + name), name)


main(stores_show_as_directories, metadata_of_folders_are_attributes,
     names_and_views_follow_the_options, a_store_is_mounted_itself,
     nothing_in_a_store_changes, a_store_moves_as_one,
     its_owner_may_move_a_store, new_leaves_show_at_once,
     open_leaves_stay_readable, open_leaves_follow_what_is_overwritten,
     archives_may_be_large, members_that_are_compressed_cannot_be_read,
     hostile_archives_are_errors, hostile_embed_stores_are_errors,
     leaves_that_are_no_frames_are_errors, links_in_a_store_are_not_followed,
     b2frame_reads_what_is_in_stores, b2frame_refuses_hostile_stores,
     files_that_are_no_stores_pass_through, private_stores_are_private)
