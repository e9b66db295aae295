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
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen 127.0.0.1:%d %s;
        root %s;
        %s
    }
}
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return taken.getsockname()[1]


class Nginx:
    """nginx, serving a directory, for a `with` statement.

    cert  path of a certificate; its key lies beside it.  The server then speaks
          https
    """

    def __init__(self, top, cert=None):
        path = shutil.which('nginx') or '/usr/sbin/nginx'
        if not os.access(path, os.X_OK):
            raise harness.Skipped('nginx is not installed')
        self.path = path
        self.top = os.path.abspath(top)
        self.port = free_port()
        self.cert = cert
        self.url = '%s://127.0.0.1:%d/' % ('https' if cert else 'http',
                                           self.port)

    def __enter__(self):
        os.mkdir('nginx')
        lines = ''
        if self.cert:
            lines = 'ssl_certificate %s; ssl_certificate_key %s;' % (
                self.cert, self.cert + '.key')
        if os.getuid() == 0:
            main = 'user root;\n'
        else:
            main = ''
        with open('nginx/nginx.conf', 'w', encoding='utf-8') as config:
            config.write(main + CONFIG % (self.port,
                                          'ssl' if self.cert else '',
                                          self.top, lines))
        here = os.path.abspath('nginx')
        self.process = subprocess.Popen(
            [self.path, '-p', here, '-e', 'error.log', '-c',
             here + '/nginx.conf'], stderr=subprocess.DEVNULL)
        self.await_start()
        return self

    def await_start(self):
        while self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            time.sleep(0.01)
        raise harness.Failure('nginx does not start: ' + harness.read(
            'nginx/error.log').decode())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
