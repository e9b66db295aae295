/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_PROGRAM_CODE_H
#define FUSE_PROGRAM_CODE_H

#include "base/pool.h"

/*
 * Map the code of the program and its libraries, in a thread of a pool.  If it
 * were mapped as it is needed, page faults would make up a fifth of the first
 * open and read in a mount.  Does nothing where the kernel cannot do this
 * (before 5.14).
 */
void program_code_map(struct pool *pool);

#endif
