/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_NODE_H
#define TREE_NODE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backing/names.h"
#include "base/list.h"

struct fault_log;
struct open_file;

/* Who a node is. */
struct node_id {
    uint64_t dev; /* of the file, or of a sparse frame's directory */
    uint64_t ino;
    uint64_t readers;     /* a hash of who may read it, when last looked up */
    uint64_t nlink;       /* how many names it has, when last looked up */
    enum entry_kind kind; /* a node keeps that which it was made with */
};

/*
 * A file that the kernel knows: what it calls an inode.
 *
 * A node holds no descriptor, only where it was last seen, so a tree of any
 * size can be known at a time.  Files are told apart by device, inode number
 * and kind; two names of one file are one node.  A frame that was replaced by
 * another under its name, for the same readers, stays the node that it was.
 *
 * The kernel may use a file by each name that it looked up, without another
 * lookup.  When the name where a node was last seen is removed, it is found by
 * one that it was seen under before, and then only its own file is taken for
 * it, not a successor.
 *
 * Everything but `id.kind` is guarded by the table's lock.
 */
struct node {
    struct node_id id;
    struct node *parent; /* a reference; NULL for the root */
    char *name;          /* the entry in `parent`, not the name that shows */
    struct node_name *names; /* others that it was seen under, newest first */
    uint64_t nlookup;        /* references of the kernel */
    uint64_t nrefs;          /* references of children and of open files */
    struct list all;         /* in the table's list; unused for the root */
    struct node *next_id;
    struct node *next_place;
    bool gone;            /* its name was removed, and it is found by none */
    bool unseen;          /* it was not seen at its place since another name
                             was removed */
    bool renamed;         /* its file is being given another name; see
                      node_begin_rename() */
    unsigned npath_users; /* threads that have its path locked, or that of a
                             node below it; see node_lock_path() */
    bool unlisted; /* it is not found by `id` either: the file was removed, or
                      another node took over */
    struct open_file *open; /* while it is open; see open_file.h */
    uint64_t cached;        /* stamp of the state in the kernel's cache */
    uint64_t content;       /* content stamp of the last state known to agree
                               with what the kernel holds of the file; or 0 */
    uint64_t mark;          /* frame_mark() of that, if another state may have
                               the same content stamp, being as young; or 0 */
    atomic_uint nnews;      /* what the kernel is still to be told of the file;
                               anyone may read it */
    bool mistaken;          /* what the kernel holds of the file is wrong, and
                               it can't be told */
    bool unread;            /* the size that shows is not that of the content,
                               which may not be read */
    struct fault_log *faults; /* what was reported; see report.h */
};

/*
 * All nodes: hash tables by identity and, frames only, by place, that grow and
 * shrink.
 *
 * Locking.  `lock` is a leaf: nothing that blocks is done while it is held.
 */
struct node_table {
    pthread_mutex_t lock;
    pthread_cond_t path_unlocked; /* a path is, or a rename has ended */
    unsigned nwaiting;            /* threads that wait for that */
    struct node **by_id;
    struct node **by_place;
    size_t nbuckets; /* of each; a power of two */
    struct list all; /* of all nodes but the root */
    size_t nnodes;   /* the root does not count */
    struct node root;
    atomic_uint_fast64_t nfaults; /* were found in files, see report.h; anyone
                                     may read it */
};

/* The identity of a file of a kind that was seen. */
struct node_id node_id_of(const struct stat *st, enum entry_kind kind);

/*
 * Make a table that holds just the root.
 *
 *  root_name  where the root is found, see struct backing_place
 *
 * Returns 0 or -ENOMEM.
 */
int node_table_init(struct node_table *table, enum entry_kind root_kind,
                    const char *root_name);

/* Free all nodes, whatever refers to them.  Accepts a zeroed table. */
void node_table_fini(struct node_table *table);

/*
 * Find or make the node of an entry that was just seen, and count a reference
 * of the kernel's.  Returns 0 or -ENOMEM.
 */
int node_get(struct node_table *table, struct node *parent, const char *name,
             const struct node_id *id, struct node **out);

/* Give back references of the kernel's, and free what nothing refers to. */
void node_forget(struct node_table *table, struct node *node, uint64_t n);

/* Take and drop a reference of our own. */
void node_ref(struct node_table *table, struct node *node);
void node_unref(struct node_table *table, struct node *node);

/* Where a node is. */
struct node_path {
    char dir[PATH_MAX];      /* path of the directory that it is in, or that the
                                store is in which holds it; from the root, ""
                                if that is the root's */
    char name[NAME_MAX + 1]; /* its name there, or that of the store */
    char inner[PATH_MAX];    /* its path in the store; "" if it is in none */
};

/*
 * Find out where a node is.  Returns 0; -ENAMETOOLONG; or -ESTALE if its name
 * was removed.
 */
int node_locate(struct node_table *table, const struct node *node,
                struct node_path *out);

/*
 * The directory that a node is in, with a reference; NULL if its name was
 * removed.
 *
 *  name  receives its name there; room for NAME_MAX + 1 bytes
 */
struct node *node_parent(struct node_table *table, const struct node *node,
                         char *name);

/*
 * Find the node of an entry that was just seen, if it is known, and take a
 * reference of our own.  Returns NULL if it is not.
 */
struct node *node_find(struct node_table *table, const struct node *parent,
                       const char *name, const struct node_id *id);

/*
 * A frame was written anew, and is another file.  To be told before the old one
 * goes, for its number may then be given to any file.
 */
void node_renew(struct node_table *table, struct node *node,
                const struct node_id *id);

/*
 * What has taken the place of a frame, and became the node's, is not for those who
 * have the node open: it is another file, that the next lookup finds.
 */
void node_estrange(struct node_table *table, struct node *node);

/*
 * A file was just made where there was none: a node of that identity is of one
 * that is gone, or was written anew under another number, and a node of that
 * place has lost its name to another program.  Neither is the new file's, for
 * the kernel may hold content of it.
 */
void node_made(struct node_table *table, const struct node *parent,
               const char *name, const struct node_id *id);

/*
 * A name of a node was removed.
 *
 *  last  it was the only one: the file goes when nobody holds it open
 */
void node_removed(struct node_table *table, struct node *node,
                  const struct node *parent, const char *name, bool last);

/*
 * A node is under another name now.
 *
 *  old_parent, old_name  the name that it had instead
 *
 * Returns 0 or -ENOMEM.
 */
int node_moved(struct node_table *table, struct node *node,
               const struct node *old_parent, const char *old_name,
               struct node *parent, const char *name);

/* A name of a file that has several. */
struct node_name {
    struct node_name *next;
    struct node *parent; /* a reference */
    char *name;          /* the entry in `parent` */
};

/* Make a name, and take a reference of its parent's.  Returns NULL if there is
   no memory. */
struct node_name *node_name_make_locked(struct node *parent, const char *name);
void node_name_free(struct node_name *name); /* but for the reference */

/*
 * Take a name out of those that a node has beside its place.  Returns NULL if
 * there is none such.
 *
 * node_take_spare_name_locked() takes the oldest, if there are more than the
 * file has, because other programs have removed some; or very many.
 */
struct node_name *node_take_name_locked(struct node *node,
                                        const struct node *parent,
                                        const char *name);
struct node_name *node_take_newest_name_locked(struct node *node);
struct node_name *node_take_spare_name_locked(struct node *node);

/*
 * The path of a node leads to its file, unless others rename what is under
 * SOURCE.  A thread that finds a file by its path, and uses it by its name, locks
 * the path before; a thread that renames a file waits until nobody has locked the
 * path of its node, or of one below, and keeps others from it.  The lock is per
 * node, not one for all, because both do system calls that may hang for ever,
 * on a file system that is frozen or has lost its server: only those who want
 * the same file, or one below, then wait.
 *
 * A thread may lock a path again, or another one as well, while it has locked
 * one; it must not rename meanwhile.  Those who rename wait for as long as
 * others come.
 *
 *  node      somebody else's reference keeps it
 *  from, to  nodes whose files get another name, or are replaced; or NULL
 */
void node_lock_path(struct node_table *table, struct node *node);
void node_unlock_path(struct node_table *table, struct node *node);
void node_begin_rename(struct node_table *table, struct node *from,
                       struct node *to);
void node_end_rename(struct node_table *table, struct node *from,
                     struct node *to);

/* A node is about to get another parent: those who have locked its path have
   locked that of the new one, too. */
void node_move_path_users_locked(struct node *node, struct node *to);

/* Was the only name of a node's file removed? */
bool node_is_removed(struct node_table *table, const struct node *node);
bool node_is_removed_locked(const struct node *node);

/* Let a node be found by nothing.  If its file was not removed, the next lookup
   makes a new node; nothing may be open of this one, nor can be any more. */
void node_unlist_locked(struct node_table *table, struct node *node);

/*
 * Is a file that was seen at the node's place the node?  If not, it is another
 * file, which the next lookup will find.
 *
 * A frame has one node at a time that can be opened, so that it has one writer.
 * A successor becomes the node's, unless it is open as another node; and what a
 * node was that is superseded is its own no more.
 */
bool node_is(struct node_table *table, struct node *node,
             const struct stat *st);

#endif
