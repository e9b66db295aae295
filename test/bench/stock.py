# SPDX-License-Identifier: BSD-3-Clause
"""The files that are measured, and the form in which each rival stores them.

Everything is made when it is first needed, and is hot in the kernel's page
cache.
"""

import json
import os
import shutil
import subprocess

from costs import Costs
from rivals import Ceiling, Daemon, Loop, Rival

MIB = 1 << 20
TINY = 1024  # bytes in a chunk, in frames of many chunks
CACHE = 256 * MIB  # default size of the daemon's cache

SQUASH = {
    # keys are the names that framefs uses
    'lz4': ['-comp', 'lz4'],
    'zlib': ['-comp', 'gzip', '-Xcompression-level', '1'],
    'zstd': ['-comp', 'zstd', '-Xcompression-level', '3'],
}
BTRFS = {'lz4': 'lzo', 'zlib': 'zlib:3', 'zstd': 'zstd:1'}


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


def has_squashfuse():
    return bool(shutil.which('mksquashfs') and shutil.which('squashfuse_ll'))


def has_btrfs():
    with open('/proc/filesystems', encoding='ascii') as known:
        return bool('\tbtrfs\n' in known.read() and shutil.which('mkfs.btrfs')
                    and os.path.exists('/dev/loop-control'))


class Stock:
    """Makes files and rivals in a directory.

    build  meson's directory, which has the programs
    top    directory for everything
    size   bytes of the large file, and of four files together
    """

    def __init__(self, build, top, size):
        self.programs = os.path.join(build, 'test/bench')
        self.framefs_path = os.path.join(build, 'tools/framefs')
        self.costs = Costs(self.program('bench_codec'))
        self.b2frame = os.path.join(build, 'tools/b2frame')
        self.top = top
        self.size = size
        self.mountpoint = os.path.join(top, 'mnt')
        os.mkdir(self.mountpoint)

    def program(self, name):
        return os.path.join(self.programs, name)

    def once(self, name, make):
        """Return a path below `top`, which `make` fills when it is first asked
        for."""
        path = os.path.join(self.top, name)
        if not os.path.exists(path):
            make(path + '.part')
            os.rename(path + '.part', path)
        return path

    def clear(self):
        """Remove everything that was made so far."""
        shutil.rmtree(self.top)
        os.makedirs(self.mountpoint)

    def touch_memory(self):
        """Touch as much memory as is needed.  A virtual machine returns memory
        to its host after some seconds of disuse, and it takes longer to get
        that back than to read a file into it."""
        run(self.program('bench_io'), 'touch', str(self.size + CACHE))

    def scratch(self, source=None):
        """Return a directory for changes, which is empty or has a copy of the
        files in `source`.  There is only one."""
        path = os.path.join(self.top, 'scratch')
        shutil.rmtree(path, ignore_errors=True)
        os.mkdir(path)
        if source:
            run('cp', '-r', source + '/.', path)
        return path

    # Stored files

    def files(self, nfiles=1):
        """Return a directory of file0 and so on, with `size` bytes in total."""
        def make(path):
            os.mkdir(path)
            npieces = self.size // MIB // nfiles
            for i in range(nfiles):
                run(self.program('make_data'), path + '/file%d' % i,
                    str(npieces), str(i * npieces))
        return self.once('files%d' % nfiles, make)

    def frames(self, codec, nfiles=1, blocksize='auto'):
        """Return a directory of the same files, each as a frame."""
        files = self.files(nfiles)

        def make(path):
            os.mkdir(path)
            for name in os.listdir(files):
                run(self.b2frame, 'create', '--codec', codec, '--typesize',
                    '8', '--blocksize', blocksize, os.path.join(files, name),
                    os.path.join(path, name + '.b2frame'))
        return self.once('-'.join(('frames', codec, str(nfiles), blocksize)),
                         make)

    def blocksize(self, frames):
        """Return the blocksize of the first chunk of such frames, in bytes."""
        done = subprocess.run(
            [self.b2frame, 'info', '--json', '--chunks',
             frames + '/file0.b2frame'], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)['chunks'][0]['blocksize']

    def many_chunks(self, layout, nchunks):
        """Return a directory that has a frame of this many small chunks."""
        nbytes = nchunks * TINY

        def make(path):
            os.mkdir(path)
            run(self.program('make_data'), path + '/data',
                str(-(-nbytes // MIB)))
            os.truncate(path + '/data', nbytes)
            run(self.b2frame, 'create', '--layout', layout, '--chunksize',
                str(TINY), '--typesize', '8', path + '/data',
                path + '/file0.b2frame')
            os.unlink(path + '/data')
        return self.once('many-%s-%d' % (layout, nchunks), make)

    def arrays(self, ncolumns):
        """Return a directory that has file0 as a plane of `ncolumns` columns of
        doubles."""
        def make(path):
            os.mkdir(path)
            run(self.b2frame, 'create', '--codec', 'lz4', '--dtype', '<f8',
                '--shape', '%d,%d' % (self.size // 8 // ncolumns, ncolumns),
                self.files() + '/file0', path + '/file0.b2nd')
        return self.once('arrays', make)

    def squash_image(self, codec, nfiles):
        return self.once('squash-%s-%d' % (codec, nfiles), lambda path: run(
            'mksquashfs', self.files(nfiles), path, '-quiet', '-no-progress',
            *SQUASH[codec]))

    def btrfs_image(self, codec, nfiles):
        """Return an image with the same files, or with none if `nfiles` is
        0."""
        def make(path):
            with open(path, 'wb') as image:
                image.truncate(2 * self.size + 512 * MIB)
            run('mkfs.btrfs', '-q', path)
            with Loop('', self.mountpoint, path,
                      'compress-force=' + BTRFS[codec]):
                if nfiles > 0:
                    run('cp', '-r', self.files(nfiles) + '/.', self.mountpoint)
        return self.once('btrfs-%s-%d' % (codec, nfiles), make)

    # Rivals

    def plain(self, directory):
        return Rival('plain', directory)

    def ceiling(self, directory):
        return Ceiling('ceiling', self.mountpoint, self.program('ceiling'),
                       directory, self.mountpoint)

    def framefs(self, source, codec, *options, name=None, cache=CACHE):
        words = ','.join(('cache=%d' % cache,) + options)
        rival = Daemon('framefs-' + (name or codec), self.mountpoint,
                       self.framefs_path, '-f', '-o', words, source,
                       self.mountpoint)
        rival.codec = codec
        rival.cache = cache
        return rival

    def squashfuse(self, codec, nfiles=1):
        return [Daemon('squashfuse-' + codec, self.mountpoint, 'squashfuse_ll',
                       '-f', self.squash_image(codec, nfiles),
                       self.mountpoint)] if has_squashfuse() else []

    def btrfs(self, codec, nfiles=1):
        """Return rivals for writing, without files, if `nfiles` is 0, else for
        reading."""
        return [Loop('btrfs-' + BTRFS[codec], self.mountpoint,
                     self.btrfs_image(codec, nfiles),
                     'compress-force=' + BTRFS[codec])] if has_btrfs() else []
