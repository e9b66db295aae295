/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/program_code.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* glibc has it from 2.35 on */
#endif

static void map_segment(uintptr_t start, size_t len)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = start - start % page;

    /* If this fails, the pages are mapped as they are needed. */
    madvise((void *)from, start + len - from, MADV_POPULATE_READ);
}

static int map_code(struct dl_phdr_info *info,
                    size_t size __attribute__((unused)),
                    void *arg __attribute__((unused)))
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
            map_segment(info->dlpi_addr + segment->p_vaddr, segment->p_memsz);
    }
    return 0;
}

static void run(struct pool_task *task __attribute__((unused)))
{
    dl_iterate_phdr(map_code, NULL);
}

void program_code_map(struct pool *pool)
{
    static struct pool_task task = { .run = run };

    pool_submit(pool, &task);
}
