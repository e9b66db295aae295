/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "frame/metalayer.h"

static const char *const prefixes[] = {
    [METALAYER_FIXED] = "meta.",
    [METALAYER_VL] = "vlmeta.",
    [METALAYER_USERMETA] = "usermeta",
};

const char *metalayer_prefix(enum metalayer_kind kind)
{
    return prefixes[kind];
}

const char *metalayer_parse_label(const char *label, enum metalayer_kind *kind)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t len = strlen(prefixes[i]);

        if (strncmp(label, prefixes[i], len) == 0) {
            *kind = (enum metalayer_kind)i;
            return label + len;
        }
    }
    return NULL;
}

const struct metalayer *metalayer_find_label(const struct metalayer_list *list,
                                             const char *label)
{
    enum metalayer_kind kind;
    const char *name = metalayer_parse_label(label, &kind);

    return name ? metalayer_find(list, kind, name) : NULL;
}
