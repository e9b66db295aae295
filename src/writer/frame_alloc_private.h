/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_ALLOC_PRIVATE_H
#define WRITER_FRAME_ALLOC_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "writer/frame_alloc.h"
#include "writer/quarantine.h"

/* The allocator, for the files of this module. */
struct frame_alloc {
    /* Constant. */
    struct store *store;
    struct store_object *object;
    struct watch *watch;

    atomic_uint nrefs;
    atomic_uint overwrites; /* how often the start was overwritten */

    /*
     * Guards the fields below.  A leaf, except that the file is cut while it is
     * held, because a thread that allocates space behind the end must find the
     * file uncut.
     */
    pthread_mutex_t lock;
    struct extent_map map;
    struct extent_map pinned; /* ids that are allocated here are pinned */
    uint64_t reserved;        /* all below is in use permanently */
    uint64_t start;           /* end of the part of that which the newest state
                                 uses */
    bool shortened;           /* `start` has decreased since the file was cut */
    int64_t quarantine_ns;    /* time for which freed space is in quarantine */
    struct quarantine
        quarantine;           /* these extents count as allocated in `map` */
    struct extent_list freed; /* not given back to the store yet: bytes are free
                                 in `map`, chunk files are not */
    bool unused;              /* see frame_alloc_set_unused() */
    uint64_t named_end;       /* see frame_alloc_note_named() */
    struct extent_list kept;  /* freed chunk files whose ids are not below that
                                 of another one that was named */
    uint64_t used_end; /* end of the bytes that this process has used, or that
                          no program uses any more */
};

#endif
