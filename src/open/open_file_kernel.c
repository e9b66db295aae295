/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "open/kernel.h"
#include "open/open_file.h"
#include "store/store_version.h"

/* The kernel looks up a file whose open was refused, and opens it again, within
   this time. */
static const int64_t KERNEL_STALE_NS = INT64_C(10) * 1000 * 1000 * 1000;

bool open_file_is_content(const struct node *node, uint64_t content,
                          uint64_t mark)
{
    if (node->mark == 0)
        return node->content == content;
    return node->mark == mark && (mark % 2 == 1 || node->content == content);
}

bool open_file_was_kernel_stale(struct fs *fs)
{
    long long last = atomic_load(&fs->kernel_stale_at);

    return last > 0 && clock_monotonic_ns() - last <= KERNEL_STALE_NS;
}

void open_file_mark_kernel_stale(struct fs *fs, struct node *node)
{
    atomic_store(&fs->kernel_stale_at, clock_monotonic_ns());
    pthread_mutex_lock(&fs->nodes.lock);
    node->kernel_stale = true;
    pthread_mutex_unlock(&fs->nodes.lock);
}

static uint64_t content_hash(const struct stat *st)
{
    return store_version_hash(store_version_of(st), VERSION_SAME_CONTENT);
}

/*
 * Has the file been open, so that the kernel may have pages of it, and does it
 * have those of this version?
 *
 *  mark  file_mark() of the version; 0 for a file that is passed through
 */
static bool is_cached(struct fs *fs, struct open_file *open,
                      const struct open_version *version, uint64_t mark)
{
    const struct node *node = open->node;
    bool looked_up_only;
    bool cached;

    pthread_mutex_lock(&fs->nodes.lock);
    looked_up_only = open->new_size > 0 && version->file;
    cached = open_file_has_handles(open);
    if (!cached && !node->kernel_stale && !node->unread)
        cached =
            version->cached ||
            (!looked_up_only &&
             (node->content == 0 ||
              open_file_is_content(node, content_hash(&version->st), mark)));
    pthread_mutex_unlock(&fs->nodes.lock);
    return cached;
}

/*
 * Does the kernel know nothing of a file but a size that is right, or that can
 * be put right?  Other programs may have changed the file since the kernel
 * looked it up.
 */
static bool is_new_to_kernel(struct fs *fs, const struct open_file *open,
                             struct open_version *version)
{
    const struct node *node = open->node;
    uint64_t size = version->file ? 1 + file_size(version->file) : 0;
    uint64_t known;
    bool unsure;

    pthread_mutex_lock(&fs->nodes.lock);
    known = node->kernel_stale || node->unread ? 0 : open->new_size;
    unsure = open->new_size_unsure;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (known == 0 || size < known)
        return false;
    return (size == known && !unsure) ||
           kernel_tell_size(fs, node, version) == 0;
}

bool open_file_is_kernel_in_sync(struct fs *fs, struct open_file *open)
{
    struct open_version *version;
    uint64_t mark;
    bool in_sync;

    if (!fs->writeback)
        return true;
    version = open_file_version(open);
    mark = version->file ? file_mark(version->file) : 0;
    in_sync = is_cached(fs, open, version, mark) ||
              is_new_to_kernel(fs, open, version);
    /* The times will not tell this state from others for ever: the kernel, and
       programs that copy files, also set a time of modification that the file
       had before other programs changed it. */
    pthread_mutex_lock(&fs->nodes.lock);
    if (in_sync)
        open->node->mark = mark;
    pthread_mutex_unlock(&fs->nodes.lock);
    open_version_put(version);
    return in_sync;
}

bool open_file_is_only_looked_up(struct fs *fs, const struct open_file *open,
                                 const struct open_version *version)
{
    const struct node *node = open->node;
    bool only;

    pthread_mutex_lock(&fs->nodes.lock);
    only = open->new_size > 0 && version->file && !node->kernel_stale &&
           !node->unread;
    pthread_mutex_unlock(&fs->nodes.lock);
    return only;
}

bool open_file_follows_resize(struct fs *fs, struct open_file *open,
                              const struct open_version *version)
{
    uint64_t mark = version->file ? file_mark(version->file) : 0;

    return fs->writeback && (is_cached(fs, open, version, mark) ||
                             open_file_is_only_looked_up(fs, open, version));
}

void open_file_note_resize(struct fs *fs, struct open_file *open,
                           struct open_version *version, bool follows)
{
    pthread_mutex_lock(&fs->nodes.lock);
    open->new_size = 0;
    version->cached |= follows;
    pthread_mutex_unlock(&fs->nodes.lock);
}

bool open_file_cached(struct fs *fs, struct node *node,
                      struct open_version *version)
{
    uint64_t stamp = version->stamp;
    struct stat st;
    bool same;

    /* A file that is passed through changes while it is open. */
    if (!version->file)
        stamp = backing_anchor_stat(&version->anchor, &st) == 0
                    ? store_version_stamp(store_version_of(&st))
                    : 0;
    pthread_mutex_lock(&fs->nodes.lock);
    same = (stamp != 0 && node->cached == stamp) ||
           (version->cached && version->writable);
    node->cached = stamp;
    version->cached = true;
    pthread_mutex_unlock(&fs->nodes.lock);
    return same;
}

bool open_file_check_known(struct fs *fs, struct node *node,
                           const struct backing_place *place)
{
    struct stat st;
    bool known;

    if (backing_stat(place, node->id.kind, &st) < 0)
        return false;
    pthread_mutex_lock(&fs->nodes.lock);
    known = node->content == content_hash(&st);
    if (!known && node->content != 0)
        node->kernel_stale = true;
    pthread_mutex_unlock(&fs->nodes.lock);
    return known;
}

bool open_file_is_kernel_mtime(struct fs *fs, struct node *node,
                               const struct timespec *mtime)
{
    bool same;

    pthread_mutex_lock(&fs->nodes.lock);
    same = node->content != 0 && node->mtime.tv_sec == mtime->tv_sec &&
           node->mtime.tv_nsec == mtime->tv_nsec;
    pthread_mutex_unlock(&fs->nodes.lock);
    return same;
}

static int stat_node(struct fs *fs, struct node *node, struct stat *st)
{
    struct backing_place place;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return r;
    r = backing_stat(&place, node->id.kind, st);
    backing_close(&place);
    return r;
}

/* Is the newest state of a frame what was stored when the file had these
   attributes? */
static bool is_stored(struct fs *fs, struct node *node,
                      const struct open_version *version, const struct stat *st)
{
    struct stat now;

    return open_version_is_of(version, node->id.kind, st) &&
           file_is_stored(version->file) && stat_node(fs, node, &now) == 0 &&
           store_version_compare(store_version_of(st),
                                 store_version_of(&now)) >=
               VERSION_SAME_CONTENT;
}

bool open_file_note_content(struct fs *fs, struct node *node,
                            const struct open_version *version)
{
    struct stat st;
    uint64_t mark = 0;

    if (stat_node(fs, node, &st) < 0)
        return false;
    if (version && version->file && !is_stored(fs, node, version, &st))
        return false;
    if (version && version->file && node->id.kind == ENTRY_FRAME)
        backing_note_frame(&fs->source, &st);
    if (node_traits(node)->frame && node_is(&fs->nodes, node, &st)) {
        struct node_id id = node_id_of(&st, node->id.kind);

        node_set_identity(&fs->nodes, node, &id);
    }
    if (version && version->file)
        mark = file_mark(version->file);
    pthread_mutex_lock(&fs->nodes.lock);
    if (version && version->flushed != 0 &&
        version->flushed != content_hash(&st)) {
        pthread_mutex_unlock(&fs->nodes.lock);
        return false;
    }
    node->content = content_hash(&st);
    node->mtime = st.st_mtim;
    if (mark > 0) {
        node->mark = mark;
        node->times_doubtful = true;
    }
    node->cached = store_version_hash(store_version_of(&st), VERSION_SAME);
    pthread_mutex_unlock(&fs->nodes.lock);
    return true;
}
