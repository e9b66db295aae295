/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_PREFIX_PRIVATE_H
#define BACKING_PREFIX_PRIVATE_H

#include <pthread.h>

#include "backing/backing_change.h"
#include "backing/backing_ops.h"
#include "backing/prefix.h"
#include "backing/prefix_list.h"
#include "base/list.h"
#include "store/store_http.h"

enum {
    PREFIX_DIR_BUCKETS = 256,
    PREFIX_HEAD_BUCKETS = 4096,
    PREFIX_INO_BUCKETS = 1024,
};

/*
 * Locking.  `lock` is held while requests are submitted.  It guards the members
 * below it, and those of directories and heads that say so.  No thread holds it
 * during a request.
 */
struct prefix_tree {
    /* Constant while mounted. */
    struct url url;
    struct net_options options;
    struct file_context *files; /* NULL: before prefix_start() */
    uint64_t seed; /* for inode numbers, so that nobody can choose a key that
                      has the number of another one */
    time_t mounted;
    bool writable;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a list or a head came */
    struct net *net;        /* a reference; NULL: not needed yet */
    bool told;              /* of keys that do not show */

    struct list dirs[PREFIX_DIR_BUCKETS];
    struct list idle; /* directories without references, in the order in which
                         they were dropped */
    size_t nentries;  /* in the lists of idle directories, and one for each
                         directory */

    struct list inos_by_path[PREFIX_INO_BUCKETS]; /* see prefix_ino.c */
    struct list inos_by_number[PREFIX_INO_BUCKETS];
    struct list inos; /* the one that was moved first is first */
    size_t ninos;

    struct list heads[PREFIX_HEAD_BUCKETS];
    struct list used; /* all heads, the one used longest ago first */
    size_t nbytes;    /* that they take up */
    unsigned nfetching;
};

/* Get a reference to what carries the requests. */
int prefix_get_net_locked(struct prefix_tree *tree, struct net **out);

/* The time, by clock_monotonic_ns(), since which the server must have told what
   a caller may use now. */
int64_t prefix_since(const struct prefix_tree *tree);

/* A directory of the tree. */
struct prefix_dir {
    /* Constant. */
    struct prefix_tree *tree;
    char *path; /* from SOURCE; "": SOURCE itself */
    struct url url;

    /* Guarded by the lock of the tree. */
    struct list node; /* in its bucket */
    struct list idle;
    unsigned nrefs;
    bool listing;             /* a thread fetches a whole list */
    bool large;               /* a list has several pages */
    unsigned nchanges;        /* how often this process has changed it */
    struct prefix_list *list; /* the newest whole one; NULL: none */
    size_t nsingle; /* names that were asked for since it is too old */
    struct {
        size_t cursor;    /* entries before this were asked for, */
        size_t window;    /* and so many more at a time will be */
        unsigned nmissed; /* heads that were not asked for in time */
    } ahead;              /* see prefix_ahead() */
};

/* Get a reference to a directory, which may not exist.  Returns 0, -EINVAL if
   its URL is too long, or -ENOMEM. */
int prefix_dir_get(struct prefix_tree *tree, const char *path,
                   struct prefix_dir **out);

/* Take one more reference; prefix_dir_put() gives it back. */
struct prefix_dir *prefix_dir_ref(struct prefix_dir *dir);
void prefix_dir_put(struct prefix_dir *dir);

/* Free all directories of a tree that is not in use. */
void prefix_dirs_free(struct prefix_tree *tree);

/* Make the URL of an entry; the path of one below it; or its inode number. */
int prefix_dir_url(const struct prefix_dir *dir, const char *name,
                   struct url *out);
/* The same, with a reference to what carries the requests. */
int prefix_entry_url(const struct prefix_dir *dir, const char *name,
                     struct net **net, struct url *url);
char *prefix_dir_path(const struct prefix_dir *dir, const char *name);
uint64_t prefix_dir_ino(const struct prefix_dir *dir, const char *name);

/* Let an entry that was moved keep its inode number.  If there is no memory for
   that, it gets another one. */
void prefix_ino_moved(struct prefix_dir *from, const char *name,
                      struct prefix_dir *to, const char *target);

/* Free what is known of entries that were moved. */
void prefix_inos_free(struct prefix_tree *tree);

/*
 * Get the list of a directory.
 *
 *  since  see prefix_since()
 *  out    a reference
 *
 * Returns 0 or an error of prefix_list_fetch().
 */
int prefix_dir_list(struct prefix_dir *dir, int64_t since,
                    struct prefix_list **out);

/* Get a list that has all names which are `stem`, or `stem` and suffixes.  In
   an older list it finds only frames, because their heads tell whether they
   still exist.  A list that lacks an object which was seen since it was begun
   is dropped: what a program has just opened does not vanish because of it.
   Errors as prefix_dir_list(). */
int prefix_dir_find(struct prefix_dir *dir, const char *stem, int64_t since,
                    struct prefix_list **out);

/* Get a list of some entries of a directory, if it has any: one page, unless
   there is a list already, of whatever age.  It tells also whether an object
   marks the directory.  Errors as prefix_dir_list(). */
int prefix_dir_peek(struct prefix_dir *dir, struct prefix_list **out);

/* This process has changed what is in a directory, so older lists are wrong. */
void prefix_dir_changed(struct prefix_dir *dir);

/* The start of an object, as a server has sent it.  Constant. */
struct prefix_head {
    atomic_uint nshared; /* references besides the first one */
    int error;           /* -ENOENT: there is no such object; or another error
                            of struct net_request */
    int64_t asked_ns;
    struct net_reply reply;
    size_t len; /* of all bytes of a small index; else at least the header of a
                   frame, unless that is very long */
    uint8_t bytes[];
};

/* An object whose head is wanted. */
struct prefix_object {
    struct prefix_dir *dir;
    const char *name;
    bool index;       /* the index of the sparse frame of that name */
    const char *etag; /* that it has now; NULL: unknown */
};

/* The name of the index of a sparse frame. */
const char *prefix_index_name(const char *frame);

/*
 * Get the head of an object.  If many heads of a directory are wanted, those of
 * other entries are fetched, too.
 *
 *  since  see prefix_since(); does not matter if `etag` is that of the head
 *  out    a reference
 *
 * Returns 0, even if the object does not exist; or an error.
 */
int prefix_head_get(const struct prefix_object *object, int64_t since,
                    struct prefix_head **out);

/* Drop a reference.  Accepts NULL. */
void prefix_head_put(struct prefix_head *head);

/* This process has changed an object or removed it, or has found out that
   another one has done so. */
void prefix_head_forget(struct prefix_dir *dir, const char *name, bool index);

/* This process has put an object anew, so it exists. */
void prefix_head_put_anew(struct prefix_dir *dir, const char *name, bool index);

/* Was there an object, or the index of a sparse frame, of this name after some
   moment?  Heads that were dropped for want of memory do not count. */
bool prefix_head_was_seen_locked(const struct prefix_dir *dir, const char *name,
                                 int64_t since);

/* Is it the head of a frame?  Accepts NULL. */
bool prefix_head_is_frame(const struct prefix_head *head);

/* Get the newest head of an object that is known, without a request; NULL: none
   is. */
struct prefix_head *prefix_head_peek(const struct prefix_object *object);

/* Begin to fetch a head, unless a good one is there or being fetched. */
void prefix_head_begin_locked(const struct prefix_object *object,
                              int64_t since);

/* Cancel all requests, and wait for them. */
void prefix_heads_cancel(struct prefix_tree *tree);

/* Free all heads of a tree that is not in use. */
void prefix_heads_free(struct prefix_tree *tree);

/*
 * The head of an entry is wanted.  Begin to fetch those of the entries behind
 * it if they will probably be wanted next.
 *
 *  missed  it has not been asked for before
 */
void prefix_ahead_locked(struct prefix_dir *dir, const char *name,
                         int64_t since, bool missed);

/* Cut the suffixes off a name with which the entries that may show under it
   differ.  `stem` has room for NAME_MAX + 1 bytes. */
void prefix_stem(const char *name, char *stem);

/* Open an object that is passed through as it is. */
int prefix_open_object(const struct backing_place *place, int flags,
                       struct backing_anchor *out);

/* Open the store of a sparse frame that is to be changed: one with this head,
   or, if that is NULL, a new one. */
int prefix_open_to_change(struct prefix_dir *dir, const char *name,
                          const struct store_http_start *start,
                          struct store **out);

/* Make what has the tree told of the changes of a store.  `index` as in struct
   prefix_object.  Returns NULL if there is no memory. */
struct store_http_listener *prefix_listener_new(struct prefix_dir *dir,
                                                const char *name, bool index);

/* Get the directory in which a place is, without a reference of its own. */
struct prefix_dir *prefix_dir_of(const struct backing_dir *dir);

/* A directory shows as long as there is a key below it.  So that it stays when
   an entry goes, mark it before. */
int prefix_keep(struct prefix_dir *dir);

/* Is there nothing below a prefix but its marker?  Returns 0, -ENOTEMPTY or
   another error. */
int prefix_check_empty(struct prefix_dir *parent, const char *name);

/* Make, and remove, an empty directory. */
int prefix_make_directory(struct prefix_dir *dir, const char *name);
int prefix_remove_directory(struct prefix_dir *dir, const char *name);

/* Rename an entry, see backing_rename(). */
int prefix_rename(const struct backing_move *move,
                  const struct backing_entry **left);

/* Changes of the tree: prefix_change.c. */
extern const struct backing_change_ops prefix_change_ops;

/* The directories of the tree, and what is in them: prefix_entry.c. */
extern const struct backing_ops prefix_ops;

#endif
