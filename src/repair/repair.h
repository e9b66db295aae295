/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPAIR_REPAIR_H
#define REPAIR_REPAIR_H

#include "frame/frame.h"

/*
 * Find the parts of a frame that a crash or damage has left, and make a new
 * frame of them.
 *
 * If the frame can be opened, its index tells which chunks there are.  If not,
 * the file is searched for chunk headers.  An index is a chunk too, and is
 * recognized because it names the places of other chunks.  If there is no index
 * left, the chunks are taken in file order, or in the order of the numbers of
 * their files.
 *
 * Chunks that decode are saved, byte by byte.  All others, including those that
 * the disk can no longer read, become zeros of the same size, so that the data
 * behind them stays at its offset.
 *
 * Readers reject an array whose metalayer does not match its chunks, even if
 * everything else is saved.  Therefore the metalayer is mended, or set aside.
 *
 * This takes about 100 bytes of memory for each stored chunk, and for each run
 * of equal special chunks.  There can be as many of these as an index can hold.
 * It takes up to 256 MiB to decode a chunk.
 */
struct repair;

/* The source of the order of the chunks. */
enum repair_order {
    REPAIR_BY_INDEX,       /* the frame can be opened */
    REPAIR_BY_FOUND_INDEX, /* an index was found to which the header does not
                              lead */
    REPAIR_BY_PLACE,       /* in the file, or by the numbers of chunk files */
};

/* Describes the data that can be saved. */
struct repair_result {
    enum repair_order order;
    int error;             /* reason why the frame can't be opened, or 0 */
    struct fault fault;    /* belongs to `error` */
    bool index_may_be_old; /* an index was found, but the header tells another
                              place, so newer chunks may be missing */
    bool sparse;           /* as the damaged frame is */
    bool header_lost; /* typesize, codec and filters are taken from the chunks
                         instead */
    uint64_t nchunks; /* of the new frame */
    uint64_t nbytes;  /* of the new frame */
    uint64_t nlost;   /* of its chunks, now zeros */
    uint64_t nbytes_lost;
    uint64_t nguessed;    /* chunks that may be in the wrong order */
    uint64_t nleft_over;  /* chunks that decode, but have no place in the frame;
                             most likely they were replaced by others */
    uint64_t nbytes_told; /* nbytes according to the header, if it is known;
                             else as `nbytes` */
    uint64_t nchunks_told; /* likewise, from nbytes and chunksize; as `nchunks`
                              if the header does not tell */
    bool padded;           /* zeros behind the nchunks replace the missing part
                              of nbytes_told */
    uint64_t nlayers;      /* metalayers that are saved */
    bool layers_lost;      /* some were not saved, or may not have been */
    bool layers_changed;   /* some were changed */
    bool layers_cut;       /* and some of these have lost content */
};

/* A metalayer of the header to be saved. */
struct repair_layer {
    const char *name;
    uint8_t *content;
    size_t len;
    const char *done; /* verb phrase that tells how it was changed; NULL: it was
                         not */
    bool lossy;       /* it has lost content */
};

/* A chunk that is lost. */
struct repair_loss {
    uint64_t chunk_no;
    uint64_t off;    /* of its first byte in the decoded frame */
    uint64_t nbytes; /* 0 if not even their number is known */
    int error;       /* reason why it cannot be read */
    struct fault fault;
};

/* Callbacks that receive the findings. */
struct repair_listener {
    /* A chunk is lost. */
    void (*lost)(void *context, const struct repair_loss *loss);

    /*
     * Check whether readers accept a metalayer, in a frame like this, and mend
     * it if they do not and that is possible.  NULL: they accept all.
     *
     *  info   typesize, chunksize and nbytes are those of the new frame
     *  layer  to mend it, replace the content, which is from malloc(), and set
     *         `done`
     *
     * Returns 0; -EBADMSG to set the unchanged metalayer aside, under a name
     * that readers do not know; or -ENOMEM.  The fault is the reason for
     * rejecting or mending it; its offset counts from the start of the content.
     */
    int (*check_layer)(void *context, const struct frame_info *info,
                       struct repair_layer *layer, struct fault *fault);

    /* A metalayer was changed.  Required with check_layer(). */
    void (*layer)(void *context, const struct repair_layer *layer,
                  const struct fault *fault);

    /* Reports how many bytes of the file have been read, or written.  Returns
       0, or a negative errno to stop. */
    int (*progress)(void *context, uint64_t done, uint64_t total);

    void *context;
};

/*
 * Find out which parts of a frame are left.  Writes nothing.
 *
 *  store     remains the caller's, and open
 *  base      start of the frame in its file; 0 for a sparse frame
 *  listener  must stay valid until repair_close()
 *
 * Returns 0, -EBADMSG if nothing is left, -ENOTSUP for a format from the
 * future, -EFBIG if there are too many chunks, -ENOMEM, or an error of the
 * store.
 */
int repair_open(struct store *store, uint64_t base,
                const struct repair_listener *listener, struct repair **out,
                struct fault *fault);

/* Accepts NULL. */
void repair_close(struct repair *repair);

/* The result of repair_open(); valid until repair_close(). */
const struct repair_result *repair_get_result(const struct repair *repair);

/*
 * Write the new frame, durably.
 *
 *  to  see frame_writer_new(); not the store of the damaged frame
 *
 * Returns 0 or a negative errno.
 */
int repair_write(struct repair *repair, struct store *to, struct fault *fault);

#endif
