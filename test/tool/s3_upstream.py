# SPDX-License-Identifier: BSD-3-Clause
"""Another server of S3, which the server for tests passes its requests on to.

The environment names it:

  FRAMEFS_S3_ENDPOINT  its URL
  FRAMEFS_S3_KEY       the id of a key that may make and remove buckets
  FRAMEFS_S3_SECRET    its secret

The requests are signed anew. Files below the directory that is served are a
copy of the objects: what a test changes there goes to the other server before
the next request, and what requests change goes into the files.  Faults are
injected as ever.  What the server for tests can pretend to be, the other one
cannot.
"""

import hashlib
import http.client
import os
import re
import threading
import time
import urllib.parse
import uuid
from xml.sax.saxutils import unescape

from harness import Skipped
from s3_sign import encode, signature

PASSED_ON = ('if-match', 'if-none-match', 'range', 'content-type',
             'x-amz-copy-source-if-match', 'x-amz-metadata-directive')
COPY = 'x-amz-copy-source'
PASSED_BACK = ('etag', 'last-modified', 'content-range', 'content-type',
               'retry-after', 'date')


def is_named():
    return bool(os.environ.get('FRAMEFS_S3_ENDPOINT'))


class Upstream:
    """A bucket of the other server, which is made and removed."""

    def __init__(self, top):
        self.top = top
        self.url = urllib.parse.urlsplit(os.environ['FRAMEFS_S3_ENDPOINT'])
        self.key = os.environ['FRAMEFS_S3_KEY']
        self.secret = os.environ['FRAMEFS_S3_SECRET']
        self.bucket = 'framefs-test-' + uuid.uuid4().hex[:12]
        self.known = {}  # version of the file of each key
        self.lock = threading.RLock()

    def ask(self, method, target, headers=None, body=b''):
        """Make a request for something in the bucket.  Return status, headers
        and body of the reply."""
        when = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
        target = '/%s%s' % (self.bucket, target)
        lines = {name.lower(): value for name, value in (headers or {}).items()}
        lines.update({'host': self.url.netloc, 'x-amz-date': when,
                      'x-amz-content-sha256': hashlib.sha256(body).hexdigest()})
        lines = dict(sorted(lines.items()))
        scope = [when[:8], 'us-east-1', 's3', 'aws4_request']
        lines['authorization'] = (
            'AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s'
            % (self.key, '/'.join(scope), ';'.join(lines),
               signature(self.secret, scope, method, target, lines)))
        connection = (http.client.HTTPSConnection if self.url.scheme == 'https'
                      else http.client.HTTPConnection)(self.url.netloc,
                                                       timeout=60)
        try:
            connection.request(method, target, body, lines)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def must(self, *request):
        status, _, body = self.ask(*request)
        if status >= 300:
            raise OSError('%s: %d %r' % (request[:2], status, body[:300]))
        return body

    def path(self, key):
        return os.path.join(self.top, key)

    def note(self, key):
        """The file of a key is a copy of the object."""
        stat = os.stat(self.path(key))
        self.known[key] = stat.st_mtime_ns, stat.st_ino, stat.st_size

    def push(self):
        """Bring changes of files to the server."""
        found = {}
        for where, _, names in os.walk(self.top):
            for name in names:
                path = os.path.join(where, name)
                stat = os.stat(path)
                found[os.path.relpath(path, self.top)] = (
                    stat.st_mtime_ns, stat.st_ino, stat.st_size)
        for key, version in found.items():
            if self.known.get(key) != version:
                with open(self.path(key), 'rb') as file:
                    self.must('PUT', '/' + encode(key, '/'), {}, file.read())
        for key in set(self.known) - set(found):
            self.must('DELETE', '/' + encode(key, '/'))
        self.known = found

    def pull(self, key, body):
        """An object is this now; None: it is gone."""
        if key.endswith('/'):
            return
        path = self.path(key)
        if body is None:
            self.known.pop(key, None)
            if os.path.exists(path):
                os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + '.draft', 'wb') as file:
            file.write(body)
        os.rename(path + '.draft', path)
        self.note(key)

    def mirror(self, request, body):
        """A change has been made."""
        key = urllib.parse.unquote(request.path)[1:]
        if 'partNumber' in request.query or 'uploads' in request.query:
            return
        if request.method == 'POST' or COPY in request.headers:
            body = self.must('GET', encode(request.path, '/'))
        if request.method != 'DELETE':
            self.pull(key, body)
        elif 'uploadId' not in request.query:
            self.pull(key, None)

    def pass_on(self, request, body):
        """Pass a request on.  Return the reply."""
        headers = {name: value for name, value in request.headers.items()
                   if name.lower() in PASSED_ON or
                   name.lower().startswith('x-amz-meta-')}
        if COPY in request.headers:
            key = request.headers[COPY].lstrip('/').split('/', 1)[1]
            headers[COPY] = '/%s/%s' % (self.bucket, key)
        target = encode(request.path, '/')
        if request.query:
            target += '?' + request.query
        with self.lock:
            self.push()
            if request.method in ('GET', 'HEAD'):
                return self.ask(request.method, target, headers)
            reply = self.ask(request.method, target, headers, body)
            if reply[0] < 300 and b'<Error>' not in reply[2]:
                self.mirror(request, body)
            return reply

    def begin(self):
        self.must('PUT', '')

    def end(self):
        """Remove the bucket."""
        while True:
            body = self.must('GET', '?list-type=2').decode()
            keys = re.findall('<Key>(.*?)</Key>', body)
            for key in keys:
                self.must('DELETE', '/' + encode(unescape(key), '/'))
            if not keys:
                break
        body = self.must('GET', '?uploads=').decode()
        for key, upload in re.findall(
                '<Key>(.*?)</Key>.*?<UploadId>(.*?)</UploadId>', body, re.S):
            self.must('DELETE', '/%s?uploadId=%s' % (
                encode(unescape(key), '/'), encode(upload, '')))
        self.ask('DELETE', '')


class Pretended:
    """Stands for what only the server for tests can pretend to be."""

    def __getattr__(self, name):
        raise Skipped('this needs the server for tests: ' + name)

    def __setattr__(self, name, value):
        raise Skipped('this needs the server for tests: ' + name)


def relay(handler, reply):
    """Answer with the reply of the other server."""
    status, headers, body = reply
    handler.send_response_only(status)
    for name, value in headers.items():
        if (name.lower() in PASSED_BACK or
                name.lower().startswith('x-amz-meta-')):
            handler.send_header(name, value)
    length = headers['Content-Length'] if handler.command == 'HEAD' else None
    handler.send_header('Content-Length', length or str(len(body)))
    handler.end_headers()
    if handler.command != 'HEAD':
        handler.wfile.write(body)
