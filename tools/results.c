/* SPDX-License-Identifier: BSD-3-Clause */
#include "results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Why printing has failed.  stdio only keeps that it has. */
static int failure;

void results_write(const void *bytes, size_t len)
{
    if (fwrite(bytes, 1, len, stdout) < len && failure == 0)
        failure = errno;
}

int results_flush(void)
{
    if (fflush(stdout) != 0 && failure == 0)
        failure = errno;
    if (failure == 0 && !ferror(stdout))
        return 0;
    log_error("standard output: %s", failure != 0
                                         ? strerror(failure)
                                         : "not everything could be written");
    return -EIO;
}
