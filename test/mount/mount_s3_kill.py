#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount s3 kill; timeout 600
"""Several mounts change one frame on a server of S3, and are killed.

usage: mount_s3_kill.py FRAMEFS [TEST...]

FRAMEFS_S3_ROUNDS is the number of kills, and a tenth of the number of commits
without any; the default is 20.
"""

import errno
import os
import random
import threading

from mounted import Mount, b2frame, check, harness, main, oracle, write
from s3_server import S3
from web import Plan

CHUNK = 20000
NCHUNKS = 40
ROUNDS = int(os.environ.get('FRAMEFS_S3_ROUNDS', '20'))


def content_of(number, turn):
    """The content of a chunk after a write.  A mixture is none of them."""
    return random.Random(number * 1000003 + turn).randbytes(CHUNK)


class Model:
    """What each chunk may hold: what was synced last, or written since."""

    def __init__(self):
        self.turns = [0] * NCHUNKS           # the last write
        self.synced = [0] * NCHUNKS          # the last one that was synced
        self.lock = threading.Lock()

    def content(self):
        return b''.join(content_of(number, turn)
                        for number, turn in enumerate(self.turns))

    def check(self, path):
        """Check what is stored, and go on from that."""
        b2frame('verify', path)
        stored = b2frame('cat', path)
        check(len(stored) == NCHUNKS * CHUNK, 'size')
        for number in range(NCHUNKS):
            found = stored[number * CHUNK:(number + 1) * CHUNK]
            turns = range(self.synced[number], self.turns[number] + 1)
            held = [turn for turn in turns if content_of(number, turn) == found]
            check(held, 'chunk %d has none of the states %s' % (number, turns))
            self.synced[number] = self.turns[number] = held[0]
        if oracle.is_here():
            said = oracle.complaints({os.path.abspath(path): stored})
            check(not said, said)


class Worker:
    """A mount, and a program that changes chunks of its own."""

    def __init__(self, number, count, url, *options):
        self.model = None
        self.chunks = range(number, NCHUNKS, count)
        self.chooser = random.Random(number)
        path = 'mnt%d' % number
        os.makedirs(path, exist_ok=True)
        self.mount = Mount(url, path, '-o', ','.join(
            ('timeout=20', 'connections=4') + options))
        self.mount.__enter__()
        self.fd = os.open(self.mount / 'f', os.O_RDWR)

    def write(self, model):
        number = self.chooser.choice(self.chunks)
        with model.lock:
            model.turns[number] += 1
            turn = model.turns[number]
        data = content_of(number, turn)
        split = self.chooser.randrange(1, CHUNK)
        os.pwrite(self.fd, data[:split], number * CHUNK)
        os.pwrite(self.fd, data[split:], number * CHUNK + split)
        return number, turn

    def commit(self, model):
        """Change some chunks, and sync."""
        written = [self.write(model)
                   for _ in range(self.chooser.randrange(1, 4))]
        os.fsync(self.fd)
        for number, turn in written:
            model.synced[number] = max(model.synced[number], turn)

    def run(self, model, count, failures):
        """Commit until there are so many commits, or the mount is killed."""
        try:
            for _ in range(count):
                self.commit(model)
        except OSError as failure:
            failures.append(failure)

    def end(self):
        try:
            os.close(self.fd)
        except OSError:
            pass
        self.mount.__exit__(None, None, None)


class Killer:
    """A plan that kills a mount at some PUT: before the server carries it out,
    or after that, so that the reply is lost."""

    def __init__(self, chooser):
        self.chooser = chooser
        self.lock = threading.Lock()
        self.left = 0
        self.worker = None
        self.after = False

    def arm(self, worker):
        with self.lock:
            self.left = self.chooser.randrange(1, 12)
            self.after = self.chooser.random() < 0.5
            self.worker = worker

    def __call__(self, request, _):
        if request.method != 'PUT' or 'probe' in request.path:
            return None
        with self.lock:
            self.left -= 1
            if self.left != 0 or not self.worker:
                return None
            self.worker.mount.daemon.kill()
            self.worker.mount.daemon.wait()
            return Plan(lost=True) if self.after else Plan(reset=True)


def make(model):
    os.mkdir('top')
    write('raw', model.content())
    b2frame('create', '--layout', 'sparse', '--chunksize', str(CHUNK), 'raw',
            'top/f')


def together(workers, model, count):
    """Let all workers commit.  Return their errors."""
    failures = [[] for _ in workers]
    threads = [threading.Thread(target=worker.run, args=(model, count, list_))
               for worker, list_ in zip(workers, failures)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def what_was_synced_survives_kills():
    nworkers = 3
    model = Model()
    make(model)
    killer = Killer(random.Random(7))
    with S3('top') as server:
        server.forget(killer)
        workers = [Worker(number, nworkers, server.url + 'f')
                   for number in range(nworkers)]
        nkilled = 0
        for turn in range(ROUNDS):
            victim = turn % nworkers
            killer.arm(workers[victim])
            failures = together(workers, model, 6)
            for number, list_ in enumerate(failures):
                check(number == victim or not list_, '%d: %s: %s' % (
                    number, list_, workers[number].mount.log()))
            if workers[victim].mount.daemon.poll() is None:
                continue
            nkilled += 1
            workers[victim].mount.crash()
            try:
                os.close(workers[victim].fd)
            except OSError as failure:
                check(failure.errno in (errno.ENOTCONN, errno.ECONNABORTED,
                                        errno.EIO), failure)
            model.check('top/f')
            workers[victim] = Worker(victim, nworkers, server.url + 'f')
        check(nkilled > ROUNDS // 3, 'only %d kills' % nkilled)
        for worker in workers:
            worker.end()
        model.check('top/f')


def no_commit_of_ten_writers_is_lost():
    model = Model()
    make(model)
    nwriters = 10
    with S3('top') as server:
        workers = [Worker(number, 2, server.url + 'f') for number in range(2)]
        writers = []
        for number in range(nwriters):
            writer = Worker.__new__(Worker)
            writer.chunks = range(number, NCHUNKS, nwriters)
            writer.chooser = random.Random(number)
            writer.mount = workers[number % 2].mount
            writer.fd = os.open(writer.mount / 'f', os.O_RDWR)
            writers.append(writer)
        failures = together(writers, model, max(1, ROUNDS * 10 // nwriters))
        check(not any(failures), '%s' % failures)
        for writer in writers:
            os.close(writer.fd)
        check(model.synced == model.turns, 'not all is synced')
        for worker in workers:
            worker.end()
        model.check('top/f')
        check(not any('cannot be written' in worker.mount.log()
                      for worker in workers), 'bytes are lost')


harness.need_remote()
main(what_was_synced_survives_kills,
     no_commit_of_ten_writers_is_lost)
