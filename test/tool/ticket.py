#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: ticket; timeout 120; args b2frame build
"""Tickets lead to frames on servers.

usage: ticket.py B2FRAME BUILD_ROOT [TEST...]
"""

import errno
import os
import stat
import struct
import subprocess
import sys

BUILD = os.path.abspath(sys.argv.pop(2))

# The modules below take the other arguments.
# pylint: disable=wrong-import-position
from remote_library import Library
from s3_server import KEY, S3
from scene import (TOOL, b2frame, check, check_names, fails, frame, harness,
                   main, misuse, noise, read, write)
from web import Plan, Web

CHUNK = 50000
CONTENT = noise(10 * CHUNK)
GOOD = {'url': 'http://127.0.0.1:9/f', 'etag': '"x"', 'size': 1, 'modified': 2}


def make(path='f', content=CONTENT):
    frame(path, content, '--layout', 'sparse', '--chunksize', str(CHUNK))


def pack(value):
    """Pack a value as MessagePack."""
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b''.join(
            pack(key) + pack(item) for key, item in value.items())
    if isinstance(value, int):
        return b'\xcf' + struct.pack('>Q', value)
    text = value.encode() if isinstance(value, str) else value
    return b'\xda' + struct.pack('>H', len(text)) + text


def forge(content, name='forged'):
    """Make a ticket with this content."""
    if not os.path.isdir('g'):
        make('g', b'x')
    write('content', content)
    b2frame('meta', 'set', 'g', 'framefs.origin', 'content')
    write(name, read('g/chunks.b2frame'))
    return name


def run(*words):
    """Run the tool.  Return its status and messages."""
    done = subprocess.run([TOOL, *words], capture_output=True, check=False,
                          env=harness.environment(), timeout=60)
    return done.returncode, done.stderr.decode()


def told_to_have_changed(name):
    """Is the change of a frame told when it is read?"""
    status, said = run('cat', name)
    check(status == 1 and 'has changed since the ticket was made' in said and
          'Stale file handle' in said and said.count('\n') == 2, said)


def touch(server_path='f/chunks.b2frame'):
    """Give the frame another state."""
    os.utime(server_path, (10 ** 9, 10 ** 9))


def a_ticket_stands_for_its_frame():
    make()
    with S3('.') as s3:
        b2frame('ticket', s3.url + 'f', 'ticket')
        check(os.stat('ticket').st_size < 1024, 'is large')
        mask = os.umask(0)
        os.umask(mask)
        check(stat.S_IMODE(os.stat('ticket').st_mode) == 0o666 & ~mask, 'mode')
        check(b2frame('cat', 'ticket') == CONTENT, 'other content')
        check(b2frame('info', 'ticket') == b2frame('info', 'f'), 'info')
        b2frame('verify', 'ticket')
        b2frame('convert', 'ticket', 'copy')
        check(b2frame('cat', 'copy') == CONTENT, 'other content')
        with Library(BUILD) as library, library.open('ticket') as opened:
            check(opened.read() == CONTENT, 'other content')
        check(set(s3.used) == {KEY} and not s3.refused, 'is refused')
    with Web('.') as web:
        for url in web.url + 'f', web.url + 'f/':
            b2frame('ticket', '--force', url, 'ticket')
            check(b2frame('cat', 'ticket') == CONTENT, 'other content')
    check_names('f', 'ticket', 'copy')


def it_needs_one_request_to_be_opened():
    make()
    with S3('.') as s3:
        b2frame('ticket', s3.url + 'f/', 'ticket')
        s3.forget()
        b2frame('info', 'ticket')
        check(len(s3.requests) == 1, '%s' % s3.requests)


def a_frame_that_has_changed_is_told():
    make()
    with S3('.') as s3:
        b2frame('ticket', s3.url + 'f/', 'ticket')
        touch()
        s3.forget()
        told_to_have_changed('ticket')
        check(len(s3.requests) == 1, 'asks %d times' % len(s3.requests))
        s3.forget()
        with Library(BUILD) as library:
            try:
                library.open('ticket')
                check(False, 'is opened')
            except OSError as failure:
                check(failure.errno == errno.ESTALE and
                      'has changed' in str(failure), '%s' % failure)
        check(len(s3.requests) == 1, 'asks %d times' % len(s3.requests))
        os.environ['FRAMEFS_REMOTE'] = 'ticket=newest'
        check(b2frame('cat', 'ticket') == CONTENT, 'other content')
        with Library(BUILD, 'ticket=newest') as library, \
                library.open('ticket') as opened:
            check(opened.read(0, 9) == CONTENT[:9], 'other content')


def a_change_while_it_is_open_is_told():
    make()
    with S3('.') as s3:
        b2frame('ticket', s3.url + 'f/', 'ticket')
        with Library(BUILD, 'revalidate=0,readahead=0') as library, \
                library.open('ticket') as opened:
            check(opened.read(0, 9) == CONTENT[:9], 'other content')
            touch()
            try:
                opened.read(CHUNK, CHUNK)
                check(False, 'is read')
            except OSError as failure:
                check(failure.errno == errno.ESTALE, '%s' % failure)


def tags_may_be_missing():
    make()
    with Web('.', lambda *_: Plan(etag=' ')) as web:
        b2frame('ticket', web.url + 'f/', 'ticket')
        check(b2frame('cat', 'ticket') == CONTENT, 'other content')
        touch()
        told_to_have_changed('ticket')


def it_cannot_be_changed():
    make()
    write('in', b'x' * CHUNK)
    with S3('.') as s3:
        b2frame('ticket', s3.url + 'f/', 'ticket')
        for words in (('append', 'ticket', 'in'), ('compact', 'ticket'),
                      ('meta', 'set', 'ticket', 'name', 'in')):
            fails('Read-only', *words)
        with Library(BUILD) as library:
            try:
                library.open('ticket', flags=1)
                check(False, 'is opened')
            except OSError as failure:
                check(failure.errno == errno.EROFS, '%s' % failure)


def what_gets_no_ticket_is_told():
    make()
    frame('one', CONTENT)
    write('there', b'')
    with Web('.') as web:
        for words, reason in (
                ((web.url + 'one', 'ticket'), 'sparse frame'),
                ((web.url + 'none', 'ticket'), 'No such file'),
                ((web.url + 'f?secret', 'ticket'), 'a secret'),
                (('http://me:word@127.0.0.1/f', 'ticket'), 'password'),
                (('http://169.254.1.2/f', 'ticket'), 'address'),
                (('f', 'ticket'), 'is no URL'),
                ((web.url + 'f', web.url + 'g'), 'only be read'),
                ((web.url + 'f', 'there'), 'exists already'),
                ((web.url + 'f', 'none/ticket'), 'No such file')):
            said = fails(reason, 'ticket', *words)
            check('secret"' not in said, said)
            check_names('f', 'one', 'there')
        b2frame('ticket', '--force', web.url + 'f', 'there')
        check(b2frame('cat', 'there') == CONTENT, 'other content')
        misuse('ticket')
        misuse('ticket', web.url + 'f')
        misuse('ticket', '--frobnicate', web.url + 'f', 'x')


def no_credentials_go_to_a_server_that_a_ticket_names():
    make()
    write('.netrc', b'machine 127.0.0.1 login me password hidden\n')
    os.environ['HOME'] = os.getcwd()
    with Web('.') as web:
        b2frame('cat', web.url + 'f/')
        check(all(request.headers['Authorization'] for request in web.requests),
              'the user sends none')
        b2frame('ticket', web.url + 'f/', 'ticket')
        web.forget()
        check(b2frame('cat', 'ticket') == CONTENT, 'other content')
        check(web.requests and not any(
            request.headers['Authorization'] for request in web.requests),
            'they are sent')


def a_ticket_for_s3_leads_to_the_configured_server():
    make()
    with S3('.') as s3:
        forge(pack({**GOOD, 'url': 's3://bucket/f', 'etag': '', 'size': 0}))
        told_to_have_changed('forged')
        check(all(request.path == '/f/chunks.b2frame'
                  for request in s3.requests), 'asks for something else')


def hostile_tickets_are_refused():
    """None of them makes a request, or does harm."""
    with Web('.') as web:
        good = {**GOOD, 'url': web.url + 'f'}
        for content in (
                b'', b'\xff', b'\x80', b'\x84', pack(good)[:-1], pack(good)[:9],
                b'\xdf\xff\xff\xff\xff', b'\x93' * 99, noise(2000),
                pack({'etag': '"x"'}),
                pack({**good, 'url': ''}),
                pack({**good, 'url': 7}),
                pack({**good, 'url': '/etc/passwd'}),
                pack({**good, 'url': 'file:///etc/passwd'}),
                pack({**good, 'url': web.url + 'f?query'}),
                pack({**good, 'url': web.url + '../f'}),
                pack({**good, 'url': web.url.replace('//', '//me:word@')}),
                pack({**good, 'url': web.url + 'f\0'}),
                pack({**good, 'url': web.url + 'f\n'}),
                pack({**good, 'url': web.url + 'x' * 9000}),
                pack({**good, 'url': 'http://169.254.169.254/latest/'}),
                pack({**good, 'url': 'http://0xa9fea9fe/latest/'}),
                pack({**good, 'url': 'http://[fe80::1]/x'}),
                pack({**good, 'url': 's3://../x'}),
                pack({**good, 'etag': 'x' * 200}),
                pack({**good, 'etag': 5})):
            name = forge(content)
            for verb in 'cat', 'info', 'verify':
                check(run(verb, name)[0] == 1, '%s %s' % (verb, content))
            with Library(BUILD) as library:
                try:
                    library.open(name)
                    check(False, '%s is opened' % content)
                except OSError:
                    pass
        check(not web.requests, '%s' % web.requests)


def damaged_tickets_do_no_harm():
    make()
    with Web('.') as web:
        b2frame('ticket', web.url + 'f/', 'ticket')
        whole = read('ticket')
        for i in range(0, len(whole), 3):
            write('damaged', whole[:i] + bytes([whole[i] ^ 0x5a]) +
                  whole[i + 1:])
            check(run('info', 'damaged')[0] in (0, 1), 'crashes')
        for i in range(0, len(whole), 40):
            write('damaged', whole[:i])
            check(run('info', 'damaged')[0] == 1, 'is read')


harness.need_remote()
main(a_ticket_stands_for_its_frame,
     it_needs_one_request_to_be_opened,
     a_frame_that_has_changed_is_told,
     a_change_while_it_is_open_is_told,
     tags_may_be_missing,
     it_cannot_be_changed,
     what_gets_no_ticket_is_told,
     no_credentials_go_to_a_server_that_a_ticket_names,
     a_ticket_for_s3_leads_to_the_configured_server,
     hostile_tickets_are_refused,
     damaged_tickets_do_no_harm)
