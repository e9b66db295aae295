/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/literal.h"

#include <ctype.h>
#include <string.h>

#include "base/size.h"

static void fail(struct literal *literal)
{
    literal->failed = true;
}

static void skip_blanks(struct literal *literal)
{
    while (*literal->at == ' ')
        literal->at++;
}

bool literal_sees(struct literal *literal, char c)
{
    skip_blanks(literal);
    return !literal->failed && *literal->at == c;
}

bool literal_takes(struct literal *literal, char c)
{
    if (!literal_sees(literal, c))
        return false;
    literal->at++;
    return true;
}

void literal_expect(struct literal *literal, char c)
{
    if (!literal_takes(literal, c))
        fail(literal);
}

bool literal_more(struct literal *literal, bool first, char close)
{
    bool comma = !first && literal_takes(literal, ',');

    if (literal_takes(literal, close))
        return false;
    if (!first && !comma)
        fail(literal);
    return !literal->failed;
}

uint64_t literal_long(struct literal *literal)
{
    uint64_t number = 0;

    skip_blanks(literal);
    if (literal->failed || !isdigit((unsigned char)*literal->at)) {
        fail(literal);
        return 0;
    }
    while (isdigit((unsigned char)*literal->at)) {
        if (!size_mul(number, 10, &number) ||
            !size_add(number, (uint64_t)(*literal->at++ - '0'), &number) ||
            number > INT64_MAX) {
            fail(literal);
            return 0;
        }
    }
    return number;
}

uint32_t literal_number(struct literal *literal)
{
    uint64_t number = literal_long(literal);

    if (number > INT32_MAX) {
        fail(literal);
        return 0;
    }
    return (uint32_t)number;
}

/* Length of an escape that is valid in Python; 0 if it is not. */
static size_t escape_len(const char *at)
{
    size_t ndigits;

    switch (at[1]) {
    case '\\':
    case '\'':
    case '"':
    case 'n':
    case 'r':
    case 't':
        return 2;
    case 'x':
        ndigits = 2;
        break;
    case 'u':
        ndigits = 4;
        break;
    case 'U':
        ndigits = 8;
        break;
    default:
        return 0;
    }
    for (size_t i = 0; i < ndigits; i++)
        if (!isxdigit((unsigned char)at[2 + i]))
            return 0;
    /* The last code point is U+10FFFF. */
    if (at[1] == 'U' && strncmp(at + 2, "000", 3) != 0 &&
        strncmp(at + 2, "0010", 4) != 0)
        return 0;
    return 2 + ndigits;
}

/* Length of a UTF-8 character of more than one byte; 0 if it is not valid. */
static size_t utf8_len(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t len = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    uint32_t c = at[0] & (0xFFU >> (len + 1));

    if (at[0] < 0xC2 || at[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (at[i] & 0x3FU);
    }
    /* Reject overlong forms, UTF-16 surrogates, and code points past the
       last. */
    if ((len == 3 && c < 0x800) || (c >= 0xD800 && c < 0xE000) ||
        (len == 4 && (c < 0x10000 || c > 0x10FFFF)))
        return 0;
    return len;
}

static size_t char_len(const char *at)
{
    unsigned char c = (unsigned char)*at;

    if (c == '\\')
        return escape_len(at);
    if (c >= 0x80)
        return utf8_len(at);
    return c >= ' ' && c != 0x7F;
}

const char *literal_string(struct literal *literal, size_t *len)
{
    const char *start;
    char quote;

    skip_blanks(literal);
    start = literal->at;
    quote = *start;
    if (literal->failed || (quote != '\'' && quote != '"')) {
        fail(literal);
        return NULL;
    }
    do {
        size_t n = literal->at == start ? 1 : char_len(literal->at);

        if (n == 0) {
            fail(literal);
            return NULL;
        }
        literal->at += n;
    } while (*literal->at != quote);
    literal->at++;
    *len = (size_t)(literal->at - start);
    return start;
}

bool literal_takes_string(struct literal *literal, const char *string)
{
    struct literal ahead = *literal;
    size_t len;
    const char *found = literal_string(&ahead, &len);

    if (!found || len != strlen(string) + 2 ||
        strncmp(found + 1, string, len - 2) != 0)
        return false;
    *literal = ahead;
    return true;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

/* Skip a string, or one character of anything else. */
static void skip_token(struct literal *literal)
{
    size_t len;

    if (is_one_of(*literal->at, "'\""))
        literal_string(literal, &len);
    else if (*literal->at == '\0')
        fail(literal);
    else
        literal->at++;
}

void literal_skip(struct literal *literal)
{
    unsigned depth = 0;

    skip_blanks(literal);
    while (!literal->failed) {
        char c = *literal->at;

        if (depth == 0 && is_one_of(c, ",)]}"))
            return;
        depth += is_one_of(c, "([{");
        depth -= is_one_of(c, ")]}");
        skip_token(literal);
    }
}
