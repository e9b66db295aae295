/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/filter.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "chunk/filters.h"
#include "chunk/plugin.h"

#define FILTER_ADDRESS(name) &filter_##name
static const struct filter *const filters[] = { FILTER_LIST(FILTER_ADDRESS) };

enum {
    NFILTERS = sizeof(filters) / sizeof(*filters)
};

const struct filter *filter_by_id(unsigned id)
{
    for (size_t i = 0; i < NFILTERS; i++) {
        if (filters[i]->id == id)
            return filters[i];
    }
    return plugin_filter(id);
}

const struct filter *filter_by_name(const char *name)
{
    const struct filter *plugin;
    unsigned id;

    for (size_t i = 0; i < NFILTERS; i++) {
        if (filters[i]->apply && strcmp(filters[i]->name, name) == 0)
            return filters[i];
    }
    plugin = size_parse_number(name, 0, UINT8_MAX, &id) == 0 ? plugin_filter(id)
                                                             : NULL;
    return plugin && plugin->apply ? plugin : NULL;
}

const char *filter_name(unsigned id)
{
    const struct filter *filter = filter_by_id(id);

    if (filter)
        return filter->name;
    return id == FILTER_NONE ? "none" : "unknown";
}

int filter_check(unsigned id, uint8_t meta, const struct filter_block *block)
{
    const struct filter *filter = filter_by_id(id);

    if (id == FILTER_NONE)
        return 0;
    if (!filter || !filter->apply)
        return -EINVAL;
    return filter->check ? filter->check(block, meta) : 0;
}

/* Does the filter leave every block as it is? */
static bool is_identity(unsigned id, uint8_t meta, unsigned typesize)
{
    if (id == FILTER_SHUFFLE)
        return (meta ? meta : typesize) == 1;
    return id == FILTER_NONE;
}

int filter_pipeline_init(struct filter_pipeline *pipeline,
                         const uint8_t ids[CHUNK_NFILTERS],
                         const uint8_t meta[CHUNK_NFILTERS], unsigned typesize)
{
    unsigned n = 0;

    for (unsigned slot = 0; slot < CHUNK_NFILTERS; slot++) {
        if (is_identity(ids[slot], meta[slot], typesize))
            continue;
        pipeline->filters[n] = filter_by_id(ids[slot]);
        if (!pipeline->filters[n])
            return ids[slot];
        pipeline->meta[n] = meta[slot];
        pipeline->slots[n++] = (uint8_t)slot;
    }
    pipeline->nfilters = n;
    return 0;
}

bool filter_pipeline_has_delta(const struct filter_pipeline *pipeline)
{
    for (unsigned i = 0; i < pipeline->nfilters; i++) {
        if (pipeline->filters[i]->id == FILTER_DELTA)
            return true;
    }
    return false;
}

bool filter_pipeline_uses_shape(const struct filter_pipeline *pipeline)
{
    for (unsigned i = 0; i < pipeline->nfilters; i++) {
        if (pipeline->filters[i]->uses_shape)
            return true;
    }
    return false;
}

const char *filter_pipeline_refuse(const struct filter_pipeline *pipeline,
                                   const struct filter_block *block,
                                   unsigned *slot)
{
    for (unsigned i = 0; i < pipeline->nfilters; i++) {
        const struct filter *filter = pipeline->filters[i];
        const char *why =
            filter->refuse ? filter->refuse(block, pipeline->meta[i]) : NULL;

        if (why) {
            *slot = pipeline->slots[i];
            return why;
        }
    }
    return NULL;
}

bool filter_pipeline_is_shuffle(const struct filter_pipeline *pipeline,
                                unsigned typesize)
{
    unsigned nshuffles = 0;

    for (unsigned i = 0; i < pipeline->nfilters; i++) {
        const struct filter *filter = pipeline->filters[i];
        uint8_t meta = pipeline->meta[i];

        if (filter->id == FILTER_SHUFFLE && (meta == 0 || meta == typesize))
            nshuffles++;
        else if (filter->undo || filter->undo_in_place)
            return false;
    }
    return nshuffles == 1;
}

unsigned filter_pipeline_nmoves(const struct filter_pipeline *pipeline)
{
    unsigned nmoves = 0;

    for (unsigned i = 0; i < pipeline->nfilters; i++)
        nmoves += pipeline->filters[i]->undo != NULL;
    return nmoves;
}

uint8_t *filter_pipeline_undo_src(const struct filter_pipeline *pipeline,
                                  uint8_t *dst, uint8_t *scratch)
{
    return filter_pipeline_nmoves(pipeline) % 2 ? scratch : dst;
}

void filter_pipeline_undo(const struct filter_pipeline *pipeline,
                          const struct filter_block *block, uint8_t *dst,
                          uint8_t *scratch)
{
    uint8_t *here = filter_pipeline_undo_src(pipeline, dst, scratch);

    for (unsigned i = pipeline->nfilters; i-- > 0;) {
        const struct filter *filter = pipeline->filters[i];

        if (filter->undo_in_place)
            filter->undo_in_place(filter, block, pipeline->meta[i], here);
        if (filter->undo) {
            uint8_t *there = here == dst ? scratch : dst;

            filter->undo(filter, block, pipeline->meta[i], here, there);
            here = there;
        }
    }
    assert(here == dst);
}

const uint8_t *filter_pipeline_apply(const struct filter_pipeline *pipeline,
                                     const struct filter_block *block,
                                     const uint8_t *src, uint8_t *a, uint8_t *b)
{
    for (unsigned i = 0; i < pipeline->nfilters; i++) {
        const struct filter *filter = pipeline->filters[i];
        uint8_t *dst = src == a ? b : a;

        filter->apply(filter, block, pipeline->meta[i], src, dst);
        src = dst;
    }
    return src;
}
