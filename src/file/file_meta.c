/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file.h"
#include "file/view.h"
#include "writeback/writeback.h"

/* A metalayer to set, or to remove if `bytes` is NULL. */
struct meta_edit {
    struct writeback_edit edit;
    enum metalayer_kind kind;
    const char *name;
    const void *bytes;
    size_t len;
};

static int set_meta(struct frame_writer *writer,
                    const struct writeback_edit *edit, struct fault *fault)
{
    const struct meta_edit *meta = (const struct meta_edit *)(const void *)edit;
    int r;

    if (!meta->bytes)
        r = frame_writer_remove_vlmetalayer(writer, meta->name);
    else if (meta->kind == METALAYER_VL)
        r = frame_writer_set_vlmetalayer(writer, meta->name, meta->bytes,
                                         meta->len);
    else
        r = frame_writer_set_metalayer(writer, meta->name, meta->bytes,
                                       meta->len);
    if (r == -ENODATA)
        r = -ENOENT;
    else if (r == -E2BIG)
        r = -ENOSPC;
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Check that a fixed metalayer exists, and that it does not hold the shape of
   the array that the file shows. */
static int check_fixed(struct file *file, const char *name, struct fault *fault)
{
    struct metalayer_list list;
    struct frame *frame;
    int r;

    if (file->constant.view->array && array_is_layer(name))
        return fault_set(fault, -EPERM, 0, NULL);
    frame = file_frame_get(file);
    r = metalayer_list_read(frame, &list, fault);
    if (r == 0) {
        if (!metalayer_find(&list, METALAYER_FIXED, name))
            r = fault_set(fault, -ENOENT, 0, NULL);
        metalayer_list_free(&list);
    }
    file_frame_put(file, frame);
    return r;
}

int file_meta_set(struct file *file, const struct file_meta *meta,
                  struct fault *fault)
{
    const struct meta_edit edit = { .edit.run = set_meta,
                                    .edit.undo = frame_writer_undo_metalayer,
                                    .kind = meta->kind,
                                    .name = meta->name,
                                    .bytes = meta->len > 0 ? meta->bytes : "",
                                    .len = meta->len };
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    if (meta->kind == METALAYER_FIXED)
        r = check_fixed(file, meta->name, fault);
    if (r == 0)
        r = writeback_commit(file, &edit.edit, fault);
    writeback_end(file);
    return r;
}

int file_meta_remove(struct file *file, const char *name, struct fault *fault)
{
    const struct meta_edit edit = { .edit.run = set_meta,
                                    .edit.undo = frame_writer_undo_metalayer,
                                    .kind = METALAYER_VL,
                                    .name = name };
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    r = writeback_commit(file, &edit.edit, fault);
    writeback_end(file);
    return r;
}
