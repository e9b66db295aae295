/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_GIVE_STORE_H
#define TEST_GIVE_STORE_H

#include "file/file.h"
#include "frame/frame.h"

/*
 * The functions that open a frame or a file, for a test that needs the store
 * for nothing else: they also close it, whatever they return.
 */

static inline int give_frame_open(struct store *store, uint64_t base,
                                  struct frame **out, struct fault *fault)
{
    int r = frame_open(store, base, out, fault);

    store_close(store);
    return r;
}

static inline int give_file_open(struct file_context *context,
                                 struct store *store, uint64_t base,
                                 struct file **out, struct fault *fault)
{
    int r = file_open(context, store, base, out, fault);

    store_close(store);
    return r;
}

static inline int give_file_open_writable(struct file_context *context,
                                          struct store *store,
                                          struct file **out,
                                          struct fault *fault)
{
    int r = file_open_writable(context, store, out, fault);

    store_close(store);
    return r;
}

static inline int give_file_create(struct file_context *context,
                                   struct store *store,
                                   const struct file_params *params,
                                   struct file **out, struct fault *fault)
{
    int r = file_create(context, store, params, out, fault);

    store_close(store);
    return r;
}

#endif
