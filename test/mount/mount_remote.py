#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: mount remote; timeout 120
"""A frame on a web server is mounted like a local one.

usage: mount_remote.py FRAMEFS [TEST...]
"""

import concurrent.futures
import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

from mounted import (FRAMEFS, LAYOUTS, PATIENCE, Mount, b2frame, check, corpus,
                     error_of, harness, heed_signals, main, opened, read,
                     wait_for, write)
from s3_server import KEY, S3, SECRET
import faults
import web
from web import Plan, WELL, Web

CHUNK = 50000
CONTENT = random.Random(1).randbytes(20 * CHUNK)


def make(path, layout, content=CONTENT):
    write('raw', content)
    b2frame('create', '--layout', layout, '--chunksize', str(CHUNK), 'raw',
            path)
    if layout == 'sparse':
        # It has the time of `raw`: a chunk that is newer would be news.
        os.utime(path + '/chunks.b2frame')


def refused(*words):
    """Run framefs, which must fail.  Return what it says."""
    done = subprocess.run([FRAMEFS, *words], check=False, text=True,
                          capture_output=True, timeout=PATIENCE,
                          env=harness.environment())
    check(done.returncode != 0, 'is not refused')
    return done.stderr


def both_layouts_show():
    for layout in LAYOUTS:
        make(layout + '.b2frame', layout)
        with Web('.') as server:
            url = server.url + layout + '.b2frame'
            with Mount(url, 'mnt', '-o', 'chunks') as mount:
                check(sorted(os.listdir(mount.path)) ==
                      [layout, layout + '.chunks'], 'names')
                check(read(mount / layout) == CONTENT, 'content')
                check(read(mount / (layout + '.chunks/00000003')) ==
                      CONTENT[3 * CHUNK:4 * CHUNK], 'chunk')
                st = os.stat(mount / layout)
                check(st.st_size == len(CONTENT), 'size')
                check(st.st_mode & 0o7777 == 0o444, 'mode')
                check(error_of(write, mount / 'new', b'x') == errno.EROFS,
                      'can be written')
                check(error_of(os.unlink, mount / layout) == errno.EROFS,
                      'can be removed')


def a_frame_on_a_server_of_s3_shows():
    for layout in LAYOUTS:
        make(layout + '.b2frame', layout)
        with S3('.') as server:
            with Mount(server.url + layout + '.b2frame', 'mnt', '-o',
                       'endpoint=' + server.endpoint) as mount:
                check(read(mount / layout) == CONTENT, 'content')
            check(not server.refused, 'is refused')


def a_ticket_is_mounted():
    make('f', 'sparse')
    with S3('.') as server:
        b2frame('ticket', server.url + 'f', 'run.ticket.b2frame')
        with Mount('run.ticket.b2frame', 'mnt', '-o', 'chunks') as mount:
            check(sorted(os.listdir(mount.path)) ==
                  ['run.ticket', 'run.ticket.chunks'], 'names')
            check(read(mount / 'run.ticket') == CONTENT, 'content')
            check(error_of(os.unlink, mount / 'run.ticket') == errno.EROFS,
                  'can be removed')
        with Mount('run.ticket.b2frame', 'mnt', '-o', 'revalidate=0') as mount:
            check(read(mount / 'run.ticket')[:9] == CONTENT[:9], 'content')
            os.utime('f/chunks.b2frame', (10 ** 9, 10 ** 9))
            wait_for(lambda: error_of(read, mount / 'run.ticket') ==
                     errno.ESTALE, 'the change to be noticed')
            check('has changed since' in mount.log(), mount.log())
        check('has changed since' in refused('run.ticket.b2frame', 'mnt'),
              'is mounted')
        with Mount('run.ticket.b2frame', 'mnt', '-o', 'ticket=newest') as mount:
            check(read(mount / 'run.ticket') == CONTENT, 'content')


def it_shows_on_a_file():
    make('f', 'contiguous')
    write('file', b'below')
    with Web('.') as server, Mount(server.url + 'f', 'file') as mount:
        check(read(mount.path) == CONTENT, 'content')


def an_array_shows_as_npy():
    arrays = [frame for frame in corpus.data_frames()
              if frame.array and not frame.error][:2]
    os.mkdir('mnt2')
    with Web(corpus.DATA) as server:
        for frame in arrays:
            url = server.url + os.path.relpath(frame.path, corpus.DATA)
            with Mount(url, 'mnt', '-o', 'npy') as there, \
                    Mount(frame.path, 'mnt2', '-o', 'npy') as here:
                names = os.listdir(here.path)
                check(os.listdir(there.path) == names, 'names')
                check(read(there / names[0]) == read(here / names[0]),
                      'content')


def a_new_state_shows_when_it_is_opened_again():
    for layout in LAYOUTS:
        make('f', layout)
        with Web('.') as server, Mount(server.url + 'f', 'mnt', '-o',
                                       'revalidate=0') as mount:
            check(read(mount / 'f') == CONTENT, 'content')
            if layout == 'sparse':
                shutil.rmtree('f')
            else:
                os.unlink('f')
            make('f', layout, CONTENT[::-1] + b'more')
            wait_for(lambda: read(mount / 'f') == CONTENT[::-1] + b'more',
                     'the new state')
        if layout == 'sparse':
            shutil.rmtree('f')
        else:
            os.unlink('f')


def a_stopped_server_gives_an_error_and_then_works_again():
    make('f', 'contiguous')
    with web.process('.') as (server, url):
        with Mount(url + 'f', 'mnt', '-o',
                   'timeout=1,revalidate=inf,readahead=0') as mount:
            with opened(mount / 'f', os.O_RDONLY) as fd:
                web.suspend(server)
                check(error_of(os.pread, fd, 10, 15 * CHUNK) == errno.EIO,
                      'is read')
                server.send_signal(signal.SIGCONT)
                # It may take a moment until the server answers in time.
                wait_for(lambda: not error_of(os.pread, fd, 10, 15 * CHUNK),
                         'the server')
                check(os.pread(fd, 10, 15 * CHUNK) ==
                      CONTENT[15 * CHUNK:15 * CHUNK + 10], 'content')


def a_mount_ends_in_time():
    """Though the server is silent and programs read, or nobody can sign because
    a credential_process takes its time."""
    make('f', 'contiguous')
    with web.process('.') as (server, url):
        with Mount(url + 'f', 'mnt', '-o', 'timeout=3') as mount:
            web.suspend(server)
            with subprocess.Popen(['cat', mount / 'f'],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL):
                ends_in_time(mount)
    with S3('.') as server:
        write('say', b"test -e began || echo '{\"Version\":1,"
              b"\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"%s\"}'\n"
              b'test ! -e began || { >slow; exec sleep 100; }\n'
              % (KEY.encode(), SECRET.encode()))
        write('config', b'[default]\ncredential_process = sh say\n')
        os.environ['AWS_CONFIG_FILE'] = os.path.abspath('config')
        del os.environ['AWS_ACCESS_KEY_ID']
        del os.environ['AWS_SECRET_ACCESS_KEY']
        with Mount(server.url + 'f', 'mnt', '-o', 'timeout=3') as mount:
            write('began', b'')
            server.forget(lambda *_: Plan(status=403))
            with subprocess.Popen(['cat', mount / 'f'],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL):
                wait_for(lambda: os.path.exists('slow'), 'the process')
                ends_in_time(mount)


def ends_in_time(mount):
    """Neither does the daemon wait for a server, nor as long as a program that
    finds credentials may take, 60 s."""
    begin = time.monotonic()
    status = mount.stop(signal.SIGTERM)
    took = time.monotonic() - begin
    check(status == 0 and took < 45, 'status %d, %.1f s' % (status, took))


def faults_reach_no_program():
    make('f', 'sparse')
    plans = [Plan(status=503), Plan(reset=True), Plan(cut=99), Plan(shift=1)]

    def plan(_, number):
        return plans[number // 3 % len(plans)] if number % 3 == 2 else None

    with Web('.', plan) as server, Mount(server.url + 'f/', 'mnt') as mount:
        check(read(mount / 'f') == CONTENT, 'content')
        done = subprocess.run([FRAMEFS, '--stats', '--json', mount.path],
                              check=True, capture_output=True,
                              env=harness.environment())
        figures = json.loads(done.stdout)['remote']
        check(figures['retries'] == figures['retries_busy'] +
              figures['retries_failing'] + figures['retries_connection'] +
              figures['retries_slow'] + figures['retries_wrong'], figures)
        check(figures['retries_busy'] > 0 and figures['retries_wrong'] > 0 and
              figures['requests'] > 20 and figures['failed'] == 0 and
              figures['received'] >= len(CONTENT) and
              0 < figures['p50_us'] <= figures['p99_us'], figures)
        said = subprocess.run([FRAMEFS, '--stats', mount.path], check=True,
                              capture_output=True, text=True,
                              env=harness.environment()).stdout
        check('requests   %d, ' % figures['requests'] in said, said)


def read_again(mount, path, offset, length):
    """Read from a file, which is opened again when it has another state."""
    data = b''
    length = min(length, len(CONTENT) - offset)
    for _ in range(20):
        with opened(path, os.O_RDONLY) as fd:
            try:
                data += os.pread(fd, length - len(data), offset + len(data))
            except OSError as failure:
                check(failure.errno == errno.ESTALE,
                      '%s: %s' % (failure, mount.log()))
        if len(data) == length:
            break
    return data


def random_faults_give_no_wrong_byte():
    chooser = random.Random(2)
    for layout in LAYOUTS:
        make('f-' + layout, layout)
        plan = faults.Faults(random.Random(chooser.random()))
        with Web('.') as server, \
                Mount(server.url + 'f-' + layout, 'mnt', '-o',
                      'timeout=6,retries=20,revalidate=0') as mount:
            server.forget(plan)
            path = mount / ('f-' + layout)
            for _ in range(int(os.environ.get('FRAMEFS_FAULTS', '60'))):
                start = chooser.randrange(len(CONTENT))
                length = chooser.choice((1, 4096, 3 * CHUNK))
                got = read_again(mount, path, start, length)
                check(got == CONTENT[start:start + length],
                      'content at %d' % start)
            print(layout, dict(plan.counts))


def a_second_mount_needs_no_request():
    options = ('-o', 'revalidate=inf,netcache=kept')
    for layout in LAYOUTS:
        name = 'kept-' + layout
        make(name + '.b2frame', layout)
        with Web('.') as server:
            for turn in range(2):
                server.forget()
                with Mount(server.url + name + '.b2frame', 'mnt',
                           *options) as mount:
                    check(read(mount / name) == CONTENT, 'content')
                    done = subprocess.run(
                        [FRAMEFS, '--stats', '--json', mount.path], check=True,
                        capture_output=True, timeout=PATIENCE)
                    said = subprocess.run(
                        [FRAMEFS, '--stats', mount.path], check=True,
                        text=True, capture_output=True, timeout=PATIENCE)
                figures = json.loads(done.stdout)
                remote, kept = figures['remote'], figures['netcache']
                check('\nnetcache ' in said.stdout, said.stdout)
                if turn:
                    check(not server.requests, 'asks %s' % server.requests)
                    check(kept['hits'] and kept['read'] >= len(CONTENT) and
                          not kept['misses'], '%s' % kept)
                else:
                    check(kept['misses'] and kept['written'] and
                          remote['gets'] == remote['requests'] and
                          remote['used'] <= remote['received'] and
                          remote['used'] + kept['read'] >= len(CONTENT),
                          '%s %s' % (remote, kept))


def the_first_bytes_cost_few_requests():
    """Nothing that was fetched to find the frame is fetched again."""
    page = 3 * CHUNK // 4096 * 4096 + 4096  # in one chunk
    for layout, end in (('sparse', '/'), ('contiguous', '')):
        name = 'few-' + layout
        make(name + '.b2frame', layout)
        harness.age(name + '.b2frame')
        with Web('.') as server:
            with Mount(server.url + name + '.b2frame' + end, 'mnt',
                       '-o', 'revalidate=60') as mount:
                os.stat(mount / name)
                with open(mount / name, 'rb', buffering=0) as file:
                    os.posix_fadvise(file.fileno(), 0, 0,
                                     os.POSIX_FADV_RANDOM)
                    check(os.pread(file.fileno(), 4096, page) ==
                          CONTENT[page:page + 4096], 'content')
                check(len(server.requests) <= (2 if end else 3),
                      '%s' % server.requests)


def a_query_is_not_shown():
    make('f', 'contiguous')
    with Web('.') as server:
        with Mount(server.url + 'f?hidden', 'mnt') as mount:
            check(read(mount / 'f') == CONTENT, 'content')
            check(all(r.query == 'hidden' for r in server.requests), 'query')
            lists = read('/proc/mounts') + b''.join(
                read('/proc/%s/cmdline' % pid) for pid in os.listdir('/proc')
                if pid.isdigit() and is_ours(pid, server.url))
            check(server.url.encode() in lists, 'is not listed')
            check(b'?hidden' not in lists, 'is shown')
        check('hidden' not in refused(server.url + 'none?hidden', 'mnt'),
              'is shown')


def secrets_are_not_shown():
    """Neither in the log, nor in the figures, nor in a core file."""
    make('f', 'sparse')
    with S3('.') as server:
        with Mount(server.url + 'f', 'mnt', '-o', 'retries=0') as mount:
            check(read(mount / 'f') == CONTENT, 'content')
            server.forget(lambda *_: Plan(status=403))
            with opened(mount / 'f', os.O_RDONLY) as fd:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            shown = mount.log() + ''.join(
                subprocess.run([FRAMEFS, '--stats', *json_, mount.path],
                               check=True, text=True, capture_output=True,
                               timeout=PATIENCE).stdout
                for json_ in ((), ('--json',)))
            check(SECRET not in shown and 'Signature' not in shown, shown)
            resource.prlimit(mount.daemon.pid, resource.RLIMIT_CORE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            mount.daemon.send_signal(signal.SIGABRT)
            done = os.waitid(os.P_PID, mount.daemon.pid,
                             os.WEXITED | os.WNOWAIT)
            check(done.si_code == os.CLD_KILLED, 'there is a core file')
            mount.crash()


def is_ours(pid, url):
    """Is this the process of a mount of ours?"""
    try:
        return url.encode() in read('/proc/%s/cmdline' % pid) and \
            os.readlink('/proc/%s/exe' % pid) == os.path.realpath(FRAMEFS)
    except OSError:
        return False


def a_sequential_reader_has_many_requests_on_their_way():
    nparallel = 7
    content = random.Random(2).randbytes(24 << 20)
    for layout in LAYOUTS:
        write('raw', content)
        b2frame('create', '--layout', layout, '--chunksize', '1M', 'raw',
                layout + '.b2frame')
        together = threading.Event()
        waiting = []

        def plan(request, _):
            # The first reads do not look sequential.
            start = int((request.range or '0').split('-')[0] or 0)
            name = request.path[-14:]
            if start >> 20 >= 6 or \
                    name.endswith('.chunk') and name > '00000006.chunk':
                waiting.append(request)
                if len(waiting) >= nparallel:
                    together.set()
                together.wait(PATIENCE / 4)
                waiting.remove(request)
            return WELL

        with Web('.', plan) as server:
            with Mount(server.url + layout + '.b2frame', 'mnt') as mount:
                check(read(mount / layout) == content, 'content')
        check(together.is_set(), 'one after another')


def many_random_readers_wait_together():
    make('f', 'sparse')
    nreaders = len(CONTENT) // CHUNK  # more than the kernel allows by itself
    together = threading.Event()
    waiting = set()
    alone = []

    def plan(request, _):
        if request.path.endswith('.chunk'):
            waiting.add(request.path)
            if len(waiting) >= nreaders:
                together.set()
            if not together.wait(PATIENCE / 12):
                alone.append(request)
        return WELL

    with Web('.', plan) as server, Mount(server.url + 'f', 'mnt') as mount:
        with opened(mount / 'f', os.O_RDONLY) as fd:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            with concurrent.futures.ThreadPoolExecutor(nreaders) as pool:
                list(pool.map(lambda off: os.pread(fd, 1, off),
                              range(CHUNK // 2, len(CONTENT), CHUNK)))
    check(not alone, 'one after another')


def a_program_that_is_to_end_does_not_wait_for_a_server():
    make('f', 'sparse')
    silent = threading.Event()
    came = threading.Event()

    def plan(request, _):
        if not request.path.endswith('00000009.chunk'):
            return WELL
        came.set()
        return Plan(hold=silent)

    with Web('.', plan) as server, Mount(server.url + 'f', 'mnt', '-o',
                                         'timeout=600') as mount:
        with subprocess.Popen(
                ['dd', 'if=' + mount / 'f', 'of=/dev/null', 'iflag=direct',
                 'bs=%d' % CHUNK, 'skip=9', 'count=1'],
                stderr=subprocess.DEVNULL, preexec_fn=heed_signals) as dd:
            check(came.wait(PATIENCE), 'reads nothing')
            dd.send_signal(signal.SIGINT)
            try:
                dd.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                check(False, 'waits')
            finally:
                silent.set()
        check(read(mount / 'f') == CONTENT, 'content')


def what_cannot_be_mounted_is_told():
    make('s', 'sparse')
    write('rubbish', b'no frame')
    with Web('.') as server:
        for words, reason in (
                ((server.url + 'none',), 'No such file'),
                ((server.url + 'rubbish',), 'no Blosc2 frame'),
                (('http://h:x/',), 'no valid port'),
                (('-o', 'offset=10', server.url + 's'), 'offset='),
                (('-o', 'timeout=0', server.url + 's'), 'from 1 to 86400'),
                (('-o', 'cacert=none', server.url + 's'), 'No such file')):
            said = refused(*words, 'mnt')
            check(reason in said and said.count('\n') == 1, said)


harness.need_remote()
main(both_layouts_show,
     a_frame_on_a_server_of_s3_shows,
     a_ticket_is_mounted,
     it_shows_on_a_file,
     an_array_shows_as_npy,
     a_new_state_shows_when_it_is_opened_again,
     a_stopped_server_gives_an_error_and_then_works_again,
     a_mount_ends_in_time,
     faults_reach_no_program,
     random_faults_give_no_wrong_byte,
     a_second_mount_needs_no_request,
     the_first_bytes_cost_few_requests,
     a_sequential_reader_has_many_requests_on_their_way,
     many_random_readers_wait_together,
     a_program_that_is_to_end_does_not_wait_for_a_server,
     a_query_is_not_shown,
     secrets_are_not_shown,
     what_cannot_be_mounted_is_told)
