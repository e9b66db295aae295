/* SPDX-License-Identifier: BSD-3-Clause */
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char separators[] = ", \t\r\n";

/* Parse a number, and move `text` behind it. */
static int take_number(const char **text, uint64_t *out)
{
    unsigned long long number;
    char *end;

    if (!isdigit((unsigned char)**text))
        return -EINVAL;
    errno = 0;
    number = strtoull(*text, &end, 10);
    if (errno != 0)
        return -ERANGE;
    *text = end;
    *out = number;
    return 0;
}

bool number_parse(const char *text, uint64_t *out)
{
    return take_number(&text, out) == 0 && *text == '\0';
}

/* Parse A or A-B, and move `text` behind it and the separators that follow. */
static int take_run(const char **text, uint64_t *first, uint64_t *last)
{
    size_t between;
    int r = take_number(text, first);

    *last = *first;
    if (r == 0 && **text == '-') {
        (*text)++;
        r = take_number(text, last);
    }
    if (r < 0)
        return r;
    between = strspn(*text, separators);
    *text += between;
    return between > 0 || **text == '\0' ? 0 : -EINVAL;
}

static int add_run(struct numbers *numbers, uint64_t first, uint64_t last,
                   uint64_t max)
{
    uint64_t n = (first < last ? last - first : first - last) + 1;
    uint64_t *list;

    if (first >= max || last >= max || n > max - numbers->n)
        return -ERANGE;
    if (n > SIZE_MAX / sizeof(*list) - numbers->n)
        return -ENOMEM;
    list = realloc(numbers->list, (numbers->n + (size_t)n) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    numbers->list = list;
    for (uint64_t i = 0; i < n; i++)
        list[numbers->n++] = first < last ? first + i : first - i;
    return 0;
}

int numbers_parse(const char *text, uint64_t max, struct numbers *out)
{
    struct numbers numbers = { 0 };
    int r = 0;

    text += strspn(text, separators);
    while (*text != '\0' && r == 0) {
        uint64_t first;
        uint64_t last;

        r = take_run(&text, &first, &last);
        if (r == 0)
            r = add_run(&numbers, first, last, max);
    }
    if (r < 0) {
        numbers_free(&numbers);
        return r;
    }
    *out = numbers;
    return 0;
}

void numbers_free(struct numbers *numbers)
{
    free(numbers->list);
}
