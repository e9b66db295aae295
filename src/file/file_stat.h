/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_STAT_H
#define FILE_FILE_STAT_H

#include <stdbool.h>

#include "store/store.h"

/* Are these the same file in the same state?  The ctime is ignored, because it
   changes when a file gets another name. */
bool file_same_stat(const struct store_stat *a, const struct store_stat *b);

#endif
