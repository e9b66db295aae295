/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/trashed_frame.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/store_local.h"
#include "writer/frame_dir.h"

struct trashed_frame_name trashed_frame_name(uint64_t ino)
{
    struct trashed_frame_name name;

    snprintf(name.text, sizeof(name.text), STORE_TEMPORARY "%" PRIu64, ino);
    return name;
}

void trashed_frame_remove(int anchor, const struct stat *st)
{
    int dir = openat(anchor, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return;
    frame_dir_remove(dir, trashed_frame_name(st->st_ino).text);
    close(dir);
}
