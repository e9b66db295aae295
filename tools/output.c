/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "confine.h"
#include "copy_fd.h"
#include "dress.h"
#include "frame/frame_object.h"
#include "interrupt.h"
#include "remote.h"
#include "source.h"
#include "store/store_local.h"
#include "store/store_version.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

struct output {
    const char *path; /* as the user gave it; for messages too */
    bool sparse;
    enum output_force asked;
    bool force; /* something may be replaced, */
    bool held;  /* but only this: */
    struct store_version old;
    bool to_stdout;
    bool remote;
    mode_t umask; /* the user's */
    int dir;      /* the directory that the frame is made in */
    int lock;     /* on a sparse frame until it is published; or -1 */
    char name[NAME_MAX + 1];
    char draft[PRIVATE_DIR_NAME_MAX]; /* its temporary name, or "" */
    struct store *store;
};

static int report(const struct output *output, int error)
{
    if (error == -ESTALE && output->held)
        log_error("%s: was replaced or renamed meanwhile; try again",
                  output->path);
    else if (error == -EEXIST && output->asked == OUTPUT_ABSENT)
        log_error("%s: appeared meanwhile, so is not replaced; try again",
                  output->path);
    else if (error == -EEXIST && !output->force)
        log_error("%s: exists already, and --force is not given", output->path);
    else if (error == -EEXIST)
        log_error("%s: is no %s frame, so is not replaced", output->path,
                  output->sparse ? "sparse" : "contiguous");
    else if (error == -ENOTEMPTY)
        log_error("%s: is neither a file nor a frame, so is not replaced",
                  output->path);
    else
        source_report(output->path, error, &FAULT_NONE);
    return error;
}

/* Split a path into directory and name, and open the directory. */
static int split_path(struct output *output, const char *path)
{
    char trimmed[PATH_MAX];
    size_t len = strlen(path);
    const char *name;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len >= sizeof(trimmed))
        return -ENAMETOOLONG;
    memcpy(trimmed, path, len);
    trimmed[len] = '\0';
    output->dir = confine_open_parent(trimmed, &name);
    if (output->dir < 0)
        return output->dir;
    if (snprintf(output->name, sizeof(output->name), "%s", name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return -EISDIR;
    return 0;
}

/* Check whether something has the name, and whether it may be replaced. */
static int check_old(const struct output *output)
{
    struct stat old;

    if (fstatat(output->dir, output->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!output->force)
        return -EEXIST;
    if (S_ISDIR(old.st_mode))
        return frame_dir_check(output->dir, output->name);
    return S_ISREG(old.st_mode) ? 0 : -ENOTEMPTY;
}

/* Open the directory for a frame that never gets a name. */
static int find_scratch(struct output *output)
{
    const char *dir = getenv("TMPDIR");

    output->dir = open(dir ? dir : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return output->dir < 0 ? -errno : 0;
}

static int find_stdout(struct output *output)
{
    if (output->sparse)
        return -EISDIR;
    if (isatty(STDOUT_FILENO))
        return -ENOTTY;
    output->path = "standard output";
    return find_scratch(output);
}

/* Open the directory of the frame, and check that the frame may be made there.
   With --force, a symbolic link stays, and the file or frame that it leads to
   is replaced; but no link is followed in a tree, which its reader has tidied
   up already. */
static int find_place(struct output *output)
{
    bool in_tree = confine_has(output->path);
    char *real =
        output->force && !in_tree ? realpath(output->path, NULL) : NULL;
    int r = split_path(output, real ? real : output->path);

    free(real);
    if (r == 0 && !in_tree)
        private_dir_tidy_up_all(output->dir, ".");
    return r == 0 ? check_old(output) : r;
}

/* Open a store for a frame in a file. store_publish() gives the file its
   temporary name, which it bears only until output_publish() has set its
   owner. */
static int open_draft_file(struct output *output)
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) < 0)
        return -errno;
    snprintf(output->draft, sizeof(output->draft),
             STORE_TEMPORARY "%016" PRIx64, random);
    return store_file_open(output->dir, output->draft, STORE_WRITE | STORE_NEW,
                           &output->store);
}

static int open_draft_dir(struct output *output)
{
    int r;

    output->lock = private_dir_make(output->dir, false, output->draft);
    if (output->lock < 0) {
        output->draft[0] = '\0';
        return output->lock;
    }
    r = private_dir_mark(output->lock);
    if (r == 0)
        r = store_dir_open(output->dir, output->draft, STORE_WRITE,
                           &output->store);
    return r;
}

/* A frame on a server has its name once it is committed. */
static int open_remote(struct output *output)
{
    output->remote = true;
    return remote_create(output->path, output->sparse, output->force,
                         &output->store);
}

static int open_local(struct output *output)
{
    int r = output->to_stdout ? find_stdout(output) : find_place(output);

    if (r == 0)
        r = output->sparse ? open_draft_dir(output) : open_draft_file(output);
    return r;
}

static struct output *new_output(const char *path)
{
    struct output *output = calloc(1, sizeof(*output));

    if (!output) {
        log_error("%s: %s", path, strerror(ENOMEM));
        return NULL;
    }
    *output = (struct output){
        .path = path,
        .umask = umask(077),
        .dir = -1,
        .lock = -1,
    };
    return output;
}

/* Report an error of opening, and close the output then. */
static int finish_open(struct output *output, int error, struct output **out)
{
    if (error < 0) {
        report(output, error);
        output_close(output);
        return error;
    }
    *out = output;
    return 0;
}

int output_open(const char *path, bool sparse, enum output_force force,
                struct output **out)
{
    struct output *output = new_output(path);

    if (!output)
        return -ENOMEM;
    output->sparse = sparse;
    output->asked = force;
    output->force = force == OUTPUT_FORCE;
    output->to_stdout = strcmp(path, "-") == 0;
    return finish_open(
        output, remote_is(path) ? open_remote(output) : open_local(output),
        out);
}

void output_replaces(struct output *output, struct store *held)
{
    struct store_stat st;

    output->held = held && !output->remote && store_self(held, &st) == 0;
    if (output->held)
        output->old = st.version;
}

int output_open_scratch(struct output **out)
{
    struct output *output = new_output("temporary frame");
    int r;

    if (!output)
        return -ENOMEM;
    r = find_scratch(output);
    if (r == 0)
        r = open_draft_file(output);
    return finish_open(output, r, out);
}

void output_close(struct output *output)
{
    if (!output)
        return;
    store_close(output->store);
    if (output->draft[0] != '\0' && output->sparse)
        frame_dir_remove(output->dir, output->draft);
    else if (output->draft[0] != '\0')
        unlinkat(output->dir, output->draft, 0);
    if (output->lock >= 0)
        close(output->lock);
    if (output->dir >= 0)
        close(output->dir);
    free(output);
}

struct store *output_store(struct output *output)
{
    return output->store;
}

static int dress(const struct output *output, const struct stat *like)
{
    const struct stat new = {
        .st_uid = geteuid(),
        .st_gid = (gid_t)-1,
        .st_mode = 0666 & ~output->umask,
        .st_atim.tv_nsec = UTIME_OMIT,
        .st_mtim.tv_nsec = UTIME_OMIT,
    };

    if (!like)
        like = &new;
    return output->sparse ? dress_dir(output->dir, output->draft, like)
                          : dress_file(output->dir, output->draft, like);
}

/* Move the frame without RENAME_NOREPLACE, which the kernel or the file system
   does not know. */
static int move_if_free(const struct output *output)
{
    if (faccessat(output->dir, output->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return renameat(output->dir, output->draft, output->dir, output->name) < 0
               ? -errno
               : 0;
}

/* Give the draft the name by which any program may remove the old file. */
static void rename_draft(struct output *output, const struct stat *old)
{
    char name[STORE_DRAFT_NAME_LEN];

    store_stale_name(old, name);
    if (renameat2(output->dir, output->draft, output->dir, name,
                  RENAME_NOREPLACE) == 0)
        memcpy(output->draft, name, sizeof(name));
}

/* Tell programs that have a frame open that it is replaced, by its only file or
   its index file. */
static void mark_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    store_mark_replaced(fd);
    close(fd);
}

/* Let any program remove the old file or frame if this one is killed while that
   has the name of the draft. */
static void mark_old(struct output *output)
{
    int fd = openat(output->dir, output->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat old;

    if (fd < 0)
        return;
    if (fstat(fd, &old) < 0)
        old.st_mode = 0;
    if (S_ISDIR(old.st_mode)) {
        mark_file(fd, FRAME_OBJECT_INDEX);
        private_dir_mark(fd);
    } else if (S_ISREG(old.st_mode)) {
        mark_file(output->dir, output->name);
        rename_draft(output, &old);
    }
    close(fd);
}

/* Exchange the new frame with the old file or frame, and remove the old one.
   At least one of the two is a directory. */
static int exchange(struct output *output)
{
    mark_old(output);
    if (renameat2(output->dir, output->draft, output->dir, output->name,
                  RENAME_EXCHANGE) < 0)
        return -errno;
    if (unlinkat(output->dir, output->draft, 0) == 0)
        return 0;
    return errno == EISDIR ? frame_dir_remove(output->dir, output->draft)
                           : -errno;
}

/* Has the frame that is held this name? */
static bool is_held(const struct output *output, const char *name)
{
    struct stat st;

    return fstatat(output->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           store_version_compare(output->old, store_version_of(&st)) >=
               VERSION_SAME_OBJECT;
}

/* Replace the frame that is held.  If another process has just given its name
   to another one, exchange them back. */
static int replace_held(struct output *output)
{
    if (!is_held(output, output->name))
        return -ESTALE;
    mark_old(output);
    if (renameat2(output->dir, output->draft, output->dir, output->name,
                  RENAME_EXCHANGE) < 0)
        return errno == ENOENT ? -ESTALE : -errno;
    if (!is_held(output, output->draft)) {
        renameat2(output->dir, output->draft, output->dir, output->name,
                  RENAME_EXCHANGE);
        return -ESTALE;
    }
    if (unlinkat(output->dir, output->draft, 0) == 0)
        return 0;
    return errno == EISDIR ? frame_dir_remove(output->dir, output->draft)
                           : -errno;
}

static int move(struct output *output)
{
    unsigned flags = output->force ? 0 : RENAME_NOREPLACE;

    if (renameat2(output->dir, output->draft, output->dir, output->name,
                  flags) == 0)
        return 0;
    switch (errno) {
    case EINVAL:
    case ENOSYS:
        return move_if_free(output);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
        return exchange(output);
    case EEXIST:
        return output->force ? exchange(output) : -EEXIST;
    default:
        return -errno;
    }
}

static int replace_or_move(struct output *output)
{
    int r = output->held ? replace_held(output) : -EINVAL;

    /* Some file systems cannot exchange files. */
    return r == -EINVAL || r == -ENOSYS ? move(output) : r;
}

/* Remove the mark, because the frame has its name now.  If the mode of the
   frame forbids that to its owner, change the mode for a moment. */
static void unmark(const struct output *output)
{
    struct stat st;

    if (private_dir_unmark(output->lock) != -EACCES ||
        fstat(output->lock, &st) < 0 ||
        fchmod(output->lock, st.st_mode | S_IWUSR) < 0)
        return;
    private_dir_unmark(output->lock);
    fchmod(output->lock, st.st_mode);
}

/* Copy the frame to standard output.  Remove its name first, because the reader
   of a pipe may take long, and this process may be killed meanwhile. */
static int copy_out(struct output *output)
{
    int fd = openat(output->dir, output->draft, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && unlinkat(output->dir, output->draft, 0) == 0)
        output->draft[0] = '\0';
    if (r == 0)
        r = copy_fd(fd, STDOUT_FILENO);
    if (fd >= 0)
        close(fd);
    return r;
}

int output_publish(struct output *output, const struct stat *like)
{
    int r = interrupt_seen() ? -EINTR : 0;

    if (output->remote)
        return 0;
    if (r == 0 && output->to_stdout) {
        r = copy_out(output);
        return r < 0 ? report(output, r) : 0;
    }
    if (r == 0)
        r = dress(output, like);
    if (r == 0)
        r = replace_or_move(output);
    if (r < 0)
        return report(output, r);
    if (output->sparse)
        unmark(output);
    output->draft[0] = '\0';
    if (confine_has(output->path))
        return 0;
    return fsync(output->dir) < 0 && errno != EINVAL ? report(output, -errno)
                                                     : 0;
}
