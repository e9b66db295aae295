/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_MADE_H
#define TOOLS_MADE_H

#include <stdbool.h>

#include "args.h"
#include "jobs.h"

/*
 * What a verb has made of many frames or files: nothing is printed, or a table
 * with a row for each frame and their sums, or a JSON array.
 */
enum made_form {
    MADE_QUIET,
    MADE_TABLE,
    MADE_JSON
};

/* Values of struct option.val, and the rows and the help of these options. */
enum {
    OPTION_MADE_TABLE = 0x500,
    OPTION_MADE_JSON,
};

#define MADE_ROWS                                      \
    { "table", no_argument, NULL, OPTION_MADE_TABLE }, \
    {                                                  \
        "json", no_argument, NULL, OPTION_MADE_JSON    \
    }
#define MADE_HELP                                                 \
    "  --table           say what was made of each, as a table\n" \
    "  --json            the same as a JSON array\n"

/* The frames that were made. */
struct made {
    enum made_form form;
    uint64_t nframes;
    uint64_t before; /* bytes of what they were made of */
    uint64_t stored; /* bytes that they take up */
};

/* Take an option; false if it is another one. */
bool made_take(int option, struct made *made);

/* The separator of jobs. */
const char *made_separator(const struct made *made);

/* Print what comes before all rows, and behind them. */
void made_begin(const struct made *made);
void made_end(const struct made *made);

/*
 * Print the row of a frame.
 *
 *  before  bytes of what it was made of
 *  r       the result of making it; a frame that could not be made has no row
 *          in a table
 *  counts  of the job, for made_count()
 *
 * Returns `r`, or if that is 0 the error for which the frame cannot be read,
 * which was reported.
 */
int made_print(const struct made *made, const char *path, uint64_t before,
               int r, uint64_t counts[JOBS_NCOUNTS]);

/* Add up the counts of a job that has succeeded. */
void made_count(struct made *made, const uint64_t counts[JOBS_NCOUNTS]);

#endif
