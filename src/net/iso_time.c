/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/iso_time.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read numbers as a pattern of digits has them: '0' is a digit of the next
   number, other characters stand for themselves. */
static const char *read_pattern(const char *text, const char *pattern,
                                int *numbers)
{
    for (; *pattern != '\0'; pattern++, text++) {
        if (*pattern == '0' && is_digit(*text))
            *numbers = 10 * *numbers + (*text - '0');
        else if (*pattern == *text)
            numbers++;
        else
            return NULL;
    }
    return text;
}

/* Read a zone, as the seconds that it is ahead. */
static bool read_zone(const char *text, time_t *out)
{
    int numbers[3] = { 0 };
    int sign = *text == '-' ? -1 : 1;

    *out = 0;
    if (strcmp(text, "Z") == 0)
        return true;
    if (*text != '+' && *text != '-')
        return false;
    text = read_pattern(text + 1, "00:00", numbers);
    *out = sign * (numbers[0] * 3600 + numbers[1] * 60);
    return text && *text == '\0' && numbers[0] < 24 && numbers[1] < 60;
}

bool iso_time_parse(const char *text, time_t *out)
{
    int n[7] = { 0 };
    struct tm tm;
    time_t zone;

    text = read_pattern(text, "0000-00-00T00:00:00", n);
    if (!text || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 23 ||
        n[4] > 59 || n[5] > 60)
        return false;
    if (*text == '.')
        do
            text++;
        while (is_digit(*text));
    if (!read_zone(text, &zone))
        return false;
    tm = (struct tm){ .tm_year = n[0] - 1900,
                      .tm_mon = n[1] - 1,
                      .tm_mday = n[2],
                      .tm_hour = n[3],
                      .tm_min = n[4],
                      .tm_sec = n[5] };
    *out = timegm(&tm) - zone;
    return true;
}
