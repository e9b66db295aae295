/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/x86/kernels.h"

size_t kernel_next_column(size_t column, size_t ncolumns)
{
    size_t next = column + KERNEL_COLUMNS;

    if (next < ncolumns && next + KERNEL_COLUMNS > ncolumns)
        return ncolumns - KERNEL_COLUMNS;
    return next;
}
