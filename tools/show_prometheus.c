/* SPDX-License-Identifier: BSD-3-Clause */
#include "show_prometheus.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Figures that only go up are counters.  The names follow the rules of
   Prometheus: their units, and "total" for counters, come last. */
struct metric {
    const char *path; /* in the JSON */
    const char *name; /* after "framefs_"; a counter if it ends in "_total" */
    const char *help;
};

static const struct metric metrics[] = {
    { "/cache/size", "cache_size_bytes", "Limit of the cache" },
    { "/cache/used", "cache_used_bytes", "Memory that the cache uses" },
    { "/cache/dirty", "cache_dirty_bytes", "Written data not yet committed" },
    { "/cache/hits", "cache_hits_total", "Blocks that were in the cache" },
    { "/cache/misses", "cache_misses_total", "Blocks that were not" },
    { "/read/bytes", "read_bytes_total", "Data that programs have read" },
    { "/read/blocks_decoded", "decoded_blocks_total", "Blocks decoded" },
    { "/read/decoded", "decoded_bytes_total", "Size of these blocks" },
    { "/read/decoded_from", "decoded_from_bytes_total",
      "Compressed size of these blocks" },
    { "/read/wide_scans", "wide_scans_total",
      "Scans of arrays wider than the cache" },
    { "/readahead/blocks", "readahead_blocks_total", "Blocks decoded ahead" },
    { "/readahead/used", "readahead_used_blocks_total",
      "Blocks decoded ahead and then read" },
    { "/readahead/wasted", "readahead_wasted_blocks_total",
      "Blocks decoded ahead and dropped unread" },
    { "/written/bytes", "written_bytes_total",
      "Data that programs have written" },
    { "/written/encoded", "encoded_bytes_total", "Data compressed" },
    { "/written/encoded_to", "encoded_to_bytes_total",
      "Compressed size of these data" },
    { "/written/commits", "commits_total", "Commits" },
    { "/written/commits_failed", "commits_failed_total",
      "Commits that failed" },
    { "/written/conflicts", "conflicts_total",
      "Commits that met one of another host" },
    { "/written/merges", "merges_total", "Conflicts that were merged" },
    { "/remote/requests", "remote_requests_total", "Requests to servers" },
    { "/remote/running", "remote_running_requests", "Requests under way" },
    { "/remote/received", "remote_received_bytes_total", "Data from servers" },
    { "/remote/used", "remote_used_bytes_total", "Data from servers used" },
    { "/remote/retries", "remote_retries_total", "Requests tried again" },
    { "/remote/failed", "remote_failed_total", "Requests that failed" },
    { "/netcache/hits", "netcache_hits_total", "Pieces found on disk" },
    { "/netcache/misses", "netcache_misses_total", "Pieces not found there" },
    { "/netcache/read", "netcache_read_bytes_total", "Data read from disk" },
    { "/netcache/written", "netcache_written_bytes_total",
      "Data written to disk" },
    { "/errors", "errors_total", "Faults of files that were logged" },
};

static bool is_counter(const char *name)
{
    static const char end[] = "_total";
    size_t len = strlen(name);

    return len > sizeof(end) && strcmp(name + len - sizeof(end) + 1, end) == 0;
}

static void print_label(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_metric(const struct metric *metric, const char *mountpoint,
                         uint64_t value)
{
    printf(
        "# HELP framefs_%s %s\n# TYPE framefs_%s %s\nframefs_%s{mountpoint=\"",
        metric->name, metric->help, metric->name,
        is_counter(metric->name) ? "counter" : "gauge", metric->name);
    print_label(mountpoint);
    printf("\"} %" PRIu64 "\n", value);
}

int show_prometheus(const char *mountpoint, const char *text)
{
    struct json_object *top = json_tokener_parse(text);
    struct json_object *number;
    int r = top ? 0 : -ENODATA;

    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]) && r == 0;
         i++) {
        if (json_pointer_get(top, metrics[i].path, &number) < 0)
            r = -ENODATA;
        else
            print_metric(&metrics[i], mountpoint,
                         json_object_get_uint64(number));
    }
    json_object_put(top);
    return r;
}
