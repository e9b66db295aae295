/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/reform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

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
    unformed = node->unformed && !node->open && node->nheld == 0 &&
               !node_is_removed_locked(node);
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

int reform_begin(struct fs *fs, struct node *node, struct reform *out)
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

void reform_end(struct reform *reform)
{
    close_content(reform);
    backing_dir_close(&reform->old.dir);
    node_unref(&reform->fs->nodes, reform->parent);
    free((char *)(uintptr_t)reform->array.dtype);
    free(reform->header);
}

int reform_create(const struct reform *reform,
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
        r = reform_create(reform, draft, &to.file);
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

/* Does no process wait for the old file, which it would then change? */
static int check_leased(void *context)
{
    const struct reform *reform = context;

    return reform->store || backing_anchor_is_leased(&reform->from.plain)
               ? 0
               : -EBUSY;
}

/* Put the new entry in the place of the old one if nobody uses that. */
static int take_place(struct reform *reform, const struct backing_reform *draft)
{
    struct node_table *nodes = &reform->fs->nodes;
    int r;

    node_begin_rename(nodes, reform->node, NULL);
    r = reform_is_disturbed(reform) ? -EBUSY : lock_old(reform);
    if (r == 0)
        r = reform_swap(reform, draft, check_leased);
    node_end_rename(nodes, reform->node, NULL);
    return r;
}

/* Is there room for a plain copy?  Without it, the copy would take the space
   that is left until it fails, and programs could not write meanwhile. */
static bool has_room(const struct reform *reform)
{
    int64_t size = reform_size(&reform->from);
    struct statvfs disk;

    if (reform->new.kind != ENTRY_PLAIN || size < 0 ||
        fstatvfs(reform->old.dir.fd, &disk) < 0)
        return true;
    return disk.f_bavail * (uint64_t)disk.f_frsize >= (uint64_t)size;
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
    if (!has_room(reform))
        return -ENOSPC;
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
    int r = reform_begin(fs, node, &reform);

    if (r < 0)
        return r;
    r = run(&reform);
    reform_end(&reform);
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

void reform_hold(struct fs *fs, struct node *node)
{
    /* Wait until a thread that has swapped the file is done. */
    node_lock_path(&fs->nodes, node);
    pthread_mutex_lock(&fs->nodes.lock);
    node->nheld++;
    pthread_mutex_unlock(&fs->nodes.lock);
    node_unlock_path(&fs->nodes, node);
}

void reform_release(struct fs *fs, struct node *node)
{
    pthread_mutex_lock(&fs->nodes.lock);
    node->nheld--;
    pthread_mutex_unlock(&fs->nodes.lock);
}
