# SPDX-License-Identifier: BSD-3-Clause
"""The rivals that show files: a plain directory, and mounts.

Each rival is a context manager that provides its files.  No cache holds their
content, except for the stored files in the page cache.
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
    """A plain directory.

    name    name in the tables
    top     directory of the files
    codec   codec of the frames, for framefs; otherwise None
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
        """Return the processor time of the daemon in seconds."""
        return None

    def rss(self):
        """Return the peak memory of the daemon in bytes."""
        return None


class Daemon(Rival):
    """A mount of a program that runs in the foreground."""

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
        # The clock of another process, numbered as clock_getcpuclockid() does.
        return time.clock_gettime((~self.daemon.pid << 3) | 2)

    def rss(self):
        with open('/proc/%d/status' % self.daemon.pid,
                  encoding='ascii') as status:
            for line in status:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1]) * 1024
        return None


class Ceiling(Daemon):
    """The fastest possible server; its memory is that of the files."""

    def rss(self):
        return None


class Loop(Rival):
    """A kernel file system in an image file."""

    def __init__(self, name, top, image, options):
        super().__init__(name, top)
        self.command = ['mount', '-o', 'loop,' + options, image, top]

    def __enter__(self):
        subprocess.run(self.command, check=True)
        return self

    def __exit__(self, *exception):
        subprocess.run(['umount', self.top], check=True)
