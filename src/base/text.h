/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Names of files and metalayers are any bytes but NUL.  Shown as they are, they
   could break lines, act on a terminal, or spoil a JSON text. */

/* Which bytes of a text are left as they are; never the backslash. */
enum text_plain {
    TEXT_PLAIN_PRINTABLE, /* all but control characters */
    TEXT_PLAIN_ASCII,     /* printable ASCII */
};

/*
 * Copy a text with each byte that is not plain as \xHH.
 *
 *  dst  room for `size` bytes; always terminated, cut if too small, which
 *       TEXT_ESCAPED_SIZE of the text's length never is
 */
void text_escape(const char *text, enum text_plain plain, char *dst,
                 size_t size);
#define TEXT_ESCAPED_SIZE(len) (4 * (len) + 1)

/* Is a text UTF-8 all through?  Overlong forms and surrogates are not. */
bool text_is_utf8(const char *text);

#endif
