/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_layer_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum {
    /* Of a name in the header: its bytes, a NUL, and the length of the
       content. */
    NAME_SUM_LEN = METALAYER_NAME_MAX + 1 + 4,
};

static bool is_checked(const struct frame *frame)
{
    return frame->sums && !frame->unchecked;
}

uint64_t frame_sums_of_names(const struct metalayer *layers, size_t n)
{
    uint8_t bytes[FRAME_METALAYERS_MAX * NAME_SUM_LEN];
    size_t at = 0;

    for (size_t i = 0; i < n && i < FRAME_METALAYERS_MAX; i++) {
        size_t len = strlen(layers[i].name) + 1;

        memcpy(bytes + at, layers[i].name, len);
        store_le32(bytes + at + len, layers[i].len);
        at += len + sizeof(uint32_t);
    }
    return frame_sums_of_bytes(bytes, at);
}

/* Record damage of metalayers, unless another state has replaced this one. */
static int mismatch(const struct frame *frame, uint64_t off, const char *what,
                    struct fault *fault)
{
    int r = frame_fault(frame, -EBADMSG, off, what, fault);

    fault->mismatch = true;
    return frame_check_kept(frame, r, fault);
}

int frame_check_names(const struct frame *frame, const struct metalayer *layers,
                      size_t n, struct fault *fault)
{
    if (!is_checked(frame) ||
        (n == frame->sums->nfixed &&
         frame_sums_of_names(layers, n) == frame->sums->names))
        return 0;
    return mismatch(frame, frame->base + FRAME_E_METALAYERS_OFF,
                    "names of metalayers do not match their sum", fault);
}

/* Length of the start of the trailer, before the first vlmetalayer. */
static uint64_t start_len(const struct frame *frame, uint64_t start,
                          const struct metalayer *layers, size_t n)
{
    if (n > 0)
        return layers[0].off - FRAME_VALUE_HEAD_LEN - start;
    return frame->trailer_len - FRAME_TRAILER_END_LEN;
}

int frame_check_trailer(const struct frame *frame,
                        const struct metalayer *layers, size_t n,
                        struct fault *fault)
{
    uint64_t start = frame->base + frame->info.frame_len - frame->trailer_len;
    uint64_t len = start_len(frame, start, layers, n);
    uint8_t *bytes;
    int r;

    if (!is_checked(frame))
        return 0;
    if (n != frame->sums->nvl || len > frame->trailer_len)
        return mismatch(frame, start, "the trailer does not match its sum",
                        fault);
    bytes = malloc((size_t)len);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, start, bytes, (size_t)len, fault);
    if (r == 0 &&
        frame_sums_of_bytes(bytes, (size_t)len) != frame->sums->trailer)
        r = mismatch(frame, start, "the trailer does not match its sum", fault);
    free(bytes);
    return r;
}

bool frame_layer_is_summed(const struct frame *frame,
                           const struct metalayer *layer, const uint8_t *bytes)
{
    const struct frame_sums *sums = frame->sums;
    bool fixed = layer->kind == METALAYER_FIXED;
    size_t no;

    if (!is_checked(frame))
        return true;
    if (layer->no >= (fixed ? sums->nfixed : sums->nvl))
        return false;
    no = layer->no + (fixed ? sums->nvl : 0);
    return load_le64(sums->layers + no * FRAME_GUARD_LAYER_LEN) ==
           frame_sums_of_bytes(bytes, layer->len);
}

int frame_check_vl(const struct frame *frame, const struct metalayer *layer,
                   const uint8_t *bytes, struct fault *fault)
{
    if (layer->kind == METALAYER_FIXED ||
        frame_layer_is_summed(frame, layer, bytes))
        return 0;
    return mismatch(frame, layer->off, "a vlmetalayer does not match its sum",
                    fault);
}
