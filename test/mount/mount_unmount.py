#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount unmount
"""An unmount waits until all data is saved, and so does the next mount.

The tests stop daemons while they still have data to write.

usage: mount_unmount.py FRAMEFS [TEST...]
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

from mounted import (CONNECTIONS, FRAMEFS, PATIENCE, Mount, Skipped,
                     change_tmpfs, check, check_content, frame, harness,
                     heed_signals, is_mounted, is_root, main, read, sh, tmpfs,
                     wait_for, write, write_sparse)

DATA = os.urandom(3 << 20)
WAITS = 'waiting for process %d to finish'


@contextlib.contextmanager
def started(*words):
    """Run framefs with a readable standard error.  It is killed in the end."""
    process = subprocess.Popen([FRAMEFS, *words], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True,
                               env=harness.environment(),
                               preexec_fn=heed_signals)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        subprocess.run(['fusermount3', '-quz', words[-1]], check=False,
                       stderr=subprocess.DEVNULL)


def message(process):
    """Return the next line that a process prints."""
    ready, _, _ = select.select([process.stderr], [], [], PATIENCE)
    check(ready, 'says nothing')
    return process.stderr.readline()


@contextlib.contextmanager
def finishing(source, path='mnt', name='a'):
    """Give the daemon of a mount that was written to and then unmounted.  The
    daemon is stopped until the `with` statement ends."""
    with Mount(source, path) as mount:
        write(mount / name, DATA)
        # Otherwise the kernel may have time stamps to hand over when it
        # unmounts.
        sh('sync -f ' + path)
        mount.daemon.send_signal(signal.SIGSTOP)
        try:
            sh('fusermount3 -u ' + path)
            yield mount.daemon
        finally:
            mount.daemon.send_signal(signal.SIGCONT)
        check(mount.daemon.wait(PATIENCE) == 0, 'status of the old daemon')


@contextlib.contextmanager
def check_waits(daemon, source, path):
    """A mount says that it waits, waits, and then serves the data."""
    with started('-f', source, path) as process:
        said = message(process)
        check(WAITS % daemon.pid in said and source + ': ' in said,
              'says ' + said)
        check(not is_mounted(path), 'is mounted too early')
        daemon.send_signal(signal.SIGCONT)
        wait_for(lambda: is_mounted(path) or process.poll() is not None,
                 'the mount')
        check(daemon.wait(PATIENCE) == 0, 'the old daemon is there still')
        yield
        process.send_signal(signal.SIGTERM)
        check(process.wait(PATIENCE) == 0, 'status')
        said = process.stderr.read()
        check(said == '', 'says also ' + said)


def next_mount_waits_for_the_old_daemon():
    os.mkdir('src')
    with finishing('src') as daemon, check_waits(daemon, 'src', 'mnt'):
        check(read('mnt/a') == DATA, 'content')
        with open('mnt/a', 'ab') as file:
            file.write(b'more')
    check_content('src/a.b2frame', DATA + b'more')


def mount_of_a_directory_inside_waits():
    os.makedirs('src/sub/deep')
    with finishing('src', name='sub/deep/a') as daemon:
        with check_waits(daemon, 'src/sub/deep', 'mnt'):
            check(read('mnt/a') == DATA, 'content')


def mount_of_a_directory_above_waits():
    os.makedirs('src/sub/deep')
    with finishing('src/sub/deep') as daemon:
        with check_waits(daemon, 'src', 'mnt'):
            check(read('mnt/sub/deep/a') == DATA, 'content')


def mounts_of_a_frame_wait():
    os.makedirs('src/sub')
    write('src/sub/a.b2frame', frame(DATA, 1 << 20))
    for first in ('src', 'src/sub', 'src/sub/a.b2frame'):
        name = os.path.relpath('src/sub/a', first)
        if first.endswith('b2frame'):
            name = 'a'
        with finishing(first, name=name) as daemon:
            with check_waits(daemon, 'src/sub/a.b2frame', 'mnt'):
                check(read('mnt/a') == DATA, 'content')
    with finishing('src/sub/a.b2frame') as daemon:
        with check_waits(daemon, 'src', 'mnt'):
            check(read('mnt/sub/a') == DATA, 'content')


def mounts_of_a_sparse_frame_wait():
    os.mkdir('src')
    write_sparse('src/a.b2frame', DATA)
    with finishing('src') as daemon:
        with check_waits(daemon, 'src/a.b2frame', 'mnt'):
            check(read('mnt/a') == DATA, 'content')
    with finishing('src/a.b2frame') as daemon:
        with check_waits(daemon, 'src/a.b2frame', 'mnt'):
            check(read('mnt/a') == DATA, 'content')


def read_only_mount_waits():
    os.mkdir('src')
    with finishing('src') as daemon:
        with started('-f', '-o', 'ro', 'src', 'mnt') as process:
            check(WAITS % daemon.pid in message(process), 'message')
            daemon.send_signal(signal.SIGCONT)
            wait_for(lambda: is_mounted('mnt'), 'the mount')
            check(read('mnt/a') == DATA, 'content')
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def daemon_that_ends_itself_is_waited_for():
    """The daemon has not unmounted yet, but answers no more requests."""
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        write(mount / 'a', DATA)
        sh('sync -f mnt')
        pid = mount.daemon.pid
        sh('kill -STOP %d; kill -TERM %d; fusermount3 -u mnt' % (pid, pid))
        with check_waits(mount.daemon, 'src', 'mnt'):
            check(read('mnt/a') == DATA, 'content')


def waiting_can_be_interrupted():
    os.mkdir('src')
    with finishing('src') as daemon:
        with started('src', 'mnt') as process:
            check(WAITS % daemon.pid in message(process), 'message')
            process.send_signal(signal.SIGINT)
            check(process.wait(PATIENCE) == -signal.SIGINT, 'status')
            check(not is_mounted('mnt'), 'is mounted')
    check_content('src/a.b2frame', DATA)


def others_are_not_waited_for():
    """A mount waits neither for daemons whose mounts are still there, nor for
    that of a neighbouring frame."""
    os.makedirs('src/sub')
    os.mkdir('other')
    write('src/a.b2frame', frame(DATA, 1 << 20))
    write('src/b.b2frame', frame(b'other bytes', 11))
    with Mount('src', 'mnt'):
        for source in ('src', 'src/sub', 'src/a.b2frame', '.'):
            with Mount(source, 'other') as mount:
                check(mount.log() == '', 'says ' + mount.log())
    with finishing('src/a.b2frame'), Mount('src/b.b2frame', 'other') as mount:
        check(mount.log() == '' and read('other/b') == b'other bytes', 'frame')


def next_mount_of_a_device_number_misleads_nobody():
    """The kernel may reuse the device number of a mount that has just gone."""
    os.mkdir('src')
    os.mkdir('empty')
    os.mkdir('other')
    with finishing('src') as daemon:
        with Mount('empty', 'other'), check_waits(daemon, 'src', 'mnt'):
            check(read('mnt/a') == DATA, 'content')


def unmount_waits_until_all_is_saved():
    os.mkdir('src')
    line = os.path.realpath('mnt') + ' '
    with Mount('src', 'mnt') as mount:
        write(mount / 'a', DATA)
        sh('sync -f mnt')
        mount.daemon.send_signal(signal.SIGSTOP)
        with started('--unmount', 'mnt') as process:
            # is_mounted() cannot be used here, because it would ask the daemon.
            wait_for(lambda: line not in sh('cat /proc/self/mounts'),
                     'the unmount')
            check(process.poll() is None, 'does not wait')
            mount.daemon.send_signal(signal.SIGCONT)
            check(process.wait(PATIENCE) == 0, 'status')
            check_content('src/a.b2frame', DATA)
            said = process.stderr.read()
            check(said == '', 'says ' + said)
        check(mount.daemon.wait(PATIENCE) == 0, 'status of the daemon')


def unmount_of_a_read_only_mount_returns():
    os.mkdir('src')
    with Mount('src', 'mnt', '-o', 'ro') as mount:
        sh(FRAMEFS + ' --unmount mnt')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')


def unmount_of_one_of_several_places_does_not_wait():
    """Nor does the unmount of a copy of the mount in another namespace."""
    if not is_root():
        raise Skipped('needs root, to make a bind mount')
    unmount = FRAMEFS + ' --unmount '
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        write(mount / 'a', DATA)
        os.mkdir('other')
        sh('mount --bind mnt other')
        try:
            sh('timeout %d %s other' % (PATIENCE, unmount))
        finally:
            if is_mounted('other'):
                sh('umount -il other')
        check(not is_mounted('other'), 'is mounted')
        sh('timeout %d unshare -m %s mnt' % (PATIENCE, unmount))
        check(read(mount / 'a') == DATA, 'content')


@contextlib.contextmanager
def namespace():
    """A process in a mount namespace of its own, as in a container."""
    with subprocess.Popen(['unshare', '-m', 'sh', '-c', 'echo; exec cat'],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as held:
        check(held.stdout.readline() == b'\n', 'a namespace')
        yield


def mount_that_is_left_in_another_namespace_is_not_waited_for():
    """Nor does the next mount of SOURCE wait for its daemon."""
    if not is_root():
        raise Skipped('needs root, to make a mount namespace')
    os.mkdir('src')
    with Mount('src', 'mnt') as mount, namespace():
        write(mount / 'a', DATA)
        sh('timeout %d %s --unmount mnt' % (PATIENCE, FRAMEFS))
        check(not is_mounted('mnt'), 'is mounted')
        with Mount('src', 'mnt') as again:
            check(read(again / 'a') == DATA, 'content')



def unmount_takes_a_regular_file():
    write('a.b2frame', frame(DATA, 1 << 20))
    with Mount('a.b2frame', 'a.b2frame') as mount:
        write('a.b2frame', DATA)
        sh(FRAMEFS + ' --unmount a.b2frame')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')
    check_content('a.b2frame', DATA)


def unmount_clears_what_a_dead_daemon_left():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        mount.stop(signal.SIGKILL)
        sh(FRAMEFS + ' --unmount mnt')
        check(not is_mounted('mnt'), 'is mounted')
        mount.daemon.returncode = 0


def states(daemon):
    """Return the states of the threads of a process."""
    found = []
    for thread in os.listdir('/proc/%d/task' % daemon.pid):
        with contextlib.suppress(OSError):
            stat = read('/proc/%d/task/%s/stat' % (daemon.pid, thread))
            found.append(stat.rpartition(b')')[2].split()[0].decode())
    return found


def stop_if_it_waits(daemon):
    """Stop a daemon if a thread of it waits for the kernel, and the kernel for
    the daemon.  Return whether that is so."""
    daemon.send_signal(signal.SIGSTOP)
    wait_for(lambda: set(states(daemon)) <= set('TtD'), 'the stop')
    for _ in range(5):
        if 'D' not in states(daemon):
            daemon.send_signal(signal.SIGCONT)
            return False
        time.sleep(0.02)
    return True


# A program that writes and looks for data until a file `end` appears.
SEEKER = '''
import os
fd = os.open('mnt/a', os.O_RDWR | os.O_CREAT)
while not os.path.exists('end'):
    os.pwrite(fd, open('data', 'rb').read(), 0)
    os.lseek(fd, 0, os.SEEK_DATA)
'''


@contextlib.contextmanager
def flushing():
    """Mount a tmpfs, where no disk is waited for.  Stop the daemon while it
    makes the kernel hand over the dirty pages of a file, for a program that
    looks for data.  Give the mount and the program."""
    if not is_root() and not os.listdir(CONNECTIONS):
        raise Skipped('only root can end a connection')
    write('data', DATA)
    with tmpfs('src', '60m'), Mount('src', 'mnt') as mount:
        program = subprocess.Popen([sys.executable, '-c', SEEKER],
                                   stderr=subprocess.DEVNULL)
        while not stop_if_it_waits(mount.daemon):
            check(program.poll() is None, 'the program ends')
        yield mount, program


def killed_daemon_that_waits_for_itself_is_cleared():
    with flushing() as (mount, program):
        mount.daemon.kill()
        wait_for(lambda: set(states(mount.daemon)) == set('DZ'), 'the kill')
        check(mount.daemon.poll() is None and program.poll() is None, 'ends')
        said = sh(FRAMEFS + ' --unmount mnt', 1)
        check('process %d was killed' % mount.daemon.pid in said, said)
        check(not is_mounted('mnt'), 'is mounted')
        check(mount.daemon.wait(PATIENCE) == -signal.SIGKILL, 'daemon')
        check(program.wait(PATIENCE) != 0, 'program')
        mount.daemon.returncode = 0
        with Mount('src', 'mnt') as again:
            check(again.log() == '', again.log())
            write(again / 'a', DATA)
        check_content('src/a.b2frame', DATA)


def live_daemon_is_never_cleared():
    with flushing() as (mount, program):
        said = sh(FRAMEFS + ' --unmount mnt', 1)
        check('busy' in said, said)
        write('end', b'')
        mount.daemon.send_signal(signal.SIGCONT)
        check(program.wait(PATIENCE) == 0, 'program')
        check(read(mount / 'a') == DATA, 'content')
        sh(FRAMEFS + ' --unmount mnt')
        check(mount.daemon.wait(PATIENCE) == 0, 'status')
        check_content('src/a.b2frame', DATA)


def unmount_waits_for_no_other_daemon():
    """The kernel gives the device number of a mount that is gone to one of the
    next mounts."""
    os.mkdir('src')
    with finishing('src') as stopped, contextlib.ExitStack() as mounts:
        for i in range(4):
            os.makedirs('other/%d' % i)
            os.mkdir('mnt%d' % i)
            mounts.enter_context(Mount('other/%d' % i, 'mnt%d' % i))
        for i in range(4):
            with started('--unmount', 'mnt%d' % i) as process:
                check(process.wait(PATIENCE) == 0, 'waits for %d' % stopped.pid)


def unmount_that_fails_changes_nothing():
    os.mkdir('src')
    with Mount('src', 'mnt') as mount:
        with open(mount / 'a', 'wb') as file:
            said = sh(FRAMEFS + ' --unmount mnt', 1)
            check('busy' in said and said.count('\n') == 1, said)
            file.write(DATA)
        check(read(mount / 'a') == DATA, 'content')
    said = sh(FRAMEFS + ' --unmount src', 1)
    check('src: framefs is not mounted there' in said, said)
    said = sh(FRAMEFS + ' --unmount nothing', 1)
    check('nothing: No such file' in said, said)
    check('MOUNTPOINT' in sh(FRAMEFS + ' --unmount a b', 2), 'usage')


def unmount_says_if_not_everything_was_saved():
    with tmpfs('src', '60m'):
        with Mount('src', 'mnt') as mount:
            # Open the file while there is space, because the kernel then accepts
            # the data.
            fd = os.open(mount / 'a', os.O_RDWR | os.O_CREAT)
            change_tmpfs('src', 'size=1m')
            with contextlib.suppress(OSError):
                os.write(fd, DATA)
            with contextlib.suppress(OSError):
                os.close(fd)
            said = sh(FRAMEFS + ' --unmount mnt', 1)
            check('not everything could be saved' in said, 'says ' + said)
            mount.daemon.wait(PATIENCE)
            check('lost' in mount.log(), 'logs ' + mount.log())


main(next_mount_waits_for_the_old_daemon,
     mount_of_a_directory_inside_waits,
     mount_of_a_directory_above_waits,
     mounts_of_a_frame_wait,
     mounts_of_a_sparse_frame_wait,
     read_only_mount_waits,
     daemon_that_ends_itself_is_waited_for,
     waiting_can_be_interrupted,
     others_are_not_waited_for,
     next_mount_of_a_device_number_misleads_nobody,
     unmount_waits_until_all_is_saved,
     unmount_of_a_read_only_mount_returns,
     unmount_of_one_of_several_places_does_not_wait,
     mount_that_is_left_in_another_namespace_is_not_waited_for,
     unmount_takes_a_regular_file,
     unmount_clears_what_a_dead_daemon_left,
     killed_daemon_that_waits_for_itself_is_cleared,
     live_daemon_is_never_cleared,
     unmount_waits_for_no_other_daemon,
     unmount_that_fails_changes_nothing,
     unmount_says_if_not_everything_was_saved)
