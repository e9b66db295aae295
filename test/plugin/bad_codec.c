/* SPDX-License-Identifier: BSD-3-Clause */
#include <framefs-codec.h>

/* Plug-ins that must not be loaded.  BAD says what is wrong. */
#if BAD == 1
const struct framefs_codec framefs_codec = { .abi = FRAMEFS_CODEC_ABI + 1,
                                             .name = "newer" };
#elif BAD == 2
const struct framefs_codec framefs_codec = { .abi = FRAMEFS_CODEC_ABI,
                                             .name = "a name" };
#elif BAD == 3
const struct framefs_codec framefs_codec = { .abi = FRAMEFS_CODEC_ABI,
                                             .name = "idle" };
#elif BAD == 4
const int framefs_something_else;
#elif BAD == 5
const struct framefs_codec framefs_codec = { .abi = FRAMEFS_CODEC_ABI,
                                             .flags = 1u << 31,
                                             .name = "flags" };
#endif
