/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_BUFFER_H
#define CACHE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory for decoded blocks.  Large buffers are whole pages that come straight
 * from the system and go straight back, because memory that is freed must
 * really be free.  A buffer that is kept for reuse costs no page faults and no
 * zeroing again.
 */

enum {
    BUFFER_ROW = 2 << 20, /* bytes of a row of buffers */
};

/* Return the size of the buffer for `len` bytes.  Buffers of equal size are
   interchangeable.  Large ones are a part of a row that is a power of two, if
   that leaves little over. */
size_t buffer_size(size_t len);

/* Allocate a buffer of `size` bytes, a buffer_size(), or return NULL.  Its
   content is undefined. */
uint8_t *buffer_new(size_t size);
void buffer_free(uint8_t *buf, size_t size);

/* Unused buffers, linked through their first bytes.  A zeroed stack is empty.
   The caller does the locking. */
struct buffer_stack {
    struct buffer_spare *top;
    size_t count;
    size_t nbytes;
};

/*
 * Make a buffer and, if its size divides BUFFER_ROW, more buffers that lie in a
 * row with it, because a huge page costs one page fault for all of them.
 *
 *  rest  receives the other buffers
 *
 * Returns NULL if there is no memory.
 */
uint8_t *buffer_new_row(size_t size, struct buffer_stack *rest);

/* Push a buffer of `size` bytes, a buffer_size(). */
void buffer_push(struct buffer_stack *stack, uint8_t *buf, size_t size);

/* Take out a buffer of exactly this size, or return NULL. */
uint8_t *buffer_take(struct buffer_stack *stack, size_t size);

/* Move the top buffer, which must exist, to another stack. */
void buffer_move(struct buffer_stack *from, struct buffer_stack *to);

/* Free all buffers of the stack. */
void buffer_stack_fini(struct buffer_stack *stack);

#endif
