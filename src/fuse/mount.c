/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/exit_usage.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/pool.h"
#include "fuse/fs_open.h"
#include "fuse/idle.h"
#include "fuse/kernel_writeback.h"
#include "fuse/mount_lock.h"
#include "fuse/mount_table.h"
#include "fuse/mount_wait.h"
#include "fuse/service.h"
#include "fuse/stats_signal.h"
#include "fuse/stop_signal.h"
#include "fuse/warm_up.h"
#include "fuse/workers.h"
#include "open/deferred_close.h"
#include "open/kernel.h"
#include "open/kernel_readahead.h"
#include "ops/killpriv.h"
#include "ops/ops.h"
#include "ops/remove.h"

enum {
    /* A request may wait for the disk, for cache space or for another program's
       lock.  It then occupies a thread, and other requests must not wait for
       it. */
    THREADS_MAX = 200,

    /* Requests in the background that the kernel sends at a time by itself, and
       those that leave threads to others. */
    BACKGROUND_MIN = 12,
    BACKGROUND_MAX = THREADS_MAX / 2,

    /* Number of seeks, in different files that are being written, that may wait
       at a time for the kernel; each may wait for a disk. */
    SEEKERS = 4,
};

static const char program[] = "framefs";

struct mount {
    struct fs *fs;
    struct fuse_session *session;
    bool mounted;
    bool served;  /* until the session ended normally */
    bool signals; /* the session handles signals */
    char *mountpoint;
    dev_t covered; /* device number of MOUNTPOINT before the mount */
    struct mount_lock lock;
    struct stats_signal stats;
    struct stop_signal stop;
    struct kernel_writeback writeback;
    struct idle idle;
    struct kernel_readahead kernel_ahead;
    uint64_t dev; /* device number of the mount; 0: not known */
    struct ops_data data;
};

/* Send libfuse's messages to our log. */
static void log_fuse(enum fuse_log_level level, const char *format,
                     va_list args)
{
    char text[1024];

    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\n")] = '\0';
    log_message(level <= FUSE_LOG_ERR       ? LOG_LEVEL_ERROR
                : level <= FUSE_LOG_WARNING ? LOG_LEVEL_WARNING
                : level < FUSE_LOG_DEBUG    ? LOG_LEVEL_INFO
                                            : LOG_LEVEL_DEBUG,
                "%s", text);
}

/* Say in our words which options libfuse does not know.  Its message comes in
   pieces: a start, and a word at a time. */
static void log_session(enum fuse_log_level level, const char *format,
                        va_list args)
{
    const char *word;

    if (strstr(format, "unknown option"))
        return;
    if (strcmp(format, "%s ") != 0 && strcmp(format, "%s'\n") != 0) {
        log_fuse(level, format, args);
        return;
    }
    word = va_arg(args, const char *);
    if (strcmp(word, "-o") != 0)
        log_error("%s: unknown option, see framefs --help", word);
}

static int find_mountpoint(struct mount *mount, const char *path)
{
    struct statvfs unused;
    struct stat st;

    mount->mountpoint = realpath(path, NULL);
    /* Call statvfs(), because stat() may return a dead daemon's attributes from
       the kernel's cache. */
    if (mount->mountpoint && statvfs(mount->mountpoint, &unused) == 0 &&
        stat(mount->mountpoint, &st) == 0) {
        mount->covered = st.st_dev;
        if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
            return 0;
        log_error("%s: neither a directory nor a regular file", path);
        return -ENOTDIR;
    }
    if (errno == ENOTCONN)
        log_error("%s: a mount whose daemon died is left here; clear it with: "
                  "fusermount3 -u %s",
                  path, path);
    else
        log_error("%s: %s", path, strerror(errno));
    return -ENOENT;
}

/* Is the cache large enough to write new files?  In a mount of one frame there
   are none. */
static int check_cache(const struct fs *fs, const struct options *options)
{
    const struct file_params *params = &options->fs.params;
    size_t least = file_least_cache(&params->chunk, params->chunksize, 0);

    if (!fs->source.writable || fs->source.only ||
        least <= options->file.cache_size)
        return 0;
    log_error("chunksize=%" PRIu32 " takes a cache of %zu bytes to write new "
              "files, more than cache=%zu",
              params->chunksize, least, options->file.cache_size);
    return -EINVAL;
}

/* A server answers as many requests at a time as there are connections. */
static unsigned count_background(const struct fs *fs, unsigned connections)
{
    if (!(fs->source.remote || fs->source.prefix) ||
        connections <= BACKGROUND_MIN)
        return 0;
    return connections < BACKGROUND_MAX ? connections : BACKGROUND_MAX;
}

static int open_mount(struct mount *mount, struct options *options)
{
    if (find_mountpoint(mount, options->fs.mountpoint) < 0)
        return EXIT_FAILURE;
    /* If this fails, fs_open() reports the problem with SOURCE. */
    if (mount_lock_open(options->fs.source, &mount->lock) == 0)
        mount_wait_for_others(&mount->lock, options->fs.source);
    if (fs_open(&options->fs, &mount->fs) < 0)
        return EXIT_FAILURE;
    mount->data.fs = mount->fs;
    mount->fs->kernel_ahead = &mount->kernel_ahead;
    if (check_cache(mount->fs, options) < 0)
        return EXIT_USAGE;
    if (!mount->fs->source.writable &&
        fuse_opt_add_arg(&options->args, "-oro") < 0)
        return EXIT_FAILURE;
    mount->data.max_read = options->max_read;
    mount->data.background =
        count_background(mount->fs, options->file.net.connections);
    fuse_set_log_func(log_session);
    mount->session = fuse_session_new(&options->args, &ops_table,
                                      sizeof(ops_table), &mount->data);
    fuse_set_log_func(log_fuse);
    if (!mount->session)
        return EXIT_USAGE;
    mount->fs->session = mount->session;
    mount->signals = fuse_set_signal_handlers(mount->session) == 0;
    mount->mounted = fuse_session_mount(mount->session, mount->mountpoint) == 0;
    if (!mount->signals || !mount->mounted ||
        killpriv_take_over(mount->session) < 0)
        return EXIT_FAILURE;
    return 0;
}

/* Stop all threads that notify the kernel. */
static void fall_silent(struct mount *mount)
{
    struct fs *fs = mount->fs;

    kernel_stop_notifications(fs);
    kernel_writeback_stop(&mount->writeback);
    pool_free(fs->notifier);
    pool_free(fs->seekers);
    fs->notifier = fs->seekers = NULL;
}

/*
 * Unmount.  This closes the descriptor through which the daemon notifies and
 * answers the kernel, so the threads that use it are stopped before.  But if
 * the loop has failed, nobody answers requests while the mount still exists,
 * and these threads may wait for answers.  Then unmounting comes first; it
 * wakes them.
 */
static void unmount(struct mount *mount)
{
    if (mount->fs && mount->served)
        fall_silent(mount);
    if (mount->mounted)
        fuse_session_unmount(mount->session);
    if (mount->fs && !mount->served)
        fall_silent(mount);
}

static void close_mount(struct mount *mount)
{
    mount_lock_finish(&mount->lock);
    service_tell("STOPPING=1");
    idle_stop(&mount->idle);
    stop_signal_stop(&mount->stop);
    stats_signal_stop(&mount->stats);
    unmount(mount);
    if (mount->signals)
        fuse_remove_signal_handlers(mount->session);
    if (mount->session)
        fuse_session_destroy(mount->session);
    if (fs_close(mount->fs) < 0)
        mount_lock_fail(&mount->lock);
    mount_lock_close(&mount->lock);
    kernel_readahead_close(&mount->kernel_ahead);
    free(mount->mountpoint);
}

/* Each file that a program opens takes a descriptor here. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/*
 * Is the mount there?  The kernel and libfuse may still disagree after the
 * first request.  The parent closes the connection first: it must not keep it
 * open.
 */
static bool answers(const struct mount *mount)
{
    struct stat st;

    close(fuse_session_fd(mount->session));
    return stat(mount->mountpoint, &st) == 0 && st.st_dev != mount->covered;
}

/*
 * Continue in a child.  The parent waits for the byte that the child writes
 * when the mount answers, and exits.  Returns 0 in the child, or a negative
 * errno.
 */
static int detach(struct mount *mount)
{
    int ready[2];
    char byte;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    switch (fork()) {
    case -1:
        return -errno;
    case 0:
        close(ready[0]);
        mount->data.ready_fd = ready[1];
        setsid();
        return chdir("/") < 0 ? -errno : 0;
    default:
        close(ready[1]);
        _exit(read(ready[0], &byte, 1) == 1 && answers(mount) ? EXIT_SUCCESS
                                                              : EXIT_FAILURE);
    }
}

/* Log to syslog, and redirect the standard streams: from here on nobody reads
   standard error. */
static void leave_terminal(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    log_setup(program, LOG_SINK_SYSLOG, LOG_LEVEL_INFO);
    for (int i = STDIN_FILENO; fd >= 0 && i <= STDERR_FILENO; i++)
        dup2(fd, i);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Lock SOURCE before the first request, so that a mount that may have been
   written to is always locked. */
static void lock_source(struct mount *mount)
{
    struct mount_entry entry;

    if (mount_table_find(mount->mountpoint, &entry) < 0)
        entry = (struct mount_entry){ .dev = 0 };
    mount->dev = entry.dev;
    mount_lock_take(&mount->lock, entry.dev, entry.tag,
                    mount->fs->source.writable);
}

static void open_kernel_readahead(struct mount *mount, int64_t kib)
{
    int r = kernel_readahead_open(&mount->kernel_ahead, mount->dev, kib);

    if (r < 0 && kib != KERNEL_READAHEAD_AUTO)
        log_warning("kernel_readahead: only root may set it: %s", strerror(-r));
}

static int serve(struct mount *mount, const struct options *options)
{
    int r = options->foreground ? 0 : detach(mount);

    lock_source(mount);
    raise_descriptor_limit();
    /* Get EFBIG instead of a signal if a file becomes too long. */
    signal(SIGXFSZ, SIG_IGN);
    /* Use only the umask of the program that creates a file. */
    umask(0);
    if (r == 0)
        r = identity_setup(options->others);
    if (r == 0 && mount->fs->source.writable)
        backing_tidy_up(&mount->fs->source);
    if (r == 0)
        r = file_context_new(&options->file, &mount->fs->files);
    if (r == 0)
        backing_start(&mount->fs->source, mount->fs->files);
    if (r == 0)
        r = stats_signal_start(&mount->stats, mount->fs);
    if (r == 0)
        r = pool_new(1, &mount->fs->notifier);
    if (r == 0)
        r = stop_signal_start(&mount->stop, mount->fs);
    if (r == 0 && mount->fs->source.writable)
        r = pool_new(SEEKERS, &mount->fs->seekers);
    if (r == 0 && mount->fs->source.writable)
        r = deferred_close_start(mount->fs->deferred_close);
    if (r == 0)
        r = kernel_writeback_start(&mount->writeback, mount->fs,
                                   mount->mountpoint, mount->dev,
                                   options->file.commit);
    if (r == 0)
        open_kernel_readahead(mount, options->kernel_readahead);
    if (r == 0)
        r = idle_start(&mount->idle, mount->fs, mount->mountpoint, mount->dev,
                       options->idle);
    if (r < 0) {
        log_error("cannot start: %s", strerror(-r));
        return EXIT_FAILURE;
    }
    warm_up(mount->fs->notifier);
    if (!options->foreground)
        leave_terminal();
    mount->served = workers_run(mount->session, THREADS_MAX) == 0;
    return mount->served ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void tell_ready(void)
{
    service_tell("READY=1");
}

static void report_request(const char *line)
{
    log_error("%s", line);
}

int mount_run(struct options *options)
{
    struct mount mount = {
        .data = { .ready = tell_ready, .ready_fd = -1 },
        .kernel_ahead = { .fd = -1 },
    };
    int status;

    options->file.net.report = report_request;
    options->file.net.no_core = !options->debug;
    options->fs.net = &options->file.net;
    log_setup(program, LOG_SINK_STDERR,
              options->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    status = open_mount(&mount, options);
    if (status == 0)
        status = serve(&mount, options);
    close_mount(&mount);
    return status;
}
