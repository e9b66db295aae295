/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/reform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "backing/backing_dress.h"
#include "base/identity.h"
#include "frame/frame_object.h"
#include "open/deferred_close.h"
#include "open/open_file.h"
#include "open/reform_private.h"
#include "store/store_local.h"
#include "store/store_version.h"

enum {
    TRIES = 3 /* if the file is renamed meanwhile */
};

/* Has a program changed a file that is passed through since it was opened? */
static bool is_plain_changed(const struct open_version *version)
{
    struct stat st;

    return backing_anchor_stat(&version->anchor, &st) == 0 &&
           store_version_compare(store_version_of(&version->st),
                                 store_version_of(&st)) < VERSION_SAME_CONTENT;
}

static bool is_changed(const struct open_version *version)
{
    if (!version || !version->writable)
        return false;
    return version->file ? file_has_changes(version->file)
                         : is_plain_changed(version);
}

static void set_unformed(struct fs *fs, struct node *node)
{
    pthread_mutex_lock(&fs->nodes.lock);
    node->unformed = true;
    pthread_mutex_unlock(&fs->nodes.lock);
}

void reform_note(struct fs *fs, const struct open_file *open)
{
    if (fs_reforms(fs) && is_changed(open->current))
        set_unformed(fs, open->node);
}

/* Was a file changed that no program has open now?  Then this notes that its
   form is being looked after. */
static bool take_unformed(struct fs *fs, struct node *node)
{
    bool unformed;

    pthread_mutex_lock(&fs->nodes.lock);
    unformed = node->unformed && !node->open && !node_is_removed_locked(node);
    if (unformed)
        node->unformed = false;
    pthread_mutex_unlock(&fs->nodes.lock);
    return unformed;
}

/* Is the entry at the place of the node its file, with one name? */
static int look_at_old(struct reform *reform)
{
    struct backing_entry *old = &reform->old;
    struct names_dir names = backing_names(&old->dir);
    int r = backing_kind(&old->dir, old->name, DT_UNKNOWN);

    if (r < 0)
        return r;
    if ((enum entry_kind)r != old->kind)
        return -ESTALE;
    backing_place_in(&old->dir, old->name, old->kind, &reform->place);
    r = backing_stat(&reform->place, old->kind, &reform->st);
    if (r < 0)
        return r;
    if (!S_ISREG(reform->st.st_mode) ||
        !node_is(&reform->fs->nodes, reform->node, &reform->st))
        return -ESTALE;
    if (!entry_traits[old->kind].one_name && reform->st.st_nlink > 1)
        return -EMLINK;
    return names_shown(&names, old->name, old->kind, reform->shown);
}

/* Open the content of the old entry, for changes because that takes locks. */
static int open_content(struct reform *reform)
{
    struct file_context *files = reform->fs->files;
    struct fault fault = FAULT_NONE;
    int r;

    if (entry_traits[reform->old.kind].plain)
        return backing_open(&reform->place, O_RDWR | O_NONBLOCK | O_NOCTTY,
                            &reform->from.plain);
    r = backing_store(&reform->place, reform->old.kind,
                      file_store_flags(files) | STORE_WRITE, &reform->store,
                      &fault);
    return r < 0
               ? r
               : file_open(files, reform->store, 0, &reform->from.file, &fault);
}

static void close_content(struct reform *reform)
{
    file_close(reform->from.file);
    backing_anchor_close(&reform->from.plain);
    if (reform->store)
        store_close(reform->store);
}

static int begin(struct fs *fs, struct node *node, struct reform *out)
{
    int r;

    *out = (struct reform){
        .fs = fs,
        .node = node,
        .old.kind = node->id.kind,
        .from.plain = BACKING_ANCHOR_NONE,
    };
    if (node == &fs->nodes.root)
        return -EPERM;
    out->parent = node_parent(&fs->nodes, node, out->old.name);
    if (!out->parent)
        return -ESTALE;
    r = fs_check_entries(out->parent);
    if (r == 0)
        r = fs_dir(fs, out->parent, true, &out->old.dir);
    if (r < 0) {
        node_unref(&fs->nodes, out->parent);
        return r;
    }
    r = look_at_old(out);
    if (r < 0) {
        backing_dir_close(&out->old.dir);
        node_unref(&fs->nodes, out->parent);
    }
    return r;
}

static void end(struct reform *reform)
{
    close_content(reform);
    backing_dir_close(&reform->old.dir);
    node_unref(&reform->fs->nodes, reform->parent);
    free((char *)(uintptr_t)reform->array.dtype);
    free(reform->header);
}

/* Make the new frame. */
static int create_frame(const struct reform *reform,
                        const struct backing_reform *draft, struct file **out)
{
    unsigned flags =
        file_store_flags(reform->fs->files) | STORE_WRITE | STORE_MODE(0600);
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    struct store *store;
    int r;

    if (reform->new.kind == ENTRY_FRAME)
        flags |= STORE_NEW;
    backing_reform_place(draft, &place);
    r = backing_store(&place, reform->new.kind, flags, &store, &fault);
    if (r < 0)
        return r;
    r = file_create(reform->fs->files, store, &reform->params, out, &fault);
    store_close(store);
    return r;
}

/* Write the new entry. */
static int fill(struct reform *reform, const struct backing_reform *draft)
{
    struct reform_content to = { .plain = BACKING_ANCHOR_NONE };
    struct backing_place place;
    int r;

    backing_reform_place(draft, &place);
    if (reform->new.kind == ENTRY_PLAIN)
        r = backing_open(&place, O_RDWR, &to.plain);
    else
        r = create_frame(reform, draft, &to.file);
    if (r == 0)
        r = reform_copy(reform, &to);
    backing_anchor_close(&to.plain);
    if (file_close(to.file) < 0 && r == 0)
        r = -EIO;
    return r;
}

/* Keep other processes from changing the old entry.  Returns 0; -EBUSY if one
   has it open for that; or -ESTALE if one has changed it. */
static int lock_old(struct reform *reform)
{
    struct stat st;
    int r;

    if (reform->store) {
        r = store_lease(reform->store, frame_object_name(reform->store));
        if (r == 0)
            r = store_lock_in_use_alone(reform->store);
        if (r == 0 && !file_is_stored(reform->from.file))
            r = -ESTALE;
    } else {
        r = backing_anchor_lease(&reform->from.plain);
        if (r == 0)
            r = backing_anchor_stat(&reform->from.plain, &st);
        if (r == 0 &&
            store_version_compare(store_version_of(&reform->st),
                                  store_version_of(&st)) < VERSION_SAME_CONTENT)
            r = -ESTALE;
    }
    return r == -EAGAIN ? -EBUSY : r;
}

/* Mark a plain file that takes the place of a frame, or remove the mark from
   what takes the place of such a file. */
static void mark(const struct reform *reform,
                 const struct backing_object *object)
{
    if (reform->new.kind == ENTRY_PLAIN)
        backing_setxattr(object, REFORM_MARK, "1", 1, 0);
    else
        backing_removexattr(object, REFORM_MARK);
}

/* Give the new entry the attributes of the old one, and get its identity. */
static int dress(const struct reform *reform,
                 const struct backing_reform *draft, struct node_id *out)
{
    struct backing_object like;
    struct backing_object object;
    struct backing_place place;
    struct stat st;
    int r = fs_pin(reform->fs, reform->node, &reform->place, &like);

    if (r < 0)
        return r;
    backing_reform_place(draft, &place);
    r = entry_traits[reform->old.kind].one_name || like.st.st_nlink == 1
            ? backing_pin(&place, reform->new.kind, &object)
            : -EMLINK;
    if (r == 0) {
        r = backing_dress(&object, &like);
        mark(reform, &object);
        backing_unpin(&object);
    }
    backing_unpin(&like);
    if (r == 0)
        r = backing_stat(&place, reform->new.kind, &st);
    if (r == 0)
        *out = node_id_of(&st, reform->new.kind);
    return r;
}

/* Threads that have found the old entry look the name up again. */
static void both_are_there(void *context)
{
    const struct reform *reform = context;

    atomic_fetch_add(&reform->fs->nreformed, 1);
}

/* Does no process wait for the old file, which it would then change? */
static int check_leased(void *context)
{
    const struct reform *reform = context;

    return reform->store || backing_anchor_is_leased(&reform->from.plain)
               ? 0
               : -EBUSY;
}

static int check_nothing(void *context __attribute__((unused)))
{
    return 0;
}

/* Make an anchor of the old file if it is open. */
static void anchor_old(const struct reform *reform, struct backing_anchor *out)
{
    struct node_table *nodes = &reform->fs->nodes;

    *out = BACKING_ANCHOR_NONE;
    pthread_mutex_lock(&nodes->lock);
    if (reform->node->open)
        open_file_anchor(reform->node->open, out);
    pthread_mutex_unlock(&nodes->lock);
}

/*
 * Swap the entries of a node that stays the same: the kernel goes on with it.
 * The node changes before the files do, so that a thread that looks the new
 * file up finds it.
 */
static int swap_kept(struct reform *reform, const struct backing_reform *draft,
                     const struct backing_giving_way *how,
                     const struct node_id *id)
{
    const struct node_entry from = { reform->parent, reform->old.name };
    const struct node_entry to = { reform->parent, reform->new.name };
    const struct node_id old = node_id_of(&reform->st, reform->old.kind);
    struct node_table *nodes = &reform->fs->nodes;
    int r = node_recast(nodes, reform->node, &from, &to, id);

    if (r == 0)
        r = backing_reform_swap(draft, how);
    if (r < 0)
        node_recast(nodes, reform->node, &to, &from, &old);
    return r;
}

/* Swap the entries, and let the node of the old one count as removed. */
static int swap_removed(struct reform *reform,
                        const struct backing_reform *draft,
                        const struct backing_giving_way *how)
{
    struct fs *fs = reform->fs;
    int r;

    open_file_set_unlinked(fs, reform->node, true);
    r = backing_reform_swap(draft, how);
    if (r < 0)
        open_file_set_unlinked(fs, reform->node, false);
    else
        node_removed(&fs->nodes, reform->node, reform->parent, reform->old.name,
                     true);
    return r;
}

/* Swap the entries.  Returns 1 if the node stays the same, 0, or an error. */
static int swap(struct reform *reform, const struct backing_reform *draft,
                int (*check)(void *context))
{
    struct backing_anchor anchor;
    struct backing_giving_way how = { both_are_there, check, reform, NULL };
    struct node_id id;
    bool kept;
    int r = dress(reform, draft, &id);

    if (r < 0)
        return r;
    node_made(&reform->fs->nodes, reform->parent, reform->new.name, &id);
    anchor_old(reform, &anchor);
    kept = !anchor.ops && reform->new.kind == reform->old.kind;
    if (anchor.ops)
        how.anchor = &anchor;
    r = kept ? swap_kept(reform, draft, &how, &id)
             : swap_removed(reform, draft, &how);
    backing_anchor_close(&anchor);
    return r < 0 ? r : kept;
}

/* Put the new entry in the place of the old one if nobody uses that. */
static int take_place(struct reform *reform, const struct backing_reform *draft)
{
    struct node_table *nodes = &reform->fs->nodes;
    int r;

    node_begin_rename(nodes, reform->node, NULL);
    r = reform_is_disturbed(reform) ? -EBUSY : lock_old(reform);
    if (r == 0)
        r = swap(reform, draft, check_leased);
    node_end_rename(nodes, reform->node, NULL);
    return r;
}

/* Try once.  Returns -EBUSY if it may succeed the next time. */
static int run(struct reform *reform)
{
    struct backing_reform draft = { .old = &reform->old, .new = &reform->new };
    int r = open_content(reform);

    if (r == 0)
        r = reform_choose(reform);
    if (r <= 0)
        return r;
    r = backing_reform_begin(&draft);
    if (r < 0)
        return r;
    r = fill(reform, &draft);
    if (r == 0)
        r = take_place(reform, &draft);
    backing_reform_end(&draft);
    return r;
}

static int run_once(struct fs *fs, struct node *node)
{
    struct reform reform;
    int r = begin(fs, node, &reform);

    if (r < 0)
        return r;
    r = run(&reform);
    end(&reform);
    return r;
}

/* May a file get another form the next time, or is this one for good? */
static bool is_passing(int error)
{
    return error < 0 && error != -ECANCELED && error != -EMLINK &&
           error != -EEXIST && error != -EPERM;
}

void reform_run(struct fs *fs, struct node *node)
{
    bool served;
    int r = -EBUSY;

    if (!fs_reforms(fs))
        return;
    served = identity_serve_nobody();
    for (int i = 0; is_passing(r) && i < TRIES && take_unformed(fs, node);
         i++) {
        r = run_once(fs, node);
        if (is_passing(r))
            set_unformed(fs, node);
    }
    identity_serve_again(served);
}

static int make_empty(const struct reform *reform,
                      const struct backing_reform *draft)
{
    struct fault fault = FAULT_NONE;
    struct file *file;
    int r = create_frame(reform, draft, &file);

    if (r < 0)
        return r;
    r = file_sync(file, &fault);
    file_close(file);
    return r;
}

/* Put an empty frame in the place of an array.  Returns as swap(). */
static int empty(struct reform *reform)
{
    struct node_table *nodes = &reform->fs->nodes;
    struct backing_reform draft = { .old = &reform->old, .new = &reform->new };
    int r = backing_reform_begin(&draft);

    if (r < 0)
        return r;
    r = make_empty(reform, &draft);
    if (r == 0) {
        node_begin_rename(nodes, reform->node, NULL);
        r = reform_is_moved(reform) ? -ESTALE
                                    : swap(reform, &draft, check_nothing);
        node_end_rename(nodes, reform->node, NULL);
    }
    backing_reform_end(&draft);
    return r;
}

static int empty_array(struct reform *reform)
{
    int r = reform_choose_frame(reform);

    /* The node can stay if the layout does. */
    reform->new.kind = reform->old.kind;
    if (r > 0)
        r = empty(reform);
    if (r < 0)
        return r;
    return r > 0 ? 0 : -ESTALE;
}

int reform_empty(struct fs *fs, struct node *node)
{
    struct reform reform;
    bool served;
    int r;

    if (!fs->source.npy || !fs_reforms(fs) || !node_traits(node)->frame ||
        node_traits(node)->virtual)
        return 0;
    r = begin(fs, node, &reform);
    if (r < 0)
        return r == -EMLINK || r == -EPERM ? 0 : r;
    served = identity_serve_nobody();
    if (reform_is_array(&reform))
        r = empty_array(&reform);
    identity_serve_again(served);
    end(&reform);
    if (r == -ESTALE)
        deferred_close_now(fs, node);
    return r;
}
