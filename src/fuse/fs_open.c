/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/fs_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/prefix.h"
#include "backing/remote_frame.h"
#include "backing/source_open.h"
#include "base/log.h"
#include "bundle/bundle.h"
#include "frame/frame_remote.h"
#include "fuse/sync_all.h"
#include "open/deferred_close.h"
#include "open/draft_memory.h"
#include "open/free_space.h"
#include "open/open_file.h"
#include "open/reform.h"
#include "ops/remove.h"
#include "store/store_local.h"
#include "store/store_version.h"

/* The paths of SOURCE and MOUNTPOINT, while they are opened. */
struct paths {
    const char *said; /* SOURCE as the user wrote it */
    char *source;     /* without links, like the next */
    char *mountpoint;
    struct stat source_st;
    struct stat mountpoint_st;
    enum entry_kind kind; /* of SOURCE */
};

static int resolve(const char *path, char **out, struct stat *st)
{
    *out = realpath(path, NULL);
    if (!*out || stat(*out, st) < 0)
        return -errno;
    return 0;
}

static int paths_init(const struct fs_options *options, struct paths *paths)
{
    int r;

    paths->said = options->source;
    r = resolve(options->source, &paths->source, &paths->source_st);
    if (r == 0)
        r = source_open_kind(paths->source, &paths->source_st,
                             options->offset > 0);
    if (r < 0) {
        log_error("%s: %s", paths->said,
                  r == -EINVAL ? "neither a directory nor a regular file"
                               : strerror(-r));
        return r;
    }
    paths->kind = (enum entry_kind)r;
    r = resolve(options->mountpoint, &paths->mountpoint, &paths->mountpoint_st);
    if (r < 0)
        log_error("%s: %s", options->mountpoint, strerror(-r));
    return r;
}

static void paths_fini(struct paths *paths)
{
    free(paths->source);
    free(paths->mountpoint);
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 &&
           (path[len] == '/' || (len > 0 && dir[len - 1] == '/'));
}

/* Check that SOURCE, which shows as a directory, can be mounted at
   MOUNTPOINT. */
static int check_tree(const struct fs *fs, const struct paths *paths)
{
    if (fs->source.base > 0) {
        log_error("%s: is a directory, and offset= is for a frame in a file",
                  paths->said);
        return -EINVAL;
    }
    if (!S_ISDIR(paths->mountpoint_st.st_mode)) {
        log_error("%s: is a directory of files, and %s is none", paths->said,
                  paths->mountpoint);
        return -ENOTDIR;
    }
    return 0;
}

static int open_tree(struct fs *fs, const struct paths *paths)
{
    int r = check_tree(fs, paths);

    if (r < 0)
        return r;
    r = source_open_directory(&fs->source, paths->source);
    if (r == 0 && is_below(paths->mountpoint, paths->source))
        r = source_open_hide(&fs->source, paths->mountpoint);
    if (r < 0)
        return r;
    return node_table_init(&fs->nodes, ENTRY_DIRECTORY, ".");
}

/* Refuse a store that cannot be read, before it is mounted. */
static int check_store(struct fs *fs, const struct paths *paths,
                       const char *name)
{
    const struct backing_opening how = {
        .source = &fs->source,
        .kind = ENTRY_STORE,
        .bundle_path = "",
    };
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    struct backing_dir dir;
    char text[256];
    int r = backing_find(&fs->source, "", name, ENTRY_STORE, &place);

    if (r < 0)
        return r;
    r = backing_dir_open(&place, &how, &dir, &fault);
    backing_close(&place);
    if (r < 0) {
        fault_format(&fault, r, text, sizeof(text));
        log_error("%s: %s", paths->said, text);
        return r;
    }
    backing_dir_close(&dir);
    return 0;
}

static int open_store(struct fs *fs, const struct paths *paths)
{
    char *name = NULL;
    int r = check_tree(fs, paths);

    if (r < 0)
        return r;
    if (is_below(paths->mountpoint, paths->source)) {
        log_error("%s: lies inside the store", paths->mountpoint);
        return -EINVAL;
    }
    r = source_open_store(&fs->source, paths->source, &name);
    if (r == 0)
        r = check_store(fs, paths, name);
    if (r == 0)
        r = node_table_init(&fs->nodes, ENTRY_STORE, name);
    free(name);
    return r;
}

/* Refuse a file that is not a frame, before it is mounted. */
static int check_frame(struct fs *fs, const struct paths *paths)
{
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    struct frame_info info;
    struct store_stat st;
    struct store *store;
    char text[256];
    int r = backing_find(&fs->source, "", fs->source.only, paths->kind, &place);

    if (r == 0)
        r = backing_store(&place, paths->kind, 0, &store, &fault);
    if (r == 0) {
        r = frame_read_info(store, fs->source.base, &info, &st, &fault);
        fs->source.only_is_array = r == 0 && fs->source.npy &&
                                   backing_is_array(store, fs->source.base) > 0;
        store_close(store);
    }
    if (r < 0) {
        fault_format(&fault, r, text, sizeof(text));
        log_error("%s: %s", paths->said, text);
    }
    return r;
}

static int check_offset(const struct fs *fs, const struct paths *paths)
{
    if (fs->source.base == 0 || !entry_traits[paths->kind].sparse)
        return 0;
    log_error("%s: is a directory, and offset= is for a frame in a file",
              paths->said);
    return -EINVAL;
}

/* Make the frame SOURCE, which is open, the root, or the only file there. */
static int show_frame(struct fs *fs, const struct paths *paths)
{
    bool onto_file = !S_ISDIR(paths->mountpoint_st.st_mode);
    int r = check_frame(fs, paths);

    if (r < 0)
        return r;
    return node_table_init(&fs->nodes,
                           onto_file ? paths->kind : ENTRY_FRAME_DIR,
                           onto_file ? fs->source.only : ".");
}

static int open_frame(struct fs *fs, const struct paths *paths)
{
    int r = check_offset(fs, paths);

    if (r < 0)
        return r;
    if (is_below(paths->mountpoint, paths->source)) {
        log_error("%s: lies inside the frame", paths->mountpoint);
        return -EINVAL;
    }
    r = source_open_frame(
        &fs->source, paths->source, paths->kind,
        store_version_same_object(&paths->source_st, &paths->mountpoint_st));
    return r < 0 ? r : show_frame(fs, paths);
}

/* If there is no frame behind a URL of S3, open the tree of what is below
   it. */
static int find_remote(struct fs *fs, const struct fs_options *options)
{
    struct backing_source *source = &fs->source;
    int r = remote_frame_open(source, options->source, options->net);
    int tree;

    if ((r < 0 && r != -ENOENT && r != -EACCES) ||
        (r == 0 && remote_frame_is_frame(source->remote)) ||
        !url_has_list(options->source))
        return r;
    tree = prefix_open(source, options->source, options->net);
    if (tree < 0)
        return tree == -ENOENT ? r : tree;
    remote_frame_free(source->remote);
    free(source->only);
    source->remote = NULL;
    source->only = NULL;
    return 0;
}

/* Check a URL, and find out what is there.  Its query is a secret, so `said` is
   the URL without it. */
static int open_url(struct fs *fs, const struct fs_options *options,
                    struct paths *paths)
{
    const char *why = NULL;
    int r;

    paths->source = strndup(options->source, url_public_len(options->source));
    if (!paths->source)
        return -ENOMEM;
    paths->said = paths->source;
    r = frame_remote_check(options->source, &why);
    if (r == 0)
        r = find_remote(fs, options);
    if (r == 0 && fs->source.remote && bundle_has_suffix(paths->source)) {
        why = "a store of frames behind a URL is not mounted; copy it here";
        r = -ENOTSUP;
    }
    if (r < 0)
        log_error("%s: %s", paths->said, why ? why : strerror(-r));
    return r;
}

/* Open the frame that a ticket leads to. */
static int open_origin(struct fs *fs, const struct fs_options *options,
                       const struct frame_ticket *ticket, struct paths *paths)
{
    int r;

    paths->said = options->source;
    r = remote_frame_open_ticket(&fs->source, options->source, ticket,
                                 options->net);
    if (r < 0)
        log_error("%s: %s", paths->said, strerror(-r));
    return r;
}

/* Open SOURCE.  `ticket` leads to it, or is NULL. */
static int open_source(struct fs *fs, const struct fs_options *options,
                       const struct frame_ticket *ticket, struct paths *paths)
{
    int r = ticket ? open_origin(fs, options, ticket, paths)
                   : open_url(fs, options, paths);

    if (r < 0)
        return r;
    paths->kind = fs->source.prefix ? ENTRY_DIRECTORY : fs->source.only_kind;
    r = resolve(options->mountpoint, &paths->mountpoint, &paths->mountpoint_st);
    if (r < 0) {
        log_error("%s: %s", options->mountpoint, strerror(-r));
        return r;
    }
    if (fs->source.prefix) {
        r = check_tree(fs, paths);
        return r < 0 ? r : node_table_init(&fs->nodes, ENTRY_DIRECTORY, ".");
    }
    r = check_offset(fs, paths);
    return r < 0 ? r : show_frame(fs, paths);
}

/* Open SOURCE, which is a URL, or a frame that a ticket leads to.  Programs on
   other hosts may change it at any time. */
static int open_remote(struct fs *fs, const struct fs_options *options,
                       const struct frame_ticket *ticket)
{
    struct paths paths = { 0 };
    int r = open_source(fs, options, ticket, &paths);

    if (r == 0 && !options->read_only && !options->npy)
        fs->source.writable =
            fs->source.prefix || remote_frame_can_change(fs->source.remote);
    if (fs->source.prefix && fs->source.writable)
        prefix_allow_changes(fs->source.prefix);
    fs->shared = fs->source.writable;
    fs->sparse = true;
    backing_rest(&fs->source);
    paths_fini(&paths);
    return r;
}

/* Does the user have write permission for SOURCE? */
static bool is_writable(const char *source)
{
    return faccessat(AT_FDCWD, source, W_OK, AT_EACCESS) == 0;
}

/* Allocate a tree with nothing open; NULL if there is no memory. */
static struct fs *fs_new(const struct fs_options *options)
{
    struct fs *fs = calloc(1, sizeof(*fs));
    struct deferred_close *deferred = deferred_close_new();
    struct free_space *space = free_space_new();
    struct draft_memory *memory = draft_memory_new();

    if (!fs || !deferred || !space || !memory) {
        draft_memory_free(memory);
        deferred_close_free(deferred);
        free_space_free(space);
        free(fs);
        return NULL;
    }
    fs->deferred_close = deferred;
    fs->space = space;
    fs->draft_memory = memory;
    list_init(&fs->opened);
    backing_source_init(&fs->source);
    fs->open_anchor = open_file_anchor;
    fs->closing = reform_note;
    fs->closed = reform_run;
    fs->source.keep_names = options->keep_names;
    fs->source.npy = options->npy;
    fs->chunks = options->chunks;
    fs->source.noatime = options->noatime;
    fs->sparse = options->sparse;
    fs->close_later = options->close_later;
    fs->params = options->params;
    fs->shown = options->shown;
    fs->plain = options->plain;
    fs->source.base = options->offset;
    return fs;
}

/* Open SOURCE, which is a path in the local file system. */
static int open_local(struct fs *fs, const struct fs_options *options)
{
    struct paths paths = { 0 };
    int r = paths_init(options, &paths);

    if (r == 0 && entry_traits[paths.kind].frame)
        r = open_frame(fs, &paths);
    else if (r == 0 && entry_traits[paths.kind].readonly_dir)
        r = open_store(fs, &paths);
    else if (r == 0)
        r = open_tree(fs, &paths);
    fs->dev = paths.source_st.st_dev;
    fs->source.writable =
        r == 0 && !options->read_only && fs->source.base == 0 &&
        !(options->npy && options->shared) &&
        !entry_traits[paths.kind].readonly_dir && is_writable(paths.source);
    paths_fini(&paths);
    return r;
}

/* Is SOURCE a ticket?  Returns 1, 0, or an error, which was reported. */
static int find_ticket(const struct fs_options *options,
                       struct frame_ticket *out)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    char text[256];
    int r;

    /* A source that cannot be opened is reported later. */
    if (url_is(options->source) || options->offset > 0 ||
        store_path_open(options->source, STORE_NOATIME, &store) < 0)
        return 0;
    r = frame_ticket_read(store, out, &fault);
    store_close(store);
    if (r != -EBADMSG && r != -ENOTSUP)
        return r > 0;
    fault_format(&fault, r, text, sizeof(text));
    log_error("%s: %s", options->source, text);
    return r;
}

int fs_open(const struct fs_options *options, struct fs **out)
{
    struct frame_ticket ticket = { 0 };
    struct fs *fs = fs_new(options);
    int r;

    if (!fs)
        return -ENOMEM;
    r = find_ticket(options, &ticket);
    if (url_is(options->source) || r > 0)
        r = open_remote(fs, options, r > 0 ? &ticket : NULL);
    else if (r == 0)
        r = open_local(fs, options);
    frame_ticket_fini(&ticket);
    if (r < 0) {
        fs_close(fs);
        return r;
    }
    /* If the root is a file, the kernel never looks it up, and so would never
       learn that other programs have changed it.  If frames are shared by
       locks, a frame must be locked when a program writes, not when the kernel
       writes back its pages.  Whole pages would also bring back older bytes of
       a chunk that another host has changed. */
    fs->shared = fs->shared || options->shared;
    fs->writeback = fs->source.writable && !fs->shared &&
                    !entry_traits[fs->nodes.root.id.kind].frame;
    *out = fs;
    return 0;
}

int fs_close(struct fs *fs)
{
    int synced;
    int r;

    if (!fs)
        return 0;
    list_for_each_safe(link, &fs->opened) {
        struct fs_opened *opened = list_entry(link, struct fs_opened, link);

        opened->close(fs, opened);
    }
    file_context_end(fs->files);
    r = deferred_close_stop(fs);
    synced = sync_all(fs);
    file_context_free(fs->files);
    node_table_fini(&fs->nodes);
    sync_set_fini(&fs->written);
    deferred_close_free(fs->deferred_close);
    free_space_free(fs->space);
    draft_memory_free(fs->draft_memory);
    backing_source_fini(&fs->source);
    free(fs);
    return r < 0 ? r : synced;
}
