#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount helper; timeout 30; alone; args framefs mount_helpers
"""mount(8), umount(8) and fstab find framefs through its helpers.

The test runs in a mount namespace of its own, in which the helpers lie where
mount(8) looks for them, and fstab is the test's own file.  It runs alone,
because its namespace has copies of the mounts of other tests, which therefore
do not end.

usage: mount_helper.py FRAMEFS HELPER UMOUNT_HELPER [TEST...]
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HELPER = os.path.abspath(sys.argv.pop(2))
UMOUNT_HELPER = os.path.abspath(sys.argv.pop(2))

# pylint: disable=wrong-import-position
from mounted import FRAMEFS, check, frame, harness, main, need_fuse, sh, write

# A user who is not root becomes root of a user namespace.
UNSHARE = ('unshare --mount --pid --fork --kill-child --mount-proc '
           '--propagation private ' +
           '--user --map-root-user ' * (os.geteuid() != 0))
ENTER = '''
mount --bind sbin "$(realpath /sbin)" &&
mount --bind fstab /etc/fstab &&
'''


def make(fstab=''):
    os.mkdir('src')
    os.mkdir('sbin')
    write('src/a.b2frame', frame(b'some bytes', 10))
    shutil.copy(HELPER, 'sbin/mount.framefs')
    shutil.copy(UMOUNT_HELPER, 'sbin/umount.fuse.framefs')
    write('fstab', fstab.encode())


def inside(script, status=0):
    """Run a script in a shell for which mount(8) finds the helper.  Return its
    output."""
    return sh(UNSHARE + 'sh -c ' + shlex.quote(ENTER + script), status)


def mount_mounts():
    make()
    said = inside('mount -t framefs "$PWD/src" "$PWD/mnt" && cat mnt/a && '
                  'findmnt -no FSTYPE,SOURCE mnt && umount mnt && ls -A mnt')
    check(said.split() == ['some', 'bytesfuse.framefs', os.path.realpath('src')],
          said)


def options_are_passed_on():
    make()
    said = inside('mount -v -t framefs -o ro,names=keep,relatime,_netdev '
                  'src mnt && ls mnt && findmnt -no OPTIONS mnt; umount mnt')
    check('a.b2frame\nro,' in said, said)


def a_line_of_fstab_mounts():
    here = os.getcwd()
    make('%s/src %s/mnt framefs defaults,noauto,nofail,user,_netdev,'
         'x-systemd.automount,comment=ours,cache=16M,allow_other 0 0\n' %
         (here, here))
    said = inside('mount "$PWD/mnt" && cat mnt/a && echo more >mnt/b && '
                  'findmnt -no OPTIONS mnt; umount "$PWD/mnt"')
    check(said.startswith('some bytesrw,') and 'allow_other' in said, said)


def remounts_change_flags():
    """Without a helper for the type fuse.framefs, and with the one of
    libfuse, which calls framefs."""
    make()
    os.symlink(os.path.abspath(FRAMEFS), 'sbin/framefs')
    script = ('mount -t framefs src mnt && mount -o remount,ro mnt && findmnt -no OPTIONS mnt && '
              'cat mnt/a && ! echo more 2>&1 >mnt/b && '
              'mount -o remount,rw mnt && echo more >mnt/b && cat mnt/b; '
              'umount mnt')
    for helper in (None, '/sbin/mount.fuse3', '/sbin/mount.fuse'):
        if helper and os.path.exists(helper):
            shutil.copy(helper, 'sbin/mount.fuse')
        said = inside(script)
        check(said.startswith('ro,') and 'some bytes' in said and
              'Read-only' in said and said.endswith('more\n'),
              '%s: %s' % (helper, said))


def a_fake_mount_mounts_nothing():
    make()
    check(inside('mount -f -t framefs src mnt && ls -A mnt') == '', 'mounted')


def failures_have_the_status_of_mount():
    make()
    said = inside('mount -t framefs -o frob src mnt', 1)
    check('frob' in said, said)
    said = inside('mount -t framefs none mnt', 32)
    check('none: No such file' in said, said)
    said = sh(HELPER + ' src', 1)
    check(said.startswith('usage: mount.framefs '), said)
    said = sh(HELPER + ' src mnt -x', 1)
    check('usage: mount.framefs ' in said, said)


# Fill a mount, and stop its daemon until the mount is gone.
FILL = '''
mount -t framefs src mnt && head -c 3M /dev/urandom >mnt/b && sync -f mnt &&
daemon=$(pgrep -x framefs) && kill -STOP $daemon &&
{ sh -c "while grep -q $PWD/mnt /proc/self/mounts; do :; done
         sleep 0.2; test -e ended && echo too early; kill -CONT $daemon" & } &&
'''


def umount_waits():
    make()
    said = inside(FILL + 'umount mnt; echo $? >ended; wait; cat ended')
    check(said == '0\n', said)


def lazy_umount_does_not_wait():
    make()
    said = inside('mount -t framefs src mnt && exec 3<mnt/a && umount -l mnt && '
                  'ls -A mnt && pgrep -c framefs && cat <&3')
    check(said == '1\nsome bytes', said)


def umount_says_what_is_wrong():
    make()
    said = inside('mount -t framefs src mnt && exec 3<mnt/a && '
                  '{ umount mnt; echo $?; cat mnt/a; }')
    check('busy' in said and said.endswith('\n32\nsome bytes'), said)
    said = sh(UMOUNT_HELPER, 1)
    check(said.startswith('usage: umount.fuse.framefs '), said)
    said = sh(UMOUNT_HELPER + ' mnt -x', 1)
    check('usage: umount.fuse.framefs ' in said, said)


def need_namespaces():
    """Exit as skipped where no mount namespace can be made."""
    with tempfile.TemporaryDirectory(prefix='framefs-test-') as path:
        done = subprocess.run(UNSHARE + 'mount --bind %s %s' % (path, path),
                              shell=True, stderr=subprocess.DEVNULL,
                              check=False)
    if done.returncode != 0:
        print('no mount namespace here')
        sys.exit(harness.SKIP)


need_fuse()
need_namespaces()
main(mount_mounts, options_are_passed_on, a_line_of_fstab_mounts,
     remounts_change_flags, a_fake_mount_mounts_nothing,
     failures_have_the_status_of_mount, umount_waits, lazy_umount_does_not_wait,
     umount_says_what_is_wrong)
