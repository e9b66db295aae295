/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

static bool is_plain(unsigned char byte, enum text_plain plain)
{
    if (byte < 0x20 || byte == 0x7f || byte == '\\')
        return false;
    return byte < 0x80 || plain == TEXT_PLAIN_PRINTABLE;
}

void text_escape(const char *text, enum text_plain plain, char *dst,
                 size_t size)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        size_t len = is_plain(byte, plain) ? 1 : 4;

        if (len >= size)
            break;
        if (len == 1)
            *dst = *text;
        else
            snprintf(dst, size, "\\x%02x", byte);
        dst += len;
        size -= len;
    }
    *dst = '\0';
}

/* Length of the UTF-8 sequence at `text`, or 0 if it is not valid. */
static size_t utf8_len(const unsigned char *text)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = text[0] < 0x80                      ? 1
                 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                     : 0;
    uint32_t code = text[0] & (0xffu >> (len + 1));

    if (len < 2)
        return len;
    for (size_t i = 1; i < len; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if (code < least[len] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    return len;
}

bool text_is_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != '\0') {
        size_t len = utf8_len(at);

        if (len == 0)
            return false;
        at += len;
    }
    return true;
}
