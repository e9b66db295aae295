/* SPDX-License-Identifier: BSD-3-Clause */
#include "edit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/retry.h"
#include "chunk/chunk_encode.h"
#include "input.h"
#include "interrupt.h"
#include "source.h"
#include "store/store_local.h"
#include "writeback/lease.h"

enum {
    PATIENCE = 10, /* seconds to wait for a process that has the lease */
};

int edit_report(const struct edit *edit, int error, const struct fault *fault)
{
    source_report(edit->path, error, fault);
    return error;
}

static int watch(void *context, uint64_t done, uint64_t total)
{
    struct edit *edit = context;

    progress_update(&edit->progress, done, total);
    return interrupt_seen() ? -EINTR : 0;
}

/* Open the store of a frame, and take the lease on the frame.  The lease ends
   when nobody uses the store any more. */
static int open_leased(const char *path, struct store **out,
                       struct fault *fault)
{
    struct retry retry = RETRY_REPLACED_IN_LINE;
    int r;

    /* Another program may replace the frame while this process waits. */
    do {
        r = source_open(path, 0, STORE_WRITE, out, fault);
        if (r < 0)
            return r;
        r = lease_take(*out, PATIENCE, interrupt_seen, fault);
        if (r < 0)
            store_close(*out);
    } while (r == -ESTALE && retry_wait(&retry));
    return r;
}

static int open_frame(struct edit *edit, struct fault *fault)
{
    struct store *store;
    int r = open_leased(edit->path, &store, fault);

    if (r < 0)
        return r;
    r = frame_open(store, 0, &edit->frame, fault);
    store_close(store);
    if (r < 0)
        return r;
    return frame_writer_open(edit->frame, &edit->writer, fault);
}

int edit_open(const char *path, struct edit *out)
{
    struct edit edit = { .path = path };
    struct fault fault = FAULT_NONE;
    int r;

    interrupt_catch();
    r = open_frame(&edit, &fault);
    if (r < 0) {
        edit_report(&edit, r, &fault);
        edit_close(&edit);
        return r;
    }
    *out = edit;
    return 0;
}

int edit_open_chunks(const char *path, struct edit *out)
{
    struct edit edit;
    int r = edit_open(path, &edit);

    if (r < 0)
        return r;
    r = source_check_no_array(path, edit.frame);
    if (r < 0) {
        edit_close(&edit);
        return r;
    }
    *out = edit;
    return 0;
}

void edit_close(struct edit *edit)
{
    frame_writer_close(edit->writer);
    frame_close(edit->frame);
    interrupt_die();
}

static int commit(struct edit *edit,
                  int (*how)(struct frame_writer *writer, struct frame **out,
                             struct fault *fault))
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r;

    if (interrupt_seen())
        return -EINTR;
    progress_start(&edit->progress);
    frame_writer_set_progress(edit->writer, watch, edit);
    r = how(edit->writer, &frame, &fault);
    progress_clear(&edit->progress);
    if (r < 0)
        return edit_report(edit, r, &fault);
    frame_close(edit->frame);
    edit->frame = frame;
    return 0;
}

int edit_end(struct edit *edit, int r)
{
    if (r == 0)
        r = commit(edit, frame_writer_commit);
    edit_close(edit);
    return r;
}

int edit_compact(struct edit *edit, bool sums)
{
    struct fault fault = FAULT_NONE;
    int r = sums ? frame_writer_add_sums(edit->writer, edit->frame, &fault) : 0;

    if (r < 0) {
        source_report(edit->path, r, &fault);
        return r;
    }
    return commit(edit, frame_writer_compact);
}

int edit_chunk_params(const struct edit *edit, struct chunk_params *out)
{
    *out = frame_chunk_params(frame_writer_get_info(edit->writer));
    if (chunk_params_check(out) == 0)
        return 0;
    log_error("%s: chunks of this kind can be read, but not made", edit->path);
    return -ENOTSUP;
}

/* Encode a chunk into `buf`, which has CHUNK_OVERHEAD_MAX bytes more than
   `bytes`.  Returns its encoded size or an error. */
static ssize_t encode(const struct chunk_params *params, const uint8_t *bytes,
                      size_t len, uint8_t *buf)
{
    struct chunk_encoder *encoder;
    ssize_t n = chunk_encoder_new(cpu_features(), &encoder);

    if (n < 0)
        return n;
    n = chunk_encode(encoder, params, &(struct chunk_content){ bytes, len },
                     buf, len + CHUNK_OVERHEAD_MAX);
    chunk_encoder_free(encoder);
    return n;
}

static int encode_chunk(struct edit *edit, const uint8_t *bytes, size_t len,
                        struct frame_written *out)
{
    struct fault fault = FAULT_NONE;
    struct chunk_params params;
    uint8_t *buf;
    ssize_t n;
    int r = edit_chunk_params(edit, &params);

    if (r < 0)
        return r;
    buf = malloc(len + CHUNK_OVERHEAD_MAX);
    n = buf ? encode(&params, bytes, len, buf) : -ENOMEM;
    r = n < 0 ? (int)n
              : frame_writer_write(edit->writer, buf, (size_t)n, out, &fault);
    free(buf);
    return r < 0 ? edit_report(edit, r, &fault) : 0;
}

/* Report why a chunk can't be put into the index. */
static int report_place(const struct edit *edit, uint64_t chunk_no,
                        uint32_t nbytes, int error)
{
    const struct frame_info *info = frame_writer_get_info(edit->writer);

    if (error == -ERANGE)
        log_error("%s: there is no chunk %" PRIu64 ", but %" PRIu64, edit->path,
                  chunk_no, info->nchunks);
    else if (error == -EINVAL)
        log_error("%s: chunk %" PRIu64 " can't have %" PRIu32
                  " bytes, all but the last have %" PRIu32,
                  edit->path, chunk_no, nbytes, info->chunksize);
    else
        edit_report(edit, error, &FAULT_NONE);
    return error;
}

int edit_put_chunk(struct edit *edit, uint64_t chunk_no, const char *input,
                   int (*put)(struct frame_writer *writer, uint64_t chunk_no,
                              const struct frame_written *written))
{
    struct frame_written written;
    uint8_t *bytes;
    ssize_t len = input_read_chunk(input, &bytes);
    int r;

    if (len < 0)
        return (int)len;
    r = encode_chunk(edit, bytes, (size_t)len, &written);
    free(bytes);
    if (r < 0)
        return r;
    r = put(edit->writer, chunk_no, &written);
    if (r < 0) {
        frame_writer_drop(edit->writer, &written);
        report_place(edit, chunk_no, written.nbytes, r);
    }
    return r;
}
