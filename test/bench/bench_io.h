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
    double cpu;      /* seconds of processor time of this process */
    uint64_t count;  /* bytes, or operations */
    double p50, p99; /* seconds that an operation took; 0 if not noted down */
};

/* Seconds since some moment. */
double io_now(void);

/* Measure what is done between these two.  `count` is set by the caller. */
struct io_result io_begin(void);
void io_end(struct io_result *result);

/* Say what failed, and why by errno, and end the program. */
void io_die(const char *what) __attribute__((noreturn));

/* Memory at a page's border, present. */
void *io_allocate(size_t len);

/* IO_DATA_LEN bytes that can be packed, as bench_walk() makes them. */
uint8_t *io_data(void);

/* Open a file, or end the program.  `size` may be NULL. */
int io_open(const char *path, int flags, uint64_t *size);

/* Read an argument, or end the program. */
unsigned long io_number(const char *text);

/* What is done at random places; arguments as bench_io.c says. */
struct io_result io_random(int argc, char **argv);
struct io_result io_fault(int argc, char **argv);
struct io_result io_overwrite(int argc, char **argv);

#endif
