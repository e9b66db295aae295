/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What surrounds plug-ins, which are trusted themselves: the rights of their
 * directory and file, and what they tell of themselves.  If the first byte is
 * even, the input is three bytes for directories, one for the file, and the
 * content of that; if it is odd, version, flags and name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/plugin.h"
#include "chunk/plugin_file.h"
#include "framefs-codec.h"
#include "fuzz.h"

enum {
    NDIRS = 3,
    NAME_LEN = 40,
    FLAGS = FRAMEFS_USES_SHAPE | FRAMEFS_IS_LOSSY | FRAMEFS_HAS_META,
};

static const char file_name[] = "codec-200.so";

static void insist(bool what)
{
    if (!what)
        abort();
}

/* The rights that a byte stands for; framefs must see whether others can change
   what has them. */
static mode_t mode_of(uint8_t byte)
{
    return 0700 | (byte & 077) | (byte & 0100 ? 01000 : 0);
}

static bool is_safe(mode_t mode, bool directory)
{
    return !(mode & 022) || (directory && (mode & 01000));
}

/* The lowest descriptor that is free: none may be left open. */
static int free_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(fd);
    return fd;
}

/* Make the file, or something else in its place.  The content is never that of
   a library, because that would be run. */
static void make_file(const char *path, uint8_t kind, const uint8_t *bytes,
                      size_t len)
{
    FILE *file;

    if (kind >> 6 == 1) {
        insist(mkfifo(path, 0600) == 0);
    } else if (kind >> 6 == 2) {
        insist(symlink("/dev/zero", path) == 0);
    } else if (kind >> 6 == 3) {
        file = fopen(path, "wb");
        insist(file && fputc('#', file) == '#' &&
               fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
        insist(chmod(path, mode_of(kind)) == 0);
    }
}

static void try_file(int dirfd, const char *dir, const uint8_t *data,
                     size_t size)
{
    char path[PATH_MAX];

    insist(snprintf(path, sizeof(path), "%s/%s", dir, file_name) <
           (int)sizeof(path));
    make_file(path, data[0], data + 1, size - 1);
    insist(!plugin_file_load(dirfd, file_name, "framefs_codec"));
    unlink(path);
}

/* Make a directory that nobody else can change.  Returns false if the machine
   has no place for one. */
static bool make_base(char *path)
{
    static const char *const places[] = { "/dev/shm", "/var/tmp", "/tmp" };

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int fd = plugin_dir_open(places[i]);

        if (fd < 0)
            continue;
        close(fd);
        sprintf(path, "%s/fuzz_plugin.XXXXXX", places[i]);
        if (mkdtemp(path))
            return true;
    }
    return false;
}

static void try_directories(const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    size_t lens[NDIRS];
    bool safe = true;
    int before = free_descriptor();
    int fd;

    if (!make_base(path))
        return;
    for (int i = 0; i < NDIRS; i++) {
        mode_t mode = mode_of(data[i]);

        lens[i] = strlen(path);
        strcat(path, "/d");
        insist(mkdir(path, 0700) == 0 && chmod(path, mode) == 0);
        safe = safe && is_safe(mode, true);
    }
    fd = plugin_dir_open(path);
    insist((fd >= 0) == safe && (safe || fd == -EPERM));
    if (fd >= 0) {
        try_file(fd, path, data + NDIRS, size - NDIRS);
        close(fd);
    }
    for (int i = NDIRS; i-- > 0;) {
        insist(rmdir(path) == 0);
        path[lens[i]] = '\0';
    }
    insist(rmdir(path) == 0 && free_descriptor() == before);
}

static void try_description(const uint8_t *data, size_t size)
{
    char name[NAME_LEN + 1] = "";
    size_t len = size - 5 < NAME_LEN ? size - 5 : NAME_LEN;
    bool valid;

    memcpy(name, data + 5, len);
    len = strlen(name);
    valid = data[0] == FRAMEFS_CODEC_ABI && !(data[4] & ~FLAGS) && len > 0 &&
            len < 32;
    for (size_t i = 0; i < len; i++)
        valid = valid && name[i] &&
                strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", name[i]);
    insist(plugin_is_valid(file_name, data[0], data[4], name) == valid);
    insist(!plugin_is_valid(file_name, FRAMEFS_CODEC_ABI, 0, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int messages = dup(STDERR_FILENO);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (size >= 6 && messages >= 0 && null >= 0) {
        dup2(null, STDERR_FILENO);
        if (data[0] & 1)
            try_description(data + 1, size - 1);
        else
            try_directories(data + 1, size - 1);
        dup2(messages, STDERR_FILENO);
    }
    close(null);
    close(messages);
    return 0;
}
