# SPDX-License-Identifier: BSD-3-Clause
"""The part of the server of S3 for tests that changes objects.

Objects are files below the directory that is served, so a key is a path.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
import urllib.parse
import uuid
from xml.sax.saxutils import escape

from s3_keys import iso_time

ID = 'x-amz-meta-framefs-commit'


class Bucket:
    """What a server has besides the files.

    conditions  'quoted', 'bare' or 'any': the spelling of an ETag that If-Match
                must have; 'ignored'; or 'unknown': those requests are refused
    deletes     a DELETE is refused, too, if its condition does not hold
    """

    def __init__(self):
        self.lock = threading.RLock()
        self.ids = {}      # of the PUT of each path
        self.uploads = {}  # parts of each multipart upload
        self.conditions = 'any'
        self.deletes = True
        self.last = 0      # time of the last object, in nanoseconds


def etag(stat):
    return '"%x-%x"' % (stat.st_mtime_ns, stat.st_size)


class Changes:
    """The part of a request handler that changes objects.

    made  the body of the answer to a copy
    """

    made = b''

    def do_PUT(self):
        self.take_body()

    def do_POST(self):
        self.take_body()

    def do_DELETE(self):
        self.take_body()

    def take_body(self):
        self.body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        wanted = self.headers.get('X-Amz-Content-Sha256')
        self.hash_is_wrong = wanted not in (
            None, 'UNSIGNED-PAYLOAD', hashlib.sha256(self.body).hexdigest())
        self.answer()

    def refuse(self, status, code):
        self.tell(status, body=b'<?xml version="1.0"?>\n<Error><Code>%s</Code>'
                  b'<Message>no</Message></Error>' % code.encode())

    def check_condition(self, path):
        """Check the condition of a PUT.  Return the reply if it fails."""
        how = self.server.web.bucket.conditions
        match = self.headers.get('If-Match')
        none = self.headers.get('If-None-Match')
        if how == 'ignored' or (match is None and none is None):
            return None
        if how == 'unknown':
            return 501, 'NotImplemented'
        there = os.path.isfile(path)
        if none is not None:
            return (412, 'PreconditionFailed') if there else None
        if not there:
            return 404, 'NoSuchKey'
        tag = etag(os.stat(path))
        spellings = {'quoted': [tag], 'bare': [tag.strip('"')],
                     'any': [tag, tag.strip('"')]}[how]
        return None if match in spellings else (412, 'PreconditionFailed')

    def store(self, path, body, put_id):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # A draft is no object, so it must not be listed.
        number, draft = tempfile.mkstemp()
        os.fchmod(number, 0o644)
        with open(number, 'wb') as file:
            file.write(body)
        # The time is the tag of the object, so no two have the same.
        bucket = self.server.web.bucket
        with bucket.lock:
            bucket.last = max(bucket.last + 1, time.time_ns())
            os.utime(draft, ns=(bucket.last, bucket.last))
        shutil.move(draft, path)
        self.server.web.bucket.ids[path] = put_id

    def put_marker(self, path):
        """Put an object whose key ends with a slash, which is no file."""
        web = self.server.web
        key = os.path.relpath(path, web.top) + '/'
        if key not in web.more_keys:
            web.more_keys.append(key)
        return 200, [('ETag', '"marker"')], None

    def put(self, path):
        """Carry out a PUT.  Return status, headers and the code of an error."""
        bucket = self.server.web.bucket
        if path.endswith('/'):
            return self.put_marker(path)
        if self.headers.get('X-Amz-Copy-Source'):
            return self.copy(path)
        with bucket.lock:
            failed = self.check_condition(path)
            if failed:
                return failed[0], [], failed[1]
            self.store(path, self.body, self.headers.get(ID))
            return 200, [('ETag', etag(os.stat(path)))], None

    def copy(self, path):
        """Carry out a PUT that copies an object.  As with most servers, its
        conditions are about the object that is copied alone."""
        bucket = self.server.web.bucket
        source = urllib.parse.unquote(self.headers['X-Amz-Copy-Source'])
        source = self.server.web.top + '/' + source.lstrip('/').split('/', 1)[1]
        match = self.headers.get('X-Amz-Copy-Source-If-Match')
        with bucket.lock:
            if not os.path.isfile(source):
                return 404, [], 'NoSuchKey'
            tag = etag(os.stat(source))
            if match is not None and match not in (tag, tag.strip('"')):
                return 412, [], 'PreconditionFailed'
            with open(source, 'rb') as file:
                body = file.read()
            replace = self.headers.get('X-Amz-Metadata-Directive') == 'REPLACE'
            self.store(path, body, self.headers.get(ID) if replace
                       else bucket.ids.get(source))
            self.made = b'<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>' \
                % escape(etag(os.stat(path))).encode()
            return 200, [], None

    def put_part(self, query):
        parts = self.server.web.bucket.uploads.get(query['uploadId'])
        if parts is None:
            return 404, [], 'NoSuchUpload'
        parts[int(query['partNumber'])] = self.body
        tag = '"%s"' % hashlib.md5(self.body).hexdigest()
        return 200, [('ETag', tag)], None

    def list_uploads(self, query):
        found = sorted(
            (parts['key'], upload, parts['begun'])
            for upload, parts in self.server.web.bucket.uploads.items()
            if parts['key'].startswith(query['prefix']))
        found = [one for one in found if one[:2] > (
            query.get('key-marker', ''), query.get('upload-id-marker', ''))]
        page = found[:self.server.web.page]
        text = ''.join(
            '<Upload><Key>%s</Key><UploadId>%s</UploadId><Initiated>%s'
            '</Initiated></Upload>' % (urllib.parse.quote(key), upload,
                                       iso_time(begun))
            for key, upload, begun in page)
        if len(page) < len(found):
            text += ('<IsTruncated>true</IsTruncated><NextKeyMarker>%s'
                     '</NextKeyMarker><NextUploadIdMarker>%s'
                     '</NextUploadIdMarker>' % (
                         urllib.parse.quote(page[-1][0]), page[-1][1]))
        self.tell(200, body=(
            '<ListMultipartUploadsResult><EncodingType>url</EncodingType>%s'
            '</ListMultipartUploadsResult>' % text).encode())

    def complete(self, path, query):
        bucket = self.server.web.bucket
        parts = bucket.uploads.get(query['uploadId'])
        if parts is None:
            return self.refuse(404, 'NoSuchUpload')
        with bucket.lock:
            failed = self.check_condition(path)
            if failed:
                return self.refuse(*failed)
            numbers = [int(n) for n in re.findall(
                rb'<PartNumber>(\d+)</PartNumber>', self.body)]
            self.store(path, b''.join(parts[n] for n in numbers),
                       parts.get('id'))
            del bucket.uploads[query['uploadId']]
            tag = etag(os.stat(path))
        return self.tell(200, body=b'<CompleteMultipartUploadResult><ETag>%s'
                         b'</ETag></CompleteMultipartUploadResult>'
                         % escape(tag).encode())

    def delete(self, path, query):
        """Carry out a DELETE.  Return the reply if it fails."""
        bucket = self.server.web.bucket
        if 'uploadId' in query:
            bucket.uploads.pop(query['uploadId'], None)
        elif path.endswith('/'):
            with contextlib.suppress(ValueError):
                self.server.web.more_keys.remove(
                    os.path.relpath(path, self.server.web.top) + '/')
        else:
            with bucket.lock, contextlib.suppress(FileNotFoundError):
                failed = bucket.deletes and self.check_condition(path)
                if failed:
                    return failed
                os.unlink(path)
        return None

    def change(self, request, plan):
        """Carry out a request that changes something."""
        bucket = self.server.web.bucket
        path = self.server.web.top + request.path
        query = dict(urllib.parse.parse_qsl(request.query,
                                            keep_blank_values=True))
        self.made = b''
        if self.hash_is_wrong:
            self.refuse(400, 'XAmzContentSHA256Mismatch')
        elif self.command == 'PUT':
            status, headers, code = (self.put_part(query) if query
                                     else self.put(path))
            if plan.lost:
                self.reset()
            elif code:
                self.refuse(status, code)
            else:
                self.tell(status, headers, self.made)
        elif self.command == 'DELETE':
            failed = self.delete(path, query)
            if plan.lost:
                self.reset()
            elif failed:
                self.refuse(*failed)
            else:
                self.tell(204)
        elif 'uploads' in query:
            upload = uuid.uuid4().hex
            bucket.uploads[upload] = {'id': self.headers.get(ID),
                                      'key': request.path[1:],
                                      'begun': time.time()}
            self.tell(200, body=b'<InitiateMultipartUploadResult><UploadId>%s'
                      b'</UploadId></InitiateMultipartUploadResult>'
                      % upload.encode())
        else:
            self.complete(path, query)
