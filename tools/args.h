/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <getopt.h>
#include <stdint.h>

#include "verb.h"

/* Values of struct option.val for options that many verbs share. */
enum {
    ARGS_HELP = 'h',
    ARGS_VERSION = 'V',
    ARGS_RECURSIVE = 'r', /* its row is not in ARGS_ROWS */
    ARGS_FRAME_OFFSET = 0x100,
    ARGS_THREADS
};

/* The rows that end the table of options of every verb. */
/* clang-format off */
#define ARGS_ROWS                                           \
    { "threads", required_argument, NULL, ARGS_THREADS },   \
    { "help", no_argument, NULL, ARGS_HELP },               \
    { "version", no_argument, NULL, ARGS_VERSION },         \
    { NULL, 0, NULL, 0 }
/* clang-format on */

/* Help for these options.  It comes last in the list of a verb's options. */
#define ARGS_HELP_HELP                                            \
    "  --threads N       threads that encode and decode chunks\n" \
    "  --help, -h        print this text\n"                       \
    "  --version, -V     print the version\n"
#define ARGS_RECURSIVE_HELP "  --recursive, -r   all frames below a directory\n"
#define ARGS_COMMON_HELP \
    "  --frame-offset N  the frame starts at byte N of the file\n" ARGS_HELP_HELP

/*
 * Get the next option, as getopt_long() does.  Handles the options of
 * ARGS_ROWS, and exits for an option that the table lacks, or that has a value
 * where it needs none, or none where it needs one.
 *
 *  options  a row whose `val` is a letter has a short form, too
 *
 * Returns the option's `val`, or -1 after the last option.
 */
int args_next(const struct verb *verb, int argc, char **argv,
              const struct option *options);

/* Parse the argument of an option that is a number of bytes, see size_parse().
   Exits if it is anything else. */
uint64_t args_size(const struct verb *verb, const char *text);

/* Parse the argument of an option that is a number of that form from `min` to
   `max`.  Exits if it is anything else. */
uint64_t args_within(const struct verb *verb, const char *text, uint64_t min,
                     uint64_t max);

/* Check that at least one FRAME follows the options.  Exits if none does. */
void args_frames(const struct verb *verb, int argc);

/*
 * Get the `n` arguments after the options.  Exits if there are fewer or more.
 *
 *  names  of the arguments, as in the usage
 */
char **args_take(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* Do the same for a verb that has no option but those of ARGS_ROWS. */
char **args_only(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* Parse the number of a chunk.  Exits if the text is not a number. */
uint64_t args_number(const struct verb *verb, const char *text);

/* Get the one FRAME after the options.  Exits if there is none, or more than
   one. */
const char *args_frame(const struct verb *verb, int argc, char **argv);

#endif
