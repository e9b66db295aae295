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
 * How fast chunks are encoded and decoded by one thread, beside memcpy() on the
 * same bytes.  Each figure is the median of several rounds over all chunks, in
 * processor time, so that what else the machine does matters little.
 *
 * usage: bench_codec [CLEVEL]
 */
enum {
    CHUNKSIZE = 1 << 20,
    NCHUNKS = 16,
    CAP = CHUNKSIZE + CHUNK_OVERHEAD_MAX,
    NROUNDS = 5
};

struct bench {
    struct chunk_encoder *encoder;
    struct chunk_decoder *decoder;
    uint8_t *src[NCHUNKS];
    uint8_t *chunks[NCHUNKS];
    size_t cbytes[NCHUNKS];
    uint8_t *dst;
};

/* What is timed, on one chunk.  Returns a negative errno on failure. */
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
    ssize_t len = chunk_encode(bench->encoder, params, bench->src[i], CHUNKSIZE,
                               bench->chunks[i], CAP);

    if (len >= 0)
        bench->cbytes[i] = (size_t)len;
    return len;
}

static ssize_t decode(struct bench *bench, unsigned i,
                      const struct chunk_params *params)
{
    struct fault fault = FAULT_NONE;

    return chunk_decode(bench->chunks[i], bench->cbytes[i], params->typesize,
                        bench->dst, CHUNKSIZE, bench->decoder, &fault);
}

/* Returns MB (10^6 bytes) of decoded data a second. */
static double measure(struct bench *bench, work_fn *work,
                      const struct chunk_params *params)
{
    double rates[NROUNDS];

    for (unsigned round = 0; round < NROUNDS; round++) {
        double start = now();

        for (unsigned i = 0; i < NCHUNKS; i++) {
            ssize_t r = work(bench, i, params);

            if (r < 0) {
                fprintf(stderr, "bench_codec: %s\n", strerror((int)-r));
                exit(1);
            }
        }
        rates[round] = (double)NCHUNKS * CHUNKSIZE / 1e6 / (now() - start);
    }
    qsort(rates, NROUNDS, sizeof(*rates), compare);
    return rates[NROUNDS / 2];
}

static void check_last(const struct bench *bench)
{
    if (memcmp(bench->dst, bench->src[NCHUNKS - 1], CHUNKSIZE) != 0) {
        fprintf(stderr, "bench_codec: decoded bytes differ\n");
        exit(1);
    }
}

static void run(struct bench *bench, const struct codec *codec,
                enum filter_id filter, uint8_t clevel)
{
    struct chunk_params params = {
        .typesize = BENCH_TYPESIZE,
        .codec = (uint8_t)codec->id,
        .clevel = clevel,
        .filters = { 0, 0, 0, 0, 0, (uint8_t)filter },
        .split_mode = CHUNK_SPLIT_FORWARD,
    };
    double encode_rate = measure(bench, encode, &params);
    double decode_rate = measure(bench, decode, &params);
    double copy_rate = measure(bench, copy, &params);
    size_t cbytes = 0;

    decode(bench, NCHUNKS - 1, &params);
    check_last(bench);
    for (unsigned i = 0; i < NCHUNKS; i++)
        cbytes += bench->cbytes[i];
    printf("%-8s %-11s %6.2f %9.0f %9.0f %9.0f\n", codec->name,
           filter_name(filter), (double)NCHUNKS * CHUNKSIZE / (double)cbytes,
           encode_rate, decode_rate, copy_rate);
    fflush(stdout);
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

int main(int argc, char **argv)
{
    static const enum filter_id filters[] = { FILTER_SHUFFLE, FILTER_BITSHUFFLE,
                                              FILTER_NONE };
    int clevel = argc > 1 ? atoi(argv[1]) : 5;
    struct bench bench = { 0 };
    int status = 1;

    if (clevel < 0 || clevel > 9) {
        fprintf(stderr, "usage: bench_codec [CLEVEL]\n");
        return 2;
    }
    if (setup(&bench) < 0)
        goto out;

    printf("float64 walks in chunks of 1 MiB, level %d, one thread, MB/s\n",
           clevel);
    printf("%-8s %-11s %6s %9s %9s %9s\n", "codec", "filter", "ratio", "encode",
           "decode", "memcpy");
    for (unsigned id = CODEC_BLOSCLZ; id <= CODEC_ZSTD; id++) {
        const struct codec *codec = codec_by_id(id);

        for (unsigned i = 0; codec && i < 3; i++)
            run(&bench, codec, filters[i], (uint8_t)clevel);
    }
    status = 0;
out:
    teardown(&bench);
    return status;
}
