/* SPDX-License-Identifier: BSD-3-Clause */
#include "piped.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_fd.h"
#include "scratch.h"

int piped_path(char path[PIPED_PATH_LEN])
{
    static int copied = -1;
    struct stat st;
    int r = 0;

    if (fstat(STDIN_FILENO, &st) < 0)
        return -errno;
    if (S_ISREG(st.st_mode)) {
        snprintf(path, PIPED_PATH_LEN, "/proc/self/fd/%d", STDIN_FILENO);
        return 0;
    }
    if (copied < 0) {
        copied = scratch_open();
        r = copied < 0 ? copied : copy_fd(STDIN_FILENO, copied);
    }
    snprintf(path, PIPED_PATH_LEN, "/proc/self/fd/%d", copied);
    return r;
}
