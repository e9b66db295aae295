/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/entry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "cache/buffer.h"

enum {
    UNIT_SIZE = 1 << 20,       /* bytes of blocks that share a buffer */
    ALLOCATION_OVERHEAD = 128, /* of the few small allocations of an entry */
};

void entry_set_shape(struct cache_entry *entry, const struct cache_shape *shape)
{
    entry->shape = *shape;
    entry->unit_blocks = 1;
    entry->nunits = 1;
    if (shape->nblocks == 0)
        return;

    if (shape->blocksize < UNIT_SIZE)
        entry->unit_blocks = UNIT_SIZE / shape->blocksize;
    entry->nunits = (uint32_t)size_pieces(shape->nblocks, entry->unit_blocks);
}

/* Return the bytes of the units, and of the states of all blocks. */
static size_t units_size(const struct cache_entry *entry)
{
    return entry->nunits * sizeof(*entry->units);
}

static size_t states_size(const struct cache_entry *entry)
{
    return entry->shape.nblocks + (size_t)size_pieces(entry->shape.nblocks, 8);
}

int entry_alloc_units(struct cache_entry *entry)
{
    entry->units = calloc(1, units_size(entry) + states_size(entry));
    if (!entry->units)
        return -ENOMEM;

    entry->states = (uint8_t *)entry->units + units_size(entry);
    entry->ahead = entry->states + entry->shape.nblocks;
    for (uint32_t i = 0; i < entry->nunits; i++) {
        list_init(&entry->units[i].node);
        entry->units[i].entry = entry;
    }
    return 0;
}

size_t entry_size(const struct cache_entry *entry)
{
    return sizeof(*entry) + units_size(entry) + states_size(entry) +
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

    for (uint32_t i = 0; i < entry->nunits; i++)
        if (!entry->units[i].held)
            need += entry_unit_cost(&entry->units[i]);
    return need;
}

size_t entry_total(const struct cache_entry *entry)
{
    const struct cache_shape *shape = &entry->shape;
    size_t last = entry->nunits - 1;
    size_t unit = (size_t)entry->unit_blocks * shape->blocksize;

    return entry_size(entry) + encode_rest(entry) +
           last * (buffer_size(unit) + CACHE_BUFFER_OVERHEAD) +
           buffer_size(shape->nbytes - last * unit) + CACHE_BUFFER_OVERHEAD;
}

uint32_t entry_run(const struct cache_entry *entry, uint32_t first,
                   uint32_t end, enum block_state state)
{
    uint32_t block = first;

    while (block < end && entry->states[block] == state)
        block++;
    return block - first;
}

struct cache_unit *entry_unit(const struct cache_entry *entry, uint32_t block)
{
    return &entry->units[block / entry->unit_blocks];
}

size_t entry_unit_size(const struct cache_unit *unit)
{
    const struct cache_shape *shape = &unit->entry->shape;
    size_t off = (size_t)entry_unit_first(unit) * shape->blocksize;
    size_t end = (size_t)entry_unit_end(unit) * shape->blocksize;

    return buffer_size((end < shape->nbytes ? end : shape->nbytes) - off);
}

size_t entry_unit_cost(const struct cache_unit *unit)
{
    return entry_unit_size(unit) + CACHE_BUFFER_OVERHEAD;
}

uint32_t entry_unit_first(const struct cache_unit *unit)
{
    return (uint32_t)(unit - unit->entry->units) * unit->entry->unit_blocks;
}

uint32_t entry_unit_end(const struct cache_unit *unit)
{
    uint32_t end = entry_unit_first(unit) + unit->entry->unit_blocks;

    return end < unit->entry->shape.nblocks ? end : unit->entry->shape.nblocks;
}

void entry_mark_ahead(struct cache_unit *unit, uint32_t first, uint32_t n)
{
    for (uint32_t block = first; block < first + n; block++)
        unit->entry->ahead[block / 8] |= (uint8_t)(1U << block % 8);
    unit->nahead += n;
}

uint32_t entry_clear_ahead(struct cache_unit *unit, uint32_t first,
                           uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t block = first; block < end && n < unit->nahead; block++) {
        uint8_t *byte = &unit->entry->ahead[block / 8];
        uint8_t bit = (uint8_t)(1U << block % 8);

        n += (*byte & bit) != 0;
        *byte &= (uint8_t)~bit;
    }
    unit->nahead -= n;
    return n;
}
