# SPDX-License-Identifier: BSD-3-Clause
"""A server of S3 for tests: a web server that checks signatures.

It shares no code with framefs, and knows the signature from AWS's description.
A directory is served as the bucket of any name.
"""

import calendar
import hmac
import os
import re
import time
import urllib.parse

import s3_upstream
from s3_bucket import Bucket, Changes, ID
from s3_keys import Keys
from s3_sign import signature
from web import Handler, Web

KEY = 'AKIDTEST'
SECRET = 'the+secret/key'
SKEW = 900  # seconds by which the clocks may differ


def error(code):
    """Return the body of an error."""
    return (b'<?xml version="1.0"?>\n<Error><Code>%s</Code><Message>no</Message>'
            b'</Error>' % code.encode())


class Refused(Exception):
    """The code of the error that a request gets."""


def check_signature(method, target, headers, keys):
    """Check the signature of a request.  Return the id of its key."""
    found = re.fullmatch(
        r'AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), SignedHeaders=([^,]+), '
        r'Signature=([0-9a-f]{64})', headers.get('Authorization', ''))
    if not found:
        raise Refused('AccessDenied')
    key, scope, names = found[1], found[2].split('/'), found[3].split(';')
    if key not in keys:
        raise Refused('InvalidAccessKeyId')
    secret, token = keys[key]
    if headers.get('X-Amz-Security-Token') != token:
        raise Refused('InvalidToken')
    must = {'host'} | {name.lower() for name in headers
                       if name.lower().startswith('x-amz-')}
    when = headers['X-Amz-Date']
    if (not must <= set(names) or names != sorted(names) or
            [when[:8], 's3', 'aws4_request'] != [scope[0], *scope[2:]]):
        raise Refused('AuthorizationHeaderMalformed')
    if abs(calendar.timegm(time.strptime(when, '%Y%m%dT%H%M%SZ')) -
           time.time()) > SKEW:
        raise Refused('RequestTimeTooSkewed')
    signed = {name: headers[name] for name in names}
    if not hmac.compare_digest(found[4], signature(secret, scope, method,
                                                   target, signed)):
        raise Refused('SignatureDoesNotMatch')
    return key


class S3Handler(Changes, Keys, Handler):
    """Checks requests before they are answered, and takes the bucket off."""

    body = b''
    hash_is_wrong = False

    def state_of(self, path):
        put_id = self.server.web.bucket.ids.get(path)
        return [(ID, put_id)] if put_id else []

    def answer(self):
        web = self.server.web
        try:
            if not web.anonymous:
                web.used.append(check_signature(self.command, self.path,
                                                self.headers, web.keys))
            elif 'Authorization' in self.headers:
                raise Refused('is signed')
        except Refused as refused:
            web.refused.append(refused.args[0])
            self.tell(403, body=error(refused.args[0]))
            return
        if self.headers['Host'].startswith('127.'):
            self.path = '/' + self.path.split('/', 2)[2]
        super().answer()

    def pass_on(self, request, plan):
        """Let another server answer; faults are added to that."""
        reply = self.server.web.upstream.pass_on(request, self.body)
        if plan.lost:
            self.reset()
        else:
            s3_upstream.relay(self, reply)

    def serve(self, request, plan):
        if self.server.web.upstream:
            self.pass_on(request, plan)
            return
        query = dict(urllib.parse.parse_qsl(request.query,
                                            keep_blank_values=True))
        if self.command not in ('GET', 'HEAD'):
            self.change(request, plan)
        elif 'uploads' in query:
            self.list_uploads(query)
        elif query.get('list-type') == '2':
            self.list_keys(query)
        # Keys are no paths: there are no directories.
        elif os.path.isfile(self.server.web.top + request.path):
            super().serve(request, plan)
        elif (request.path.endswith('/') and
              request.path[1:] in self.server.web.more_keys):
            self.tell(200, [('ETag', '"marker"')])
        else:
            self.tell(404, body=error('NoSuchKey'))


class S3(Web):
    """A server of S3, for a `with` statement, which sets the environment so that
    framefs uses it.  If the environment names another server, the requests are
    passed on to that, see s3_upstream.py.

    keys       secret and token, or None, for each id of a key
    anonymous  nothing may be signed
    used       the ids of the keys that signed requests, in order
    refused    errors of requests whose signature was wrong
    page       the number of keys in one page of a list
    more_keys  listed, too, although there are no such objects
    upstream   the other server, or None
    """

    handler = S3Handler

    def __init__(self, top, plan=None, anonymous=False):
        super().__init__(top, plan)
        self.endpoint = self.url[:-1]
        self.url = 's3://bucket/'
        self.keys = {KEY: (SECRET, None)}
        self.anonymous = anonymous
        self.used = []
        self.refused = []
        self.page = 1000
        self.more_keys = []
        self.upstream = None
        self.bucket = Bucket()
        self.saved = {}
        if s3_upstream.is_named():
            self.upstream = s3_upstream.Upstream(self.top)
            self.bucket = s3_upstream.Pretended()

    def __enter__(self):
        if self.upstream:
            self.upstream.begin()
        self.saved = dict(os.environ)
        for name in list(os.environ):
            if name.startswith('AWS_'):
                del os.environ[name]
        os.environ.update(AWS_ENDPOINT_URL_S3=self.endpoint,
                          AWS_CONFIG_FILE='/dev/null',
                          AWS_EC2_METADATA_DISABLED='true',
                          AWS_SHARED_CREDENTIALS_FILE='/dev/null')
        if not self.anonymous:
            os.environ.update(AWS_ACCESS_KEY_ID=KEY,
                              AWS_SECRET_ACCESS_KEY=SECRET)
        return super().__enter__()

    def __exit__(self, *failure):
        super().__exit__(*failure)
        if self.upstream:
            self.upstream.end()
        os.environ.clear()
        os.environ.update(self.saved)
