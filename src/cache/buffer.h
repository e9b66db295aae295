/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_BUFFER_H
#define CACHE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory for decoded blocks.  Large buffers are whole pages, straight from the
 * system and back to it, so that what is freed is really free; kept for reuse,
 * they cost no page faults and no zeroing again.
 */

/* The size of the buffer that holds `len` bytes; buffers of one size fit. */
size_t buffer_size(size_t len);

/* `size` is a buffer_size().  The content is undefined.  NULL: no memory. */
uint8_t *buffer_new(size_t size);
void buffer_free(uint8_t *buf, size_t size);

/* Buffers that nobody uses, linked through their first bytes.  Zeroed: none.
   The caller locks it. */
struct buffer_stack {
    struct buffer_spare *top;
    size_t count;
    size_t nbytes;
};

enum {
    BUFFER_ROW = 2 << 20 /* bytes of a row of buffers */
};

/*
 * Make a buffer and, of sizes that go well together, some more that lie in a
 * row with it: a huge page is one page fault for all.
 *
 *  rest  gets the others
 */
uint8_t *buffer_new_row(size_t size, struct buffer_stack *rest);

/* Put a buffer of `size` bytes, a buffer_size(), on top. */
void buffer_push(struct buffer_stack *stack, uint8_t *buf, size_t size);

/* Take out a buffer of exactly this size, or return NULL. */
uint8_t *buffer_take(struct buffer_stack *stack, size_t size);

/* Move the topmost buffer, of which there is one, to another stack. */
void buffer_move(struct buffer_stack *from, struct buffer_stack *to);

/* Free them all. */
void buffer_stack_fini(struct buffer_stack *stack);

#endif
