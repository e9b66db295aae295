/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_LITERAL_H
#define ARRAY_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A reader of Python literals as NumPy prints them.  It skips blanks.  The
 * first thing that is not as requested makes the reader fail, and all later
 * calls fail too, so a run of calls needs only one check at its end.
 */
struct literal {
    const char *at; /* the next character; the text ends in a zero byte */
    bool failed;
};

/* Is this the next character? */
bool literal_sees(struct literal *literal, char c);

/* Skip this character if it is the next one. */
bool literal_takes(struct literal *literal, char c);

/* Skip this character; fail if another one comes next. */
void literal_expect(struct literal *literal, char c);

/*
 * Is there one more element in a list, tuple or dictionary?  If not, `close`
 * must come next, and is skipped; a comma may precede it.
 *
 *  first  no element was read yet, only the opening bracket
 */
bool literal_more(struct literal *literal, bool first, char close);

/* Read the next value, a number below 2^63 or 2^31; 0 if it is not one. */
uint64_t literal_long(struct literal *literal);
uint32_t literal_number(struct literal *literal);

/*
 * Read the next value, a string on one line, in place.  The result includes the
 * quotes and the escapes, which are valid in Python.  It is UTF-8.  NULL if the
 * next value is not such a string.
 */
const char *literal_string(struct literal *literal, size_t *len);

/* If the next value is this string, skip it.  The string needs no escapes. */
bool literal_takes_string(struct literal *literal, const char *string);

/* Skip the next value: a string, number, word, or anything in brackets. */
void literal_skip(struct literal *literal);

#endif
