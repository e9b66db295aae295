/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_source.h"

#include <stdlib.h>
#include <unistd.h>

void backing_source_init(struct backing_source *source)
{
    source->fd = -1;
    arrivals_init(&source->arrivals);
    shelf_init(&source->shelf);
    trash_init(&source->trash);
}

void backing_source_tidy_up(const struct backing_source *source)
{
    if (!source->only)
        private_dir_tidy_up_all(source->fd, ".");
}

void backing_source_fini(struct backing_source *source)
{
    trash_fini(&source->trash);
    shelf_fini(&source->shelf);
    arrivals_fini(&source->arrivals);
    if (source->fd >= 0)
        close(source->fd);
    free(source->only);
    free(source->mounted);
}
