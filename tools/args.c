/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/log.h"
#include "base/size.h"
#include "numbers.h"
#include "threads.h"

enum {
    SHORT_MAX = 32 /* room for the letters of all short options */
};

/* List the short options of a table as getopt() takes them, all without a
   value.  The colon has it tell a missing value from an unknown option. */
static void list_letters(const struct option *options, char letters[SHORT_MAX])
{
    size_t n = 0;

    letters[n++] = ':';
    for (const struct option *row = options; row->name; row++)
        if (isalpha(row->val) && n < SHORT_MAX - 1)
            letters[n++] = (char)row->val;
    letters[n] = '\0';
}

static const struct option *find_row(const struct option *options, int val)
{
    for (; options->name; options++)
        if (options->val == val)
            return options;
    return NULL;
}

/* Report why getopt_long() has rejected an option, and exit. */
static _Noreturn void refuse(const struct verb *verb,
                             const struct option *options, char **argv,
                             bool lacks_value)
{
    const struct option *row = optopt ? find_row(options, optopt) : NULL;

    if (row && lacks_value)
        log_error("--%s needs a value", row->name);
    else if (row)
        log_error("--%s takes no value", row->name);
    else if (optopt)
        log_error("unknown option '-%c'", optopt);
    else
        log_error("unknown option '%s'", argv[optind - 1]);
    verb_usage(verb);
}

int args_next(const struct verb *verb, int argc, char **argv,
              const struct option *options)
{
    char letters[SHORT_MAX];
    int option;

    list_letters(options, letters);
    opterr = 0;
    while ((option = getopt_long(argc, argv, letters, options, NULL)) ==
           ARGS_THREADS)
        threads_set((unsigned)args_within(verb, optarg, 1, THREADS_MAX));
    if (option == ARGS_HELP)
        verb_help(verb);
    if (option == ARGS_VERSION)
        verb_version();
    if (option == '?' || option == ':')
        refuse(verb, options, argv, option == ':');
    return option;
}

uint64_t args_size(const struct verb *verb, const char *text)
{
    uint64_t size;

    if (!size_parse(text, &size)) {
        log_error("'%s' is no number of bytes: wanted are digits, and then K, "
                  "M, G, T, KiB, KB, ... if wished",
                  text);
        verb_usage(verb);
    }
    return size;
}

uint64_t args_within(const struct verb *verb, const char *text, uint64_t min,
                     uint64_t max)
{
    uint64_t number = args_size(verb, text);

    if (number < min || number > max) {
        log_error("'%s' is out of range: it goes from %" PRIu64 " to %" PRIu64,
                  text, min, max);
        verb_usage(verb);
    }
    return number;
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
    static const struct option options[] = { ARGS_ROWS };

    args_next(verb, argc, argv, options);
    return args_take(verb, argc, argv, n, names);
}

uint64_t args_number(const struct verb *verb, const char *text)
{
    uint64_t number;

    if (!number_parse(text, &number)) {
        log_error("'%s' is no number of a chunk: they count from 0", text);
        verb_usage(verb);
    }
    return number;
}
