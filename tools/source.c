/* SPDX-License-Identifier: BSD-3-Clause */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "frame/metalayer.h"

int source_open(const char *path, uint64_t frame_offset, unsigned flags,
                struct store **out)
{
    struct store *store;
    int r = store_path_open(path, flags, &store);

    if (r < 0)
        return r;
    if (store_is_directory(store) && frame_offset != 0) {
        store_close(store);
        return -EISDIR;
    }
    *out = store;
    return 0;
}

int source_open_frame(const char *path, uint64_t frame_offset,
                      struct frame **out)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = source_open(path, frame_offset, 0, &store);

    if (r == 0) {
        r = frame_open(store, frame_offset, out, &fault);
        if (r < 0)
            store_close(store);
    }
    if (r < 0)
        source_report(path, r, &fault);
    return r;
}

int source_check_no_array(const char *path, struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list layers;
    bool is_array;
    int r = metalayer_list_read(frame, &layers, &fault);

    if (r < 0) {
        source_report(path, r, &fault);
        return r;
    }
    is_array = metalayer_find(&layers, METALAYER_FIXED, "b2nd") != NULL;
    metalayer_list_free(&layers);
    if (!is_array)
        return 0;
    log_error("%s: is an array, whose chunks go with its shape", path);
    return -EPERM;
}

int source_stat(const char *path, struct stat *out)
{
    int dir = open(path, O_PATH | O_CLOEXEC);
    int r = dir < 0 ? -errno : 0;

    if (r == 0 && fstat(dir, out) < 0)
        r = -errno;
    if (r == 0 && S_ISDIR(out->st_mode) &&
        fstatat(dir, frame_index_names[0], out, 0) < 0 &&
        fstatat(dir, frame_index_names[1], out, 0) < 0)
        r = -errno;
    if (dir >= 0)
        close(dir);
    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

void source_report(const char *path, int error, const struct fault *fault)
{
    char text[256];

    if (error == -EINTR)
        return;
    fault_format(fault, error, text, sizeof(text));
    log_error("%s: %s", path, text);
}
