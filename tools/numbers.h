/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NUMBERS_H
#define TOOLS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of chunk numbers. */
struct numbers {
    uint64_t *list;
    size_t n;
};

/*
 * Parse chunk numbers as a user types them: with commas or white space between
 * them, and A-B for all from A to B, forwards or backwards.
 *
 *  max  there may be as many numbers as this, and each must be below it
 *  out  receives the list; numbers_free() frees it
 *
 * Returns 0; -EINVAL if the text is anything else; -ERANGE if a number or the
 * count is too large; or -ENOMEM.
 */
int numbers_parse(const char *text, uint64_t max, struct numbers *out);

/* Frees the list.  Accepts a zeroed struct. */
void numbers_free(struct numbers *numbers);

/* Parse one decimal number.  Returns false if the text is anything else. */
bool number_parse(const char *text, uint64_t *out);

#endif
