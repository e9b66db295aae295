/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_PRIVATE_H
#define FRAME_FRAME_PRIVATE_H

#include "frame/frame.h"
#include "frame/frame_header.h"
#include "frame/frame_keys.h"
#include "frame/frame_sums.h"
#include "frame/frame_walk.h"
#include "frame/generation.h"
#include "frame/index.h"
#include "frame/metalayer.h"

enum {
    /* The fixed part of a header, and the number of metalayers behind it. */
    FRAME_START_LEN = FRAME_HEADER_MAX + FRAME_MAP_HEAD_LEN,
};

/* An open frame, for the files of this layer.  Constant once it is open, except
   for the parts that the index and the walk guard themselves. */
struct frame {
    struct store *store;
    struct store_object *object; /* the frame's file, or the index file */
    const char *object_name;     /* of the index file, else "" */
    struct store_stat stat;
    uint64_t base; /* of the frame in its file */
    struct frame_info info;
    uint32_t trailer_len;    /* 0: layout A, which has none */
    struct frame_sums *sums; /* NULL if none are in force */
    bool guard_damaged;      /* `sums` were made again, or the fingerprint has
                                damaged bits that do not count */
    bool unchecked;          /* the sums of chunks do not matter */
    uint64_t tags_off;       /* of the tags in the file, see frame_tags.h */
    size_t ntags;            /* 0: there are none */
    struct index *index;     /* NULL if there are no chunks */
    struct frame_walk *walk; /* NULL if positions follow from the chunksize */

    /* For a frame that was opened on its own: identifies its state and tells
       whether that is still the stored one. */
    struct watch *watch;
    uint8_t header[FRAME_START_LEN];
    size_t header_len;
    uint64_t stamp_off; /* 0: none */
    uint8_t stamp[FRAME_STAMP_LEN];

    /* The number in the stamp of framefs; 0: there is none.  This process may
       have written it itself. */
    uint64_t stamp_number;

    /* NULL until the frame is changed; the writer sets it once, while other
       threads may read the frame. */
    struct generation *_Atomic generation;

    /* NULL until they are asked for; see frame_get_keys() and
       frame_get_tags(). */
    struct frame_keys *_Atomic keys;
    struct frame_tags *_Atomic tags;
};

/* Record a fault at an offset of the frame's file, or index file, and return
   the error.  `what` is NULL for errors of the system. */
int frame_fault(const struct frame *frame, int error, uint64_t off,
                const char *what, struct fault *fault);

/*
 * Call this after a read from the frame, with its result `r`.  Returns `r`, or
 * -ESTALE if the stored state is no longer the newest one that this process
 * knows, because the bytes may then belong to another state.  While this
 * process changes the frame, its older states stay readable, except where the
 * start of the frame has been overwritten.  If its store has
 * store_names_once(), others may have committed meanwhile.
 */
int frame_check_kept(const struct frame *frame, int r, struct fault *fault);

/*
 * Read the end of a frame whose header is known: find the
 * stamp and the sums, and open the index.  Once the stamp is known, the watch
 * can tell whether another state has replaced this one.  Errors as
 * frame_open().
 */
int frame_read_ends(struct frame *frame, struct fault *fault);

/* Make `watch` watch for the state of this frame. */
void frame_watch_state(const struct frame *frame, struct watch *watch);

/* Read from the frame's file.  Offsets count from its start.  A file that ends
   early is -EBADMSG, because its length was checked when it was opened. */
int frame_read_ranges(const struct frame *frame,
                      const struct store_range *ranges, size_t nranges,
                      struct fault *fault);
int frame_read_at(const struct frame *frame, uint64_t off, void *buf,
                  size_t len, struct fault *fault);

/* Read the index entries of chunks `first` to `first + n - 1`, which exist,
   without parsing them. */
int frame_read_raw(struct frame *frame, uint64_t first, size_t n, int64_t *raw,
                   struct fault *fault);

/* frame_get_entry() of an entry that was perhaps freed meanwhile: the caller
   has to call frame_check_kept() after it has used the entry. */
int frame_get_entry_unchecked(struct frame *frame, uint64_t chunk_no,
                              struct frame_entry *out, struct fault *fault);

/*
 * Find out, at the cost of a short read, whether special chunks repeat.
 *
 * Returns the number of equal chunks from `first` on and stores their entry in
 * `out`; 0 if nothing is known.
 */
uint64_t frame_special_run(struct frame *frame, uint64_t first,
                           struct frame_entry *out);

/* Parse an index entry.  Returns 0, or -EBADMSG if it is neither special nor a
   place inside the chunks section. */
int frame_parse_entry(const struct frame *frame, uint64_t chunk_no, int64_t raw,
                      struct frame_entry *out, struct fault *fault);

/* Index entries of special chunks.  Format: frame.md, 5.1. */
int64_t frame_special_entry(enum chunk_kind kind);

/* Convert a raw entry of layout E to the form that this library writes for the
   same meaning. */
int64_t frame_plain_entry(int64_t raw);

/* The number that stands for the place of a stored chunk in its sums: the
   offset in the index, or the id of the file. */
uint64_t frame_place_no(const struct frame *frame,
                        const struct frame_entry *entry);

/* Must a stored chunk match its sums? */
bool frame_chunk_has_sums(const struct frame *frame,
                          const struct frame_entry *entry);

/* Do chunks differ in size, so that only a walk finds their positions?  Reads
   the last chunk's header if the frame's header leaves that open. */
bool frame_chunks_differ(struct frame *frame);

/* Read the names of the metalayers in the header, or in the trailer, and add
   them to a list.  Errors as metalayer_list_read(). */
int metalayer_list_fixed(struct frame *frame, struct metalayer_list *list,
                         struct fault *fault);
int metalayer_list_trailer(struct frame *frame, struct metalayer_list *list,
                           struct fault *fault);

/* Offset of the index in the frame. */
uint64_t frame_index_off(const struct frame_info *info);

/* End of the chunks section in the file of a contiguous frame. */
uint64_t frame_chunks_end(const struct frame *frame);

#endif
