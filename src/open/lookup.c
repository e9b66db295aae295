/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/lookup.h"

#include <errno.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/retry.h"
#include "frame/frame.h"
#include "open/deferred_close.h"
#include "open/open_attr.h"
#include "open/open_file.h"
#include "store/store_local.h"
#include "store/store_version.h"

/* How long a file counts as one that others replace all the time. */
static const int64_t REFUSED_NS = INT64_C(10) * 1000 * 1000 * 1000;

/* Open the stored frame whose attributes were just seen.  If the directory has
   kept another file that had this name before, opens the new one. */
static int open_stored(const struct node *node,
                       const struct backing_place *place, const struct stat *st,
                       struct store **out)
{
    struct fault fault;
    int r = backing_store(place, node->id.kind, STORE_NOATIME, out, &fault);

    if (r < 0 || backing_check_store(place, *out, st) == 0)
        return r;
    store_close(*out);
    return backing_store(place, node->id.kind, STORE_NOATIME, out, &fault);
}

/* frame_mark() of the stored frame; 0 if it cannot be read. */
static uint64_t read_mark(const struct fs *fs, const struct node *node,
                          const struct backing_place *place,
                          const struct stat *st)
{
    struct fault fault;
    struct store *store;
    struct frame *frame;
    uint64_t mark;
    int r;

    if (open_stored(node, place, st, &store) < 0)
        return 0;
    r = frame_open(store, fs->source.base, &frame, &fault);
    store_close(store);
    if (r < 0)
        return 0;
    mark = frame_mark(frame);
    frame_close(frame);
    return mark;
}

/* Is it impossible to tell from its times whether a frame is the one that the
   node knows? */
static bool needs_mark(struct fs *fs, const struct node *node, bool doubtful)
{
    bool needs = false;

    if (!node_traits(node)->frame)
        return false;
    pthread_mutex_lock(&fs->nodes.lock);
    if (!node->open && !node->kernel_stale)
        needs = node->content == 0 ? doubtful : node->times_doubtful;
    pthread_mutex_unlock(&fs->nodes.lock);
    return needs;
}

/* Is the stored file, by its times or by its mark, the state that agrees with
   the kernel's cache? */
static bool is_agreed_locked(const struct node *node, uint64_t content,
                             uint64_t mark)
{
    return node->times_doubtful ? open_file_is_content(node, content, mark)
                                : node->content == content;
}

/*
 * May the kernel go on using its cache of a file?  In a mount with the
 * writeback cache, it cannot be told a file's new size.  If it may not, the
 * node is superseded under the same lock, because no thread may open it any
 * more.
 */
static bool is_kernel_in_sync(struct fs *fs, struct node *node,
                              const struct backing_place *place,
                              const struct stat *st)
{
    struct store_version version = store_version_of(st);
    uint64_t content = store_version_hash(version, VERSION_SAME_CONTENT);
    /* Another mount that has just closed the frame may be about to restore its
       time of modification.  The kernel opens the frame next, and fails if that
       time is not the one that is seen here, unless there is a mark. */
    bool doubtful = !version.settled || open_file_was_kernel_stale(fs);
    uint64_t mark;
    bool in_sync;

    if (!fs->writeback || !S_ISREG(st->st_mode) || node == &fs->nodes.root)
        return true;
    mark = needs_mark(fs, node, doubtful) ? read_mark(fs, node, place, st) : 0;
    pthread_mutex_lock(&fs->nodes.lock);
    if (node->content == 0) {
        node->content = content;
        node->mtime = st->st_mtim;
        node->mark = mark;
        node->times_doubtful = mark > 0;
    }
    in_sync = node->open ||
              (!node->kernel_stale && is_agreed_locked(node, content, mark));
    if (!in_sync) {
        node_unhash_locked(&fs->nodes, node);
    } else if (!node->open) {
        node->content = content;
        node->times_doubtful = node->times_doubtful && doubtful;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return in_sync;
}

/* Get the node of a file.  If other programs have changed the file, this makes
   a new node, and every older one with its number or its place is
   superseded. */
static int get_node(struct fs *fs, const struct found_entry *entry,
                    const struct backing_place *place, const struct stat *st,
                    struct node **out)
{
    const struct node_id id = node_id_of(st, entry->kind);
    int r = node_get(&fs->nodes, entry->parent, entry->name, &id, out);

    while (r == 0 && !is_kernel_in_sync(fs, *out, place, st)) {
        node_forget(&fs->nodes, *out, 1);
        r = node_get(&fs->nodes, entry->parent, entry->name, &id, out);
    }
    return r;
}

/* Record the size that the kernel is about to be told, for
   open_file_is_kernel_in_sync().  The kernel takes over the size from the first
   reply alone, and replies may overtake each other.  After replies with
   different sizes, the kernel has at most the largest, and can be told a larger
   one when a program opens a frame.  Other files need a new node. */
static void note_size(struct fs *fs, struct node *node, const struct stat *st)
{
    uint64_t size = 1 + (uint64_t)st->st_size;

    pthread_mutex_lock(&fs->nodes.lock);
    if (node->nlookup == 1 && !node->open) {
        node->new_size = size;
        node->new_size_unsure = false;
    } else if (node->new_size != 0 && node->new_size != size) {
        node->new_size_unsure = true;
        node->kernel_stale |= !node_traits(node)->decoded;
        if (node->new_size < size)
            node->new_size = size;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Is the kernel's cache of a file known to be wrong? */
static bool is_kernel_stale(struct fs *fs, const struct node *node)
{
    bool kernel_stale;

    pthread_mutex_lock(&fs->nodes.lock);
    kernel_stale = node->kernel_stale;
    pthread_mutex_unlock(&fs->nodes.lock);
    return kernel_stale;
}

/* Find the node of an entry that was seen, and complete its attributes.
   Returns -ESTALE if the programs that have the node open keep it. */
static int try_seen(struct fs *fs, const struct found_entry *entry,
                    const struct backing_place *place, struct node **out,
                    struct stat *st)
{
    const unsigned nwritten = fs->nwritten;
    int r = backing_stat(place, entry->kind, st);

    if (r < 0)
        return r;
    r = get_node(fs, entry, place, st, out);
    if (r < 0)
        return r;
    r = open_attr_complete(fs, *out, place, nwritten, st);
    if (r < 0)
        node_forget(&fs->nodes, *out, 1);
    else
        note_size(fs, *out, st);
    return r;
}

/* Likewise with another node if programs keep the one that was found. */
static int lookup_seen(struct fs *fs, const struct found_entry *entry,
                       const struct backing_place *place, struct node **out,
                       struct stat *st)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    do
        r = try_seen(fs, entry, place, out, st);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

/* A file is open whose cache in the kernel is wrong.  Unless a program has it
   open, let it get a new node, after writing out what is dirty. */
static void leave_unused(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    int r = 0;

    /* A file that is just being opened has no state yet. */
    if (version && !open_file_has_handles(open))
        r = open_file_sync(fs, open);
    open_version_put(version);
    if (r == 0 || r == -ESTALE)
        open_file_outdate_unused(fs, open);
}

/* Let a file get a new node if its cache in the kernel is wrong. */
static void leave_stale(struct fs *fs, struct node *node)
{
    struct open_file *open;

    /* Only a closing thread may have it open. */
    deferred_close_now(fs, node);
    /* Other requests may need it for a moment. */
    open = open_file_find(fs, node);
    if (open)
        leave_unused(fs, open);
    open_file_put(fs, open);
}

int lookup_entry(struct fs *fs, const struct found_entry *entry,
                 struct node **out, struct stat *st)
{
    struct backing_place place;
    int r;

    backing_place_in(entry->dir, entry->name, entry->kind, &place);
    r = lookup_seen(fs, entry, &place, out, st);
    if (r < 0 || !is_kernel_stale(fs, *out))
        return r;
    leave_stale(fs, *out);
    node_forget(&fs->nodes, *out, 1);
    return lookup_seen(fs, entry, &place, out, st);
}

static int try_lookup(struct fs *fs, struct node *parent, const char *shown,
                      struct node **out, struct stat *st)
{
    struct backing_entry entry;
    int r = fs_find(fs, parent, shown, &entry);

    if (r < 0)
        return r;
    r = -ENOENT;
    if (entry.kind != ENTRY_NONE)
        r = lookup_entry(
            fs,
            &(struct found_entry){ parent, &entry.dir, entry.name, entry.kind },
            out, st);
    backing_dir_close(&entry.dir);
    return r;
}

/* An entry that was found may have given way to one of another form before it
   was looked at. */
int lookup_name(struct fs *fs, struct node *parent, const char *shown,
                struct node **out, struct stat *st)
{
    unsigned nreformed;
    int r;

    do {
        nreformed = fs->nreformed;
        r = try_lookup(fs, parent, shown, out, st);
    } while ((r == -ENOENT || r == -ESTALE) && nreformed != fs->nreformed);
    return r;
}

/* Where it is recorded that a file with the name of this node was refused. */
static atomic_llong *refused_at(struct fs *fs, const struct node *node)
{
    uint64_t hash;

    pthread_mutex_lock(&fs->nodes.lock);
    hash = hash_mix((uintptr_t)node->parent, hash_text(node->name));
    pthread_mutex_unlock(&fs->nodes.lock);
    return &fs->refused_at[hash % FS_NREFUSED];
}

void lookup_note_refused(struct fs *fs, const struct node *node)
{
    long long now = clock_monotonic_ns();

    atomic_store(&fs->kernel_stale_at, now);
    atomic_store(refused_at(fs, node), now);
}

bool lookup_was_refused(struct fs *fs, const struct node *node)
{
    long long last;

    if (!open_file_was_kernel_stale(fs))
        return false;
    last = atomic_load(refused_at(fs, node));
    return last > 0 && clock_monotonic_ns() - last <= REFUSED_NS;
}
