/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_store.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "record_disk.h"
#include "store/store_backend.h"

struct disk_store {
    struct store store;
    struct disk *disk;
};

struct disk_object {
    struct store_object object;
    struct disk *disk;
    size_t file;
    bool writable;
};

static struct disk *disk_of_store(struct store *store)
{
    return ((struct disk_store *)store)->disk;
}

static int object_stat(struct store_object *object, struct store_stat *out)
{
    struct disk_object *mine = (struct disk_object *)object;
    int r;

    disk_tell(mine->disk, DISK_LOOK);
    r = disk_begin(mine->disk);
    if (r == 0)
        *out = (struct store_stat){
            .version = { .ino = mine->file + 1,
                         .size = mine->disk->now.files[mine->file].len,
                         .settled = true },
        };
    return disk_end(mine->disk, r);
}

static bool is_rotten(const struct disk *disk, const struct store_range *range)
{
    return disk->rots && disk->rotten_off >= range->off &&
           disk->rotten_off - range->off < range->len;
}

static int object_read(struct store_object *object,
                       const struct store_range *ranges, size_t nranges)
{
    struct disk_object *mine = (struct disk_object *)object;
    int r = disk_begin(mine->disk);
    const struct image_bytes *file = &mine->disk->now.files[mine->file];

    for (size_t i = 0; i < nranges && r == 0; i++) {
        if (!size_within(ranges[i].off, ranges[i].len, file->len))
            r = -ENODATA;
        else if (is_rotten(mine->disk, &ranges[i]))
            r = -EIO;
        else if (ranges[i].len > 0)
            memcpy(ranges[i].buf, file->bytes + ranges[i].off, ranges[i].len);
    }
    return disk_end(mine->disk, r);
}

static void object_close(struct store_object *object)
{
    free(object);
}

static int change_object(struct store_object *object, struct disk_op op)
{
    static const enum disk_call calls[] = {
        [OP_WRITE] = DISK_WRITE,
        [OP_TRUNCATE] = DISK_TRUNCATE,
        [OP_PUNCH] = DISK_PUNCH,
        [OP_SYNC] = DISK_SYNC,
    };
    struct disk_object *mine = (struct disk_object *)object;
    int r;

    disk_tell(mine->disk, calls[op.kind]);
    if (!mine->writable && op.kind != OP_SYNC)
        return -EROFS;
    r = disk_begin(mine->disk);
    op.file = mine->file;
    if (r == 0)
        disk_record(mine->disk, &op);
    else if (op.kind == OP_SYNC)
        disk_lose_writes(mine->disk, mine->file);
    return disk_end(mine->disk, r);
}

static int object_write(struct store_object *object, uint64_t off,
                        const void *buf, size_t len)
{
    return change_object(object, (struct disk_op){ .kind = OP_WRITE,
                                                   .off = off,
                                                   .len = len,
                                                   .bytes = (uint8_t *)buf });
}

static int object_truncate(struct store_object *object, uint64_t size)
{
    return change_object(object,
                         (struct disk_op){ .kind = OP_TRUNCATE, .off = size });
}

static int object_punch(struct store_object *object, uint64_t off, uint64_t len)
{
    return change_object(
        object, (struct disk_op){ .kind = OP_PUNCH, .off = off, .len = len });
}

static int object_sync(struct store_object *object)
{
    return change_object(object, (struct disk_op){ .kind = OP_SYNC });
}

static const struct store_object_ops object_ops = {
    .stat = object_stat,
    .read = object_read,
    .close = object_close,
    .write = object_write,
    .truncate = object_truncate,
    .punch = object_punch,
    .sync = object_sync,
};

static struct disk_object *make_object(struct disk *disk, size_t file,
                                       bool writable)
{
    struct disk_object *object = calloc(1, sizeof(*object));

    ck_assert_ptr_nonnull(object);
    object->object.ops = &object_ops;
    object->disk = disk;
    object->file = file;
    object->writable = writable;
    return object;
}

static int open_object(struct store *store, const char *name,
                       struct store_object **out)
{
    struct disk *disk = disk_of_store(store);
    int r = disk_begin(disk);
    const struct image_name *found = image_find_name(&disk->now, name);

    if (r == 0 && !found)
        r = -ENOENT;
    if (r == 0)
        *out = &make_object(disk, found->file, !disk->now.directory)->object;
    return disk_end(disk, r);
}

static struct disk_object *create(struct disk *disk, const char *name)
{
    struct disk_object *object =
        make_object(disk, image_add_file(&disk->now), true);
    struct disk_op op = { .kind = OP_NAME, .file = object->file };

    strcpy(op.name, name);
    disk_record(disk, &op);
    return object;
}

static int create_object(struct store *store, const char *name,
                         const char *like, struct store_object **out)
{
    struct disk *disk = disk_of_store(store);
    int r = disk_begin(disk);

    (void)like;
    if (r == 0)
        *out = &create(disk, name)->object;
    return disk_end(disk, r);
}

static int draft_object(struct store *store, const char *name,
                        struct store_object **out)
{
    struct disk *disk = disk_of_store(store);
    int r = disk_begin(disk);

    (void)name;
    if (r == 0)
        *out = &make_object(disk, image_add_file(&disk->now), true)->object;
    return disk_end(disk, r);
}

static int remove_object(struct store *store, const char *name)
{
    struct disk *disk = disk_of_store(store);
    struct disk_op op = { .kind = OP_REMOVE };
    int r = disk_begin(disk);

    if (r == 0 && !image_find_name(&disk->now, name))
        r = -ENOENT;
    strcpy(op.name, name);
    if (r == 0)
        disk_record(disk, &op);
    return disk_end(disk, r);
}

static int sync_kind(struct store *store, enum disk_op_kind kind)
{
    struct disk *disk = disk_of_store(store);
    int r = disk_begin(disk);

    if (r == 0)
        disk_record(disk, &(struct disk_op){ .kind = kind });
    return disk_end(disk, r);
}

static int sync_names(struct store *store)
{
    return sync_kind(store, OP_SYNC_NAMES);
}

static int sync_own_name(struct store *store)
{
    return sync_kind(store, OP_SYNC_OWN_NAME);
}

static int publish(struct store *store, const char *name,
                   struct store_object *object)
{
    struct disk *disk = disk_of_store(store);
    struct disk_object *draft = (struct disk_object *)object;
    struct disk_op op = { .kind = OP_NAME, .file = draft->file };
    int r = disk_begin(disk);

    if (r < 0)
        return disk_end(disk, r);
    strcpy(op.name, name);
    disk_record(disk, &op);
    return disk_end(disk, 0);
}

static void discard(struct store *store, struct store_object *object)
{
    (void)store;
    store_object_close(object);
}

static int list(struct store *store,
                int (*visit)(void *context, const char *name), void *context)
{
    struct disk *disk = disk_of_store(store);
    struct image_name names[FILES_MAX];
    int r = disk_begin(disk);
    size_t n = disk->now.nnames;

    memcpy(names, disk->now.names, sizeof(names));
    disk_end(disk, r);
    for (size_t i = 0; i < n && r == 0; i++)
        r = visit(context, names[i].name);
    return r;
}

static void store_free(struct store *store)
{
    free(store);
}

static const struct store_ops file_ops = {
    .directory = false,
    .open = open_object,
    .close = store_free,
    .draft = draft_object,
    .publish = publish,
    .discard = discard,
    .sync_name = sync_names,
};

static const struct store_ops dir_ops = {
    .directory = true,
    .open = open_object,
    .close = store_free,
    .create = create_object,
    .draft = draft_object,
    .publish = publish,
    .discard = discard,
    .remove = remove_object,
    .sync = sync_names,
    .sync_name = sync_own_name,
    .list = list,
};

struct store *disk_store(struct disk *disk)
{
    struct disk_store *store = calloc(1, sizeof(*store));

    ck_assert_ptr_nonnull(store);
    store_init(&store->store, disk->now.directory ? &dir_ops : &file_ops);
    store->disk = disk;
    return &store->store;
}
