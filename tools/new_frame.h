/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NEW_FRAME_H
#define TOOLS_NEW_FRAME_H

#include <stdbool.h>

#include "file/file.h"
#include "verb.h"

/* What the user says of a frame that is to be made. */

/* Values of struct option.val. */
enum {
    NEW_FRAME_LAYOUT = 0x200,
    NEW_FRAME_CODEC,
    NEW_FRAME_CLEVEL,
    NEW_FRAME_FILTERS,
    NEW_FRAME_TYPESIZE,
    NEW_FRAME_CHUNKSIZE,
    NEW_FRAME_BLOCKSIZE,
    NEW_FRAME_FORCE,
    NEW_FRAME_END
};

/* Rows for the options of a verb. */
/* clang-format off */
#define NEW_FRAME_OPTIONS                                              \
    { "layout", required_argument, NULL, NEW_FRAME_LAYOUT },           \
    { "codec", required_argument, NULL, NEW_FRAME_CODEC },             \
    { "clevel", required_argument, NULL, NEW_FRAME_CLEVEL },           \
    { "filters", required_argument, NULL, NEW_FRAME_FILTERS },         \
    { "typesize", required_argument, NULL, NEW_FRAME_TYPESIZE },       \
    { "chunksize", required_argument, NULL, NEW_FRAME_CHUNKSIZE },     \
    { "blocksize", required_argument, NULL, NEW_FRAME_BLOCKSIZE },     \
    { "force", no_argument, NULL, NEW_FRAME_FORCE }
/* clang-format on */

/* Their help; the defaults are the verb's to tell. */
#define NEW_FRAME_HELP                                                   \
    "  --layout LAYOUT   contiguous, one file, or sparse, a directory\n" \
    "  --codec NAME      blosclz, lz4, lz4hc, zlib or zstd\n"            \
    "  --clevel N        0, as it is, to 9, smallest\n"                  \
    "  --filters LIST    F[:META]+F..., up to six, or none\n"            \
    "  --typesize N      bytes per element, or auto\n"                   \
    "  --chunksize SIZE  decoded bytes in a chunk\n"                     \
    "  --blocksize SIZE  decoded bytes in a block, or auto\n"            \
    "  --force           replace the file or frame that has the name\n"

struct new_frame {
    const char *values[NEW_FRAME_FORCE - NEW_FRAME_LAYOUT]; /* or NULL */
    bool force;
};

/*
 * Take an option.  Returns false if it is none of these; exits if its value is
 * no good.
 */
bool new_frame_take(const struct verb *verb, int option,
                    struct new_frame *new_frame);

/*
 * Change parameters to what is given.  Returns false if these do not go
 * together.
 *
 *  sparse  changed if a layout is given
 */
bool new_frame_apply(const struct new_frame *new_frame,
                     struct file_params *params, bool *sparse);

#endif
