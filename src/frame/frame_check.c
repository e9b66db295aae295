/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame_layer_sums.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"
#include "frame/frame_tags.h"
#include "frame/metalayer.h"

enum {
    /* Longer contents of metalayers are not decoded. */
    CHECK_CONTENT_MAX = 64 << 20,
    /* After this many stored chunks, the rest are not compared. */
    CHECK_PLACES_MAX = 2 << 20,
};

/* The place of a stored chunk; 16 bytes. */
struct place {
    uint64_t off;
    uint32_t cbytes;
    uint32_t chunk_no;
};

struct check {
    struct frame *frame;
    void (*report)(void *context, int error, const struct fault *fault);
    void *context;
    struct place *places;
    size_t nplaces;
    size_t capacity;
    size_t nread;   /* stored chunks whose headers were read */
    uint64_t total; /* sum of the cbytes of `places` */
};

/* Report a fault in the frame.  Returns 0 after a report; returns errors that
   are not the frame's fault. */
static int report(const struct check *check, int error,
                  const struct fault *fault)
{
    if (error != -EBADMSG && error != -ENOTSUP)
        return error;
    check->report(check->context, error, fault);
    return 0;
}

/* Note a metalayer of the header that does not match its sum.  Other programs
   overwrite these, and leave the sums as they are. */
static void note_change(const struct check *check,
                        const struct metalayer *layer, const uint8_t *content)
{
    struct fault fault;

    if (layer->kind != METALAYER_FIXED ||
        frame_layer_is_summed(check->frame, layer, content))
        return;
    frame_fault(check->frame, 0, layer->off,
                "a metalayer of the header is not as framefs has written it",
                &fault);
    check->report(check->context, 0, &fault);
}

static int check_metalayer(const struct check *check,
                           const struct metalayer *layer)
{
    struct fault fault = FAULT_NONE;
    uint8_t *content = NULL;
    ssize_t len = metalayer_read(check->frame, layer, CHECK_CONTENT_MAX,
                                 &content, &fault);

    if (len >= 0)
        note_change(check, layer, content);
    free(content);
    return len < 0 && len != -E2BIG ? report(check, (int)len, &fault) : 0;
}

static int check_metalayers(const struct check *check)
{
    struct metalayer_list list = { 0 };
    struct fault fault = FAULT_NONE;
    int r = metalayer_list_read(check->frame, &list, &fault);

    if (r < 0)
        return report(check, r, &fault);
    for (size_t i = 0; i < list.nlayers && r == 0; i++)
        r = check_metalayer(check, &list.layers[i]);
    metalayer_list_free(&list);
    return r;
}

static int add_place(struct check *check, const struct place *place)
{
    if (check->nplaces == check->capacity) {
        size_t capacity =
            check->capacity ? 2 * check->capacity : FRAME_SOURCE_BATCH;
        struct place *places =
            realloc(check->places, capacity * sizeof(places[0]));

        if (!places)
            return -ENOMEM;
        check->places = places;
        check->capacity = capacity;
    }
    check->places[check->nplaces++] = *place;
    check->total += place->cbytes;
    return 0;
}

/* A batch of entries. */
struct batch {
    uint64_t first; /* number of the first one */
    size_t n;
    int64_t raw[FRAME_SOURCE_BATCH];
    struct frame_entry entries[FRAME_SOURCE_BATCH];
    struct frame_sizes sizes[FRAME_SOURCE_BATCH];
};

/* Record where the stored chunks of a batch lie.  This skips damaged chunks,
   because opening them finds the damage. */
static int add_places(struct check *check, struct batch *batch)
{
    struct frame_entry *entries = batch->entries;
    struct frame_sizes *sizes = batch->sizes;
    struct fault fault = FAULT_NONE;
    int r;

    for (size_t i = 0; i < batch->n; i++)
        if (frame_parse_entry(check->frame, batch->first + i, batch->raw[i],
                              &entries[i], &fault) < 0)
            entries[i].special = true;
    r = frame_source_sizes_of(check->frame, entries, batch->n, sizes, &fault);
    if (r < 0)
        return report(check, r, &fault);
    for (size_t i = 0; i < batch->n && r == 0; i++) {
        struct place place = {
            .off = entries[i].place,
            .cbytes = sizes[i].cbytes,
            .chunk_no = (uint32_t)(batch->first + i),
        };

        if (entries[i].special)
            continue;
        check->nread++;
        if (sizes[i].error == 0)
            r = add_place(check, &place);
    }
    return r;
}

static int collect_places(struct check *check)
{
    struct frame *frame = check->frame;
    uint64_t nchunks = frame->info.nchunks;
    struct batch *batch = malloc(sizeof(*batch));
    struct fault fault = FAULT_NONE;
    int r = 0;
    size_t n;

    if (!batch)
        return -ENOMEM;
    /* After two periods, repeating entries show nothing new. */
    if (nchunks > 2 * index_period(frame->index))
        nchunks = 2 * index_period(frame->index);
    /* Stop when chunks take up more than cbytes, because some of them must then
       overlap, and those read so far show it. */
    for (uint64_t first = 0;
         first < nchunks && check->nread < CHECK_PLACES_MAX &&
         check->total <= frame->info.cbytes && r == 0;
         first += n) {
        uint64_t rest = nchunks - first;
        struct frame_entry entry;

        n = (size_t)frame_special_run(frame, first, &entry);
        if (n > 0)
            continue;
        n = rest < FRAME_SOURCE_BATCH ? (size_t)rest : FRAME_SOURCE_BATCH;
        r = frame_read_raw(frame, first, n, batch->raw, &fault);
        if (r < 0) {
            r = report(check, r, &fault);
            break;
        }
        if (frame->info.sparse)
            continue;
        batch->first = first;
        batch->n = n;
        r = add_places(check, batch);
    }
    free(batch);
    return r;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return (x->chunk_no > y->chunk_no) - (x->chunk_no < y->chunk_no);
}

static void compare_all_places(const struct check *check)
{
    uint64_t end = 0;

    if (check->nplaces > 0)
        qsort(check->places, check->nplaces, sizeof(check->places[0]),
              compare_places);
    for (size_t i = 0; i < check->nplaces; i++) {
        const struct place *place = &check->places[i];

        if (place->off < end) {
            struct fault fault;

            fault_set(&fault, -EBADMSG, place->off,
                      "chunk overlaps another one");
            fault.chunk_no = place->chunk_no;
            check->report(check->context, -EBADMSG, &fault);
        }
        if (place->off + place->cbytes > end)
            end = place->off + place->cbytes;
    }
}

/* Do not compare the places of sparse frames, because their chunk files may be
   shared: old releases used some ids twice.  Format: sparse-frame.md, 3. */
static int check_places(struct check *check)
{
    bool sparse = check->frame->info.sparse;
    int r;

    if (!check->frame->index)
        return 0;
    r = collect_places(check);
    if (r == 0 && !sparse)
        compare_all_places(check);
    free(check->places);
    return r;
}

static int check_sizes(const struct check *check)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (!check->frame->walk)
        return 0;
    r = frame_walk_check(check->frame->walk, &fault);
    return r < 0 ? report(check, r, &fault) : 0;
}

/* Report a guard that was made again: its next damage may be one too many. */
static int check_guard(const struct check *check)
{
    const struct frame *frame = check->frame;
    struct fault fault;
    int r;

    if (!frame->guard_damaged || frame->unchecked)
        return 0;
    r = frame_fault(frame, -EBADMSG, frame->stamp_off,
                    "the guard before this is damaged, and header and index "
                    "are not",
                    &fault);
    return report(check, r, &fault);
}

/* Report damaged tags, because nobody can tell old chunks by them. */
static int check_tags(const struct check *check)
{
    const struct frame_tags *tags;
    struct fault fault = FAULT_NONE;
    int r = frame_get_tags(check->frame, &tags, &fault);

    if (r < 0 || !tags || !tags->damaged)
        return r;
    r = frame_fault(check->frame, -EBADMSG, check->frame->tags_off,
                    "the tags of chunks are damaged, and the index is not",
                    &fault);
    return report(check, r, &fault);
}

int frame_check(struct frame *frame,
                void (*report_fault)(void *context, int error,
                                     const struct fault *fault),
                void *context)
{
    struct check check = {
        .frame = frame,
        .report = report_fault,
        .context = context,
    };
    int r = check_guard(&check);

    if (r == 0)
        r = check_tags(&check);
    if (r == 0)
        r = check_metalayers(&check);
    if (r == 0)
        r = check_places(&check);
    if (r == 0)
        r = check_sizes(&check);
    return r;
}
