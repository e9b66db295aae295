/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_private.h"
#include "writer/frame_extents.h"
#include "writer/frame_writer_private.h"

/* The changes of both writers do not go together. */
enum {
    CONFLICT = 1
};

/* Stamps of one frame differ by less. */
static const uint64_t STAMPS_MAX = UINT64_C(1) << 32;

static int conflict(struct fault *fault, const char *what)
{
    fault_set(fault, -ESTALE, 0, what);
    return CONFLICT;
}

/* The three states of an index, a piece at a time: the one that both writers
   began with, and what each has made of it. */
struct entries {
    uint64_t first; /* number of the first chunk */
    size_t n;
    int64_t base[CHUNK_TABLE_PIECE];
    int64_t ours[CHUNK_TABLE_PIECE];
    int64_t theirs[CHUNK_TABLE_PIECE];
};

struct rebase {
    struct frame_writer *writer;
    struct frame *base;
    struct frame *newest;
    const struct frame_rebase *how;
    struct frame_writer next; /* only reads `newest` */
    struct frame_extents extents;
};

/* Do both frames have chunks of the same number, size and kind? */
static bool are_alike(const struct frame_info *a, const struct frame_info *b)
{
    uint8_t headers[2][FRAME_E_METALAYERS_OFF];
    struct frame_info info = *a;

    frame_encode_fixed(&info, false, false, headers[0]);
    info = *b;
    info.frame_len = a->frame_len;
    info.cbytes = a->cbytes;
    frame_encode_fixed(&info, false, false, headers[1]);
    return a->nchunks == b->nchunks && a->format == b->format &&
           memcmp(headers[0], headers[1], sizeof(headers[0])) == 0;
}

static bool are_same_layers(const struct layers *a, const struct layers *b)
{
    if (a->nlayers != b->nlayers)
        return false;
    for (size_t i = 0; i < a->nlayers; i++)
        if (strcmp(a->layers[i].name, b->layers[i].name) != 0 ||
            a->layers[i].len != b->layers[i].len ||
            memcmp(a->layers[i].bytes, b->layers[i].bytes, a->layers[i].len) !=
                0)
            return false;
    return true;
}

/* Can the changes of both writers go together, whatever the chunks? */
static bool may_go_together(const struct rebase *rebase)
{
    const struct frame_writer *writer = rebase->writer;
    const struct frame_info *base = frame_get_info(rebase->base);

    return writer->info.sparse && !writer->variable && !writer->rewrite &&
           !writer->header_changed && !writer->edited &&
           !rebase->newest->walk && base->format == FRAME_FORMAT_E &&
           writer->info.nchunks == base->nchunks &&
           writer->info.nbytes == base->nbytes &&
           are_alike(base, frame_get_info(rebase->newest));
}

/*
 * Is it the frame that the writer began with, or has another program put a new
 * one in its place?  In that, ids that are used again may stand for other
 * chunks.  Stamps of one frame count its commits, from a random number on.
 */
static bool is_same_frame(const struct rebase *rebase)
{
    const struct frame *newest = rebase->newest;

    return newest->stamp_off > 0 &&
           memcmp(newest->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) ==
               0 &&
           rebase->next.stamp - rebase->writer->stamp + STAMPS_MAX <
               2 * STAMPS_MAX;
}

/* Read index and metalayers of the newest state. */
static int load_newest(struct rebase *rebase, struct fault *fault)
{
    struct frame_writer *next = &rebase->next;
    int r = frame_load_sums(next, rebase->newest, fault);

    if (r < 0)
        return r;
    next->info = rebase->newest->info;
    r = frame_extents_read(next, rebase->newest, &rebase->extents, fault);
    if (r == 0)
        r = layers_read(rebase->newest, &next->fixed, &next->vl, fault);
    if (r == 0)
        r = frame_load_stamp(next, rebase->newest, fault);
    if (r == 0 && !is_same_frame(rebase))
        r = conflict(fault, "another program has made the frame anew");
    if (r == 0 && !are_same_layers(&next->fixed, &rebase->writer->fixed))
        r = conflict(fault, "another program has changed the metalayers");
    return r;
}

static int read_entries(struct rebase *rebase, struct entries *entries,
                        struct fault *fault)
{
    int r = index_read(rebase->base->index, entries->first, entries->n,
                       entries->base, fault);

    for (size_t i = 0; i < entries->n && r == 0; i++)
        entries->base[i] = frame_plain_entry(entries->base[i]);
    if (r == 0)
        r = chunk_table_read(rebase->writer->chunks, entries->first, entries->n,
                             entries->ours);
    if (r == 0)
        r = chunk_table_read(rebase->next.chunks, entries->first, entries->n,
                             entries->theirs);
    if (r == -ESTALE) /* the server no longer has the older index */
        return conflict(fault, "another program has changed the frame");
    return r < 0 && !fault->what ? fault_set(fault, r, 0, NULL) : r;
}

/* Put a chunk of ours into the newest state. */
static int take_ours(struct rebase *rebase, uint64_t chunk_no,
                     const struct table_chunk *ours)
{
    struct frame_writer *next = &rebase->next;
    int r = 0;

    if (ours->entry >= 0)
        r = sum_places_set(
            &next->places, (uint64_t)ours->entry, 1,
            sum_places_have(&rebase->writer->places, (uint64_t)ours->entry));
    if (r == 0)
        r = chunk_table_set(next->chunks, chunk_no, ours);
    if (r == 0)
        chunk_tags_put(&next->tags, chunk_no, 1,
                       chunk_tags_get(&rebase->writer->tags, chunk_no));
    return r;
}

/* Merge the entry of a chunk.  If they are the same, the chunk is, too, because
   no id is used twice. */
static int merge_entry(struct rebase *rebase, const struct entries *entries,
                       size_t i, struct fault *fault)
{
    const struct frame_rebase *how = rebase->how;
    const struct table_chunk ours = { .entry = entries->ours[i],
                                      .cbytes = entries->ours[i] >= 0 };
    uint64_t chunk_no = entries->first + i;
    bool changed = entries->ours[i] != entries->base[i];

    if (entries->theirs[i] == entries->ours[i])
        return 0;
    if (entries->theirs[i] == entries->base[i])
        return take_ours(rebase, chunk_no, &ours);
    if (!changed && !how->has_changed(how->context, chunk_no))
        return how->note_theirs(how->context, chunk_no);
    conflict(fault, "another program has changed this chunk, too");
    fault->chunk_no = (int64_t)chunk_no;
    return CONFLICT;
}

static int merge_entries(struct rebase *rebase, struct fault *fault)
{
    uint64_t nchunks = rebase->writer->info.nchunks;
    struct entries *entries = malloc(sizeof(*entries));
    int r = 0;

    if (!entries)
        return fault_set(fault, -ENOMEM, 0, NULL);
    for (uint64_t first = 0; first < nchunks && r == 0;
         first += CHUNK_TABLE_PIECE) {
        uint64_t left = nchunks - first;

        entries->first = first;
        entries->n =
            left < CHUNK_TABLE_PIECE ? (size_t)left : (size_t)CHUNK_TABLE_PIECE;
        r = read_entries(rebase, entries, fault);
        for (size_t i = 0; i < entries->n && r == 0; i++)
            r = merge_entry(rebase, entries, i, fault);
    }
    free(entries);
    return r < 0 && !fault->what ? fault_set(fault, r, 0, NULL) : r;
}

static bool are_same_keys(const struct frame_keys *a,
                          const struct frame_keys *b)
{
    return a->n == b->n &&
           memcmp(a->keys, b->keys, (size_t)a->n * sizeof(*a->keys)) == 0;
}

/* Take the checks of chunks that only the other writer has changed.  The table
   of `next` is that of the merged state. */
static int merge_checks(struct rebase *rebase, const struct frame_keys *theirs)
{
    struct frame_writer *writer = rebase->writer;
    int r = 0;

    for (uint64_t i = 0; i < theirs->n && r == 0; i++) {
        struct table_chunk ours;
        struct table_chunk merged;

        r = chunk_table_get(writer->chunks, i, &ours);
        if (r == 0)
            r = chunk_table_get(rebase->next.chunks, i, &merged);
        if (r == 0 && ours.entry != merged.entry)
            writer->keys.checks[i] = theirs->checks[i];
    }
    return r;
}

/* Merge the keys of chunks.  If both writers have the same ones, neither has
   moved chunks. */
static int merge_keys(struct rebase *rebase, struct fault *fault)
{
    struct frame_writer *writer = rebase->writer;
    const struct frame_keys *theirs;
    int r = frame_get_keys(rebase->newest, &theirs, fault);

    if (r == -EBADMSG || r == -ENOTSUP || r == -EFBIG)
        theirs = NULL;
    else if (r < 0)
        return r;
    if (!writer->has_keys && !theirs)
        return 0;
    if (!writer->has_keys || !theirs || !are_same_keys(&writer->keys, theirs))
        return conflict(fault,
                        "another program has changed the keys of chunks");
    r = merge_checks(rebase, theirs);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (theirs->next > writer->keys.next)
        writer->keys.next = theirs->next;
    return 0;
}

/* Ids up to those of the newest state are in use. */
static int reserve_ids(struct rebase *rebase)
{
    uint64_t end = chunk_table_end(rebase->next.chunks);

    frame_alloc_note_named(rebase->writer->alloc, end);
    return frame_alloc_reserve(rebase->writer->alloc, end);
}

static void swap_layers(struct layers *a, struct layers *b)
{
    struct layers was = *a;

    *a = *b;
    *b = was;
}

/* Go on from the newest state.  Nothing can fail any more. */
static void take_over(struct rebase *rebase, const struct store_stat *stat)
{
    struct frame_writer *writer = rebase->writer;
    struct frame_writer *next = &rebase->next;
    struct frame *newest = rebase->newest;
    struct chunk_table *chunks = writer->chunks;

    writer->chunks = next->chunks;
    next->chunks = chunks;
    sum_places_free(&writer->places);
    writer->places = next->places;
    next->places = (struct sum_places){ 0 };
    chunk_tags_free(&writer->tags);
    writer->tags = next->tags;
    next->tags = (struct chunk_tags){ 0 };
    writer->guarded = next->guarded;
    swap_layers(&writer->vl, &next->vl);
    pthread_mutex_lock(&writer->lock);
    writer->info = next->info;
    pthread_mutex_unlock(&writer->lock);
    writer->stamp = next->stamp;
    memcpy(writer->header, newest->header, sizeof(writer->header));
    writer->header_known = true;
    writer->stat = *stat;
    frame_watch_state(newest, frame_alloc_watch(writer->alloc));
    newest->generation = generation_get(writer->generation);
}

static int run(struct rebase *rebase, struct fault *fault)
{
    struct store_stat stat;
    int r = load_newest(rebase, fault);

    if (r == 0)
        r = merge_entries(rebase, fault);
    if (r == 0)
        r = merge_keys(rebase, fault);
    if (r != 0)
        return r;
    r = reserve_ids(rebase);
    if (r == 0)
        r = store_object_stat(rebase->newest->object, &stat);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    take_over(rebase, &stat);
    return 0;
}

int frame_writer_rebase(struct frame_writer *writer, struct frame *base,
                        struct frame *newest, const struct frame_rebase *how,
                        struct fault *fault)
{
    struct rebase rebase = {
        .writer = writer, .base = base, .newest = newest, .how = how
    };
    int r;

    *fault = FAULT_NONE;
    if (!may_go_together(&rebase))
        return conflict(fault, "another program has changed the frame");
    r = run(&rebase, fault);
    frame_extents_fini(&rebase.extents);
    chunk_table_free(rebase.next.chunks);
    sum_places_free(&rebase.next.places);
    chunk_tags_free(&rebase.next.tags);
    layers_free(&rebase.next.fixed);
    layers_free(&rebase.next.vl);
    return r;
}
