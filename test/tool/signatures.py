#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# test: signatures; args sign_request
"""signatures.py SIGN_REQUEST: random requests get the signatures that botocore
gives them.

FRAMEFS_SIGNATURES=10000 sets how many.  The script runs with the distribution's
Python, because other ones may lack botocore.
"""

import calendar
import os
import random
import subprocess
import sys
import time
import urllib.parse

TOOL = sys.argv[1]
try:
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    sys.exit(77)
if not os.path.exists(TOOL):
    sys.exit(77)

TEXT = ('abcXYZ019-._~/:!$&\'()*,;=@ %+"<>[]^`{|}#?\\'
        'äß日\U0001f600\t\x7f')
OWN = {'authorization', 'host', 'x-amz-date', 'x-amz-content-sha256',
       'x-amz-security-token'}
# What may stand in a URL beside letters and digits.
PATH_SAFE = "-._~/:!$&'()*,;=@"
QUERY_SAFE = "-._~/:!$'()*,;@?"


def text(rng, longest, alphabet=TEXT):
    return ''.join(rng.choices(alphabet, k=rng.randint(0, longest)))


def as_sent(rng, plain, safe):
    """Return a text in one of its encodings."""
    result = ''
    for char in plain:
        coded = urllib.parse.quote(char, safe=rng.choice([safe, '-._~', '']))
        if rng.random() < 0.05:
            coded = ''.join('%%%02X' % byte for byte in char.encode())
        result += coded.lower() if coded[0] == '%' and rng.random() < 0.3 \
            else coded
    return result


def random_key(rng):
    return Credentials(text(rng, 20, 'ABCDEFG234567') or 'A',
                       text(rng, 60) or 'b',
                       text(rng, 300, 'abcXYZ01+/=') or None)


def random_headers(rng):
    """Return headers that botocore and we send; a value never has a line
    end."""
    return {'x-amz-meta-%d' % i if rng.random() < 0.5 else 'Header-%d' % i:
            text(rng, 30, 'abc ,"\t/=') for i in range(rng.randint(0, 6))}


class Case:
    """A random request, and botocore's signature of it."""

    def __init__(self, rng):
        self.key = random_key(rng)
        self.region = rng.choice(['us-east-1', 'eu-central-1', 'default', 'x'])
        self.service = rng.choice(['s3', 's3', 's3', 'sts'])
        self.method = rng.choice(['GET', 'PUT', 'POST', 'HEAD', 'DELETE'])
        self.host = rng.choice(['127.0.0.1:7480', 's3.amazonaws.com',
                                'bucket.s3.eu-central-1.amazonaws.com',
                                '[::1]:9000'])
        # botocore normalizes the paths of other services.
        path = '/' + (text(rng, 40) if self.service == 's3' else '')
        query = {text(rng, 8): text(rng, 20) for _ in range(rng.randint(0, 5))}
        query.pop('', None)
        self.path = '/' + as_sent(rng, path[1:], PATH_SAFE)
        self.query = '&'.join(
            as_sent(rng, name, QUERY_SAFE) +
            ('=' + as_sent(rng, value, QUERY_SAFE)
             if value or rng.random() < 0.5 else '')
            for name, value in query.items())
        self.request = AWSRequest(
            self.method, 'https://' + self.host + urllib.parse.quote(
                path, safe='/-._~'),
            params=query, headers=random_headers(rng),
            data=rng.choice([b'', b'body', rng.randbytes(100)]))
        self.request.context['payload_signing_enabled'] = (
            self.service != 's3' or rng.random() < 0.5)
        auth = S3SigV4Auth if self.service == 's3' else SigV4Auth
        auth(self.key, self.service, self.region).add_auth(self.request)

    def payload(self):
        return self.request.headers.get('X-Amz-Content-SHA256') or \
            SigV4Auth(self.key, self.service, self.region).payload(
                self.request)

    def line(self):
        """Return the request as sign_request reads it."""
        when = time.strptime(self.request.headers['X-Amz-Date'],
                             '%Y%m%dT%H%M%SZ')
        headers = [item for item in self.request.headers.items()
                   if item[0].lower() not in OWN]
        fields = [self.key.access_key, self.key.secret_key,
                  self.key.token or '', self.region, self.service,
                  str(calendar.timegm(when)), self.method, self.host,
                  self.path, self.query, self.payload()]
        for header in headers:
            fields += header
        return ''.join(field + '\x1f' for field in fields) + '\n'


def main():
    rng = random.Random(15)
    count = int(os.environ.get('FRAMEFS_SIGNATURES', '300'))
    cases = [Case(rng) for _ in range(count)]
    lines = ''.join(case.line() for case in cases)
    signed = subprocess.run([TOOL], input=lines.encode(), check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    wrong = 0
    for case, ours in zip(cases, signed.splitlines(), strict=True):
        wanted = 'Authorization: ' + case.request.headers['Authorization']
        if ours != wanted:
            print(repr(case.line()), ours, wanted, sep='\n')
            wrong += 1
    print('%d of %d signatures differ' % (wrong, count))
    sys.exit(wrong > 0)


main()
