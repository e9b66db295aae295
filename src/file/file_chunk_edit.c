/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file_chunk_edit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/size.h"
#include "chunk/chunk.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_format.h"
#include "file/file.h"
#include "file/view.h"
#include "writeback/writeback.h"

/* An edit of whole chunks. */
struct chunk_edit {
    struct writeback_edit edit;
    struct file *file;
    uint64_t chunk_no;
    uint64_t nchunks;
    struct file_chunk_content content; /* of a chunk to put or insert */
    uint64_t key;                      /* of the chunk; 0: it has this number */
    uint64_t *new_key; /* receives the key of the chunk, which is made if there
                          is none; NULL: it is not asked for */
    const uint64_t *order;
    struct frame *src; /* frame from which to copy stored chunks */
    uint64_t src_chunk_no;
    uint64_t *done; /* number of chunks copied */
};

static const struct chunk_edit *edit_of(const struct writeback_edit *edit)
{
    return (const struct chunk_edit *)(const void *)edit;
}

/* Commit all writes and lock the file for exclusive changes.  This repeats the
   commit if another thread writes between the two. */
static int enter(struct file *file, struct fault *fault)
{
    for (;;) {
        int r = writeback_commit(file, NULL, fault);

        if (r < 0)
            return r;
        gate_lock_exclusive(file);
        if (!cache_has_uncommitted(file->constant.context->cache,
                                   &file->chunks) &&
            !file->states.resized)
            return 0;
        gate_unlock_exclusive(file);
    }
}

int file_run_edit(struct file *file, const struct writeback_edit *edit,
                  struct fault *fault)
{
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    r = enter(file, fault);
    if (r == 0) {
        r = writeback_commit_exclusive(file, edit, fault);
        gate_unlock_exclusive(file);
    }
    writeback_end(file);
    return r;
}

/* Commit an edit of chunks, which an array does not allow. */
static int run_edit(struct file *file, const struct chunk_edit *what,
                    struct fault *fault)
{
    int r;

    if (view_is_in_row(file->constant.view))
        return file_run_edit(file, &what->edit, fault);
    r = writeback_begin(file, fault);
    if (r < 0)
        return r;
    writeback_end(file);
    return fault_set(fault, -EPERM, 0, "the chunks of an array have a place");
}

/* Find the number of the chunk to be edited. */
static int find_chunk(const struct chunk_edit *what,
                      const struct frame_writer *writer, uint64_t *chunk_no,
                      struct fault *fault)
{
    const struct frame_keys *keys = frame_writer_get_keys(writer);

    *chunk_no = what->chunk_no;
    if (what->key == 0 ||
        (keys && frame_keys_find(keys, what->key, chunk_no) == 0))
        return 0;
    return fault_set(fault, -ENOENT, 0, "no chunk has this key");
}

static int run_delete(struct frame_writer *writer,
                      const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    uint64_t chunk_no;
    int r = find_chunk(what, writer, &chunk_no, fault);

    if (r < 0)
        return r;
    r = frame_writer_delete(writer, chunk_no, 1);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Make keys if the frame has none. */
static int run_key(struct frame_writer *writer,
                   const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    int r;

    if (what->chunk_no >= frame_writer_get_info(writer)->nchunks)
        return fault_set(fault, -ERANGE, 0, NULL);
    r = frame_writer_add_keys(writer, what->file->states.newest->frame, fault);
    if (r == 0)
        *what->new_key = frame_writer_get_keys(writer)->keys[what->chunk_no];
    return r;
}

static int run_reorder(struct frame_writer *writer,
                       const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    int r = -EINVAL;

    if (what->nchunks == frame_writer_get_info(writer)->nchunks)
        r = frame_writer_reorder(writer, what->order);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Encode a chunk, and write it. */
static int write_decoded(const struct chunk_edit *what,
                         struct frame_writer *writer,
                         struct frame_written *written, struct fault *fault)
{
    const struct file_chunk_content *content = &what->content;
    size_t cap = content->len + CHUNK_OVERHEAD_MAX;
    uint8_t *chunk = malloc(cap);
    struct chunk_encoder *encoder = NULL;
    ssize_t len = chunk ? chunk_encoder_new(cpu_features(), &encoder) : -ENOMEM;
    int r;

    if (len == 0)
        len = chunk_encode(
            encoder, &what->file->states.params,
            &(struct chunk_content){ content->bytes, content->len }, chunk,
            cap);
    if (len < 0)
        r = fault_set(fault, (int)len, 0, NULL);
    else
        r = frame_writer_write(writer, chunk, (size_t)len, written, fault);
    chunk_encoder_free(encoder);
    free(chunk);
    return r;
}

/* Check that a stored chunk can be decoded, and is as long as it says. */
static int check_stored(const struct chunk_edit *what, struct fault *fault)
{
    const struct file_chunk_content *content = &what->content;
    struct chunk_items items = chunk_params_items(&what->file->states.params);
    const struct stored_chunk stored = { content->bytes, content->len, &items };
    uint32_t chunksize = what->file->states.chunksize;
    struct chunk_decoder *decoder = NULL;
    struct chunk_header header;
    uint8_t *decoded;
    ssize_t n =
        chunk_header_parse(content->bytes, content->len, &header, fault);

    if (n < 0)
        return (int)n;
    if (header.cbytes != content->len)
        return fault_set(fault, -EBADMSG, 0, "chunk has another length");
    if (chunksize > 0 && header.nbytes > chunksize)
        return fault_set(fault, -EINVAL, 0, NULL);
    decoded = malloc((size_t)header.nbytes + 1);
    n = decoded ? chunk_decoder_new(cpu_features(), &decoder) : -ENOMEM;
    if (n < 0)
        fault_set(fault, (int)n, 0, NULL);
    else
        n = chunk_decode(&stored, decoded, header.nbytes, decoder, fault);
    chunk_decoder_free(decoder);
    free(decoded);
    return n < 0 ? (int)n : 0;
}

static int write_chunk(const struct chunk_edit *what,
                       struct frame_writer *writer,
                       struct frame_written *written, struct fault *fault)
{
    const struct file_chunk_content *content = &what->content;
    int r;

    if (!content->stored)
        return write_decoded(what, writer, written, fault);
    r = check_stored(what, fault);
    return r < 0 ? r
                 : frame_writer_write(writer, content->bytes, content->len,
                                      written, fault);
}

/* Does a chunk of this size keep an array whole? */
static bool suits_array(const struct file *file,
                        const struct frame_written *written)
{
    return view_is_in_row(file->constant.view) ||
           written->nbytes == file->states.chunksize;
}

static int run_put(struct frame_writer *writer,
                   const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    struct frame_written written;
    uint64_t chunk_no;
    int r = find_chunk(what, writer, &chunk_no, fault);

    if (r == 0)
        r = write_chunk(what, writer, &written, fault);
    if (r < 0)
        return r;
    r = suits_array(what->file, &written)
            ? frame_writer_put(writer, chunk_no, &written)
            : -EINVAL;
    if (r < 0) {
        frame_writer_drop(writer, &written);
        return fault_set(fault, r, 0, NULL);
    }
    return 0;
}

static int run_insert(struct frame_writer *writer,
                      const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    uint64_t nchunks = frame_writer_get_info(writer)->nchunks;
    uint64_t chunk_no =
        what->chunk_no == FILE_CHUNK_END ? nchunks : what->chunk_no;
    struct frame_written written;
    int r = 0;

    if (what->new_key)
        r = frame_writer_add_keys(writer, what->file->states.newest->frame,
                                  fault);
    if (r == 0)
        r = write_chunk(what, writer, &written, fault);
    if (r < 0)
        return r;
    r = frame_writer_insert(writer, chunk_no, &written);
    if (r < 0) {
        frame_writer_drop(writer, &written);
        return fault_set(fault, r, 0, NULL);
    }
    if (what->new_key)
        *what->new_key = frame_writer_get_keys(writer)->keys[chunk_no];
    return 0;
}

/* Check the content of a chunk before anything is committed. */
static int check_content(const struct file_chunk_content *content,
                         struct fault *fault)
{
    return content->len == 0 || content->len > CHUNK_NBYTES_MAX
               ? fault_set(fault, -EINVAL, 0, NULL)
               : 0;
}

static int put(struct file *file, struct chunk_edit *what,
               const struct file_chunk_content *content, struct fault *fault)
{
    int r = check_content(content, fault);

    what->edit =
        (struct writeback_edit){ .run = run_put, .moves_chunks = true };
    what->file = file;
    what->content = *content;
    return r < 0 ? r : file_run_edit(file, &what->edit, fault);
}

int file_chunk_put(struct file *file, uint64_t chunk_no,
                   const struct file_chunk_content *content,
                   struct fault *fault)
{
    return put(file, &(struct chunk_edit){ .chunk_no = chunk_no }, content,
               fault);
}

int file_key_put(struct file *file, uint64_t key,
                 const struct file_chunk_content *content, struct fault *fault)
{
    return put(file, &(struct chunk_edit){ .key = key }, content, fault);
}

int file_chunk_insert(struct file *file, uint64_t chunk_no,
                      const struct file_chunk_content *content,
                      struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_insert,
                                               .moves_chunks = true },
                                     .file = file,
                                     .chunk_no = chunk_no,
                                     .content = *content };
    int r = check_content(content, fault);

    return r < 0 ? r : run_edit(file, &what, fault);
}

int file_key_append(struct file *file, const struct file_chunk_content *content,
                    uint64_t *key, struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_insert,
                                               .moves_chunks = true },
                                     .file = file,
                                     .chunk_no = FILE_CHUNK_END,
                                     .new_key = key,
                                     .content = *content };
    int r = check_content(content, fault);

    return r < 0 ? r : run_edit(file, &what, fault);
}

int file_key_make(struct file *file, uint64_t chunk_no, uint64_t *key,
                  struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_key },
                                     .file = file,
                                     .chunk_no = chunk_no,
                                     .new_key = key };

    return file_run_edit(file, &what.edit, fault);
}

int file_key_delete(struct file *file, uint64_t key, struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_delete,
                                               .moves_chunks = true },
                                     .file = file,
                                     .key = key };

    return run_edit(file, &what, fault);
}

int file_chunk_delete(struct file *file, uint64_t chunk_no, struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_delete,
                                               .moves_chunks = true },
                                     .file = file,
                                     .chunk_no = chunk_no };

    return run_edit(file, &what, fault);
}

int file_chunk_reorder(struct file *file, const uint64_t *order,
                       uint64_t nchunks, struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_reorder,
                                               .moves_chunks = true },
                                     .file = file,
                                     .order = order,
                                     .nchunks = nchunks };

    return run_edit(file, &what, fault);
}

/* Copy one stored chunk to the frame writer.  Its headers must be valid. */
static int copy_chunk(const struct chunk_edit *what, uint64_t i,
                      struct frame_writer *writer, struct fault *fault)
{
    uint64_t chunk_no = what->src_chunk_no + i;
    struct frame_chunk *chunk;
    struct frame_written written;
    int r = frame_chunk_open(what->src, chunk_no, &chunk, fault);

    if (r < 0)
        return r;
    frame_chunk_close(chunk);
    r = frame_writer_copy(writer, what->src, chunk_no, &written, fault);
    if (r < 0)
        return r;
    r = frame_writer_put(writer, what->chunk_no + i, &written);
    if (r < 0) {
        frame_writer_drop(writer, &written);
        return fault_set(fault, r, 0, NULL);
    }
    return 0;
}

/* Copy chunks until one fails.  This succeeds if at least one was copied. */
static int run_copy(struct frame_writer *writer,
                    const struct writeback_edit *edit, struct fault *fault)
{
    const struct chunk_edit *what = edit_of(edit);
    int r = 0;

    for (uint64_t i = 0; i < what->nchunks && r == 0; i++) {
        r = copy_chunk(what, i, writer, fault);
        if (r == 0)
            *what->done = i + 1;
    }
    return *what->done > 0 ? 0 : r;
}

int file_copy_chunks(struct file *file, const struct file_chunk_copy *copy,
                     uint64_t *done, struct fault *fault)
{
    const struct chunk_edit what = { .edit = { .run = run_copy,
                                               .moves_chunks = true },
                                     .file = file,
                                     .chunk_no = copy->chunk_no,
                                     .nchunks = copy->nchunks,
                                     .src = copy->src,
                                     .src_chunk_no = copy->src_chunk_no,
                                     .done = done };

    *done = 0;
    return run_edit(file, &what, fault);
}
