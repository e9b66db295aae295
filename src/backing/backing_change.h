/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_CHANGE_H
#define BACKING_BACKING_CHANGE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "backing/backing_anchor.h"
#include "backing/backing_object.h"
#include "file/file.h"
#include "writer/private_dir.h"

/*
 * Changes of the entries of a directory.
 *
 * They are made with the identity of the program that the thread serves, as far
 * as they are what the program asked for.  Functions return 0 or a negative
 * errno: -EROFS if the implementation of the directory never changes anything.
 */

/* An entry of an open directory. */
struct backing_entry {
    struct backing_dir dir;
    enum entry_kind kind; /* ENTRY_NONE: there is no entry of that name */
    char name[NAME_MAX + 1];
};

/* Names. */

/*
 * May a program store something under a name, as it is about to?  Rejects names
 * that would turn the directory into a sparse frame, unless a program is
 * copying one, see incoming_frames.h.  Also rejects names that would be taken
 * for the lock file of a frame, or for a temporary file of framefs.
 *
 *  kind, mode  of the new entry
 *
 * Returns 0, -EPERM or another error.
 */
int backing_check_name(const struct backing_dir *dir, const char *name,
                       enum entry_kind kind, mode_t mode);

/*
 * Would an entry still be of its kind under another name?  A frame or store in
 * a file is recognised by its name.  A frame that would cease to be one can be
 * copied instead, and so can a plain file that would become one and show under
 * another name; for a store, that would change everything that shows.
 *
 * Returns 0, -EXDEV or -EPERM.
 */
int backing_check_rename(const struct backing_entry *entry, const char *name);

/* Creating. */

/* The file or directory to create: the arguments of mknod() and so on. */
struct backing_new {
    mode_t mode; /* with the type */
    dev_t rdev;
    const char *target; /* of a symbolic link */
};

/*
 * An entry that is being created.  A frame is empty until its store was written
 * to, and may have a private name until backing_publish().
 */
struct backing_draft {
    const struct backing_entry *entry; /* must outlive the draft */
    mode_t mode;

    /* For the implementation. */
    char private_name
        [PRIVATE_DIR_NAME_MAX]; /* its private name, while `private_fd` is not
                                   -1 */
    int private_fd;
};

/*
 * Create an entry of the kind in `entry`.  On success the caller calls
 * backing_publish() once the entry is complete, or else backing_discard().
 */
int backing_create(const struct backing_entry *entry,
                   const struct backing_new *what, struct backing_draft *out);

/* Open the store of a draft that is a frame, to write the frame.  Returns
   errors with a fault. */
int backing_draft_store(const struct backing_draft *draft, unsigned flags,
                        struct store **out, struct fault *fault);

/* Let a draft show, with its lock file if frames are locked; see `files` in
   file.h. */
int backing_publish(struct backing_draft *draft, struct file_context *files);

/*
 * Remove a draft, published or not.
 *
 *  filled  if it is a frame, that frame was created in its store
 */
void backing_discard(struct backing_draft *draft, bool filled);

/* Give a file another name, as linkat() does. */
int backing_link(const struct backing_object *object,
                 const struct backing_entry *entry);

/* Removing. */

/* How an entry is to be removed. */
struct backing_removal {
    bool checked; /* the caller has checked that the program which the thread
                     serves may do this */
    bool open;    /* the file is open: a sparse frame is moved away, and removed
                     once it is closed */
    const struct backing_anchor *anchor; /* in that case, or NULL */
};

/* Remove an entry of a directory.  A frame is not removed if anything else lies
   in its directory: -ENOTEMPTY. */
int backing_remove(const struct backing_dir *dir, const char *name,
                   enum entry_kind kind, const struct backing_removal *how);

/*
 * Remove the rest of an entry that was kept because it was open.
 *
 *  dir   the directory that the entry was in
 *  st    its attributes from backing_stat()
 */
void backing_finish_removal(const struct backing_dir *dir, enum entry_kind kind,
                            const struct stat *st);

/* Renaming. */

/* An entry that is to be moved, and another name for it. */
struct backing_move {
    const struct backing_entry *from;
    const struct stat *from_st;     /* from backing_stat() */
    const struct backing_entry *to; /* the entry that shows at the other place,
                                       which may be ENTRY_NONE */
    const struct stat *to_st;
    const char *target; /* the name that `from` gets, in the directory of
                           `to` */
    const char *back;   /* the name that `to` gets if the two are exchanged */
    bool replace;       /* `to` may be replaced, also one that comes to be there
                           meanwhile */
    struct store *store; /* by which `from` is being changed, and which has to
                            follow it on a server; or NULL */
};

/*
 * Move an entry.  It replaces the other one in one step if that is stored under
 * the name `target`.
 *
 *  left  receives the entry in whose place the replaced one is left, so that
 *        the caller has to remove it; or NULL
 *
 * Returns -ENOTEMPTY as backing_remove().
 */
int backing_rename(const struct backing_move *move,
                   const struct backing_entry **left);

/* Exchange two entries. */
int backing_exchange(const struct backing_move *move);

/* Another form. */

/*
 * The content of an entry is being put into another form: a frame into a plain
 * file, for example.  The new entry takes the place of the old one, in the same
 * directory and under another name.
 */
struct backing_reform {
    const struct backing_entry *old; /* of a directory that can be listed */
    const struct backing_entry *new; /* its kind and name; its `dir` is not
                                        used */

    /* For the implementation. */
    char private_name[PRIVATE_DIR_NAME_MAX];
    int private_fd;
};

/* Begin: `old` and `new` are set, and outlive the struct.  A plain file and the
   directory of a sparse frame are made.  On success the caller ends it. */
int backing_reform_begin(struct backing_reform *reform);

/* The place of the new entry until it has its name, valid until the end.  The
   store of a frame in one file is opened there with STORE_NEW. */
void backing_reform_place(const struct backing_reform *reform,
                          struct backing_place *out);

/* How the old entry gives way. */
struct backing_giving_way {
    /* Called when both entries are there, and again if the new one has gone
       after that. */
    void (*both)(void *context);

    /* Called when the old entry has no name any more: may it go?  Returns 0 or
       a negative errno. */
    int (*check)(void *context);
    void *context;

    /* The old entry is open: a sparse frame is removed once it is closed, as by
       backing_remove().  NULL: it is not. */
    const struct backing_anchor *anchor;
};

/*
 * Give the new entry its name, and remove the old one.
 *
 * The new one is durable.  Returns 0; -EEXIST if its name is taken; -ESTALE if
 * another program has replaced, renamed or removed the old one; the error of
 * `check`; or another error.  After an error the old entry is in its place, and
 * the new one has no name.  See writer/swap.h.
 */
int backing_reform_swap(const struct backing_reform *reform,
                        const struct backing_giving_way *how);

/* Remove what is left, and the new entry if it has no name. */
void backing_reform_end(struct backing_reform *reform);

/* Functions of an implementation that change the entries of its directories.
   Each function does the work of the one above that has its name. */
struct backing_change_ops {
    int (*check_name)(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, mode_t mode);
    int (*check_rename)(const struct backing_entry *entry, const char *name);
    int (*create)(const struct backing_new *what, struct backing_draft *draft);
    int (*draft_store)(const struct backing_draft *draft, unsigned flags,
                       struct store **out, struct fault *fault);
    int (*publish)(struct backing_draft *draft, struct file_context *files);
    void (*discard)(struct backing_draft *draft, bool filled);
    int (*link)(const struct backing_object *object,
                const struct backing_entry *entry);
    int (*remove)(const struct backing_dir *dir, const char *name,
                  enum entry_kind kind, const struct backing_removal *how);
    void (*finish_removal)(const struct backing_dir *dir, enum entry_kind kind,
                           const struct stat *st);
    int (*rename)(const struct backing_move *move,
                  const struct backing_entry **left);
    int (*exchange)(const struct backing_move *move);

    /* These are missing if entries get no other form. */
    int (*reform_begin)(struct backing_reform *reform);
    void (*reform_place)(const struct backing_reform *reform,
                         struct backing_place *out);
    int (*reform_swap)(const struct backing_reform *reform,
                       const struct backing_giving_way *how);
    void (*reform_end)(struct backing_reform *reform);
};

#endif
