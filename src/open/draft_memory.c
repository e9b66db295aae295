/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/draft_memory.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CACHE_PART = 2
};

struct draft_memory {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t used;       /* bytes of drafts, */
    size_t putting;    /* and of threads that put some */
    uint64_t ntickets; /* threads that came to put a draft, and */
    uint64_t nserved;  /* those of them that got the memory, the first to come
                          first */
};

struct draft_memory *draft_memory_new(void)
{
    struct draft_memory *memory = calloc(1, sizeof(*memory));

    if (!memory)
        return NULL;
    pthread_mutex_init(&memory->lock, NULL);
    pthread_cond_init(&memory->changed, NULL);
    return memory;
}

void draft_memory_free(struct draft_memory *memory)
{
    if (!memory)
        return;
    pthread_cond_destroy(&memory->changed);
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

size_t draft_memory_limit(const struct fs *fs)
{
    return file_context_cache_size(fs->files) / CACHE_PART;
}

int draft_memory_take(struct fs *fs, size_t size)
{
    struct draft_memory *memory = fs->draft_memory;
    size_t limit = draft_memory_limit(fs);
    bool fits;

    pthread_mutex_lock(&memory->lock);
    fits = size <= limit && memory->used <= limit - size;
    if (fits)
        memory->used += size;
    pthread_mutex_unlock(&memory->lock);
    if (!fits)
        return -ENOMEM;
    file_count_memory(fs->files, (ptrdiff_t)size);
    return 0;
}

void draft_memory_give(struct fs *fs, size_t size)
{
    struct draft_memory *memory = fs->draft_memory;

    pthread_mutex_lock(&memory->lock);
    memory->used -= size;
    pthread_mutex_unlock(&memory->lock);
    file_count_memory(fs->files, -(ptrdiff_t)size);
}

void draft_memory_begin(struct fs *fs, size_t size)
{
    struct draft_memory *memory = fs->draft_memory;
    size_t limit = draft_memory_limit(fs);
    uint64_t ticket;

    pthread_mutex_lock(&memory->lock);
    ticket = memory->ntickets++;
    while (ticket != memory->nserved ||
           (memory->putting > 0 &&
            (size > limit || memory->putting > limit - size)))
        pthread_cond_wait(&memory->changed, &memory->lock);
    memory->nserved++;
    memory->putting += size;
    pthread_cond_broadcast(&memory->changed);
    pthread_mutex_unlock(&memory->lock);
    file_count_memory(fs->files, (ptrdiff_t)size);
}

void draft_memory_end(struct fs *fs, size_t size)
{
    struct draft_memory *memory = fs->draft_memory;

    file_count_memory(fs->files, -(ptrdiff_t)size);
    pthread_mutex_lock(&memory->lock);
    memory->putting -= size;
    pthread_cond_broadcast(&memory->changed);
    pthread_mutex_unlock(&memory->lock);
}
