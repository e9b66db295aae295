/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "store/store_local_private.h"

enum {
    MARK_LEN = 2 * 16 + 2 /* two numbers in hexadecimal, `:` and NUL */
};

/* Write the mark for a successor with this device and inode number. */
static void format(char mark[MARK_LEN], uint64_t dev, uint64_t ino)
{
    snprintf(mark, MARK_LEN, "%" PRIx64 ":%" PRIx64, dev, ino);
}

void store_local_set_successor(int fd, int successor)
{
    char mark[MARK_LEN];
    struct stat st;

    /* The draft may have a copy of an older mark. */
    fremovexattr(successor, STORE_SUCCESSOR_MARK);
    if (fstat(successor, &st) < 0)
        return;
    format(mark, st.st_dev, st.st_ino);
    fsetxattr(fd, STORE_SUCCESSOR_MARK, mark, strlen(mark), 0);
}

void store_local_clear_successor(int fd)
{
    fremovexattr(fd, STORE_SUCCESSOR_MARK);
}

bool store_local_has_any_successor(int fd)
{
    return fgetxattr(fd, STORE_SUCCESSOR_MARK, NULL, 0) >= 0;
}

void store_mark_replaced(int fd)
{
    fsetxattr(fd, STORE_REPLACED_MARK, "1", 1, 0);
}

bool store_local_is_marked_replaced(int fd)
{
    return fgetxattr(fd, STORE_REPLACED_MARK, NULL, 0) >= 0;
}

bool store_local_has_successor(struct store_object *object,
                               const struct store_version *version)
{
    const int fd = ((struct store_local *)object)->fd;
    char mark[MARK_LEN];
    char found[MARK_LEN];
    ssize_t len = fgetxattr(fd, STORE_SUCCESSOR_MARK, found, sizeof(found));

    format(mark, version->dev, version->ino);
    return len == (ssize_t)strlen(mark) &&
           memcmp(found, mark, strlen(mark)) == 0;
}
