/* SPDX-License-Identifier: BSD-3-Clause */
#include "estimate.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "state/params.h"
#include "threads.h"

/* Decoding is repeated until it has taken this long in total, because a single
   run may be too short to time. */
static const double decode_seconds = 0.004;

/* The state of one thread. */
struct estimate {
    const struct estimate_sample *sample;
    struct chunk_encoder *encoder;
    struct chunk_decoder *decoder;
    uint8_t *chunk;
    size_t cap;
    uint8_t *decoded;
};

/* Filters without parameters, as an option spells them. */
static const struct {
    const char *filters;
    bool of_bytes; /* makes sense for elements of one byte */
} pipelines[] = {
    { "none", true },           { "shuffle", false },
    { "bitshuffle", true },     { "shuffle+bytedelta", false },
    { "delta+shuffle", false },
};

static const uint32_t typesizes[] = { 1, 2, 4, 8, 16 };

/* Typesizes to try. */
struct trial_sizes {
    const uint32_t *sizes;
    size_t nsizes;
};

/* The trials that estimate_list() makes. */
struct trial_list {
    struct estimate_trial *trials;
    int ntrials;
};

enum {
    NPIPELINES = sizeof(pipelines) / sizeof(pipelines[0]),
    NTYPESIZES = sizeof(typesizes) / sizeof(typesizes[0]),
};

static void estimate_free(struct estimate *estimate)
{
    if (!estimate)
        return;
    chunk_encoder_free(estimate->encoder);
    chunk_decoder_free(estimate->decoder);
    free(estimate->chunk);
    free(estimate->decoded);
    free(estimate);
}

static int estimate_new(const struct estimate_sample *sample,
                        struct estimate **out)
{
    struct estimate *estimate = calloc(1, sizeof(*estimate));

    if (!estimate)
        return -ENOMEM;
    estimate->sample = sample;
    estimate->cap = sample->piece_len + CHUNK_OVERHEAD_MAX;
    estimate->chunk = malloc(estimate->cap);
    estimate->decoded = malloc(sample->piece_len);
    if (!estimate->chunk || !estimate->decoded ||
        chunk_encoder_new(cpu_features(), &estimate->encoder) < 0 ||
        chunk_decoder_new(cpu_features(), &estimate->decoder) < 0) {
        estimate_free(estimate);
        return -ENOMEM;
    }
    *out = estimate;
    return 0;
}

/* Add a trial, if it is possible.  There is room for it. */
static int add_trial(const struct codec *codec, uint8_t clevel,
                     const char *filters, uint32_t typesize,
                     struct trial_list *list)
{
    struct file_params params = params_default;
    int r = params_set(&params, "filters", filters);

    if (r < 0)
        return r;
    params.chunk.codec = (uint8_t)codec->id;
    params.chunk.clevel = clevel;
    params.chunk.typesize = typesize;
    params.chunk.sums = true;
    if (chunk_params_check(&params.chunk) == 0)
        list->trials[list->ntrials++] = (struct estimate_trial){
            .codec = codec->name,
            .filters = filters,
            .params = params.chunk,
        };
    return 0;
}

/* Add the trials of a codec at one level. */
static int add_level(const struct codec *codec, uint8_t clevel,
                     const struct trial_sizes *sizes, struct trial_list *list)
{
    size_t most = (size_t)list->ntrials + NPIPELINES * sizes->nsizes;
    struct estimate_trial *trials =
        reallocarray(list->trials, most, sizeof(*trials));
    int r = 0;

    if (!trials)
        return -ENOMEM;
    list->trials = trials;
    for (size_t i = 0; i < NPIPELINES; i++)
        for (size_t j = 0; j < sizes->nsizes && r == 0; j++)
            if (sizes->sizes[j] > 1 || pipelines[i].of_bytes)
                r = add_trial(codec, clevel, pipelines[i].filters,
                              sizes->sizes[j], list);
    return r;
}

/* Add the trials of a codec, unless this build lacks it. */
static int add_codec(const struct codec *codec, const struct trial_sizes *sizes,
                     struct trial_list *list)
{
    int r = 0;

    for (int i = 0; codec && i < CODEC_NTRIALS && r == 0; i++)
        if (codec->trial_levels[i] > 0)
            r = add_level(codec, codec->trial_levels[i], sizes, list);
    return r;
}

/* The default codec comes first, because it wins if others are no better. */
int estimate_list(uint32_t typesize, struct estimate_trial **trials)
{
    const struct trial_sizes sizes = {
        .sizes = typesize > 0 ? &typesize : typesizes,
        .nsizes = typesize > 0 ? 1 : NTYPESIZES,
    };
    const unsigned preferred = params_default.chunk.codec;
    struct trial_list list = { 0 };
    int r = add_codec(codec_by_id(preferred), &sizes, &list);

    for (unsigned id = 0; id < CODEC_NIDS && r == 0; id++)
        if (id != preferred)
            r = add_codec(codec_by_id(id), &sizes, &list);
    if (r < 0) {
        free(list.trials);
        return r;
    }
    *trials = list.trials;
    return list.ntrials;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Decode a chunk several times.  Returns the seconds for one time, or a
   negative errno. */
static double time_decoding(struct estimate *estimate, size_t cbytes,
                            size_t nbytes)
{
    double start = now();
    double seconds;
    int rounds = 0;

    do {
        ssize_t n = chunk_decode(
            &(struct stored_chunk){ estimate->chunk, cbytes, NULL },
            estimate->decoded, nbytes, estimate->decoder, &(struct fault){ 0 });

        if (n < 0)
            return (double)n;
        rounds++;
        seconds = now() - start;
    } while (seconds < decode_seconds);
    return seconds / rounds;
}

static int run_trial(struct estimate *estimate, struct estimate_trial *trial)
{
    const struct estimate_sample *sample = estimate->sample;
    double encoding = 0;
    double decoding = 0;
    size_t total = 0;

    for (size_t off = 0; off < sample->len; off += sample->piece_len) {
        size_t rest = sample->len - off;
        size_t nbytes = rest < sample->piece_len ? rest : sample->piece_len;
        double start = now();
        ssize_t cbytes =
            chunk_encode(estimate->encoder, &trial->params,
                         &(struct chunk_content){ sample->bytes + off, nbytes },
                         estimate->chunk, estimate->cap);
        double seconds;

        if (cbytes < 0)
            return (int)cbytes;
        encoding += now() - start;
        seconds = time_decoding(estimate, (size_t)cbytes, nbytes);
        if (seconds < 0)
            return (int)seconds;
        decoding += seconds;
        total += (size_t)cbytes;
    }
    trial->ratio = (double)sample->len / (double)total;
    trial->encode_mbs = (double)sample->len / 1e6 / (encoding + 1e-9);
    trial->decode_mbs = (double)sample->len / 1e6 / (decoding + 1e-9);
    return 0;
}

/*
 * The trials, which several workers share.
 *
 * Locking.  `lock` guards the fields below it.  It is a leaf, except that the
 * listener is called while it is held.
 */
struct work {
    const struct estimate_sample *sample;
    struct estimate_trial *trials;
    int ntrials;
    const struct estimate_listener *listener;

    pthread_mutex_t lock;
    int next; /* index of the next trial */
    int ndone;
    int error;
};

struct worker {
    struct pool_task task;
    struct work *work;
};

/* Take the next trial.  Returns NULL if there are no more, or after an
   error. */
static struct estimate_trial *take_trial(struct work *work)
{
    struct estimate_trial *trial = NULL;

    pthread_mutex_lock(&work->lock);
    if (work->error == 0 && work->next < work->ntrials)
        trial = &work->trials[work->next++];
    pthread_mutex_unlock(&work->lock);
    return trial;
}

static void finish_trial(struct work *work, int error)
{
    pthread_mutex_lock(&work->lock);
    work->ndone++;
    if (error == 0)
        error = work->listener->progress(work->listener->context, work->ndone,
                                         work->ntrials);
    if (work->error == 0)
        work->error = error;
    pthread_mutex_unlock(&work->lock);
}

static void run_worker(struct pool_task *task)
{
    struct work *work = ((struct worker *)(void *)task)->work;
    struct estimate *estimate = NULL;
    struct estimate_trial *trial;
    int r = estimate_new(work->sample, &estimate);

    if (r < 0)
        finish_trial(work, r);
    while ((trial = take_trial(work)))
        finish_trial(work, run_trial(estimate, trial));
    estimate_free(estimate);
}

int estimate_run(const struct estimate_sample *sample,
                 struct estimate_trial *trials, int ntrials,
                 const struct estimate_listener *listener)
{
    unsigned nworkers = threads_count();
    struct worker *workers = calloc(nworkers, sizeof(*workers));
    struct work work = {
        .sample = sample,
        .trials = trials,
        .ntrials = ntrials,
        .listener = listener,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    struct pool *pool;
    int r = workers ? pool_new(nworkers, &pool) : -ENOMEM;

    if (r == 0) {
        for (unsigned i = 0; i < nworkers; i++) {
            workers[i] = (struct worker){ { .run = run_worker }, &work };
            pool_submit(pool, &workers[i].task);
        }
        pool_free(pool);
        r = work.error;
    }
    free(workers);
    return r;
}

/* The cost of a trial for a goal; less is better.  For a goal other than size,
   it is the time to encode, write, read and decode a megabyte, in seconds. */
static double cost(const struct estimate_trial *trial, enum estimate_goal goal)
{
    static const double disk_mbs[] = {
        [ESTIMATE_SPEED] = 2000,
        [ESTIMATE_BALANCE] = 100,
    };

    if (goal == ESTIMATE_SIZE)
        return 1 / trial->ratio;
    return 1 / trial->encode_mbs + 1 / trial->decode_mbs +
           2 / (disk_mbs[goal] * trial->ratio);
}

const struct estimate_trial *estimate_best(const struct estimate_trial *trials,
                                           int ntrials, enum estimate_goal goal)
{
    const struct estimate_trial *best = &trials[0];

    /* Measured speeds vary, so a later trial must be better by 1 % to win,
       because earlier ones are simpler. */
    double gain = goal == ESTIMATE_SIZE ? 1 : 0.99;

    for (int i = 1; i < ntrials; i++)
        if (cost(&trials[i], goal) < gain * cost(best, goal))
            best = &trials[i];
    return best;
}
