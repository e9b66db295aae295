/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FETCH_AHEAD_H
#define FILE_FETCH_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct file;
struct store_waiter;

/* Return how many bytes of a file should be on their way, or wait in memory to
   be decoded, ahead of a sequential reader; 0: none. */
uint64_t fetch_ahead_window(struct file *file);

/*
 * Begin to fetch what is needed to decode a range of a file, except for what is
 * decoded already, as store_object_prefetch().
 *
 * Returns where this ended: at `end`, or before it because there was no more
 * memory, or an error that a reader of the bytes will get, too.
 */
uint64_t fetch_ahead(struct file *file, uint64_t off, uint64_t end,
                     struct store_waiter *waiter);

#endif
