/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_WARM_UP_H
#define FUSE_WARM_UP_H

#include "base/pool.h"

/*
 * Map the pages that the first requests need, in a thread of a pool: the
 * program and its libraries, and the start of the heap.  If they were mapped as
 * they are needed, page faults would make up a quarter of the first open and
 * read in a mount.  The program is not mapped where the kernel cannot do this
 * (before 5.14).
 */
void warm_up(struct pool *pool);

#endif
