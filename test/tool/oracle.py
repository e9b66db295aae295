# SPDX-License-Identifier: BSD-3-Clause
"""An independent reader of frames, if it lies beside the source tree.

usage: oracle.py [arrays]

The script reads lines from standard input: the path of a frame, the name of a
vlmetalayer or nothing for the frame's content, and the SHA-256 that this must
have, separated by tabs.  With `arrays` it compares the items of arrays, which
may use any codec, in C order.  It prints a line for each difference.
"""

import hashlib
import os
import subprocess
import sys

PYTHON = '/usr/bin/python3'
ORACLE = os.environ.get('FRAMEFS_ORACLE') or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))), 'shared', 'oracle', 'b2frame.py')


def is_here():
    return os.path.exists(ORACLE) and os.path.exists(PYTHON)


def complaints(contents, *words):
    """Return the differences that the reader finds, as text.  `contents` maps
    the path of a frame to its content, or the path and the name of a
    vlmetalayer to the content of that."""
    lines = []
    for key, content in contents.items():
        path, name = key if isinstance(key, tuple) else (key, '')
        lines.append('%s\t%s\t%s\n' %
                     (path, name, hashlib.sha256(content).hexdigest()))
    done = subprocess.run([PYTHON, os.path.abspath(__file__), *words],
                          input=''.join(lines), stdout=subprocess.PIPE,
                          check=True, text=True)
    return done.stdout


def array_complaints(contents):
    """Do the same for items of arrays."""
    return complaints(contents, 'arrays')


def look_at_array(reader, path, wanted):
    try:
        items = reader.content(path)[1]
    except Exception as error:  # pylint: disable=broad-except
        print('%s: %r' % (path, error))
        return
    if hashlib.sha256(items).hexdigest() != wanted:
        print('%s: has other items, %d bytes' % (path, len(items)))


def look_at(reader, path, name, wanted):
    """Print the error if the content of a frame or a vlmetalayer is wrong."""
    try:
        frame = reader.Frame.open(path)
        content = frame.vlmeta(name) if name else frame.read_all()
    except (reader.FrameError, OSError, KeyError) as error:
        print('%s: %s %r' % (path, name, error))
        return
    if hashlib.sha256(content).hexdigest() != wanted:
        print('%s: %s is other content, %d bytes' % (path, name, len(content)))


def main():
    sys.path.insert(0, os.path.dirname(ORACLE))
    if sys.argv[1:] == ['arrays']:
        # pylint: disable-next=import-outside-toplevel,import-error
        import check_plugins
        for line in sys.stdin:
            path, _, wanted = line.rstrip('\n').split('\t')
            look_at_array(check_plugins, path, wanted)
        return
    import b2frame  # pylint: disable=import-outside-toplevel,import-error
    for line in sys.stdin:
        look_at(b2frame, *line.rstrip('\n').split('\t'))


if __name__ == '__main__':
    main()
