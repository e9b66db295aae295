/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_LAYER_SUMS_H
#define FRAME_FRAME_LAYER_SUMS_H

#include "frame/frame_private.h"

/*
 * Sums of metalayers, which are in the guard.  All of these functions pass what
 * is not to be checked.  They return -ESTALE in place of -EBADMSG if another
 * state of the frame has replaced this one.
 *
 * Format: framefs-format(7), "Sums".
 */

/* Return the sum of the names of metalayers, and of the lengths of their
   contents. */
uint64_t frame_sums_of_names(const struct metalayer *layers, size_t n);

/* Check the metalayers of the header, all but their contents.  Returns 0,
   -EBADMSG or -ENOMEM. */
int frame_check_names(const struct frame *frame, const struct metalayer *layers,
                      size_t n, struct fault *fault);

/* Check the start of the trailer: the metalayers there, all but their contents.
   Errors as above, or of the store. */
int frame_check_trailer(const struct frame *frame,
                        const struct metalayer *layers, size_t n,
                        struct fault *fault);

/* Does the content of a metalayer, as stored, match its sum?  A metalayer of
   the header may differ without a fault. */
bool frame_layer_is_summed(const struct frame *frame,
                           const struct metalayer *layer, const uint8_t *bytes);

/* Check the content of a vlmetalayer, as stored.  Returns 0 or -EBADMSG. */
int frame_check_vl(const struct frame *frame, const struct metalayer *layer,
                   const uint8_t *bytes, struct fault *fault);

/* Compute the sums of all metalayers of a frame as they are, for a guard; the
   frame has no sums.  Returns 0, -ENOMEM, -E2BIG if they are too long, or an
   error of metalayer_list_read(). */
int frame_find_layers(struct frame *frame, struct frame_sums *out,
                      struct fault *fault);

#endif
