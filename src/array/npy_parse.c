/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/literal.h"
#include "array/npy.h"
#include "array/npy_format.h"
#include "base/bytes.h"

enum {
    VERSION_MAX = 3
};

/* Offset of the dictionary. */
static size_t start_of(const uint8_t *head)
{
    return NPY_MAGIC_LEN + 2 +
           (head[NPY_MAGIC_LEN] == 1 ? sizeof(uint16_t) : sizeof(uint32_t));
}

uint64_t npy_header_len(const uint8_t *head)
{
    uint8_t version = head[NPY_MAGIC_LEN];

    if (memcmp(head, npy_magic, NPY_MAGIC_LEN) != 0 || version < 1 ||
        version > VERSION_MAX)
        return 0;
    return start_of(head) +
           (version == 1 ? load_le16(head + NPY_MAGIC_LEN + 2)
                         : (uint64_t)load_le32(head + NPY_MAGIC_LEN + 2));
}

/* The values of the dictionary.  A missing value has no text. */
struct values {
    struct literal descr;
    struct literal order;
    struct literal shape;
    const char *descr_end;
};

static struct values find_values(struct literal *from)
{
    struct values values = { 0 };

    literal_expect(from, '{');
    for (bool first = true; literal_more(from, first, '}'); first = false) {
        bool descr = literal_takes_string(from, "descr");
        struct literal *value = NULL;

        if (descr)
            value = &values.descr;
        else if (literal_takes_string(from, "fortran_order"))
            value = &values.order;
        else if (literal_takes_string(from, "shape"))
            value = &values.shape;
        literal_expect(from, ':');
        literal_takes(from, ' ');
        if (value)
            *value = *from;
        literal_skip(from);
        if (descr)
            values.descr_end = from->at;
    }
    if (!values.descr.at || !values.order.at || !values.shape.at)
        from->failed = true;
    return values;
}

static int read_shape(struct literal *from, struct layout_shape *shape)
{
    literal_expect(from, '(');
    while (literal_more(from, shape->ndim == 0, ')')) {
        if (shape->ndim == ARRAY_NDIM_MAX)
            return -EINVAL;
        shape->items[shape->ndim++] = literal_long(from);
    }
    return from->failed ? -EINVAL : 0;
}

/* Fortran order of less than two dimensions is the same as C order. */
static int read_order(const struct literal *order, struct npy *npy)
{
    bool fortran = strncmp(order->at, "True", strlen("True")) == 0;

    if (!fortran && strncmp(order->at, "False", strlen("False")) != 0)
        return -EINVAL;
    npy->fortran = fortran && npy->shape.ndim > 1;
    return 0;
}

static int read_dtype(const struct values *values, struct npy *npy)
{
    const char *start = values->descr.at;
    const char *end = values->descr_end;
    bool string = *start == '\'' || *start == '"';
    struct dtype dtype;
    int r;

    while (end > start && end[-1] == ' ')
        end--;
    if (string && end - start < 2)
        return -EINVAL;
    npy->dtype = strndup(start + string, (size_t)(end - start) - 2 * string);
    if (!npy->dtype)
        return -ENOMEM;
    r = dtype_parse(npy->dtype, &dtype);
    if (r < 0)
        return r;
    npy->itemsize = dtype.itemsize;
    r = dtype.ndim > 0 || dtype.itemsize == 0 ? -EINVAL : 0;
    dtype_fini(&dtype);
    return r;
}

static int parse(const char *text, struct npy *npy)
{
    struct literal from = { .at = text };
    struct values values = find_values(&from);
    int r;

    if (from.failed)
        return -EINVAL;
    r = read_shape(&values.shape, &npy->shape);
    if (r == 0)
        r = read_order(&values.order, npy);
    return r == 0 ? read_dtype(&values, npy) : r;
}

/* Copy the dictionary as UTF-8.  Before version 3 it is in Latin-1. */
static char *text_of(const uint8_t *header, size_t len)
{
    size_t start = start_of(header);
    bool latin = header[NPY_MAGIC_LEN] < 3;
    char *text = malloc(2 * (len - start) + 1);
    char *at = text;

    if (!text)
        return NULL;
    for (size_t i = start; i < len; i++) {
        if (latin && header[i] >= 0x80) {
            *at++ = (char)(0xC0 | header[i] >> 6);
            *at++ = (char)(0x80 | (header[i] & 0x3F));
        } else {
            *at++ = (char)header[i];
        }
    }
    *at = '\0';
    return text;
}

int npy_parse(const uint8_t *header, size_t len, struct npy *out)
{
    char *text = text_of(header, len);
    struct npy npy = { 0 };
    int r;

    if (!text)
        return -ENOMEM;
    r = parse(text, &npy);
    free(text);
    if (r < 0) {
        npy_fini(&npy);
        return r;
    }
    *out = npy;
    return 0;
}

void npy_fini(struct npy *npy)
{
    free(npy->dtype);
    *npy = (struct npy){ 0 };
}
