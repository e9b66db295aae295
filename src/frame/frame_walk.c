/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "frame/frame_private.h"
#include "frame/walk_group.h"

_Static_assert((int)WALK_GROUP == (int)FRAME_GUARD_GROUP, "groups have sums");

enum {
    WALK_SLOTS = 8 /* groups whose sizes are kept */
};

/* Sizes of the chunks of one group. */
struct group {
    uint64_t no;
    uint64_t used; /* clock value at the last use; 0: free */
    uint32_t n;
    uint32_t nbytes[WALK_GROUP];
};

/* Locking.  `lock` is a leaf, and no thread holds it while it reads.  Two
   threads may read the same group; one of them then keeps its result. */
struct frame_walk {
    /* Constant once frame_walk_new() returns. */
    struct frame *frame;
    uint64_t ngroups;

    /* Guarded by `lock`. */
    pthread_mutex_t lock;
    uint64_t *starts; /* of groups 0 to nstarts - 1; the last one is also the
                         end of those before */
    uint64_t nstarts;
    uint64_t capacity;       /* capacity of `starts` */
    uint64_t nstored;        /* number of stored chunks in groups whose end is
                                known */
    uint32_t special_nbytes; /* of a special chunk; 0: not known yet */
    struct group slots[WALK_SLOTS];
    uint64_t clock;
    int error; /* error that stops the walk for good, with its fault; or 0 */
    struct fault fault;
};

int frame_walk_new(struct frame *frame, struct frame_walk **out)
{
    struct frame_walk *walk = calloc(1, sizeof(*walk));

    if (!walk)
        return -ENOMEM;
    walk->starts = calloc(1, sizeof(walk->starts[0]));
    if (!walk->starts) {
        free(walk);
        return -ENOMEM;
    }
    pthread_mutex_init(&walk->lock, NULL);
    walk->frame = frame;
    walk->ngroups = walk_group_count(frame);
    walk->capacity = 1;
    walk->nstarts = 1;
    *out = walk;
    return 0;
}

void frame_walk_free(struct frame_walk *walk)
{
    if (!walk)
        return;
    pthread_mutex_destroy(&walk->lock);
    free(walk->starts);
    free(walk);
}

static uint32_t known_special_nbytes(struct frame_walk *walk)
{
    uint32_t nbytes;

    pthread_mutex_lock(&walk->lock);
    nbytes = walk->special_nbytes;
    pthread_mutex_unlock(&walk->lock);
    return nbytes;
}

/* Find the size of special chunks. */
static int find_special_nbytes(struct frame_walk *walk, uint32_t *out,
                               struct fault *fault)
{
    int r;

    *out = known_special_nbytes(walk);
    if (*out > 0)
        return 0;
    r = walk_group_special_nbytes(walk->frame, out, fault);
    if (r < 0)
        return r;
    pthread_mutex_lock(&walk->lock);
    walk->special_nbytes = *out;
    pthread_mutex_unlock(&walk->lock);
    return 0;
}

/* Compare the sizes with their sum, if there is one. */
static int check_group(const struct frame *frame, const struct group *group,
                       struct fault *fault)
{
    if (!frame->sums || frame->unchecked ||
        frame_sums_check_sizes(frame->sums, group->no, group->nbytes, group->n))
        return 0;
    return frame_fault(frame, -EBADMSG, frame->base + FRAME_NBYTES_OFF,
                       "the sizes of the chunks do not match their sum", fault);
}

/* Read all sizes of a group. */
static int load_group(struct frame_walk *walk, uint64_t group_no,
                      struct group *out, struct walk_tally *tally,
                      struct fault *fault)
{
    struct walk_reading *reading = malloc(sizeof(*reading));
    uint32_t special_nbytes = 0;
    int r;

    if (!reading)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = walk_group_read(walk->frame, group_no, reading, fault);
    if (r == 0 && reading->tally.nspecial > 0)
        r = find_special_nbytes(walk, &special_nbytes, fault);
    if (r == 0) {
        out->no = group_no;
        out->n = (uint32_t)reading->n;
        for (size_t i = 0; i < reading->n; i++)
            out->nbytes[i] = reading->entries[i].special
                                 ? special_nbytes
                                 : reading->sizes[i].nbytes;
        *tally = reading->tally;
        tally->nbytes += tally->nspecial * special_nbytes;
        r = check_group(walk->frame, out, fault);
    }
    free(reading);
    return r;
}

/* Keep a group in the slot that was used longest ago. */
static void keep_group_locked(struct frame_walk *walk,
                              const struct group *group)
{
    struct group *oldest = &walk->slots[0];

    for (size_t i = 1; i < WALK_SLOTS; i++)
        if (walk->slots[i].used < oldest->used)
            oldest = &walk->slots[i];
    *oldest = *group;
    oldest->used = ++walk->clock;
}

static int add_start_locked(struct frame_walk *walk, uint64_t start)
{
    if (walk->nstarts == walk->capacity) {
        uint64_t capacity = 2 * walk->capacity;
        uint64_t *starts =
            realloc(walk->starts, capacity * sizeof(walk->starts[0]));

        if (!starts)
            return -ENOMEM;
        walk->starts = starts;
        walk->capacity = capacity;
    }
    walk->starts[walk->nstarts++] = start;
    return 0;
}

/* The end of the part that was walked so far. */
struct progress {
    uint64_t group_no; /* first group whose end is not known */
    uint64_t start;
    uint64_t nstored; /* stored chunks before it */
};

static struct progress get_progress(struct frame_walk *walk)
{
    struct progress progress;

    pthread_mutex_lock(&walk->lock);
    progress.group_no = walk->nstarts - 1;
    progress.start = walk->starts[progress.group_no];
    progress.nstored = walk->nstored;
    pthread_mutex_unlock(&walk->lock);
    return progress;
}

/* Walk through one more group. */
static int walk_group(struct frame_walk *walk, const struct progress *progress,
                      struct fault *fault)
{
    const struct frame *frame = walk->frame;
    bool last = progress->group_no == walk->ngroups - 1;
    struct group group;
    struct walk_tally tally;
    uint64_t end;
    int r = load_group(walk, progress->group_no, &group, &tally, fault);

    if (r < 0)
        return r;
    r = walk_group_check(frame, progress->nstored + tally.nstored, fault);
    if (r < 0)
        return r;
    end = progress->start + tally.nbytes;
    if (end > frame->info.nbytes || (last && end < frame->info.nbytes))
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_NBYTES_OFF,
                           "the sizes of the chunks do not add up to nbytes",
                           fault);

    pthread_mutex_lock(&walk->lock);
    if (walk->nstarts - 1 == progress->group_no) {
        r = add_start_locked(walk, end);
        walk->nstored += tally.nstored;
        keep_group_locked(walk, &group);
    }
    pthread_mutex_unlock(&walk->lock);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Walk on.  This remembers damage, because each chunk behind it asks again, and
   a walk may take long. */
static int extend(struct frame_walk *walk, const struct progress *progress,
                  struct fault *fault)
{
    int r;

    pthread_mutex_lock(&walk->lock);
    r = walk->error;
    if (r < 0)
        *fault = walk->fault;
    pthread_mutex_unlock(&walk->lock);
    if (r < 0)
        return r;

    r = walk_group(walk, progress, fault);
    if (r == -EBADMSG || r == -ENOTSUP) {
        pthread_mutex_lock(&walk->lock);
        walk->error = r;
        walk->fault = *fault;
        pthread_mutex_unlock(&walk->lock);
    }
    return r;
}

/* Get a group whose start is known, and that start. */
static int get_group(struct frame_walk *walk, uint64_t group_no,
                     struct group *out, uint64_t *start, struct fault *fault)
{
    struct walk_tally tally;
    bool kept = false;
    int r;

    pthread_mutex_lock(&walk->lock);
    *start = walk->starts[group_no];
    for (size_t i = 0; i < WALK_SLOTS && !kept; i++) {
        struct group *slot = &walk->slots[i];

        kept = slot->used > 0 && slot->no == group_no;
        if (kept) {
            slot->used = ++walk->clock;
            *out = *slot;
        }
    }
    pthread_mutex_unlock(&walk->lock);
    if (kept)
        return 0;

    r = load_group(walk, group_no, out, &tally, fault);
    if (r < 0)
        return r;
    pthread_mutex_lock(&walk->lock);
    keep_group_locked(walk, out);
    pthread_mutex_unlock(&walk->lock);
    return 0;
}

/* Find the group that holds a byte in the part that was walked. */
static uint64_t find_group(struct frame_walk *walk, uint64_t off)
{
    uint64_t low = 0;
    uint64_t high;

    pthread_mutex_lock(&walk->lock);
    high = walk->nstarts - 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (walk->starts[middle] <= off)
            low = middle;
        else
            high = middle;
    }
    pthread_mutex_unlock(&walk->lock);
    return low;
}

int frame_walk_locate(struct frame_walk *walk, uint64_t off,
                      struct frame_span *out, struct fault *fault)
{
    struct progress progress;
    struct group group;
    uint64_t start;
    uint32_t i = 0;
    int r;

    for (progress = get_progress(walk); progress.start <= off;
         progress = get_progress(walk)) {
        r = extend(walk, &progress, fault);
        if (r < 0)
            return r;
    }
    r = get_group(walk, find_group(walk, off), &group, &start, fault);
    if (r < 0)
        return r;
    while (i < group.n && off - start >= group.nbytes[i])
        start += group.nbytes[i++];
    if (i == group.n)
        return frame_fault(walk->frame, -EBADMSG, 0,
                           "the frame was changed meanwhile", fault);
    *out = (struct frame_span){
        .chunk_no = group.no * WALK_GROUP + i,
        .off = start,
        .nbytes = group.nbytes[i],
    };
    return 0;
}

int frame_walk_span_of(struct frame_walk *walk, uint64_t chunk_no,
                       struct frame_span *out, struct fault *fault)
{
    uint64_t group_no = chunk_no / WALK_GROUP;
    uint32_t wanted = (uint32_t)(chunk_no % WALK_GROUP);
    struct progress progress;
    struct group group;
    uint64_t start;
    int r;

    for (progress = get_progress(walk); progress.group_no <= group_no;
         progress = get_progress(walk)) {
        r = extend(walk, &progress, fault);
        if (r < 0)
            return r;
    }
    r = get_group(walk, group_no, &group, &start, fault);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < wanted; i++)
        start += group.nbytes[i];
    *out = (struct frame_span){
        .chunk_no = chunk_no,
        .off = start,
        .nbytes = group.nbytes[wanted],
    };
    return 0;
}

int frame_walk_check(struct frame_walk *walk, struct fault *fault)
{
    struct progress progress = get_progress(walk);
    int r = 0;

    while (progress.group_no < walk->ngroups && r == 0) {
        r = extend(walk, &progress, fault);
        progress = get_progress(walk);
    }
    return r;
}
