/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file.h"
#include "file/hole.h"
#include "file/view.h"
#include "state/file_private.h"

int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault)
{
    struct hole_search search = {
        .file = file, .off = off, .hole = hole, .fault = fault
    };
    int r;

    if (off >= file_size(file))
        return -ENXIO;
    search.state = file_state_get(file);
    r = view_seek(&search, out);
    file_state_put(file, search.state);
    return r;
}
