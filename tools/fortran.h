/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FORTRAN_H
#define TOOLS_FORTRAN_H

#include "file/file.h"
#include "input.h"

/*
 * Copy all items of an array in Fortran order, the first dimension varying
 * fastest, to a new array.
 *
 *  input   can be read at any offset, and has nothing but the items from its
 *          next byte on
 *  file    shows the new array in C order
 *  params  of its frame
 *  path    of the frame, to report errors
 *
 * Returns as array_copy(); -EINVAL if the input has fewer or more bytes.
 */
int fortran_copy(struct input *input, struct file *file,
                 const struct file_params *params, const char *path);

#endif
