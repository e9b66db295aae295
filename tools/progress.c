/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "amount.h"

enum {
    BAR_WIDTH = 30,
    LINE_WIDTH = 78,
    MINUTE = 60,
    HOUR = 60 * MINUTE,
};

static const double first_s = 1.0;
static const double interval_s = 0.1;

/* Seconds from `a` to `b`. */
static double seconds(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) +
           (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static struct timespec time_after(struct timespec time, double s)
{
    long ns = time.tv_nsec + (long)(s * 1e9);

    time.tv_sec += ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return time;
}

void progress_start(struct progress *progress)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *progress = (struct progress){
        .wanted = isatty(STDERR_FILENO),
        .start = now,
        .due = time_after(now, first_s),
    };
}

static void print_time(double s, const char *what)
{
    uint64_t whole = s < 1e9 ? (uint64_t)s : 999999999;
    unsigned minutes = (unsigned)(whole % HOUR / MINUTE);

    if (whole >= HOUR)
        fprintf(stderr, "  %u:%02u:%02u%s", (unsigned)(whole / HOUR), minutes,
                (unsigned)(whole % MINUTE), what);
    else
        fprintf(stderr, "  %u:%02u%s", minutes, (unsigned)(whole % MINUTE),
                what);
}

static void print_bar(double part)
{
    static const char full[BAR_WIDTH + 1] = "##############################";

    fprintf(stderr, "[%-*.*s] %3d%%  ", BAR_WIDTH, (int)(part * BAR_WIDTH),
            full, (int)(part * 100));
}

static void clear_line(void)
{
    fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
}

static void draw(double done, double total, double elapsed)
{
    char amount[AMOUNT_LEN];
    char rate[AMOUNT_LEN];

    clear_line();
    if (total > 0)
        print_bar(done / total);
    amount_format(done, amount);
    amount_format(done / elapsed, rate);
    fprintf(stderr, "%s  %s/s", amount, rate);
    if (total > 0 && done > 0)
        print_time(elapsed * (total - done) / done, " left");
    else
        print_time(elapsed, "");
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
    struct timespec now;

    if (!progress->wanted)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (seconds(progress->due, now) < 0)
        return;

    draw((double)done, (double)total, seconds(progress->start, now));
    progress->shown = true;
    progress->due = time_after(now, interval_s);
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    clear_line();
    progress->shown = false;
}
