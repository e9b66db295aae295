/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_REFORM_PRIVATE_H
#define OPEN_REFORM_PRIVATE_H

#include "backing/backing_change.h"
#include "open/reform.h"

/* Bytes that are copied: those of a frame, or of a plain file. */
struct reform_content {
    struct file *file; /* NULL: it is a plain file */
    struct backing_anchor plain;
};

/* A file that may get another form. */
struct reform {
    struct fs *fs;
    struct node *node;
    struct node *parent; /* a reference */
    struct backing_entry old;
    struct backing_place place; /* of `old` */
    struct stat st;             /* of `old`, before its content was opened */
    char shown[NAME_MAX + 1];   /* the name that both show under */
    struct store *store;        /* of `old`, if that is a frame */
    struct reform_content from;

    /* Set by reform_choose(). */
    struct backing_entry new;
    bool must_pay;             /* give up if the new frame does not pay */
    struct file_array array;   /* if `header` is set, the array to make */
    struct file_params params; /* of the frame to make */
    uint8_t *header;           /* the bytes before the items, or NULL */
    size_t header_len;
};

/* Begin with the file of a node.  Returns 0; -EMLINK if it has several names;
   -EPERM if it never gets another form; or another error. */
int reform_begin(struct fs *fs, struct node *node, struct reform *out);
void reform_end(struct reform *reform);

/* Make the new frame, as the draft. */
int reform_create(const struct reform *reform,
                  const struct backing_reform *draft, struct file **out);

/*
 * Swap the entries.  The caller has the exclusive path of the node.
 *
 *  check  see struct backing_giving_way
 *
 * Returns 1 if the node stays the same; 0 if it counts as removed; or an error.
 */
int reform_swap(struct reform *reform, const struct backing_reform *draft,
                int (*check)(void *context));

/*
 * Choose the form that suits a file.  Returns 1 and kind and name of the new
 * entry; 0 if the file has this form already, or gets none; or a negative
 * errno.
 */
int reform_choose(struct reform *reform);

/* Choose kind and name of a frame to make.  Returns 1, or as above. */
int reform_choose_frame(struct reform *reform);

/* Does the file show as an array? */
bool reform_is_array(const struct reform *reform);

/* Return 1 if a frame takes up less space than its content as a plain file
   would, 0 if it does not, or a negative errno. */
int reform_pays(struct file *file);

/* Read `len` bytes, which exist.  Returns 0 or a negative errno. */
int reform_read(const struct reform_content *from, uint64_t off, uint8_t *buf,
                size_t len);

/* Return the size of a content. */
int64_t reform_size(const struct reform_content *content);

/*
 * Copy the content of the old entry to the new one, and make that durable.
 * Returns 0; -EBUSY if a program opens the file meanwhile; -ECANCELED if the
 * new form turns out not to suit it; or another error.
 */
int reform_copy(struct reform *reform, const struct reform_content *to);

/* Has a program removed or renamed the file; or done so, or opened it, or is
   about to? */
bool reform_is_moved(const struct reform *reform);
bool reform_is_disturbed(const struct reform *reform);

#endif
