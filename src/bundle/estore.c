/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/estore.h"

#include <errno.h>
#include <string.h>

#include "base/msgpack_any.h"
#include "base/size.h"

struct parser {
    struct msgpack reader;
    int (*visit)(void *context, const struct estore_value *value);
    void *context;
    int result; /* result of `visit` */
};

/* Is this string, the value just read, equal to a word? */
static bool take_word(const uint8_t *text, size_t len, const char *word)
{
    return text && len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Parse the value that the map has for a key.  Returns false if it is
   incomplete. */
static bool parse_place(struct msgpack *reader, struct estore_value *value)
{
    uint32_t npairs = msgpack_map(reader);
    bool has_off = false;
    bool has_len = false;
    uint64_t end;

    for (uint32_t i = 0; i < npairs && !reader->failed; i++) {
        size_t len;
        const uint8_t *word = msgpack_str(reader, &len);

        if (take_word(word, len, "offset")) {
            value->off = msgpack_uint(reader);
            has_off = true;
        } else if (take_word(word, len, "length")) {
            value->len = msgpack_uint(reader);
            has_len = true;
        } else {
            value->remote |= take_word(word, len, "urlbase");
            msgpack_skip(reader);
        }
    }
    if (value->remote)
        return true;
    return has_off && has_len && size_add(value->off, value->len, &end);
}

static void parse_values(struct parser *parser)
{
    struct msgpack *reader = &parser->reader;
    uint32_t nvalues = msgpack_map(reader);

    for (uint32_t i = 0; i < nvalues && !reader->failed; i++) {
        struct estore_value value = { 0 };
        size_t pos = reader->pos;

        value.key = (const char *)msgpack_str(reader, &value.key_len);
        if (!parse_place(reader, &value) && !reader->failed) {
            reader->failed = true;
            reader->pos = pos;
        }
        if (reader->failed)
            break;
        parser->result = parser->visit(parser->context, &value);
        if (parser->result != 0)
            break;
    }
}

/* Parse the outer map; only "embed_map" is used. */
static void parse(struct parser *parser)
{
    struct msgpack *reader = &parser->reader;
    uint32_t npairs = msgpack_map(reader);
    bool found = false;

    for (uint32_t i = 0; i < npairs && !reader->failed; i++) {
        size_t len;
        const uint8_t *word = msgpack_str(reader, &len);

        if (!found && take_word(word, len, "embed_map")) {
            found = true;
            parse_values(parser);
            if (parser->result != 0)
                break;
        } else {
            msgpack_skip(reader);
        }
    }
}

int estore_parse(const uint8_t *bytes, size_t len,
                 int (*visit)(void *context, const struct estore_value *value),
                 void *context, struct fault *fault)
{
    struct parser parser = {
        .reader = { .bytes = bytes, .len = len },
        .visit = visit,
        .context = context,
    };

    parse(&parser);
    if (parser.reader.failed)
        return fault_set(fault, -EBADMSG, parser.reader.pos,
                         "the map of an embed store is damaged");
    return parser.result;
}
