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
#include <time.h>

#include "backing/entry_kind.h"
#include "base/list.h"

struct fault_log;
struct open_file;

/* The identity of a node. */
struct node_id {
    uint64_t dev; /* device of the file, or of a sparse frame's directory */
    uint64_t ino;
    uint64_t readers;     /* hash of owner, group and read permissions, as of
                             the last lookup */
    uint64_t nlink;       /* number of names, as of the last lookup */
    enum entry_kind kind; /* constant for a node */
};

/* What the header of a frame says of the file that shows it.  A lookup that
   finds the same version again does not read the header. */
struct node_header {
    uint64_t stamp;  /* store_version_stamp() of the file from before it was
                        read; 0: nothing is known */
    int64_t read_at; /* clock_monotonic_ns() when it was read */
    uint64_t size;   /* bytes of the file that shows the frame */
    uint64_t nbytes; /* these are those of struct frame_info */
    uint64_t cbytes;
    uint64_t frame_len;
    uint32_t chunksize;
    bool sparse;
};

/*
 * A file that the kernel knows; the kernel calls it an inode.
 *
 * A node has no descriptor, only the place where it was last seen, so any
 * number of files can be known at a time.  Files are told apart by device,
 * inode number and kind; two names of one file are one node.  If a frame, a
 * chunk or a directory of a store is replaced by another one of the same kind,
 * under the same name and for the same readers, the node stays the same.
 *
 * The kernel may use a file by any name that it has looked up, without another
 * lookup.  If the name where a node was last seen is removed, the node moves to
 * a name under which it was seen before.  There only the node's own file is
 * taken for it, not a successor.
 *
 * The table's lock guards everything except `id.kind`.
 */
struct node {
    struct node_id id;
    struct node *parent; /* a reference; NULL for the root */
    char *name;          /* the entry in `parent`, not the name that shows */
    struct node_name *names; /* other names that it was seen under, newest
                                first */
    uint64_t nlookup;        /* references of the kernel */
    uint64_t nrefs;          /* references of children and of open files */
    struct list all;         /* in the table's list; unused for the root */
    struct node *next_id;
    struct node *next_place;
    bool unlinked;        /* its name was removed, and no other is known */
    bool unseen;          /* it has not been seen at its place since it lost its
                             last one, or since another file took its place */
    bool renamed;         /* its file is being renamed; see
                             node_begin_rename() */
    unsigned npath_users; /* number of threads that have locked its path, or
                             that of a node below it; see node_lock_path() */
    bool unhashed;        /* `id` does not find it either, because the file was
                             removed, or because another node superseded it */
    struct open_file *open; /* while it is open; see open_file.h */
    uint64_t cached;        /* hash of the version, with VERSION_SAME, of the
                               state in the kernel's cache; or 0 */
    uint64_t content;       /* hash of the version, with VERSION_SAME_CONTENT,
                               of the last state that is known to agree with
                               the kernel's cache; or 0 */
    struct timespec mtime;  /* the time of modification that the kernel keeps
                               since it learned of such a state; set if
                               `content` is */
    uint64_t mark;          /* frame_mark() of that state; 0: unknown */
    bool times_doubtful;    /* another state may have the same version, or that
                               state another one before long, so a lookup
                               compares the mark, too */
    atomic_uint
        nnotifications;  /* notifications to the kernel about the file that are
                           not yet sent; read without the lock */
    atomic_int tendency; /* of its readers, see file_reader_tendency(); read and
                            written without the lock */
    uint64_t new_size; /* while the kernel knows the file by lookups alone, and
                           it has not been open: 1 + the size in bytes that the
                           kernel was told; else 0 */
    bool new_size_unsure; /* the kernel was told several sizes, of which
                             `new_size` is the largest */
    bool kernel_stale; /* the kernel's data or size of the file is stale, and a
                           notification cannot mend that */
    unsigned nheld; /* threads that keep the file from getting another form, see
                       reform.h */
    bool unformed;  /* a program has changed the file, and its form has not been
                      looked after since, see reform.h */
    bool unread;    /* the frame may not be read, so the size that shows is
                           not that of its content */
    struct node_header header; /* of a frame, as a lookup read it last */
    struct fault_log *faults;  /* faults that were reported; see report.h */
};

/*
 * All nodes, in hash tables that grow and shrink: one by identity, and one by
 * place for the kinds of files that may have a successor.
 *
 * Locking.  `lock` is a leaf: a thread that holds it does nothing that blocks.
 */
struct node_table {
    pthread_mutex_t lock;
    pthread_cond_t path_unlocked; /* signalled when a path is unlocked or a
                                     rename ends */
    unsigned nwaiting;            /* number of threads that wait for that */
    struct node **by_id;
    struct node **by_place;
    size_t nbuckets; /* in each table; a power of two */
    struct list all; /* all nodes except the root */
    size_t nnodes;   /* does not count the root */
    struct node root;
    atomic_uint_fast64_t nfaults; /* number of faults found in files, see
                                     report.h; read without the lock */
};

/* The properties of a node's kind. */
static inline const struct entry_traits *node_traits(const struct node *node)
{
    return &entry_traits[node->id.kind];
}

/* Make the identity of a file from its attributes and kind. */
struct node_id node_id_of(const struct stat *st, enum entry_kind kind);

/*
 * Set up a zeroed table that has only the root.
 *
 *  root_name  where the root is found, see struct backing_place
 *
 * Returns 0 or -ENOMEM.
 */
int node_table_init(struct node_table *table, enum entry_kind root_kind,
                    const char *root_name);

/* Free all nodes, even if there are references to them.  Accepts a zeroed
   table. */
void node_table_fini(struct node_table *table);

/*
 * Find or make the node of an entry that was just seen, and add a reference of
 * the kernel.  Returns 0 or -ENOMEM.
 */
int node_get(struct node_table *table, struct node *parent, const char *name,
             const struct node_id *id, struct node **out);

/* Drop `n` references of the kernel, and free the nodes that have no references
   left. */
void node_forget(struct node_table *table, struct node *node, uint64_t n);

/* Take and drop a reference of the daemon. */
void node_ref(struct node_table *table, struct node *node);
void node_unref(struct node_table *table, struct node *node);

/* The path of a node. */
struct node_path {
    char name[NAME_MAX + 1];    /* name of the node in the directory that it is
                                   in; or, for a node in a store, of the store
                                   in the directory that this is in */
    char dir[PATH_MAX];         /* path from the root to that directory; "" if
                                   it is the root */
    char bundle_path[PATH_MAX]; /* path of the node in the store; "" if it is in
                                   none */
};

/*
 * Find the path of a node.  Returns 0; -ENAMETOOLONG; or -ESTALE if its name
 * was removed.
 */
int node_locate(struct node_table *table, const struct node *node,
                struct node_path *out);

/*
 * Get the directory that a node is in, with a reference.  Returns NULL if the
 * node's name was removed.
 *
 *  name  receives its name there; room for NAME_MAX + 1 bytes
 */
struct node *node_parent(struct node_table *table, const struct node *node,
                         char *name);

/*
 * Find the node of an entry that was just seen, and take a reference of the
 * daemon.  Returns NULL if the node is not known.
 */
struct node *node_find(struct node_table *table, const struct node *parent,
                       const char *name, const struct node_id *id);

/*
 * Give a node the identity of the new file that a commit has written for its
 * frame.  The caller does so before the old file goes, because any file may get
 * the old inode number then.
 */
void node_set_identity(struct node_table *table, struct node *node,
                       const struct node_id *id);

/*
 * Separate a node from a file that took the place of its frame, and that the
 * programs which have the node open must not get.  The next lookup makes
 * another node for that file.
 */
void node_detach(struct node_table *table, struct node *node);

/*
 * Note that a file was just created where there was none.  A node with that
 * identity belongs to a file that was removed, or that a commit has replaced
 * under another inode number.  A node at that place has lost its name to
 * another program.  Neither may stand for the new file, because the kernel may
 * have cached content of it.
 */
void node_made(struct node_table *table, const struct node *parent,
               const char *name, const struct node_id *id);

/*
 * Note that a name of a node was removed.
 *
 *  last  it was the only one: the file goes when no program has it open
 */
void node_removed(struct node_table *table, struct node *node,
                  const struct node *parent, const char *name, bool last);

/* An entry of a directory, as a node is moved from one to another. */
struct node_entry {
    struct node *parent;
    const char *name;
};

/* Note that a node has moved to another name.  Returns 0 or -ENOMEM. */
int node_moved(struct node_table *table, struct node *node,
               const struct node_entry *from, const struct node_entry *to);

/*
 * Give a node another place, and the identity of the file there, which is of
 * the same kind.  If another node has that identity, it loses it, unless it is
 * open: then this node is superseded.  What is known of the kernel's cache of
 * the file is forgotten.  Returns 0 or -ENOMEM.
 */
int node_recast(struct node_table *table, struct node *node,
                const struct node_entry *from, const struct node_entry *to,
                const struct node_id *id);

/* A name of a file that has several. */
struct node_name {
    struct node_name *next;
    struct node *parent; /* a reference */
    char *name;          /* the entry in `parent` */
};

/* Make a name, and take a reference to its parent.  Returns NULL if memory is
   short. */
struct node_name *node_name_make_locked(struct node *parent, const char *name);
void node_name_free(struct node_name *name); /* keeps the reference to the
                                                parent */

/*
 * Remove a name from the list of names that a node has besides its place.  The
 * caller then owns it.  Returns NULL if the list has no such name.
 *
 * node_take_spare_name_locked() removes the oldest name if there are more names
 * than the file has, because other programs have removed some, or if there are
 * very many.
 */
struct node_name *node_take_name_locked(struct node *node,
                                        const struct node *parent,
                                        const char *name);
struct node_name *node_take_newest_name_locked(struct node *node);
struct node_name *node_take_spare_name_locked(struct node *node);

/*
 * Locks on the paths of nodes.
 *
 * The path of a node leads to its file, unless another thread renames files
 * under SOURCE.  A thread locks the path before it finds a file by its path and
 * uses it by its name.  A thread that renames a file waits until no other
 * thread has locked the path of its node, or of a node below it, and then keeps
 * other threads from locking it.  Each node has a lock of its own, because both
 * sorts of threads make system calls that may hang forever, on a file system
 * that is frozen or has lost its server.  Then only threads that want the same
 * file, or one below it, have to wait.
 *
 * A thread that has locked a path may lock it again, or lock another one, but
 * must not rename meanwhile.  A thread that renames may wait without limit
 * while other threads keep locking the path.
 *
 *  node      kept by a reference of another owner
 *  from, to  nodes whose files are renamed or replaced; or NULL
 */
void node_lock_path(struct node_table *table, struct node *node);
void node_unlock_path(struct node_table *table, struct node *node);
void node_begin_rename(struct node_table *table, struct node *from,
                       struct node *to);
void node_end_rename(struct node_table *table, struct node *from,
                     struct node *to);

/* If a file in a directory is being renamed, wait until that is over.  The
   thread renames nothing itself, and has locked no path. */
void node_await_rename_in(struct node_table *table, const struct node *dir);

/* Move the path locks of a node that is about to get another parent: a thread
   that has locked its path has locked the paths of the new parents, too. */
void node_move_path_users_locked(struct node *node, struct node *to);

/* Has another node the file of this one, or will the next lookup make one? */
bool node_is_superseded(struct node_table *table, const struct node *node);

/* Was the only name of a node's file removed? */
bool node_is_removed(struct node_table *table, const struct node *node);
bool node_is_removed_locked(const struct node *node);

/*
 * Remove a node from the tables.  If its file was not removed, the next lookup
 * makes a new node, and the caller ensures that the file is not opened again as
 * this node.  Programs that have it open as this node only read it from then
 * on.
 */
void node_unhash_locked(struct node_table *table, struct node *node);

/*
 * Does a file that was seen at the place of a node belong to that node?  If
 * not, it is another file, which the next lookup will find.
 *
 * A frame has one node at a time that can be opened, because it must have one
 * writer.  If the file is a successor of the node's file, the node takes it
 * over, unless it is open as another node.  A node that was superseded accepts
 * no file any more, except its own if that is open or was removed.
 */
bool node_is(struct node_table *table, struct node *node,
             const struct stat *st);

#endif
