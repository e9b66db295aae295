/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A sparse frame.  The input is a sequence of files, each after its length in
 * four bytes, little-endian.  The first file is the index; the others are
 * chunks 0, 1, and so on.  Bytes after the last complete file are ignored.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "frame_exercise.h"
#include "fuzz.h"

enum {
    FILES_MAX = 16,
    PREFIX_LEN = 4
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_mem_file files[FILES_MAX];
    char names[FILES_MAX][24];
    struct store *store;
    size_t n = 0;

    while (n < FILES_MAX && size >= PREFIX_LEN) {
        size_t len = load_le32(data);

        data += PREFIX_LEN;
        size -= PREFIX_LEN;
        if (len > size)
            break;
        if (n == 0)
            snprintf(names[n], sizeof(names[n]), "chunks.b2frame");
        else
            snprintf(names[n], sizeof(names[n]), "%08zX.chunk", n - 1);
        files[n] = (struct store_mem_file){ names[n], data, len };
        n++;
        data += len;
        size -= len;
    }
    if (store_mem_open_dir(files, n, &store) < 0)
        abort();
    frame_exercise(store);
    return 0;
}
