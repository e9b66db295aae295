/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backing/prefix_private.h"
#include "base/clock.h"
#include "base/hash.h"
#include "net/percent.h"

enum {
    ENTRIES_KEPT_MAX = 100000, /* in lists of directories that are not in use */
    GRACE = 10, /* for so many times `revalidate`, an old list still tells which
                   frame shows under a name */
};

static int64_t grace_since(const struct prefix_tree *tree, int64_t since)
{
    if (since == INT64_MIN)
        return since;
    return since -
           (GRACE - 1) * (int64_t)tree->options.revalidate * CLOCK_SECOND_NS;
}

/* Make the URL of a name, of `len` bytes, below another URL. */
static int join(const struct url *url, const char *name, size_t len,
                struct url *out)
{
    struct secret text = { 0 };
    char *encoded;
    int r;

    percent_encode(name, len, PERCENT_KEEP_NONE, &text);
    encoded = secret_take(&text);
    if (!encoded)
        return -ENOMEM;
    r = url_join(url, encoded, out);
    free(encoded);
    return r;
}

int prefix_dir_url(const struct prefix_dir *dir, const char *name,
                   struct url *out)
{
    return join(&dir->url, name, strlen(name), out);
}

int prefix_entry_url(const struct prefix_dir *dir, const char *name,
                     struct net **net, struct url *url)
{
    int r = prefix_dir_url(dir, name, url);

    if (r < 0)
        return r;
    pthread_mutex_lock(&dir->tree->lock);
    r = prefix_get_net_locked(dir->tree, net);
    pthread_mutex_unlock(&dir->tree->lock);
    if (r < 0)
        url_fini(url);
    return r;
}

/* Make the URL of a path below that of the tree. */
static int path_url(const struct prefix_tree *tree, const char *path,
                    struct url *out)
{
    struct url url;
    int r = url_copy(&tree->url, &url);

    while (r == 0 && *path != '\0') {
        size_t len = strcspn(path, "/");
        struct url below;

        r = join(&url, path, len, &below);
        url_fini(&url);
        if (r == 0)
            url = below;
        path += len;
        path += *path == '/';
    }
    if (r == 0)
        *out = url;
    return r;
}

char *prefix_dir_path(const struct prefix_dir *dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s%s%s", dir->path, dir->path[0] != '\0' ? "/" : "",
                 name) < 0)
        return NULL;
    return path;
}

static struct list *bucket_of(struct prefix_tree *tree, const char *path)
{
    return &tree->dirs[hash_text(path) % PREFIX_DIR_BUCKETS];
}

static struct prefix_dir *find_locked(struct prefix_tree *tree,
                                      const char *path)
{
    list_for_each(node, bucket_of(tree, path)) {
        struct prefix_dir *dir = list_entry(node, struct prefix_dir, node);

        if (strcmp(dir->path, path) == 0)
            return dir;
    }
    return NULL;
}

static void free_dir(struct prefix_dir *dir)
{
    list_remove(&dir->node);
    list_remove(&dir->idle);
    prefix_list_put(dir->list);
    url_fini(&dir->url);
    free(dir->path);
    free(dir);
}

/* Entries that an idle directory keeps. */
static size_t count(const struct prefix_dir *dir)
{
    return 1 + (dir->list ? dir->list->nentries : 0);
}

static struct prefix_dir *new_dir(struct prefix_tree *tree, const char *path,
                                  int *error)
{
    struct prefix_dir *dir = calloc(1, sizeof(*dir));

    *error = -ENOMEM;
    if (!dir)
        return NULL;
    list_init(&dir->node);
    list_init(&dir->idle);
    dir->tree = tree;
    dir->path = strdup(path);
    if (dir->path)
        *error = path_url(tree, path, &dir->url);
    if (*error < 0) {
        free_dir(dir);
        return NULL;
    }
    return dir;
}

static struct prefix_dir *ref_locked(struct prefix_dir *dir)
{
    if (dir->nrefs++ == 0 && !list_empty(&dir->idle)) {
        list_remove(&dir->idle);
        dir->tree->nentries -= count(dir);
    }
    return dir;
}

int prefix_dir_get(struct prefix_tree *tree, const char *path,
                   struct prefix_dir **out)
{
    struct prefix_dir *dir;
    int r = 0;

    pthread_mutex_lock(&tree->lock);
    dir = find_locked(tree, path);
    if (!dir)
        dir = new_dir(tree, path, &r);
    if (dir && list_empty(&dir->node))
        list_append(bucket_of(tree, path), &dir->node);
    if (dir)
        *out = ref_locked(dir);
    pthread_mutex_unlock(&tree->lock);
    return r;
}

struct prefix_dir *prefix_dir_ref(struct prefix_dir *dir)
{
    pthread_mutex_lock(&dir->tree->lock);
    ref_locked(dir);
    pthread_mutex_unlock(&dir->tree->lock);
    return dir;
}

void prefix_dir_put(struct prefix_dir *dir)
{
    struct prefix_tree *tree = dir->tree;

    pthread_mutex_lock(&tree->lock);
    if (--dir->nrefs == 0) {
        list_append(&tree->idle, &dir->idle);
        tree->nentries += count(dir);
    }
    while (tree->nentries > ENTRIES_KEPT_MAX) {
        dir = list_entry(tree->idle.next, struct prefix_dir, idle);
        tree->nentries -= count(dir);
        free_dir(dir);
    }
    pthread_mutex_unlock(&tree->lock);
}

void prefix_dirs_free(struct prefix_tree *tree)
{
    for (size_t i = 0; i < PREFIX_DIR_BUCKETS; i++) {
        list_for_each_safe(node, &tree->dirs[i])
            free_dir(list_entry(node, struct prefix_dir, node));
    }
}

/* Tell the user once of keys that do not show. */
static void tell_hidden(struct prefix_dir *dir, struct net *net,
                        const struct prefix_list *list)
{
    const struct net_options *options = net_get_options(net);
    struct prefix_tree *tree = dir->tree;
    bool tell;
    char *name;
    char *line;

    pthread_mutex_lock(&tree->lock);
    tell = list->nhidden > 0 && !tree->told;
    tree->told |= tell;
    pthread_mutex_unlock(&tree->lock);
    name = tell && options->report ? url_name(&dir->url) : NULL;
    if (!name)
        return;
    if (asprintf(&line,
                 "%s: %zu of the keys below this cannot show as files, such as "
                 "%s",
                 name, list->nhidden, list->hidden) >= 0) {
        options->report(line);
        free(line);
    }
    free(name);
}

static int fetch(struct prefix_dir *dir, const char *stem, size_t pages_max,
                 struct prefix_list **out)
{
    const struct prefix_wanted wanted = { &dir->url, stem, pages_max };
    struct net *net;
    int r;

    pthread_mutex_lock(&dir->tree->lock);
    r = prefix_get_net_locked(dir->tree, &net);
    pthread_mutex_unlock(&dir->tree->lock);
    if (r < 0)
        return r;
    r = prefix_list_fetch(net, &wanted, out);
    if (r == 0)
        tell_hidden(dir, net, *out);
    net_put(net);
    return r;
}

void prefix_dir_changed(struct prefix_dir *dir)
{
    pthread_mutex_lock(&dir->tree->lock);
    dir->nchanges++;
    prefix_list_put(dir->list);
    dir->list = NULL;
    pthread_mutex_unlock(&dir->tree->lock);
}

static void set_list_locked(struct prefix_dir *dir, struct prefix_list *list)
{
    dir->large = list->npages > 1 || !list->whole;
    if (!list->whole)
        return;
    prefix_list_put(dir->list);
    dir->list = prefix_list_get(list);
    dir->nsingle = 0;
    dir->ahead.cursor = dir->ahead.window = 0;
    dir->ahead.nmissed = 0;
}

/* Fetch the list, of at most so many pages, for which other threads may
   wait. */
static int fetch_shared(struct prefix_dir *dir, size_t pages_max,
                        struct prefix_list **out)
{
    struct prefix_list *list;
    unsigned nchanges;
    int r;

    pthread_mutex_lock(&dir->tree->lock);
    nchanges = dir->nchanges;
    pthread_mutex_unlock(&dir->tree->lock);
    r = fetch(dir, "", pages_max, &list);
    pthread_mutex_lock(&dir->tree->lock);
    dir->listing = false;
    if (r == 0 && dir->nchanges == nchanges)
        set_list_locked(dir, list);
    pthread_cond_broadcast(&dir->tree->changed);
    pthread_mutex_unlock(&dir->tree->lock);
    if (r == 0)
        *out = list;
    return r;
}

int prefix_dir_list(struct prefix_dir *dir, int64_t since,
                    struct prefix_list **out)
{
    struct prefix_tree *tree = dir->tree;
    bool good;

    pthread_mutex_lock(&tree->lock);
    while (!(good = dir->list && dir->list->listed_ns >= since) && dir->listing)
        pthread_cond_wait(&tree->changed, &tree->lock);
    if (good)
        *out = prefix_list_get(dir->list);
    else
        dir->listing = true;
    pthread_mutex_unlock(&tree->lock);
    return good ? 0 : fetch_shared(dir, 0, out);
}

/* Does a list have a frame with this stem? */
static bool has_frame(const struct prefix_list *list, const char *stem)
{
    size_t len = strlen(stem);
    char other[NAME_MAX + 1];

    for (size_t i = prefix_list_seek(list, stem); i < list->nentries; i++) {
        const char *name = list->entries[i].name;

        if (strncmp(name, stem, len) != 0 || (unsigned char)name[len] > '.')
            return false;
        if (names_stem(name, other) && strcmp(other, stem) == 0)
            return true;
    }
    return false;
}

/* Does the list lack an object that was seen since it was begun? */
static bool lacks_locked(const struct prefix_dir *dir, const char *name)
{
    return !prefix_list_find(dir->list, name) &&
           prefix_head_was_seen_locked(dir, name, dir->list->asked_ns);
}

/* Likewise one that may show under a stem. */
static bool is_outdated_locked(const struct prefix_dir *dir, const char *stem)
{
    bool outdated = lacks_locked(dir, stem);
    const char *suffix;

    for (size_t i = 0; !outdated && (suffix = names_suffix(i)); i++) {
        char name[2 * NAME_MAX];

        if (snprintf(name, sizeof(name), "%s%s", stem, suffix) <= NAME_MAX)
            outdated = lacks_locked(dir, name);
    }
    return outdated;
}

/* Drop the list if it is known to be wrong.  The kernel opens a file by a name
   that it knows, without a lookup, and another host may have made that file
   anew since the list was begun. */
static void check_list_locked(struct prefix_dir *dir, const char *stem)
{
    if (!dir->list || !is_outdated_locked(dir, stem))
        return;
    prefix_list_put(dir->list);
    dir->list = NULL;
}

static bool is_good_locked(const struct prefix_dir *dir, const char *stem,
                           int64_t since)
{
    const struct prefix_list *list = dir->list;

    return list && (list->listed_ns >= since ||
                    (list->listed_ns >= grace_since(dir->tree, since) &&
                     has_frame(list, stem)));
}

/* How a list that lacks is to be got. */
enum way {
    WAY_GOOD,   /* a good one is there */
    WAY_FIRST,  /* the first page may be all */
    WAY_WHOLE,  /* so many names were asked for that it takes no more requests
                   to get all */
    WAY_SINGLE, /* ask for the names with one stem */
};

static enum way choose_locked(struct prefix_dir *dir, const char *stem,
                              int64_t since)
{
    for (;;) {
        check_list_locked(dir, stem);
        if (is_good_locked(dir, stem, since))
            return WAY_GOOD;
        if (dir->large || !dir->listing)
            break;
        pthread_cond_wait(&dir->tree->changed, &dir->tree->lock);
    }
    if (!dir->large) {
        dir->listing = true;
        return WAY_FIRST;
    }
    return dir->list && ++dir->nsingle > dir->list->npages ? WAY_WHOLE
                                                           : WAY_SINGLE;
}

int prefix_dir_find(struct prefix_dir *dir, const char *stem, int64_t since,
                    struct prefix_list **out)
{
    struct prefix_tree *tree = dir->tree;
    enum way way;
    int r = 0;

    pthread_mutex_lock(&tree->lock);
    way = choose_locked(dir, stem, since);
    if (way == WAY_GOOD)
        *out = prefix_list_get(dir->list);
    pthread_mutex_unlock(&tree->lock);
    if (way == WAY_WHOLE)
        return prefix_dir_list(dir, since, out);
    if (way == WAY_FIRST) {
        r = fetch_shared(dir, 1, out);
        if (r < 0 || (*out)->whole)
            return r;
        prefix_list_put(*out);
        way = WAY_SINGLE;
    }
    return way == WAY_SINGLE ? fetch(dir, stem, 0, out) : 0;
}

int prefix_dir_peek(struct prefix_dir *dir, struct prefix_list **out)
{
    bool known;
    bool first;

    pthread_mutex_lock(&dir->tree->lock);
    known = dir->list != NULL;
    first = !known && !dir->listing;
    if (known)
        *out = prefix_list_get(dir->list);
    else if (first)
        dir->listing = true;
    pthread_mutex_unlock(&dir->tree->lock);
    if (known)
        return 0;
    return first ? fetch_shared(dir, 1, out) : fetch(dir, "", 1, out);
}
