/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CORE_DUMP_H
#define BASE_CORE_DUMP_H

#include <sys/prctl.h>

/* Let the kernel write no core file of this process, and let no process but
   root's trace it, because its memory will have secrets: its own, and those in
   the environment and in buffers of libcurl, which nothing else could wipe. */
static inline void core_dump_forbid(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

#endif
