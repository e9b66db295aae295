/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/chunk_draft.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/retry.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_format.h"
#include "file/file_chunk_edit.h"
#include "frame/frame.h"
#include "open/draft_memory.h"
#include "open/kernel.h"
#include "open/lost_ranges.h"
#include "tree/report.h"

enum {
    CAPACITY_MIN = 64 << 10,
    PIECE_LEN = 1 << 20, /* bytes read at a time */
};

/*
 * Locking.  `lock` is a leaf and guards `busy`.  The thread that has set it may
 * use all other fields.
 */
struct chunk_draft {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;

    struct fs *fs;  /* constant, whose memory this takes; and */
    bool stored;    /* the bytes are a chunk as it is stored, */
    size_t decoded; /* the most bytes that it may decode to, */
    size_t max;     /* and the most that the draft may have; likewise */
    struct store_version opened; /* the frame that was opened; likewise */
    uint8_t *bytes;
    size_t len;
    size_t capacity;
    bool changed;
    struct lost_ranges refused; /* bytes that could not be written */
};

static void begin(struct chunk_draft *draft)
{
    pthread_mutex_lock(&draft->lock);
    while (draft->busy)
        pthread_cond_wait(&draft->idle, &draft->lock);
    draft->busy = true;
    pthread_mutex_unlock(&draft->lock);
}

static void end(struct chunk_draft *draft)
{
    pthread_mutex_lock(&draft->lock);
    draft->busy = false;
    pthread_cond_signal(&draft->idle);
    pthread_mutex_unlock(&draft->lock);
}

/* Make space for `len` bytes. */
static int reserve(struct chunk_draft *draft, uint64_t len)
{
    size_t capacity = draft->capacity > 0 ? draft->capacity : CAPACITY_MIN;
    uint8_t *bytes;
    int r;

    if (len > draft->max)
        return -EFBIG;
    while (capacity < len)
        capacity *= 2;
    if (capacity > draft->max)
        capacity = draft->max;
    if (capacity <= draft->capacity)
        return 0;
    r = draft_memory_take(draft->fs, capacity - draft->capacity);
    if (r < 0)
        return r;
    bytes = realloc(draft->bytes, capacity);
    if (!bytes) {
        draft_memory_give(draft->fs, capacity - draft->capacity);
        return -ENOMEM;
    }
    draft->bytes = bytes;
    draft->capacity = capacity;
    return 0;
}

/* Set the size; new bytes are zeros. */
static int resize(struct chunk_draft *draft, uint64_t len)
{
    int r = reserve(draft, len);

    if (r < 0)
        return r;
    if (len > draft->len)
        memset(draft->bytes + draft->len, 0, (size_t)len - draft->len);
    draft->len = (size_t)len;
    return 0;
}

/* Copy the next bytes of the chunk as it is. */
static int load_piece(struct chunk_draft *draft, struct file *file)
{
    const struct file_range range = { draft->len, PIECE_LEN };
    struct file_data data = { 0 };
    struct fault fault = FAULT_NONE;
    int r = file_read(file, NULL, &range, &data, &fault);

    if (r == 0)
        r = data.error;
    if (r == 0)
        r = reserve(draft, draft->len + data.len);
    for (size_t i = 0; r == 0 && i < data.niov; i++) {
        memcpy(draft->bytes + draft->len, data.iov[i].iov_base,
               data.iov[i].iov_len);
        draft->len += data.iov[i].iov_len;
    }
    file_data_put(file, &data);
    return r;
}

static int load(struct chunk_draft *draft, struct file *file)
{
    int r = 0;

    while (r == 0 && draft->len < file_size(file))
        r = load_piece(draft, file);
    return r;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Note which frame a file is, and the limits of its chunks. */
static int note_frame(struct chunk_draft *draft, struct file *file)
{
    struct frame *frame = file_frame_get(file);
    size_t chunksize = frame_get_info(frame)->chunksize;
    size_t limit = draft_memory_limit(draft->fs);
    struct store_stat stat;
    int r = frame_identify(frame, &stat);

    file_frame_put(file, frame);
    if (r < 0)
        return r;
    draft->opened = stat.version;
    draft->decoded = least(chunksize > 0 ? chunksize : CHUNK_NBYTES_MAX, limit);
    draft->max = draft->decoded;
    if (draft->stored)
        draft->max = least(draft->decoded + CHUNK_OVERHEAD_MAX, limit);
    return 0;
}

int chunk_draft_new(struct fs *fs, struct open_file *open, int how, bool empty,
                    struct chunk_draft **out)
{
    struct chunk_draft *draft = calloc(1, sizeof(*draft));
    struct open_version *version = open_file_version(open);
    int r;

    if (!draft) {
        open_version_put(version);
        return -ENOMEM;
    }
    pthread_mutex_init(&draft->lock, NULL);
    pthread_cond_init(&draft->idle, NULL);
    draft->fs = fs;
    draft->stored = open->node->id.kind == ENTRY_CHUNK_STORED;
    r = lost_ranges_init(&draft->refused);
    if (r == 0)
        r = open_version_check_access(version, how);
    if (r == 0)
        r = note_frame(draft, version->file);
    if (r == 0 && !empty)
        r = load(draft, version->file);
    open_version_put(version);
    if (r < 0) {
        chunk_draft_free(draft);
        return r;
    }
    /* The kernel may come to know a size that the chunk does not get. */
    open_file_mark_kernel_stale(fs, open->node);
    *out = draft;
    return 0;
}

void chunk_draft_free(struct chunk_draft *draft)
{
    if (!draft)
        return;
    draft_memory_give(draft->fs, draft->capacity);
    lost_ranges_fini(&draft->refused);
    pthread_cond_destroy(&draft->idle);
    pthread_mutex_destroy(&draft->lock);
    free(draft->bytes);
    free(draft);
}

size_t chunk_draft_read(struct chunk_draft *draft, char *buf, size_t size,
                        uint64_t off)
{
    begin(draft);
    if (off >= draft->len)
        size = 0;
    else if (size > draft->len - off)
        size = draft->len - (size_t)off;
    if (size > 0)
        memcpy(buf, draft->bytes + off, size);
    end(draft);
    return size;
}

int chunk_draft_write(struct chunk_draft *draft, const char *buf, size_t size,
                      uint64_t off)
{
    int r = 0;

    begin(draft);
    if (size > draft->max || off > draft->max - size)
        r = -EFBIG;
    else if (off + size > draft->len)
        r = resize(draft, off + size);
    if (r == 0 && size > 0) {
        memcpy(draft->bytes + off, buf, size);
        draft->changed = true;
    }
    if (r < 0)
        lost_ranges_add(&draft->refused, off, off + size, r);
    else
        lost_ranges_remove(&draft->refused, off, off + size);
    end(draft);
    return r;
}

int chunk_draft_truncate(struct chunk_draft *draft, uint64_t size)
{
    int r;

    begin(draft);
    r = resize(draft, size);
    draft->changed = draft->changed || r == 0;
    if (r == 0)
        lost_ranges_remove(&draft->refused, size, UINT64_MAX);
    end(draft);
    return r;
}

static int run_edit(struct fs *fs, const struct backing_place *place,
                    enum entry_kind kind, const struct chunk_edit *edit,
                    struct fault *fault)
{
    unsigned flags = STORE_WRITE | file_store_flags(fs->files);
    struct store *store;
    struct file *file;
    int r = backing_store(place, kind, flags, &store, fault);

    if (r < 0)
        return r;
    r = file_open_writable(fs->files, store, &file, fault);
    store_close(store);
    if (r < 0)
        return r;
    r = edit->run(file, place, edit, fault);
    file_close(file);
    return r;
}

int chunk_edit_run(struct fs *fs, struct node *node,
                   const struct chunk_edit *edit, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    if (!fs->source.writable || fs->source.base > 0)
        return fault_set(fault, -EROFS, 0, NULL);
    do {
        struct backing_place place;

        *fault = FAULT_NONE;
        r = fs_place(fs, node, &place);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
        r = run_edit(fs, &place, node->id.kind, edit, fault);
        backing_close(&place);
    } while (r == -ESTALE && retry_wait(&retry));
    return r;
}

/* A chunk to be put. */
struct putting {
    struct chunk_edit edit;
    struct file_chunk_content content;
    struct store_version opened; /* the frame that was opened */
};

/* May the chunk be put into this frame?  If its name leads to another frame by
   now, the program must have the right to write to that one. */
static int check(struct file *file, const struct putting *putting)
{
    struct frame *frame = file_frame_get(file);
    struct store_stat found;
    int r = frame_identify(frame, &found);

    if (r == 0 && store_version_compare(putting->opened, found.version) ==
                      VERSION_OTHER_OBJECT)
        r = frame_check_access(frame, W_OK);
    file_frame_put(file, frame);
    return r;
}

static int put(struct file *file, const struct backing_place *place,
               const struct chunk_edit *edit, struct fault *fault)
{
    const struct putting *putting = (const struct putting *)(const void *)edit;
    int r = check(file, putting);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return place->chunk_key > 0
               ? file_key_put(file, place->chunk_key, &putting->content, fault)
               : file_chunk_put(file, place->chunk_no, &putting->content,
                                fault);
}

/*
 * Check that the bytes of a draft begin with the header of a chunk that the
 * frame can have.  If they do not, the program is at fault, and not the frame.
 *
 *  memory  receives how much memory it takes to put the chunk
 */
static int check_bytes(const struct chunk_draft *draft, size_t *memory)
{
    struct chunk_header header;
    struct fault ignored;

    *memory = draft->len + CHUNK_OVERHEAD_MAX;
    if (!draft->stored)
        return 0;
    if (chunk_header_parse(draft->bytes, draft->len, &header, &ignored) < 0 ||
        header.nbytes > draft->decoded)
        return -EINVAL;
    *memory = header.nbytes;
    return 0;
}

static int put_draft(struct fs *fs, struct node *node,
                     const struct chunk_draft *draft, struct fault *fault)
{
    const struct putting putting = {
        .edit.run = put,
        .content = { draft->bytes, draft->len, draft->stored },
        .opened = draft->opened,
    };
    size_t memory;
    int r = check_bytes(draft, &memory);

    if (r < 0)
        return r;
    draft_memory_begin(fs, memory);
    r = chunk_edit_run(fs, node, &putting.edit, fault);
    draft_memory_end(fs, memory);
    return r == -ERANGE || r == -ENOENT ? -ESTALE : r;
}

int chunk_draft_commit(struct fs *fs, struct node *node,
                       struct chunk_draft *draft)
{
    struct fault fault = FAULT_NONE;
    int r;

    begin(draft);
    r = lost_ranges_error(&draft->refused);
    if (r == 0 && draft->changed && draft->len > 0) {
        r = put_draft(fs, node, draft, &fault);
        draft->changed = r < 0;
        if (r < 0 && r != -EINVAL && r != -ESTALE && r != -EACCES)
            report_fault(&fs->nodes, node, NULL, r, &fault);
        kernel_forget_attributes(fs, node);
    }
    end(draft);
    return r;
}
