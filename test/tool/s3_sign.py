# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of requests to S3, from AWS's description of them."""

import hashlib
import hmac
import urllib.parse


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


def signature(secret, scope, method, target, headers):
    """The signature of a request.

    scope    date, region, service and aws4_request
    target   path and query
    headers  a mapping with the values of the headers to be signed, in the order
             of their names, which are in lower case
    """
    path, _, query = target.partition('?')
    request = '\n'.join(
        [method, encode(path, '/'), canonical_query(query),
         *('%s:%s' % (name, ' '.join(value.split()))
           for name, value in headers.items()), '', ';'.join(headers),
         headers['x-amz-content-sha256']])
    text = '\n'.join(['AWS4-HMAC-SHA256', headers['x-amz-date'],
                      '/'.join(scope),
                      hashlib.sha256(request.encode()).hexdigest()])
    return sign(secret, scope, text)
