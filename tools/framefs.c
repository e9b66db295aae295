/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/mount.h"
#include "fuse/unmount.h"
#include "show_stats.h"

enum {
    EXIT_USAGE = 2
};

/* What is opened must not get the number of a standard stream, which is
   pointed at /dev/null later. */
static void open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct options options;
    int status = EXIT_SUCCESS;
    int r;

    /* A heap for each thread would keep some 5 MiB beside the cache's limit,
       for threads that come and go. */
    mallopt(M_ARENA_MAX, 2);
    open_standard_streams();
    log_setup("framefs", LOG_SINK_STDERR, LOG_LEVEL_WARNING);
    r = options_parse(argc, argv, &options);
    if (r < 0)
        status = r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
    else if (options.help)
        fputs(options_usage, stdout);
    else if (options.version)
        puts("framefs " FRAMEFS_VERSION);
    else if (options.stats)
        status = show_stats(options.fs.mountpoint, options.json, options.watch);
    else if (options.unmount)
        status = unmount_run(options.fs.mountpoint);
    else
        status = mount_run(&options);
    options_fini(&options);
    return status;
}
