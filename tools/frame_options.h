/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FRAME_OPTIONS_H
#define TOOLS_FRAME_OPTIONS_H

#include <stdbool.h>

#include "file/file.h"
#include "verb.h"

/* What the user says of a frame that is to be made. */

/* Values of struct option.val. */
enum {
    FRAME_OPTIONS_LAYOUT = 0x200,
    FRAME_OPTIONS_CODEC,
    FRAME_OPTIONS_CLEVEL,
    FRAME_OPTIONS_FILTERS,
    FRAME_OPTIONS_TYPESIZE,
    FRAME_OPTIONS_CHUNKSIZE,
    FRAME_OPTIONS_BLOCKSIZE,
    FRAME_OPTIONS_FORCE,
    FRAME_OPTIONS_END
};

/* Rows for the options of a verb. */
/* clang-format off */
#define FRAME_OPTIONS_ROWS                                             \
    { "layout", required_argument, NULL, FRAME_OPTIONS_LAYOUT },       \
    { "codec", required_argument, NULL, FRAME_OPTIONS_CODEC },         \
    { "clevel", required_argument, NULL, FRAME_OPTIONS_CLEVEL },       \
    { "filters", required_argument, NULL, FRAME_OPTIONS_FILTERS },     \
    { "typesize", required_argument, NULL, FRAME_OPTIONS_TYPESIZE },   \
    { "chunksize", required_argument, NULL, FRAME_OPTIONS_CHUNKSIZE }, \
    { "blocksize", required_argument, NULL, FRAME_OPTIONS_BLOCKSIZE }, \
    { "force", no_argument, NULL, FRAME_OPTIONS_FORCE }
/* clang-format on */

/* Their help; the defaults are the verb's to tell. */
#define FRAME_OPTIONS_HELP                                               \
    "  --layout LAYOUT   contiguous, one file, or sparse, a directory\n" \
    "  --codec NAME      blosclz, lz4, lz4hc, zlib or zstd\n"            \
    "  --clevel N        0, as it is, to 9, smallest\n"                  \
    "  --filters LIST    F[:META]+F..., up to six, or none\n"            \
    "  --typesize N      bytes per element, or auto\n"                   \
    "  --chunksize SIZE  decoded bytes in a chunk\n"                     \
    "  --blocksize SIZE  decoded bytes in a block, or auto\n"            \
    "  --force           replace the file or frame that has the name\n"

/* The options on a command line that say how to make a frame. */
struct frame_options {
    /* The text of each, in the order above; NULL if it is not given. */
    const char *values[FRAME_OPTIONS_FORCE - FRAME_OPTIONS_LAYOUT];
    bool force; /* replace a file or frame that has the name */
};

/*
 * Take an option.  Returns false if it is none of these; exits if its value is
 * no good.
 */
bool frame_options_take(const struct verb *verb, int option,
                        struct frame_options *options);

/*
 * Change parameters to what is given.  Returns false if these do not go
 * together.
 *
 *  sparse  changed if a layout is given
 */
bool frame_options_apply(const struct frame_options *options,
                         struct file_params *params, bool *sparse);

#endif
