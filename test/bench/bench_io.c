/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench_data.h"

/*
 * Performs the file operations of a program, with almost no work of its own,
 * and measures their time.  The first word selects the operation.  The result
 * is a line of JSON: seconds, seconds of processor time, the count of bytes or
 * of operations, and quantiles of the time of an operation.
 */
static const char usage[] =
    "usage: bench_io read PATH...         all of each, a thread for each\n"
    "       bench_io direct PATH          with O_DIRECT\n"
    "       bench_io map PATH             a byte of every page, by mmap()\n"
    "       bench_io random NTHREADS COUNT SECONDS PATH   reads of 4 KiB\n"
    "       bench_io stride LEN STEP COUNT PATH  a read of LEN at every STEP\n"
    "       bench_io fault COUNT PATH     pages at random, by mmap()\n"
    "       bench_io write PIECE SIZE PATH               and fsync()\n"
    "       bench_io overwrite COUNT NSYNC PATH  4 KiB at random, synced\n"
    "                                     after each NSYNC, or never if 0\n"
    "       bench_io create|stat|unlink COUNT DIR\n"
    "       bench_io first PATH           open, and read one byte\n"
    "       bench_io touch BYTES          fill memory, and give it back\n";

enum {
    PIECE = 1 << 20,
    NFILES_MAX = 16,
    SMALL = 1024
};

static double read_clock(clockid_t id)
{
    struct timespec time;

    clock_gettime(id, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double io_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

struct io_result io_begin(void)
{
    return (struct io_result){
        .seconds = io_now(),
        .cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID),
    };
}

void io_end(struct io_result *result)
{
    result->seconds = io_now() - result->seconds;
    result->cpu = read_clock(CLOCK_PROCESS_CPUTIME_ID) - result->cpu;
}

void io_die(const char *what)
{
    fprintf(stderr, "bench_io: %s: %s\n", what, strerror(errno));
    exit(1);
}

void *io_allocate(size_t len)
{
    void *bytes =
        aligned_alloc(IO_PAGE, (len + IO_PAGE - 1) & -(size_t)IO_PAGE);

    if (!bytes)
        io_die("memory");
    memset(bytes, 0, len);
    return bytes;
}

uint8_t *io_data(void)
{
    uint8_t *data = io_allocate(IO_DATA_LEN);

    bench_walk(0, data, IO_DATA_LEN);
    return data;
}

int io_open(const char *path, int flags, uint64_t *size)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    struct stat st;

    if (fd < 0 || (size && fstat(fd, &st) < 0))
        io_die(path);
    if (size)
        *size = (uint64_t)st.st_size;
    return fd;
}

unsigned long io_number(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (end == text || *end) {
        fputs(usage, stderr);
        exit(2);
    }
    return number;
}

/* Returns the number of bytes. */
static uint64_t read_all(const char *path, int flags)
{
    uint8_t *piece = io_allocate(PIECE);
    int fd = io_open(path, O_RDONLY | flags, NULL);
    uint64_t count = 0;
    ssize_t n;

    while ((n = read(fd, piece, PIECE)) > 0)
        count += (uint64_t)n;
    if (n < 0)
        io_die(path);
    close(fd);
    free(piece);
    return count;
}

struct reader {
    pthread_t thread;
    const char *path;
    uint64_t count;
};

static void *run_reader(void *arg)
{
    struct reader *reader = arg;

    reader->count = read_all(reader->path, 0);
    return NULL;
}

static struct io_result do_read(int npaths, char **paths)
{
    struct reader readers[NFILES_MAX];
    struct io_result result = io_begin();

    if (npaths > NFILES_MAX)
        npaths = NFILES_MAX;
    for (int i = 0; i < npaths; i++) {
        readers[i] = (struct reader){ .path = paths[i] };
        if (pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]))
            io_die("thread");
    }
    for (int i = 0; i < npaths; i++) {
        pthread_join(readers[i].thread, NULL);
        result.count += readers[i].count;
    }
    io_end(&result);
    return result;
}

static struct io_result do_direct(int argc __attribute__((unused)), char **argv)
{
    struct io_result result = io_begin();

    result.count = read_all(argv[0], O_DIRECT);
    io_end(&result);
    return result;
}

static struct io_result do_map(int argc __attribute__((unused)), char **argv)
{
    struct io_result result = io_begin();
    int fd = io_open(argv[0], O_RDONLY, &result.count);
    const volatile uint8_t *data =
        mmap(NULL, result.count, PROT_READ, MAP_SHARED, fd, 0);

    if (data == MAP_FAILED)
        io_die("mmap");
    for (uint64_t off = 0; off < result.count; off += IO_PAGE)
        (void)data[off];
    io_end(&result);
    close(fd);
    return result;
}

static struct io_result do_write(int argc __attribute__((unused)), char **argv)
{
    size_t piece = io_number(argv[0]);
    uint8_t *data = io_data();
    struct io_result result = io_begin();
    int fd = io_open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, NULL);

    result.count = io_number(argv[1]);
    for (uint64_t off = 0; off < result.count; off += piece) {
        if (write(fd, data + off % IO_DATA_LEN, piece) != (ssize_t)piece)
            io_die(argv[2]);
    }
    if (fsync(fd) < 0)
        io_die("fsync");
    close(fd);
    io_end(&result);
    free(data);
    return result;
}

static void create_small(const char *path)
{
    static const uint8_t content[SMALL] = "small";
    int fd = io_open(path, O_WRONLY | O_CREAT | O_EXCL, NULL);

    if (write(fd, content, SMALL) != SMALL || close(fd) < 0)
        io_die(path);
}

static void stat_small(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        io_die(path);
}

static void unlink_small(const char *path)
{
    if (unlink(path) < 0)
        io_die(path);
}

/* Do the same work on each of many files. */
static struct io_result each(char **argv, void (*work)(const char *path))
{
    struct io_result result = io_begin();
    char path[4096];

    result.count = io_number(argv[0]);
    for (uint64_t i = 0; i < result.count; i++) {
        snprintf(path, sizeof(path), "%s/small%lu", argv[1], (unsigned long)i);
        work(path);
    }
    io_end(&result);
    return result;
}

static struct io_result do_create(int argc __attribute__((unused)), char **argv)
{
    return each(argv, create_small);
}

static struct io_result do_stat(int argc __attribute__((unused)), char **argv)
{
    return each(argv, stat_small);
}

static struct io_result do_unlink(int argc __attribute__((unused)), char **argv)
{
    return each(argv, unlink_small);
}

static struct io_result do_first(int argc __attribute__((unused)), char **argv)
{
    struct io_result result = io_begin();
    int fd = io_open(argv[0], O_RDONLY, NULL);
    char byte;

    result.count = 1;
    if (pread(fd, &byte, 1, 0) != 1)
        io_die(argv[0]);
    io_end(&result);
    close(fd);
    return result;
}

/* Read with a stride, as for a row, a column or an item of an array. */
static struct io_result do_stride(int argc __attribute__((unused)), char **argv)
{
    size_t len = io_number(argv[0]);
    uint64_t step = io_number(argv[1]);
    struct io_result result = { 0 };
    uint8_t *piece = io_allocate(len);
    int fd = io_open(argv[3], O_RDONLY, NULL);

    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    result = io_begin();
    result.count = io_number(argv[2]);
    for (uint64_t i = 0; i < result.count; i++)
        if (pread(fd, piece, len, (off_t)(i * step)) != (ssize_t)len)
            io_die(argv[3]);
    io_end(&result);
    close(fd);
    free(piece);
    return result;
}

static struct io_result do_touch(int argc __attribute__((unused)), char **argv)
{
    struct io_result result = io_begin();
    volatile char *buf;

    result.count = io_number(argv[0]);
    /* Compilers leave out memory that is only allocated and freed. */
    buf = io_allocate(result.count);
    for (uint64_t off = 0; off < result.count; off += IO_PAGE)
        buf[off] = 1;
    free((void *)buf);
    io_end(&result);
    return result;
}

static const struct {
    const char *name;
    int nargs; /* at least this many */
    struct io_result (*run)(int argc, char **argv);
} works[] = {
    { "read", 1, do_read },     { "direct", 1, do_direct },
    { "map", 1, do_map },       { "random", 4, io_random },
    { "stride", 4, do_stride }, { "fault", 2, io_fault },
    { "write", 3, do_write },   { "overwrite", 3, io_overwrite },
    { "create", 2, do_create }, { "stat", 2, do_stat },
    { "unlink", 2, do_unlink }, { "first", 1, do_first },
    { "touch", 1, do_touch },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(works) / sizeof(*works); i++) {
        struct io_result result;

        if (strcmp(argv[1], works[i].name) != 0 || argc - 2 < works[i].nargs)
            continue;
        result = works[i].run(argc - 2, argv + 2);
        printf("{\"seconds\": %.9f, \"cpu\": %.9f, \"count\": %lu, "
               "\"p50\": %.9f, \"p99\": %.9f}\n",
               result.seconds, result.cpu, (unsigned long)result.count,
               result.p50, result.p99);
        return 0;
    }
    fputs(usage, stderr);
    return 2;
}
