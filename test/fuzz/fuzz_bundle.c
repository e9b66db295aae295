/* SPDX-License-Identifier: BSD-3-Clause */

/* A store of frames in one file.  The target opens all of them. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "frame/frame.h"
#include "fuzz.h"

enum {
    NFRAMES_MAX = 64 /* frames that are opened */
};

static void insist(bool what)
{
    if (!what)
        abort();
}

struct input {
    struct store *store;
    struct bundle *bundle;
    unsigned nframes;
    char path[PATH_MAX]; /* the folder that is being listed */
};

static void open_frame(struct input *input, const struct bundle_entry *entry)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;

    if (input->nframes++ >= NFRAMES_MAX)
        return;
    if (bundle_open(input->bundle, input->store, entry, &store, &fault) < 0)
        return;
    if (frame_open(store, 0, &frame, &fault) == 0)
        frame_close(frame);
    store_close(store);
}

/* A listed name must exist, as a frame or as a folder. */
static int look_at(void *context, const char *name)
{
    struct input *input = context;
    const struct bundle_entry *entry;
    size_t len = strlen(input->path);

    insist(name[0] != '\0' && !strchr(name, '/'));
    insist(len + 1 + strlen(name) < PATH_MAX);
    if (len > 0)
        strcat(input->path, "/");
    strcat(input->path, name);
    entry = bundle_find(input->bundle, input->path);
    insist((entry != NULL) != bundle_has_folder(input->bundle, input->path));
    if (entry)
        open_frame(input, entry);
    else if (input->nframes < NFRAMES_MAX)
        bundle_list(input->bundle, input->path, look_at, input);
    input->path[len] = '\0';
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { .nframes = 0 };
    struct fault fault = FAULT_NONE;
    const struct bundle_format *format;
    int r;

    if (store_mem_open(data, size, &input.store) < 0)
        return 0;
    if (bundle_find_format(input.store, &format) == 0 && format) {
        r = bundle_read(input.store, format, &input.bundle, &fault);
        insist(r == 0 || fault.what || r == -ENOMEM);
        if (r == 0)
            bundle_list(input.bundle, "", look_at, &input);
    }
    bundle_put(input.bundle);
    store_close(input.store);
    return 0;
}
