/* SPDX-License-Identifier: BSD-3-Clause */

/* The description of an item of an array. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/dtype.h"
#include "fuzz.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* The resulting description must parse again, to the same text. */
static void parse_again(const struct dtype *dtype)
{
    size_t len = strlen(dtype->descr);
    bool quoted = dtype->descr[0] == '\'';
    char *text = quoted ? strndup(dtype->descr + 1, len - 2)
                        : strndup(dtype->descr, len);
    struct dtype again;
    uint64_t nitems = 1;

    insist(text && dtype_parse(text, &again) == 0);
    for (unsigned i = 0; i < dtype->ndim; i++)
        nitems *= dtype->shape[i];
    insist(again.ndim == 0 && again.itemsize * nitems == dtype->itemsize);
    insist(strcmp(again.descr, dtype->descr) == 0);
    dtype_fini(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct dtype dtype;

    insist(text);
    if (dtype_parse(text, &dtype) == 0) {
        parse_again(&dtype);
        dtype_fini(&dtype);
    }
    free(text);
    return 0;
}
