# SPDX-License-Identifier: BSD-3-Clause
"""A web server for tests, which serves a directory, and fails as it is told.

It has GET with one range, HEAD, and If-Match.  As a program it serves until it
is killed, and prints its port:

usage: web.py DIRECTORY
"""

import collections
import contextlib
import email.utils
import http.server
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.parse

# A process that begins a program closes its files, and a mount may need an
# answer to that.  After vfork() no thread of this process could give one.
subprocess._USE_VFORK = False

# One request that came: `range` is None, or the text after "bytes=".
Request = collections.namedtuple('Request', 'method path query range headers')


class Plan:
    """What goes wrong with one reply.  Each field is off unless it is set."""

    def __init__(self, status=None, headers=(), cut=None, reset=False,
                 shift=0, longer=0, etag=None, hold=None, drip=False,
                 location=None, whole=False, body=b'no', lost=False):
        self.status = status      # answer with this status
        self.headers = headers    # more headers, as pairs
        self.body = body          # of that answer
        self.cut = cut            # close the connection after so many bytes
        self.reset = reset        # reset the connection without an answer
        self.shift = shift        # add to the offsets in Content-Range
        self.longer = longer      # add to Content-Length, and send no more
        self.etag = etag          # another ETag
        self.hold = hold          # wait for this threading.Event first
        self.drip = drip          # send one byte and then no more, until the end
        self.location = location  # redirect to this URL
        self.whole = whole        # ignore the range
        self.lost = lost          # carry out a change, and reset the connection


WELL = Plan()


class Held:
    """A plan that lets all requests wait.

    seen  an event: a request has come
    go    an event that ends the wait
    """

    def __init__(self):
        self.seen = threading.Event()
        self.go = threading.Event()

    def __call__(self, request, number):
        self.seen.set()
        return Plan(hold=self.go)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = -1  # headers and body in one write
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        ranges = self.headers.get('Range', '')
        request = Request(self.command, urllib.parse.unquote(url.path),
                          url.query,
                          ranges[6:] if ranges.startswith('bytes=') else None,
                          self.headers)
        plan = self.server.web.note(request) or WELL
        if plan.hold:
            plan.hold.wait()
        with contextlib.suppress(ConnectionError):
            self.carry_out(request, plan)

    def carry_out(self, request, plan):
        if plan.reset:
            self.reset()
        elif plan.location:
            self.tell(302, [('Location', plan.location)])
        elif plan.status:
            self.tell(plan.status, plan.headers, plan.body)
        else:
            self.serve(request, plan)

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack('ii', 1, 0))
        self.connection.close()
        self.close_connection = True

    def tell(self, status, headers=(), body=b''):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def serve(self, request, plan):
        path = self.server.web.top + request.path
        if os.path.isdir(path):
            if request.path.endswith('/'):
                self.tell(200, [('Content-Type', 'text/html')], b'<html>a list')
            else:
                self.tell(301, [('Location', request.path + '/')])
            return
        try:
            with open(path, 'rb') as file:
                self.serve_file(file, request, plan)
        except OSError:
            self.tell(404, body=b'none')

    def state_of(self, _path):
        """More headers that tell the state of an object."""
        return []

    def serve_file(self, file, request, plan):
        stat = os.fstat(file.fileno())
        etag = plan.etag or '"%x-%x"' % (stat.st_mtime_ns, stat.st_size)
        state = [('ETag', etag), ('Last-Modified',
                  email.utils.formatdate(stat.st_mtime, usegmt=True))]
        state += self.state_of(file.name)
        wanted = request.headers.get('If-Match')
        if wanted and wanted != etag:
            self.tell(412, state)
            return
        size = stat.st_size
        first, last, status = 0, size - 1, 200
        found = re.fullmatch(r'(\d*)-(\d*)', request.range or '')
        if found and not plan.whole:
            status = 206
            if found[1]:
                first = int(found[1])
                last = min(int(found[2] or size), size - 1)
            else:
                first = max(0, size - int(found[2]))
            if first >= size:
                self.tell(416, [('Content-Range', 'bytes */%d' % size)])
                return
            state.append(('Content-Range', 'bytes %d-%d/%d' % (
                first + plan.shift, last + plan.shift, size + plan.shift)))
        file.seek(first)
        self.send(status, state, file.read(last - first + 1), plan)

    def send(self, status, state, body, plan):
        self.send_response(status)
        for name, value in state:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body) + plan.longer))
        self.end_headers()
        if self.command == 'HEAD':
            return
        if plan.cut is not None:
            body = body[:plan.cut]
        self.wfile.write(body[:1] if plan.drip else body)
        self.wfile.flush()
        if plan.drip:
            self.server.web.stopped.wait()
        self.server.web.count(len(body))
        if plan.cut is not None or plan.longer or plan.drip:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ValueError)):
            super().handle_error(request, client_address)


class Web:
    """A server of a directory, for a `with` statement.

    plan      a function that gets each Request and its number, and returns a
              Plan, or None if all goes well
    requests  those that came, in order
    """

    handler = Handler

    def __init__(self, top, plan=None):
        self.top = os.path.abspath(top)
        self.plan = plan
        self.requests = []
        self.sent = 0
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.server = Server(('127.0.0.1', 0), self.handler)
        self.server.web = self
        self.port = self.server.server_address[1]
        self.url = 'http://127.0.0.1:%d/' % self.port
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       args=(0.01,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()

    def note(self, request):
        with self.lock:
            number = len(self.requests)
            self.requests.append(request)
        return self.plan and self.plan(request, number)

    def count(self, nbytes):
        with self.lock:
            self.sent += nbytes

    def forget(self, plan=None):
        """Begin anew: no requests have come, and this may go wrong."""
        with self.lock:
            self.requests = []
            self.sent = 0
            self.plan = plan


@contextlib.contextmanager
def process(top):
    """Serve a directory by a process, for a `with` statement, which gives the
    process and its URL."""
    with subprocess.Popen([sys.executable, '-B', os.path.abspath(__file__),
                           top], stdout=subprocess.PIPE) as server:
        try:
            yield server, 'http://127.0.0.1:%d/' % int(server.stdout.readline())
        finally:
            server.kill()


def suspend(server):
    """Stop a process that serves, and wait until all of its threads have
    stopped: until then one may still answer."""
    server.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, server.pid, os.WSTOPPED)


def main():
    with Web(sys.argv[1]) as web:
        print(web.port, flush=True)
        web.thread.join()


if __name__ == '__main__':
    main()
