/* SPDX-License-Identifier: BSD-3-Clause */
#include "threads.h"

#include <sys/sysinfo.h>

static unsigned wanted;

void threads_set(unsigned nthreads)
{
    wanted = nthreads;
}

unsigned threads_get(void)
{
    return wanted;
}

unsigned threads_count(void)
{
    return wanted > 0 ? wanted : (unsigned)get_nprocs();
}
