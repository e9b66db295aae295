/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/chunk_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/chunks.h"
#include "file/file_chunk_edit.h"
#include "frame/frame.h"
#include "open/chunk_draft.h"
#include "open/lookup.h"
#include "tree/report.h"

bool chunk_files_are_in(const struct node *dir)
{
    return dir->id.kind == ENTRY_CHUNKS;
}

/* An edit that a program has asked for by the name of a chunk file. */
struct named_edit {
    struct chunk_edit edit;
    uint64_t id; /* number or key of the chunk */
};

static uint64_t id_of(const struct chunk_edit *edit)
{
    return ((const struct named_edit *)(const void *)edit)->id;
}

/* Get the geometry of a frame, if the program may write to it. */
static int check(struct file *file, struct frame_info *out)
{
    struct frame *frame = file_frame_get(file);
    int r = frame_check_access(frame, W_OK);

    *out = *frame_get_info(frame);
    file_frame_put(file, frame);
    return r;
}

/* Append a chunk of zeros, of the full size where there is one. */
static int append(struct file *file,
                  const struct backing_place *place __attribute__((unused)),
                  const struct chunk_edit *edit, struct fault *fault)
{
    struct file_chunk_content content = { 0 };
    struct frame_info info;
    void *zeros;
    int r = check(file, &info);

    if (r == 0 && id_of(edit) != info.nchunks)
        r = id_of(edit) < info.nchunks ? -EEXIST : -EPERM;
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    content.len = info.chunksize > 0 ? info.chunksize : info.typesize;
    content.bytes = zeros = calloc(1, content.len);
    r = zeros ? file_chunk_insert(file, info.nchunks, &content, fault)
              : fault_set(fault, -ENOMEM, 0, NULL);
    free(zeros);
    return r;
}

static int drop(struct file *file,
                const struct backing_place *place __attribute__((unused)),
                const struct chunk_edit *edit, struct fault *fault)
{
    struct frame_info info;
    int r = check(file, &info);

    return r < 0 ? fault_set(fault, r, 0, NULL)
                 : file_key_delete(file, id_of(edit), fault);
}

/* Report the error of a change, unless the program itself caused it. */
static int finish(struct fs *fs, struct node *dir, int r,
                  const struct fault *fault)
{
    if (r < 0 && r != -EPERM && r != -EROFS && r != -EACCES && r != -EEXIST &&
        r != -EINVAL && r != -ENOENT)
        report_fault(&fs->nodes, dir, NULL, r, fault);
    return r;
}

int chunk_files_create(struct fs *fs, struct node *dir, const char *shown,
                       struct node **out, struct stat *st)
{
    struct named_edit edit = { .edit.run = append };
    struct fault fault = FAULT_NONE;
    int r;

    if (!chunks_parse_number(shown, &edit.id))
        return -EPERM;
    r = finish(fs, dir, chunk_edit_run(fs, dir, &edit.edit, &fault), &fault);
    return r < 0 ? r : lookup_name(fs, dir, shown, out, st);
}

int chunk_files_remove(struct fs *fs, struct node *dir, const char *shown)
{
    const struct named_edit edit = { { drop }, chunks_parse_key(shown) };
    struct fault fault = FAULT_NONE;

    if (edit.id == 0)
        return -EPERM;
    return finish(fs, dir, chunk_edit_run(fs, dir, &edit.edit, &fault), &fault);
}
