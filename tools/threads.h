/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_THREADS_H
#define TOOLS_THREADS_H

enum {
    THREADS_MAX = 1024
};

/* Set and get the number of threads that encode and decode chunks.  It is 0,
   one for each CPU, if the user gives none.  Set before there are threads. */
void threads_set(unsigned nthreads);
unsigned threads_get(void);

/* The same number, with the CPUs counted if it is 0. */
unsigned threads_count(void);

#endif
