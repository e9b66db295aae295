/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_IO_H
#define BENCH_IO_H

#include <stddef.h>
#include <stdint.h>

enum {
    IO_PAGE = 4096,
    IO_DATA_LEN = 16 << 20
};

struct io_result {
    double seconds;
    double cpu;      /* processor time of this process, in seconds */
    uint64_t count;  /* bytes, or operations */
    double p50, p99; /* seconds that an operation took; 0 if not measured */
};

/* Return the seconds since some fixed moment. */
double io_now(void);

/* Measure the work between these two calls.  The caller sets `count`. */
struct io_result io_begin(void);
void io_end(struct io_result *result);

/* Print the operation that failed and the text of errno, and exit. */
void io_die(const char *what) __attribute__((noreturn));

/* Allocate memory that starts at a page, and make it present. */
void *io_allocate(size_t len);

/* Return IO_DATA_LEN compressible bytes, made by bench_walk(). */
uint8_t *io_data(void);

/* Open a file, or exit.  `size` may be NULL. */
int io_open(const char *path, int flags, uint64_t *size);

/* Parse an argument, or exit. */
unsigned long io_number(const char *text);

/* Work at random offsets.  bench_io.c describes the arguments. */
struct io_result io_random(int argc, char **argv);
struct io_result io_fault(int argc, char **argv);
struct io_result io_overwrite(int argc, char **argv);

#endif
