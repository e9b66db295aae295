/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/new_frame.h"

#include "file/encode.h"
#include "file/params.h"

int new_frame_begin(struct store *store, const struct file_params *params,
                    struct frame **frame, struct frame_change **change,
                    struct fault *fault)
{
    const struct frame_params first = params_frame(params);
    int r = frame_change_new(store, &first, change, fault);

    if (r < 0)
        return r;
    r = frame_change_begin(*change, frame, fault);
    if (r < 0)
        frame_change_close(*change);
    return r;
}

int new_frame_decide(struct file *file, struct fault *fault)
{
    struct frame_params params = { .chunksize = file->grid };
    int r = 0;

    if (file->params.typesize == 0) {
        uint32_t typesize;

        r = encode_choose_typesize(file, &typesize, fault);
        if (r < 0)
            return r;
        pthread_mutex_lock(&file->lock);
        file->params.typesize = typesize;
        pthread_mutex_unlock(&file->lock);
    }
    params.chunks = file->params;
    r = frame_change_set_params(file->change, &params, fault);
    if (r == 0)
        file->undecided = false;
    return r;
}
