/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/entry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "cache/buffer.h"

enum {
    GROUP_MIN = 32 << 10, /* bytes of blocks that share a buffer */
    GROUP_MAX = 1 << 20,
    GROUPS_MAX = 128,          /* of a chunk, if they are not of GROUP_MAX */
    ALLOCATION_OVERHEAD = 128, /* of the few small allocations of an entry */
};

/*
 * Return the number of blocks in a group of a chunk of which `len` bytes are
 * wanted.  A group that is much larger would take up memory for blocks that
 * nobody wants.
 */
static uint32_t group_nblocks(const struct cache_shape *shape, size_t len)
{
    size_t size = GROUP_MIN;
    size_t n;

    while (size < GROUP_MAX &&
           (size < len || shape->nbytes / size >= GROUPS_MAX))
        size *= 2;
    n = size / shape->blocksize;
    if (n * shape->blocksize < GROUP_MIN)
        n++;
    return (uint32_t)n;
}

void entry_set_shape(struct cache_entry *entry, const struct cache_shape *shape,
                     size_t len)
{
    entry->shape = *shape;
    entry->group_blocks = 1;
    entry->ngroups = 1;
    if (shape->nblocks == 0)
        return;

    entry->group_blocks = group_nblocks(shape, len);
    entry->ngroups = (uint32_t)size_pieces(shape->nblocks, entry->group_blocks);
}

/* Return the bytes of the groups, and of the states of all blocks. */
static size_t groups_size(const struct cache_entry *entry)
{
    return entry->ngroups * sizeof(*entry->groups);
}

static size_t states_size(const struct cache_entry *entry)
{
    return entry->shape.nblocks + (size_t)size_pieces(entry->shape.nblocks, 8);
}

int entry_alloc_groups(struct cache_entry *entry)
{
    entry->groups = calloc(1, groups_size(entry) + states_size(entry));
    if (!entry->groups)
        return -ENOMEM;

    entry->states = (uint8_t *)entry->groups + groups_size(entry);
    entry->ahead = entry->states + entry->shape.nblocks;
    for (uint32_t i = 0; i < entry->ngroups; i++) {
        list_init(&entry->groups[i].node);
        entry->groups[i].entry = entry;
    }
    return 0;
}

size_t entry_size(const struct cache_entry *entry)
{
    return sizeof(*entry) + groups_size(entry) + states_size(entry) +
           entry->shape.footprint + ALLOCATION_OVERHEAD;
}

size_t entry_encode_work(const struct cache_entry *entry)
{
    const struct cache_shape *shape = &entry->shape;

    return shape->scratch > shape->encode ? shape->scratch : shape->encode;
}

/* Return the part of the memory for encoding that a thread cannot borrow. */
static size_t encode_rest(const struct cache_entry *entry)
{
    size_t work = entry_encode_work(entry);

    return work < CACHE_WORK_MAX ? 0 : work - CACHE_WORK_MAX;
}

size_t entry_encode_need(const struct cache_entry *entry)
{
    size_t need = encode_rest(entry);

    for (uint32_t i = 0; i < entry->ngroups; i++)
        if (!entry->groups[i].uncommitted)
            need += entry_group_cost(&entry->groups[i]);
    return need;
}

size_t entry_total(const struct cache_entry *entry)
{
    const struct cache_shape *shape = &entry->shape;
    size_t last = entry->ngroups - 1;
    size_t group = (size_t)entry->group_blocks * shape->blocksize;

    return entry_size(entry) + encode_rest(entry) +
           last * (buffer_size(group) + CACHE_BUFFER_OVERHEAD) +
           buffer_size(shape->nbytes - last * group) + CACHE_BUFFER_OVERHEAD;
}

uint32_t entry_run(const struct cache_entry *entry, uint32_t first,
                   uint32_t end, enum block_state state)
{
    uint32_t block = first;

    while (block < end && entry->states[block] == state)
        block++;
    return block - first;
}

struct buffer_group *entry_group(const struct cache_entry *entry,
                                 uint32_t block)
{
    return &entry->groups[block / entry->group_blocks];
}

size_t entry_group_size(const struct buffer_group *group)
{
    const struct cache_shape *shape = &group->entry->shape;
    size_t off = (size_t)entry_group_first(group) * shape->blocksize;
    size_t end = (size_t)entry_group_end(group) * shape->blocksize;

    return buffer_size((end < shape->nbytes ? end : shape->nbytes) - off);
}

size_t entry_group_cost(const struct buffer_group *group)
{
    return entry_group_size(group) + CACHE_BUFFER_OVERHEAD;
}

uint32_t entry_group_first(const struct buffer_group *group)
{
    return (uint32_t)(group - group->entry->groups) *
           group->entry->group_blocks;
}

uint32_t entry_group_end(const struct buffer_group *group)
{
    uint32_t end = entry_group_first(group) + group->entry->group_blocks;

    return end < group->entry->shape.nblocks ? end
                                             : group->entry->shape.nblocks;
}

void entry_mark_ahead(struct buffer_group *group, uint32_t first, uint32_t n)
{
    for (uint32_t block = first; block < first + n; block++)
        group->entry->ahead[block / 8] |= (uint8_t)(1U << block % 8);
    group->nahead += n;
}

uint32_t entry_clear_ahead(struct buffer_group *group, uint32_t first,
                           uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t block = first; block < end && n < group->nahead; block++) {
        uint8_t *byte = &group->entry->ahead[block / 8];
        uint8_t bit = (uint8_t)(1U << block % 8);

        n += (*byte & bit) != 0;
        *byte &= (uint8_t)~bit;
    }
    group->nahead -= n;
    return n;
}
