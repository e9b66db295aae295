/* SPDX-License-Identifier: BSD-3-Clause */
#include "disk_image.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTOR_LEN = 512
};

/* Images. */

size_t image_add_file(struct image *image)
{
    image->files =
        realloc(image->files, (image->nfiles + 1) * sizeof(image->files[0]));
    ck_assert_ptr_nonnull(image->files);
    image->files[image->nfiles] = (struct image_bytes){ 0 };
    return image->nfiles++;
}

struct image_name *image_find_name(struct image *image, const char *name)
{
    for (size_t i = 0; i < image->nnames; i++)
        if (strcmp(image->names[i].name, name) == 0)
            return &image->names[i];
    return NULL;
}

static void remove_name(struct image *image, const char *name)
{
    struct image_name *found = image_find_name(image, name);

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

void image_set_len(struct image_bytes *file, size_t len)
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

void image_apply(struct image *image, const struct disk_op *op)
{
    struct image_bytes *file;

    while (image->nfiles <= op->file)
        image_add_file(image);
    file = &image->files[op->file];
    switch (op->kind) {
    case OP_WRITE:
        if (file->len < op->off + op->len)
            image_set_len(file, op->off + op->len);
        memcpy(file->bytes + op->off, op->bytes, op->len);
        break;
    case OP_TRUNCATE:
        image_set_len(file, op->off);
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

void image_fini(struct image *image)
{
    for (size_t i = 0; i < image->nfiles; i++)
        free(image->files[i].bytes);
    free(image->files);
}

void image_free(struct image *image)
{
    image_fini(image);
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
        const struct image_bytes *file = &image->files[image->names[i].file];

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

void image_begin_with(struct image *image, const struct image_bytes *start)
{
    size_t file = image_add_file(image);

    image_set_len(&image->files[file], start->len);
    memcpy(image->files[file].bytes, start->bytes, start->len);
    set_name(image, "", file);
}

void image_apply_torn(struct image *image, const struct disk_op *op)
{
    struct disk_op half = *op;

    if (op->kind != OP_WRITE || op->off % SECTOR_LEN + op->len <= SECTOR_LEN)
        return;
    half.len /= 2;
    image_apply(image, &half);
}
