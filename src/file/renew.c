/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/renew.h"

#include <errno.h>
#include <stdlib.h>

#include "file/encode.h"
#include "file/params.h"
#include "file/writeback.h"

enum {
    META_MAX = 16 << 20, /* bytes in one metalayer of an empty frame */
};

/* Set one metalayer as it is in the frame so far. */
static int copy_layer(struct frame *frame, const struct metalayer *layer,
                      struct frame_change *change, struct fault *fault)
{
    uint8_t *content;
    size_t len;
    int r = metalayer_read(frame, layer, META_MAX, &content, &len, fault);

    if (r < 0)
        return r;
    if (layer->kind == METALAYER_FIXED)
        r = frame_change_set_metalayer(change, layer->name, content, len);
    else
        r = frame_change_set_vlmetalayer(change, layer->name, content, len);
    free(content);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int copy_layers(struct frame *frame, struct frame_change *change,
                       struct fault *fault)
{
    struct metalayer_list list;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < list.nlayers && r == 0; i++)
        r = copy_layer(frame, &list.layers[i], change, fault);
    metalayer_list_free(&list);
    return r;
}

int renew_frame(struct file *file, struct fault *fault)
{
    struct frame_params params = { .chunksize = file->grid };
    struct frame_change *change;
    int r = 0;

    if (file->params.typesize == 0) {
        uint32_t typesize;

        r = encode_choose_typesize(file, &typesize, fault);
        if (r < 0)
            return r;
        file->params.typesize = typesize;
    }
    params.chunks = file->params;
    r = frame_change_new(file->store, &params, &change, fault);
    if (r < 0)
        return r;
    r = copy_layers(file->state->frame, change, fault);
    if (r < 0) {
        frame_change_close(change);
        return r;
    }
    frame_change_close(file->change);
    file->change = change;
    file->renew = false;
    return 0;
}

int writeback_create(struct store *store, const struct file_params *params,
                     struct frame **frame, struct frame_change **change,
                     struct fault *fault)
{
    const struct frame_params first = params_frame(params);
    int r = frame_change_new(store, &first, change, fault);

    if (r < 0)
        return r;
    r = frame_change_commit(*change, frame, fault);
    if (r < 0)
        frame_change_close(*change);
    return r;
}
