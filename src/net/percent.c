/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/percent.h"

#include <ctype.h>
#include <string.h>

static bool is_plain(char c, enum percent_keep keep)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
        (c >= 'A' && c <= 'Z'))
        return true;
    if (c == '/')
        return keep == PERCENT_KEEP_SLASH;
    return c != '\0' && strchr("-._~", c);
}

static void encode_byte(char c, enum percent_keep keep, struct secret *out)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;
    char code[3] = { '%', digits[byte >> 4], digits[byte & 15] };

    if (is_plain(c, keep))
        secret_add_bytes(out, &c, 1);
    else
        secret_add_bytes(out, code, sizeof(code));
}

static unsigned digit_value(char digit)
{
    if (digit <= '9')
        return (unsigned)(digit - '0');
    return (unsigned)((digit | 0x20) - 'a') + 10;
}

/* Take the next byte, decoded.  Returns the length of its code. */
static size_t decode_byte(const char *text, size_t len, char *out)
{
    if (text[0] != '%' || len < 3 || !isxdigit((unsigned char)text[1]) ||
        !isxdigit((unsigned char)text[2])) {
        *out = text[0];
        return 1;
    }
    *out = (char)(digit_value(text[1]) << 4 | digit_value(text[2]));
    return 3;
}

void percent_encode(const char *bytes, size_t len, enum percent_keep keep,
                    struct secret *out)
{
    for (size_t i = 0; i < len; i++)
        encode_byte(bytes[i], keep, out);
}

void percent_recode(const char *text, size_t len, enum percent_keep keep,
                    struct secret *out)
{
    char c;

    for (size_t i = 0; i < len;) {
        i += decode_byte(text + i, len - i, &c);
        encode_byte(c, keep, out);
    }
}

void percent_decode(const char *text, size_t len, struct secret *out)
{
    char c;

    for (size_t i = 0; i < len;) {
        i += decode_byte(text + i, len - i, &c);
        secret_add_bytes(out, &c, 1);
    }
}
