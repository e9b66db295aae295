# SPDX-License-Identifier: BSD-3-Clause
"""The part of the server of S3 for tests that lists keys.

Objects are files below the directory that is served, so a key is a path.
"""

import os
import time
import urllib.parse
from xml.sax.saxutils import escape


def iso_time(seconds):
    return time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(seconds))


def roll_up(keys, prefix, delimiter):
    """Yield the keys with a prefix, in order.  Those with a delimiter behind it
    are cut there, and come once."""
    last = None
    for key in keys:
        if not key.startswith(prefix):
            continue
        name, found, _ = key[len(prefix):].partition(delimiter or '\0')
        key = prefix + name + found if found else key
        if key != last:
            yield key, bool(found)
        last = key


class Keys:
    """The part of a request handler that lists keys."""

    def keys(self):
        top = self.server.web.top
        found = [os.path.relpath(os.path.join(where, name), top)
                 for where, _, names in os.walk(top) for name in names]
        return sorted(found + self.server.web.more_keys,
                      key=lambda key: key.encode(errors='surrogateescape'))

    def describe(self, key, is_prefix):
        name = urllib.parse.quote(key)
        if is_prefix:
            return '<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>' % name
        size, when, etag = 0, 0, '""'
        if key not in self.server.web.more_keys:
            stat = os.stat(os.path.join(self.server.web.top, key))
            size, when = stat.st_size, stat.st_mtime
            etag = '"%x-%x"' % (stat.st_mtime_ns, size)
        return ('<Contents><Key>%s</Key><LastModified>%s</LastModified><ETag>%s'
                '</ETag><Size>%d</Size></Contents>' % (
                    name, iso_time(when), escape(etag), size))

    def list_keys(self, query):
        """Answer with a page of the list of keys."""
        after = query.get('continuation-token') or query.get('start-after', '')
        found = [item for item in roll_up(self.keys(), query.get('prefix', ''),
                                          query.get('delimiter'))
                 if item[0] > after]
        page = found[:self.server.web.page]
        text = ''.join(self.describe(*item) for item in page)
        if len(page) < len(found):
            text += ('<IsTruncated>true</IsTruncated><NextContinuationToken>%s'
                     '</NextContinuationToken>' % escape(page[-1][0]))
        self.tell(200, body=('<ListBucketResult><EncodingType>url'
                             '</EncodingType>%s</ListBucketResult>'
                             % text).encode())
