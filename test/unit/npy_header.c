/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Prints the header of a .npy file, which NumPy reads; see ../tool.
 *
 *     npy_header ITEMSIZE DTYPE [EXTENT...]
 */
#include <stdio.h>
#include <stdlib.h>

#include "array/npy.h"

int main(int argc, char **argv)
{
    struct array array = { 0 };
    uint8_t *header;
    size_t len;
    int r;

    if (argc < 3 || argc > 3 + ARRAY_NDIM_MAX)
        return 2;
    array.layout.itemsize = (uint32_t)strtoul(argv[1], NULL, 10);
    array.dtype = argv[2];
    array.shape.ndim = (unsigned)argc - 3;
    for (int i = 3; i < argc; i++)
        array.shape.items[i - 3] = strtoull(argv[i], NULL, 10);
    r = npy_header(&array, &header, &len);
    if (r == 0)
        r = fwrite(header, 1, len, stdout) != len || fflush(stdout) != 0;
    free(header);
    return r != 0;
}
