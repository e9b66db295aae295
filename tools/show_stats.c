/* SPDX-License-Identifier: BSD-3-Clause */
#include "show_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>

#include "amount.h"
#include "base/log.h"
#include "ops/stats.h"
#include "show_prometheus.h"

/* The figures that are printed; figure_paths[] has their places in the JSON. */
enum figure {
    CACHE_SIZE,
    CACHE_USED,
    DIRTY,
    HITS,
    MISSES,
    READ,
    BLOCKS,
    DECODED,
    DECODED_FROM,
    WIDE_SCANS,
    MISMATCHES,
    AHEAD,
    AHEAD_USED,
    AHEAD_WASTED,
    WRITTEN,
    ENCODED,
    ENCODED_TO,
    COMMITS,
    FAILED,
    CONFLICTS,
    MERGES,
    REQUESTS,
    RECEIVED,
    USED,
    RETRIES,
    REQUESTS_FAILED,
    P50_US,
    P99_US,
    DISK_HITS,
    DISK_MISSES,
    DISK_READ,
    DISK_WRITTEN,
    ERRORS,
    NFIGURES
};

static const char *const figure_paths[NFIGURES] = {
    [CACHE_SIZE] = "/cache/size",
    [CACHE_USED] = "/cache/used",
    [DIRTY] = "/cache/dirty",
    [HITS] = "/cache/hits",
    [MISSES] = "/cache/misses",
    [READ] = "/read/bytes",
    [BLOCKS] = "/read/blocks_decoded",
    [DECODED] = "/read/decoded",
    [DECODED_FROM] = "/read/decoded_from",
    [WIDE_SCANS] = "/read/wide_scans",
    [MISMATCHES] = "/read/mismatches",
    [AHEAD] = "/readahead/blocks",
    [AHEAD_USED] = "/readahead/used",
    [AHEAD_WASTED] = "/readahead/wasted",
    [WRITTEN] = "/written/bytes",
    [ENCODED] = "/written/encoded",
    [ENCODED_TO] = "/written/encoded_to",
    [COMMITS] = "/written/commits",
    [FAILED] = "/written/commits_failed",
    [CONFLICTS] = "/written/conflicts",
    [MERGES] = "/written/merges",
    [REQUESTS] = "/remote/requests",
    [RECEIVED] = "/remote/received",
    [USED] = "/remote/used",
    [RETRIES] = "/remote/retries",
    [REQUESTS_FAILED] = "/remote/failed",
    [P50_US] = "/remote/p50_us",
    [P99_US] = "/remote/p99_us",
    [DISK_HITS] = "/netcache/hits",
    [DISK_MISSES] = "/netcache/misses",
    [DISK_READ] = "/netcache/read",
    [DISK_WRITTEN] = "/netcache/written",
    [ERRORS] = "/errors",
};

struct figures {
    uint64_t n[NFIGURES];
};

static int parse(const char *text, struct figures *out)
{
    struct json_object *top = json_tokener_parse(text);
    struct json_object *number;
    int r = top ? 0 : -ENODATA;

    for (int i = 0; i < NFIGURES && r == 0; i++) {
        if (json_pointer_get(top, figure_paths[i], &number) < 0)
            r = -ENODATA;
        else
            out->n[i] = json_object_get_uint64(number);
    }
    json_object_put(top);
    return r;
}

/* Get the text from the mount.  Returns -ENODATA if framefs is not mounted
   there. */
static int fetch(const char *mountpoint, char text[STATS_TEXT_MAX])
{
    struct statfs fs;
    ssize_t len;

    if (statfs(mountpoint, &fs) < 0)
        return -errno;
    if (fs.f_type != FUSE_SUPER_MAGIC)
        return -ENODATA;
    len = getxattr(mountpoint, STATS_ATTRIBUTE, text, STATS_TEXT_MAX - 1);
    if (len < 0)
        return errno == ENOTSUP ? -ENODATA : -errno;
    text[len] = '\0';
    return 0;
}

/* Ask the mount for its figures.  Errors are reported. */
static int ask(const char *mountpoint, char text[STATS_TEXT_MAX],
               struct figures *out)
{
    int r = fetch(mountpoint, text);

    if (r == 0)
        r = parse(text, out);
    if (r == -ENODATA)
        log_error("%s: framefs is not mounted there", mountpoint);
    else if (r < 0)
        log_error("%s: %s", mountpoint, strerror(-r));
    return r;
}

/* Express a part of a whole in percent. */
static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void print_bytes(const char *before, uint64_t nbytes, const char *after)
{
    char text[AMOUNT_LEN];

    amount_format((double)nbytes, text);
    printf("%s%s%s", before, text, after);
}

/* Print the size of decoded bytes, and of the chunks that hold them. */
static void print_coded(uint64_t plain, const char *word, uint64_t packed)
{
    print_bytes("", plain, word);
    print_bytes("", packed, "");
    if (packed > 0)
        printf(", ratio %.2f", (double)plain / (double)packed);
    putchar('\n');
}

static void print_requests(const uint64_t *n)
{
    printf("requests   %" PRIu64 ", ", n[REQUESTS]);
    print_bytes("", n[RECEIVED], ", ");
    print_bytes("", n[USED], " of it used");
    printf(", %" PRIu64 " tried again, %" PRIu64 " failed\n", n[RETRIES],
           n[REQUESTS_FAILED]);
    printf("replies    begin after %.1f ms, 1 %% of them after %.1f ms\n",
           (double)n[P50_US] / 1000, (double)n[P99_US] / 1000);
}

static void print_netcache(const uint64_t *n)
{
    uint64_t asked = n[DISK_HITS] + n[DISK_MISSES];

    printf("netcache   %" PRIu64 " of %" PRIu64 ", %.1f %%, ", n[DISK_HITS],
           asked, percent(n[DISK_HITS], asked));
    print_bytes("", n[DISK_READ], " read, ");
    print_bytes("", n[DISK_WRITTEN], " written\n");
}

static void print_all(const struct figures *now)
{
    const uint64_t *n = now->n;
    uint64_t asked = n[HITS] + n[MISSES];

    print_bytes("cache      ", n[CACHE_USED], " of ");
    print_bytes("", n[CACHE_SIZE], ", ");
    print_bytes("", n[DIRTY], " dirty\n");
    printf("hits       %" PRIu64 " of %" PRIu64 ", %.1f %%\n", n[HITS], asked,
           percent(n[HITS], asked));
    print_bytes("read       ", n[READ], "");
    if (n[WIDE_SCANS] > 0)
        printf(", %" PRIu64 " scans of arrays wider than the cache",
               n[WIDE_SCANS]);
    printf("\n");
    printf("decoded    %" PRIu64 " blocks, ", n[BLOCKS]);
    print_coded(n[DECODED], " from ", n[DECODED_FROM]);
    if (n[MISMATCHES] > 0)
        printf("damaged    %" PRIu64 " reads did not match their sums\n",
               n[MISMATCHES]);
    printf("readahead  %" PRIu64 " blocks, %" PRIu64 " used, %" PRIu64
           " wasted\n",
           n[AHEAD], n[AHEAD_USED], n[AHEAD_WASTED]);
    print_bytes("written    ", n[WRITTEN], "\n");
    printf("encoded    ");
    print_coded(n[ENCODED], " to ", n[ENCODED_TO]);
    printf("commits    %" PRIu64 ", %" PRIu64 " failed\n", n[COMMITS],
           n[FAILED]);
    if (n[CONFLICTS] > 0)
        printf("conflicts  %" PRIu64 ", %" PRIu64 " merged\n", n[CONFLICTS],
               n[MERGES]);
    if (n[REQUESTS] > 0)
        print_requests(n);
    if (n[DISK_HITS] + n[DISK_MISSES] > 0)
        print_netcache(n);
    printf("errors     %" PRIu64 "\n", n[ERRORS]);
}

static void print_rate(uint64_t nbytes)
{
    char text[AMOUNT_LEN];

    amount_format((double)nbytes, text);
    printf("  %10s", text);
}

/* Print one row: the work since the last one, a second ago; and the bytes that
   are dirty now. */
static void print_row(const struct figures *old, const struct figures *now)
{
    uint64_t n[NFIGURES];

    for (int i = 0; i < NFIGURES; i++)
        n[i] = now->n[i] - old->n[i];
    printf("%5.1f", percent(n[HITS], n[HITS] + n[MISSES]));
    print_rate(n[READ]);
    print_rate(n[DECODED]);
    print_rate(n[WRITTEN]);
    print_rate(n[ENCODED_TO]);
    print_rate(now->n[DIRTY]);
    printf("  %7" PRIu64 "  %6" PRIu64 "\n", n[COMMITS], n[ERRORS]);
}

static void print(const char *text, const struct figures *old,
                  const struct figures *now, bool json)
{
    if (json)
        puts(text);
    else if (old)
        print_row(old, now);
    else
        print_all(now);
}

/* Print a row every second, until that fails. */
static int watch_stats(const char *mountpoint, bool json)
{
    static const struct timespec second = { .tv_sec = 1 };
    char text[STATS_TEXT_MAX];
    struct figures old;
    struct figures now;
    int r = ask(mountpoint, text, &old);

    if (r == 0 && !json)
        puts("hit %      read/s   decoded/s   written/s    stored/s"
             "       dirty  commits  errors");
    while (r == 0 && fflush(stdout) == 0) {
        nanosleep(&second, NULL);
        r = ask(mountpoint, text, &now);
        if (r < 0)
            break;
        print(text, &old, &now, json);
        old = now;
    }
    return r;
}

int show_stats(const char *mountpoint, bool json, bool watch)
{
    char text[STATS_TEXT_MAX];
    struct figures now;
    int r;

    if (watch) {
        r = watch_stats(mountpoint, json);
    } else {
        r = ask(mountpoint, text, &now);
        if (r == 0)
            print(text, NULL, &now, json);
    }
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int show_stats_prometheus(const char *mountpoint)
{
    char *path = realpath(mountpoint, NULL);
    char text[STATS_TEXT_MAX];
    struct figures unused;
    int r = ask(mountpoint, text, &unused);

    if (r == 0)
        r = show_prometheus(path ? path : mountpoint, text);
    if (r == 0 && fflush(stdout) != 0) {
        r = -errno;
        log_error("standard output: %s", strerror(errno));
    }
    free(path);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
