/* SPDX-License-Identifier: BSD-3-Clause */

/* Make, write, describe and read a frame; see installed.py. */
#include <err.h>
#include <framefs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 1000000
};

static void write_squares(struct framefs *fs, const char *path)
{
    static uint64_t squares[COUNT];
    struct framefs_frame *frame;

    for (uint64_t i = 0; i < COUNT; i++)
        squares[i] = i * i;
    if (framefs_create(fs, path, "codec=zstd,clevel=3,typesize=8", &frame) < 0)
        errx(1, "%s", framefs_error());
    if (framefs_pwrite(frame, squares, sizeof(squares), 0) < 0 ||
        framefs_meta_set(frame, "vlmeta.unit", "metre", 5) < 0 ||
        framefs_sync(frame) < 0)
        errx(1, "%s", framefs_error());
    if (framefs_close(frame) < 0)
        errx(1, "%s", framefs_error());
}

static void read_square(struct framefs *fs, const char *path, uint64_t i)
{
    struct framefs_frame *frame;
    struct framefs_info info;
    char unit[8] = "";
    uint64_t square;

    if (framefs_open(fs, path, FRAMEFS_READ, 0, &frame) < 0)
        errx(1, "%s", framefs_error());
    if (framefs_info(frame, &info, sizeof(info)) < 0 ||
        framefs_meta_get(frame, "vlmeta.unit", unit, sizeof(unit)) < 0 ||
        framefs_pread(frame, &square, sizeof(square), i * sizeof(square)) < 0)
        errx(1, "%s", framefs_error());
    printf("%s, %" PRIu64 " chunks, %s smaller\n", info.codec, info.nchunks,
           info.stored < info.size / 2 ? "much" : "hardly");
    printf("%" PRIu64 " %s\n", square, unit);
    framefs_close(frame);
}

int main(int argc, char **argv)
{
    struct framefs *fs;

    if (argc != 2)
        errx(2, "usage: example FRAME");
    if (framefs_new("cache=64M", &fs) < 0)
        errx(1, "%s", framefs_error());
    write_squares(fs, argv[1]);
    read_square(fs, argv[1], 4321);
    framefs_free(fs);
    return 0;
}
