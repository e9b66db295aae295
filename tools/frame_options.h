/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FRAME_OPTIONS_H
#define TOOLS_FRAME_OPTIONS_H

#include <stdbool.h>

#include "chunk/chunk_lists.h"
#include "file/file.h"
#include "verb.h"

/* Options that describe a frame to be made. */

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

/* Rows for a verb's table of options. */
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

/* Help for these options.  A verb describes the defaults itself. */
#define FRAME_OPTIONS_HELP                                               \
    "  --layout LAYOUT   contiguous, one file, or sparse, a directory\n" \
    "  --codec NAME      " CODEC_NAMES "; for arrays\n"                  \
    "                    also NAME:META, with " ARRAY_CODEC_NAMES "\n"   \
    "  --clevel N        0, as it is, to 9, smallest\n"                  \
    "  --filters LIST    F[:META]+F..., up to six, or none\n"            \
    "  --typesize N      bytes per element, or auto\n"                   \
    "  --chunksize SIZE  decoded bytes in a chunk\n"                     \
    "  --blocksize SIZE  decoded bytes in a block, or auto\n"            \
    "  --force           replace the file or frame that has the name\n"

/* The options on a command line that describe a frame to be made. */
struct frame_options {
    /* The argument of each, in the order above; NULL if it is not given. */
    const char *values[FRAME_OPTIONS_FORCE - FRAME_OPTIONS_LAYOUT];
    bool force; /* replace a file or frame of the same name */
};

/* Record an option.  Returns false if it is not one of these.  Exits if its
   argument is invalid. */
bool frame_options_take(const struct verb *verb, int option,
                        struct frame_options *options);

/* Is one of these options given? */
bool frame_options_has(const struct frame_options *options, int option);

/*
 * Change parameters as the options say.  Returns false if the parameters are
 * not valid together.  This is not checked if no option but the layout is
 * given, because the chunks may then be copied as they are.
 *
 *  sparse  changed only if a layout is given
 */
bool frame_options_apply(const struct frame_options *options,
                         struct file_params *params, bool *sparse);

#endif
