/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/buffer.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    LARGE = 32 * 1024, /* from this size on, buffers are whole pages */
    SMALL_STEP = 64,   /* of smaller ones, so that buffer_spare always fits */
    WASTE = 8,         /* the part of a buffer in a row that may be left over */
};

struct buffer_spare {
    struct buffer_spare *next;
    size_t size;
};

size_t buffer_size(size_t len)
{
    size_t step = len >= LARGE ? PAGE : SMALL_STEP;
    size_t part = LARGE;

    while (part < len)
        part *= 2;
    if (part < BUFFER_ROW && part - len <= part / WASTE)
        return part;
    return (len + step - 1) / step * step;
}

static uint8_t *map(size_t size)
{
    void *buf = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return buf == MAP_FAILED ? NULL : buf;
}

uint8_t *buffer_new(size_t size)
{
    return size < LARGE ? malloc(size) : map(size);
}

/* Map a huge page, or small pages of the same size if the system has none. */
static uint8_t *map_huge(void)
{
    uint8_t *buf = map(2 * BUFFER_ROW);
    size_t before;

    if (!buf)
        return NULL;
    before = (BUFFER_ROW - (uintptr_t)buf % BUFFER_ROW) % BUFFER_ROW;
    if (before > 0)
        munmap(buf, before);
    munmap(buf + before + BUFFER_ROW, BUFFER_ROW - before);
    madvise(buf + before, BUFFER_ROW, MADV_HUGEPAGE);
    return buf + before;
}

uint8_t *buffer_new_row(size_t size, struct buffer_stack *rest)
{
    uint8_t *row;

    if (size < LARGE || size >= BUFFER_ROW || BUFFER_ROW % size != 0)
        return buffer_new(size);
    row = map_huge();
    for (size_t off = BUFFER_ROW - size; row && off > 0; off -= size)
        buffer_push(rest, row + off, size);
    return row;
}

void buffer_free(uint8_t *buf, size_t size)
{
    if (size < LARGE)
        free(buf);
    else
        munmap(buf, size);
}

void buffer_push(struct buffer_stack *stack, uint8_t *buf, size_t size)
{
    struct buffer_spare *spare = (struct buffer_spare *)(void *)buf;

    spare->next = stack->top;
    spare->size = size;
    stack->top = spare;
    stack->count++;
    stack->nbytes += size;
}

/* Unlink the buffer that `link` points to. */
static struct buffer_spare *pop(struct buffer_stack *stack,
                                struct buffer_spare **link)
{
    struct buffer_spare *spare = *link;

    *link = spare->next;
    stack->count--;
    stack->nbytes -= spare->size;
    return spare;
}

uint8_t *buffer_take(struct buffer_stack *stack, size_t size)
{
    struct buffer_spare **link = &stack->top;

    while (*link && (*link)->size != size)
        link = &(*link)->next;
    return *link ? (uint8_t *)pop(stack, link) : NULL;
}

void buffer_move(struct buffer_stack *from, struct buffer_stack *to)
{
    struct buffer_spare *spare = pop(from, &from->top);

    buffer_push(to, (uint8_t *)spare, spare->size);
}

void buffer_stack_fini(struct buffer_stack *stack)
{
    while (stack->top) {
        struct buffer_spare *spare = pop(stack, &stack->top);

        buffer_free((uint8_t *)spare, spare->size);
    }
}
