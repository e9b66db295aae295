/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "lock.h"
#include "remote.h"
#include "results.h"
#include "verb.h"

/* clang-format off */
static const struct verb *const verbs[] = {
    &verb_info,
    &verb_cat,
    &verb_verify,
    &verb_create,
    &verb_append,
    &verb_insert,
    &verb_update,
    &verb_delete,
    &verb_reorder,
    &verb_truncate,
    &verb_meta,
    &verb_convert,
    &verb_compact,
    &verb_repair,
    &verb_ls,
    &verb_map,
    &verb_estimate,
    &verb_ticket,
    &verb_gc,
};
/* clang-format on */

enum {
    NVERBS = sizeof(verbs) / sizeof(verbs[0])
};

static void print_usage(FILE *to)
{
    fprintf(to, "usage: b2frame [--lock] VERB [-o OPTION,...] [OPTION...] "
                "FRAME...\n"
                "       b2frame VERB --help | --help | --version\n");
}

static void print_help(void)
{
    print_usage(stdout);
    printf(
        "\nMake, show, check and change Blosc2 frames, files or directories.\n\nVerbs:\n");
    for (size_t i = 0; i < NVERBS; i++)
        printf("  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
    printf("\nOptions:\n"
           "  --lock     lock frames against other programs, as with "
           "BLOSC_LOCKING=1\n"
           "  -o OPTION,...  after the verb: for frames behind URLs, as for "
           "framefs;\n"
           "             sums=off reads frames without a look at their "
           "checksums\n"
           "\nExample:\n"
           "  b2frame info measurements.b2frame\n");
}

static void print_synopsis(const struct verb *verb, FILE *to)
{
    fprintf(to, "usage: b2frame %s %s\n", verb->name, verb->args);
}

void verb_help(const struct verb *verb)
{
    print_synopsis(verb, stdout);
    printf("\n%s.\n\n%s", verb->summary, verb->help);
    exit(results_flush() < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

void verb_version(void)
{
    printf("b2frame %s\n", FRAMEFS_VERSION);
    exit(results_flush() < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

void verb_usage(const struct verb *verb)
{
    print_synopsis(verb, stderr);
    exit(EXIT_USAGE);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < NVERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

/* Handle an option that comes before the verb. */
static int run_option(const char *option)
{
    if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
        print_help();
        return EXIT_SUCCESS;
    }
    if (strcmp(option, "--version") == 0 || strcmp(option, "-V") == 0)
        verb_version();
    log_error("unknown option '%s'", option);
    print_usage(stderr);
    return EXIT_USAGE;
}

static int run(int argc, char **argv)
{
    const struct verb *verb;

    if (remote_take_options(&argc, argv) < 0)
        return EXIT_USAGE;
    if (argc > 1 && strcmp(argv[1], "--lock") == 0) {
        lock_want();
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return run_option(argv[1]);

    verb = find_verb(argv[1]);
    if (!verb) {
        log_error("unknown verb '%s'", argv[1]);
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (remote_take_args(verb, argc - 1, argv + 1) < 0)
        return EXIT_FAILURE;
    argv[1] = argv[0]; /* because getopt() starts its messages with it */
    return verb->run(verb, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int status;

    log_setup("b2frame", LOG_SINK_STDERR, LOG_LEVEL_WARNING);
    status = run(argc, argv);
    if (results_flush() < 0)
        return EXIT_FAILURE;
    return status;
}
