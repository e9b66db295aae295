/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/dtype.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/literal.h"

enum {
    DEPTH_MAX = 16,    /* nesting of structured types */
    TYPE_LEN_MAX = 64, /* of a type string, with its quotes */
    UCS4_SIZE = 4,     /* bytes in a character */
    SIZE_MAX_BYTES = INT32_MAX,
};

/* State of a translation.  All sizes are in bytes. */
struct translation {
    FILE *out;
    unsigned depth;
    bool failed;
};

static uint64_t fail(struct translation *translation)
{
    translation->failed = true;
    return 0;
}

/* Fail if a sum or product of sizes is too large. */
static uint64_t limit(struct translation *translation, uint64_t size)
{
    return size <= SIZE_MAX_BYTES ? size : fail(translation);
}

/* Item sizes of each kind of number. */
static const struct {
    char kind;
    uint8_t sizes[5]; /* terminated by 0 */
} number_kinds[] = {
    { 'b', { 1 } },
    { 'i', { 1, 2, 4, 8 } },
    { 'u', { 1, 2, 4, 8 } },
    { 'f', { 2, 4, 8, 12, 16 } },
    { 'c', { 8, 16, 24, 32 } },
    { 'm', { 8 } },
    { 'M', { 8 } },
};

static bool is_number(char kind, uint64_t size)
{
    for (size_t i = 0; i < sizeof(number_kinds) / sizeof(number_kinds[0]); i++)
        if (number_kinds[i].kind == kind && size > 0)
            return size < 256 && memchr(number_kinds[i].sizes, (int)size,
                                        sizeof(number_kinds[i].sizes));
    return false;
}

/* Is the text empty, or the unit of a time such as "[ns]" or "[25s]"? */
static bool is_unit(const char *text, char kind)
{
    static const char *const units[] = {
        "Y",  "M",  "W",  "D",  "h",  "m",  "s",
        "ms", "us", "ns", "ps", "fs", "as", "generic",
    };
    size_t len;

    if (*text == '\0')
        return true;
    if ((kind != 'm' && kind != 'M') || *text++ != '[')
        return false;
    while (isdigit((unsigned char)*text))
        text++;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        len = strlen(units[i]);
        if (strncmp(text, units[i], len) == 0 && strcmp(text + len, "]") == 0)
            return true;
    }
    return false;
}

/* Write a type string made of `kind`, `count` and `unit`. */
static void write_code(struct translation *translation, char order, char kind,
                       uint32_t count, const char *unit)
{
    bool any = count == 1 ? kind != 'U' : kind == 'S' || kind == 'V';

    fprintf(translation->out, "'%c%c%u%s'",
            any            ? '|'
            : order == '>' ? '>'
                           : '<',
            kind, count, unit);
}

/* Translate a type string without quotes.  Returns the item's size. */
static uint64_t write_type_string(struct translation *translation,
                                  const char *text)
{
    char order = *text && strchr("<>=|", *text) ? *text++ : '<';
    char kind = *text ? *text++ : '\0';
    struct literal rest = { .at = text };
    uint32_t count;

    if (kind == '?' && *text == '\0') {
        write_code(translation, order, 'b', 1, "");
        return 1;
    }
    count = literal_number(&rest);
    if (kind == 'a')
        kind = 'S';
    if (rest.failed || *text == ' ' || !is_unit(rest.at, kind))
        return fail(translation);
    if (!is_number(kind, count) && kind != 'S' && kind != 'U' && kind != 'V')
        return fail(translation);
    write_code(translation, order, kind, count, rest.at);
    return limit(translation,
                 kind == 'U' ? (uint64_t)count * UCS4_SIZE : count);
}

static uint64_t write_type(struct translation *translation,
                           struct literal *from);

/* Read a shape, which is a number or a tuple of numbers.  Returns the number of
   items in it. */
static uint64_t read_shape(struct translation *translation,
                           struct literal *from, uint32_t *shape,
                           unsigned *ndim)
{
    bool tuple = literal_takes(from, '(');
    uint64_t nitems = 1;

    *ndim = 0;
    while (tuple ? literal_more(from, *ndim == 0, ')') : *ndim == 0) {
        if (*ndim == DTYPE_NDIM_MAX)
            return fail(translation);
        shape[*ndim] = literal_number(from);
        nitems = limit(translation, nitems * shape[(*ndim)++]);
    }
    return nitems;
}

/* Translate a shape.  Returns the number of items in it. */
static uint64_t write_shape(struct translation *translation,
                            struct literal *from)
{
    uint32_t shape[DTYPE_NDIM_MAX];
    unsigned ndim;
    uint64_t nitems = read_shape(translation, from, shape, &ndim);

    fputc('(', translation->out);
    for (unsigned i = 0; i < ndim; i++)
        fprintf(translation->out, i > 0 ? ", %u" : "%u", shape[i]);
    fputs(ndim == 1 ? ",)" : ")", translation->out);
    return nitems;
}

/* Translate the type of a field.  If it is a pair of type and shape, both
   become elements of the field's own tuple. */
static uint64_t write_field_type(struct translation *translation,
                                 struct literal *from)
{
    uint64_t size;

    if (!literal_takes(from, '('))
        return write_type(translation, from);
    size = write_type(translation, from);
    literal_expect(from, ',');
    fputs(", ", translation->out);
    size = limit(translation, size * write_shape(translation, from));
    literal_takes(from, ',');
    literal_expect(from, ')');
    return size;
}

static void write_string(struct translation *translation, struct literal *from)
{
    size_t len;
    const char *string = literal_string(from, &len);

    if (string)
        fwrite(string, 1, len, translation->out);
}

/* Translate a name, or a pair of title and name. */
static void write_name(struct translation *translation, struct literal *from)
{
    if (!literal_takes(from, '(')) {
        write_string(translation, from);
        return;
    }
    fputc('(', translation->out);
    write_string(translation, from);
    literal_expect(from, ',');
    fputs(", ", translation->out);
    write_string(translation, from);
    literal_expect(from, ')');
    fputc(')', translation->out);
}

/* Translate a list of fields, after its opening bracket. */
static uint64_t write_list(struct translation *translation,
                           struct literal *from)
{
    uint64_t size = 0;

    for (bool first = true; literal_more(from, first, ']'); first = false) {
        bool plain;
        uint64_t field;

        literal_expect(from, '(');
        fputs(first ? "(" : ", (", translation->out);
        write_name(translation, from);
        literal_expect(from, ',');
        fputs(", ", translation->out);
        plain = !literal_sees(from, '(');
        field = write_field_type(translation, from);
        if (literal_takes(from, ',') && plain) {
            fputs(", ", translation->out);
            field = limit(translation, field * write_shape(translation, from));
        }
        literal_expect(from, ')');
        fputc(')', translation->out);
        size = limit(translation, size + field);
    }
    return size;
}

/* The values of a dictionary: readers of its lists, which are then read in
   parallel.  A missing value has no text. */
struct fields {
    struct literal names;
    struct literal titles;
    struct literal formats;
    struct literal offsets;
    struct literal itemsize;
};

static struct literal *find_key(struct fields *fields, struct literal *from)
{
    struct {
        const char *key;
        struct literal *value;
    } keys[] = {
        { "names", &fields->names },       { "titles", &fields->titles },
        { "formats", &fields->formats },   { "offsets", &fields->offsets },
        { "itemsize", &fields->itemsize },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (literal_takes_string(from, keys[i].key))
            return keys[i].value;
    /* "aligned" needs no action, because the offsets already reflect it. */
    if (!literal_takes_string(from, "aligned"))
        from->failed = true;
    return NULL;
}

/* Find the values of a dictionary, after its opening bracket. */
static struct fields find_fields(struct literal *from)
{
    struct fields fields = { 0 };

    for (bool first = true; literal_more(from, first, '}'); first = false) {
        struct literal *value = find_key(&fields, from);

        literal_expect(from, ':');
        if (value)
            *value = *from;
        literal_skip(from);
    }
    if (!fields.names.at || !fields.formats.at || !fields.offsets.at ||
        !fields.itemsize.at)
        from->failed = true;
    return fields;
}

/* Write a field without a name, which fills a gap. */
static void write_gap(struct translation *translation, uint64_t size,
                      bool first)
{
    if (size > 0)
        fprintf(translation->out, first ? "('', '|V%u')" : ", ('', '|V%u')",
                (uint32_t)size);
}

/* Is there one more element?  Fails unless all lists agree. */
static bool more_fields(struct fields *fields, bool first)
{
    bool more = literal_more(&fields->names, first, ']');
    bool same = literal_more(&fields->formats, first, ']') == more &&
                literal_more(&fields->offsets, first, ']') == more;

    if (fields->titles.at)
        same &= literal_more(&fields->titles, first, ']') == more;
    fields->names.failed |= !same;
    return more && same;
}

static void write_title_and_name(struct translation *translation,
                                 struct fields *fields)
{
    bool title = fields->titles.at && !literal_sees(&fields->titles, 'N');

    if (title) {
        fputc('(', translation->out);
        write_string(translation, &fields->titles);
        fputs(", ", translation->out);
    } else if (fields->titles.at) {
        literal_skip(&fields->titles); /* None */
    }
    write_string(translation, &fields->names);
    if (title)
        fputc(')', translation->out);
}

/* Translate the fields of a dictionary. */
static uint64_t write_fields(struct translation *translation,
                             struct fields *fields)
{
    uint64_t end = 0; /* of the previous field */
    uint64_t size;
    bool first = true;

    literal_expect(&fields->names, '[');
    literal_expect(&fields->formats, '[');
    literal_expect(&fields->offsets, '[');
    if (fields->titles.at)
        literal_expect(&fields->titles, '[');
    for (; more_fields(fields, first); first = false) {
        uint64_t off = literal_number(&fields->offsets);

        if (off < end)
            return fail(translation);
        write_gap(translation, off - end, first);
        fputs(first && off == end ? "(" : ", (", translation->out);
        write_title_and_name(translation, fields);
        fputs(", ", translation->out);
        end = off + write_field_type(translation, &fields->formats);
        fputc(')', translation->out);
        end = limit(translation, end);
    }
    size = literal_number(&fields->itemsize);
    if (size < end)
        return fail(translation);
    write_gap(translation, size - end, first);
    return size;
}

static uint64_t write_dictionary(struct translation *translation,
                                 struct literal *from)
{
    struct fields fields = find_fields(from);
    uint64_t size;

    if (from->failed)
        return fail(translation);
    size = write_fields(translation, &fields);
    if (fields.names.failed || fields.titles.failed || fields.formats.failed ||
        fields.offsets.failed || fields.itemsize.failed)
        return fail(translation);
    return size;
}

/* Translate a structured type.  Returns the item's size. */
static uint64_t write_structure(struct translation *translation,
                                struct literal *from)
{
    uint64_t size;

    if (translation->depth == DEPTH_MAX)
        return fail(translation);
    translation->depth++;
    fputc('[', translation->out);
    if (literal_takes(from, '{')) {
        size = write_dictionary(translation, from);
    } else {
        literal_expect(from, '[');
        size = write_list(translation, from);
    }
    fputc(']', translation->out);
    translation->depth--;
    return size;
}

/* Translate a type.  Returns the item's size. */
static uint64_t write_type(struct translation *translation,
                           struct literal *from)
{
    char text[TYPE_LEN_MAX];
    const char *string;
    size_t len;

    if (literal_sees(from, '[') || literal_sees(from, '{'))
        return write_structure(translation, from);
    string = literal_string(from, &len);
    if (!string || len > sizeof(text))
        return fail(translation);
    memcpy(text, string + 1, len - 2);
    text[len - 2] = '\0';
    return write_type_string(translation, text);
}

/* Translate the whole text.  A type string has no quotes at this level. */
static uint64_t translate(struct translation *translation, const char *text,
                          struct dtype *dtype)
{
    struct literal from = { .at = text };
    bool pair;
    uint64_t size;

    if (!*text || !strchr("[{(", *text))
        return write_type_string(translation, text);
    pair = literal_takes(&from, '(');
    size = write_type(translation, &from);
    if (pair) {
        literal_expect(&from, ',');
        size *= read_shape(translation, &from, dtype->shape, &dtype->ndim);
        literal_takes(&from, ',');
        literal_expect(&from, ')');
    }
    if (from.failed || *from.at != '\0')
        return fail(translation);
    return limit(translation, size);
}

int dtype_parse(const char *text, struct dtype *out)
{
    struct translation translation = { 0 };
    struct dtype dtype = { 0 };
    size_t len;
    bool complete;

    translation.out = open_memstream(&dtype.descr, &len);
    if (!translation.out)
        return -ENOMEM;
    dtype.itemsize = (uint32_t)translate(&translation, text, &dtype);
    complete = !ferror(translation.out);
    complete &= fclose(translation.out) == 0;
    if (translation.failed || !complete) {
        dtype_fini(&dtype);
        return complete ? -EINVAL : -ENOMEM;
    }
    *out = dtype;
    return 0;
}

void dtype_fini(struct dtype *dtype)
{
    free(dtype->descr);
    *dtype = (struct dtype){ 0 };
}
