/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/free_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/size.h"
#include "open/open_file_lost.h"
#include "tree/fs.h"
#include "tree/report.h"

enum {
    MARGIN = 4 << 20,       /* free bytes besides the kernel's dirty pages; with
                               less, files bypass its cache */
    FILES_MARGIN = 64,      /* likewise, free inodes */
    COMMIT_COST = 64 << 10, /* bytes of a commit besides chunks and index */
    CHUNK_COST = 5 << 10,   /* bytes of a chunk besides its data, if the chunk
                               is a file */
    DIRTY_MAX = 4 << 20,    /* dirty bytes of a file before it is committed, if
                               space is short */
    REFUSAL_SECONDS = 60,   /* for which a refusal on a file system counts */
    RETRY_NS = 100000000,   /* between two tries of a commit that fails */
    DIRTY_RATIO = 20,       /* the kernel's default, in percent of memory */
    KERNEL_PART = 100,      /* a mount may use 1/KERNEL_PART of that */
    NANOSECONDS = 1000000000,
};

static struct timespec now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time;
}

/* Read a number from a file of /proc/sys/vm; 0 if it cannot be read. */
static uint64_t read_setting(const char *path)
{
    FILE *in = fopen(path, "re");
    unsigned long long value = 0;

    if (in && fscanf(in, "%llu", &value) != 1)
        value = 0;
    if (in)
        fclose(in);
    return value;
}

/* The kernel keeps no more dirty pages of a FUSE mount than one hundredth of
   the limit for all file systems together. */
static uint64_t find_kernel_max(void)
{
    uint64_t memory =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t ratio = read_setting("/proc/sys/vm/dirty_ratio");
    uint64_t bytes = read_setting("/proc/sys/vm/dirty_bytes");

    if (bytes == 0)
        bytes = memory / 100 * (ratio > 0 ? ratio : DIRTY_RATIO);
    return bytes / KERNEL_PART;
}

struct free_space *free_space_new(void)
{
    struct free_space *space = calloc(1, sizeof(*space));

    if (!space)
        return NULL;
    pthread_mutex_init(&space->lock, NULL);
    space->kernel_max = find_kernel_max();
    return space;
}

void free_space_free(struct free_space *space)
{
    if (!space)
        return;
    pthread_mutex_destroy(&space->lock);
    free(space);
}

static bool is_refused(struct free_space *space, uint64_t dev)
{
    time_t time = now().tv_sec;
    bool refused = false;

    pthread_mutex_lock(&space->lock);
    for (int i = 0; i < FREE_SPACE_NREFUSALS; i++)
        refused = refused || (space->refusals[i].dev == dev &&
                              space->refusals[i].until > time);
    pthread_mutex_unlock(&space->lock);
    return refused;
}

/* Record a refusal in the slot of the same file system, or else in the oldest
   slot. */
static void note_refusal(struct free_space *space, uint64_t dev)
{
    int at = 0;

    pthread_mutex_lock(&space->lock);
    for (int i = 1; i < FREE_SPACE_NREFUSALS; i++) {
        if (space->refusals[at].dev != dev &&
            (space->refusals[i].dev == dev ||
             space->refusals[i].until < space->refusals[at].until))
            at = i;
    }
    space->refusals[at].dev = dev;
    space->refusals[at].until = now().tv_sec + REFUSAL_SECONDS;
    pthread_mutex_unlock(&space->lock);
}

void free_space_note(struct fs *fs, struct open_file *open, int r)
{
    struct open_version *version;

    if (r != -ENOSPC && r != -EDQUOT)
        return;
    version = open_file_version(open);
    if (version)
        note_refusal(fs->space, version->st.st_dev);
    open_version_put(version);
}

/* Take references to the states of all open files.  The caller frees the array;
   NULL if there is no memory. */
static struct open_version **get_open_states(struct fs *fs, size_t *n)
{
    struct open_version **states;
    size_t nopen = 0;

    *n = 0;
    pthread_mutex_lock(&fs->nodes.lock);
    list_for_each(link, &fs->nodes.all)
        nopen += list_entry(link, struct node, all)->open != NULL;
    states = calloc(nopen + 1, sizeof(states[0]));
    list_for_each(link, &fs->nodes.all) {
        struct open_file *open = list_entry(link, struct node, all)->open;

        if (states && open)
            states[*n] = open_file_version(open);
        if (states && open && states[*n])
            ++*n;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return states;
}

/* Bytes that the daemon has dirty in memory for a file system.  If there is no
   memory for the list of files, those for all file systems. */
static uint64_t dirty_on(struct fs *fs, uint64_t dev)
{
    size_t n;
    struct open_version **states = get_open_states(fs, &n);
    uint64_t dirty = states ? 0 : file_context_dirty(fs->files);

    for (size_t i = 0; i < n; i++) {
        if (states[i]->writable && states[i]->file &&
            states[i]->st.st_dev == dev)
            dirty += file_dirty(states[i]->file);
        open_version_put(states[i]);
    }
    free(states);
    return dirty;
}

/*
 * Is there space for `bytes` besides the daemon's dirty data for the file
 * system, and for `nfiles` new files?  Returns true if that cannot be found
 * out.
 */
static bool has_space(struct fs *fs, const struct open_version *version,
                      uint64_t bytes, uint64_t nfiles)
{
    struct statvfs st;
    uint64_t free;

    if (backing_anchor_statvfs(&version->anchor, &st) < 0 || st.f_blocks == 0)
        return true;
    free = (uint64_t)st.f_bavail * st.f_frsize;
    if (free < bytes || (st.f_files > 0 && st.f_favail < nfiles))
        return false;
    free -= bytes;
    /* Compare with the sum for all file systems first, because finding the
       share of this one walks over all open files. */
    return free >= file_context_dirty(fs->files) ||
           free >= dirty_on(fs, version->st.st_dev);
}

static bool is_short(struct fs *fs, const struct open_version *version)
{
    return is_refused(fs->space, version->st.st_dev) ||
           !has_space(fs, version, fs->space->kernel_max + MARGIN,
                      FILES_MARGIN);
}

bool free_space_wants_direct(struct fs *fs, struct open_file *open)
{
    struct open_version *version;
    bool direct;

    if (!fs->writeback)
        return false;
    version = open_file_version(open);
    direct = open_file_has_lost(open, 0, UINT64_MAX) || is_short(fs, version);
    open_version_put(version);
    return direct;
}

/* The most space that a commit takes after `len` more bytes were written to a
   file with no dirty data: whole chunks that do not compress, and an index. */
static uint64_t commit_cost(struct fs *fs, struct file *file, uint64_t off,
                            size_t len)
{
    struct frame *frame = file_frame_get(file);
    const struct frame_info *info = frame_get_info(frame);
    uint64_t chunksize =
        info->chunksize > 0 ? info->chunksize : fs->params.chunksize;
    uint64_t size = file_size(file) > off + len ? file_size(file) : off + len;
    uint64_t start = off / chunksize * chunksize;
    uint64_t end = size_pieces(off + len, chunksize) * chunksize;
    uint64_t nchunks = size_pieces(end - start, chunksize);
    uint64_t index = (info->nchunks + nchunks) * sizeof(uint64_t);

    file_frame_put(file, frame);
    return (end < size ? end : size) - start + nchunks * CHUNK_COST + index +
           COMMIT_COST;
}

/* The error of the last commit here, if it is too early to try again; else
   0. */
static int recent_refusal(struct open_file *open)
{
    struct timespec time = now();
    int64_t passed;
    int r;

    pthread_mutex_lock(&open->lock);
    passed = (int64_t)(time.tv_sec - open->refused_at.tv_sec) * NANOSECONDS +
             time.tv_nsec - open->refused_at.tv_nsec;
    r = open->refused;
    pthread_mutex_unlock(&open->lock);
    return passed < RETRY_NS ? r : 0;
}

static void note_commit(struct open_file *open, int r)
{
    pthread_mutex_lock(&open->lock);
    open->refused = r;
    open->refused_at = now();
    pthread_mutex_unlock(&open->lock);
}

/* Commit a file, to find out how much space is left. */
static int commit(struct fs *fs, struct open_file *open,
                  struct open_version *version)
{
    struct fault fault = FAULT_NONE;
    int r = recent_refusal(open);

    if (r < 0 || file_is_clean(version->file))
        return r;
    r = file_sync(version->file, &fault);
    note_commit(open, r);
    free_space_note(fs, open, r);
    if (r < 0)
        report_fault(&fs->nodes, open->node, &version->st, r, &fault);
    return r;
}

int free_space_check(struct fs *fs, struct open_file *open,
                     struct open_version *version, uint64_t off, size_t len)
{
    struct file *file = version->file;
    struct fault fault;
    bool doubtful;
    uint64_t cost;
    int r;

    if (!file || !version->writable)
        return 0;
    cost = commit_cost(fs, file, off, len);
    /* Only a failing commit shows that a quota is exceeded. */
    doubtful = file_take_error(file, &fault) < 0 ||
               (is_refused(fs->space, version->st.st_dev) &&
                file_dirty(file) >= DIRTY_MAX);
    if (!doubtful && has_space(fs, version, cost, 0))
        return 0;
    r = commit(fs, open, version);
    return r < 0 || has_space(fs, version, cost, 0) ? r : -ENOSPC;
}

bool free_space_is_enough(struct fs *fs, const struct open_version *version,
                          uint64_t bytes)
{
    return has_space(fs, version, bytes, 0);
}

void free_space_write_out(struct fs *fs, struct open_file *open,
                          struct open_version *version)
{
    struct file *file = version->file;

    /* If this fails, the next sync or close returns the error. */
    if (file && version->writable && file_dirty(file) >= DIRTY_MAX &&
        is_short(fs, version))
        commit(fs, open, version);
}
