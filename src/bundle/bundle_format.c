/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/bundle_format.h"

#include <errno.h>
#include <string.h>

static const struct bundle_format *const formats[] = {
    &bundle_format_zip,
    &bundle_format_embed,
};

enum {
    NFORMATS = sizeof(formats) / sizeof(formats[0])
};

/* Read the first bytes of a file.  Returns 1, 0 if it is shorter, or an
   error. */
static int read_start(struct store *store, uint8_t start[BUNDLE_START_LEN])
{
    struct store_object *object;
    int r = store_open(store, "", &object);

    if (r < 0)
        return r;
    r = store_object_read_at(object, 0, start, BUNDLE_START_LEN);
    store_object_close(object);
    if (r == -ENODATA)
        return 0;
    return r < 0 ? r : 1;
}

int bundle_find_format(struct store *store, const struct bundle_format **out)
{
    uint8_t start[BUNDLE_START_LEN];
    int r = read_start(store, start);

    *out = NULL;
    if (r <= 0)
        return r;
    for (size_t i = 0; i < NFORMATS; i++) {
        r = formats[i]->is(store, start);
        if (r < 0 && r != -EBADMSG && r != -ENOTSUP)
            return r;
        if (r > 0) {
            *out = formats[i];
            return 0;
        }
    }
    return 0;
}

bool bundle_has_suffix(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < NFORMATS; i++) {
        size_t suffix_len = strlen(formats[i]->suffix);

        if (len >= suffix_len &&
            strcmp(name + len - suffix_len, formats[i]->suffix) == 0)
            return true;
    }
    return false;
}
