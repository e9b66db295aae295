/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/option_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "chunk/chunk_lists.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

struct words {
    const char *name;
    const char *text;
};

static const struct words values[] = {
    { "layout", "contiguous or sparse" },
    { "codec",
      "one of " CODEC_NAMES "; for arrays also NAME:META of " ARRAY_CODEC_NAMES
      "; or the number of a plug-in" },
    { "clevel", "a number from 0 to 9" },
    { "filters", "none, or up to six of " FILTER_NAMES
                 ", for arrays also " ARRAY_FILTER_NAMES
                 ", as F[:META]+F..., with META from -128 to 255" },
    { "typesize", "auto or a number from 1 to 255" },
    { "chunksize", "a size from 1 to 1G" },
    { "blocksize", "auto or a size from 1 to 1G" },
    { "cache", "a size of at least 1" },
    { "readahead", "a size, such as 8M" },
    { "threads", "a number from 1 to 1024" },
    { "sums", "on, read or off" },
    { "commit", "a number of seconds from 0 to 86400" },
    { "lock", "a number of seconds from 0 to 86400" },
    { "timeout", "a number of seconds from 1 to 86400" },
    { "retries", "a number from 0 to 1000" },
    { "connections", "a number from 1 to 1024" },
    { "revalidate", "inf or a number of seconds from 0 to 86400" },
    { "grace", "a number of seconds from 0 to 31536000" },
    { "ticket", "same or newest" },
    { "netcache_size", "a size of at least 16M" },
    { "endpoint", "a URL with http or https" },
};

/* The demands of a codec or filter on the other parameters. */
static const struct words wants[] = {
    { "trunc_prec", "a typesize of 4, with META from 1 to 23, or of 8, with "
                    "META from 1 to 52; or that minus the bits to cut" },
    { "int_trunc", "a typesize of 1, 2, 4 or 8, and META from 1 to the bits of "
                   "an item; or minus the bits to cut, which are fewer" },
    { "ndcell", "an array of up to 8 dimensions, and META the side of a cell "
                "that is no longer than a block" },
    { "ndmean", "an array of floats or doubles of up to 8 dimensions, and META "
                "the side of a cell that is no longer than a block" },
    { "ndlz", "an array of 2 dimensions, and META 4 or 8" },
    { "zfp_acc", "an array of floats or doubles of up to 4 dimensions, blocks "
                 "of at least 4 items in each, and no filter of bytes" },
    { "zfp_prec", "an array of floats or doubles of up to 4 dimensions, blocks "
                  "of at least 4 items in each, and no filter of bytes" },
    { "zfp_rate", "an array of floats or doubles of up to 4 dimensions, blocks "
                  "of at least 4 items in each, META from 1 to 100, and no "
                  "filter of bytes" },
};

static const char *find(const struct words *words, size_t n, const char *name,
                        const char *otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].text;
    return otherwise;
}

const char *option_values(const char *name)
{
    return find(values, sizeof(values) / sizeof(values[0]), name,
                "another value");
}

static const char *wish(const char *name)
{
    return find(wants, sizeof(wants) / sizeof(wants[0]), name,
                "other parameters");
}

/* Do the parameters go together if all filters but that in one slot are left
   out?  Slot -1: all are left out. */
static bool holds(const struct file_params *params, int slot)
{
    struct file_params only = *params;

    for (int i = 0; i < CHUNK_NFILTERS; i++)
        if (i != slot)
            only.chunk.filters[i] = FILTER_NONE;
    return params_check(&only) == 0;
}

void option_clash(const struct file_params *params, char text[OPTION_CLASH_LEN])
{
    const char *codec = codec_name(params->chunk.codec);
    uint32_t typesize = params->chunk.typesize > 0 ? params->chunk.typesize : 1;

    if (!holds(params, -1)) {
        snprintf(text, OPTION_CLASH_LEN, "codec %s wants %s", codec,
                 wish(codec));
        return;
    }
    for (int i = 0; i < CHUNK_NFILTERS; i++) {
        const char *name = filter_name(params->chunk.filters[i]);

        if (holds(params, i))
            continue;
        snprintf(text, OPTION_CLASH_LEN,
                 "filter %s wants %s; the typesize is %" PRIu32 "%s", name,
                 wish(name), typesize,
                 params->chunk.typesize > 0 ? "" : " unless it is given");
        return;
    }
    snprintf(text, OPTION_CLASH_LEN,
             "delta cannot follow a filter that loses digits, and codec %s "
             "wants %s",
             codec, wish(codec));
}
