#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`meson install` puts everything in place that a program needs.

usage: installed.py SOURCE BUILD COMPILER...
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = sys.argv[1:3]
COMPILER = sys.argv[3:]
SANITIZE = os.environ.get('FRAMEFS_SANITIZE', 'none')
HERE = os.path.join(SOURCE, 'test', 'lib')


def run(*words, **options):
    """Return the standard output of a program that must succeed."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True,
                          **options).stdout


def find(root, name):
    """Return the path of the one installed file that has this name."""
    path, = glob.glob(os.path.join(root, '**', name), recursive=True)
    return path


def pkg_config(root, *options):
    where = os.path.dirname(find(root, 'libframefs.pc'))
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=where,
                       PKG_CONFIG_SYSROOT_DIR=root)
    return run('pkg-config', *options, 'libframefs', env=environment).split()


def check(holds, what):
    if not holds:
        print(what)
        sys.exit(1)


def check_symbols(root):
    """The library exports exactly the functions that the header declares."""
    listed = run('nm', '-D', '--defined-only', find(root, 'libframefs.so'))
    exported = {line.split()[-1].split('@')[0] for line in listed.splitlines()
                if line.split()[-2] != 'A'}
    with open(find(root, 'framefs.h'), encoding='utf-8') as header:
        text = re.sub(r'/\*.*?\*/', '', header.read(), flags=re.DOTALL)
    declared = set(re.findall(r'\b(framefs_\w+)\(', text))
    check(exported == declared, 'exported: %s, declared: %s' %
          (exported - declared, declared - exported))


def check_page(root):
    """The manual names every function, and mandoc has no complaint."""
    with open(find(root, 'framefs.h'), encoding='utf-8') as header:
        declared = set(re.findall(r'FRAMEFS_API [^;]*?\b(framefs_\w+)\(',
                                  header.read()))
    page = find(root, 'libframefs.3')
    with open(page, encoding='utf-8') as text:
        named = set(re.findall(r'^\.F[no] (framefs_\w+)', text.read(),
                               re.MULTILINE))
    check(named == declared, 'manual: %s' % (named ^ declared))


def check_soname(root):
    listed = run('readelf', '-d', find(root, 'libframefs.so'))
    check('[libframefs.so.0]' in listed, 'soname: ' + listed)


def main():
    with tempfile.TemporaryDirectory() as root:
        run('meson', 'install', '--no-rebuild', '-C', BUILD, '--destdir', root)
        check_symbols(root)
        check_page(root)
        check_soname(root)

        run(*COMPILER, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-x', 'c',
            find(root, 'framefs-ioctl.h'))
        find(root, 'framefs-ioctl.3')
        program = os.path.join(root, 'example')
        flags = [] if SANITIZE == 'none' else ['-fsanitize=' + SANITIZE]
        run(*COMPILER, *flags, '-Wall', '-Wextra', '-Werror', '-o', program,
            os.path.join(HERE, 'example.c'),
            *pkg_config(root, '--cflags', '--libs'))
        libraries = os.path.dirname(find(root, 'libframefs.so'))
        environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
        frame = os.path.join(root, 'squares.b2frame')
        said = run(program, frame, env=environment)
        check(said == 'zstd, 8 chunks, much smaller\n18671041 metre\n',
              'example.c: ' + said)
        if SANITIZE == 'none':
            said = run(sys.executable, os.path.join(HERE, 'example.py'), frame,
                       env=environment)
            check(said == 'zstd 8000000\n100 121 144\n', 'example.py: ' + said)


main()
