/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes in the unit that a suffix names; 0 if it is not a known suffix. */
static uint64_t suffix_unit(const char *suffix)
{
    static const char letters[] = "KMGT";
    const char *letter;

    if (suffix[0] == '\0')
        return 1;
    letter = strchr(letters, toupper((unsigned char)suffix[0]));
    if (!letter || suffix[1] != '\0')
        return 0;
    return UINT64_C(1024) << 10 * (letter - letters);
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
