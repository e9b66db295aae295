/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "chunk/codec_private.h"
#include "chunk/plugin.h"

#define CODEC_ADDRESS(name) &codec_##name
static const struct codec *const codecs[] = { CODEC_LIST(CODEC_ADDRESS) };

enum {
    NCODECS = sizeof(codecs) / sizeof(codecs[0])
};

/* Registered codecs that a build may lack. */
static const struct {
    unsigned id;
    const char *name;
} registered[] = {
    { CODEC_SNAPPY, "snappy" },       { CODEC_ZFP_ACC, "zfp_acc" },
    { CODEC_ZFP_PREC, "zfp_prec" },   { CODEC_ZFP_RATE, "zfp_rate" },
    { CODEC_OPENHTJ2K, "openhtj2k" }, { CODEC_GROK, "grok" },
    { CODEC_OPENZL, "openzl" },       { CODEC_J2K, "j2k" },
    { CODEC_HTJ2K, "htj2k" },
};

enum {
    NREGISTERED = sizeof(registered) / sizeof(registered[0])
};

const struct codec *codec_by_id(unsigned id)
{
    for (size_t i = 0; i < NCODECS; i++)
        if (codecs[i]->id == id)
            return codecs[i];
    return plugin_codec(id);
}

const struct codec *codec_by_name(const char *name)
{
    const struct codec *plugin;
    unsigned id;

    for (size_t i = 0; i < NCODECS; i++)
        if (codecs[i]->encode && strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    plugin = size_parse_number(name, 0, CODEC_NIDS - 1, &id) == 0
                 ? plugin_codec(id)
                 : NULL;
    return plugin && plugin->encode ? plugin : NULL;
}

const char *codec_name(unsigned id)
{
    const struct codec *codec = codec_by_id(id);

    if (codec)
        return codec->name;
    for (size_t i = 0; i < NREGISTERED; i++)
        if (registered[i].id == id)
            return registered[i].name;
    return "unknown";
}

int codec_state_new(struct codec_state **out)
{
    struct codec_state *state = calloc(1, sizeof(*state));

    if (!state)
        return -ENOMEM;
    *out = state;
    return 0;
}

void codec_state_free(struct codec_state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < NCODECS; i++)
        if (codecs[i]->fini)
            codecs[i]->fini(codec_get_context(state, codecs[i]));
    free(state);
}
