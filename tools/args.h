/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <getopt.h>
#include <stdint.h>

#include "verb.h"

/* Values of struct option.val for the options that many verbs have. */
enum {
    ARGS_FRAME_OFFSET = 0x100,
    ARGS_HELP
};

/* Their help, which ends that of a verb's options. */
#define ARGS_HELP_HELP "  --help            print this text\n"
#define ARGS_COMMON_HELP \
    "  --frame-offset N  the frame starts at byte N of the file\n" ARGS_HELP_HELP

/*
 * Act on an option of verbs that only read a frame, or on anything that
 * getopt_long() refused.
 *
 *  option        what getopt_long() returned
 *  frame_offset  receives the argument of --frame-offset
 */
void args_common(const struct verb *verb, int option, uint64_t *frame_offset);

/* Act on --help, or on anything that getopt_long() refused. */
_Noreturn void args_help(const struct verb *verb, int option);

/*
 * The argument of an option that is a number of bytes: decimal, with a suffix
 * K, M, G or T for units of 1024 if wanted.  Exits if it is none.
 */
uint64_t args_size(const struct verb *verb, const char *text);

/* Check that at least one FRAME follows the options.  Exits if there is none. */
void args_frames(const struct verb *verb, int argc);

/*
 * The `n` arguments behind the options.  Exits if there are fewer, or more.
 *
 *  names  what the usage calls them
 */
char **args_take(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* The same for a verb without options of its own. */
char **args_only(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* The number of a chunk.  Exits if it is none. */
uint64_t args_number(const struct verb *verb, const char *text);

/* The one FRAME behind the options.  Exits if there is none, or more. */
const char *args_frame(const struct verb *verb, int argc, char **argv);

#endif
