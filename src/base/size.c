/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bytes in the unit that a suffix names; 0 if it is not a known suffix. */
static uint64_t suffix_unit(const char *suffix)
{
    static const char letters[] = "KMGTP";
    const char *letter;
    uint64_t step = 1024;
    uint64_t unit = 1;

    if (suffix[0] == '\0')
        return 1;
    letter = strchr(letters, toupper((unsigned char)suffix[0]));
    if (!letter)
        return 0;
    if (strcasecmp(suffix + 1, "B") == 0)
        step = 1000;
    else if (suffix[1] != '\0' && strcasecmp(suffix + 1, "iB") != 0)
        return 0;
    for (const char *at = letters; at <= letter; at++)
        unit *= step;
    return unit;
}

bool size_parse(const char *text, uint64_t *out)
{
    unsigned long long number;
    uint64_t unit;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    unit = suffix_unit(end);
    return errno == 0 && unit != 0 && size_mul(number, unit, out);
}

int size_parse_number(const char *text, unsigned min, unsigned max,
                      unsigned *out)
{
    uint64_t number;

    if (!size_parse(text, &number) || number < min || number > max)
        return -EINVAL;
    *out = (unsigned)number;
    return 0;
}
