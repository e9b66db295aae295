/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "confine.h"
#include "dress.h"
#include "frame/frame_object.h"
#include "interrupt.h"
#include "jobs.h"
#include "source.h"
#include "tree.h"
#include "writer/private_dir.h"

/* The work on two trees. */
struct work {
    const struct tree_copy *copy;
    char from[PATH_MAX]; /* without a slash at the end */
    size_t from_len;     /* of the part of paths before a slash */
    char to[PATH_MAX];
    bool to_is_new;
    struct tree tree;  /* all that is below `from` */
    struct tree files; /* those of which frames are to be made */
    long nfailed;
    size_t nleft_out;
};

static int report(struct work *work, const char *path, int error)
{
    source_report(path, error, &FAULT_NONE);
    work->nfailed++;
    return error;
}

static int set_path(const char *path, char out[PATH_MAX])
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(out, path, len);
    out[len] = '\0';
    return 0;
}

/* Get the path that an entry has in the new tree. */
static int path_in_new(const struct work *work, const struct tree_entry *entry,
                       char out[PATH_MAX])
{
    const struct tree_copy *copy = work->copy;
    bool named = copy->suffix && entry->kind == TREE_FILE;
    size_t cut = 0;
    const char *suffix = named ? copy->suffix(entry->path, &cut) : "";
    const char *below = entry->path + work->from_len;
    int len = snprintf(out, PATH_MAX, "%s%.*s%s", work->to,
                       (int)(strlen(below) - cut), below, suffix);

    return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool tree_copy_is_made(const struct stat *from, const char *out)
{
    struct stat old;

    return source_stat_quietly(out, &old) == 0 &&
           old.st_mtim.tv_sec == from->st_mtim.tv_sec &&
           old.st_mtim.tv_nsec == from->st_mtim.tv_nsec;
}

static bool is_made(const char *path, const char *out)
{
    struct stat st;

    return source_stat_quietly(path, &st) == 0 && tree_copy_is_made(&st, out);
}

/* Make a directory that only its owner can use until everything is in it; or
   use the one that is there. */
static int make_directory(const char *out)
{
    const char *name;
    struct stat st;
    int parent = confine_open_parent(out, &name);
    int r = 0;
    int fd;

    if (parent < 0)
        return parent;
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        r = -errno;
    close(parent);
    if (r < 0)
        return r;
    fd = confine_open(out, S_IFDIR);
    if (fd < 0)
        return fd;
    private_dir_tidy_up_all(fd, ".");
    if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        fchmod(fd, (st.st_mode & 07777) | 0700);
    close(fd);
    return 0;
}

static int read_link(const char *path, char target[PATH_MAX])
{
    const char *name;
    int parent = confine_open_parent(path, &name);
    ssize_t len;

    if (parent < 0)
        return parent;
    len = readlinkat(parent, name, target, PATH_MAX - 1);
    if (len < 0)
        len = -errno;
    else
        target[len] = '\0';
    close(parent);
    return len < 0 ? (int)len : 0;
}

static int copy_link(const char *path, const char *out)
{
    char target[PATH_MAX];
    char old[PATH_MAX];
    const char *name;
    int r = read_link(path, target);
    int parent;

    if (r < 0 || (read_link(out, old) == 0 && strcmp(old, target) == 0))
        return r;
    parent = confine_open_parent(out, &name);
    if (parent < 0)
        return parent;
    if (symlinkat(target, parent, name) < 0)
        r = -errno;
    close(parent);
    return r;
}

/* Would a new frame turn the directory that it is in into a sparse frame?  Then
   the other files there would not show any more. */
static bool makes_index(struct work *work, const struct tree_entry *entry,
                        const char *out)
{
    const char *slash = strrchr(out, '/');

    if (!work->copy->suffix || !frame_object_is_index(slash ? slash + 1 : out))
        return false;
    log_error("%s: has a name that would turn its directory into a sparse "
              "frame, and is left out",
              entry->path);
    work->nfailed++;
    return true;
}

/* Make an entry of the new tree, or note that a frame is to be made. */
static int plan_entry(struct work *work, const struct tree_entry *entry)
{
    char out[PATH_MAX];
    int r = path_in_new(work, entry, out);

    if (r < 0)
        return report(work, entry->path, r);
    switch (entry->kind) {
    case TREE_DIRECTORY:
        r = make_directory(out);
        break;
    case TREE_LINK:
        r = copy_link(entry->path, out);
        break;
    case TREE_OTHER:
        log_warning("%s: is neither a file nor a directory, and is left out",
                    entry->path);
        break;
    case TREE_FILE:
    case TREE_FRAME:
    case TREE_SPARSE:
        if (makes_index(work, entry, out))
            break;
        if (work->copy->frames && entry->kind == TREE_FILE)
            work->nleft_out++;
        else if (work->copy->force || !is_made(entry->path, out))
            return tree_add(&work->files, entry->kind, entry->path,
                            entry->size);
    }
    return r < 0 ? report(work, out, r) : 0;
}

static int make_one(void *context, const struct tree_entry *file,
                    uint64_t counts[JOBS_NCOUNTS])
{
    struct work *work = context;
    char out[PATH_MAX];
    int r = path_in_new(work, file, out);

    if (r < 0)
        return report(work, file->path, r);
    interrupt_catch();
    r = work->copy->make(work->copy->context, file->path, out);
    interrupt_die();
    return made_print(work->copy->made, out, file->size, r, counts);
}

static void count_made(void *context, const uint64_t counts[JOBS_NCOUNTS])
{
    const struct work *work = context;

    made_count(work->copy->made, counts);
}

static int sync_directory(const char *path)
{
    int fd = confine_open(path, S_IFDIR);
    int r = fd < 0 ? fd : fsync(fd) < 0 && errno != EINVAL ? -errno : 0;

    if (fd >= 0)
        close(fd);
    return r;
}

static int dress_directory(const char *path, const char *out)
{
    struct stat st;
    int fd = confine_open_path(path);
    int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

    if (fd >= 0)
        close(fd);
    if (r < 0)
        return r;
    fd = confine_open(out, S_IFDIR);
    if (fd < 0)
        return fd;
    r = dress_file(fd, ".", &st);
    if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
        r = -errno;
    close(fd);
    return r;
}

/* Give the directories their owner, permissions and times, the innermost ones
   first, now that nothing changes in them any more. */
static void dress_all(struct work *work)
{
    char out[PATH_MAX];
    int r;

    for (size_t i = work->tree.n; i-- > 0;) {
        const struct tree_entry *entry = &work->tree.entries[i];

        r = 0;
        if (entry->kind == TREE_DIRECTORY)
            r = path_in_new(work, entry, out);
        if (r == 0 && entry->kind == TREE_DIRECTORY)
            r = dress_directory(entry->path, out);
        if (r < 0)
            report(work, entry->path, r);
    }
    r = work->to_is_new ? dress_directory(work->from, work->to)
                        : sync_directory(work->to);
    if (r < 0)
        report(work, work->to, r);
}

/* Make or open the top of the new tree. */
static int open_new(struct work *work, struct stat *to)
{
    struct stat from;
    int fd;
    int r;

    if (stat(work->from, &from) < 0)
        return report(work, work->from, -errno);
    work->to_is_new = mkdir(work->to, 0700) == 0;
    fd = open(work->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, to) < 0)
        return report(work, work->to, -errno);
    if (from.st_dev == to->st_dev && from.st_ino == to->st_ino) {
        log_error("%s: is the tree that is read, so cannot be made",
                  work->copy->to);
        return -EINVAL;
    }
    private_dir_tidy_up_all(fd, ".");
    r = confine_to(work->to, fd);
    return r < 0 ? report(work, work->to, r) : 0;
}

static int make_tree(struct work *work)
{
    const struct jobs jobs = {
        .files = &work->files,
        .run = make_one,
        .done = count_made,
        .waits = true,
        .context = work,
        .separator = made_separator(work->copy->made),
    };
    struct stat to;
    const struct tree_wish wish = { work->copy->frames, &to };
    long nfailed;
    int r = open_new(work, &to);

    if (r == 0)
        r = tree_read(work->from, &wish, &work->tree);
    for (size_t i = 0; i < work->tree.n && r != -ENOMEM; i++)
        r = plan_entry(work, &work->tree.entries[i]);
    if (r == -ENOMEM)
        return report(work, work->from, r);
    if (work->tree.n == 0 && r < 0)
        return r;
    made_begin(work->copy->made);
    nfailed = jobs_run(&jobs);
    made_end(work->copy->made);
    if (nfailed < 0)
        return (int)nfailed;
    work->nfailed += nfailed + work->tree.nfailed;
    dress_all(work);
    if (work->nleft_out > 0)
        log_warning("%s: %zu files that are no frames are left out",
                    work->copy->from, work->nleft_out);
    return 0;
}

int tree_copy_run(const struct tree_copy *copy)
{
    struct work *work = calloc(1, sizeof(*work));
    int r;

    if (!work) {
        source_report(copy->from, -ENOMEM, &FAULT_NONE);
        return EXIT_FAILURE;
    }
    work->copy = copy;
    r = set_path(copy->from, work->from);
    work->from_len = strcmp(work->from, "/") == 0 ? 0 : strlen(work->from);
    if (r == 0)
        r = set_path(copy->to, work->to);
    if (r < 0)
        report(work, copy->to, r);
    else
        r = make_tree(work);
    if (work->nfailed > 0)
        r = -EIO;
    tree_free(&work->tree);
    tree_free(&work->files);
    free(work);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
