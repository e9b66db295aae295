/* SPDX-License-Identifier: BSD-3-Clause */

/* The header of a .npy file. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/npy.h"
#include "fuzz.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* A header made from the result must parse to the same result again. */
static void encode_again(const struct npy *npy)
{
    struct array array = { .shape = npy->shape,
                           .layout = { .itemsize = npy->itemsize },
                           .dtype = npy->dtype };
    struct npy again;
    uint8_t *header;
    size_t len;

    insist(npy_header(&array, &header, &len) == 0);
    insist(npy_header_len(header) == len);
    insist(npy_parse(header, len, &again) == 0);
    insist(again.itemsize == npy->itemsize &&
           again.shape.ndim == npy->shape.ndim);
    for (unsigned i = 0; i < npy->shape.ndim; i++)
        insist(again.shape.items[i] == npy->shape.items[i]);
    npy_fini(&again);
    free(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy npy;
    uint64_t len;

    if (size < NPY_HEAD_LEN)
        return 0;
    len = npy_header_len(data);
    if (len == 0 || len > size || npy_parse(data, (size_t)len, &npy) < 0)
        return 0;
    encode_again(&npy);
    npy_fini(&npy);
    return 0;
}
