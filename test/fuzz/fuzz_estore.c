/* SPDX-License-Identifier: BSD-3-Clause */

/* The map of an embed store. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/size.h"
#include "bundle/estore.h"
#include "fuzz.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

struct input {
    const uint8_t *data;
    size_t size;
};

/* A key must lie in the map, and the end of a value must fit into 64 bits. */
static int check_value(void *context, const struct estore_value *value)
{
    const struct input *input = context;
    const uint8_t *key = (const uint8_t *)value->key;
    uint64_t end;

    insist(key >= input->data);
    insist(key + value->key_len <= input->data + input->size);
    insist(value->remote || size_add(value->off, value->len, &end));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    struct fault fault = FAULT_NONE;

    if (estore_parse(data, size, check_value, &input, &fault) < 0)
        insist(fault.what && fault.off <= size);
    return 0;
}
