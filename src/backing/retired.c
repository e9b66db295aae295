/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/retired.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/store_local.h"
#include "writer/frame_dir.h"

struct retired_name retired_name(uint64_t ino)
{
    struct retired_name name;

    snprintf(name.text, sizeof(name.text), STORE_TEMPORARY "%" PRIu64, ino);
    return name;
}

void retired_remove(int anchor, const struct stat *st)
{
    int dir = openat(anchor, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return;
    frame_dir_remove(dir, retired_name(st->st_ino).text);
    close(dir);
}
