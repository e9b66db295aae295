/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_disk.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void disk_free(struct disk *disk)
{
    for (size_t i = 0; i < disk->nops; i++)
        free(disk->ops[i].bytes);
    free(disk->ops);
    free(disk->start.bytes);
    image_fini(&disk->now);
    pthread_mutex_destroy(&disk->lock);
    free(disk);
}

size_t disk_ncalls(struct disk *disk)
{
    size_t n;

    pthread_mutex_lock(&disk->lock);
    n = disk->ncalls;
    pthread_mutex_unlock(&disk->lock);
    return n;
}

void disk_fail(struct disk *disk, size_t first, size_t n, int error)
{
    pthread_mutex_lock(&disk->lock);
    disk->fail_first = first;
    disk->fail_n = n;
    disk->fail_error = error;
    pthread_mutex_unlock(&disk->lock);
}

void disk_forget(struct disk *disk)
{
    pthread_mutex_lock(&disk->lock);
    disk->forgets = true;
    pthread_mutex_unlock(&disk->lock);
}

void disk_rot(struct disk *disk, uint64_t off)
{
    pthread_mutex_lock(&disk->lock);
    disk->rots = true;
    disk->rotten_off = off;
    pthread_mutex_unlock(&disk->lock);
}

size_t disk_nops(struct disk *disk)
{
    size_t n;

    pthread_mutex_lock(&disk->lock);
    n = disk->nops;
    pthread_mutex_unlock(&disk->lock);
    return n;
}

void disk_watch(struct disk *disk,
                void (*watch)(void *context, enum disk_call call),
                void *context)
{
    pthread_mutex_lock(&disk->lock);
    disk->watch = watch;
    disk->watcher = context;
    pthread_mutex_unlock(&disk->lock);
}

void disk_tell(struct disk *disk, enum disk_call call)
{
    void (*watch)(void *context, enum disk_call call);
    void *watcher;

    pthread_mutex_lock(&disk->lock);
    watch = disk->watch;
    watcher = disk->watcher;
    pthread_mutex_unlock(&disk->lock);
    if (watch)
        watch(watcher, call);
}

int disk_begin(struct disk *disk)
{
    size_t no;

    pthread_mutex_lock(&disk->lock);
    no = disk->ncalls++;
    return no >= disk->fail_first && no - disk->fail_first < disk->fail_n
               ? disk->fail_error
               : 0;
}

int disk_end(struct disk *disk, int r)
{
    pthread_mutex_unlock(&disk->lock);
    return r;
}

void disk_record(struct disk *disk, const struct disk_op *op)
{
    if ((disk->nops & (disk->nops - 1)) == 0) {
        disk->ops =
            realloc(disk->ops, (2 * disk->nops + 1) * sizeof(disk->ops[0]));
        ck_assert_ptr_nonnull(disk->ops);
    }
    disk->ops[disk->nops] = *op;
    if (op->kind == OP_WRITE) {
        uint8_t *copy = malloc(op->len + 1);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, op->bytes, op->len);
        disk->ops[disk->nops].bytes = copy;
    }
    image_apply(&disk->now, &disk->ops[disk->nops++]);
}

struct disk *disk_new(bool directory)
{
    struct disk *disk = calloc(1, sizeof(*disk));

    ck_assert_ptr_nonnull(disk);
    disk->now.directory = directory;
    pthread_mutex_init(&disk->lock, NULL);
    if (directory)
        disk_record(disk, &(struct disk_op){ .kind = OP_OWN_NAME });
    return disk;
}

struct disk *disk_of(const uint8_t *bytes, size_t len)
{
    struct disk *disk = disk_new(false);

    disk->start.bytes = malloc(len + 1);
    ck_assert_ptr_nonnull(disk->start.bytes);
    memcpy(disk->start.bytes, bytes, len);
    disk->start.len = len;
    image_begin_with(&disk->now, &disk->start);
    return disk;
}

static bool is_names_op(enum disk_op_kind kind)
{
    return kind == OP_NAME || kind == OP_REMOVE || kind == OP_SYNC_NAMES ||
           kind == OP_OWN_NAME || kind == OP_SYNC_OWN_NAME;
}

/* Does a sync make an operation durable? */
static bool saves(const struct disk_op *sync, const struct disk_op *op)
{
    if (op->kind == OP_OWN_NAME)
        return sync->kind == OP_SYNC_OWN_NAME;
    if (is_names_op(op->kind))
        return sync->kind == OP_SYNC_NAMES;
    return sync->kind == OP_SYNC && sync->file == op->file;
}

/* Is operation `i` certainly on the disk? */
static bool is_synced(const struct disk *disk, size_t i, size_t nops)
{
    const struct disk_op *op = &disk->ops[i];

    if (op->lost)
        return false;
    for (size_t j = i + 1; j < nops; j++)
        if (saves(&disk->ops[j], op))
            return true;
    return false;
}

static bool is_sync(enum disk_op_kind kind)
{
    return kind == OP_SYNC || kind == OP_SYNC_NAMES || kind == OP_SYNC_OWN_NAME;
}

size_t disk_nunsynced(const struct disk *disk, size_t nops)
{
    size_t n = 0;

    for (size_t i = 0; i < nops; i++)
        n += !is_sync(disk->ops[i].kind) && !is_synced(disk, i, nops);
    return n;
}

struct image *disk_crash(struct disk *disk, size_t nops, bool torn,
                         bool (*dropped)(void *context, size_t i),
                         void *context)
{
    struct image *image = calloc(1, sizeof(*image));
    size_t n = 0;

    ck_assert_ptr_nonnull(image);
    pthread_mutex_lock(&disk->lock);
    image->directory = disk->now.directory;
    if (disk->start.bytes)
        image_begin_with(image, &disk->start);
    for (size_t i = 0; i < nops; i++)
        if (is_sync(disk->ops[i].kind) || is_synced(disk, i, nops) ||
            !dropped(context, n++))
            image_apply(image, &disk->ops[i]);
    if (torn && nops < disk->nops)
        image_apply_torn(image, &disk->ops[nops]);
    pthread_mutex_unlock(&disk->lock);
    return image;
}

/* Rebuild the content of a file without its lost writes. */
static void forget_writes(struct disk *disk, size_t no)
{
    struct image_bytes *file = &disk->now.files[no];
    size_t len = file->len;

    memset(file->bytes, 0, len);
    if (no == 0 && disk->start.bytes)
        memcpy(file->bytes, disk->start.bytes,
               disk->start.len < len ? disk->start.len : len);
    for (size_t i = 0; i < disk->nops; i++)
        if (disk->ops[i].file == no && !disk->ops[i].lost &&
            !is_names_op(disk->ops[i].kind))
            image_apply(&disk->now, &disk->ops[i]);
    image_set_len(file, len);
}

void disk_lose_writes(struct disk *disk, size_t file)
{
    for (size_t i = 0; i < disk->nops; i++)
        if (disk->ops[i].file == file && !is_names_op(disk->ops[i].kind) &&
            !is_synced(disk, i, disk->nops))
            disk->ops[i].lost = true;
    if (disk->forgets)
        forget_writes(disk, file);
}
