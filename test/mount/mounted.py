# SPDX-License-Identifier: BSD-3-Clause
"""Shared parts of the mount tests: mounting, and frames made on the spot."""

import contextlib
import errno
import functools
import glob
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), 'tool'))
# pylint: disable=wrong-import-position
import corpus  # for tests, which find it through this module
import harness
import oracle
from harness import (LAYOUTS, Skipped, can_mount, check, inside, need_mounts,
                     read, tmpfs, write)

FRAMEFS = os.path.abspath(sys.argv[1])
B2FRAME = os.path.join(os.path.dirname(FRAMEFS), 'b2frame')
PATIENCE = 120  # seconds until a test gives up
NOBODY = 65534
CONNECTIONS = '/sys/fs/fuse/connections'
# Errors of changes to read-only entries.  Only root gets EROFS every time,
# because other users may have no right to the entry, either.
REFUSED = (errno.EROFS,) if os.geteuid() == 0 else (errno.EROFS, errno.EACCES)


def need_fuse():
    """Exit as skipped where nothing can be mounted."""
    usable = os.access('/dev/fuse', os.R_OK | os.W_OK)
    if not usable or not shutil.which('fusermount3'):
        print('no FUSE here')
        sys.exit(harness.SKIP)


def lacks(variable, release, what):
    """Must a test be skipped because libfuse or the kernel lacks a feature?"""
    kernel = tuple(map(int, os.uname().release.split('.')[:2]))
    missing = ('libfuse' if os.environ.get(variable) != 'true' else
               'Linux' if kernel < release else '')
    if missing:
        print('skipped: this %s has no %s' % (missing, what))
    return bool(missing)


def is_root():
    """Are we root, and not just in a user namespace?"""
    with open('/proc/self/uid_map', encoding='ascii') as users:
        return os.geteuid() == 0 and \
            users.read().split() == ['0', '0', '4294967295']


def need_root(what):
    """Skip the test unless we are root, because only root can do this."""
    if not is_root():
        raise Skipped('only root can ' + what)


def can_mount_disks(kind='ext4'):
    """Can we make file systems in files, and mount them?"""
    return is_root() and os.path.exists('/dev/loop-control') and \
        shutil.which('mkfs.' + kind)


def need_disks(kind='ext4'):
    """Skip the test where no file system in a file can be mounted."""
    if not can_mount_disks(kind):
        raise Skipped('only root can mount %s, with a loop device' % kind)


@contextlib.contextmanager
def disk(path, size, kind='ext4', flags='', options='loop'):
    """Make a file system in a file of this size, and mount it on a directory,
    which is made if there is none, for a `with` statement."""
    need_disks(kind)
    os.makedirs(path, exist_ok=True)
    sh('truncate -s %s disk.image && mkfs.%s -q %s disk.image' %
       (size, kind, flags))
    sh('mount -o %s disk.image %s' % (options, path))
    try:
        yield path
    finally:
        sh('umount %s && rm disk.image' % path)


@contextlib.contextmanager
def frozen(path):
    """Suspend the file system that is mounted on a directory, for a `with`
    statement."""
    sh('fsfreeze -f ' + path)
    try:
        yield
    finally:
        sh('fsfreeze -u ' + path)


@functools.cache
def can_act_as_others():
    """Can this process act as another user?  Root of a user namespace cannot if
    that has only one user."""
    return os.geteuid() == 0 and as_nobody(os.getuid) == 0


def need_users():
    """Skip the test where this process cannot act as another user."""
    if not can_act_as_others():
        raise Skipped('only root can act as other users')


def is_mounted(path):
    """Is there a mount on a path, even one that no longer works?"""
    path = os.path.realpath(path)
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        return any(line.split()[4].replace('\\040', ' ') == path
                   for line in mounts)


def wait_for(condition, what):
    """Wait until a condition holds.  Check it again when mounts change."""
    end = time.monotonic() + PATIENCE
    with open('/proc/self/mountinfo', encoding='utf-8') as mounts:
        poll = select.poll()
        poll.register(mounts, select.POLLPRI)
        while not condition():
            check(time.monotonic() < end, 'waited in vain for ' + what)
            poll.poll(50)


def act_until(act, condition, what):
    """Wait until a condition holds.  Act before, and again every few seconds,
    because something else may have undone what was done."""
    acted = None

    def holds():
        nonlocal acted
        if acted and condition():
            return True
        if not acted or time.monotonic() - acted > 5:
            act()
            acted = time.monotonic()
        return False

    wait_for(holds, what)


def heed_signals():
    """Reset signals, because the caller of the tests may ignore them, and a
    daemon would inherit that."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Mount:
    """A mount in the foreground, for a `with` statement, which gives the
    object."""

    before_start = staticmethod(heed_signals)  # in the daemon's process

    def __init__(self, source, path, *options):
        self.source = str(source)
        self.path = str(path)
        self.options = options
        self.daemon = None
        self.device = None
        self.messages = tempfile.TemporaryFile('w+')

    def __enter__(self):
        words = [FRAMEFS, '-f', *self.options, self.source, self.path]
        self.daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                       stderr=self.messages,
                                       env=harness.environment(),
                                       preexec_fn=self.before_start)
        try:
            wait_for(lambda: self.daemon.poll() is not None or
                     is_mounted(self.path), 'the mount')
            check(self.daemon.poll() is None, 'cannot mount: ' + self.log())
            self.device = os.minor(os.stat(self.path).st_dev)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, value, trace):
        if not self.daemon:
            return
        try:
            status = self.stop(signal.SIGTERM)
            check(kind not in (None, SystemExit) or status == 0,
                  'daemon left with %d: %s' % (status, self.log()))
        finally:
            self.kill()

    def stop(self, number):
        """Send a signal.  Return the exit status of the daemon."""
        if self.daemon.poll() is None:
            self.daemon.send_signal(number)
        return self.daemon.wait(PATIENCE)

    def crash(self):
        """End the daemon without warning, as a power failure would."""
        self.kill()
        self.daemon = None

    def kill(self):
        """Kill the daemon and unmount, whatever went wrong before."""
        self.daemon.kill()
        try:
            self.daemon.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            # A thread of the daemon waits for the kernel, which waits for a
            # reply.
            if error_of(write, CONNECTIONS + '/%s/abort' % self.device, b'1'):
                subprocess.run(['umount', '-ifl', self.path], check=False)
            self.daemon.wait()
        subprocess.run(['fusermount3', '-quz', self.path], check=False,
                       stderr=subprocess.DEVNULL)

    def log(self):
        """Return the daemon's output so far."""
        self.messages.seek(0)
        return self.messages.read()

    def memory(self):
        """Return the memory that the daemon uses, in bytes."""
        with open('/proc/%d/statm' % self.daemon.pid,
                  encoding='ascii') as statm:
            return int(statm.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

    def descriptors(self):
        """Return the number of descriptors that the daemon has open."""
        return len(os.listdir('/proc/%d/fd' % self.daemon.pid))

    def __truediv__(self, name):
        return os.path.join(self.path, name)


@contextlib.contextmanager
def workplace():
    """Work in a temporary directory that has an empty `mnt` in it."""
    with harness.workplace() as top:
        os.mkdir('mnt')
        yield top


@contextlib.contextmanager
def acting_as(uid):
    """Access files as a user who is in no group but the user's own, for a
    `with` statement.  Only root can."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def sh(command, status=0, patience=PATIENCE):
    """Run a shell command.  Return its output."""
    done = subprocess.run(['sh', '-c', command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=harness.environment(), check=False, text=True,
                          timeout=patience)
    check(status is None or done.returncode == status, '%s: status %d: %s' %
          (command, done.returncode, done.stdout))
    return done.stdout


def change_tmpfs(path, options, status=0):
    """Change the options of a mounted tmpfs.  The command names type and
    device, because mount(8) would otherwise look up the old options, and find
    owners that a user namespace does not know."""
    sh('mount -t tmpfs -o remount,%s none %s' % (options, path), status)


def drop_caches():
    """Make the kernel drop its cached nodes and names.  Return whether it
    may."""
    try:
        write('/proc/sys/vm/drop_caches', b'2')
    except OSError:
        return False
    return True


@contextlib.contextmanager
def opened(path, flags):
    """Open a file, for a `with` statement."""
    fd = os.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def replace(path, data):
    """Replace a file atomically."""
    write(path + '.new', data)
    os.rename(path + '.new', path)


def error_of(call, *args):
    """Return the errno of a call, or 0 if it succeeds."""
    try:
        call(*args)
    except OSError as error:
        return error.errno
    return 0


def start(act):
    """Run a function in another process.  Return its number."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            act()
            status = 0
        except BaseException as error:  # pylint: disable=broad-except
            print(error, flush=True)
        finally:
            os._exit(status)
    return child


def as_user(uid, call, *args):
    """Return the errno of a call by a user who is in no group but the user's
    own, or the errno of becoming that user."""
    def act():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        call(*args)

    child = os.fork()
    if child == 0:
        status = 255
        try:
            status = error_of(act)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def as_nobody(call, *args):
    """Return the errno of a call by a user without rights."""
    return as_user(NOBODY, call, *args)


def make_acl(entries):
    """Return an access control list as the kernel takes it, from entries of
    (tag, permissions, id)."""
    return struct.pack('<I', 2) + b''.join(
        struct.pack('<HHI', tag, perm, 0xffffffff if who is None else who)
        for tag, perm, who in sorted(
            entries, key=lambda e: (e[0], -1 if e[2] is None else e[2])))


def chunk(data, typesize=1):
    """Return a chunk that stores its data uncompressed.  Format: chunk.md,
    2."""
    return struct.pack('<BBBBIII16x', 5, 1, 0x17, typesize, len(data),
                       len(data), len(data) + 32) + data


def frame(data, chunksize, typesize=1):
    """Return a contiguous frame of data in such chunks.  Format: frame.md."""
    pieces = [data[i:i + chunksize] for i in range(0, len(data), chunksize)]
    chunks = b''.join(chunk(piece, typesize) for piece in pieces)
    index = b''
    if pieces:
        index = chunk(struct.pack('<%dQ' % len(pieces), *(
            i * (chunksize + 32) for i in range(len(pieces)))), 8)
    trailer = bytes.fromhex('940193cd0006de0000dc0000ce00000023d800') + bytes(16)
    frame_len = 0x61 + len(chunks) + len(index) + len(trailer)
    header = b'\x9e\xa8b2frame\0' + struct.pack(
        '>BIBQB4sBQBQBIBIBIBHBHBBB16x', 0xd2, 0x61, 0xcf, frame_len, 0xa4,
        b'\x12\0\x50\x03', 0xd3, len(data), 0xd3, len(chunks), 0xd2, typesize,
        0xd2, 0, 0xd2, chunksize, 0xd1, 1, 0xd1, 1, 0xc2, 0xd8, 6)
    header += bytes.fromhex('93cd0007de0000dc0000')
    return header + chunks + index + trailer


def write_sparse(path, data):
    """Make a sparse frame of one chunk.  Format: sparse-frame.md, 2."""
    whole = frame(data, len(data))
    index = whole[:0x61] + whole[0x61 + len(data) + 32:]
    index = index[:0x10] + len(index).to_bytes(8, 'big') + index[0x18:]
    index = index[:0x1a] + b'\1' + index[0x1b:]
    os.mkdir(path)
    write(path + '/chunks.b2frame', index)
    write(path + '/00000000.chunk', chunk(data))


def chunk_offset(number, chunksize):
    """Return the offset of a chunk in a file that frame() has made."""
    return 0x61 + number * (chunksize + 32)


def stored_frames():
    """Return the paths of the frames below `src`."""
    return [path for path in glob.glob('src/**/*.b2frame', recursive=True)
            if os.path.basename(path) != 'chunks.b2frame']


def b2frame(*words):
    """Run b2frame, which must succeed.  Return its standard output."""
    done = harness.run(B2FRAME, *words)
    check(done.returncode == 0, done.stderr.decode())
    return done.stdout


def check_sound(*paths):
    """b2frame finds no error in these frames.  There is at least one."""
    done = harness.run(B2FRAME, 'verify', *paths, timeout=300)
    check(done.returncode == 0, 'unsound: ' +
          (done.stdout + done.stderr).decode(errors='replace'))


def check_content(path, content):
    """b2frame reads this content from a frame."""
    done = harness.run(B2FRAME, 'cat', '--raw', path)
    check(done.returncode == 0 and done.stdout == content,
          '%s: other content, %d bytes' % (path, len(done.stdout)))


def check_frames(contents):
    """These frames, by path, are sound.  Both b2frame and an independent
    reader, if there is one, read the right content."""
    check_sound(*contents)
    for path, content in contents.items():
        check_content(path, content)
    if oracle.is_here():
        complaints = oracle.complaints(contents)
        check(not complaints, 'others read: ' + complaints)


def run_on_disk(test, kind):
    """Run a test on a disk, which `kind()` mounts on `src`, with both layouts."""
    for layout in LAYOUTS:
        place = kind.__name__ + '-' + layout
        os.makedirs(place + '/src')
        os.mkdir(place + '/mnt')
        try:
            with inside(place), kind():
                test(layout)
        except Skipped:
            raise
        except BaseException:
            print('on ' + place)
            raise


def layouts(test):
    """Run a case on each layout, in a directory with an empty `src` and `mnt`."""
    @functools.wraps(test)
    def in_tree(layout):
        os.mkdir('src')
        os.mkdir('mnt')
        test(layout)
    return harness.layouts(in_tree)


def main(*cases):
    """Run cases where a file system can be mounted, as harness.main() does."""
    need_fuse()
    harness.main(*cases, place=workplace)
