/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/json_object.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "net/secret.h"

enum {
    DEPTH_MAX = 16
};

/* A reader that fails once. */
struct json {
    const char *text;
    size_t len;
    size_t pos;
    const char *what; /* why it failed; NULL: it has not */
};

static void fail(struct json *json, const char *what)
{
    if (!json->what)
        json->what = what;
}

static bool sees(const struct json *json, char c)
{
    return !json->what && json->pos < json->len && json->text[json->pos] == c;
}

static void skip_blanks(struct json *json)
{
    while (sees(json, ' ') || sees(json, '\t') || sees(json, '\n') ||
           sees(json, '\r'))
        json->pos++;
}

/* Skip a character and the blanks around it, if it comes next. */
static bool takes(struct json *json, char c)
{
    skip_blanks(json);
    if (!sees(json, c))
        return false;
    json->pos++;
    skip_blanks(json);
    return true;
}

static void expect(struct json *json, char c, const char *what)
{
    if (!takes(json, c))
        fail(json, what);
}

static void add_utf8(uint32_t code, struct secret *out)
{
    uint8_t bytes[4] = { (uint8_t)code };
    size_t len = 1;

    if (code >= 0x10000) {
        bytes[0] = (uint8_t)(0xf0 | code >> 18);
        bytes[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        bytes[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        len = 4;
    } else if (code >= 0x800) {
        bytes[0] = (uint8_t)(0xe0 | code >> 12);
        bytes[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        len = 3;
    } else if (code >= 0x80) {
        bytes[0] = (uint8_t)(0xc0 | code >> 6);
        len = 2;
    }
    if (len > 1)
        bytes[len - 1] = (uint8_t)(0x80 | (code & 0x3f));
    secret_add_bytes(out, bytes, len);
}

/* Read four digits; 0, which is refused as well, if they are not there. */
static uint32_t read_hex(struct json *json)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++, json->pos++) {
        char c = json->pos < json->len ? json->text[json->pos] : '\0';

        if (!isxdigit((unsigned char)c))
            return 0;
        code =
            code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
}

/* Read the digits that follow \u. */
static void read_unicode(struct json *json, struct secret *out)
{
    uint32_t code = read_hex(json);
    uint32_t low;

    if (code >= 0xd800 && code < 0xdc00 && json->len - json->pos >= 2 &&
        memcmp(json->text + json->pos, "\\u", 2) == 0) {
        json->pos += 2;
        low = read_hex(json);
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        fail(json, "JSON text has a wrong \\u");
    else
        add_utf8(code, out);
}

/* Read the character that follows a backslash. */
static void read_escape(struct json *json, struct secret *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    char c = json->pos < json->len ? json->text[json->pos] : '\0';

    if (c == 'u') {
        json->pos++;
        read_unicode(json, out);
        return;
    }
    letter = c != '\0' ? strchr(letters, c) : NULL;
    if (!letter) {
        fail(json, "JSON text has an unknown escape");
        return;
    }
    json->pos++;
    secret_add_bytes(out, &meanings[letter - letters], 1);
}

static void read_text(struct json *json, struct secret *out)
{
    size_t off = out->len;
    size_t pos = json->pos;

    if (!sees(json, '"')) {
        fail(json, "JSON has no text here");
        return;
    }
    json->pos++;
    secret_add(out, "");
    while (!json->what && !sees(json, '"')) {
        const char *at = json->text + json->pos;

        if (json->pos == json->len || (unsigned char)*at < 0x20) {
            fail(json, "JSON text does not end");
        } else if (*at == '\\') {
            json->pos++;
            read_escape(json, out);
        } else {
            secret_add_bytes(out, at, 1);
            json->pos++;
        }
    }
    if (json->what)
        return;
    json->pos++;
    if (out->failed || text_is_utf8(out->text + off))
        return;
    json->pos = pos;
    fail(json, "JSON text is not UTF-8");
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '+' || c == '-' || c == '.';
}

/* Read a number, true, false or null.  Numbers are not checked further, because
   the caller parses those that it wants. */
static void read_word(struct json *json, struct secret *out)
{
    size_t pos = json->pos;

    while (json->pos < json->len && is_word_char(json->text[json->pos]))
        json->pos++;
    if (json->pos == pos)
        fail(json, "JSON has no value here");
    secret_add_bytes(out, json->text + pos, json->pos - pos);
}

/* Skip arrays and objects, of which the first bracket comes next.  Their
   brackets need only balance, because nothing in them matters. */
static void skip_nested(struct json *json, struct secret *scratch)
{
    char closing[DEPTH_MAX];
    size_t depth = 0;

    do {
        if (depth < DEPTH_MAX && (sees(json, '{') || sees(json, '['))) {
            closing[depth++] = sees(json, '{') ? '}' : ']';
            json->pos++;
        } else if (depth > 0 && sees(json, closing[depth - 1])) {
            depth--;
            json->pos++;
        } else if (sees(json, '"')) {
            read_text(json, scratch);
        } else if (sees(json, ',') || sees(json, ':')) {
            json->pos++;
        } else {
            read_word(json, scratch);
        }
        if (depth > 0)
            skip_blanks(json);
    } while (!json->what && depth > 0);
}

/* Read a value.  Returns false if it is null or of no use. */
static bool read_value(struct json *json, struct secret *out)
{
    if (sees(json, '"')) {
        read_text(json, out);
        return !json->what;
    }
    if (sees(json, '{') || sees(json, '[')) {
        skip_nested(json, out);
        return false;
    }
    read_word(json, out);
    return !json->what && !out->failed && strcmp(out->text, "null") != 0;
}

static void keep(struct json_member *members, size_t n, const char *name,
                 struct secret *value)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(members[i].name, name) != 0)
            continue;
        secret_free(members[i].text);
        members[i].text = secret_take(value);
    }
}

/* Returns false if there is no memory. */
static bool read_member(struct json *json, struct json_member *members,
                        size_t n)
{
    struct secret name = { 0 };
    struct secret value = { 0 };
    bool ok;

    read_text(json, &name);
    expect(json, ':', "JSON name has no value");
    secret_add(&value, "");
    if (!json->what && read_value(json, &value) && !name.failed &&
        !value.failed)
        keep(members, n, name.text, &value);
    ok = !name.failed && !value.failed;
    secret_fini(&name);
    secret_fini(&value);
    return ok;
}

/* Returns false if there is no memory. */
static bool read_object(struct json *json, struct json_member *members,
                        size_t n)
{
    bool ok = true;

    expect(json, '{', "JSON has no object");
    if (takes(json, '}'))
        return true;
    do
        ok = read_member(json, members, n);
    while (ok && takes(json, ','));
    expect(json, '}', "JSON object does not end");
    return ok;
}

int json_object_parse(const char *text, size_t len, struct json_member *members,
                      size_t n, struct fault *fault)
{
    struct json json = { .text = text, .len = len };
    int r = 0;

    if (!read_object(&json, members, n))
        r = -ENOMEM;
    else if (!json.what && json.pos < len)
        fail(&json, "JSON does not end after its object");
    if (r == 0 && json.what)
        r = fault_set(fault, -EBADMSG, json.pos, json.what);
    for (size_t i = 0; r < 0 && i < n; i++) {
        secret_free(members[i].text);
        members[i].text = NULL;
    }
    return r;
}
