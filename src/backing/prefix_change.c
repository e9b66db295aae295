/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backing/backing_change.h"
#include "backing/prefix_private.h"
#include "base/clock.h"
#include "frame/frame_object.h"
#include "frame/frame_remote.h"
#include "net/s3_put.h"
#include "writer/frame_remove.h"

/* Has the head of a frame forgotten when that has another state. */
struct listener {
    struct store_http_listener base;
    struct prefix_dir *dir; /* a reference */
    bool index;             /* see struct prefix_object */
    char name[NAME_MAX + 1];
};

static void note_published(struct store_http_listener *base)
{
    struct listener *listener = (struct listener *)base;

    prefix_head_put_anew(listener->dir, listener->name, listener->index);
}

static void note_stale(struct store_http_listener *base)
{
    struct listener *listener = (struct listener *)base;

    prefix_head_forget(listener->dir, listener->name, listener->index);
}

static void free_listener(struct store_http_listener *base)
{
    struct listener *listener = (struct listener *)base;

    prefix_dir_put(listener->dir);
    free(listener);
}

struct store_http_listener *prefix_listener_new(struct prefix_dir *dir,
                                                const char *name, bool index)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (!listener)
        return NULL;
    listener->base.published = note_published;
    listener->base.stale = note_stale;
    listener->base.free = free_listener;
    listener->index = index;
    listener->dir = prefix_dir_ref(dir);
    strcpy(listener->name, name);
    return &listener->base;
}

/* Have the tree told of the changes of a store. */
static int listen(struct store *store, struct prefix_dir *dir, const char *name)
{
    struct store_http_listener *listener = prefix_listener_new(dir, name, true);
    int r = listener ? store_s3_allow_changes(store, false) : -ENOMEM;

    if (r == 0)
        store_http_set_listener(store, listener);
    else if (listener)
        free_listener(listener);
    return r;
}

int prefix_open_to_change(struct prefix_dir *dir, const char *name,
                          const struct store_http_start *start,
                          struct store **out)
{
    struct store *store;
    struct net *net;
    struct url url;
    int r = prefix_entry_url(dir, name, &net, &url);

    if (r < 0)
        return r;
    r = start ? store_http_open_start(net, &url, true, start, &store)
              : store_http_open_dir(net, &url, &store);
    net_put(net);
    url_fini(&url);
    if (r < 0)
        return r;
    r = listen(store, dir, name);
    if (r < 0)
        store_close(store);
    else
        *out = store;
    return r;
}

/* The place gives back its reference. */
struct prefix_dir *prefix_dir_of(const struct backing_dir *dir)
{
    struct backing_place place;

    backing_place_in(dir, "", ENTRY_PLAIN, &place);
    return place.holder;
}

/* Some names would make a frame of the directory, or are those of objects that
   are none of a frame. */
static int check_name(const struct backing_dir *dir __attribute__((unused)),
                      const char *name,
                      enum entry_kind kind __attribute__((unused)),
                      mode_t mode __attribute__((unused)))
{
    return frame_object_is_index(name) || names_is_private(name) ? -EPERM : 0;
}

static bool has_index(const char *name)
{
    return strcmp(prefix_index_name(name), FRAME_OBJECT_INDEX) == 0;
}

/* A server would have to copy all that is in a directory.  Other objects cannot
   be written, and contiguous frames neither. */
static int check_rename(const struct backing_entry *entry, const char *name)
{
    if (entry->kind == ENTRY_DIRECTORY)
        return 0;
    return entry->kind == ENTRY_SPARSE && has_index(entry->name) &&
                   has_index(name)
               ? 0
               : -EXDEV;
}

/* Make the URL of the object that marks a directory. */
static int marker_url(const struct prefix_dir *dir, const char *name,
                      struct net **net, struct url *out)
{
    struct url url;
    int r = prefix_entry_url(dir, name, net, &url);

    if (r < 0)
        return r;
    r = url_join(&url, "", out);
    url_fini(&url);
    if (r < 0)
        net_put(*net);
    return r;
}

/* Put the object that marks a directory, so that it stays though it is
   empty. */
static int mark(const struct prefix_dir *dir, const char *name)
{
    char id[NET_ID_MAX];
    struct s3_found found;
    struct net *net;
    struct url url;
    const struct s3_put put = { .url = &url, .body = "", .id = id };
    int r = marker_url(dir, name, &net, &url);

    if (r < 0)
        return r;
    r = s3_put_id(id);
    if (r == 0)
        r = s3_put(net, &put, &found);
    net_put(net);
    url_fini(&url);
    return r;
}

int prefix_make_directory(struct prefix_dir *dir, const char *name)
{
    int r = mark(dir, name);

    prefix_dir_changed(dir);
    return r;
}

/* Nothing is done here for a frame, because the first commit makes it. */
static int create(const struct backing_new *what __attribute__((unused)),
                  struct backing_draft *draft)
{
    const struct backing_entry *entry = draft->entry;

    if (entry->kind == ENTRY_SPARSE)
        return 0;
    if (entry->kind != ENTRY_DIRECTORY)
        return -EPERM;
    return prefix_make_directory(prefix_dir_of(&entry->dir), entry->name);
}

static int draft_store(const struct backing_draft *draft,
                       unsigned flags __attribute__((unused)),
                       struct store **out, struct fault *fault)
{
    int r = prefix_open_to_change(prefix_dir_of(&draft->entry->dir),
                                  draft->entry->name, NULL, out);

    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static int publish(struct backing_draft *draft,
                   struct file_context *files __attribute__((unused)))
{
    prefix_dir_changed(prefix_dir_of(&draft->entry->dir));
    return 0;
}

/* Delete the object that is there now, and free the handle.  If another program
   puts a new one meanwhile, that one stays. */
static int delete_object(struct net *net, struct url *url)
{
    int r = s3_delete_once(net, url, NULL);

    net_put(net);
    url_fini(url);
    return r == -ESTALE || r == -EEXIST ? 0 : r;
}

static int remove_key(const struct prefix_dir *dir, const char *name)
{
    struct net *net;
    struct url url;
    int r = prefix_entry_url(dir, name, &net, &url);

    return r < 0 ? r : delete_object(net, &url);
}

static int remove_frame(struct prefix_dir *dir, const char *name)
{
    struct store *store;
    int r = prefix_open_to_change(dir, name, NULL, &store);

    if (r < 0)
        return r;
    r = frame_remove(store);
    store_close(store);
    return r;
}

int prefix_check_empty(struct prefix_dir *parent, const char *name)
{
    char *path = prefix_dir_path(parent, name);
    struct prefix_list *list;
    struct prefix_dir *dir;
    int r = path ? prefix_dir_get(parent->tree, path, &dir) : -ENOMEM;

    free(path);
    if (r < 0)
        return r;
    r = prefix_dir_list(dir, clock_monotonic_ns(), &list);
    if (r == 0) {
        r = list->nentries > 0 || list->nhidden > 0 ? -ENOTEMPTY : 0;
        prefix_list_put(list);
    }
    prefix_dir_put(dir);
    return r;
}

int prefix_remove_directory(struct prefix_dir *parent, const char *name)
{
    struct net *net;
    struct url url;
    int r = prefix_check_empty(parent, name);

    if (r == 0)
        r = marker_url(parent, name, &net, &url);
    return r < 0 ? r : delete_object(net, &url);
}

int prefix_keep(struct prefix_dir *dir)
{
    struct prefix_list *list;
    bool marked;
    int r;

    if (dir->path[0] == '\0')
        return 0;
    r = prefix_dir_peek(dir, &list);
    if (r < 0)
        return r;
    marked = list->marked || list->nentries > 1;
    prefix_list_put(list);
    return marked ? 0 : mark(dir, "");
}

static int remove_entry(const struct backing_dir *backing, const char *name,
                        enum entry_kind kind,
                        const struct backing_removal *how
                        __attribute__((unused)))
{
    struct prefix_dir *dir = prefix_dir_of(backing);
    int r = prefix_keep(dir);

    if (r < 0)
        return r;
    if (kind == ENTRY_SPARSE)
        r = remove_frame(dir, name);
    else if (kind == ENTRY_DIRECTORY)
        r = prefix_remove_directory(dir, name);
    else
        r = remove_key(dir, name);
    prefix_head_forget(dir, name, kind == ENTRY_SPARSE);
    prefix_dir_changed(dir);
    return r;
}

/* If the frame was not made, there is nothing to remove; another program may
   have made one. */
static void discard(struct backing_draft *draft, bool filled)
{
    const struct backing_entry *entry = draft->entry;
    const struct backing_removal how = { 0 };

    if (entry->kind == ENTRY_SPARSE && filled)
        remove_entry(&entry->dir, entry->name, entry->kind, &how);
    else if (entry->kind == ENTRY_DIRECTORY)
        prefix_remove_directory(prefix_dir_of(&entry->dir), entry->name);
}

static void finish_removal(const struct backing_dir *dir
                           __attribute__((unused)),
                           enum entry_kind kind __attribute__((unused)),
                           const struct stat *st __attribute__((unused)))
{
}

static int link_object(const struct backing_object *object
                       __attribute__((unused)),
                       const struct backing_entry *entry
                       __attribute__((unused)))
{
    return -EPERM;
}

static int exchange(const struct backing_move *move __attribute__((unused)))
{
    return -EINVAL;
}

const struct backing_change_ops prefix_change_ops = {
    .check_name = check_name,
    .check_rename = check_rename,
    .create = create,
    .draft_store = draft_store,
    .publish = publish,
    .discard = discard,
    .link = link_object,
    .remove = remove_entry,
    .finish_removal = finish_removal,
    .rename = prefix_rename,
    .exchange = exchange,
};
