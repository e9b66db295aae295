/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FRAME_MOVE_H
#define WRITEBACK_FRAME_MOVE_H

#include "store/store_http.h"

/* A sparse frame that is to get another place on a server of S3. */
struct frame_move {
    struct store *from; /* both stores allow changes, and were just opened */
    struct store *to;
    bool replace; /* if there is a frame at the new place, it is replaced */
};

/*
 * Move a frame.
 *
 * Chunks keep their ids if no object at the new place has one of them; then the
 * server copies them.  Otherwise each is read and put again, with an id above
 * all others, because its sums depend on that.  Then the index is put, and so
 * the frame has its new place, in one step.  Then a marker takes the place of
 * the old index, unless another program has committed to that meanwhile: if so,
 * what is new is copied, too, and so on.  At last all other objects at the old
 * place are deleted.  If this is interrupted, the frame is whole at one of the
 * places, or at both, and the other objects are garbage.
 *
 * A program that has the frame open at the old place, or one that is replaced,
 * can commit to it no more: its index is not the one that it expects.
 *
 * Returns 0; -EEXIST if there is a frame at the new place and none must be
 * replaced; -EXDEV if something else lies in the directory, or the frame is of
 * an old layout; -EBUSY if other programs change the frame all the time; -EIO,
 * and then it may be at both places; or another error of frame_open() or of the
 * stores.
 */
int frame_move(const struct frame_move *move);

#endif
