/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "base/log.h"
#include "estimate.h"
#include "input.h"
#include "interrupt.h"
#include "progress.h"
#include "source.h"
#include "verb.h"

enum {
    OPTION_SAMPLE = 0x300,
    OPTION_TYPESIZE,
    OPTION_ALL,
    OPTION_JSON,

    SAMPLE_DEFAULT = 2 << 20,
    SAMPLE_MAX = 1 << 30,
    PIECE_LEN = 1 << 20, /* the default chunksize */
    TYPESIZE_MAX = 255,
    ROWS = 20, /* of the table, unless --all is given */
    OPTIONS_LEN = 128,
};

struct estimate_job {
    const char *path;
    uint64_t sample_len;
    uint32_t typesize;
    bool all;
    bool json;
    struct estimate_sample sample;
    struct estimate_trial *trials;
    int ntrials;
    struct estimate_trial best[ESTIMATE_NGOALS];
    struct progress progress;
};

static const char *const goals[] = {
    [ESTIMATE_SIZE] = "size",
    [ESTIMATE_SPEED] = "speed",
    [ESTIMATE_BALANCE] = "balance",
};

/* Read pieces that are spread over the whole file. */
static ssize_t read_spread(struct estimate_job *job, struct input *input)
{
    size_t piece_len = job->sample.piece_len;
    uint64_t size = (uint64_t)input->stat.st_size;
    size_t npieces = (size_t)job->sample_len / piece_len;
    uint64_t step = (size - piece_len) / (npieces > 1 ? npieces - 1 : 1);
    size_t len = 0;

    for (size_t i = 0; i < npieces && !interrupt_seen(); i++) {
        ssize_t n;

        input->off = i * step - i * step % piece_len;
        n = input_read(input, job->sample.bytes + len, piece_len);
        if (n < 0)
            return n;
        len += (size_t)n;
    }
    return interrupt_seen() ? -EINTR : (ssize_t)len;
}

/* Take the sample.  If the file is a pipe or no larger than the sample, or if
   the sample is smaller than a piece, take the first bytes; otherwise take
   pieces that are spread over the file. */
static int take_sample(struct estimate_job *job, struct input *input)
{
    uint32_t typesize = job->typesize > 0 ? job->typesize : 1;
    ssize_t n;

    job->sample.piece_len = PIECE_LEN - PIECE_LEN % typesize;
    job->sample.bytes = malloc(job->sample_len);
    if (!job->sample.bytes) {
        source_report(input->name, -ENOMEM, &FAULT_NONE);
        return -ENOMEM;
    }
    if (input->seekable && (uint64_t)input->stat.st_size > job->sample_len &&
        job->sample_len >= job->sample.piece_len)
        n = read_spread(job, input);
    else
        n = input_read(input, job->sample.bytes, job->sample_len);
    if (n == 0) {
        log_error("%s: is empty", input->name);
        n = -ENODATA;
    }
    if (n < 0)
        return (int)n;
    job->sample.len = (size_t)n;
    if (job->sample.len < job->sample.piece_len)
        job->sample.piece_len = job->sample.len;
    return 0;
}

static int show_progress(void *context, int done, int ntrials)
{
    struct estimate_job *job = context;

    progress_update(&job->progress, (uint64_t)done * job->sample.len,
                    (uint64_t)ntrials * job->sample.len);
    return interrupt_seen() ? -EINTR : 0;
}

static int compare_ratios(const void *a, const void *b)
{
    const struct estimate_trial *x = a;
    const struct estimate_trial *y = b;

    return (x->ratio < y->ratio) - (x->ratio > y->ratio);
}

/* Run all trials, find the best ones, and sort all by ratio. */
static int run_trials(struct estimate_job *job)
{
    const struct estimate_listener listener = { show_progress, job };
    int r = estimate_list(job->typesize, &job->trials);

    if (r > 0) {
        job->ntrials = r;
        progress_start(&job->progress);
        r = estimate_run(&job->sample, job->trials, job->ntrials, &listener);
        progress_clear(&job->progress);
    }
    if (r < 0) {
        source_report(job->path, r, &FAULT_NONE);
        return r;
    }
    for (int goal = 0; goal < ESTIMATE_NGOALS; goal++)
        job->best[goal] =
            *estimate_best(job->trials, job->ntrials, (enum estimate_goal)goal);
    qsort(job->trials, (size_t)job->ntrials, sizeof(*job->trials),
          compare_ratios);
    return 0;
}

/* Format the options that make such frames: as framefs takes them after -o, or
   if `words`, as b2frame takes them, each after "--". */
static void format_options(const struct estimate_trial *trial, bool words,
                           char text[OPTIONS_LEN])
{
    const char *const format =
        words ? "--codec %s --clevel %u --filters %s --typesize %u"
              : "codec=%s,clevel=%u,filters=%s,typesize=%u";

    snprintf(text, OPTIONS_LEN, format, trial->codec, trial->params.clevel,
             trial->filters, trial->params.typesize);
}

static void print_row(const struct estimate_trial *trial)
{
    printf("%-7s %5u  %-17s %8u %9.2f %10.0f %10.0f\n", trial->codec,
           trial->params.clevel, trial->filters, trial->params.typesize,
           trial->ratio, trial->encode_mbs, trial->decode_mbs);
}

static void print_table(const struct estimate_job *job)
{
    int n = job->all || job->ntrials < ROWS ? job->ntrials : ROWS;
    char options[OPTIONS_LEN];

    printf("codec   level  filters           typesize     ratio  pack MB/s "
           "unpack MB/s\n");
    for (int i = 0; i < n; i++)
        print_row(&job->trials[i]);
    if (n < job->ntrials)
        printf("and %d more, which --all shows\n", job->ntrials - n);
    for (int goal = 0; goal < ESTIMATE_NGOALS; goal++) {
        const struct estimate_trial *best = &job->best[goal];

        printf("\nbest for %s: ratio %.2f, packs %.0f MB/s, unpacks %.0f "
               "MB/s\n",
               goals[goal], best->ratio, best->encode_mbs, best->decode_mbs);
        format_options(best, false, options);
        printf("  framefs -o %s\n", options);
        format_options(best, true, options);
        printf("  b2frame create %s\n", options);
    }
}

static void add_number(struct json_object *object, const char *key,
                       double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.3f", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

static struct json_object *trial_json(const struct estimate_trial *trial)
{
    struct json_object *object = json_object_new_object();
    char options[OPTIONS_LEN];

    format_options(trial, false, options);
    json_object_object_add(object, "codec",
                           json_object_new_string(trial->codec));
    json_object_object_add(object, "clevel",
                           json_object_new_int(trial->params.clevel));
    json_object_object_add(object, "filters",
                           json_object_new_string(trial->filters));
    json_object_object_add(object, "typesize",
                           json_object_new_int((int)trial->params.typesize));
    add_number(object, "ratio", trial->ratio);
    add_number(object, "compress_mbs", trial->encode_mbs);
    add_number(object, "decompress_mbs", trial->decode_mbs);
    json_object_object_add(object, "options", json_object_new_string(options));
    return object;
}

static void print_json(const struct estimate_job *job)
{
    struct json_object *object = json_object_new_object();
    struct json_object *trials = json_object_new_array();
    struct json_object *best = json_object_new_object();

    for (int i = 0; i < job->ntrials; i++)
        json_object_array_add(trials, trial_json(&job->trials[i]));
    for (int goal = 0; goal < ESTIMATE_NGOALS; goal++)
        json_object_object_add(best, goals[goal], trial_json(&job->best[goal]));
    json_object_object_add(object, "sample",
                           json_object_new_uint64(job->sample.len));
    json_object_object_add(object, "trials", trials);
    json_object_object_add(object, "best", best);
    puts(json_object_to_json_string_ext(
        object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(object);
}

static int estimate_input(struct estimate_job *job)
{
    struct input input;
    int r = input_open(job->path, &input);

    if (r < 0)
        return r;
    r = take_sample(job, &input);
    input_close(&input);
    if (r == 0)
        r = run_trials(job);
    if (r == 0 && job->json)
        print_json(job);
    else if (r == 0)
        print_table(job);
    free(job->sample.bytes);
    free(job->trials);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "sample", required_argument, NULL, OPTION_SAMPLE },
        { "typesize", required_argument, NULL, OPTION_TYPESIZE },
        { "all", no_argument, NULL, OPTION_ALL },
        { "json", no_argument, NULL, OPTION_JSON },
        ARGS_ROWS,
    };
    static const char *const names[] = { "INPUT" };
    struct estimate_job job = { .sample_len = SAMPLE_DEFAULT };
    int option;
    int r;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_SAMPLE:
            job.sample_len = args_within(verb, optarg, 1, SAMPLE_MAX);
            break;
        case OPTION_TYPESIZE:
            job.typesize = (uint32_t)args_within(verb, optarg, 1, TYPESIZE_MAX);
            break;
        case OPTION_ALL:
            job.all = true;
            break;
        case OPTION_JSON:
            job.json = true;
            break;
        }
    job.path = args_take(verb, argc, argv, 1, names)[0];

    interrupt_catch();
    r = estimate_input(&job);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_estimate = {
    .name = "estimate",
    .args = "[--sample SIZE] [--typesize N] [--all] [--json] INPUT|-",
    .summary = "Try which codec and filters suit a file",
    .help =
        "Options:\n"
        "  --sample SIZE     try so many bytes, from all over a file (2M)\n"
        "  --typesize N      only this many bytes per element, not 1, 2, 4, 8, "
        "16\n"
        "  --all             print all that was tried, not the 20 smallest\n"
        "  --json            print the result as JSON\n" ARGS_HELP_HELP "\n"
        "Speeds are those of one thread on this machine, in megabytes of "
        "INPUT.  Best for\n"
        "speed is what takes the least time to compress, write, read and "
        "decompress with a\n"
        "disk of 2 GB/s; balance is the same with one of 100 MB/s.\n\n"
        "Example:\n"
        "  b2frame estimate run7.f64\n",
    .run = run,
    .urls = true,
};
