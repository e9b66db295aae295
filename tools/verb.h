/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_VERB_H
#define TOOLS_VERB_H

#include <stdbool.h>

#include "base/exit_usage.h"

/* A verb of b2frame. */
struct verb {
    const char *name;
    const char *args;    /* the part of the synopsis after the name */
    const char *summary; /* one line, for the list of verbs */
    const char *help;    /* options, then an example */

    /* Run the verb.  `argv[0]` is the name of the program, for the messages of
       getopt_long(); the arguments of the verb follow.  Returns the exit
       status. */
    int (*run)(const struct verb *verb, int argc, char **argv);

    bool urls; /* a frame may be named by a URL */
};

/* The verbs, each defined in its verb_*.c. */
extern const struct verb verb_info;
extern const struct verb verb_cat;
extern const struct verb verb_verify;
extern const struct verb verb_create;
extern const struct verb verb_append;
extern const struct verb verb_insert;
extern const struct verb verb_update;
extern const struct verb verb_delete;
extern const struct verb verb_reorder;
extern const struct verb verb_truncate;
extern const struct verb verb_meta;
extern const struct verb verb_convert;
extern const struct verb verb_compact;
extern const struct verb verb_repair;
extern const struct verb verb_ls;
extern const struct verb verb_map;
extern const struct verb verb_estimate;
extern const struct verb verb_ticket;
extern const struct verb verb_gc;

/* Print the help of a verb on standard output, and exit with success. */
_Noreturn void verb_help(const struct verb *verb);

/* Print the version on standard output, and exit with success. */
_Noreturn void verb_version(void);

/* Print the synopsis of a verb on standard error, and exit with EXIT_USAGE.
   The error itself has been reported before. */
_Noreturn void verb_usage(const struct verb *verb);

#endif
