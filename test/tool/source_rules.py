#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: source rules; args source
"""Check the rules about the shape of the source tree.

usage: source_rules.py SOURCE_ROOT

Prints each finding as file:line and the error, then the rule and its reason.
The exit status is 1 if there is any.  The rules are:

  layers     A file in src/X includes headers of X and of the layers below it.
             src/meson.build lists the layers, lowest first.
  circles    Inside a layer, at most three .c files call each other in a circle.
  names      The name of a C file is unique in the tree.
  lengths    A function has at most 60 lines, and a file in src or tools 500.
  widths     A line has at most 80 columns, unless it holds a string.
  parameters A function has at most five parameters.
  comments   Each declaration in a header has a comment.
  guide      The files, functions and members that src/README.md names exist.

The script reads the sources alone.  It knows comments, strings, preprocessor
lines and braces, but does not expand macros, and reads all branches of an #if.
"""

import bisect
import pathlib
import re
import sys

SCRIPT = 'test/tool/source_rules.py'
MAX_CIRCLE = 3
MAX_LINES = 60
MAX_FILE_LINES = 500
MAX_COLUMNS = 80
MAX_PARAMETERS = 5

# Layers that do not use all that src/meson.build lists before them, with the
# highest one that they include.
HIGHEST_USED = {
    'lib': 'file',  # libframefs is for programs without FUSE
}

# Circles that are larger than the rule allows, and why.  The check fails if it
# finds that a file need not be listed here.
LARGE_CIRCLES = []

# Functions (FILE:NAME) and directories of functions that have more parameters
# than the rule allows, and why.  The check fails if it finds that one need not
# be listed.
MANY_PARAMETERS = [
    *[('src/chunk/' + name, 'it is the inner step of a kernel, whose '
       'parameters stay in registers')
      for name in (
          'shuffle_portable.c:shuffle_tile',
          'shuffle_portable.c:unshuffle_tile',
          'shuffle_portable.c:bitshuffle_tile',
          'shuffle_portable.c:bitunshuffle_tile',
          'x86/bitshuffle_avx512.c:planes_to_rows',
          'x86/bitshuffle_avx512.c:rows_to_planes',
          'vector/columns.c:bitshuffle_run', 'vector/columns.c:bitunshuffle_run',
          'x86/shuffle_avx2.c:shuffle_tile',
          'x86/shuffle_avx2.c:unshuffle_tile')],
    *[('src/ops/' + name, 'libfuse prescribes the parameters of its requests')
      for name in (
          'ops.c:ops_setxattr', 'ops_ioctl.c:ops_ioctl',
          'ops_tree.c:ops_rename', 'ops_write.c:ops_write',
          'ops_write.c:ops_fallocate', 'ops_write.c:ops_copy_file_range')],
    ('src/ops/ops.c:read_directory', 'it has those of readdir(), and says '
     'whether it is readdirplus()'),
]


# Reading C.

TOKEN = re.compile(r'''
    (?P<directive> ^[ \t]*\# (?: \\\n | "(?:\\.|[^"\\\n])*" | /\*.*?\*/
                               | [^\n] )* )
  | (?P<comment> /\*.*?\*/ | //[^\n]* )
  | (?P<string> "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
    ''', re.VERBOSE | re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
DEFINE = re.compile(r'\s*#\s*define\b')
NO_MANUAL = re.compile(r'SPDX|clang-format (?:on|off)')
TAG_OR_MEMBER = re.compile(r'(?:\b(?:struct|union|enum)\b|\.|->)\s*\w+')


class Item:
    """A declaration or definition outside of all braces."""

    def __init__(self, code, start, head_end, end):
        self.start = start  # offset of its first character
        self.end = end      # offset of its last one
        head = ' '.join(without_attributes(code[start:head_end]).split())
        call = re.search(r'(\w+) ?\((?:[^()]|\([^()]*\))*\)$', head)
        if call and '=' not in head and not head.startswith('typedef'):
            self.kind = 'function' if code[head_end] == '{' else 'prototype'
            self.name = call[1]
            self.title = call[1] + '()'
            self.nparameters = count_parameters(head[call.end(1):].lstrip())
        else:
            self.kind = 'other'
            self.name = None
            self.title = head.rstrip(' =')
        # "struct x;" only names a type, and the constants of an enum without
        # a name have comments of their own.
        self.needs_comment = head != 'enum' and not (
            code[head_end] == ';' and
            re.fullmatch(r'(?:struct|union|enum) \w+', head))


def count_parameters(text):
    """Count the parameters in the parentheses of a declaration."""
    depth = 0
    commas = 0
    for char in text:
        depth += (char in '([{') - (char in ')]}')
        commas += char == ',' and depth == 1
    return commas + 1


def without_attributes(text):
    """Remove __attribute__((...)) and the like from a declaration."""
    nested = r'[^()]*'
    for _ in range(3):
        nested = r'(?:[^()]|\(%s\))*' % nested
    return re.sub(r'\b(?:__attribute__|_Alignas|alignas)\s*\(%s\)' % nested,
                  '', text)


def split_items(code):
    """Split code into items.  Also return whether all brackets match."""
    items = []
    start = head_end = None
    depth = 0
    for match in re.finditer(r'[(){};]|[^\s(){};]+', code):
        token, at = match[0], match.start()
        if start is None:
            start = at
        if token in ('{', ';') and depth == 0 and head_end is None:
            head_end = at
        depth += (token in ('(', '{')) - (token in (')', '}'))
        if depth == 0 and token in ('}', ';'):
            item = Item(code, start, head_end, at)
            # The brace of a struct or an initializer comes before the end.
            if token == ';' or item.kind == 'function':
                items.append(item)
                start = head_end = None
    return items, depth == 0 and start is None


class Source:
    """A C file."""

    def __init__(self, root, path):
        self.name = path.relative_to(root).as_posix()
        self.folder, *below = self.name.split('/')[:-1]
        self.layer = below[0] if self.folder == 'src' and below else None
        self.text = path.read_text(encoding='utf-8')
        self.starts = [0] + [m.end() for m in re.finditer('\n', self.text)]
        self.comments = []  # first and last offset of each
        self.includes = []  # offset, quote, path
        code = TOKEN.sub(self.note, self.text)
        self.items, self.is_balanced = split_items(code)

    def note(self, match):
        """Remember a comment or #include.  Return blanks of the same size."""
        if match['comment'] and not NO_MANUAL.search(match[0]):
            self.comments.append((match.start(), match.end() - 1))
        include = match['directive'] and INCLUDE.match(match[0])
        if include:
            self.includes.append((match.start(), include[1], include[2]))
        return re.sub(r'[^\n]', ' ', match[0])

    def line(self, offset):
        """Return the number of the line that holds an offset."""
        return bisect.bisect_right(self.starts, offset)

    def has_blank_line(self, first, last):
        """Is there a blank line between two lines?"""
        lines = self.text.split('\n')[first:last - 1]
        return any(not line.strip() for line in lines)

    def functions(self):
        """Return the functions that this file defines."""
        return [item for item in self.items if item.kind == 'function']

    def used_names(self):
        """Return the names that are called or whose address is taken, also in
        macros."""
        def keep(match):
            is_define = match['directive'] and DEFINE.match(match[0])
            return match[0] if is_define else ' '

        code = TOKEN.sub(keep, self.text)
        return set(re.findall(r'\w+', TAG_OR_MEMBER.sub(' ', code)))


class Tree:
    """The C files of a source tree, the headers that meson makes of templates,
    the layers from the lowest up, and the page that introduces them."""

    GUIDE = 'src/README.md'

    def __init__(self, root):
        self.root = root
        self.sources = [
            Source(root, path)
            for folder in ('include', 'src', 'test', 'tools')
            for path in sorted((root / folder).rglob('*.[ch]'))]
        self.made = {path.relative_to(root).as_posix()[:-len('.in')]
                     for path in (root / 'src').rglob('*.h.in')}
        build = (root / 'src/meson.build').read_text(encoding='utf-8')
        self.layers = re.findall(r"^ *subdir\('(\w+)'\)", build, re.MULTILINE)
        self.guide = (root / self.GUIDE).read_text(encoding='utf-8')

    def files(self):
        """Return the names of all files that the page may name."""
        paths = [path for folder in ('include', 'src', 'test', 'tools')
                 for path in (self.root / folder).rglob('*.*')]
        return self.made | {path.relative_to(self.root).as_posix()
                            for path in paths}

    def words(self):
        """Return all words of the code and of its comments."""
        return {word for source in self.sources
                for word in re.findall(r'\w+', source.text)}

    def inside(self, *folders, suffix=('.c', '.h')):
        """Return the files in some of the folders."""
        return [source for source in self.sources
                if source.folder in folders and source.name.endswith(suffix)]


def finding(name, line, error, rule):
    """Return the text that is printed for a place that breaks a rule."""
    return '%s:%d: %s\n    %s' % (name, line, error, rule)


# The rules.  Each function yields its findings.


def check_brackets(tree):
    """This script can tell where each declaration ends."""
    for source in tree.inside('src', 'tools'):
        if not source.is_balanced:
            yield finding(
                source.name, 1, 'its braces or parentheses do not match',
                'Each branch of an #if closes what it opens, because this '
                'check reads all branches.')


def check_layers(tree):
    """A layer includes itself and layers below it."""
    for layer in sorted({*HIGHEST_USED, *HIGHEST_USED.values()}):
        if layer not in tree.layers:
            yield finding(
                SCRIPT, 1, 'HIGHEST_USED names %s, which is no layer' % layer,
                'It must name layers of src/meson.build, because the rule '
                'would have no effect otherwise.')
    names = {source.name for source in tree.sources} | tree.made
    for source in tree.inside('src'):
        layer = source.layer
        if layer not in tree.layers:
            yield finding(
                source.name, 1, 'src/meson.build does not list its directory',
                'Each directory of src/ has a subdir() call there, because '
                'their order says which layer may include which.')
            continue
        top = HIGHEST_USED.get(layer, layer)
        allowed = [layer]
        if top in tree.layers:
            allowed += tree.layers[:tree.layers.index(top) + 1]
        for offset, quote, path in source.includes:
            if 'src/' + path in names:
                if path.split('/')[0] not in allowed:
                    yield finding(
                        source.name, source.line(offset),
                        '%s, which is in %s, includes %s' % (
                            source.name.split('/')[-1], layer, path),
                        'Here only layers up to %s may be included, in the '
                        'order of src/meson.build, because a layer\n    must '
                        'work and be understood without those above it.' % top)
            elif quote == '"' and 'include/' + path not in names:
                yield finding(
                    source.name, source.line(offset),
                    'there is no src/' + path,
                    'Includes are written from src/, because then each shows '
                    'which layer it reaches into.')


def call_graph(tree, layer):
    """Map each .c file of a layer to the other files whose functions it
    uses."""
    sources = [source for source in tree.inside('src', suffix='.c')
               if source.layer == layer]
    # All other functions are static, because -Wmissing-prototypes is on.
    declared = {item.name for source in tree.inside('src', suffix='.h')
                for item in source.items if item.kind == 'prototype'}
    owners = {item.name: source.name for source in sources
              for item in source.functions() if item.name in declared}
    graph = {}
    for source in sources:
        own = {item.name for item in source.functions()}
        graph[source.name] = {owners[name] for name in source.used_names()
                              if name in owners and name not in own}
    return graph


def find_circles(graph):
    """Return the largest groups of nodes that all reach each other (Tarjan)."""
    number, lowest, stack, circles = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            first = stack.index(node)
            circles.append(sorted(stack[first:]))
            del stack[first:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return circles


def check_circles(tree, exceptions):
    """Only few files of a layer need each other."""
    in_large = set()
    for layer in tree.layers:
        for circle in find_circles(call_graph(tree, layer)):
            names = [path.split('/')[-1] for path in circle]
            if len(names) <= MAX_CIRCLE:
                continue
            in_large.update(names)
            if not any(set(names) <= set(files) for files, _ in exceptions):
                yield finding(
                    circle[0], 1, '%d files call each other in a circle: %s' %
                    (len(names), ' '.join(names)),
                    'At most %d may, because none of them can be understood '
                    'without all others.  Move a function\n    to the file '
                    'that it belongs to, or pass down what is called upwards.'
                    % MAX_CIRCLE)
    for files, _ in exceptions:
        for name in files:
            if name not in in_large:
                yield finding(
                    SCRIPT, 1, 'LARGE_CIRCLES lists %s for no reason' % name,
                    'It is in no large circle any more.  Remove it there, '
                    'because the list would let it come into one again.')


def check_names(tree):
    """No two files have one name."""
    first = {}
    for source in tree.sources:
        name = source.name.split('/')[-1]
        if name in first:
            yield finding(
                source.name, 1, 'it has the same name as ' + first[name],
                'Names of C files are unique in the tree, because a function '
                'begins with the name of its file.')
        first.setdefault(name, source.name)


def check_lengths(tree):
    """A reader can see all of a function at once."""
    for source in tree.inside('src', 'tools'):
        for item in source.functions():
            first, last = source.line(item.start), source.line(item.end)
            if last - first >= MAX_LINES:
                yield finding(
                    source.name, first,
                    '%s has %d lines' % (item.title, last - first + 1),
                    'A function has at most %d lines, and usually 10 to 20, '
                    'because a reader has to see it at once.\n    Make a '
                    'function of one of its steps.' % MAX_LINES)


def check_file_lengths(tree):
    """A file has one subject."""
    for source in tree.inside('src', 'tools'):
        nlines = source.text.count('\n')
        if nlines > MAX_FILE_LINES:
            yield finding(
                source.name, MAX_FILE_LINES + 1,
                'the file has %d lines' % nlines,
                'A file has at most %d, because it has one subject.  Give one '
                'of its subjects a file of its own.' % MAX_FILE_LINES)


def check_widths(tree):
    """Two files fit beside each other on a screen."""
    for source in tree.sources:
        for number, line in enumerate(source.text.split('\n'), 1):
            if len(line) > MAX_COLUMNS and '"' not in line:
                yield finding(
                    source.name, number, 'the line has %d columns' % len(line),
                    'A line has at most %d columns.  clang-format breaks code, '
                    'but not comments.' % MAX_COLUMNS)


def check_parameters(tree, exceptions):
    """A call shows what each argument means."""
    needed = set()
    for source in tree.inside('src', 'tools'):
        for item in source.functions():
            if item.nparameters <= MAX_PARAMETERS:
                continue
            excuses = [name for name, _ in exceptions if name in (
                '%s:%s' % (source.name, item.name),
                source.name.rsplit('/', 1)[0])]
            needed.update(excuses)
            if not excuses:
                yield finding(
                    source.name, source.line(item.start),
                    '%s has %d parameters' % (item.title, item.nparameters),
                    'A function has at most %d, because a call with more does '
                    'not show what each argument means.\n    Put those that '
                    'belong together into a struct.' % MAX_PARAMETERS)
    for name, _ in exceptions:
        if name not in needed:
            yield finding(
                SCRIPT, 1, 'MANY_PARAMETERS lists %s for no reason' % name,
                'Nothing there has more than %d parameters any more.  Remove '
                'it, because the list would let one come back.' %
                MAX_PARAMETERS)


def undocumented(header):
    """
    Items of a header for which there is no comment.  There is one if it stands

      - above the item, or above others of which no blank line divides it;
      - at the end of the item's last line;
      - alone between blank lines, as the heading of items that have no other
        comment and no #include before them.
    """
    events = [(item.start, item.end, item) for item in header.items]
    events += [(offset, offset, 'include') for offset, *_ in header.includes]
    events += [
        (start, end, 'comment') for start, end in header.comments
        if not any(item.start < start < item.end for item in header.items)]
    events.sort(key=lambda event: event[0])

    missing = []
    has_comment = has_heading = False
    last, last_line = None, 0
    for start, end, event in events:
        line = header.line(start)
        if event == 'include':
            has_comment = has_heading = False
        elif event == 'comment':
            if line == last_line and isinstance(last, Item):
                missing = [item for item in missing if item is not last]
                continue
            has_comment = True
            below = header.line(end) + 1
            has_heading = header.has_blank_line(below - 1, below + 1)
        else:
            if header.has_blank_line(last_line, line):
                has_comment = has_heading
            if not has_comment and event.needs_comment:
                missing.append(event)
                has_comment = True  # one finding is enough for a group
        last, last_line = event, header.line(end)
    return missing


def check_comments(tree):
    """The comment above a declaration is its manual."""
    for header in tree.inside('src', 'tools', suffix='.h'):
        for item in undocumented(header):
            yield finding(
                header.name, header.line(item.start),
                '%s has no comment' % item.title,
                'A declaration in a header has one, because that is its '
                'manual: sizes, owners, errors, threads.\n    A comment also '
                'counts for the lines that follow without a blank one; one '
                'that stands alone,\n    for all up to the next comment.')


def guide_names(line):
    """Return what a line of the guide names: the kind, the name as it stands
    there, and the words that must exist for it."""
    for quoted in re.findall(r'`([^`]+)`', line):
        if re.fullmatch(r'[\w/]+\.(?:c|h|py|build)', quoted):
            yield 'file', quoted, []
        elif re.fullmatch(r'\w+\(\)', quoted):
            yield 'function', quoted, [quoted[:-2]]
        elif re.fullmatch(r'\w+(?:(?:\.|->)\w+)+', quoted):
            yield 'member', quoted, re.findall(r'\w+', quoted)


def check_guide(tree):
    """The page that a new reader reads first is right."""
    files = tree.files()
    words = tree.words()
    for number, line in enumerate(tree.guide.split('\n'), 1):
        for kind, quoted, needed in guide_names(line):
            if kind == 'file':
                # NAME stands for the name of anything of a kind.
                pattern = re.escape(quoted).replace('NAME', r'\w+')
                exists = any(re.search('(?:^|/)%s$' % pattern, name)
                             for name in files)
            else:
                exists = words.issuperset(needed)
            if not exists:
                yield finding(
                    Tree.GUIDE, number, 'there is no %s %s' % (kind, quoted),
                    'The page is the first one that a new reader reads, so '
                    'all that it names can be found.')


def check(root, large_circles, many_parameters):
    """Return all findings in a tree."""
    tree = Tree(pathlib.Path(root))
    return [*check_brackets(tree), *check_layers(tree),
            *check_circles(tree, large_circles), *check_names(tree),
            *check_lengths(tree), *check_file_lengths(tree),
            *check_widths(tree), *check_parameters(tree, many_parameters),
            *check_comments(tree), *check_guide(tree)]


def main():
    """Check the tree that the command line names."""
    findings = check(sys.argv[1], LARGE_CIRCLES, MANY_PARAMETERS)
    for text in findings:
        print(text)
    sys.exit(bool(findings))


if __name__ == '__main__':
    main()
