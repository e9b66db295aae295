# SPDX-License-Identifier: BSD-3-Clause
"""nginx as a server of test files."""

import os
import shutil
import socket
import subprocess
import time

import harness

CONFIG = """
daemon off;
pid nginx.pid;
error_log error.log;
worker_processes 1;
events {}
http {
    log_format sent '$request_method $status $body_bytes_sent $uri';
    access_log %s;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen 127.0.0.1:%d %s;
        absolute_redirect off;
        root %s;
        %s
    }
}
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return taken.getsockname()[1]


def find_nginx():
    """Return the path of nginx, or None."""
    path = shutil.which('nginx') or '/usr/sbin/nginx'
    return path if os.access(path, os.X_OK) else None


class Nginx:
    """nginx, serving a directory, for a `with` statement.

    cert   path of a certificate; its key lies beside it.  The server then speaks
           https
    place  directory for its own files, which does not exist yet
    log    log requests, for log_lines()
    """

    def __init__(self, top, cert=None, place='nginx', log=False):
        self.path = find_nginx()
        if not self.path:
            raise harness.Skipped('nginx is not installed')
        self.top = os.path.abspath(top)
        self.place = os.path.abspath(place)
        self.log = log
        self.port = free_port()
        self.cert = cert
        self.url = '%s://127.0.0.1:%d/' % ('https' if cert else 'http',
                                           self.port)

    def __enter__(self):
        os.mkdir(self.place)
        lines = ''
        if self.cert:
            lines = 'ssl_certificate %s; ssl_certificate_key %s;' % (
                self.cert, self.cert + '.key')
        if os.getuid() == 0:
            main = 'user root;\n'
        else:
            main = ''
        with open(self.place + '/nginx.conf', 'w', encoding='utf-8') as config:
            config.write(main + CONFIG % (
                'access.log sent' if self.log else 'off', self.port,
                'ssl' if self.cert else '', self.top, lines))
        self.process = subprocess.Popen(
            [self.path, '-p', self.place, '-e', 'error.log', '-c',
             self.place + '/nginx.conf'], stderr=subprocess.DEVNULL)
        self.await_start()
        return self

    def await_start(self):
        while self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            time.sleep(0.01)
        raise harness.Failure('nginx does not start: ' + harness.read(
            self.place + '/error.log').decode())

    def log_lines(self):
        """Return a line for each request that is done: method, status, bytes
        of the body and path."""
        return harness.read(self.place + '/access.log').decode().splitlines()

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
