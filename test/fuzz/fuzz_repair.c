/* SPDX-License-Identifier: BSD-3-Clause */

/* The readable rest of a contiguous frame. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "array/array_repair.h"
#include "fuzz.h"
#include "repair/repair.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* Bytes that repair has reported as lost. */
static uint64_t nlost;

static void count_lost(void *context, const struct repair_loss *loss)
{
    char text[256];

    (void)context;
    insist(loss->error < 0);
    fault_format(&loss->fault, loss->error, text, sizeof(text));
    nlost += loss->nbytes;
}

static void see_layer(void *context, const struct repair_layer *layer,
                      const struct fault *fault)
{
    char text[256];

    (void)context;
    insist(layer->done);
    fault_format(fault, -EBADMSG, text, sizeof(text));
}

static int go_on(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    (void)done;
    (void)total;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct repair_listener listener = {
        .lost = count_lost,
        .check_layer = array_repair_layer,
        .layer = see_layer,
        .progress = go_on,
    };
    struct fault fault = FAULT_NONE;
    struct repair *repair;
    struct store *store;

    if (store_mem_open(data, size, &store) < 0)
        abort();
    nlost = 0;
    if (repair_open(store, 0, &listener, &repair, &fault) == 0) {
        insist(repair_get_result(repair)->nbytes_lost == nlost);
        insist(nlost <= repair_get_result(repair)->nbytes);
        repair_close(repair);
    }
    store_close(store);
    return 0;
}
