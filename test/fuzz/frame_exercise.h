/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FRAME_EXERCISE_H
#define FUZZ_FRAME_EXERCISE_H

#include "store/store.h"

/*
 * Open the frame in a store, and do all that can be done with it: locate,
 * decode, read metalayers, check.  Closes the store.  Aborts if two answers
 * contradict each other.
 */
void frame_exercise(struct store *store);

#endif
