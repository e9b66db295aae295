#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# test: source rules broken; args
"""source_rules.py finds each thing that it forbids, and nothing else.

Each test makes a small tree, most with one error in it, and compares the places
that are reported with those that are wrong.
"""

import pathlib
import re
import sys
import tempfile

from source_rules import (LARGE_CIRCLES, MANY_PARAMETERS, MAX_FILE_LINES,
                          MAX_LINES, check)

SCRIPT = 'test/tool/source_rules.py:1: '

# Three layers and a library that must not include the one below it, all without
# an error.  A test adds to the text of a file here, or replaces it.
GOOD = {
    'src/meson.build': "# subdir('none')\n" + ''.join(
        "subdir('%s')\n" % layer for layer in ('base', 'file', 'fuse', 'lib')),
    'src/README.md': '`text.c` and `base/text.h`, `text_print()`, `base`, `a b`\n',
    'include/framefs.h': 'int framefs_open(void);\n',
    'src/base/text.h': '/* Print. */\nvoid text_print(void);\n',
    'src/base/text.c': '#include "base/text.h"\n\nvoid text_print(void) {}\n',
    'src/file/file.h': '#include "base/text.h"\n',
    'src/fuse/ops.h': '#include <stdio.h>\n#include "file/file.h"\n',
    'src/lib/lib.c': '#include "framefs.h"\n#include "file/file.h"\n',
    'tools/tool.c': '#include "fuse/ops.h"\n\nint main(void) { return 0; }\n',
    'test/suite.c': 'int no_rule_of_comments(void);\n',
}


def circle(*names, call='%s();'):
    """Return files of layer base, each of which calls the next, and the last
    the first."""
    files = {'src/base/all.h': '/* All. */\n' + ''.join(
        'void %s(void);\n' % name for name in names)}
    for name, called in zip(names, names[1:] + names[:1]):
        files['src/base/%s.c' % name] = (
            'static int own(void) { return 0; }\n'
            'void %s(void) { own(); %s }\n' % (name, call % called))
    return files


def function(nlines):
    """Return a function of this many lines, which contains much that is not
    code."""
    body = ['    /* } */ puts("}{"); c = \'{\'; // }', '#define OPEN {']
    body += ['    c++;'] * (nlines - 6)
    return '\n'.join(['__attribute__((format(printf, 1, 2)))',
                      'static int f(char c)', '{', *body, '}', ''])


SIX = '\nint f(int a, int b, int c, int d, int e, int f) {}\n'

# Name, files, beginnings of the expected findings.
TESTS = [
    ('a_good_tree_has_no_findings', {}, []),

    # Layers.
    ('a_layer_must_not_include_one_above_it',
     {'src/base/size.h': '\n#include "file/file.h"\n'},
     ['src/base/size.h:2: size.h, which is in base, includes file/file.h']),
    ('angle_brackets_hide_no_layer',
     {'src/base/size.h': '#  include <file/file.h>\n'},
     ['src/base/size.h:1: ']),
    ('a_directory_below_a_layer_belongs_to_it',
     {'src/base/x86/size.h': '#include "file/file.h"\n'},
     ['src/base/x86/size.h:1: size.h, which is in base, ']),
    ('an_include_in_a_comment_is_none',
     {'src/base/size.h': '/*\n#include "file/file.h"\n*/\n'}, []),
    ('lib_must_not_include_fuse',
     {'src/lib/more.c': '#include "fuse/ops.h"\n'},
     ['src/lib/more.c:1: more.c, which is in lib, includes fuse/ops.h']),
    ('each_directory_of_src_is_listed',
     {'src/none/size.h': ''},
     ['src/none/size.h:1: src/meson.build does not list']),
    ('includes_are_written_from_src',
     {'src/base/size.h': '#include "text.h"\n#include "../tools/tool.h"\n'},
     ['src/base/size.h:1: there is no src/text.h',
      'src/base/size.h:2: there is no src/../tools/tool.h']),

    ('a_header_may_be_made_of_a_template',
     {'src/file/list.h.in': '#define ITEMS @ITEMS@\n',
      'src/base/size.h': '#include "file/list.h"\n',
      'src/fuse/all.h': '#include "file/list.h"\n#include "file/none.h"\n'},
     ['src/base/size.h:1: size.h, which is in base, includes file/list.h',
      'src/fuse/all.h:2: there is no src/file/none.h']),

    ('the_layers_named_in_the_script_exist',
     {'src/meson.build': "subdir('base')\nsubdir('fuse')\nsubdir('lib')\n",
      'src/file/file.h': '', 'src/fuse/ops.h': '', 'src/lib/lib.c': ''},
     [SCRIPT + 'HIGHEST_USED names file', 'src/file/file.h:1: ']),

    # Circles.
    ('three_files_may_call_each_other', circle('a', 'b', 'c'), []),
    ('four_files_must_not_call_each_other', circle('a', 'b', 'c', 'd'),
     ['src/base/a.c:1: 4 files call each other in a circle: a.c b.c c.c d.c']),
    ('an_address_counts_as_a_call',
     circle('a', 'b', 'c', 'd', call='f = %s;'), ['src/base/a.c:1: 4 files']),
    ('a_call_in_a_macro_counts',
     circle('a', 'b', 'c', 'd', call='\n#define CALL %s()\n'),
     ['src/base/a.c:1: 4 files']),
    ('a_member_or_a_string_is_no_call',
     circle('a', 'b', 'c', 'd', call='x->%s(); puts("%%s a b c d");'), []),
    ('a_static_function_is_no_call_of_another_file',
     {**circle('a', 'b', 'c', 'd'),
      'src/base/d.c': 'static void a(void) {}\nvoid d(void) { a(); }\n'}, []),

    # Names.
    ('a_file_name_occurs_once',
     {'tools/text.c': ''},
     ['tools/text.c:1: it has the same name as src/base/text.c']),
    ('tests_have_names_of_their_own',
     {'test/unit/text.h': ''},
     ['test/unit/text.h:1: it has the same name as src/base/text.h']),

    # Lengths.
    ('the_longest_function_is_allowed',
     {'tools/long.c': function(MAX_LINES)}, []),
    ('a_longer_function_is_not',
     {'tools/long.c': '\n' + function(MAX_LINES + 1)},
     ['tools/long.c:2: f() has %d lines' % (MAX_LINES + 1)]),
    ('a_long_table_is_no_function',
     {'tools/long.c': 'int t[] = {\n' + '1,\n' * 100 + '};\n'}, []),
    ('an_inline_function_has_a_length_too',
     {'src/base/long.h': '/* F. */\n' + function(100)},
     ['src/base/long.h:2: f() has 100 lines']),
    ('a_comment_has_80_columns',
     {'tools/wide.c': '/* %s */\n' % ('a' * 74)}, []),
    ('a_comment_must_not_be_wider',
     {'tools/wide.c': '\n/* %s */\n' % ('a' * 75)},
     ['tools/wide.c:2: the line has 81 columns']),
    ('a_string_may_be_wider',
     {'tools/wide.c': 'char s[] = "%s";\n' % ('a' * 100)}, []),
    ('a_file_may_be_long',
     {'tools/long.c': 'int i;\n' * MAX_FILE_LINES}, []),
    ('a_file_must_not_be_longer',
     {'tools/long.c': 'int i;\n' * (MAX_FILE_LINES + 1)},
     ['tools/long.c:%d: the file has %d lines' % (
         MAX_FILE_LINES + 1, MAX_FILE_LINES + 1)]),
    ('a_test_may_be_long',
     {'test/long.c': 'int i;\n' * (MAX_FILE_LINES + 1)}, []),
    ('brackets_match_in_each_branch',
     {'tools/if.c': 'int f(void)\n{\n#if A\nif (a) {\n#else\nif (b) {\n'
                    '#endif\n}\n}\n'},
     ['tools/if.c:1: its braces']),

    # Parameters.
    ('five_parameters_are_allowed',
     {'tools/f.c': 'int f(int a, int b, int c, int d,\n      int e) {}\n'}, []),
    ('six_are_not',
     {'tools/f.c': SIX}, ['tools/f.c:2: f() has 6 parameters']),
    ('so_in_a_header',
     {'src/base/f.h': '/* F. */\n' + SIX.replace('int f(', 'static int f(')},
     ['src/base/f.h:3: f() has 6 parameters']),
    ('a_prototype_is_judged_where_the_function_is',
     {'src/base/f.h': '/* F. */\n' + SIX.replace('{}', ';')}, []),
    ('parameters_of_a_parameter_do_not_count',
     {'tools/f.c': 'int f(int a, int (*g)(int, int, int), int c, int d) {}\n'},
     []),
    ('nor_do_calls',
     {'tools/f.c': 'int f(void) { return g(1, 2, 3, 4, 5, 6); }\n'}, []),

    # Comments.
    ('a_function_needs_a_comment',
     {'src/base/size.h': '/* SPDX-License-Identifier: X */\nint f(void);\n'},
     ['src/base/size.h:2: f() has no comment']),
    ('so_does_a_function_with_an_attribute',
     {'src/base/size.h': 'void f(const char *, ...)\n'
                         '    __attribute__((format(printf, 1, 2)));\n'},
     ['src/base/size.h:1: f() has no comment']),
    ('a_struct_needs_one',
     {'tools/size.h': 'struct s {\n    int a; /* this is not it */\n};\n'},
     ['tools/size.h:1: struct s has no comment']),
    ('a_name_of_a_struct_needs_none', {'tools/size.h': 'struct s;\n'}, []),
    ('constants_have_comments_of_their_own',
     {'tools/size.h': 'enum {\n    A, /* the first */\n};\n'}, []),
    ('a_comment_may_stand_behind_a_declaration',
     {'tools/size.h': 'int f(void); /* returns 1 */\n\nint g(void);\n'},
     ['tools/size.h:3: g()']),
    ('a_comment_counts_for_a_group',
     {'tools/size.h': '/* F, g. */\nint f(void);\nint g(void);\n\n'
                      'int h(void);\nint i(void);\n'},
     ['tools/size.h:5: h()']),
    ('a_comment_alone_is_a_heading',
     {'tools/size.h': '/* All. */\n\nint f(void);\n\nint g(void);\n'}, []),
    ('a_heading_ends_at_the_next_comment',
     {'tools/size.h': '/* All. */\n\nint f(void);\n\n/* G. */\nint g(void);\n'
                      '\nint h(void);\n'},
     ['tools/size.h:8: h()']),
    ('a_heading_ends_at_an_include',
     {'tools/size.h': '/* All. */\n\n#include <a.h>\n\nint f(void);\n'},
     ['tools/size.h:5: f()']),
    ('the_comment_of_a_macro_is_no_heading',
     {'tools/size.h': '/* A. */\n#define A 1 + \\\n    2\n\nint f(void);\n'},
     ['tools/size.h:5: f()']),
]

# Name, page, beginnings of the expected findings.
GUIDES = [
    ('the_page_names_files_that_exist', '`none.c`, `fuse/text.c` `xtext.c`',
     ['src/README.md:1: there is no file none.c',
      'src/README.md:1: there is no file fuse/text.c',
      'src/README.md:1: there is no file xtext.c']),
    ('a_file_may_stand_for_all_of_a_kind', '`t_NAME.c`\n`te_NAME.c`, `NAME.c`',
     ['src/README.md:1: there is no file t_NAME.c',
      'src/README.md:2: there is no file te_NAME.c']),
    ('the_page_names_functions_that_exist', '\n`text_prints()` `main()`',
     ['src/README.md:2: there is no function text_prints()']),
    ('the_page_names_members_that_exist', '`text.lock`, `main->c`',
     ['src/README.md:1: there is no member text.lock',
      'src/README.md:1: there is no member main->c']),
]

# Name, files, excused circles, beginnings of the expected findings.
EXCEPTIONS = [
    ('a_large_circle_may_be_excused',
     circle('a', 'b', 'c', 'd'), ['a.c', 'b.c', 'c.c', 'd.c'], []),
    ('an_excused_circle_must_not_grow',
     circle('a', 'b', 'c', 'd', 'e'), ['a.c', 'b.c', 'c.c', 'd.c'],
     ['src/base/a.c:1: 5 files']),
    ('an_excuse_must_be_needed',
     circle('a', 'b', 'c', 'd'), ['a.c', 'b.c', 'c.c', 'd.c', 'text.c'],
     [SCRIPT + 'LARGE_CIRCLES lists text.c for no reason']),
]

# Name, files, excused functions, beginnings of the expected findings.
PARAMETERS = [
    ('a_function_may_be_excused', {'tools/f.c': SIX}, ['tools/f.c:f'], []),
    ('so_may_a_directory', {'src/base/f.c': SIX}, ['src/base'], []),
    ('an_excuse_is_for_one_function',
     {'tools/f.c': SIX + SIX.replace('int f(', 'int g(')},
     ['tools/f.c:f'], ['tools/f.c:4: g() has 6 parameters']),
    ('an_excuse_of_parameters_must_be_needed', {}, ['tools/f.c:f', 'src/base'],
     [SCRIPT + 'MANY_PARAMETERS lists tools/f.c:f for no reason',
      SCRIPT + 'MANY_PARAMETERS lists src/base for no reason']),
]


def run(name, files, expected, circle_excused=(), excused=()):
    """Return whether a tree has exactly the findings that it should have."""
    with tempfile.TemporaryDirectory() as where:
        for path, text in {**GOOD, **files}.items():
            path = pathlib.Path(where, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding='utf-8')
        found = check(
            where, [(circle_excused, 'a reason')] if circle_excused else [],
            [(name, 'a reason') for name in excused])
    if len(found) == len(expected):
        if all(map(str.startswith, found, expected)):
            return True
    print('%s: expected %s, found:' % (name, expected), *found, sep='\n  ')
    return False


def main():
    """Run all tests."""
    results = [run(*test) for test in TESTS]
    results += [run(name, {'src/README.md': page}, expected)
                for name, page, expected in GUIDES]
    results += [run(name, files, expected, circle_excused=excused)
                for name, files, excused, expected in EXCEPTIONS]
    results += [run(name, files, expected, excused=excused)
                for name, files, excused, expected in PARAMETERS]
    for what, reason in LARGE_CIRCLES + MANY_PARAMETERS:
        if not (what and re.match(r'\w+ \w+', reason)):
            print('there is no reason for', what)
            results.append(False)
    print('%d of %d as expected' % (sum(results), len(results)))
    sys.exit(not all(results))


main()
