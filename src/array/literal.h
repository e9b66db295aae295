/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_LITERAL_H
#define ARRAY_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A reader of Python literals as NumPy prints them.  Blanks are passed over.
 * The first thing that is not as asked for makes it fail, and all that follows
 * too, so that a run of calls needs one check at its end.
 */
struct literal {
    const char *at; /* of what comes next; the text ends in a zero byte */
    bool failed;
};

/* Does this character come next? */
bool literal_sees(struct literal *literal, char c);

/* Pass over this character if it comes next. */
bool literal_takes(struct literal *literal, char c);

/* The next character must be this one. */
void literal_expect(struct literal *literal, char c);

/*
 * Between the elements of a list, tuple or dictionary: is there one more?  Else
 * `close`, behind which the reader then is, must come; a comma may go before.
 *
 *  first  nothing was read of it yet but what opens it
 */
bool literal_more(struct literal *literal, bool first, char close);

/* The next value, a number below 2^63, or 2^31; 0 if it is none. */
uint64_t literal_long(struct literal *literal);
uint32_t literal_number(struct literal *literal);

/*
 * The next value, a string of one line, in place with its quotes, and with its
 * escapes, which are such that Python knows them.  It is UTF-8.  NULL if it is
 * none.
 */
const char *literal_string(struct literal *literal, size_t *len);

/* Is the next value this string, which needs no escapes?  If so, pass over
   it. */
bool literal_takes_string(struct literal *literal, const char *string);

/* Pass over the next value: string, number, word, or anything in brackets. */
void literal_skip(struct literal *literal);

#endif
