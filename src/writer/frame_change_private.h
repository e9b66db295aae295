/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_CHANGE_PRIVATE_H
#define WRITER_FRAME_CHANGE_PRIVATE_H

#include <pthread.h>

#include "chunk/chunk_encode.h"
#include "frame/chunk_table.h"
#include "frame/frame_private.h"
#include "writer/frame_change.h"
#include "writer/frame_write.h"
#include "writer/layers.h"
#include "writer/plot.h"

/*
 * Locking.  `lock` is a leaf.  It guards `plot`, `epoch`, `variable` and what
 * is constant between commits in `info`, against frame_change_write(), which
 * reads them; all else belongs to the one thread that uses the change.
 */
struct frame_change {
    struct store *store;
    struct chunk_encoder *encoder;
    pthread_mutex_t lock;
    uint64_t epoch; /* how often the frame was written anew */

    /* See frame_change_watch(). */
    int (*progress)(void *context, uint64_t done, uint64_t total);
    void *watcher;

    /* The state to come. */
    struct frame_info info;
    uint64_t stamp;      /* of it, see frame_format.h */
    bool variable;       /* chunks may differ in size */
    bool rewrite;        /* the next commit must write the frame anew */
    bool header_changed; /* a metalayer in it was */
    bool rewrap;         /* chunks with short headers were met */
    struct layers fixed;
    struct layers vl;
    struct layers *edited;   /* the list of the last edit that is not committed
                                and can be undone; NULL if there is none */
    struct layer replaced;   /* what was in it; bytes NULL: no such layer */
    bool header_was_changed; /* before that edit */
    struct chunk_table *chunks; /* info.nchunks of them; kept in memory whole if
                                   they may differ in size */

    /* Where it is kept. */
    struct plot *plot;
    struct generation
        *generation; /* of the last commit; NULL if there is none */
    struct generation
        *durable_generation; /* of the last state known to be on the disk, if
                                   that is an older one: keeps its chunks */
    struct store_object
        *draft; /* of a new contiguous frame; with a generation, it is
                                   not known whether it was published */
    struct space_extent tail; /* index and trailer of the last commit */
    uint8_t header[FRAME_E_METALAYERS_OFF]; /* its fixed part */
    bool header_known; /* `header` is what is stored; else it is in doubt */
    struct store_stat stat; /* of the file, or index file, that has it */

    struct plot_list dying; /* dead with the next commit */
    struct plot_list fresh; /* put since the last one; of files also cbytes */
    uint64_t fresh_cbytes;
    bool unsynced_lost; /* what is fresh may not have reached the disk */
    bool not_durable;   /* nor may the last commit: see frame_change_sync() */
    bool name_unsynced; /* nor may the name of the file, or directory */
};

/*
 * Read what is in the frame, and find what is free.  `change` has the store
 * and the frame's info.
 */
int frame_adopt(struct frame_change *change, struct frame *frame,
                struct fault *fault);

/* Where a stored chunk lies in the file; of a sparse frame, the number of its
   chunk file. */
static inline uint64_t frame_change_off(const struct frame_change *change,
                                        const struct table_chunk *chunk)
{
    uint64_t origin = change->info.sparse ? 0 : change->info.header_len;

    return origin + (uint64_t)chunk->entry;
}

/* Decoded size of a chunk. */
uint32_t frame_change_size_of(const struct frame_change *change,
                              uint64_t chunk_no);

/* Write a chunk that repeats zero bytes, or NaNs of the frame's typesize. */
int frame_change_write_value(struct frame_change *change, bool nans,
                             uint32_t nbytes, struct frame_written *out,
                             struct fault *fault);

/*
 * Replace a range of chunks, which exist, by some that are alike and are not
 * stored.  Counts and sizes in `info` stay.
 *
 *  chunk  NULL if `nadded` is 0
 *
 * Returns 0 or an error of the table, with nothing replaced.
 */
int frame_change_replace(struct frame_change *change, uint64_t first,
                         uint64_t nremoved, const struct table_chunk *chunk,
                         uint64_t nadded);

/*
 * Append special chunks of the full size, for which the index can stand.
 *
 * Returns 0, -EFBIG or -ENOMEM.
 */
int frame_change_append_special(struct frame_change *change,
                                enum chunk_kind kind, uint64_t n);

/* Make a table like that of the frame, without chunks.  Returns 0 or -ENOMEM. */
int frame_change_new_table(const struct frame_change *change,
                           struct chunk_table **out);

/* May the frame have `n` chunks?  Returns 0 or -EFBIG. */
int frame_change_check_count(const struct frame_change *change, uint64_t n);

#endif
