/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "backing/prefix_private.h"
#include "base/hash.h"

enum {
    KEPT_MAX = 1 << 16 /* entries that are known to have been moved */
};

/*
 * The number of an entry is a hash of its path.  One that was moved keeps its
 * number, by which the kernel and the layers above know it; then its older path
 * gets another one.
 */
struct moved {
    struct list by_path;
    struct list by_number;
    struct list all;
    uint64_t ino;
    char path[];
};

static struct list *path_bucket(struct prefix_tree *tree, const char *path)
{
    return &tree->inos_by_path[hash_text(path) % PREFIX_INO_BUCKETS];
}

static struct list *number_bucket(struct prefix_tree *tree, uint64_t ino)
{
    return &tree->inos_by_number[ino % PREFIX_INO_BUCKETS];
}

static struct moved *find_path_locked(struct prefix_tree *tree,
                                      const char *path)
{
    list_for_each(node, path_bucket(tree, path)) {
        struct moved *moved = list_entry(node, struct moved, by_path);

        if (strcmp(moved->path, path) == 0)
            return moved;
    }
    return NULL;
}

static bool is_taken_locked(struct prefix_tree *tree, uint64_t ino)
{
    list_for_each(node, number_bucket(tree, ino))
        if (list_entry(node, struct moved, by_number)->ino == ino)
            return true;
    return false;
}

static void free_locked(struct prefix_tree *tree, struct moved *moved)
{
    list_remove(&moved->by_path);
    list_remove(&moved->by_number);
    list_remove(&moved->all);
    tree->ninos--;
    free(moved);
}

static uint64_t number_locked(struct prefix_tree *tree, const char *path,
                              uint64_t natural)
{
    const struct moved *moved = find_path_locked(tree, path);

    if (moved)
        return moved->ino;
    while (natural < 2 || is_taken_locked(tree, natural))
        natural = hash_mix(natural, 1);
    return natural;
}

/* The number that a path has: `natural`, unless entries were moved. */
static uint64_t ino_of(struct prefix_tree *tree, const char *path,
                       uint64_t natural)
{
    uint64_t ino = natural;

    pthread_mutex_lock(&tree->lock);
    if (tree->ninos > 0)
        ino = number_locked(tree, path, natural);
    pthread_mutex_unlock(&tree->lock);
    return ino;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash;
}

uint64_t prefix_dir_ino(const struct prefix_dir *dir, const char *name)
{
    uint64_t hash = mix_text(dir->tree->seed, dir->path);
    char *path;

    if (dir->path[0] != '\0')
        hash = hash_mix(hash, '/');
    hash = mix_text(hash, name);
    if (hash < 2)
        hash = 2;
    path = prefix_dir_path(dir, name);
    if (path)
        hash = ino_of(dir->tree, path, hash);
    free(path);
    return hash;
}

/* Note the number of a path. */
static void set_locked(struct prefix_tree *tree, const char *path, uint64_t ino)
{
    size_t len = strlen(path);
    struct moved *moved = find_path_locked(tree, path);

    if (moved)
        free_locked(tree, moved);
    moved = malloc(sizeof(*moved) + len + 1);
    if (!moved)
        return;
    moved->ino = ino;
    memcpy(moved->path, path, len + 1);
    list_append(path_bucket(tree, path), &moved->by_path);
    list_append(number_bucket(tree, ino), &moved->by_number);
    list_append(&tree->inos, &moved->all);
    if (++tree->ninos > KEPT_MAX)
        free_locked(tree, list_entry(tree->inos.next, struct moved, all));
}

void prefix_ino_moved(struct prefix_dir *from, const char *name,
                      struct prefix_dir *to, const char *target)
{
    struct prefix_tree *tree = from->tree;
    uint64_t ino = prefix_dir_ino(from, name);
    char *old = prefix_dir_path(from, name);
    char *path = prefix_dir_path(to, target);
    struct moved *moved;

    pthread_mutex_lock(&tree->lock);
    moved = old ? find_path_locked(tree, old) : NULL;
    if (moved)
        free_locked(tree, moved);
    if (path)
        set_locked(tree, path, ino);
    pthread_mutex_unlock(&tree->lock);
    free(old);
    free(path);
}

void prefix_inos_free(struct prefix_tree *tree)
{
    list_for_each_safe(node, &tree->inos)
        free_locked(tree, list_entry(node, struct moved, all));
}
