# SPDX-License-Identifier: BSD-3-Clause
"""A server of S3 for tests: a web server that checks signatures.

It shares no code with framefs, and knows the signature from AWS's description.
A directory is served as the bucket of any name.
"""

import calendar
import hashlib
import hmac
import os
import re
import time
import urllib.parse

from s3_bucket import Bucket, Changes, ID
from s3_keys import Keys
from web import Handler, Web

KEY = 'AKIDTEST'
SECRET = 'the+secret/key'
SKEW = 900  # seconds by which the clocks may differ


def error(code):
    """Return the body of an error."""
    return (b'<?xml version="1.0"?>\n<Error><Code>%s</Code><Message>no</Message>'
            b'</Error>' % code.encode())


def encode(text, safe):
    """Encode a text that is encoded in any way."""
    return urllib.parse.quote(urllib.parse.unquote_to_bytes(text),
                              safe=safe + '-._~')


def canonical_query(query):
    pairs = [part.partition('=') for part in query.split('&') if part]
    return '&'.join('%s=%s' % pair for pair in sorted(
        (encode(name, ''), encode(value, '')) for name, _, value in pairs))


def sign(secret, scope, text):
    key = b'AWS4' + secret.encode()
    for part in [*scope, text]:
        key = hmac.digest(key, part.encode(), 'sha256')
    return key.hex()


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
    path, _, query = target.partition('?')
    request = '\n'.join(
        [method, encode(path, '/'), canonical_query(query),
         *('%s:%s' % (name, ' '.join(headers[name].split()))
           for name in names), '', ';'.join(names),
         headers['X-Amz-Content-Sha256']])
    text = '\n'.join(['AWS4-HMAC-SHA256', when, '/'.join(scope),
                      hashlib.sha256(request.encode()).hexdigest()])
    if not hmac.compare_digest(found[4], sign(secret, scope, text)):
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

    def serve(self, request, plan):
        query = dict(urllib.parse.parse_qsl(request.query))
        if self.command not in ('GET', 'HEAD'):
            self.change(request, plan)
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
    framefs uses it.

    keys       secret and token, or None, for each id of a key
    anonymous  nothing may be signed
    used       the ids of the keys that signed requests, in order
    refused    errors of requests whose signature was wrong
    page       the number of keys in one page of a list
    more_keys  listed, too, although there are no such objects
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
        self.bucket = Bucket()
        self.saved = {}

    def __enter__(self):
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
        os.environ.clear()
        os.environ.update(self.saved)
