/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/prefix_private.h"
#include "backing/remote_frame.h"
#include "base/hash.h"
#include "frame/frame_remote.h"
#include "store/store_http.h"
#include "store/store_local.h"

enum {
    STAT_BLOCK = 512,
    BLKSIZE = 4096,
};

/* A directory that is open: the state of struct backing_dir. */
struct open_dir {
    struct prefix_dir *dir;   /* a reference */
    struct prefix_list *list; /* likewise; NULL: none was needed yet */
    int64_t since;            /* see prefix_since() */
    bool whole;               /* it is open for listing */
    bool guess;               /* kinds need not be known for sure */
    bool begun;               /* and the list was begun */
    char stem[NAME_MAX + 1];  /* for which `list` is good, unless `whole` */
};

static bool cut(char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);

    if (len <= suffix_len || strcmp(name + len - suffix_len, suffix) != 0)
        return false;
    name[len - suffix_len] = '\0';
    return true;
}

void prefix_stem(const char *name, char *stem)
{
    char shorter[NAME_MAX + 1];

    strcpy(stem, name);
    for (;;) {
        if (names_stem(stem, shorter))
            strcpy(stem, shorter);
        else if (!cut(stem, NAMES_CHUNKS) && !cut(stem, NAMES_NPY))
            return;
    }
}

/* Make sure that the list of an open directory has all that may show under a
   name. */
static int find_list(struct open_dir *open, const char *name)
{
    char stem[NAME_MAX + 1];
    struct prefix_list *list;
    int r;

    if (open->whole)
        return 0;
    prefix_stem(name, stem);
    if (open->list && strcmp(stem, open->stem) == 0)
        return 0;
    r = prefix_dir_find(open->dir, stem, open->since, &list);
    if (r < 0)
        return r;
    prefix_list_put(open->list);
    open->list = list;
    strcpy(open->stem, stem);
    return 0;
}

/* The kind of a prefix.  The name decides in lists, until the index was asked
   for, and if the index must not be read. */
static int kind_of_prefix(struct open_dir *open, const char *name, bool *sure)
{
    const struct prefix_object object = { open->dir, name, true, NULL };
    struct prefix_head *head = NULL;
    char stem[NAME_MAX + 1];
    bool frame = names_stem(name, stem);
    int r = 0;

    if (open->guess)
        head = prefix_head_peek(&object);
    else
        r = prefix_head_get(&object, open->since, &head);
    if (r < 0 && r != -EACCES)
        return r;
    *sure = head && (head->error == 0 || head->error == -ENOENT);
    if (*sure)
        frame = prefix_head_is_frame(head);
    prefix_head_put(head);
    return frame ? ENTRY_SPARSE : ENTRY_DIRECTORY;
}

static int kind_of_entry(struct open_dir *open,
                         const struct prefix_entry *entry, bool *sure)
{
    *sure = true;
    if (!entry)
        return ENTRY_NONE;
    if (entry->prefix)
        return kind_of_prefix(open, entry->name, sure);
    return names_has_suffix(entry->name) ? ENTRY_FRAME : ENTRY_PLAIN;
}

static int kind_of(const struct backing_dir *dir, const char *name,
                   unsigned char type __attribute__((unused)))
{
    struct open_dir *open = dir->state;
    bool sure;
    int r = find_list(open, name);

    if (r < 0)
        return r;
    return kind_of_entry(open, prefix_list_find(open->list, name), &sure);
}

static int own(struct backing_place *place)
{
    prefix_dir_ref(place->holder);
    place->item = NULL; /* belongs to an open directory */
    return 0;
}

static void release(struct backing_place *place)
{
    prefix_dir_put(place->holder);
}

/* The list of the directory, if it is open, tells of the entry. */
static void place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind __attribute__((unused)),
                     struct backing_place *out)
{
    const struct open_dir *open = dir->state;

    *out = (struct backing_place){
        .ops = &prefix_ops,
        .made_up_ino = true,
        .dirfd = -1,
        .holder = open->dir,
        .item = open->list,
    };
    strcpy(out->name, name);
}

/* The attributes that all entries have. */
static struct stat stat_of(const struct backing_place *place, mode_t mode,
                           time_t modified)
{
    const struct prefix_dir *dir = place->holder;

    return (struct stat){
        .st_ino = prefix_dir_ino(dir, place->name),
        .st_mode = mode,
        .st_nlink = 1,
        .st_uid = getuid(),
        .st_gid = getgid(),
        .st_blksize = BLKSIZE,
        .st_atim = { .tv_sec = modified },
        .st_mtim = { .tv_sec = modified },
        .st_ctim = { .tv_sec = modified },
    };
}

/* The attributes of an object.  Its ETag shows in the nanoseconds of a time,
   because other layers compare times to find out whether it has changed. */
static struct stat stat_of_object(const struct backing_place *place,
                                  uint64_t size, time_t modified,
                                  const char *etag)
{
    struct stat st = stat_of(place, S_IFREG | 0444, modified);

    st.st_size = (off_t)size;
    st.st_blocks = (blkcnt_t)(size / STAT_BLOCK + (size % STAT_BLOCK > 0));
    st.st_ctim.tv_nsec = (long)(hash_text(etag) % 1000000000);
    return st;
}

/* Get the attributes of an object that is passed through, from a list. */
static int stat_plain(const struct backing_place *place, struct stat *out)
{
    struct prefix_dir *dir = place->holder;
    const struct prefix_entry *entry;
    struct prefix_list *list;
    char stem[NAME_MAX + 1];
    int r = 0;

    prefix_stem(place->name, stem);
    /* Drop the const: this takes a reference. */
    if (place->item)
        list = prefix_list_get((void *)(uintptr_t)place->item);
    else
        r = prefix_dir_find(dir, stem, prefix_since(dir->tree), &list);
    if (r < 0)
        return r;
    entry = prefix_list_find(list, place->name);
    r = !entry ? -ENOENT : entry->prefix ? -ESTALE : 0;
    if (r == 0)
        *out = stat_of_object(place, entry->size, entry->modified,
                              prefix_entry_etag(entry));
    prefix_list_put(list);
    return r;
}

/* Get the head of a frame.  `*known_ns` is when the server has last told that
   it is the newest. */
static int get_head(const struct backing_place *place, enum entry_kind kind,
                    struct prefix_head **out, int64_t *known_ns)
{
    struct prefix_dir *dir = place->holder;
    const struct prefix_list *list = place->item;
    const struct prefix_entry *entry = NULL;
    struct prefix_object object = { dir, place->name, kind == ENTRY_SPARSE,
                                    NULL };
    int64_t since = prefix_since(dir->tree);
    int r;

    if (list && list->listed_ns >= since)
        entry = prefix_list_find(list, place->name);
    if (entry && !entry->prefix)
        object.etag = prefix_entry_etag(entry);
    r = prefix_head_get(&object, since, out);
    if (r < 0)
        return r;
    r = (*out)->error;
    if (r < 0)
        prefix_head_put(*out);
    else if ((*out)->asked_ns < since) /* its ETag is in the list */
        *known_ns = list->listed_ns;
    else
        *known_ns = (*out)->asked_ns;
    return r;
}

static int stat_frame(const struct backing_place *place, enum entry_kind kind,
                      struct stat *out)
{
    const struct prefix_dir *dir = place->holder;
    struct prefix_head *head;
    int64_t known_ns;
    int r = get_head(place, kind, &head, &known_ns);

    if (r < 0)
        return r;
    *out = stat_of_object(place, head->reply.size, head->reply.modified,
                          head->reply.etag);
    if (kind == ENTRY_SPARSE && dir->tree->writable)
        out->st_mode |= S_IWUSR;
    prefix_head_put(head);
    return 0;
}

static int stat_entry(const struct backing_place *place, enum entry_kind kind,
                      struct stat *out)
{
    const struct prefix_dir *dir = place->holder;

    if (kind == ENTRY_PLAIN)
        return stat_plain(place, out);
    if (kind != ENTRY_DIRECTORY)
        return stat_frame(place, kind, out);
    *out = stat_of(place, S_IFDIR | (dir->tree->writable ? 0755 : 0555),
                   dir->tree->mounted);
    return 0;
}

/* The kind of an entry by its place: it was a frame when it was seen. */
static int frame_kind(const struct backing_place *place)
{
    struct prefix_dir *dir = place->holder;
    const struct prefix_entry *entry;
    struct prefix_list *list;
    char stem[NAME_MAX + 1];
    int r;

    prefix_stem(place->name, stem);
    r = prefix_dir_find(dir, stem, prefix_since(dir->tree), &list);
    if (r < 0)
        return r;
    entry = prefix_list_find(list, place->name);
    r = !entry ? -ENOENT : entry->prefix ? ENTRY_SPARSE : ENTRY_FRAME;
    prefix_list_put(list);
    return r;
}

/* Open the store of a frame that is read. */
static int open_to_read(const struct backing_place *place, bool sparse,
                        const struct store_http_start *start,
                        struct store **out)
{
    struct prefix_dir *dir = place->holder;
    struct store_http_listener *listener =
        prefix_listener_new(dir, place->name, sparse);
    struct net *net;
    struct url url;
    int r = listener ? prefix_entry_url(dir, place->name, &net, &url) : -ENOMEM;

    if (r == 0) {
        r = store_http_open_start(net, &url, sparse, start, out);
        net_put(net);
        url_fini(&url);
    }
    if (r == 0)
        store_http_set_listener(*out, listener);
    else if (listener)
        listener->free(listener);
    return r;
}

static int open_store(const struct backing_place *place, enum entry_kind kind,
                      const struct store_http_start *start, bool to_change,
                      struct store **out)
{
    bool sparse = kind == ENTRY_SPARSE;

    if (!to_change)
        return open_to_read(place, sparse, start, out);
    return sparse
               ? prefix_open_to_change(place->holder, place->name, start, out)
               : -EROFS;
}

static int store_of(const struct backing_place *place, enum entry_kind kind,
                    unsigned flags, struct store **out, struct fault *fault)
{
    struct store_http_start start = { .name = "" };
    struct prefix_head *head;
    int r = get_head(place, kind, &head, &start.known_ns);

    if (r == 0) {
        if (kind == ENTRY_SPARSE)
            start.name = prefix_index_name(place->name);
        start.reply = &head->reply;
        start.bytes = head->bytes;
        start.len = head->len;
        r = open_store(place, kind, &start, flags & STORE_WRITE, out);
        prefix_head_put(head);
    }
    return r < 0
               ? fault_set(fault, r, 0, r == -EROFS ? frame_remote_whole : NULL)
               : 0;
}

/* Get the directory that a place stands for; "." is SOURCE. */
static int find_dir(const struct backing_place *place, struct prefix_dir **out)
{
    struct prefix_dir *parent = place->holder;
    char *path;
    int r;

    if (strcmp(place->name, ".") == 0) {
        *out = prefix_dir_ref(parent);
        return 0;
    }
    path = prefix_dir_path(parent, place->name);
    if (!path)
        return -ENOMEM;
    r = prefix_dir_get(parent->tree, path, out);
    free(path);
    return r;
}

static void free_open(struct open_dir *open)
{
    if (!open)
        return;
    if (open->dir)
        prefix_dir_put(open->dir);
    prefix_list_put(open->list);
    free(open);
}

static int dir_open(const struct backing_place *place,
                    const struct backing_opening *how, struct backing_dir *out,
                    struct fault *fault)
{
    struct open_dir *open = calloc(1, sizeof(*open));
    int r = open ? find_dir(place, &open->dir) : -ENOMEM;

    if (r == 0) {
        open->since = prefix_since(open->dir->tree);
        open->whole = how->list;
        open->guess = how->list && !how->exact;
    }
    if (r == 0 && how->list)
        r = prefix_dir_list(open->dir, open->since, &open->list);
    if (r < 0) {
        free_open(open);
        return fault_set(fault, r, 0, NULL);
    }
    out->ops = &prefix_ops;
    out->state = open;
    return 0;
}

static void dir_close(struct backing_dir *dir)
{
    free_open(dir->state);
}

/* A list is read from its start right after it was opened. */
static bool dir_is_current(const struct backing_dir *dir)
{
    struct open_dir *open = dir->state;
    bool current =
        !open->begun || open->list->listed_ns >= prefix_since(open->dir->tree);

    open->begun = true;
    return current;
}

static void name_of(const struct backing_dir *dir, uint64_t no,
                    struct backing_listed *out)
{
    struct open_dir *open = dir->state;
    const struct prefix_entry *entry = &open->list->entries[no];
    char stem[NAME_MAX + 1];
    bool sure;

    kind_of_entry(open, entry, &sure);
    out->ino = prefix_dir_ino(open->dir, entry->name);
    out->unsure = !sure && !names_stem(entry->name, stem);
    strcpy(out->name, entry->name);
}

static int list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out)
{
    const struct open_dir *open = dir->state;

    return backing_list_numbered(dir, off, open->list->nentries, name_of, out);
}

const struct backing_ops prefix_ops = {
    .own = own,
    .release = release,
    .stat = stat_entry,
    .frame_kind = frame_kind,
    .store = store_of,
    .open = prefix_open_object,
    .dir_open = dir_open,
    .dir_close = dir_close,
    .kind = kind_of,
    .place_in = place_in,
    .list_next = list_next,
    .dir_is_current = dir_is_current,
    .pin = remote_pin,
    .change = &prefix_change_ops,
};
