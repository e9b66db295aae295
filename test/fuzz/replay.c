/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Feeds each file in the given directories to a fuzz target, so that seeds and
 * inputs found by fuzzing are tests with any compiler.  Prints the number of
 * files.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size ? size : 1);
    int r = -1;

    if (file && bytes && fread(bytes, 1, size, file) == size) {
        LLVMFuzzerTestOneInput(bytes, size);
        r = 0;
    } else {
        perror(path);
    }
    free(bytes);
    if (file)
        fclose(file);
    return r;
}

/* Returns the number of files that were fed to the target, or -1. */
static int replay_directory(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (!dir) {
        perror(path);
        return -1;
    }
    while (count >= 0 && (entry = readdir(dir))) {
        char name[PATH_MAX];
        struct stat stat_;

        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (stat(name, &stat_) < 0 || !S_ISREG(stat_.st_mode))
            continue;
        count = replay_file(name, (size_t)stat_.st_size) < 0 ? -1 : count + 1;
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int count = replay_directory(argv[i]);

        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
