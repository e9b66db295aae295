/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_PARAMS_H
#define FILE_PARAMS_H

#include "file/file.h"

/* What new frames are if nothing is said. */
extern const struct file_params params_default;

/*
 * Set one of the parameters of new frames from text.
 *
 *  name   codec, clevel, filters, typesize, chunksize or blocksize
 *  value  as the manual page says
 *
 * Returns 0, -EINVAL if the value is none of the parameter's, or -ENOENT if
 * there is no such parameter.
 */
int params_set(struct file_params *params, const char *name, const char *value);

/* Do the parameters go together?  Returns 0, -EINVAL or -ENOTSUP. */
int params_check(const struct file_params *params);

#endif
