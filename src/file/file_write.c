/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/size.h"
#include "file/file.h"
#include "file/file_write_private.h"
#include "file/view.h"
#include "state/file_private.h"
#include "writeback/encode.h"
#include "writeback/recover.h"
#include "writeback/writeback.h"

/* Return the end of a write as the gate needs it: 0 for an array, because a
   write never extends an array. */
static uint64_t writing_to(const struct file *file, uint64_t end)
{
    return file->constant.array ? 0 : end;
}

/* Extend the file to `end`, because all bytes up to there are in the cache. */
static void extend_to(struct file *file, uint64_t end)
{
    pthread_mutex_lock(&file->gate.lock);
    if (end > file->states.nbytes) {
        file->states.nbytes = end;
        file->states.resized = true;
    }
    pthread_mutex_unlock(&file->gate.lock);
}

/* Write the first bytes of a range of a chunk of `nbytes` bytes, and describe
   an error. */
static ssize_t write_range(struct file *file, const struct cache_range *range,
                           uint32_t nbytes, const uint8_t *src,
                           struct fault *fault)
{
    struct file_fill fill = { .file = file, .fault = fault };
    struct cache_patience patience = { .begun = false };
    ssize_t n;

    while ((n = cache_write(file->constant.context->cache, range, &fill, src,
                            &patience)) == -EINTR) {
        gate_yield(file);
        if (file->gate.failed < 0)
            return gate_failure(file, fault);
    }
    if (n == -ENOTSUP && !fault->what)
        fault_set_limit(fault, "chunk is too large to be written", nbytes,
                        "a cache", file->constant.context->cache_size);
    if (n < 0 && fault->chunk_no < 0)
        fault->chunk_no = (int64_t)range->chunk_no;
    return n;
}

ssize_t file_put_piece(struct file *file, const struct view_piece *piece,
                       const uint8_t *src, struct fault *fault)
{
    struct cache_range range = { .file = &file->chunks,
                                 .chunk_no = piece->chunk_no,
                                 .off = piece->off,
                                 .len = piece->len };

    return write_range(file, &range, piece->nbytes, src, fault);
}

/* Accept a write to the header if it changes nothing, because a program that
   has mapped the file may write a page back that holds header and items. */
static ssize_t put_header(const struct view_piece *piece, const uint8_t *src,
                          struct fault *fault)
{
    for (uint32_t i = 0; i < piece->len; i++)
        if ((src ? src[i] : 0) != piece->header[i])
            return fault_set(fault, -EPERM, 0, NULL);
    return piece->len;
}

/* Write bytes, or zeros if `src` is NULL. */
static int put_bytes(struct file *file, uint64_t off, const uint8_t *src,
                     uint64_t len, struct fault *fault)
{
    *fault = FAULT_NONE;
    while (len > 0) {
        struct view_piece piece;
        ssize_t n = view_locate(file, off, len, &piece, fault);

        if (n == 0)
            n = piece.header ? put_header(&piece, src, fault)
                             : file_put_piece(file, &piece, src, fault);
        if (n < 0)
            return (int)n;
        off += (uint64_t)n;
        src = src ? src + n : NULL;
        len -= (uint64_t)n;
        if (view_is_in_row(file->constant.view))
            extend_to(file, off);
        encode_ahead(file);
    }
    return 0;
}

/* Fill the gap between the end of the file and `off` with zeros.  New chunks
   are zeros already, but the last chunk may hold rubbish behind the end of the
   file. */
static int fill_gap(struct file *file, uint64_t off, struct fault *fault)
{
    uint64_t size = file->states.nbytes;
    uint64_t end =
        size % file->states.chunksize == 0
            ? size
            : size - size % file->states.chunksize + file->states.chunksize;

    if (end > off)
        end = off;
    return size < end ? put_bytes(file, size, NULL, end - size, fault) : 0;
}

/* Check that the file may extend to `off` + `len`. */
static int check_end(const struct file *file, uint64_t off, uint64_t len,
                     struct fault *fault)
{
    uint64_t max = (uint64_t)file->states.chunksize * FRAME_WRITER_CHUNKS_MAX;

    if (off > INT64_MAX || len > INT64_MAX - off)
        return fault_set(fault, -EFBIG, 0, NULL);
    if (off + len <= file_size(file))
        return 0;
    if (!view_is_in_row(file->constant.view))
        return fault_set(fault, -EFBIG, 0, NULL);
    if (file->states.chunksize == 0)
        return fault_set(fault, -ENOTSUP, 0,
                         "a frame whose chunks differ in size keeps its size");
    return off + len > max ? fault_set(fault, -EFBIG, 0, NULL) : 0;
}

/* Does an error look as if another program had changed the frame, because there
   is not even its bucket any more? */
static bool is_bucket_gone(struct file *file, int error, struct fault *fault)
{
    struct fault gone;

    if (error != -ESTALE || file->gate.failed < 0 ||
        !store_names_once(file->constant.store) ||
        recover_explain_gone(file, &gone) != -ENOENT)
        return false;
    *fault = gone;
    return true;
}

int file_explain(struct file *file, int error, struct fault *fault)
{
    int r;

    if (is_bucket_gone(file, error, fault))
        return -ENOENT;
    if (error != -EAGAIN)
        return error;
    r = file_take_error(file, fault);
    return r < 0 ? r : fault_set(fault, -ENOSPC, 0, NULL);
}

/* Bytes to write. */
struct pieces {
    const struct iovec *iov;
    size_t niov;
    uint64_t len; /* sum of their lengths */
};

static int write_pieces(struct file *file, uint64_t off,
                        const struct pieces *pieces, struct fault *fault)
{
    const struct iovec *iov = pieces->iov;
    enum gate_writer as;
    int r = gate_enter_writer(file, writing_to(file, off + pieces->len), &as,
                              fault);

    if (r < 0)
        return r;
    if (as == GATE_EXTENDER)
        r = fill_gap(file, off, fault);
    for (size_t i = 0; i < pieces->niov && r == 0; i++) {
        r = put_bytes(file, off, iov[i].iov_base, iov[i].iov_len, fault);
        off += iov[i].iov_len;
    }
    gate_leave_writer(file, as);
    return r < 0 ? file_explain(file, r, fault) : 0;
}

static int accept_pieces(struct file *file, uint64_t off,
                         const struct iovec *iov, size_t niov,
                         struct fault *fault)
{
    struct pieces pieces = { .iov = iov, .niov = niov };
    int r;

    for (size_t i = 0; i < niov; i++)
        pieces.len += iov[i].iov_len;
    r = writeback_begin(file, fault);
    if (r < 0)
        return r;
    r = check_end(file, off, pieces.len, fault);
    if (r == 0 && pieces.len > 0)
        r = write_pieces(file, off, &pieces, fault);
    if (r == 0)
        counter_add(&file->constant.context->counters.written, pieces.len);
    writeback_end(file);
    return r;
}

int file_writev(struct file *file, uint64_t off, const struct iovec *iov,
                size_t niov, struct fault *fault)
{
    int r = accept_pieces(file, off, iov, niov, fault);

    return r < 0 ? r : file_take_error(file, fault);
}

static struct iovec whole(const void *bytes, size_t len)
{
    return (struct iovec){ .iov_base = (void *)(uintptr_t)bytes,
                           .iov_len = len };
}

int file_write(struct file *file, uint64_t off, const void *bytes, size_t len,
               struct fault *fault)
{
    const struct iovec iov = whole(bytes, len);

    return file_writev(file, off, &iov, 1, fault);
}

int file_append(struct file *file, const void *bytes, size_t len, uint64_t *off,
                struct fault *fault)
{
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    /* From here on no other program moves the end, because writeback_begin()
       has locked the frame. */
    *off = file_size(file);
    r = file_write(file, *off, bytes, len, fault);
    writeback_end(file);
    return r;
}

int file_accept(struct file *file, uint64_t off, const void *bytes, size_t len,
                struct fault *fault)
{
    const struct iovec iov = whole(bytes, len);

    return accept_pieces(file, off, &iov, 1, fault);
}

static int grow(struct file *file, uint64_t size, struct fault *fault)
{
    enum gate_writer as;
    int r = gate_enter_writer(file, writing_to(file, size), &as, fault);

    if (r < 0)
        return r;
    if (as == GATE_EXTENDER)
        r = fill_gap(file, size, fault);
    if (r == 0)
        extend_to(file, size);
    gate_leave_writer(file, as);
    return r;
}

/* Make chunks `first` to `end` - 1 zeros.  Returns 0 or -ENOMEM. */
static int drop_chunks(struct file *file, uint64_t first, uint64_t end,
                       struct fault *fault)
{
    int r;

    pthread_mutex_lock(&file->gate.lock);
    r = ranges_reserve(&file->states.zeros, 1);
    if (r == 0)
        ranges_add(&file->states.zeros, first, end);
    file->states.resized = true;
    pthread_mutex_unlock(&file->gate.lock);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    encode_drop(file, first, end);
    cache_invalidate(file->constant.context->cache, &file->chunks, first, end);
    return 0;
}

/* Cut the file.  The chunk that is cut has to be stored again, so it must be in
   memory.  Returns false if it is not, and then nothing has changed. */
static bool try_cut(struct file *file, uint64_t size, int *error,
                    struct fault *fault)
{
    struct cache *cache = file->constant.context->cache;
    uint64_t first = size_pieces(size, file->states.chunksize);
    bool ready;

    *error = gate_lock_exclusive_or_fail(file, fault);
    if (*error < 0)
        return true;
    ready =
        size >= file->states.nbytes || size % file->states.chunksize == 0 ||
        cache_mark_dirty(cache, &file->chunks, size / file->states.chunksize,
                         (uint32_t)(size % file->states.chunksize));
    if (ready && size < file->states.nbytes) {
        *error = drop_chunks(file, first, UINT64_MAX, fault);
        if (*error == 0) {
            encode_drop(file, size / file->states.chunksize, UINT64_MAX);
            file->states.nbytes = size;
        }
    }
    gate_unlock_exclusive(file);
    return ready;
}

static int cut(struct file *file, uint64_t size, struct fault *fault)
{
    const struct cache_range range = { .file = &file->chunks,
                                       .chunk_no =
                                           size / file->states.chunksize };
    int r;

    *fault = FAULT_NONE;
    while (!try_cut(file, size, &r, fault)) {
        r = (int)write_range(file, &range, file->states.chunksize, NULL, fault);
        if (r < 0)
            return r;
    }
    return r;
}

/*
 * Change the size.  file_truncate(), file_extend() and file_zero() leave the
 * error of an earlier commit to the next write or sync, because these calls
 * need no space and take effect all the same, and a program may use them to
 * make space.
 */
static int resize(struct file *file, uint64_t size, struct fault *fault)
{
    int r = check_end(file, size, 0, fault);

    if (r < 0)
        return r;
    if (!view_is_in_row(file->constant.view))
        return size < file_size(file) ? fault_set(fault, -EPERM, 0, NULL) : 0;
    if (size > file->states.nbytes)
        r = grow(file, size, fault);
    else if (size < file->states.nbytes && file->states.chunksize == 0)
        return fault_set(fault, -ENOTSUP, 0,
                         "a frame whose chunks differ in size keeps its size");
    else if (size < file->states.nbytes)
        r = cut(file, size, fault);
    return r < 0 ? file_explain(file, r, fault) : 0;
}

int file_truncate(struct file *file, uint64_t size, struct fault *fault)
{
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    r = resize(file, size, fault);
    writeback_end(file);
    return r;
}

int file_extend(struct file *file, uint64_t size, struct fault *fault)
{
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    r = check_end(file, size, 0, fault);
    if (r == 0 && size > file_size(file))
        r = grow(file, size, fault);
    if (r < 0)
        r = file_explain(file, r, fault);
    writeback_end(file);
    return r;
}

static int write_zeros(struct file *file, uint64_t off, uint64_t end,
                       struct fault *fault)
{
    enum gate_writer as;
    int r;

    if (off >= end)
        return 0;
    r = gate_enter_writer(file, writing_to(file, end), &as, fault);
    if (r < 0)
        return r;
    if (end > file_size(file))
        end = file_size(file);
    r = off < end ? put_bytes(file, off, NULL, end - off, fault) : 0;
    gate_leave_writer(file, as);
    return r;
}

/* Return the number of chunks that end at or before `off`.  The last chunk of
   the file may be short. */
static uint64_t chunks_before(const struct file *file, uint64_t off)
{
    uint64_t nbytes = file->states.nbytes;

    return off < nbytes ? off / file->states.chunksize
                        : size_pieces(nbytes, file->states.chunksize);
}

/*
 * Make the chunks zero that lie from `first` on and end at or before `off`.
 * They are counted again once the file is locked, because another writer may
 * have extended the last chunk meanwhile.
 *
 *  end  receives the number of the chunk behind them; `first` if there are none
 */
static int zero_chunks(struct file *file, uint64_t first, uint64_t off,
                       uint64_t *end, struct fault *fault)
{
    int r;

    *end = first;
    if (first >= chunks_before(file, off))
        return 0;
    r = gate_lock_exclusive_or_fail(file, fault);
    if (r < 0)
        return r;
    if (first < chunks_before(file, off)) {
        *end = chunks_before(file, off);
        r = drop_chunks(file, first, *end, fault);
    }
    gate_unlock_exclusive(file);
    return r;
}

/* Make a range of the file zero.  Chunks that lie whole in the range become
   holes. */
static int zero_range(struct file *file, uint64_t off, uint64_t end,
                      struct fault *fault)
{
    uint64_t chunksize = file->states.chunksize;
    uint64_t first;
    uint64_t behind;
    int r;

    if (!view_is_in_row(file->constant.view) || chunksize == 0)
        return write_zeros(file, off, end, fault);
    first = size_pieces(off, chunksize);
    r = write_zeros(file, off,
                    first * chunksize < end ? first * chunksize : end, fault);
    if (r == 0)
        r = zero_chunks(file, first, end, &behind, fault);
    return r == 0 ? write_zeros(file, behind * chunksize, end, fault) : r;
}

static int zero(struct file *file, uint64_t off, uint64_t len,
                struct fault *fault)
{
    uint64_t size = file_size(file);
    int r;

    if (off >= size)
        return 0;
    if (len > size - off)
        len = size - off;
    r = zero_range(file, off, off + len, fault);
    return r < 0 ? file_explain(file, r, fault) : 0;
}

int file_zero(struct file *file, uint64_t off, uint64_t len,
              struct fault *fault)
{
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    r = zero(file, off, len, fault);
    writeback_end(file);
    return r;
}
