/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_io.h"

enum {
    NTHREADS_MAX = 64,
    FAULT_WINDOW = 256 << 10 /* more than the kernel reads around a fault */
};

/*
 * The numbers from 0 to n - 1, each once, in pseudo-random order.  No page may
 * occur twice, because the kernel keeps a page in its cache after the first
 * read.
 */
struct places {
    uint64_t n;
    unsigned nbits; /* bits of the largest number */
};

static struct places places_below(uint64_t n)
{
    struct places places = { .n = n, .nbits = 1 };

    while (places.nbits < 63 && (uint64_t)1 << places.nbits < n)
        places.nbits++;
    return places;
}

/* Each step is reversible, so different numbers stay different. */
static uint64_t mix(uint64_t x, unsigned nbits)
{
    uint64_t mask = ((uint64_t)1 << nbits) - 1;
    unsigned shift = (nbits + 1) / 2;

    for (int i = 0; i < 3; i++) {
        x = (x * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) & mask;
        x ^= x >> shift;
    }
    return x;
}

static uint64_t place(const struct places *places, uint64_t i)
{
    uint64_t x = i % places->n;

    do
        x = mix(x, places->nbits);
    while (x >= places->n);
    return x;
}

/* One of several threads that share the offsets of a file. */
struct reader {
    pthread_t thread;
    int fd;
    struct places places;
    uint64_t first; /* number of the first offset */
    uint64_t count; /* reads to do, then reads done */
    double end;     /* time at which to stop */
    float *times;   /* seconds that each read took */
};

static void *run_reader(void *arg)
{
    struct reader *reader = arg;
    void *page = io_allocate(IO_PAGE);
    double before = io_now();
    uint64_t i;

    for (i = 0; i < reader->count && before < reader->end; i++) {
        uint64_t off = IO_PAGE * place(&reader->places, reader->first + i);
        double after;

        if (pread(reader->fd, page, IO_PAGE, (off_t)off) != IO_PAGE)
            io_die("pread");
        after = io_now();
        reader->times[i] = (float)(after - before);
        before = after;
    }
    reader->count = i;
    free(page);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a;
    float y = *(const float *)b;

    return (x > y) - (x < y);
}

static void set_quantiles(struct io_result *result, float *times)
{
    if (result->count == 0)
        return;
    qsort(times, result->count, sizeof(*times), compare);
    result->p50 = (double)times[result->count / 2];
    result->p99 = (double)times[result->count * 99 / 100];
}

/* Move the times of all readers to one array. */
static void gather(struct io_result *result, struct reader *readers,
                   unsigned nthreads)
{
    float *times = readers[0].times;

    for (unsigned i = 0; i < nthreads; i++) {
        pthread_join(readers[i].thread, NULL);
        for (uint64_t k = 0; k < readers[i].count; k++)
            times[result->count++] = readers[i].times[k];
    }
}

struct io_result io_random(int argc __attribute__((unused)), char **argv)
{
    unsigned long nthreads = io_number(argv[0]);
    uint64_t count = io_number(argv[1]);
    struct reader readers[NTHREADS_MAX];
    struct io_result result;
    uint64_t size;
    int fd = io_open(argv[3], O_RDONLY, &size);
    struct places places = places_below(size / IO_PAGE);
    float *times;
    double end;

    if (nthreads < 1 || nthreads > NTHREADS_MAX) {
        errno = EINVAL;
        io_die("threads");
    }
    if (count > places.n)
        count = places.n;
    count /= nthreads;
    times = io_allocate((nthreads * count + 1) * sizeof(*times));
    result = io_begin();
    end = io_now() + (double)io_number(argv[2]);
    for (unsigned i = 0; i < nthreads; i++) {
        readers[i] = (struct reader){
            .fd = fd,
            .places = places,
            .first = i * count,
            .count = count,
            .end = end,
            .times = times + i * count,
        };
        if (pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]))
            io_die("thread");
    }
    gather(&result, readers, (unsigned)nthreads);
    io_end(&result);
    set_quantiles(&result, times);
    free(times);
    close(fd);
    return result;
}

struct io_result io_fault(int argc __attribute__((unused)), char **argv)
{
    uint64_t count = io_number(argv[0]);
    uint64_t size;
    int fd = io_open(argv[1], O_RDONLY, &size);
    struct places places = places_below(size / FAULT_WINDOW);
    const volatile uint8_t *data =
        mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    struct io_result result;

    if (data == MAP_FAILED || places.n == 0)
        io_die("mmap");
    result = io_begin();
    result.count = count < places.n ? count : places.n;
    for (uint64_t i = 0; i < result.count; i++)
        (void)data[FAULT_WINDOW * place(&places, i) + FAULT_WINDOW / 2];
    io_end(&result);
    close(fd);
    return result;
}

/*
 * The time includes close(), because the kernel then writes the pages that it
 * has kept.
 */
struct io_result io_overwrite(int argc __attribute__((unused)), char **argv)
{
    unsigned long nsync = io_number(argv[1]);
    uint64_t size;
    int fd = io_open(argv[2], O_RDWR, &size);
    struct places places = places_below(size / IO_PAGE);
    uint8_t *data = io_data();
    struct io_result result = io_begin();

    result.count = io_number(argv[0]);
    for (uint64_t i = 0; i < result.count; i++) {
        const uint8_t *page = data + i * IO_PAGE % IO_DATA_LEN;
        uint64_t off = IO_PAGE * place(&places, i);

        if (pwrite(fd, page, IO_PAGE, (off_t)off) != IO_PAGE)
            io_die("pwrite");
        if (nsync > 0 && (i + 1) % nsync == 0 && fsync(fd) < 0)
            io_die("fsync");
    }
    if (close(fd) < 0)
        io_die("close");
    io_end(&result);
    free(data);
    return result;
}
