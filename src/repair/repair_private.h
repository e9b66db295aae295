/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPAIR_REPAIR_PRIVATE_H
#define REPAIR_REPAIR_PRIVATE_H

#include "frame/frame_private.h"
#include "repair/repair.h"
#include "writer/layers.h"

/* The knowledge about a chunk. */
enum repair_state {
    REPAIR_UNKNOWN, /* the index does not tell its place */
    REPAIR_SPECIAL, /* the index tells its content */
    REPAIR_STORED,  /* its place is known; not checked yet */
    REPAIR_GOOD,    /* it decodes, or needs a codec or filter that this build
                       lacks */
    REPAIR_LOST,    /* its place is known, and it does not decode */
    REPAIR_SURPLUS, /* too many entries name its place, or it does not decode
                       there */
};

/* A chunk that was found, and how many special ones like it follow. */
struct repair_chunk {
    uint64_t place;  /* offset in the file, or number of the chunk file */
    uint32_t nbytes; /* decoded size; 0 if not known */
    uint32_t cbytes; /* stored size; valid if state is REPAIR_GOOD */
    uint8_t state;   /* enum repair_state */
    uint8_t kind;    /* enum chunk_kind; also for special chunks */
    uint8_t header_len;
    uint8_t typesize; /* of the chunk */
    uint32_t tag;     /* see frame_tags.h; 0 if not known */
    uint32_t nmore;   /* special: number of equal chunks that follow and are not
                         listed.  The last chunk of the frame is always listed
                         by itself */
};

/* The number of chunks that a list entry stands for. */
static inline uint64_t repair_count(const struct repair_chunk *chunk)
{
    return (uint64_t)chunk->nmore + 1;
}

/* Does a chunk consist of items as large as the entries of an index? */
static inline bool repair_has_entries(const struct repair_chunk *chunk)
{
    return chunk->typesize == FRAME_INDEX_TYPESIZE &&
           chunk->nbytes % FRAME_INDEX_TYPESIZE == 0;
}

/* An ordered list of chunks. */
struct repair_list {
    struct repair_chunk *chunks;
    size_t n;
    size_t capacity;
};

/* One run of a repair, for the files of this layer. */
struct repair {
    const struct repair_listener *listener;
    struct repair_result result;
    struct frame *frame; /* NULL if it can't be opened */
    struct frame view;   /* the frame that chunks are read from: `frame`, or a
                            guess at it.  Its `object` is NULL if there is no
                            index file */
    uint64_t size;       /* of the object; offsets count from its start */
    bool header_known;
    uint64_t work;     /* bytes read and decoded without a result */
    uint64_t surveyed; /* bytes read that might have been an index */
    struct chunk_decoder *decoder;
    uint8_t *blocks; /* buffer for decoded blocks */
    size_t capacity;

    struct repair_list chunks; /* in the order of the frame */
    struct repair_list found;  /* in the order of the file */
    uint64_t index_off;        /* of the index in use; 0: none */
    uint64_t index_hint;       /* of the index according to the header; 0:
                                  unknown */
    uint64_t trailer_off;      /* of the last trailer found; 0: none */
    struct layers fixed;       /* decoded metalayers of the header */
    struct layers vl;          /* decoded vlmetalayers */
    uint64_t nbytes_padded;    /* number of zeros to append */
};

/* Return what chunks are told of their items. */
static inline struct chunk_items repair_items(const struct repair *repair)
{
    return (struct chunk_items){
        .size = repair->view.info.typesize,
        .block = repair->view.info.block,
    };
}

/* Report progress to the listener, and return its answer. */
static inline int repair_progress(const struct repair *repair, uint64_t done,
                                  uint64_t total)
{
    return repair->listener->progress(repair->listener->context, done, total);
}

/* The number of chunks that a list stands for. */
uint64_t repair_list_count(const struct repair_list *list);

/* Append a chunk.  Equal special chunks are merged, except the last one.
   Returns 0, -EFBIG or -ENOMEM. */
int repair_list_add(struct repair_list *list, const struct repair_chunk *chunk);

/* Find the chunk at a place, or NULL.  The list must be sorted by place. */
const struct repair_chunk *repair_list_find(const struct repair_list *list,
                                            uint64_t place);

/*
 * Read and decode the chunk at a place.
 *
 *  chunk  its place is set; receives the other fields from its header, even if
 *         it does not decode
 *
 * Returns 0, -EBADMSG, -ENOTSUP if this build lacks a codec or filter for it,
 * -ENOMEM, or an error of the store.
 */
int repair_check(struct repair *repair, struct repair_chunk *chunk,
                 struct fault *fault);

/*
 * Search the file for chunks, and for a trailer, and record them in `found` and
 * `trailer_off`.
 *
 * Only an attempt to decode bytes shows whether they are a chunk.  The search
 * therefore ends after a limited amount of work without a result.
 */
int repair_scan(struct repair *repair, struct fault *fault);

/*
 * Look for an index, first at the offset in the header, then among the chunks
 * found, and read it into `chunks`.
 *
 * Returns 0, -ENOENT if there is none, or an error.
 */
int repair_find_index(struct repair *repair, struct fault *fault);

/* Drop indexes of old states from the chunks found, because they would pass for
   data.  Returns 0 or an error. */
int repair_drop_indexes(struct repair *repair, struct fault *fault);

/* Add a chunk for each entry of an open index.  Entries that can't be read
   become chunks in state REPAIR_UNKNOWN. */
int repair_read_index(struct repair *repair, struct index *index,
                      struct fault *fault);

/* Read a header, which may be wrong.  Returns 0, even if it is not a header;
   -ENOTSUP, or an error of the store. */
int repair_read_header(struct repair *repair, struct fault *fault);

/* Find the chunks of a frame that can't be opened. */
int repair_search(struct repair *repair, struct fault *fault);

/* Let chunks that no entry names fill the places of the unknown ones, in order,
   unless there are too many of them. */
int repair_place_orphans(struct repair *repair, struct fault *fault);

/* Check the chunks in a list that have not been checked. */
int repair_check_list(struct repair *repair, struct repair_list *list,
                      struct fault *fault);

/* The decoded size that all good chunks share, except that the last may be
   shorter; 0 if they differ. */
uint32_t repair_common_size(const struct repair_list *list);

/* Does a list have a good chunk of this decoded size? */
bool repair_has_size(const struct repair_list *list, uint32_t nbytes);

/* Find the decoded size of every chunk, and whether the sizes differ. */
void repair_find_sizes(struct repair *repair);

/* Take typesize, codec and filters from the first good chunk, because the
   header is lost. */
void repair_take_params(struct repair *repair);

/* Read the metalayers that can be read. */
int repair_read_layers(struct repair *repair, struct fault *fault);

#endif
