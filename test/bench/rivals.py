# SPDX-License-Identifier: BSD-3-Clause
"""Those that show files: a plain directory, and what is mounted.

Each is a context manager, within which its files are there, with nothing of
them in any cache but what is stored of them.
"""

import os
import subprocess
import sys
import time

PATIENCE = 60  # seconds until a daemon must have mounted


def wait_for_mount(path, daemon):
    end = time.monotonic() + PATIENCE
    while not os.path.ismount(path):
        if daemon.poll() is not None or time.monotonic() > end:
            sys.exit('bench: cannot mount: ' + ' '.join(daemon.args))
        time.sleep(0.002)


class Rival:
    """A directory as it is.

    name    as in the tables
    top     where the files are
    codec   what they are packed with, for framefs; else None
    cache   bytes of memory that the daemon may use for data, for framefs
    """
    codec = None
    cache = None

    def __init__(self, name, top):
        self.name = name
        self.top = top

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def __truediv__(self, name):
        return os.path.join(self.top, name)

    def cpu(self):
        """Seconds of processor time that the daemon has taken."""
        return None

    def rss(self):
        """Most bytes of memory that the daemon has had."""
        return None


class Daemon(Rival):
    """What a program in the foreground mounts."""

    def __init__(self, name, top, *command):
        super().__init__(name, top)
        self.command = command
        self.daemon = None

    def __enter__(self):
        self.daemon = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL)
        try:
            wait_for_mount(self.top, self.daemon)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        if subprocess.run(['umount', self.top], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(['umount', '-l', self.top], check=False,
                           stderr=subprocess.DEVNULL)
            self.daemon.kill()
        self.daemon.wait()

    def cpu(self):
        # The clock of another process, as clock_getcpuclockid() names it.
        return time.clock_gettime((~self.daemon.pid << 3) | 2)

    def rss(self):
        with open('/proc/%d/status' % self.daemon.pid,
                  encoding='ascii') as status:
            for line in status:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1]) * 1024
        return None


class Ceiling(Daemon):
    """The least that a server can do; its memory is the files'."""

    def rss(self):
        return None


class Loop(Rival):
    """A file system of the kernel, in a file."""

    def __init__(self, name, top, image, options):
        super().__init__(name, top)
        self.command = ['mount', '-o', 'loop,' + options, image, top]

    def __enter__(self):
        subprocess.run(self.command, check=True)
        return self

    def __exit__(self, *exception):
        subprocess.run(['umount', self.top], check=True)
