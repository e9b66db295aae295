/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Names of files and metalayers may contain any byte but NUL.  They are escaped
 * before they are shown, because they could otherwise break lines, control a
 * terminal or spoil a JSON text.
 */

/* The bytes that text_escape() copies unchanged.  A backslash is always
   escaped. */
enum text_plain {
    TEXT_PLAIN_PRINTABLE, /* all but control characters */
    TEXT_PLAIN_ASCII,     /* printable ASCII */
};

/*
 * Copy a text, with each byte that is not plain written as \xHH.
 *
 *  dst  room for `size` bytes; always terminated.  The text is cut if it does
 *       not fit; TEXT_ESCAPED_SIZE of the text's length is always enough
 */
void text_escape(const char *text, enum text_plain plain, char *dst,
                 size_t size);
#define TEXT_ESCAPED_SIZE(len) (4 * (len) + 1)

/* Is all of a text valid UTF-8?  Overlong forms and surrogates are not. */
bool text_is_utf8(const char *text);

#endif
