/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPAIR_REPAIR_PRIVATE_H
#define REPAIR_REPAIR_PRIVATE_H

#include "frame/frame_private.h"
#include "repair/repair.h"
#include "writer/layers.h"

/* What is known of a chunk. */
enum repair_state {
    REPAIR_UNKNOWN, /* the index does not tell where it is */
    REPAIR_SPECIAL, /* the index tells what it is */
    REPAIR_STORED,  /* it lies here, and is not checked yet */
    REPAIR_GOOD,    /* it decodes */
    REPAIR_LOST,    /* it lies here, and does not decode */
    REPAIR_SURPLUS, /* too many others lie here */
};

struct repair_chunk {
    uint64_t place;  /* offset in the file, or number of the chunk file */
    uint32_t nbytes; /* decoded size; 0 if not known */
    uint32_t cbytes; /* stored size, of what is good */
    uint8_t state;   /* enum repair_state */
    uint8_t kind;    /* enum chunk_kind, also of what is special */
    uint8_t header_len;
    uint8_t typesize; /* of the chunk */
    uint32_t nmore;   /* of a special chunk: how many like it follow, which are
                         not listed.  The last chunk of all is not among them */
};

/* How many chunks one in a list stands for. */
static inline uint64_t repair_count(const struct repair_chunk *chunk)
{
    return (uint64_t)chunk->nmore + 1;
}

/* Chunks in order. */
struct repair_list {
    struct repair_chunk *chunks;
    size_t n;
    size_t room;
};

struct repair {
    const struct repair_listener *listener;
    struct repair_result result;
    struct frame *frame; /* NULL if it can't be opened */
    struct frame view;   /* through which chunks are read: the frame, or what
                            it might be.  Its `object` is NULL if there is no
                            index file */
    uint64_t size;       /* of the object; offsets count from its start */
    bool header_known;
    uint64_t work;     /* bytes read and decoded in vain */
    uint64_t surveyed; /* bytes of what might have been an index */
    struct chunk_decoder *decoder;
    uint8_t *blocks; /* room for decoded ones */
    size_t room;

    struct repair_list chunks; /* in the order of the frame */
    struct repair_list found;  /* in the order of the file */
    uint64_t index_off;        /* of the index; 0: none */
    uint64_t index_hint;       /* where the header has it; 0: unknown */
    uint64_t trailer_off;      /* where one starts; 0: none */
    struct layers fixed;       /* decoded */
    struct layers vl;          /* decoded */
    uint64_t nbytes_padded;    /* zeros behind the chunks */
};

/* Let the listener know; hand back what it says. */
static inline int repair_progress(const struct repair *repair, uint64_t done,
                                  uint64_t total)
{
    return repair->listener->progress(repair->listener->context, done, total);
}

/* How many chunks a list stands for. */
uint64_t repair_list_count(const struct repair_list *list);

/* Add a chunk at the end.  Special ones that are alike are put together, but for
   the last.  Returns 0, -EFBIG or -ENOMEM. */
int repair_list_add(struct repair_list *list, const struct repair_chunk *chunk);

/* The chunk at a place, or NULL; the list is in the order of places. */
const struct repair_chunk *repair_list_find(const struct repair_list *list,
                                            uint64_t place);

/*
 * Read and decode the chunk at a place.
 *
 *  chunk  its place is set; receives all else that its header tells, also if
 *         it does not decode
 *
 * Returns 0, -EBADMSG, -ENOTSUP if that takes what this build lacks, -ENOMEM,
 * or an error of the store.
 */
int repair_check(struct repair *repair, struct repair_chunk *chunk,
                 struct fault *fault);

/*
 * Search the file for chunks, and for a trailer, into `found` and
 * `trailer_off`.
 *
 * What no chunk is told from one only by trying: after as much work in vain as
 * makes sense the search ends.
 */
int repair_scan(struct repair *repair, struct fault *fault);

/*
 * Look for an index, where the header has it or among the chunks found, and
 * read it into `chunks`.
 *
 * Returns 0, -ENOENT if there is none, or an error.
 */
int repair_find_index(struct repair *repair, struct fault *fault);

/* Add a chunk for each entry of an open index; those that can't be read are
   unknown. */
int repair_read_index(struct repair *repair, struct index *index,
                      struct fault *fault);

/* Read a header, which may lie.  Returns 0, also if it is none; -ENOTSUP, or an
   error of the store. */
int repair_read_header(struct repair *repair, struct fault *fault);

/* Find the chunks of a frame that can't be opened. */
int repair_search(struct repair *repair, struct fault *fault);

/* Let chunks that nothing names fill the places of those that are unknown, in
   order, unless there are too many of them. */
int repair_place_orphans(struct repair *repair, struct fault *fault);

/* Check the chunks that have not been. */
int repair_check_list(struct repair *repair, struct repair_list *list,
                      struct fault *fault);

/* The decoded size that all good chunks have but the last, which may be
   shorter; 0 if they differ. */
uint32_t repair_common_size(const struct repair_list *list);

/* Is there a good chunk of a size? */
bool repair_has_size(const struct repair_list *list, uint32_t nbytes);

/* Find the decoded size of every chunk, and whether they differ. */
void repair_find_sizes(struct repair *repair);

/* Take what the header would have said from the first chunk that is good. */
void repair_take_params(struct repair *repair);

/* Read what metalayers can be read. */
int repair_read_layers(struct repair *repair, struct fault *fault);

#endif
