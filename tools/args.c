/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include "base/log.h"
#include "base/size.h"
#include "numbers.h"

void args_common(const struct verb *verb, int option, uint64_t *frame_offset)
{
    if (option == ARGS_FRAME_OFFSET)
        *frame_offset = args_size(verb, optarg);
    else
        args_help(verb, option);
}

void args_help(const struct verb *verb, int option)
{
    if (option == ARGS_HELP)
        verb_help(verb);
    verb_usage(verb);
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
        log_error("no FRAME is given");
        verb_usage(verb);
    }
}

char **args_take(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names)
{
    if (argc - optind < n) {
        log_error("no %s is given", names[argc - optind]);
        verb_usage(verb);
    }
    if (argc - optind > n) {
        log_error("'%s' is one argument too many", argv[optind + n]);
        verb_usage(verb);
    }
    return argv + optind;
}

const char *args_frame(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME" };

    return args_take(verb, argc, argv, 1, names)[0];
}

char **args_only(const struct verb *verb, int argc, char **argv, int n,
                 const char *const *names)
{
    static const struct option options[] = {
        { "help", no_argument, NULL, ARGS_HELP },
        { NULL, 0, NULL, 0 },
    };
    int option = getopt_long(argc, argv, "", options, NULL);

    if (option != -1)
        args_help(verb, option);
    return args_take(verb, argc, argv, n, names);
}

uint64_t args_number(const struct verb *verb, const char *text)
{
    uint64_t number;

    if (!number_parse(text, &number)) {
        log_error("'%s' is no number of a chunk", text);
        verb_usage(verb);
    }
    return number;
}
