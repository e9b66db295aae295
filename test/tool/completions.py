#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: completions; args b2frame framefs build
"""The shells complete every verb and every option that --help lists.

The script asks bash for its completions, and fish if that is installed.  For
zsh it reads the text of the completions.

usage: completions.py B2FRAME FRAMEFS BUILD_ROOT
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

from scene import verbs

B2FRAME, FRAMEFS = sys.argv[1:3]
DIRECTORY = os.path.join(sys.argv[3], 'packaging')
BASH = '''
source %s
COMP_LINE=%s COMP_POINT=${#COMP_LINE}
COMP_WORDS=($COMP_LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
%s
printf '%%s\\n' "${COMPREPLY[@]}"
'''
failures = []


def output(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def usage(*words):
    return output(*words, '--help')


def in_bash(program, line):
    path = os.path.join(DIRECTORY, program + '.bash')
    script = BASH % (shlex.quote(path), shlex.quote(line), '_' + program)
    return set(output('bash', '--norc', '-c', script).split())


def in_fish(program, line):
    path = os.path.join(DIRECTORY, program + '.fish')
    script = 'source %s; complete -C %s' % (shlex.quote(path),
                                            shlex.quote(line))
    said = output('fish', '--no-config', '-c', script)
    return {offer.split('\t')[0] for offer in said.splitlines()}


def in_zsh(program):
    path = os.path.join(DIRECTORY, '_' + program)
    if shutil.which('zsh'):
        output('zsh', '-n', path)
    with open(path, encoding='utf-8') as text:
        return text.read()


def compare(wanted, offered, what):
    if wanted - offered:
        failures.append('%s: lacks %s' % (what, sorted(wanted - offered)))


def options_of(text):
    return set(re.findall(r'^  (--[a-z-]+)', text, re.MULTILINE))


def check_line(wanted, program, line, shells):
    """Each shell offers the wanted words at the end of a line, and no other
    option."""
    for ask in shells:
        offered = ask(program, line)
        compare(wanted, offered, '%s, %r' % (ask.__name__, line))
        if line.endswith('--') and offered - wanted:
            failures.append('%s, %r: offers %s' % (ask.__name__, line,
                                                   sorted(offered - wanted)))


def check_b2frame(shells):
    zsh = in_zsh('b2frame')
    listed = set(re.findall(r'^  (\w+) ', usage(B2FRAME).split('Example:')[0],
                            re.MULTILINE))
    compare(set(verbs()), listed, '--help')
    compare(listed, set(re.findall(r"^    '(\w+):", zsh, re.MULTILINE)), 'zsh')
    for verb in listed:
        check_line({verb}, 'b2frame', 'b2frame ' + verb[:2], shells)
        wanted = options_of(usage(B2FRAME, verb))
        check_line(wanted, 'b2frame', 'b2frame %s --' % verb, shells)
        compare(wanted, set(re.findall(r'--[a-z-]+', zsh)), 'zsh, ' + verb)
    check_line({'--help', '--lock', '--version'}, 'b2frame', 'b2frame --', shells)
    check_line({'zlib', 'zstd'}, 'b2frame', 'b2frame create --codec z', shells)
    filters = re.findall(r'^  (\w+)(?:[:[]| )',
                         usage(B2FRAME, 'create').split('Filters:')[1].split(
                             'Example')[0], re.MULTILINE)
    # The test `names` compares the help with the filters of the build.
    if not filters:
        failures.append('no filters in the help')
    for name in filters:
        check_line({name}, 'b2frame', 'b2frame create --filters ' + name[:4],
                   shells)


def check_framefs(shells):
    zsh = in_zsh('framefs')
    told = usage(FRAMEFS)
    wanted = options_of(told)
    check_line(wanted, 'framefs', 'framefs --', shells)
    compare(wanted, set(re.findall(r'--[a-z-]+', zsh)), 'zsh')
    mount = re.findall(r'^  ([a-z]+)(?:=|  )', told.split('Options for -o')[1],
                       re.MULTILINE)
    compare(set(mount), set(re.findall(r"'([a-z_]+)\[", zsh)), 'zsh')
    for ask in shells:
        offered = {offer.split('=')[0].split(',')[-1]
                   for offer in ask('framefs', 'framefs -o ro,')}
        compare(set(mount), offered, ask.__name__ + ', -o')


def main():
    shells = [in_bash] if shutil.which('bash') else []
    if shutil.which('fish'):
        shells.append(in_fish)
    check_b2frame(shells)
    check_framefs(shells)
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
