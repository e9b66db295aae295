/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <getopt.h>
#include <stdint.h>

#include "verb.h"

/* Values of struct option.val for options that many verbs share. */
enum {
    ARGS_FRAME_OFFSET = 0x100,
    ARGS_HELP
};

/* Help for these options.  It comes last in the list of a verb's options. */
#define ARGS_HELP_HELP "  --help            print this text\n"
#define ARGS_COMMON_HELP \
    "  --frame-offset N  the frame starts at byte N of the file\n" ARGS_HELP_HELP

/*
 * Handle an option of a verb that only reads a frame.  Exits unless the option
 * is --frame-offset.
 *
 *  option        the return value of getopt_long()
 *  frame_offset  receives the argument of --frame-offset
 */
void args_common(const struct verb *verb, int option, uint64_t *frame_offset);

/* Print the help for --help, or the synopsis for an option that getopt_long()
   rejected, and exit. */
_Noreturn void args_help(const struct verb *verb, int option);

/* Parse the argument of an option that is a number of bytes: decimal, with an
   optional suffix K, M, G or T for units of 1024.  Exits if it is anything
   else. */
uint64_t args_size(const struct verb *verb, const char *text);

/* Check that at least one FRAME follows the options.  Exits if none does. */
void args_frames(const struct verb *verb, int argc);

/*
 * Get the `n` arguments after the options.  Exits if there are fewer or more.
 *
 *  names  of the arguments, as in the usage
 */
char **args_take(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* Do the same for a verb that has no option except --help. */
char **args_only(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names);

/* Parse the number of a chunk.  Exits if the text is not a number. */
uint64_t args_number(const struct verb *verb, const char *text);

/* Get the one FRAME after the options.  Exits if there is none, or more than
   one. */
const char *args_frame(const struct verb *verb, int argc, char **argv);

#endif
