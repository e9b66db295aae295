/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_GUARD_H
#define FRAME_FRAME_GUARD_H

#include "frame/frame_private.h"

enum {
    FRAME_END_LEN = 512, /* end of the frame: holds most trailers, the
                            stamp, and most guards */
};

/* First and last bytes behind the chunks, as read. */
struct frame_ends {
    uint8_t end[FRAME_END_LEN]; /* end of the frame; `end_len` bytes */
    size_t end_len;
    uint8_t head[INDEX_HEAD_LEN]; /* start of the index; `head_len` bytes */
    size_t head_len;
};

/* Has framefs written the stamp of this frame? */
bool frame_has_own_stamp(const struct frame *frame);

/*
 * Find out whether sums are in force, and read the guard.  A guard that the
 * fingerprint refutes is made again from the index, see frame_sums_mend(),
 * which reads the whole index.  A fingerprint that another program may have
 * written is ignored.
 *
 * The stamp is known.  Returns 0, -EBADMSG if the fingerprint confirms neither
 * guard, -ENOMEM or an error of the store.
 */
int frame_read_sums(struct frame *frame, const struct frame_ends *ends,
                    struct fault *fault);

#endif
