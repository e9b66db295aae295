/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_JOBS_H
#define TOOLS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

enum {
    JOBS_NCOUNTS = 4
};

/*
 * Work on many files, in parallel.  Each job has a process of its own, so a job
 * that fails in any way does not touch the others.  Its output and messages
 * appear in the order of the files, each job's in one piece.  A single file is
 * worked on in this process.
 */
struct jobs {
    const struct tree *files; /* one job for each entry */

    /*
     * Do a job.  It prints its result on standard output, and reports errors.
     * Interrupts end its process unless it catches them.
     *
     *  counts  zeros; what it sets, done() gets
     *
     * Returns 0, or a negative errno if it has failed.
     */
    int (*run)(void *context, const struct tree_entry *file,
               uint64_t counts[JOBS_NCOUNTS]);

    /* Called for each job that has succeeded, in their order; may be NULL. */
    void (*done)(void *context, const uint64_t counts[JOBS_NCOUNTS]);

    /* Called for each job that has ended, in their order, but not for one that
       an interruption ended, nor for any after that; may be NULL. */
    void (*ended)(void *context, const struct tree_entry *file, bool failed);

    bool
        waits; /* jobs wait for the disk more than they compute, so more of them
                   run at a time than there are CPUs */
    void *context;
    const char *separator; /* printed between the outputs of jobs; or NULL */
};

/*
 * Run all jobs, as many at a time as threads are wanted, or as suits them if
 * the user leaves that open.  Interrupts are caught meanwhile, and end the
 * program once all jobs have ended.
 *
 * Returns the number of jobs that have failed, or a negative errno, which was
 * reported, if not all could be run.
 */
long jobs_run(const struct jobs *jobs);

#endif
