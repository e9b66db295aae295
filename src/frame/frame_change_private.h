/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_CHANGE_PRIVATE_H
#define FRAME_FRAME_CHANGE_PRIVATE_H

#include <pthread.h>

#include "frame/frame_change.h"
#include "frame/frame_private.h"
#include "frame/frame_write.h"
#include "frame/layers.h"

/* A chunk in the index. */
struct change_chunk {
    int64_t entry;   /* as the index has it */
    uint32_t nbytes; /* if chunks may differ in size */
    uint32_t cbytes; /* if stored in a contiguous frame */
};

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
    struct change_chunk *chunks; /* info.nchunks of them */
    size_t room;

    /* Where it is kept. */
    struct plot *plot;
    struct era *era;            /* of the last commit; NULL if there is none */
    struct era *durable_era;    /* of the last state known to be on the disk, if
                                   that is an older one: keeps its chunks */
    struct store_object *draft; /* of a new contiguous frame; with an era, it is
                                   not known whether it was published */
    struct space_extent tail;   /* index and trailer of the last commit */
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

/* Index entries of special chunks.  Format: frame.md, 5.1. */
int64_t frame_special_entry(enum chunk_kind kind);

/*
 * Read what is in the frame, and find what is free.  `change` has the store
 * and the frame's info.
 */
int frame_adopt(struct frame_change *change, struct frame *frame,
                struct fault *fault);

/* Where a chunk of a contiguous frame lies in the file. */
static inline uint64_t frame_change_off(const struct frame_change *change,
                                        const struct change_chunk *chunk)
{
    return change->info.header_len + (uint64_t)chunk->entry;
}

/* Decoded size of a chunk. */
uint32_t frame_change_size_of(const struct frame_change *change,
                              uint64_t chunk_no);

/* Write a chunk that repeats zero bytes, or NaNs of the frame's typesize. */
int frame_change_write_value(struct frame_change *change, bool nans,
                             uint32_t nbytes, struct frame_written *out,
                             struct fault *fault);

/* Reserve room for `n` chunks, and some in any case.  Returns 0, -EFBIG or
   -ENOMEM. */
int frame_change_reserve(struct frame_change *change, uint64_t n);

#endif
