/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "chunk/shuffle.h"

/*
 * Measures each kernel of this machine on a block in the second-level cache,
 * and on the same buffers memcpy() and a loop of vector loads and stores.  The
 * loop shows the speed of ordinary stores, which the kernels use, because
 * memcpy() may write such a block in another way, such as `rep movsb`.  Each
 * figure is the median of several rounds, in which all functions take turns.
 *
 * usage: bench_shuffle [BLOCKSIZE]
 */
enum {
    BLOCKSIZE = 128 << 10,
    MAX_BLOCKSIZE = 64 << 20,
    NROUNDS = 31,
    NBYTES = 4 << 20 /* processed in one round */
};

typedef void transpose(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);

struct bench {
    size_t len;
    uint8_t *src;
    uint8_t *dst;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *figures, size_t n)
{
    qsort(figures, n, sizeof(*figures), compare);
    return figures[n / 2];
}

static void copy(size_t typesize, size_t len, const uint8_t *src, uint8_t *dst)
{
    (void)typesize;
    memcpy(dst, src, len);
}

/*
 * Copy four vectors at a time, so that the compiler does not replace the loop
 * by memcpy().  A few bytes at the end may be left out.
 */
#define COPY_LOOP(vector)                                       \
    const vector *from = (const vector *)src;                   \
    vector *to = (vector *)dst;                                 \
                                                                \
    (void)typesize;                                             \
    for (size_t i = 0; i + 4 <= len / sizeof(vector); i += 4) { \
        vector a = from[i];                                     \
        vector b = from[i + 1];                                 \
        vector c = from[i + 2];                                 \
        vector d = from[i + 3];                                 \
                                                                \
        to[i] = a;                                              \
        to[i + 1] = b;                                          \
        to[i + 2] = c;                                          \
        to[i + 3] = d;                                          \
    }

typedef uint8_t vector16 __attribute__((vector_size(16), aligned(1)));

static void loop16(size_t typesize, size_t len, const uint8_t *src,
                   uint8_t *dst)
{
    COPY_LOOP(vector16)
}

#ifdef __x86_64__
typedef uint8_t vector32 __attribute__((vector_size(32), aligned(1)));

__attribute__((target("avx2"))) static void loop32(size_t typesize, size_t len,
                                                   const uint8_t *src,
                                                   uint8_t *dst)
{
    COPY_LOOP(vector32)
}
#endif

static transpose *select_loop(void)
{
#ifdef __x86_64__
    if (cpu_features() & CPU_AVX2)
        return loop32;
#endif
    return loop16;
}

/* Returns bytes per nanosecond in one round. */
static double measure(const struct bench *bench, transpose *function,
                      size_t typesize)
{
    size_t n = 1 + NBYTES / bench->len;
    double start = now();

    for (size_t i = 0; i < n; i++)
        function(typesize, bench->len, bench->src, bench->dst);
    return (double)(n * bench->len) / (now() - start) * 1e-9;
}

static void report(const struct bench *bench, const char *name,
                   const char *direction, transpose *function, size_t typesize)
{
    double rates[NROUNDS];
    double copies[NROUNDS];
    double loops[NROUNDS];
    double rate;
    double copied;

    for (size_t i = 0; i < NROUNDS; i++) {
        rates[i] = measure(bench, function, typesize);
        copies[i] = measure(bench, copy, typesize);
        loops[i] = measure(bench, select_loop(), typesize);
    }
    rate = median(rates, NROUNDS);
    copied = median(copies, NROUNDS);
    printf("%-9s %8zu  %-13s %8.2f %8.2f %8.2f %7.2f\n", name, typesize,
           direction, rate, copied, median(loops, NROUNDS), rate / copied);
}

/* This kernel has no typesize, in contrast to the other ones. */
static void report_prefix_sum(const struct bench *bench,
                              const struct shuffle_ops *ops)
{
    size_t n = 1 + NBYTES / bench->len;
    double rates[NROUNDS];

    for (size_t i = 0; i < NROUNDS; i++) {
        double start = now();

        for (size_t k = 0; k < n; k++)
            ops->prefix_sum(bench->len, bench->dst);
        rates[i] = (double)(n * bench->len) / (now() - start) * 1e-9;
    }
    printf("%-9s %8s  %-13s %8.2f\n", ops->name, "", "prefix_sum",
           median(rates, NROUNDS));
}

static void report_kernels(const struct bench *bench,
                           const struct shuffle_ops *ops)
{
    static const size_t typesizes[] = { 1, 2, 3, 4, 7, 8, 12, 16, 32, 100 };

    for (size_t i = 0; i < sizeof(typesizes) / sizeof(*typesizes); i++) {
        size_t size = typesizes[i];

        report(bench, ops->name, "shuffle", ops->shuffle, size);
        report(bench, ops->name, "unshuffle", ops->unshuffle, size);
        report(bench, ops->name, "bitshuffle", ops->bitshuffle, size);
        report(bench, ops->name, "bitunshuffle", ops->bitunshuffle, size);
    }
    report_prefix_sum(bench, ops);
}

static int bench_init(struct bench *bench, size_t len)
{
    bench->len = len;
    bench->src = aligned_alloc(64, (len + 63) / 64 * 64);
    bench->dst = aligned_alloc(64, (len + 63) / 64 * 64);
    if (!bench->src || !bench->dst)
        return -1;
    for (size_t i = 0; i < len; i++)
        bench->src[i] = (uint8_t)(i * 37 >> 3);
    memset(bench->dst, 0, len);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long len = argc > 1 ? strtoul(argv[1], NULL, 0) : BLOCKSIZE;
    struct bench bench;

    if (len == 0 || len > MAX_BLOCKSIZE || bench_init(&bench, len) < 0) {
        fprintf(stderr, "usage: bench_shuffle [BLOCKSIZE]\n");
        return 2;
    }
    printf("%-9s %8s  %-13s %8s %8s %8s %7s\n", "kernel", "typesize",
           "direction", "GB/s", "memcpy", "loop", "ratio");
    for (size_t i = 0; shuffle_kernels[i]; i++) {
        if (!(shuffle_kernels[i]->cpu & ~cpu_features()))
            report_kernels(&bench, shuffle_kernels[i]);
    }
    free(bench.src);
    free(bench.dst);
    return 0;
}
