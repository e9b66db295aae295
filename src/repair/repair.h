/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPAIR_REPAIR_H
#define REPAIR_REPAIR_H

#include "frame/frame.h"

/*
 * What a crash or damage has left of a frame, and a new frame made of that.
 *
 * If the frame can be opened, its index says which chunks there are.  If not,
 * the file is searched for what chunks say of themselves: an index is a chunk
 * too, and known by naming the places of others.  If there is none left, the
 * chunks are taken in the order in which they lie in the file, or in that of
 * the numbers of their files.
 *
 * Chunks that decode are saved, byte by byte; all others, also those that the
 * disk no longer gives, become zeros of the same size, so that what follows
 * keeps its place.
 *
 * Readers refuse an array whose metalayer does not go with its chunks, whatever
 * else is saved: so it is mended, or put aside.
 *
 * Takes about 100 bytes of memory for each chunk that is stored, and each run of
 * special ones that are alike, of which there can be four million; and up to 256
 * MiB to decode one.
 */
struct repair;

/* Where the order of the chunks comes from. */
enum repair_order {
    REPAIR_BY_INDEX,       /* the frame can be opened */
    REPAIR_BY_FOUND_INDEX, /* an index was found that the header misses */
    REPAIR_BY_PLACE,       /* in the file, or the numbers of chunk files */
};

/* What there is to be saved. */
struct repair_result {
    enum repair_order order;
    int error;          /* why the frame can't be opened, or 0 */
    struct fault fault; /* goes with it */
    bool sparse;        /* as the frame is */
    bool header_lost;   /* what it said of typesize, codec and filters is
                            taken from the chunks */
    uint64_t nchunks;   /* of the new frame */
    uint64_t nbytes;    /* likewise */
    uint64_t nlost;     /* of the chunks, now zeros */
    uint64_t nbytes_lost;
    uint64_t nguessed;    /* chunks whose place in the order is a guess */
    uint64_t nleft_over;  /* chunks that decode, but belong nowhere: most likely
                            they were replaced by others */
    uint64_t nbytes_told; /* what the header says of nbytes, or that */
    uint64_t nchunks_told; /* likewise; nchunks too if it does not tell */
    bool padded;           /* zeros behind the nchunks take the place of those
                              that are missing of what is told */
    uint64_t nlayers;      /* metalayers saved */
    bool layers_lost;      /* some were not, or it is not known */
    bool layers_changed;   /* some are not saved as they were */
    bool layers_cut;       /* and those lack something now */
};

/* A metalayer of the header that is to be saved. */
struct repair_layer {
    const char *name;
    uint8_t *content;
    size_t len;
    const char *done; /* a verb and more: what became of it; NULL: nothing */
    bool lossy;       /* it lacks something now */
};

/* Who hears of what is found. */
struct repair_listener {
    /* A chunk is lost: `nbytes` bytes from `off` on, 0 if not even their number
       is known. */
    void (*lost)(void *context, uint64_t chunk_no, uint64_t off,
                 uint64_t nbytes, int error, const struct fault *fault);

    /*
     * Check whether readers take a metalayer, in a frame like this, and mend it
     * if they don't and that can be done.  NULL: they do.
     *
     *  info   typesize, chunksize and nbytes are those of the new frame
     *  layer  to mend it, replace the content, which is from malloc(), and say
     *         what was done
     *
     * Returns 0; -EBADMSG to put the metalayer aside, which is then as it was,
     * under a name that readers do not know; or -ENOMEM.  The fault is why it was refused or mended; its offset counts
     * from the start of the content.
     */
    int (*check_layer)(void *context, const struct frame_info *info,
                       struct repair_layer *layer, struct fault *fault);

    /* A metalayer is not saved as it was.  Needed with check_layer(). */
    void (*layer)(void *context, const struct repair_layer *layer,
                  const struct fault *fault);

    /* So many bytes of the file were looked at, or written.  Returns 0, or a
       negative errno to give up. */
    int (*progress)(void *context, uint64_t done, uint64_t total);

    void *context;
};

/*
 * Find out what is left.  Nothing is written.
 *
 *  store     stays the caller's, and open
 *  base      where the frame starts in its file; 0 for a sparse frame
 *  listener  must live as long
 *
 * Returns 0, -EBADMSG if nothing is left, -ENOTSUP if the frame comes from the
 * future, -EFBIG if there are too many chunks, -ENOMEM, or an error of the
 * store.
 */
int repair_open(struct store *store, uint64_t base,
                const struct repair_listener *listener, struct repair **out,
                struct fault *fault);

/* Accepts NULL. */
void repair_close(struct repair *repair);

/* What was found; there until repair_close(). */
const struct repair_result *repair_get_result(const struct repair *repair);

/*
 * Make a new frame of it, durably.
 *
 *  to  see frame_change_new(); an other store than that of the frame
 *
 * Returns 0 or a negative errno.
 */
int repair_write(struct repair *repair, struct store *to, struct fault *fault);

#endif
