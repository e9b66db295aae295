/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/names.h"
#include "bundle/bundle.h"
#include "confine.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "interrupt.h"
#include "leaf.h"
#include "remote.h"
#include "source.h"
#include "writer/frame_dir.h"

enum {
    MAGIC_LEN = 16 /* bytes of a file to look at */
};

/* A directory that is being read. */
struct place {
    struct tree *tree;
    const struct tree_wish *wish;
    const char *path;
    int fd;
};

int tree_add(struct tree *tree, enum tree_kind kind, const char *path,
             uint64_t size)
{
    struct tree_entry *entries = tree->entries;
    size_t capacity = tree->capacity > 0 ? 2 * tree->capacity : 64;
    char *copy;

    if (tree->n == tree->capacity) {
        entries = reallocarray(entries, capacity, sizeof(*entries));
        if (!entries)
            return -ENOMEM;
        tree->entries = entries;
        tree->capacity = capacity;
    }
    copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    entries[tree->n++] = (struct tree_entry){ kind, copy, size };
    return 0;
}

void tree_free(struct tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->entries[i].path);
    free(tree->entries);
    *tree = (struct tree){ 0 };
}

static char *join(const char *path, const char *name)
{
    char *joined;

    /* The root directory ends in a slash already. */
    return asprintf(&joined, "%s/%s",
                    path[1] != '\0' || path[0] != '/' ? path : "", name) < 0
               ? NULL
               : joined;
}

static int open_in(const struct place *place, const char *name, int flags)
{
    return openat(place->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Is a file a frame?  If it cannot be read, it counts, and the work on it will
   report why. */
static bool is_frame(const struct place *place, const char *name)
{
    uint8_t bytes[MAGIC_LEN];
    int fd = open_in(place, name, O_RDONLY);
    ssize_t n = 0;

    if (fd >= 0) {
        n = pread(fd, bytes, sizeof(bytes), 0);
        close(fd);
    }
    return names_has_suffix(name) ||
           (n > 0 && frame_has_magic(bytes, (size_t)n));
}

static int find_index(void *context, const char *name)
{
    const int *dir = context;
    struct stat st;

    if (fstatat(*dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -ENOENT;
}

/* The size of all files of a sparse frame, as its header says; 0 if it does not
   say. */
static uint64_t sparse_size(int dir, const char *index)
{
    uint8_t bytes[FRAME_CLAIM_LEN];
    struct frame_start start = { .bytes = bytes, .sparse = true };
    struct frame_info info;
    struct fault ignored;
    struct stat st;
    int fd = openat(dir, index, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = -1;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0)
        n = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    if (n < 0)
        return 0;
    start.len = (size_t)n;
    start.avail = (uint64_t)st.st_size;
    return frame_parse_claim(&start, &info, &ignored) == 0
               ? start.avail + info.cbytes
               : 0;
}

/* Is a directory a sparse frame?  Finds the name of its index. */
static bool is_sparse(int dir, const char **index)
{
    return frame_object_find_index(find_index, &dir, index) == 0;
}

/* The names in a directory. */
struct names {
    char **list;
    size_t n;
};

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct names *names, size_t *capacity, const char *name)
{
    char **list = names->list;

    if (names->n == *capacity) {
        *capacity = *capacity > 0 ? 2 * *capacity : 64;
        list = reallocarray(list, *capacity, sizeof(*list));
        if (!list)
            return -ENOMEM;
        names->list = list;
    }
    list[names->n] = strdup(name);
    return list[names->n] ? (names->n++, 0) : -ENOMEM;
}

/* List all names at once, so that a descriptor is not needed for each level of
   the tree. */
static int list_names(const struct place *place, struct names *names)
{
    DIR *dir = frame_dir_open(place->fd, ".");
    const struct dirent *entry;
    size_t capacity = 0;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 && (entry = frame_dir_next(dir)))
        r = add_name(names, &capacity, entry->d_name);
    if (r == 0)
        r = -errno;
    closedir(dir);
    if (names->n > 0)
        qsort(names->list, names->n, sizeof(*names->list), compare);
    return r;
}

static int read_dir(struct tree *tree, const struct tree_wish *wish,
                    const char *path);

static bool is_excepted(const struct tree_wish *wish, const struct stat *st)
{
    return wish->except && wish->except->st_dev == st->st_dev &&
           wish->except->st_ino == st->st_ino;
}

static int add_directory(const struct place *place, const char *name,
                         const char *path)
{
    int fd =
        place->wish->frames ? open_in(place, name, O_PATH | O_DIRECTORY) : -1;
    const char *index;
    bool sparse = fd >= 0 && is_sparse(fd, &index);
    uint64_t size = sparse ? sparse_size(fd, index) : 0;
    int r;

    if (fd >= 0)
        close(fd);
    r = tree_add(place->tree, sparse ? TREE_SPARSE : TREE_DIRECTORY, path,
                 size);
    return r == 0 && !sparse ? read_dir(place->tree, place->wish, path) : r;
}

static bool is_lock_file(const char *name)
{
    char frame[NAME_MAX + 1];

    return names_lock_stem(name, frame) && names_has_suffix(frame);
}

static int add_entry(const struct place *place, const char *name,
                     const char *path)
{
    bool frames = place->wish->frames;
    struct stat st;

    if (fstatat(place->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (is_excepted(place->wish, &st))
        return 0;
    if (S_ISDIR(st.st_mode))
        return add_directory(place, name, path);
    if (S_ISLNK(st.st_mode))
        return tree_add(place->tree, TREE_LINK, path, 0);
    if (!S_ISREG(st.st_mode))
        return tree_add(place->tree, TREE_OTHER, path, 0);
    if (frames && is_lock_file(name))
        return 0;
    return tree_add(place->tree,
                    frames && is_frame(place, name) ? TREE_FRAME : TREE_FILE,
                    path, (uint64_t)st.st_size);
}

/* Add an entry, and those below it.  One that cannot be read is reported, and
   the rest is read all the same. */
static int take_name(const struct place *place, const char *name)
{
    char *path = join(place->path, name);
    int r = path ? 0 : -ENOMEM;

    if (interrupt_seen())
        r = -EINTR;
    if (r == 0 && !names_is_private(name))
        r = add_entry(place, name, path);
    if (r < 0 && r != -ENOMEM && r != -EINTR) {
        source_report(path, r, &FAULT_NONE);
        place->tree->nfailed++;
        r = 0;
    }
    free(path);
    return r;
}

static int read_dir(struct tree *tree, const struct tree_wish *wish,
                    const char *path)
{
    struct place place = { tree, wish, path, confine_open(path, S_IFDIR) };
    struct names names = { 0 };
    int r = place.fd < 0 ? place.fd : list_names(&place, &names);

    if (r < 0) {
        source_report(path, r, &FAULT_NONE);
        tree->nfailed++;
    }
    for (size_t i = 0; i < names.n && r != -ENOMEM && r != -EINTR; i++)
        r = take_name(&place, names.list[i]);
    if (place.fd >= 0)
        close(place.fd);
    names_free(&names);
    return r == -ENOMEM || r == -EINTR ? r : 0;
}

/* Slashes at the end of a path would come twice in those below it. */
static char *without_slashes(const char *path)
{
    size_t len = strlen(path);

    while (len > 0 && path[len - 1] == '/')
        len--;
    return strndup(path, len);
}

int tree_read(const char *path, const struct tree_wish *wish, struct tree *tree)
{
    char *top = without_slashes(path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -errno : top ? 0 : -ENOMEM;

    if (r == 0)
        r = confine_to(top, fd);
    if (r < 0) {
        source_report(path, r, &FAULT_NONE);
        if (fd >= 0)
            close(fd);
        free(top);
        return r;
    }
    r = read_dir(tree, wish, top[0] != '\0' ? top : "/");
    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

static int add_leaf(void *context, const char *leaf)
{
    return tree_add(context, TREE_FRAME, leaf, 0);
}

/* Add all frames of a store.  Returns -ENOENT if the path is none. */
static int add_leaves(const char *path, struct tree *tree)
{
    struct fault fault;
    int r = leaf_list(path, add_leaf, tree, &fault);

    if (r < 0 && r != -ENOENT && r != -ENOMEM) {
        source_report(path, r, &fault);
        tree->nfailed++;
        r = 0;
    }
    return r;
}

/* Add the frames of a tree, and if wanted, those of stores in it.  The file of
   a store may be a frame, too; then it comes before them. */
static int add_frames(const struct tree *found, unsigned many,
                      struct tree *tree)
{
    int r = 0;

    for (size_t i = 0; i < found->n && r == 0; i++) {
        const struct tree_entry *entry = &found->entries[i];

        if (entry->kind == TREE_FRAME || entry->kind == TREE_SPARSE)
            r = tree_add(tree, entry->kind, entry->path, entry->size);
        if (r == 0 && many & TREE_LEAVES && entry->kind != TREE_DIRECTORY &&
            bundle_has_suffix(entry->path))
            r = add_leaves(entry->path, tree);
        if (r == -ENOENT)
            r = 0;
    }
    return r;
}

static int add_tree(const char *path, unsigned many, struct tree *tree)
{
    static const struct tree_wish wish = { .frames = true };
    struct tree found = { 0 };
    int r = tree_read(path, &wish, &found);

    if (r == 0)
        r = add_frames(&found, many, tree);
    tree->nfailed += found.nfailed;
    tree_free(&found);
    return r;
}

static bool is_plain_directory(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool plain = fd >= 0 && !is_sparse(fd, NULL);

    if (fd >= 0)
        close(fd);
    return plain;
}

int tree_find_frames(char **paths, int npaths, unsigned many, struct tree *tree)
{
    int r = 0;

    for (int i = 0; i < npaths && r == 0; i++) {
        bool local = !remote_is(paths[i]);

        r = -ENOENT;
        if (many & TREE_LEAVES && local)
            r = add_leaves(paths[i], tree);
        if (r == -ENOENT && many & TREE_BELOW && local &&
            is_plain_directory(paths[i]))
            r = add_tree(paths[i], many, tree);
        else if (r == -ENOENT)
            r = tree_add(tree, TREE_FRAME, paths[i], 0);
    }
    if (r == -ENOMEM)
        source_report(paths[0], r, &FAULT_NONE);
    return r;
}
