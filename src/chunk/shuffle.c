/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/shuffle.h"

#ifdef __x86_64__
#include "chunk/x86/kernels.h"
#endif

const struct shuffle_ops *const shuffle_kernels[] = {
#ifdef __x86_64__
    &shuffle_avx512,   &shuffle_avx2, &shuffle_sse2,
#endif
    &shuffle_portable, NULL,
};

const struct shuffle_ops *shuffle_select(unsigned cpu)
{
    size_t i = 0;

    while (shuffle_kernels[i]->cpu & ~cpu)
        i++;
    return shuffle_kernels[i];
}
