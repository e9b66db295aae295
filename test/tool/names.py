#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: names; args list_codecs b2frame framefs build
"""Manual pages, help texts, completions and estimate know every codec and filter
of the build, and offer no other one.

Prints which file lacks or has which name.

usage: names.py LIST_CODECS B2FRAME FRAMEFS BUILD_ROOT
"""

import json
import os
import re
import subprocess
import sys

from corpus import SOURCE

LACKING = set(os.environ.get('FRAMEFS_LACKING', '').split())
LIST_CODECS, B2FRAME, FRAMEFS, BUILD = sys.argv[1:]
failures = []

# A name in a list, or in a sentence that says what it does.
MDOC_ITEM = r'^\.(?:It Cm |Cm (?=\w+ : Ns))(\w+)'


def output(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def source(path):
    with open(os.path.join(SOURCE, path), encoding='utf-8') as text:
        return text.read()


class Table:
    """The codecs, or the filters."""

    def __init__(self, kind):
        rows = [line.split() for line in output(LIST_CODECS).splitlines()]
        self.kind = kind
        self.states = {name: state for row_kind, name, _, state in rows
                       if row_kind == kind}
        self.arrays = {name for _, name, where, _ in rows if where == 'arrays'}
        self.written = self.of('written') | self.of('lossy')
        self.for_files = self.written - self.arrays
        self.lossless = self.of('written') - self.arrays
        self.read = self.written | self.of('read')
        # What the pages describe: also codecs that this build lacks.
        self.page_written = self.written | LACKING - {'snappy'}
        self.page_read = self.read | LACKING
        if kind != 'codec':
            self.page_written, self.page_read = self.written, self.read

    def of(self, state):
        return {name for name in self.states if self.states[name] == state}

    def compare(self, where, found, wanted):
        """A place has these names, and should have those."""
        for name in sorted(wanted - found):
            failures.append('%s lacks the %s %s' % (where, self.kind, name))
        for name in sorted(found - wanted):
            failures.append('%s has the %s %s' % (where, self.kind, name))


def words(text):
    """Return the words of a list, of mdoc or of a sentence."""
    return set(re.findall(r'\w+', text)) - {
        'Cm', 'Ns', 'Ar', 'META', 'NAME', 'or', 'and', 'for', 'arrays', 'also',
        'with'}


def check_lists(codecs):
    """Lists of the codecs that can be written, each of which must be there."""
    for where, text, wanted, pattern in (
            ('framefs --help', output(FRAMEFS, '--help'), codecs.for_files,
             r'^  codec=NAME +(.*) \('),
            ('b2frame create --help', output(B2FRAME, 'create', '--help'),
             codecs.written, r'^  --codec NAME +(.*\n(?: {20}.*\n)*)'),
            ('b2frame convert --help', output(B2FRAME, 'convert', '--help'),
             codecs.written, r'^  --codec NAME +(.*\n(?: {20}.*\n)*)'),
            ('tools/framefs.1', source('tools/framefs.1'), codecs.for_files,
             r'^\.It Cm codec Ns = Ns (.*)'),
            ('tools/b2frame.1', source('tools/b2frame.1'),
             codecs.page_written,
             r'^\.It Fl -codec Ar NAME\n((?:(?!\.It|\.Pp).*\n)*)')):
        lists = re.findall(pattern, text, re.MULTILINE)
        if not lists:
            failures.append(where + ' has no list of codecs')
        for found in lists:
            codecs.compare(where, words(found), wanted)


def check_filter_lists(filters):
    """Lists of the filters that can be written, with an item for each."""
    for where, text, wanted, part, item in (
            ('b2frame create --help', output(B2FRAME, 'create', '--help'),
             filters.written, r'^Filters:\n((?:  .*\n)+)', r'^  (\w+)'),
            ('tools/framefs.1', source('tools/framefs.1'), filters.for_files,
             r'^\.It Cm filters Ns((?s:.*?))^\.It Cm typesize', MDOC_ITEM),
            ('tools/b2frame.1', source('tools/b2frame.1'), filters.written,
             r'^\.It Fl -filters Ar LIST((?s:.*?))^\.It Fl -typesize',
             MDOC_ITEM)):
        found = re.search(part, text, re.MULTILINE)
        if not found:
            failures.append(where + ' has no list of filters')
            continue
        filters.compare(where, set(re.findall(item, found[1], re.MULTILINE)),
                        wanted)


def check_format_page(table):
    """The tables of framefs-format.7: name, read, written, remarks."""
    where = 'tools/framefs-format.7'
    text = source(where).split('.It Em %s ' % table.kind)[1].split('.El')[0]
    rows = re.findall(r'^\.It (.*) Ta (\w+) Ta (\w+)', text, re.MULTILINE)
    for is_right, column in ((table.page_read, 1),
                             (table.page_written, 2)):
        yes = {name for row in rows if row[column] == 'yes'
               for name in row[0].split(', ')}
        table.compare('%s, column %d,' % (where, column), yes, is_right)


def check_completions(table, option):
    """The text for each shell has an option and then the names."""
    for name in ('b2frame.bash', '_b2frame', 'b2frame.fish',
                 'framefs.bash', '_framefs', 'framefs.fish'):
        with open(os.path.join(BUILD, 'packaging', name),
                  encoding='utf-8') as text:
            found = {name for line in text for name in words(line)
                     if option in line}
        table.compare(name, found & set(table.states),
                      table.written if 'b2frame' in name else table.for_files)


def check_readme(*tables):
    """The names of codecs and filters that are not supported."""
    text = source('README.md').replace('\n', ' ')
    lacking = re.search(r'The codecs (.*?) are +not supported', text)[1]
    for table in tables:
        table.compare('README.md, what is not supported,',
                      words(lacking) & table.read, set())


def check_estimate(codecs, filters):
    """The trials of estimate; a lossy filter is never tried."""
    told = json.loads(output(B2FRAME, 'estimate', '--json', '--typesize', '4',
                             '--sample', '4K', LIST_CODECS))
    codecs.compare('b2frame estimate', {t['codec'] for t in told['trials']},
                   codecs.lossless)
    tried = {name for t in told['trials'] for name in t['filters'].split('+')}
    filters.compare('tools/estimate.c', tried - {'none'}, filters.lossless)


def main():
    codecs, filters = Table('codec'), Table('filter')
    if len(codecs.written) < 5 or len(filters.written) < 6:
        failures.append('list_codecs lists too few')
    check_lists(codecs)
    check_filter_lists(filters)
    for table, option in ((codecs, 'codec'), (filters, 'filters')):
        check_format_page(table)
        check_completions(table, option)
    check_readme(codecs, filters)
    check_estimate(codecs, filters)
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
