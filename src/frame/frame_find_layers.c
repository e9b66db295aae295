/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "frame/array_meta.h"
#include "frame/array_sum.h"
#include "frame/frame_layer_sums.h"

enum {
    LAYERS_MAX = 64 << 20, /* bytes of metalayers of which sums are made */
};

/* Compute the sum of the content of a metalayer.  `array` is NULL if it does
   not make the frame an array. */
static int sum_layer(struct frame *frame, const struct metalayer *layer,
                     uint64_t *array, uint8_t *dst, struct fault *fault)
{
    uint8_t *bytes = malloc((size_t)layer->len + 1);
    int r;

    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, layer->off, bytes, layer->len, fault);
    if (r == 0)
        store_le64(dst, frame_sums_of_bytes(bytes, layer->len));
    if (r == 0 && array)
        *array = array_sum(bytes, layer->len);
    free(bytes);
    return r;
}

/* Compute the sum of the start of the trailer. */
static int sum_trailer(struct frame *frame, const struct metalayer *first,
                       uint64_t *out, struct fault *fault)
{
    uint64_t start = frame->base + frame->info.frame_len - frame->trailer_len;
    size_t len = first ? (size_t)(first->off - FRAME_VALUE_HEAD_LEN - start)
                       : frame->trailer_len - (size_t)FRAME_TRAILER_END_LEN;
    uint8_t *bytes = malloc(len);
    int r;

    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, start, bytes, len, fault);
    if (r == 0)
        *out = frame_sums_of_bytes(bytes, len);
    free(bytes);
    return r;
}

/* Do metalayers take more bytes than are read at once? */
static bool are_too_long(const struct metalayer_list *list)
{
    uint64_t total = 0;

    for (size_t i = 0; i < list->nlayers; i++)
        total += list->layers[i].len;
    return total > LAYERS_MAX;
}

/* Compute the sums of the layers of a list, fixed ones first. */
static int sum_list(struct frame *frame, const struct metalayer_list *list,
                    size_t nfixed, struct frame_sums *sums, struct fault *fault)
{
    bool ignored;
    const struct metalayer *array = array_meta_find(list, &ignored);
    int r = 0;

    for (size_t i = 0; i < list->nlayers && r == 0; i++) {
        size_t no = i < nfixed ? i + sums->nvl : i - nfixed;

        r = sum_layer(frame, &list->layers[i],
                      &list->layers[i] == array ? &sums->array : NULL,
                      sums->layers + no * FRAME_GUARD_LAYER_LEN, fault);
    }
    if (r == 0)
        r = sum_trailer(frame, sums->nvl > 0 ? &list->layers[nfixed] : NULL,
                        &sums->trailer, fault);
    return r;
}

int frame_find_layers(struct frame *frame, struct frame_sums *out,
                      struct fault *fault)
{
    struct metalayer_list list;
    size_t nfixed = 0;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    while (nfixed < list.nlayers && list.layers[nfixed].kind == METALAYER_FIXED)
        nfixed++;
    out->nfixed = nfixed;
    out->nvl = list.nlayers - nfixed;
    out->names = frame_sums_of_names(list.layers, nfixed);
    out->layers = malloc(list.nlayers * FRAME_GUARD_LAYER_LEN + 1);
    if (!out->layers)
        r = fault_set(fault, -ENOMEM, 0, NULL);
    else if (are_too_long(&list))
        r = fault_set(fault, -E2BIG, 0, NULL);
    else
        r = sum_list(frame, &list, nfixed, out, fault);
    metalayer_list_free(&list);
    return r;
}
