/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include "base/log.h"
#include "base/size.h"

void args_common(const struct verb *verb, int option, uint64_t *frame_offset)
{
    switch (option) {
    case ARGS_FRAME_OFFSET:
        *frame_offset = args_size(verb, optarg);
        break;
    case ARGS_HELP:
        verb_help(verb);
    default:
        verb_usage(verb);
    }
}

uint64_t args_size(const struct verb *verb, const char *text)
{
    uint64_t size;

    if (!size_parse(text, &size)) {
        log_error("'%s' is no number of bytes", text);
        verb_usage(verb);
    }
    return size;
}

void args_frames(const struct verb *verb, int argc)
{
    if (optind == argc) {
        log_error("no frame is named");
        verb_usage(verb);
    }
}

const char *args_frame(const struct verb *verb, int argc, char **argv)
{
    args_frames(verb, argc);
    if (optind < argc - 1) {
        log_error("'%s' is one argument too many", argv[optind + 1]);
        verb_usage(verb);
    }
    return argv[optind];
}
