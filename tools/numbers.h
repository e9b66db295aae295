/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NUMBERS_H
#define TOOLS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of chunks. */
struct numbers {
    uint64_t *list;
    size_t n;
};

/*
 * Read numbers as a user types them: with commas or white space between them,
 * A-B for all from A to B, forwards or backwards.
 *
 *  max  there may be as many, each below this
 *  out  to be freed with numbers_free()
 *
 * Returns 0, -EINVAL for anything else, -ERANGE for a number or a count that
 * is too large, or -ENOMEM.
 */
int numbers_parse(const char *text, uint64_t max, struct numbers *out);

/* Frees the list.  Accepts a zeroed struct. */
void numbers_free(struct numbers *numbers);

/* Read the number of one chunk.  Returns false if it is none. */
bool number_parse(const char *text, uint64_t *out);

#endif
