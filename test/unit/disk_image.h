/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_DISK_IMAGE_H
#define TEST_DISK_IMAGE_H

#include "record_store.h"

/* The content of the disk of record_store.h, and the operations on it. */

enum {
    NAME_LEN = 64,
    FILES_MAX = 256, /* names at a time */
};

/* Kinds of operations. */
enum disk_op_kind {
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

/* An operation. */
struct disk_op {
    enum disk_op_kind kind;
    size_t file; /* its number */
    char name[NAME_LEN];
    uint64_t off; /* or the new size */
    uint64_t len;
    uint8_t *bytes; /* of OP_WRITE */
    bool lost;      /* a sync after it failed; no later sync saves it */
};

/* The content of a file. */
struct image_bytes {
    uint8_t *bytes;
    size_t len;
};

/* A name, and the number of its file. */
struct image_name {
    char name[NAME_LEN];
    size_t file;
};

/* Files by number, and the names of those that have one. */
struct image {
    bool directory;
    bool named; /* whether the directory has its name */
    struct image_bytes *files;
    size_t nfiles;
    struct image_name names[FILES_MAX];
    size_t nnames;
    struct store_mem_file mem[FILES_MAX];
};

/* Accepts a zeroed image. */
void image_fini(struct image *image);

/* Add an empty file without a name, and return its number. */
size_t image_add_file(struct image *image);

/* Add a file that has the name "". */
void image_begin_with(struct image *image, const struct image_bytes *start);

/* Find a name; NULL if there is none. */
struct image_name *image_find_name(struct image *image, const char *name);

/* Cut a file, or extend it by zeros. */
void image_set_len(struct image_bytes *file, size_t len);

/* Apply an operation; or the first half of a write, if that reaches beyond one
   sector. */
void image_apply(struct image *image, const struct disk_op *op);
void image_apply_torn(struct image *image, const struct disk_op *op);

#endif
