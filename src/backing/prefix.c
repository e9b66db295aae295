/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backing/prefix_private.h"
#include "backing/remote_frame.h"

void prefix_rest(struct prefix_tree *tree)
{
    prefix_heads_cancel(tree);
    net_put(tree->net);
    tree->net = NULL;
}

void prefix_start(struct prefix_tree *tree, struct file_context *files)
{
    tree->files = files;
}

void prefix_allow_changes(struct prefix_tree *tree)
{
    tree->writable = true;
}

void prefix_free(struct prefix_tree *tree)
{
    if (!tree)
        return;
    prefix_rest(tree);
    prefix_heads_free(tree);
    prefix_dirs_free(tree);
    prefix_inos_free(tree);
    pthread_cond_destroy(&tree->changed);
    pthread_mutex_destroy(&tree->lock);
    url_fini(&tree->url);
    free(tree);
}

/* Find the directory of a path, and there a name. */
static int find(struct backing_source *source, const char *dir,
                const char *name, enum entry_kind kind __attribute__((unused)),
                struct backing_place *out)
{
    struct prefix_dir *found;
    int r = prefix_dir_get(source->prefix, dir, &found);

    if (r < 0)
        return r;
    *out = (struct backing_place){
        .ops = &prefix_ops,
        .owned = true,
        .made_up_ino = true,
        .dirfd = -1,
        .holder = found,
    };
    strcpy(out->name, name);
    return 0;
}

static const struct backing_source_ops prefix_source_ops = {
    .find = find,
    .statfs = remote_statfs,
    .sync = remote_sync,
};

static struct prefix_tree *new_tree(const struct net_options *options)
{
    struct prefix_tree *tree = calloc(1, sizeof(*tree));

    if (!tree)
        return NULL;
    tree->options = *options;
    tree->mounted = time(NULL);
    if (getrandom(&tree->seed, sizeof(tree->seed), GRND_NONBLOCK) < 0)
        tree->seed = (uint64_t)tree->mounted;
    pthread_mutex_init(&tree->lock, NULL);
    pthread_cond_init(&tree->changed, NULL);
    list_init(&tree->idle);
    list_init(&tree->inos);
    for (size_t i = 0; i < PREFIX_INO_BUCKETS; i++) {
        list_init(&tree->inos_by_path[i]);
        list_init(&tree->inos_by_number[i]);
    }
    list_init(&tree->used);
    for (size_t i = 0; i < PREFIX_DIR_BUCKETS; i++)
        list_init(&tree->dirs[i]);
    for (size_t i = 0; i < PREFIX_HEAD_BUCKETS; i++)
        list_init(&tree->heads[i]);
    return tree;
}

/* Are there keys below the prefix? */
static int check(struct prefix_tree *tree)
{
    bool bucket = strcmp(tree->url.path, "/") == 0;
    struct prefix_list *list;
    struct prefix_dir *dir;
    int r = prefix_dir_get(tree, "", &dir);

    if (r < 0)
        return r;
    r = prefix_dir_peek(dir, &list);
    if (r == 0) {
        if (list->nentries == 0 && !list->marked && !bucket)
            r = -ENOENT;
        prefix_list_put(list);
    }
    prefix_dir_put(dir);
    return r;
}

int prefix_open(struct backing_source *source, const char *url,
                const struct net_options *options)
{
    struct prefix_tree *tree = new_tree(options);
    const char *why;
    int r;

    if (!tree)
        return -ENOMEM;
    r = url_parse(url, &tree->url, &why);
    if (r == 0)
        r = check(tree);
    if (r < 0) {
        prefix_free(tree);
        return r;
    }
    source->prefix = tree;
    source->ops = &prefix_source_ops;
    return 0;
}
