/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/shuffle.h"

#if defined(__x86_64__)
#include "chunk/vector/shuffle_vector.h"
#include "chunk/x86/kernels.h"
#elif defined(__aarch64__) || defined(__s390x__)
#include "chunk/vector/shuffle_vector.h"
#endif

const struct shuffle_ops *const shuffle_kernels[] = {
#if defined(__x86_64__)
    &shuffle_avx512,   &shuffle_avx2, &shuffle_vector,
#elif defined(__aarch64__) || defined(__s390x__)
    &shuffle_vector,
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
