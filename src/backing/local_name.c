/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>

#include "backing/backing_source.h"
#include "backing/backing_start.h"
#include "backing/local.h"
#include "backing/local_change.h"
#include "bundle/bundle.h"
#include "frame/frame_object.h"

int local_check_name(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, mode_t mode)
{
    bool is_plain = kind == ENTRY_PLAIN && S_ISREG(mode);
    struct backing_source *source = dir->source;
    char frame[NAME_MAX + 1];
    struct stat st;
    int r = ENTRY_NONE;

    if (names_is_private(name))
        return -EPERM;
    if (frame_object_is_index(name)) {
        if (!is_plain || !source->keep_names)
            return -EPERM;
        if (local_dir_stat(dir, &st) == 0)
            incoming_frames_add(&source->incoming, &st);
    }
    if (is_plain && names_lock_stem(name, frame))
        r = local_kind(dir, frame, DT_UNKNOWN);
    if (r < 0)
        return r;
    return r == ENTRY_FRAME ? -EPERM : 0;
}

/* Would a plain file become a frame, which shows under another name?  If its
   bytes cannot be read, its name decides, see local_kind(). */
static int check_plain(const struct backing_entry *entry, const char *name)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (entry->dir.source->keep_names || !names_has_suffix(name) ||
        names_has_suffix(entry->name))
        return 0;
    r = backing_has_header(entry->dir.fd, entry->name, &fault);
    if (backing_is_shortage(r))
        return r;
    return r > 0 || backing_is_unreadable(r) ? -EXDEV : 0;
}

int local_check_rename(const struct backing_entry *entry, const char *name)
{
    if (entry->kind == ENTRY_STORE)
        return bundle_has_suffix(entry->name) && !bundle_has_suffix(name)
                   ? -EPERM
                   : 0;
    if (entry->kind == ENTRY_PLAIN)
        return check_plain(entry, name);
    return entry->kind == ENTRY_FRAME && !names_has_suffix(name) ? -EXDEV : 0;
}
