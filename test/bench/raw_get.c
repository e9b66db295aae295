/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of objects by libcurl, so many at a time and nothing else: the ceiling
 * of frames behind URLs.
 *
 * Reads lines "URL" or "URL FIRST-LAST", and prints what bench_io prints.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    LINE_MAX_LEN = 4096,
    POLL_MS = 1000,
};

static uint64_t nbytes;
static uint64_t ndone;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_time(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Keep bytes as a reader of them would. */
static size_t take(char *bytes, size_t size, size_t n, void *place)
{
    static char buffer[CURL_MAX_READ_SIZE];

    (void)place;
    memcpy(buffer, bytes,
           size * n < sizeof(buffer) ? size * n : sizeof(buffer));
    nbytes += size * n;
    return size * n;
}

/* Start the next line of the input on an idle handle. */
static bool start_next(CURLM *multi, CURL *easy)
{
    char line[LINE_MAX_LEN];
    char *range;

    if (!fgets(line, sizeof(line), stdin))
        return false;
    line[strcspn(line, "\n")] = '\0';
    range = strchr(line, ' ');
    if (range)
        *range++ = '\0';
    curl_easy_setopt(easy, CURLOPT_URL, line);
    curl_easy_setopt(easy, CURLOPT_RANGE, range);
    curl_multi_add_handle(multi, easy);
    return true;
}

static void start_all(CURLM *multi, long nparallel)
{
    for (long i = 0; i < nparallel; i++) {
        CURL *easy = curl_easy_init();

        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
        if (!start_next(multi, easy))
            curl_easy_cleanup(easy);
    }
}

/* Put handles that are done back to work. */
static void finish_some(CURLM *multi)
{
    struct CURLMsg *message;
    int nleft;

    while ((message = curl_multi_info_read(multi, &nleft))) {
        CURL *easy = message->easy_handle;

        if (message->data.result != CURLE_OK) {
            fprintf(stderr, "raw_get: %s\n",
                    curl_easy_strerror(message->data.result));
            exit(1);
        }
        ndone++;
        curl_multi_remove_handle(multi, easy);
        if (!start_next(multi, easy))
            curl_easy_cleanup(easy);
    }
}

int main(int argc, char **argv)
{
    CURLM *multi;
    double start = now();
    int nrunning = 1;

    if (argc != 3) {
        fputs("usage: raw_get N bytes|requests    N requests at a time\n",
              stderr);
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, atol(argv[1]));
    start_all(multi, atol(argv[1]));
    while (nrunning > 0) {
        curl_multi_perform(multi, &nrunning);
        finish_some(multi);
        curl_multi_perform(multi, &nrunning);
        if (nrunning > 0)
            curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
    }
    printf("{\"seconds\": %f, \"count\": %llu, \"cpu\": %f, \"p50\": 0, "
           "\"p99\": 0}\n",
           now() - start,
           (unsigned long long)(argv[2][0] == 'b' ? nbytes : ndone),
           cpu_time());
    curl_multi_cleanup(multi);
    return 0;
}
