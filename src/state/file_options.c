/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/file_options.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"

enum {
    THREADS_MAX = 1024,
    COMMIT_MAX = 86400,
    LOCK_TIMEOUT_MAX = 86400,
};

const struct file_options file_default_options = {
    .cache_size = (size_t)256 << 20,
    .nthreads = 0,
    .readahead = (size_t)8 << 20,
    .commit = 5,
    .lock = false,
    .lock_timeout = 10,
    .quarantine_ns = CLOCK_SECOND_NS,
    .sums = FILE_SUMS_ON,
    .net = NET_DEFAULT_OPTIONS,
};

static int set_size(const char *value, uint64_t min, size_t *out)
{
    uint64_t size;

    if (!size_parse(value, &size) || size < min || size > SIZE_MAX)
        return -EINVAL;
    *out = (size_t)size;
    return 0;
}

static int set_lock(const char *value, struct file_options *options)
{
    int r =
        size_parse_number(value, 0, LOCK_TIMEOUT_MAX, &options->lock_timeout);

    if (r == 0)
        options->lock = true;
    return r;
}

static int set_sums(const char *value, enum file_sums *out)
{
    if (strcmp(value, "off") == 0)
        *out = FILE_SUMS_OFF;
    else if (strcmp(value, "read") == 0)
        *out = FILE_SUMS_READ;
    else if (strcmp(value, "on") == 0)
        *out = FILE_SUMS_ON;
    else
        return -EINVAL;
    return 0;
}

int file_options_set(struct file_options *options, const char *name,
                     const char *value)
{
    if (strcmp(name, "cache") == 0)
        return set_size(value, 1, &options->cache_size);
    if (strcmp(name, "readahead") == 0)
        return set_size(value, 0, &options->readahead);
    if (strcmp(name, "threads") == 0)
        return size_parse_number(value, 1, THREADS_MAX, &options->nthreads);
    if (strcmp(name, "commit") == 0)
        return size_parse_number(value, 0, COMMIT_MAX, &options->commit);
    if (strcmp(name, "lock") == 0)
        return set_lock(value, options);
    if (strcmp(name, "sums") == 0)
        return set_sums(value, &options->sums);
    return net_options_set(&options->net, name, value);
}
