/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAME_EXERCISE_H
#define FUZZ_FRAME_EXERCISE_H

#include "store/store.h"

/*
 * Open the frame in a store, which is closed, and do all that can be done with
 * it: locate, decode, read metalayers, check.  Aborts if two answers do not
 * fit together.
 */
void frame_exercise(struct store *store);

#endif
