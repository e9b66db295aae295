/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIAL_PROCESS_H
#define NET_CREDENTIAL_PROCESS_H

#include <stdatomic.h>

#include "net/secret.h"

enum {
    CREDENTIAL_PROCESS_SECONDS = 60,     /* for which a process may run */
    CREDENTIAL_PROCESS_OUTPUT = 64 << 10 /* bytes that it may print */
};

/*
 * Run the command of a credential_process and read its output.  There is no
 * shell: the command is a list of words, in which quotes and backslashes work
 * as in a shell, but nothing is expanded.  The process gets the environment and
 * standard error of this one, no standard input, and none of its files.
 *
 *  cancel  kills the process when it becomes true; NULL: nothing does
 *  out     receives the output
 *  why     receives a static text if the command was refused or failed
 *
 * Returns 0, -EINVAL if the command has no words or an open quote, -EFBIG if it
 * prints too much, -ETIMEDOUT, -ECANCELED, -EACCES if it fails, -ENOMEM, or
 * another negative errno if it cannot be started.
 */
int credential_process_run(const char *command, unsigned seconds,
                           const atomic_bool *cancel, struct secret *out,
                           const char **why);

/*
 * Split a command into words.
 *
 *  out  receives an array that ends in NULL, in one piece of memory, which the
 *       caller frees
 *
 * Returns the number of words, -EINVAL if a quote is open, or -ENOMEM.
 */
int credential_process_split(const char *command, char ***out);

#endif
