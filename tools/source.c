/* SPDX-License-Identifier: BSD-3-Clause */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"

int source_open(const char *path, uint64_t frame_offset, struct store **out)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return store_file_open(AT_FDCWD, path, STORE_FOLLOW, out);
    if (frame_offset != 0)
        return -EISDIR;
    return store_dir_open(AT_FDCWD, path, STORE_FOLLOW, out);
}

void source_report(const char *path, int error, const struct fault *fault)
{
    char text[256];

    fault_format(fault, error, text, sizeof(text));
    log_error("%s: %s", path, text);
}
