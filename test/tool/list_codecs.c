/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Prints the codecs and filters that have a name; see names.py.  A line
 * has the kind, the name, "arrays" if it is only for these or else "files", and
 * "written", "read" if it can only be read, "lossy" if it is written and loses
 * digits, or "lacking".
 */
#include <stdio.h>
#include <string.h>

#include "chunk/codec.h"
#include "chunk/filter.h"

static void print_codec(unsigned id)
{
    const struct codec *codec = codec_by_id(id);

    printf("codec %s %s %s\n", codec_name(id),
           codec && codec->uses_shape ? "arrays" : "files",
           !codec            ? "lacking"
           : !codec->encode  ? "read"
           : codec->is_lossy ? "lossy"
                             : "written");
}

static void print_filter(unsigned id)
{
    const struct filter *filter = filter_by_id(id);

    printf("filter %s %s %s\n", filter_name(id),
           filter && filter->uses_shape ? "arrays" : "files",
           !filter            ? "lacking"
           : !filter->apply   ? "read"
           : filter->is_lossy ? "lossy"
                              : "written");
}

int main(void)
{
    for (unsigned id = 0; id < CODEC_NIDS; id++)
        if (strcmp(codec_name(id), "unknown") != 0)
            print_codec(id);
    for (unsigned id = FILTER_NONE + 1; id <= UINT8_MAX; id++)
        if (strcmp(filter_name(id), "unknown") != 0)
            print_filter(id);
    return 0;
}
