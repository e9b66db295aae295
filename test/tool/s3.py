#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: s3; timeout 120; args b2frame build
"""b2frame and the library read frames on servers of S3.

usage: s3.py B2FRAME BUILD_ROOT [TEST...]
"""

import errno
import os
import resource
import signal
import subprocess
import sys

BUILD = os.path.abspath(sys.argv.pop(2))

# The modules below take the other arguments.
# pylint: disable=wrong-import-position
from remote_library import Library
from s3_server import KEY, S3, SECRET, error
from scene import (TOOL, b2frame, check, frame, harness, layouts,
                   line_in_list_of_processes, main, noise, write)
from web import Held, Plan, Web

CHUNK = 50000
CONTENT = noise(10 * CHUNK)


def make(layout, path='f'):
    return frame(path, CONTENT, '--layout', layout, '--chunksize', str(CHUNK))


def complains(*words):
    """Run b2frame, which must fail.  Return its messages, which have no
    secret."""
    done = subprocess.run([TOOL, *words], capture_output=True, check=False,
                          env=harness.environment(), timeout=60)
    said = done.stderr.decode()
    check(done.returncode == 1 and not done.stdout, '%s' % done)
    check(SECRET not in said and 'Signature=' not in said, said)
    return said


def write_process(text):
    """Let a credential_process print this, and a line to the file runs."""
    write('say', b'echo run >>%s\n%s\n' % (
        os.path.abspath('runs').encode(), text))
    write('config', b'[default]\ncredential_process = sh %s\n'
          % os.path.abspath('say').encode())
    os.environ['AWS_CONFIG_FILE'] = os.path.abspath('config')
    del os.environ['AWS_ACCESS_KEY_ID'], os.environ['AWS_SECRET_ACCESS_KEY']


@layouts
def a_frame_is_read(layout):
    make(layout)
    with S3('.') as s3:
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'other content')
        check(b2frame('info', s3.url + 'f') == b2frame('info', 'f'), 'info')
        check(b2frame('map', s3.url + 'f').replace(s3.url.encode(), b'') ==
              b2frame('map', 'f'), 'map')
        b2frame('verify', s3.url + 'f')
        b2frame('convert', s3.url + 'f', 'copy')
        check(not s3.refused and set(s3.used) == {KEY}, 'is refused')
    check(b2frame('cat', 'copy') == CONTENT, 'other content')


def a_sparse_frame_costs_a_request_for_each_chunk():
    make('sparse')
    harness.age('f')
    with S3('.') as s3:
        check(b2frame('cat', s3.url + 'f/') == CONTENT, 'other content')
        check(len(s3.requests) == 11, 'asks %d times' % len(s3.requests))


def keys_may_have_odd_characters():
    name = "a b+c~d/%2F(1)!*'ü日&=;,@$:/f"
    os.makedirs(os.path.dirname(name))
    make('contiguous', name)
    with S3('.') as s3:
        for url in ("a%20b+c~d/%252F(1)!*'%C3%BC%e6%97%a5&=;,@$:/f",
                    'a%20b%2Bc%7Ed/%252F%281%29%21%2A%27%C3%BC%E6%97%A5'
                    '%26%3D%3B%2C%40%24%3A/f'):
            check(b2frame('cat', s3.url + url) == CONTENT, 'other content')
        check(not s3.refused, 'is refused: %s' % s3.refused)


def a_bucket_may_be_in_the_name_of_the_host():
    make('sparse')
    with S3('.') as s3:
        os.environ['FRAMEFS_REMOTE'] = 'region=moon-1,endpoint=%s' % (
            s3.endpoint.replace('127.0.0.1', '{bucket}.localhost'))
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'other content')
        check(not s3.refused and all(
            request.headers['Host'].startswith('bucket.localhost:') and
            '/moon-1/s3/' in request.headers['Authorization']
            for request in s3.requests), 'other host or region')


def anonymous_requests_are_not_signed():
    make('sparse')
    with S3('.', anonymous=True) as s3:
        os.environ['FRAMEFS_REMOTE'] = 'anonymous'
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'other content')
        os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'other content')


def a_profile_is_chosen():
    make('contiguous')
    with S3('.') as s3:
        write('config', b'[profile lab]\nregion = x\nendpoint_url = %s\n'
              % s3.endpoint.encode())
        write('credentials', b'[lab]\naws_access_key_id = LAB\n'
              b'aws_secret_access_key = s\naws_session_token = t\n')
        s3.keys['LAB'] = ('s', 't')
        for name, path in (('AWS_CONFIG_FILE', 'config'),
                           ('AWS_SHARED_CREDENTIALS_FILE', 'credentials')):
            os.environ[name] = os.path.abspath(path)
        del os.environ['AWS_ENDPOINT_URL_S3']
        os.environ['FRAMEFS_REMOTE'] = 'profile=lab'
        check(b2frame('cat', s3.url + 'f') == CONTENT, 'other content')
        check(set(s3.used) == {'LAB'}, 'signed by %s' % s3.used)
        os.environ['FRAMEFS_REMOTE'] = 'profile=none'
        said = complains('cat', s3.url + 'f')
        check('no profile none' in said, said)


def refusals_have_their_errors():
    make('contiguous')
    with S3('.') as s3:
        check('No such file' in complains('cat', s3.url + 'none'), 'none')
        s3.forget(lambda *_: Plan(status=403, body=error('AccessDenied')))
        said = complains('cat', s3.url + 'f')
        check('Permission denied' in said and said.count('\n') == 1, said)
        s3.forget()
        os.environ['AWS_SECRET_ACCESS_KEY'] = 'wrong'
        said = complains('cat', s3.url + 'f')
        check('Permission denied' in said and 'SignatureDoesNotMatch' in said,
              said)
        del os.environ['AWS_ACCESS_KEY_ID'], os.environ['AWS_SECRET_ACCESS_KEY']
        s3.refused.clear()
        said = complains('cat', s3.url + 'f')
        check('Permission denied' in said and 'no credentials' in said, said)
        check(not s3.refused, 'asks without credentials')


def credentials_that_expire_are_replaced():
    """The server takes each key for one request only."""
    make('sparse')

    def take_once(request, _):
        key = s3.used[-1]
        if s3.used.count(key) > 1:
            return Plan(status=403, body=error('ExpiredToken'))
        return None

    with S3('.', take_once) as s3, Library(BUILD, 'revalidate=inf') as library:
        s3.keys = {'A1': ('s', None), 'A2': ('s', None)}
        write_process(b"""echo '{"Version":1,"AccessKeyId":"A'$(wc -l <runs)'",'
echo '"SecretAccessKey":"s"}'""")
        with library.open(s3.url + 'f/') as opened:
            check(opened.read(0, 10) == CONTENT[:10], 'other content')
        check(s3.used == ['A1', 'A1', 'A2'], 'used %s' % s3.used)


def nobody_waits_for_a_credential_process_that_takes_its_time():
    make('contiguous')
    with S3('.') as s3:
        os.environ['FRAMEFS_REMOTE'] = 'timeout=1'
        write_process(b'exec sleep 100')
        harness.takes_less(10, complains, 'info', s3.url + 'f')


def each_third(plan):
    return lambda request, number: plan if number % 3 == 2 else None


@layouts
def what_goes_wrong_is_tried_again(layout):
    make(layout)
    with S3('.') as s3, Library(BUILD, 'timeout=60') as library:
        for plan in (Plan(status=503, body=error('SlowDown')),
                     Plan(status=500, body=error('InternalError')),
                     Plan(cut=1000), Plan(reset=True), Plan(shift=1)):
            s3.forget(each_third(plan))
            with library.open(s3.url + 'f') as opened:
                check(opened.read() == CONTENT, 'other content')
        check(not s3.refused, 'is refused')


def signatures_go_to_no_other_server():
    make('contiguous')
    with Web('.') as target, S3('.') as s3:
        s3.keys[KEY] = (SECRET, 'token')
        os.environ['AWS_SESSION_TOKEN'] = 'token'
        s3.forget(lambda *_: Plan(location=target.url + 'f'))
        said = complains('cat', s3.url + 'f')
        check('another server' in said and 'token' not in said, said)
        check(not target.requests, 'are sent on')


def secrets_are_not_in_the_list_of_processes():
    make('contiguous')
    held = Held()
    with S3('.', held) as s3:
        line = line_in_list_of_processes(s3.url + 'f', held)
    check(SECRET.encode() not in line and KEY.encode() not in line, '%s' % line)


def crash(program):
    """Abort a program.  Return whether the kernel has written a core file."""
    program.send_signal(signal.SIGABRT)
    done = os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    return done.si_code == os.CLD_DUMPED


def secrets_are_in_no_core_file():
    make('contiguous')
    held = Held()

    def allow_cores():
        resource.setrlimit(resource.RLIMIT_CORE,
                           (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

    with subprocess.Popen(['sleep', '100'], preexec_fn=allow_cores) as other:
        if not crash(other):
            raise harness.Skipped('there are no core files')
    with S3('.', held) as s3:
        with subprocess.Popen([TOOL, 'info', s3.url + 'f'],
                              preexec_fn=allow_cores) as tool:
            held.seen.wait()
            check(not crash(tool), 'there is a core file')
        held.go.set()


def the_library_takes_the_options():
    make('sparse')
    with S3('.') as s3:
        del os.environ['AWS_ENDPOINT_URL_S3']
        with Library(BUILD, 'endpoint=%s,region=r' % s3.endpoint) as library:
            with library.open(s3.url + 'f') as opened:
                check(opened.read() == CONTENT, 'other content')
        with Library(BUILD, 'endpoint=no') as library:
            try:
                library.open(s3.url + 'f')
            except OSError as failure:
                check(failure.errno == errno.EINVAL, str(failure))
            else:
                check(False, 'a wrong endpoint is taken')


harness.need_remote()
main(a_frame_is_read,
     a_sparse_frame_costs_a_request_for_each_chunk,
     keys_may_have_odd_characters,
     a_bucket_may_be_in_the_name_of_the_host,
     anonymous_requests_are_not_signed,
     a_profile_is_chosen,
     refusals_have_their_errors,
     credentials_that_expire_are_replaced,
     nobody_waits_for_a_credential_process_that_takes_its_time,
     what_goes_wrong_is_tried_again,
     signatures_go_to_no_other_server,
     secrets_are_not_in_the_list_of_processes,
     secrets_are_in_no_core_file,
     the_library_takes_the_options)
