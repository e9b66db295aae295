/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "backing/backing_lock_file.h"
#include "backing/local.h"
#include "backing/local_change.h"
#include "backing/local_object.h"
#include "base/identity.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

/* Create anything but a frame. */
static int make_plain(const struct backing_entry *entry,
                      const struct backing_new *what)
{
    int r;

    identity_begin_create();
    if (entry->kind == ENTRY_DIRECTORY)
        r = mkdirat(entry->dir.fd, entry->name, what->mode & 07777);
    else if (S_ISLNK(what->mode))
        r = symlinkat(what->target, entry->dir.fd, entry->name);
    else
        r = mknodat(entry->dir.fd, entry->name, what->mode, what->rdev);
    r = r < 0 ? -errno : 0;
    identity_end();
    return r;
}

/* Create the directory of a sparse frame, under a private name that does not
   show. */
static int make_private(struct backing_draft *draft)
{
    draft->private_fd =
        private_dir_make(draft->entry->dir.fd, true, draft->private_name);
    return draft->private_fd < 0 ? draft->private_fd : 0;
}

/* For a frame in one file nothing is done here, because the store creates that
   file complete. */
static int create(const struct backing_new *what, struct backing_draft *draft)
{
    if (draft->entry->kind == ENTRY_FRAME)
        return 0;
    return draft->entry->kind == ENTRY_SPARSE ? make_private(draft)
                                              : make_plain(draft->entry, what);
}

/* The name that the draft has at this moment. */
static const char *name_of(const struct backing_draft *draft)
{
    return draft->private_fd < 0 ? draft->entry->name : draft->private_name;
}

static int draft_store(const struct backing_draft *draft, unsigned flags,
                       struct store **out, struct fault *fault)
{
    struct backing_place place;

    local_place(draft->entry->dir.fd, name_of(draft), &place);
    if (draft->entry->kind == ENTRY_FRAME)
        flags |= STORE_NEW;
    return backing_store(&place, draft->entry->kind,
                         flags | STORE_WRITE | STORE_MODE(draft->mode), out,
                         fault);
}

/* Give the users who may use the frame access to the files of a sparse
   frame. */
static int fit_directory(const struct backing_place *place)
{
    struct backing_object object;
    int r = local_pin(place, ENTRY_SPARSE, &object);

    if (r < 0)
        return r;
    identity_begin();
    r = local_fit_directory(&object);
    identity_end();
    backing_unpin(&object);
    return r;
}

/* Give a sparse frame its name, under which it shows. */
static int come_up(struct backing_draft *draft)
{
    const struct backing_entry *entry = draft->entry;
    int r;

    identity_begin();
    r = renameat2(entry->dir.fd, draft->private_name, entry->dir.fd,
                  entry->name, RENAME_NOREPLACE) < 0
            ? -errno
            : 0;
    identity_end();
    if (r < 0)
        return r;
    close(draft->private_fd);
    draft->private_fd = -1;
    return 0;
}

static int publish(struct backing_draft *draft, struct file_context *files)
{
    enum entry_kind kind = draft->entry->kind;
    struct backing_place place;
    int r = 0;

    local_place(draft->entry->dir.fd, name_of(draft), &place);
    if (kind == ENTRY_SPARSE)
        r = fit_directory(&place);
    if (r < 0)
        return r;
    backing_lock_file_adapt(files, &place, kind);
    return kind == ENTRY_SPARSE ? come_up(draft) : 0;
}

static void discard(struct backing_draft *draft, bool filled)
{
    const struct backing_entry *entry = draft->entry;

    if (entry->kind == ENTRY_FRAME && !filled)
        return; /* the store has created no file */
    if (entry->kind == ENTRY_SPARSE)
        frame_dir_remove(entry->dir.fd, name_of(draft));
    else
        unlinkat(entry->dir.fd, entry->name,
                 entry->kind == ENTRY_DIRECTORY ? AT_REMOVEDIR : 0);
    if (entry->kind == ENTRY_FRAME)
        backing_lock_file_remove(entry->dir.fd, entry->name);
    if (draft->private_fd >= 0)
        close(draft->private_fd);
}

static int link_object(const struct backing_object *object,
                       const struct backing_entry *entry)
{
    int r;

    if (object->ops != &local_object_ops)
        return -EXDEV;
    identity_begin();
    r = linkat(AT_FDCWD, fd_path(object->fd).text, entry->dir.fd, entry->name,
               AT_SYMLINK_FOLLOW) < 0
            ? -errno
            : 0;
    identity_end();
    return r;
}

const struct backing_change_ops local_change_ops = {
    .check_name = local_check_name,
    .check_rename = local_check_rename,
    .create = create,
    .draft_store = draft_store,
    .publish = publish,
    .discard = discard,
    .link = link_object,
    .remove = local_remove,
    .finish_removal = local_finish_removal,
    .rename = local_rename,
    .exchange = local_exchange,
    .reform_begin = local_reform_begin,
    .reform_place = local_reform_place,
    .reform_swap = local_reform_swap,
    .reform_end = local_reform_end,
};
