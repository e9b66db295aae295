/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_usage.h"
#include "base/log.h"
#include "fuse/mount.h"
#include "fuse/remount.h"
#include "fuse/unmount.h"
#include "net/url.h"
#include "show_stats.h"

enum {
    LARGE_BUFFER = 4 << 20, /* in bytes; larger than those of usual chunks */
};

/* Open /dev/null for each standard stream that is closed.  The numbers of these
   streams must not go to other files, because the program later points them at
   /dev/null. */
static void open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* The query of a URL is a secret: move it out of the memory that lists of
   processes show.  Returns 0 or -ENOMEM. */
static int hide_queries(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];

        if (!url_is(arg) || arg[url_public_len(arg)] == '\0')
            continue;
        argv[i] = strdup(arg);
        if (!argv[i])
            return -ENOMEM;
        arg += url_public_len(arg);
        memset(arg, '\0', strlen(arg));
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    int status = EXIT_SUCCESS;
    int r;

    /* Use one heap: with one for each thread, threads that come and go would
       leave about 5 MiB allocated beyond the cache's limit, and each heap but
       the first asks the kernel for every single page. */
    mallopt(M_ARENA_MAX, 1);
    /* Large buffers go back to the kernel when they are freed, and no more than
       this is kept at the top of a heap.  Left alone, both limits grow with
       the buffers that are freed, up to 32 and 64 MiB. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER);
    mallopt(M_TRIM_THRESHOLD, LARGE_BUFFER);
    open_standard_streams();
    log_setup("framefs", LOG_SINK_STDERR, LOG_LEVEL_WARNING);
    r = hide_queries(argc, argv);
    if (r == 0)
        r = options_parse(argc, argv, &options);
    if (r < 0)
        status = r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
    else if (options.help)
        fputs(options_usage, stdout);
    else if (options.version)
        puts("framefs " FRAMEFS_VERSION);
    else if (options.prometheus)
        status = show_stats_prometheus(options.fs.mountpoint);
    else if (options.stats)
        status = show_stats(options.fs.mountpoint, options.json, options.watch);
    else if (options.remount)
        status = remount_run(options.fs.mountpoint, options.flags);
    else if (options.unmount)
        status = unmount_run(options.fs.mountpoint);
    else
        status = mount_run(&options);
    options_fini(&options);
    return status;
}
