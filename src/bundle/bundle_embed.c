/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle_format.h"
#include "bundle/bundle_private.h"
#include "bundle/estore.h"
#include "frame/frame.h"
#include "frame/metalayer.h"

/* Is a frame with a metalayer of this name an embed store? */
static bool is_marker(const char *name)
{
    return strcmp(name, ESTORE_LAYER) == 0 ||
           strcmp(name, ESTORE_DICT_LAYER) == 0 ||
           strcmp(name, ESTORE_TREE_LAYER) == 0;
}

static int has_marker(struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;
    struct frame *frame;
    bool found = false;
    int r = frame_open_header(store, 0, &frame, &fault);

    if (r < 0)
        return r;
    r = metalayer_list_read_fixed(frame, &list, &fault);
    if (r == 0) {
        for (size_t i = 0; i < list.nlayers; i++)
            found |= is_marker(list.layers[i].name);
        metalayer_list_free(&list);
    }
    frame_close(frame);
    return r < 0 ? r : found;
}

static int is_embed(struct store *store, const uint8_t *start)
{
    return frame_has_magic(start, BUNDLE_START_LEN) ? has_marker(store) : 0;
}

/* Where add_value() puts the values of an embed store. */
struct adding {
    struct bundle *bundle;
    size_t nmembers; /* the first entries, members of the archive, sorted */
    uint64_t nbytes; /* decoded size of the embed store */
    struct fault *fault;
};

/* Is there a member with this key?  It takes precedence over the value. */
static bool is_covered(const struct adding *adding, const char *key, size_t len)
{
    char path[PATH_MAX + sizeof(".b2nd")];

    if (len >= PATH_MAX || memchr(key, '\0', len))
        return false;
    memcpy(path, key, len);
    for (size_t i = 0; i < BUNDLE_NSUFFIXES; i++) {
        strcpy(path + len, bundle_suffixes[i]);
        if (bundle_find_among(adding->bundle, adding->nmembers, path))
            return true;
    }
    return false;
}

static int add_value(void *context, const struct estore_value *value)
{
    struct adding *adding = context;
    const struct bundle_entry entry = { .off = value->off,
                                        .len = value->len,
                                        .embedded = true };

    if (value->remote)
        return 0;
    if (value->key_len == 0 || value->key[0] != '/')
        return fault_set(adding->fault, -EBADMSG, 0,
                         "a key in a store starts with no slash");
    if (value->off + value->len > adding->nbytes)
        return fault_set(adding->fault, -EBADMSG, 0,
                         "a value of an embed store passes its end");
    if (is_covered(adding, value->key + 1, value->key_len - 1))
        return 0;
    return bundle_add(adding->bundle, &entry,
                      &(struct bundle_key){ value->key + 1, value->key_len - 1,
                                            BUNDLE_VALUE_SUFFIX },
                      adding->fault);
}

/* Add the frames in a frame's map.  The embed store is empty if it has no
   map. */
static int read_map(struct bundle *bundle, struct frame *frame,
                    struct fault *fault)
{
    struct adding adding = { .bundle = bundle,
                             .nmembers = bundle->nentries,
                             .nbytes = frame_get_info(frame)->nbytes,
                             .fault = fault };
    const struct metalayer *layer;
    struct metalayer_list list;
    uint8_t *bytes;
    ssize_t len;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    layer = metalayer_find(&list, METALAYER_VL, ESTORE_MAP_LAYER);
    if (layer) {
        len = metalayer_read(frame, layer, BUNDLE_DIRECTORY_MAX, &bytes, fault);
        r = len < 0 ? (int)len : 0;
        if (r == -E2BIG)
            r = fault_set(fault, -ENOTSUP, layer->off,
                          "the map of an embed store is too large");
        if (r == 0) {
            r = estore_parse(bytes, (size_t)len, add_value, &adding, fault);
            free(bytes);
        }
    }
    metalayer_list_free(&list);
    return r;
}

int bundle_add_embedded(struct bundle *bundle, struct store *store,
                        struct fault *fault)
{
    struct frame *frame;
    int r = frame_open(store, 0, &frame, fault);

    if (r < 0)
        return r;
    bundle->has_embed = true;
    r = read_map(bundle, frame, fault);
    frame_close(frame);
    return r;
}

static int read_embed(struct bundle *bundle, struct store *store,
                      struct store_object *object __attribute__((unused)),
                      struct fault *fault)
{
    return bundle_add_embedded(bundle, store, fault);
}

const struct bundle_format bundle_format_embed = {
    .suffix = ".b2e",
    .in_directory = true,
    .is = is_embed,
    .read = read_embed,
};
