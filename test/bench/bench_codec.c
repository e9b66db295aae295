/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "bench_data.h"
#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

/*
 * Measures how fast one thread encodes and decodes chunks, in comparison with
 * memcpy() of the same bytes, in MB/s, and how well they compress.  The result
 * is a line of JSON.  Each figure is the median of several rounds over all
 * chunks, in processor time, because that depends little on other load of the
 * machine.
 */
static const char usage[] =
    "usage: bench_codec CODEC FILTER|none CLEVEL [BLOCKSIZE]\n";

enum {
    CHUNKSIZE = 1 << 20,
    NCHUNKS = 16,
    CAP = CHUNKSIZE + CHUNK_OVERHEAD_MAX,
    NROUNDS = 5,
    PATIENCE = 2 /* seconds of processor time, then no new round */
};

struct bench {
    struct chunk_encoder *encoder;
    struct chunk_decoder *decoder;
    uint8_t *src[NCHUNKS];
    uint8_t *chunks[NCHUNKS];
    size_t cbytes[NCHUNKS];
    uint8_t *dst;
};

/* The work on one chunk that is timed.  Returns a negative errno on failure. */
typedef ssize_t work_fn(struct bench *bench, unsigned i,
                        const struct chunk_params *params);

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static ssize_t copy(struct bench *bench, unsigned i,
                    const struct chunk_params *params)
{
    (void)params;
    memcpy(bench->dst, bench->src[i], CHUNKSIZE);
    return CHUNKSIZE;
}

static ssize_t encode(struct bench *bench, unsigned i,
                      const struct chunk_params *params)
{
    ssize_t len =
        chunk_encode(bench->encoder, params,
                     &(struct chunk_content){ bench->src[i], CHUNKSIZE },
                     bench->chunks[i], CAP);

    if (len >= 0)
        bench->cbytes[i] = (size_t)len;
    return len;
}

static ssize_t decode(struct bench *bench, unsigned i,
                      const struct chunk_params *params)
{
    const struct chunk_items items = chunk_params_items(params);
    struct fault fault = FAULT_NONE;

    return chunk_decode(
        &(struct stored_chunk){ bench->chunks[i], bench->cbytes[i], &items },
        bench->dst, CHUNKSIZE, bench->decoder, &fault);
}

/* Returns MB (10^6 bytes) of decoded data per second of processor time. */
static double measure(struct bench *bench, work_fn *work,
                      const struct chunk_params *params)
{
    double rates[NROUNDS];
    double end = now() + PATIENCE;
    unsigned nrounds = 0;

    while (nrounds == 0 || (nrounds < NROUNDS && now() < end)) {
        double start = now();

        for (unsigned i = 0; i < NCHUNKS; i++) {
            ssize_t r = work(bench, i, params);

            if (r < 0) {
                fprintf(stderr, "bench_codec: %s\n", strerror((int)-r));
                exit(1);
            }
        }
        rates[nrounds++] = (double)NCHUNKS * CHUNKSIZE / 1e6 / (now() - start);
    }
    qsort(rates, nrounds, sizeof(*rates), compare);
    return rates[nrounds / 2];
}

static void check_last(const struct bench *bench)
{
    if (memcmp(bench->dst, bench->src[NCHUNKS - 1], CHUNKSIZE) != 0) {
        fprintf(stderr, "bench_codec: decoded bytes differ\n");
        exit(1);
    }
}

static void run(struct bench *bench, const struct chunk_params *params)
{
    double encode_rate = measure(bench, encode, params);
    double decode_rate = measure(bench, decode, params);
    double copy_rate = measure(bench, copy, params);
    size_t cbytes = 0;

    decode(bench, NCHUNKS - 1, params);
    check_last(bench);
    for (unsigned i = 0; i < NCHUNKS; i++)
        cbytes += bench->cbytes[i];
    printf("{\"ratio\": %.3f, \"encode\": %.1f, \"decode\": %.1f, "
           "\"memcpy\": %.1f}\n",
           (double)NCHUNKS * CHUNKSIZE / (double)cbytes, encode_rate,
           decode_rate, copy_rate);
}

static int setup(struct bench *bench)
{
    bench->dst = malloc(CHUNKSIZE);
    if (!bench->dst || chunk_encoder_new(cpu_features(), &bench->encoder) < 0 ||
        chunk_decoder_new(cpu_features(), &bench->decoder) < 0)
        return -ENOMEM;

    for (unsigned i = 0; i < NCHUNKS; i++) {
        bench->src[i] = malloc(CHUNKSIZE);
        bench->chunks[i] = malloc(CAP);
        if (!bench->src[i] || !bench->chunks[i])
            return -ENOMEM;
        bench_walk(i, bench->src[i], CHUNKSIZE);
    }
    return 0;
}

static void teardown(struct bench *bench)
{
    for (unsigned i = 0; i < NCHUNKS; i++) {
        free(bench->src[i]);
        free(bench->chunks[i]);
    }
    free(bench->dst);
    chunk_encoder_free(bench->encoder);
    chunk_decoder_free(bench->decoder);
}

static int parse(int argc, char **argv, struct chunk_params *out)
{
    const struct codec *codec = argc > 3 ? codec_by_name(argv[1]) : NULL;
    const struct filter *filter = argc > 3 ? filter_by_name(argv[2]) : NULL;

    if (!codec || (!filter && strcmp(argv[2], "none") != 0))
        return -EINVAL;
    *out = (struct chunk_params){
        .typesize = BENCH_TYPESIZE,
        .blocksize = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0,
        .codec = (uint8_t)codec->id,
        .clevel = (uint8_t)strtoul(argv[3], NULL, 10),
        .filters = { 0, 0, 0, 0, 0, (uint8_t)(filter ? filter->id : 0) },
        .split_mode = CHUNK_SPLIT_FORWARD,
    };
    return chunk_params_check(out);
}

int main(int argc, char **argv)
{
    struct chunk_params params;
    struct bench bench = { 0 };
    int r = parse(argc, argv, &params);

    if (r < 0) {
        fputs(usage, stderr);
        return 2;
    }
    r = setup(&bench);
    if (r == 0)
        run(&bench, &params);
    teardown(&bench);
    return r < 0;
}
