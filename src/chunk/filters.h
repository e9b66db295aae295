/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_FILTERS_H
#define CHUNK_FILTERS_H

#include "chunk/filter.h"

/* The filters themselves, for the table in filter.c. */
extern const struct filter filter_shuffle;
extern const struct filter filter_bitshuffle;
extern const struct filter filter_delta;
extern const struct filter filter_trunc_prec;
extern const struct filter filter_bytedelta;
extern const struct filter filter_bytedelta34;
extern const struct filter filter_int_trunc;

#endif
