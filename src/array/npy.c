/* SPDX-License-Identifier: BSD-3-Clause */
#include "array/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "array/npy_format.h"
#include "base/bytes.h"

enum {
    ALIGNMENT = 64,
    NDIM_MAX = 32, /* dimensions that all versions of NumPy support */
};

static int describe_bytes(uint32_t itemsize, struct dtype *out)
{
    *out = (struct dtype){ .itemsize = itemsize };
    return asprintf(&out->descr, "'|V%u'", itemsize) < 0 ? -ENOMEM : 0;
}

static int describe(const struct array *array, struct dtype *out)
{
    uint32_t itemsize = array->layout.itemsize;
    int r = array->dtype ? dtype_parse(array->dtype, out) : -EINVAL;

    if (r == 0 && (out->itemsize != itemsize ||
                   array->shape.ndim + out->ndim > NDIM_MAX)) {
        dtype_fini(out);
        r = -EINVAL;
    }
    return r == -EINVAL ? describe_bytes(itemsize, out) : r;
}

/* Print the header's dictionary. */
static void print(FILE *file, const struct array *array,
                  const struct dtype *dtype)
{
    unsigned ndim = array->shape.ndim + dtype->ndim;
    const char *end = ndim == 1 ? ",)" : ")";

    fprintf(file, "{'descr': %s, 'fortran_order': False, 'shape': (",
            dtype->descr);
    for (unsigned i = 0; i < array->shape.ndim; i++)
        fprintf(file, i > 0 ? ", %" PRIu64 : "%" PRIu64, array->shape.items[i]);
    for (unsigned i = array->shape.ndim; i < ndim; i++)
        fprintf(file, i > 0 ? ", %u" : "%u",
                dtype->shape[i - array->shape.ndim]);
    fprintf(file, "%s, }", end);
}

static int print_text(const struct array *array, char **text, size_t *len)
{
    struct dtype dtype;
    FILE *file;
    bool complete;
    int r = describe(array, &dtype);

    if (r < 0)
        return r;
    *text = NULL;
    file = open_memstream(text, len);
    if (file) {
        print(file, array, &dtype);
        complete = !ferror(file);
        complete &= fclose(file) == 0;
        r = complete ? 0 : -ENOMEM;
    } else {
        r = -ENOMEM;
    }
    dtype_fini(&dtype);
    if (r < 0)
        free(*text);
    return r;
}

static uint8_t choose_version(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x80)
            return 3;
    return len + ALIGNMENT > UINT16_MAX ? 2 : 1;
}

int npy_header(const struct array *array, uint8_t **header, size_t *len)
{
    char *text;
    size_t text_len;
    size_t start;
    size_t end;
    uint8_t version;
    uint8_t *bytes;
    int r = print_text(array, &text, &text_len);

    if (r < 0)
        return r;
    version = choose_version(text, text_len);
    start = NPY_MAGIC_LEN + 2 +
            (version == 1 ? sizeof(uint16_t) : sizeof(uint32_t));
    end = start + text_len + 1;
    end += (ALIGNMENT - end % ALIGNMENT) % ALIGNMENT;
    bytes = malloc(end);
    if (bytes) {
        memset(bytes, ' ', end);
        memcpy(bytes, npy_magic, NPY_MAGIC_LEN);
        bytes[NPY_MAGIC_LEN] = version;
        bytes[NPY_MAGIC_LEN + 1] = 0;
        if (version == 1)
            store_le16(bytes + NPY_MAGIC_LEN + 2, (uint16_t)(end - start));
        else
            store_le32(bytes + NPY_MAGIC_LEN + 2, (uint32_t)(end - start));
        memcpy(bytes + start, text, text_len);
        bytes[end - 1] = '\n';
        *header = bytes;
        *len = end;
    }
    free(text);
    return bytes ? 0 : -ENOMEM;
}
