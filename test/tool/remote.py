#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: remote; timeout 120; args b2frame build
"""b2frame and the library read frames on web servers, also on bad ones.

usage: remote.py B2FRAME BUILD_ROOT [TEST...]
"""

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

BUILD = os.path.abspath(sys.argv.pop(2))

# The modules below take the other arguments.
# pylint: disable=wrong-import-position
from nginx import Nginx
from remote_library import Library
from scene import (TOOL, b2frame, check, fails, frame, harness, layouts,
                   line_in_list_of_processes, main, noise, write)
from web import Held, Plan, Web, process as web_process, suspend

# Chunks that do not compress, so that there are bytes enough to go wrong.
CHUNK = 50000
CONTENT = noise(10 * CHUNK)
OPTIONS = ('--chunksize', str(CHUNK))


def make(layout, content=CONTENT, path='f'):
    return frame(path, content, '--layout', layout, *OPTIONS)


@contextlib.contextmanager
def environment(value):
    """Set the options for requests of b2frame."""
    os.environ['FRAMEFS_REMOTE'] = value
    try:
        yield
    finally:
        del os.environ['FRAMEFS_REMOTE']


def gets(web, suffix=''):
    return [request for request in web.requests
            if request.path.endswith(suffix)]


@layouts
def a_frame_is_read(layout):
    make(layout)
    with Web('.') as web:
        check(b2frame('cat', web.url + 'f') == CONTENT, 'other content')
        check(b2frame('info', web.url + 'f') == b2frame('info', 'f'), 'info')
        check(b2frame('map', web.url + 'f').replace(web.url.encode(), b'') ==
              b2frame('map', 'f'), 'map')
        b2frame('verify', web.url + 'f')
        b2frame('convert', web.url + 'f', 'copy')
    check(b2frame('cat', 'copy') == CONTENT, 'other content')


def a_contiguous_frame_opens_with_two_requests():
    make('contiguous')
    with Web('.') as web:
        b2frame('info', web.url + 'f')
        check(sorted(r.range for r in web.requests) == ['-65536', '0-65535'],
              'asks %s' % web.requests)


def a_sparse_frame_costs_a_request_for_each_chunk():
    make('sparse')
    harness.age('f')
    with Web('.') as web:
        check(b2frame('cat', web.url + 'f/') == CONTENT, 'other content')
        check(len(gets(web, 'chunks.b2frame')) == 1, 'reads the index again')
        check(len(web.requests) == 11, 'asks %d times' % len(web.requests))
        web.forget()
        b2frame('cat', '--offset', str(5 * CHUNK), '--length', '4K',
                web.url + 'f/')
        check(len(web.requests) == 2, 'asks %d times' % len(web.requests))


def a_range_costs_few_requests_and_bytes():
    """A chunk is fetched whole, unless it is large: then its start, and the
    block.  Two requests open the frame."""
    content = noise(8 << 20)
    for chunksize, requests, sent in (('512K', 3, 900 << 10),
                                      ('4M', 4, 300 << 10)):
        frame(chunksize, content, '--chunksize', chunksize)
        with Web('.') as web:
            part = b2frame('cat', '--offset', '5M', '--length', '4K',
                           web.url + chunksize)
            check(part == content[5 << 20:(5 << 20) + 4096], 'other content')
            check(len(web.requests) == requests and web.sent <= sent,
                  '%d requests, %d bytes' % (len(web.requests), web.sent))


def each_third(plan):
    return lambda request, number: plan if number % 3 == 2 else None


@layouts
def what_goes_wrong_is_tried_again(layout):
    make(layout)
    plans = {
        'busy': Plan(status=503),
        'too many': Plan(status=429, headers=[('Retry-After', '0')]),
        'failing': Plan(status=500),
        'cut': Plan(cut=1000),
        'cut at once': Plan(cut=0),
        'reset': Plan(reset=True),
        'wrong range': Plan(shift=1),
        'short': Plan(longer=10),
    }
    with Web('.') as web, Library(BUILD, 'timeout=60') as library:
        for name, plan in plans.items():
            web.forget(each_third(plan))
            with library.open(web.url + 'f') as opened:
                check(opened.read() == CONTENT, name + ': other content')


def a_server_that_stays_bad_gives_an_error():
    make('contiguous')
    with Web('.') as web, environment('retries=1'):
        for plan in (Plan(status=503), Plan(cut=10), Plan(shift=3),
                     Plan(reset=True)):
            web.forget(lambda request, number, plan=plan: plan)
            said = complains('cat', web.url + 'f')
            check('Input/output error' in said and 'tries: 2' in said, said)


def complains(*words):
    """Run b2frame, which must fail.  Return its messages."""
    done = subprocess.run([TOOL, *words], capture_output=True, check=False,
                          env=harness.environment(), timeout=60)
    check(done.returncode == 1 and not done.stdout, '%s' % done)
    return done.stderr.decode()


def refusals_have_their_errors():
    make('contiguous')
    with Web('.') as web:
        fails('No such file', 'cat', web.url + 'none')
        fails('No such file', 'cat', web.url + 'none/')
        for status in 401, 403:
            web.forget(lambda *_, status=status: Plan(status=status))
            fails('Permission denied', 'cat', web.url + 'f')
            fails('Permission denied', 'cat', web.url + 'f/')


def a_silent_server_ends_after_the_timeout():
    """A server that stops in the middle, and one that sends a byte now and
    then."""
    make('contiguous')
    with Web('.') as web, environment('timeout=1'):
        web.forget(lambda *_: Plan(drip=True))
        check('no reply in time' in complains('cat', web.url + 'f'), 'drip')
    with web_process('.') as (server, url):
        with Library(BUILD, 'timeout=1,revalidate=inf') as library:
            with library.open(url + 'f') as opened:
                check(opened.read(0, 10) == CONTENT[:10], 'other content')
                suspend(server)
                fails_with(errno.EIO, opened.read, 5 * CHUNK, 10)
                server.send_signal(signal.SIGCONT)
                check(opened.read(5 * CHUNK, 10) ==
                      CONTENT[5 * CHUNK:5 * CHUNK + 10], 'other content')


def a_silent_server_is_not_asked_for_an_index_too():
    make('contiguous')
    with web_process('.') as (server, url), environment('timeout=2'):
        suspend(server)
        harness.takes_less(3.5, complains, 'info', url + 'f')


def a_silent_name_server_ends_after_the_timeout():
    if os.geteuid() != 0:
        raise harness.Skipped('only root can set a name server')
    write('resolv.conf', b'nameserver 127.0.0.9\n'
                         b'options timeout:30 attempts:2\n')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent, \
            environment('timeout=2,retries=0'):
        silent.bind(('127.0.0.9', 53))
        harness.takes_less(15, ask_for_a_name)


def ask_for_a_name():
    done = subprocess.run(
        ['unshare', '-m', 'sh', '-c',
         # no copies of mounts that other tests unmount
         'umount -alt fuse.framefs; '
         'mount --bind resolv.conf /etc/resolv.conf && exec "$@"', 'sh', TOOL,
         'info', 'http://none.example.org/f'],
        capture_output=True, check=False, env=harness.environment(),
        timeout=200)
    check(done.returncode == 1, '%s' % done)


def a_dead_server_is_not_asked_for_changes_again_and_again():
    """A read asks whether the frame has changed, too.  All together take hardly
    longer than one request may."""
    make('sparse')
    harness.takes_less(5.5, read_from_a_dead_server)


def read_from_a_dead_server():
    dead = threading.Event()
    hold = threading.Event()
    with Web('.', lambda *_: Plan(hold=hold) if dead.is_set() else None) as web:
        with Library(BUILD, 'timeout=2,revalidate=0') as library, \
                library.open(web.url + 'f') as opened:
            dead.set()
            fails_with(errno.EIO, opened.read, 5 * CHUNK, 10)
            hold.set()


def fails_with(error, call, *args):
    """Call a function, which must fail.  Return its message."""
    try:
        call(*args)
    except OSError as failure:
        check(failure.errno == error, 'fails with ' + str(failure))
        return failure.strerror
    raise harness.Failure('does not fail')


@layouts
def a_new_state_is_seen(layout):
    """A frame that is open shows its old state or the new one, not both."""
    make(layout)
    with Web('.') as web, Library(BUILD, 'revalidate=0') as library:
        with library.open(web.url + 'f') as opened:
            check(opened.read(0, 100) == CONTENT[:100], 'other content')
            shutil.rmtree('f') if layout == 'sparse' else os.unlink('f')
            make(layout, CONTENT[::-1])
            check(opened.read() == CONTENT[::-1], 'not the new state')
            os.rename('f', 'gone')
            fails_with(errno.ENOENT, library.open, web.url + 'f')


def a_state_that_changes_below_a_reader_is_not_mixed():
    """The reader does not ask for changes, but its requests name the state."""
    make('contiguous')
    with Web('.') as web, Library(BUILD, 'revalidate=inf') as library:
        with library.open(web.url + 'f') as opened:
            check(opened.read(0, 100) == CONTENT[:100], 'other content')
            os.unlink('f')
            make('contiguous', CONTENT[::-1])
            data = opened.read()
            for start in range(0, len(CONTENT), CHUNK):
                part = slice(start, start + CHUNK)
                check(data[part] in (CONTENT[part], CONTENT[::-1][part]),
                      'chunk at %d is mixed' % start)
            check(data[-CHUNK:] == CONTENT[::-1][-CHUNK:], 'is old')


def a_missing_chunk_is_told():
    make('sparse')
    os.unlink('f/00000004.chunk')
    with Web('.') as web:
        said = complains('cat', '--offset', str(4 * CHUNK), web.url + 'f')
        check('00000004.chunk: chunk 4, ' in said and 'missing' in said, said)


def redirects_are_followed_but_not_everywhere():
    make('contiguous')
    with Web('.') as web:
        def elsewhere(request, _):
            if request.path == '/f':
                return Plan(location='/g?key=1')
            return None
        os.rename('f', 'g')
        web.forget(elsewhere)
        check(b2frame('cat', web.url + 'f') == CONTENT, 'other content')
        for target in ('http://169.254.169.254/latest', 'file:///etc/passwd',
                       'http://[fe80::1]/', 'gopher://127.0.0.1/'):
            web.forget(lambda *_, target=target: Plan(location=target))
            said = complains('cat', web.url + 'f')
            check('redirect to' in said, said)


def a_password_goes_only_to_its_host():
    make('contiguous')
    write('.netrc', b'machine 127.0.0.1 login me password secret\n'
                    b'machine localhost login you password other\n')
    os.environ['HOME'] = os.getcwd()
    with Web('.') as target, Web('.') as web:
        b2frame('info', web.url + 'f')
        check(all(r.headers['Authorization'] for r in web.requests), 'none')
        web.forget(lambda *_: Plan(location=target.url + 'f'))
        b2frame('info', web.url + 'f')
        check(target.requests and not any(
            r.headers['Authorization'] for r in target.requests), 'is sent on')


def a_query_is_kept_and_never_shown():
    make('contiguous')
    make('sparse', path='s')
    with Web('.') as web:
        url = web.url + 'f?X-Signature=hidden'
        check(b2frame('cat', url) == CONTENT, 'other content')
        check(all(r.query == 'X-Signature=hidden' for r in web.requests),
              'the query is missing')
        said = fails('cannot have a query', 'cat', web.url + 's/?hidden')
        check('hidden' not in said, said)
        fails('No such file', 'info', web.url + 'none?hidden')
        for plan in (Plan(status=403), Plan(status=500), Plan(cut=1)):
            web.forget(lambda *_, plan=plan: plan)
            with environment('retries=0'):
                said = complains('cat', url)
            check('hidden' not in said, said)
            with Library(BUILD, 'retries=0') as library:
                check('hidden' not in fails_with(
                    errno.EACCES if plan.status == 403 else errno.EIO,
                    library.open, url), 'the library shows it')


def a_query_is_not_in_the_list_of_processes():
    make('contiguous')
    held = Held()
    with Web('.', held) as web:
        line = line_in_list_of_processes(web.url + 'f?hidden', held)
    check(b'/f\0' in line and b'hidden' not in line, '%s' % line)


def a_server_without_ranges_serves_small_frames_only():
    make('contiguous', CONTENT[:1000], 'small')
    make('contiguous', CONTENT * 4, 'large')
    with Web('.', lambda *_: Plan(whole=True)) as web:
        check(b2frame('cat', web.url + 'small') == CONTENT[:1000], 'content')
        fails('not supported', 'cat', web.url + 'large')


def other_verbs_take_urls():
    make('sparse')
    write('in', CONTENT)
    with Web('.') as web:
        b2frame('create', web.url + 'in', 'new')
        check(b2frame('cat', 'new') == CONTENT, 'create')
        b2frame('append', 'new', web.url + 'in')
        check(b2frame('cat', 'new') == 2 * CONTENT, 'append')
        check('"size"' in b2frame('estimate', '--sample', '5000', '--json',
                                  web.url + 'in').decode(), 'estimate')
        fails('s a directory', 'create', web.url + 'f/', 'other')
        fails('No such file', 'create', web.url + 'nothing', 'other')
        b2frame('repair', web.url + 'f', 'saved')
        check(b2frame('cat', 'saved') == CONTENT, 'repair')


def nothing_is_changed():
    make('contiguous')
    write('in', b'abcd')
    url = 'http://127.0.0.1:1/f'
    fails('compact takes no URL', 'compact', url)
    fails('not repaired in place', 'repair', '--in-place', url)
    for words in (('append', url, 'in'), ('delete', url, '0'),
                  ('reorder', url, '0'), ('truncate', '--size', '1', url),
                  ('meta', 'set', url, 'name', 'in'),
                  ('meta', 'rm', url, 'name'), ('convert', 'f', url),
                  ('create', 'in', url), ('repair', 'f', url)):
        fails('can only be read', *words)
    with Library(BUILD) as library:
        for flags in 0, 1:
            said = fails_with(errno.EROFS if flags else errno.EIO,
                              library.open, url, 0, flags)
            check(said.startswith(url + ': '), said)


def urls_are_checked():
    fails('name of a bucket', 'cat', 's3://B/f')
    fails('no valid host', 'cat', 'http:///f')
    fails('~/.netrc', 'cat', 'http://me:secret@127.0.0.1/f')
    os.makedirs('s3:/bucket')
    make('contiguous', path='./s3://bucket/f')
    check(b2frame('cat', './s3://bucket/f') == CONTENT, 'other content')


def options_are_given_in_many_ways():
    make('contiguous')
    with Web('.') as web, environment('retries=5'):
        web.forget(lambda *_: Plan(status=503))
        for words in (('cat', '-o', 'retries=1', web.url + 'f'),
                      ('cat', web.url + 'f', '-oretries=1'),
                      ('-o', 'retries=3,timeout=20', '-o', 'retries=1', 'cat',
                       web.url + 'f')):
            check('tries: 2' in complains(*words), 'other options')
        web.forget()
        check(b2frame('cat', '-o', 'timeout=9,connections=2', web.url + 'f') ==
              CONTENT, 'other content')


def nobody_listens():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        url = 'http://127.0.0.1:%d/f' % taken.getsockname()[1]
        check('tries: 3' in complains('info', url), 'goes on for long')


def https_needs_a_certificate_that_is_trusted():
    make('contiguous')
    if not shutil.which('openssl'):
        raise harness.Skipped('openssl is not installed')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
                    '-keyout', 'cert.key', '-out', 'cert', '-days', '2',
                    '-subj', '/CN=127.0.0.1', '-addext',
                    'subjectAltName=IP:127.0.0.1'], check=True,
                   stderr=subprocess.DEVNULL)
    with Nginx('.', os.path.abspath('cert')) as nginx:
        said = complains('cat', nginx.url + 'f')
        check('certificate' in said, said)
        with environment('cacert=cert'):
            check(b2frame('cat', nginx.url + 'f') == CONTENT, 'other content')


harness.need_remote()
main(a_frame_is_read,
     a_contiguous_frame_opens_with_two_requests,
     a_sparse_frame_costs_a_request_for_each_chunk,
     a_range_costs_few_requests_and_bytes,
     what_goes_wrong_is_tried_again,
     a_server_that_stays_bad_gives_an_error,
     refusals_have_their_errors,
     a_silent_server_ends_after_the_timeout,
     a_silent_server_is_not_asked_for_an_index_too,
     a_silent_name_server_ends_after_the_timeout,
     a_dead_server_is_not_asked_for_changes_again_and_again,
     a_new_state_is_seen,
     a_state_that_changes_below_a_reader_is_not_mixed,
     a_missing_chunk_is_told,
     redirects_are_followed_but_not_everywhere,
     a_password_goes_only_to_its_host,
     a_query_is_kept_and_never_shown,
     a_query_is_not_in_the_list_of_processes,
     a_server_without_ranges_serves_small_frames_only,
     other_verbs_take_urls,
     nothing_is_changed,
     urls_are_checked,
     options_are_given_in_many_ways,
     nobody_listens,
     https_needs_a_certificate_that_is_trusted)
