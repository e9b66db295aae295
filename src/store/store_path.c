/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/store_local.h"

int store_path_open(const char *path, unsigned flags, struct store **out)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return store_dir_open(AT_FDCWD, path, flags | STORE_FOLLOW, out);
    return store_file_open(AT_FDCWD, path, flags | STORE_FOLLOW, out);
}
