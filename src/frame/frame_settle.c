/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "frame/frame_chunk_private.h"

bool frame_chunk_settle(struct store_object *object, int r,
                        struct chunk_settling *settling,
                        const struct fault *fault)
{
    struct store_stat stat;

    if (r != -EBADMSG || !fault->mismatch || !object ||
        store_object_stat(object, &stat) < 0)
        return false;
    if (!settling->begun)
        settling->settling = store_settling_begin(stat.version);
    settling->begun = true;
    return store_settling_wait(&settling->settling, stat.version);
}
