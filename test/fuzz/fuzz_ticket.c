/* SPDX-License-Identifier: BSD-3-Clause */

/* A file that may be a ticket. */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame_ticket.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_ticket ticket = { 0 };
    struct fault fault = FAULT_NONE;
    struct store *store;
    const char *why;
    int r;

    if (store_mem_open(data, size, &store) < 0)
        return 0;
    r = frame_ticket_read(store, &ticket, &fault);
    store_close(store);
    if (r > 0 && frame_ticket_check(ticket.url, &why) < 0)
        abort();
    if (r > 1 || (r < 0 && r != -ENOMEM && !fault.what))
        abort();
    frame_ticket_fini(&ticket);
    return 0;
}
