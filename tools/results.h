/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_RESULTS_H
#define TOOLS_RESULTS_H

#include <stddef.h>

/* Print any bytes to standard output.  results_flush() reports a failure. */
void results_write(const void *bytes, size_t len);

/* Write out the rest of what was printed to standard output.  Returns 0, or
   -EIO if anything printed until now is lost, which was reported. */
int results_flush(void);

#endif
