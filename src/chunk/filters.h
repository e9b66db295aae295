/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_FILTERS_H
#define CHUNK_FILTERS_H

#include "chunk/chunk_lists.h"
#include "chunk/filter.h"

/* The filters, each defined in its filter_*.c. */
#define FILTER_VARIABLE(name) filter_##name
extern const struct filter FILTER_LIST(FILTER_VARIABLE);

#endif
