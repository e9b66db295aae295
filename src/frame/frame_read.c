/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>

#include "frame/frame_private.h"

int frame_fault(const struct frame *frame, int error, uint64_t off,
                const char *what, struct fault *fault)
{
    fault_set(fault, error, off, what);
    frame_fault_name(frame, fault);
    return error;
}

void frame_fault_name(const struct frame *frame, struct fault *fault)
{
    snprintf(fault->object, sizeof(fault->object), "%s", frame->object_name);
}

/* If this process changes the frame, its writer owns the watch. */
static struct watch *frame_watch(const struct frame *frame)
{
    const struct generation *generation = frame->generation;

    return generation ? generation->watch : frame->watch;
}

/* Is the newest state that this process knows the stored one? */
static int check_stored(const struct frame *frame)
{
    struct watch *watch = frame_watch(frame);

    return watch ? watch_check(watch) : 0;
}

int frame_check_kept(const struct frame *frame, int r, struct fault *fault)
{
    const struct generation *generation = frame->generation;
    int stored;

    if (generation && generation_is_overwritten(generation))
        return frame_fault(frame, -ESTALE, frame->base + frame->info.header_len,
                           "the frame was emptied meanwhile", fault);
    /* While this process changes the frame, a commit finds out whether others
       have changed it, too; until then all that was read stays true. */
    if (r == 0 && generation && store_names_once(frame->store))
        return 0;
    if (r == -EBADMSG)
        store_object_doubt(frame->object);
    stored = check_stored(frame);
    if (stored == -ESTALE)
        return frame_fault(frame, -ESTALE, frame->base,
                           "another program has changed the frame", fault);
    return r < 0 ? r : stored;
}

int frame_check_read(const struct frame *frame, struct fault *fault)
{
    return frame_check_kept(frame, 0, fault);
}

int frame_verify(const struct frame *frame, struct fault *fault)
{
    int r = watch_verify(frame_watch(frame));

    if (r == 0)
        return 0;
    return frame_fault(
        frame, r, frame->base,
        r == -ESTALE ? "another program has changed the frame" : NULL, fault);
}

uint64_t frame_mark(const struct frame *frame)
{
    struct watch *watch = frame_watch(frame);
    uint64_t mark = watch ? watch_mark(watch) : 0;

    return mark > 0 ? mark : 2;
}

bool frame_is_stored(const struct frame *frame)
{
    struct store_stat stat;

    return check_stored(frame) == 0 &&
           (frame->info.sparse ||
            (store_object_stat(frame->object, &stat) == 0 && !stat.removed));
}

int frame_read_ranges(const struct frame *frame,
                      const struct store_range *ranges, size_t nranges,
                      struct fault *fault)
{
    int r = store_object_read(frame->object, ranges, nranges);
    int kept = frame_check_kept(frame, 0, fault);

    if (kept < 0)
        return kept;
    if (r == -ENODATA)
        return frame_fault(frame, -EBADMSG, ranges[nranges - 1].off,
                           "file has become shorter than the frame", fault);
    if (r < 0)
        return frame_fault(frame, r, ranges[0].off, NULL, fault);
    return 0;
}

int frame_read_at(const struct frame *frame, uint64_t off, void *buf,
                  size_t len, struct fault *fault)
{
    const struct store_range range = { .off = off, .len = len, .buf = buf };

    return frame_read_ranges(frame, &range, 1, fault);
}

uint64_t frame_chunks_end(const struct frame *frame)
{
    return frame->base + frame->info.header_len + frame->info.cbytes;
}

/* Format: sparse-frame.md, 2. */
uint64_t frame_index_off(const struct frame_info *info)
{
    return info->header_len + (info->sparse ? 0 : info->cbytes);
}
