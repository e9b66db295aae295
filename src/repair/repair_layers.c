/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/array_meta.h"
#include "frame/frame_layer_sums.h"
#include "repair/repair_private.h"
#include "writer/frame_writer.h"

enum {
    LAYER_MAX = 64 << 20, /* longest metalayer that is saved, in bytes */
    SEARCH_MAX = 4096,    /* bytes of a metalayer in which a damaged bit is
                          found; each bit takes a sum of all */
    CANDIDATES_MAX = 4,
};

/* Properties that the new frame may need for a metalayer. */
struct candidate {
    uint32_t typesize;
    uint64_t nbytes;
};

static uint64_t saved_nbytes(const struct repair_list *list)
{
    uint64_t nbytes = 0;

    for (size_t i = 0; i < list->n; i++)
        nbytes += repair_count(&list->chunks[i]) * list->chunks[i].nbytes;
    return nbytes;
}

/* The typesize that all good chunks share; 0 if they differ. */
static uint32_t common_typesize(const struct repair_list *list)
{
    uint32_t common = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct repair_chunk *chunk = &list->chunks[i];

        if (chunk->state != REPAIR_GOOD)
            continue;
        if (common > 0 && chunk->typesize != common)
            return 0;
        common = chunk->typesize;
    }
    return common;
}

/* Can zeros extend the frame to the length in the header? */
static bool can_pad(const struct repair *repair, uint64_t nbytes)
{
    const struct frame_info *info = &repair->view.info;

    return repair->header_known && info->nbytes > nbytes &&
           info->chunksize > 0 && nbytes % info->chunksize == 0 &&
           size_pieces(info->nbytes, info->chunksize) <=
               FRAME_WRITER_CHUNKS_MAX;
}

/*
 * List variants of the new frame, because header and chunks may disagree about
 * the typesize, and because zeros can replace missing chunks that the header
 * counts.  The first candidate is the frame without such changes.  Returns the
 * number of candidates.
 */
static unsigned list_candidates(const struct repair *repair,
                                struct candidate out[CANDIDATES_MAX])
{
    const struct frame_info *info = &repair->view.info;
    uint64_t nbytes = saved_nbytes(&repair->chunks);
    uint32_t typesize = common_typesize(&repair->chunks);
    unsigned n = 0;

    out[n++] = (struct candidate){ info->typesize, nbytes };
    if (can_pad(repair, nbytes))
        out[n++] = (struct candidate){ info->typesize, info->nbytes };
    if (typesize == 0 || typesize == info->typesize)
        return n;
    for (unsigned i = 0; i < n; i++)
        out[n + i] = (struct candidate){ typesize, out[i].nbytes };
    return 2 * n;
}

static int try_candidate(struct repair *repair,
                         const struct candidate *candidate,
                         struct repair_layer *layer, struct fault *fault)
{
    struct frame_info info = repair->view.info;

    info.typesize = candidate->typesize;
    info.nbytes = candidate->nbytes;
    return repair->listener->check_layer(repair->listener->context, &info,
                                         layer, fault);
}

/* Change the new frame as a metalayer needs it. */
static void apply_candidate(struct repair *repair,
                            const struct candidate *candidate,
                            struct repair_layer *layer)
{
    uint64_t nbytes = saved_nbytes(&repair->chunks);

    if (candidate->nbytes > nbytes)
        repair->nbytes_padded = candidate->nbytes - nbytes;
    if (candidate->typesize == repair->view.info.typesize)
        return;
    repair->view.info.typesize = candidate->typesize;
    if (!layer->done)
        layer->done = "is saved, with the typesize of the chunks";
}

/* Check a metalayer, and find a candidate for the new frame that suits it.  The
   fault tells why the first candidate does not. */
static int check_layer(struct repair *repair, struct repair_layer *layer,
                       struct fault *fault)
{
    struct candidate candidates[CANDIDATES_MAX];
    unsigned n = list_candidates(repair, candidates);
    struct fault ignored;
    int r = -EBADMSG;

    for (unsigned i = 0; i < n && r == -EBADMSG; i++) {
        r = try_candidate(repair, &candidates[i], layer,
                          i == 0 ? fault : &ignored);
        if (r == 0)
            apply_candidate(repair, &candidates[i], layer);
    }
    return r;
}

/* Report a metalayer that was changed. */
static void tell(struct repair *repair, const struct metalayer *layer,
                 const struct repair_layer *saved, struct fault *fault)
{
    const struct repair_listener *listener = repair->listener;

    fault->off += layer->off;
    frame_fault_name(&repair->view, fault);
    listener->layer(listener->context, saved, fault);
    repair->result.layers_changed = true;
    repair->result.layers_cut |= saved->lossy;
}

/* Keep a metalayer that would break readers under a name that no reader looks
   for, because a user may still be able to interpret it. */
static int put_aside(struct repair *repair, struct repair_layer *layer)
{
    char name[METALAYER_NAME_MAX + 1];

    layer->done = "is kept as vlmetalayer damaged.NAME";
    layer->lossy = true;
    snprintf(name, sizeof(name), "damaged.%.23s", layer->name);
    return layers_set(&repair->vl, name, layer->content, (uint32_t)layer->len);
}

static int add_layer(struct repair *repair, struct layers *to,
                     const struct repair_layer *layer)
{
    int r = layers_set(to, layer->name[0] ? layer->name : "usermeta",
                       layer->content, (uint32_t)layer->len);

    repair->result.nlayers += r == 0;
    return r;
}

/* Find the one bit of a metalayer that is damaged, and restore it. */
static bool restore_bit(const struct repair *repair,
                        const struct metalayer *layer,
                        struct repair_layer *saved)
{
    for (size_t bit = 0; bit < 8 * saved->len && saved->len <= SEARCH_MAX;
         bit++) {
        uint8_t mask = (uint8_t)(1u << bit % 8);

        saved->content[bit / 8] ^= mask;
        if (frame_layer_is_summed(&repair->view, layer, saved->content))
            return true;
        saved->content[bit / 8] ^= mask;
    }
    return false;
}

/* Does a metalayer make the frame an array? */
static bool is_array(const struct repair *repair, const struct metalayer *layer)
{
    if (strcmp(layer->name, ARRAY_LAYER_B2ND) == 0)
        return true;
    return strcmp(layer->name, ARRAY_LAYER_CATERVA) == 0 &&
           !layers_find(&repair->fixed, ARRAY_LAYER_B2ND);
}

/* Check what the metalayer of an array says of the places of items.  Returns 0
   or -EBADMSG. */
static int check_array(const struct repair *repair,
                       const struct metalayer *layer,
                       const struct repair_layer *saved, struct fault *fault)
{
    struct metalayer now = *layer;
    int r;

    if (!is_array(repair, layer))
        return 0;
    now.len = (uint32_t)saved->len;
    r = array_meta_check(&repair->view, &now, saved->content, fault);
    if (r < 0)
        fault->off -= layer->off;
    return r;
}

/* Save a metalayer of the header; its content belongs to the new frame. */
static int add_fixed(struct repair *repair, const struct metalayer *layer,
                     struct repair_layer *saved)
{
    struct fault why = FAULT_NONE;
    struct fault ignored;
    int r = check_array(repair, layer, saved, &why);

    if (r < 0 && restore_bit(repair, layer, saved)) {
        saved->done = "is mended";
        r = 0;
    }
    if (repair->listener->check_layer)
        r = check_layer(repair, saved, r == 0 ? &why : &ignored);
    if (r == 0)
        r = check_array(repair, layer, saved, &ignored);
    if (r == 0)
        r = add_layer(repair, &repair->fixed, saved);
    else if (r == -EBADMSG)
        r = put_aside(repair, saved);
    if (r == 0 && saved->done)
        tell(repair, layer, saved, &why);
    return r;
}

static int read_layer(struct repair *repair, const struct metalayer *layer,
                      struct fault *fault)
{
    struct repair_layer saved = { .name = layer->name };
    struct fault ignored;
    ssize_t len = metalayer_read(&repair->view, layer, LAYER_MAX,
                                 &saved.content, &ignored);
    int r = len < 0 ? (int)len : 0;

    if (r == -EBADMSG || r == -ENOTSUP || r == -E2BIG || r == -ENODATA) {
        repair->result.layers_lost = true;
        return 0;
    }
    if (r == 0) {
        saved.len = (size_t)len;
        r = layer->kind == METALAYER_FIXED
                ? add_fixed(repair, layer, &saved)
                : add_layer(repair, &repair->vl, &saved);
        if (r < 0)
            free(saved.content);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* metalayer_list_fixed() or metalayer_list_trailer() */
typedef int list_kind(struct frame *frame, struct metalayer_list *list,
                      struct fault *fault);

/* List the metalayers of one kind.  If their names do not match their sum, list
   those that are found: contents have sums of their own. */
static int list_found(struct repair *repair, list_kind *list_all,
                      struct metalayer_list *list)
{
    struct frame *view = &repair->view;
    struct frame_sums *sums = view->sums;
    struct fault ignored;
    int r = list_all(view, list, &ignored);

    if (r != -EBADMSG && r != -ENODATA)
        return r;
    repair->result.layers_lost = true;
    metalayer_list_free(list);
    view->sums = NULL;
    r = sums ? list_all(view, list, &ignored) : 0;
    view->sums = sums;
    return r == -EBADMSG || r == -ENODATA ? 0 : r;
}

/* Read the metalayers of one kind. */
static int read_kind(struct repair *repair, list_kind *list_all,
                     struct fault *fault)
{
    struct metalayer_list list = { 0 };
    int r = list_found(repair, list_all, &list);

    for (size_t i = 0; i < list.nlayers && r == 0; i++)
        r = read_layer(repair, &list.layers[i], fault);
    metalayer_list_free(&list);
    return r;
}

int repair_read_layers(struct repair *repair, struct fault *fault)
{
    struct frame *view = &repair->view;
    int r = 0;

    if (!view->object || !repair->header_known) {
        repair->result.layers_lost = true;
        return 0;
    }
    if (!repair->frame) {
        /* A trailer may be cut off; let the rest of it extend to the end of the
           file. */
        view->info.frame_len =
            repair->size - view->base + FRAME_TRAILER_END_LEN;
        view->trailer_len = repair->trailer_off > 0
                                ? (uint32_t)(view->base + view->info.frame_len -
                                             repair->trailer_off)
                                : 0;
        repair->result.layers_lost |= repair->trailer_off == 0;
    }
    r = read_kind(repair, metalayer_list_fixed, fault);
    if (r == 0)
        r = read_kind(repair, metalayer_list_trailer, fault);
    return r;
}
