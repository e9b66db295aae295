/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/warm_up.h"

#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* glibc has it from 2.35 on */
#endif

enum {
    PIECE = 4000, /* bytes; at most a page, and too many for a thread's own
                     cache of free pieces */
    NPIECES = 48, /* as much as the first requests use */
};

static void map_segment(uintptr_t start, size_t len)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = start - start % page;

    /* If this fails, the pages are mapped as they are needed. */
    madvise((void *)from, start + len - from, MADV_POPULATE_READ);
}

/* Map code and constants. */
static int map_program(struct dl_phdr_info *info,
                       size_t size __attribute__((unused)),
                       void *arg __attribute__((unused)))
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            map_segment(info->dlpi_addr + segment->p_vaddr, segment->p_memsz);
    }
    return 0;
}

/* Take pieces from the same gaps in the heap as the first requests will, and
   give them back.  All threads share one heap, see framefs.c. */
static void map_heap(void)
{
    char *volatile pieces[NPIECES];

    for (size_t i = 0; i < NPIECES; i++) {
        pieces[i] = malloc(PIECE);
        if (pieces[i])
            pieces[i][PIECE - 1] = 0;
    }
    for (size_t i = NPIECES; i > 0; i--)
        free(pieces[i - 1]);
}

static void run(struct pool_task *task __attribute__((unused)))
{
    map_heap();
    dl_iterate_phdr(map_program, NULL);
}

void warm_up(struct pool *pool)
{
    static struct pool_task task = { .run = run };

    pool_submit(pool, &task);
}
