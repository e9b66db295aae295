/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_store.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "store/store_backend.h"

enum {
    NAME_LEN = 64,
    FILES_MAX = 256, /* names at a time */
    SECTOR_LEN = 512,
};

enum op_kind {
    OP_WRITE,
    OP_TRUNCATE,
    OP_PUNCH,
    OP_SYNC,
    OP_NAME,   /* a file gets a name */
    OP_REMOVE, /* a name is removed */
    OP_SYNC_NAMES,
    OP_OWN_NAME, /* the directory gets its name */
    OP_SYNC_OWN_NAME,
};

struct op {
    enum op_kind kind;
    size_t file; /* its number */
    char name[NAME_LEN];
    uint64_t off; /* or the new size */
    uint64_t len;
    uint8_t *bytes; /* of OP_WRITE */
    bool lost;      /* a sync after it failed; no later sync saves it */
};

struct bytes {
    uint8_t *bytes;
    size_t len;
};

struct name {
    char name[NAME_LEN];
    size_t file;
};

/* Files by number, and the names of those that have one. */
struct image {
    bool directory;
    bool named; /* whether the directory has its name */
    struct bytes *files;
    size_t nfiles;
    struct name names[FILES_MAX];
    size_t nnames;
    struct store_mem_file mem[FILES_MAX];
};

/* `lock` is held from begin() to end() of each call. */
struct disk {
    pthread_mutex_t lock;
    struct image now;
    size_t start_files; /* files that existed at the start */
    struct bytes start;
    struct op *ops;
    size_t nops;
    size_t ncalls;
    size_t fail_first;
    size_t fail_n;
    int fail_error;
    bool forgets; /* see disk_forget() */
    bool rots;    /* see disk_rot(); uses rotten_off */
    uint64_t rotten_off;
    void (*watch)(void *context, enum disk_call call);
    void *watcher;
};

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

/* Images. */

static size_t add_file(struct image *image)
{
    image->files =
        realloc(image->files, (image->nfiles + 1) * sizeof(image->files[0]));
    ck_assert_ptr_nonnull(image->files);
    image->files[image->nfiles] = (struct bytes){ 0 };
    return image->nfiles++;
}

static struct name *find_name(struct image *image, const char *name)
{
    for (size_t i = 0; i < image->nnames; i++)
        if (strcmp(image->names[i].name, name) == 0)
            return &image->names[i];
    return NULL;
}

static void remove_name(struct image *image, const char *name)
{
    struct name *found = find_name(image, name);

    if (found)
        *found = image->names[--image->nnames];
}

static void set_name(struct image *image, const char *name, size_t file)
{
    remove_name(image, name);
    ck_assert_uint_lt(image->nnames, FILES_MAX);
    strcpy(image->names[image->nnames].name, name);
    image->names[image->nnames++].file = file;
}

static void set_len(struct bytes *file, size_t len)
{
    /*
     * Allocate exactly this size, so that checkers notice every access past it.
     */
    uint8_t *bytes = calloc(len + 1, 1);

    ck_assert_ptr_nonnull(bytes);
    if (file->bytes)
        memcpy(bytes, file->bytes, len < file->len ? len : file->len);
    free(file->bytes);
    file->bytes = bytes;
    file->len = len;
}

static void apply(struct image *image, const struct op *op)
{
    struct bytes *file;

    while (image->nfiles <= op->file)
        add_file(image);
    file = &image->files[op->file];
    switch (op->kind) {
    case OP_WRITE:
        if (file->len < op->off + op->len)
            set_len(file, op->off + op->len);
        memcpy(file->bytes + op->off, op->bytes, op->len);
        break;
    case OP_TRUNCATE:
        set_len(file, op->off);
        break;
    case OP_PUNCH:
        if (op->off < file->len)
            memset(file->bytes + op->off, 0,
                   op->len < file->len - op->off ? op->len
                                                 : file->len - op->off);
        break;
    case OP_NAME:
        set_name(image, op->name, op->file);
        break;
    case OP_REMOVE:
        remove_name(image, op->name);
        break;
    case OP_OWN_NAME:
        image->named = true;
        break;
    default:
        break;
    }
}

static void fini_image(struct image *image)
{
    for (size_t i = 0; i < image->nfiles; i++)
        free(image->files[i].bytes);
    free(image->files);
}

void image_free(struct image *image)
{
    fini_image(image);
    free(image);
}

size_t image_nfiles(const struct image *image)
{
    return image->nnames;
}

struct store *image_store(const struct image *const_image)
{
    struct image *image = (struct image *)const_image;
    struct store *store;

    for (size_t i = 0; i < image->nnames; i++) {
        const struct bytes *file = &image->files[image->names[i].file];

        image->mem[i] = (struct store_mem_file){
            .name = image->names[i].name,
            .bytes = file->bytes,
            .len = file->len,
        };
    }
    if (image->directory && !image->named)
        return NULL;
    if (image->directory) {
        ck_assert_int_eq(store_mem_open_dir(image->mem, image->nnames, &store),
                         0);
        return store;
    }
    for (size_t i = 0; i < image->nnames; i++)
        if (strcmp(image->mem[i].name, "") == 0) {
            ck_assert_int_eq(
                store_mem_open(image->mem[i].bytes, image->mem[i].len, &store),
                0);
            return store;
        }
    return NULL;
}

/* The disk. */

static void begin_with(struct image *image, const struct bytes *start)
{
    size_t file = add_file(image);

    set_len(&image->files[file], start->len);
    memcpy(image->files[file].bytes, start->bytes, start->len);
    set_name(image, "", file);
}

void disk_free(struct disk *disk)
{
    for (size_t i = 0; i < disk->nops; i++)
        free(disk->ops[i].bytes);
    free(disk->ops);
    free(disk->start.bytes);
    fini_image(&disk->now);
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

static void tell(struct disk *disk, enum disk_call call)
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

/* Take the lock and count the call.  Returns its error if it must fail. */
static int begin(struct disk *disk)
{
    size_t no;

    pthread_mutex_lock(&disk->lock);
    no = disk->ncalls++;
    return no >= disk->fail_first && no - disk->fail_first < disk->fail_n
               ? disk->fail_error
               : 0;
}

static int end(struct disk *disk, int r)
{
    pthread_mutex_unlock(&disk->lock);
    return r;
}

static void record(struct disk *disk, const struct op *op)
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
    apply(&disk->now, &disk->ops[disk->nops++]);
}

struct disk *disk_new(bool directory)
{
    struct disk *disk = calloc(1, sizeof(*disk));

    ck_assert_ptr_nonnull(disk);
    disk->now.directory = directory;
    pthread_mutex_init(&disk->lock, NULL);
    if (directory)
        record(disk, &(struct op){ .kind = OP_OWN_NAME });
    return disk;
}

struct disk *disk_of(const uint8_t *bytes, size_t len)
{
    struct disk *disk = disk_new(false);

    disk->start.bytes = malloc(len + 1);
    ck_assert_ptr_nonnull(disk->start.bytes);
    memcpy(disk->start.bytes, bytes, len);
    disk->start.len = len;
    begin_with(&disk->now, &disk->start);
    return disk;
}

static bool is_names_op(enum op_kind kind)
{
    return kind == OP_NAME || kind == OP_REMOVE || kind == OP_SYNC_NAMES ||
           kind == OP_OWN_NAME || kind == OP_SYNC_OWN_NAME;
}

/* Does a sync make an operation durable? */
static bool saves(const struct op *sync, const struct op *op)
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
    const struct op *op = &disk->ops[i];

    if (op->lost)
        return false;
    for (size_t j = i + 1; j < nops; j++)
        if (saves(&disk->ops[j], op))
            return true;
    return false;
}

static bool is_sync(enum op_kind kind)
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

/* Apply the first half of a write, if it reaches beyond one sector. */
static void apply_torn(struct image *image, const struct op *op)
{
    struct op half = *op;

    if (op->kind != OP_WRITE || op->off % SECTOR_LEN + op->len <= SECTOR_LEN)
        return;
    half.len /= 2;
    apply(image, &half);
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
        begin_with(image, &disk->start);
    for (size_t i = 0; i < nops; i++)
        if (is_sync(disk->ops[i].kind) || is_synced(disk, i, nops) ||
            !dropped(context, n++))
            apply(image, &disk->ops[i]);
    if (torn && nops < disk->nops)
        apply_torn(image, &disk->ops[nops]);
    pthread_mutex_unlock(&disk->lock);
    return image;
}

/* The store. */

static struct disk *disk_of_store(struct store *store)
{
    return ((struct disk_store *)store)->disk;
}

static int object_stat(struct store_object *object, struct store_stat *out)
{
    struct disk_object *mine = (struct disk_object *)object;
    int r;

    tell(mine->disk, DISK_LOOK);
    r = begin(mine->disk);
    if (r == 0)
        *out = (struct store_stat){
            .version = { .ino = mine->file + 1,
                         .size = mine->disk->now.files[mine->file].len,
                         .settled = true },
        };
    return end(mine->disk, r);
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
    int r = begin(mine->disk);
    const struct bytes *file = &mine->disk->now.files[mine->file];

    for (size_t i = 0; i < nranges && r == 0; i++) {
        if (!size_within(ranges[i].off, ranges[i].len, file->len))
            r = -ENODATA;
        else if (is_rotten(mine->disk, &ranges[i]))
            r = -EIO;
        else if (ranges[i].len > 0)
            memcpy(ranges[i].buf, file->bytes + ranges[i].off, ranges[i].len);
    }
    return end(mine->disk, r);
}

static void object_close(struct store_object *object)
{
    free(object);
}

/* Rebuild the content of a file without its lost writes. */
static void forget_writes(struct disk *disk, size_t no)
{
    struct bytes *file = &disk->now.files[no];
    size_t len = file->len;

    memset(file->bytes, 0, len);
    if (no == 0 && disk->start.bytes)
        memcpy(file->bytes, disk->start.bytes,
               disk->start.len < len ? disk->start.len : len);
    for (size_t i = 0; i < disk->nops; i++)
        if (disk->ops[i].file == no && !disk->ops[i].lost &&
            !is_names_op(disk->ops[i].kind))
            apply(&disk->now, &disk->ops[i]);
    set_len(file, len);
}

/* A failed sync drops the data that it should have written, as kernels do. */
static void lose_writes(struct disk *disk, size_t file)
{
    for (size_t i = 0; i < disk->nops; i++)
        if (disk->ops[i].file == file && !is_names_op(disk->ops[i].kind) &&
            !is_synced(disk, i, disk->nops))
            disk->ops[i].lost = true;
    if (disk->forgets)
        forget_writes(disk, file);
}

static int change_object(struct store_object *object, struct op op)
{
    static const enum disk_call calls[] = {
        [OP_WRITE] = DISK_WRITE,
        [OP_TRUNCATE] = DISK_TRUNCATE,
        [OP_PUNCH] = DISK_PUNCH,
        [OP_SYNC] = DISK_SYNC,
    };
    struct disk_object *mine = (struct disk_object *)object;
    int r;

    tell(mine->disk, calls[op.kind]);
    if (!mine->writable && op.kind != OP_SYNC)
        return -EROFS;
    r = begin(mine->disk);
    op.file = mine->file;
    if (r == 0)
        record(mine->disk, &op);
    else if (op.kind == OP_SYNC)
        lose_writes(mine->disk, mine->file);
    return end(mine->disk, r);
}

static int object_write(struct store_object *object, uint64_t off,
                        const void *buf, size_t len)
{
    return change_object(object, (struct op){ .kind = OP_WRITE,
                                              .off = off,
                                              .len = len,
                                              .bytes = (uint8_t *)buf });
}

static int object_truncate(struct store_object *object, uint64_t size)
{
    return change_object(object,
                         (struct op){ .kind = OP_TRUNCATE, .off = size });
}

static int object_punch(struct store_object *object, uint64_t off, uint64_t len)
{
    return change_object(
        object, (struct op){ .kind = OP_PUNCH, .off = off, .len = len });
}

static int object_sync(struct store_object *object)
{
    return change_object(object, (struct op){ .kind = OP_SYNC });
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
    int r = begin(disk);
    const struct name *found = find_name(&disk->now, name);

    if (r == 0 && !found)
        r = -ENOENT;
    if (r == 0)
        *out = &make_object(disk, found->file, !disk->now.directory)->object;
    return end(disk, r);
}

static struct disk_object *create(struct disk *disk, const char *name)
{
    struct disk_object *object = make_object(disk, add_file(&disk->now), true);
    struct op op = { .kind = OP_NAME, .file = object->file };

    strcpy(op.name, name);
    record(disk, &op);
    return object;
}

static int create_object(struct store *store, const char *name,
                         const char *like, struct store_object **out)
{
    struct disk *disk = disk_of_store(store);
    int r = begin(disk);

    (void)like;
    if (r == 0)
        *out = &create(disk, name)->object;
    return end(disk, r);
}

static int draft_object(struct store *store, const char *name,
                        struct store_object **out)
{
    struct disk *disk = disk_of_store(store);
    int r = begin(disk);

    (void)name;
    if (r == 0)
        *out = &make_object(disk, add_file(&disk->now), true)->object;
    return end(disk, r);
}

static int remove_object(struct store *store, const char *name)
{
    struct disk *disk = disk_of_store(store);
    struct op op = { .kind = OP_REMOVE };
    int r = begin(disk);

    if (r == 0 && !find_name(&disk->now, name))
        r = -ENOENT;
    strcpy(op.name, name);
    if (r == 0)
        record(disk, &op);
    return end(disk, r);
}

static int sync_kind(struct store *store, enum op_kind kind)
{
    struct disk *disk = disk_of_store(store);
    int r = begin(disk);

    if (r == 0)
        record(disk, &(struct op){ .kind = kind });
    return end(disk, r);
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
    struct op op = { .kind = OP_NAME, .file = draft->file };
    int r = begin(disk);

    if (r < 0)
        return end(disk, r);
    strcpy(op.name, name);
    record(disk, &op);
    return end(disk, 0);
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
    struct name names[FILES_MAX];
    int r = begin(disk);
    size_t n = disk->now.nnames;

    memcpy(names, disk->now.names, sizeof(names));
    end(disk, r);
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
