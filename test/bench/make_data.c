/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_data.h"

enum {
    PIECE = 1 << 20
};

/*
 * Make a file of the data of bench_walk(), with a different walk for each MiB.
 *
 * usage: make_data OUT MIB [SEED]
 */
int main(int argc, char **argv)
{
    static uint8_t piece[PIECE];
    unsigned long npieces = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    FILE *out;

    if (npieces == 0) {
        fprintf(stderr, "usage: make_data OUT MIB [SEED]\n");
        return 2;
    }
    out = fopen(argv[1], "wb");
    for (unsigned long i = 0; out && i < npieces; i++) {
        bench_walk(seed + i, piece, PIECE);
        if (fwrite(piece, PIECE, 1, out) != 1)
            break;
    }
    if (!out || ferror(out) || fclose(out) != 0) {
        fprintf(stderr, "make_data: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    return 0;
}
