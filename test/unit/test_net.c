/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http_server.h"
#include "net/net.h"
#include "suite.h"

enum {
    BUF_LEN = 64
};

static const struct http_answer all = {
    "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n"
    "Content-Range: bytes 3-7/10\r\nETag: \"one\"\r\n"
    "Last-Modified: Thu, 01 Jan 1970 00:01:00 GMT\r\n\r\nabcde",
    0,
};
static const struct http_answer busy = {
    "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n",
    0,
};

/* What a case works with: a server, a loop, and a request for the bytes 3 to
   7. */
struct bench {
    struct http_server *server;
    struct net *net;
    struct url url;
    uint8_t buf[BUF_LEN];
    struct net_request request;
};

static char last_line[1024];

static void keep_line(const char *line)
{
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static void begin(struct bench *bench, const struct http_answer *answers,
                  size_t nanswers, const char *options)
{
    struct net_options settings = net_default_options;
    char text[128];
    const char *why;

    settings.report = keep_line;
    settings.timeout = 10;
    if (options) {
        char name[32];
        char value[32];

        ck_assert_int_eq(sscanf(options, "%31[^=]=%31s", name, value), 2);
        ck_assert_int_eq(net_options_set(&settings, name, value), 0);
    }
    *bench = (struct bench){ 0 };
    bench->server = http_server_start(answers, nanswers);
    snprintf(text, sizeof(text), "http://127.0.0.1:%u/frame?secret=1",
             http_server_port(bench->server));
    ck_assert_int_eq(url_parse(text, &bench->url, &why), 0);
    ck_assert_int_eq(net_new(&settings, &bench->net), 0);
    bench->request = (struct net_request){
        .url = &bench->url,
        .off = 3,
        .len = 5,
        .buf = bench->buf,
    };
}

static void end(struct bench *bench)
{
    net_put(bench->net);
    http_server_stop(bench->server);
    url_fini(&bench->url);
}

static int get(struct bench *bench)
{
    net_run(bench->net, &bench->request, 1);
    return bench->request.error;
}

/* Get the range from a server with these answers; the last one is right. */
static struct net_stats get_after(const struct http_answer *first, size_t n)
{
    struct http_answer answers[4];
    struct net_stats stats;
    struct bench bench;

    memcpy(answers, first, n * sizeof(answers[0]));
    answers[n] = all;
    begin(&bench, answers, n + 1, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_mem_eq(bench.buf, "abcde", 5);
    ck_assert_uint_eq(http_server_nrequests(bench.server), n + 1);
    net_get_stats(bench.net, &stats);
    end(&bench);
    return stats;
}

/* Get the range from a server with one answer only. */
static int get_from(const char *text)
{
    const struct http_answer answer = { text, 0 };
    struct bench bench;
    int r;

    begin(&bench, &answer, 1, "retries=1");
    r = get(&bench);
    end(&bench);
    return r;
}

START_TEST(range_is_asked_for_and_stored)
{
    struct bench bench;

    begin(&bench, &all, 1, NULL);
    bench.request.if_match = "\"one\"";
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_mem_eq(bench.buf, "abcde", 6);
    ck_assert_uint_eq(bench.request.reply.size, 10);
    ck_assert_uint_eq(bench.request.reply.off, 3);
    ck_assert_uint_eq(bench.request.reply.len, 5);
    ck_assert_int_eq(bench.request.reply.modified, 60);
    ck_assert_str_eq(bench.request.reply.etag, "\"one\"");
    ck_assert(!bench.request.reply.redirected);
    ck_assert(http_server_has(bench.server, 0, "GET /frame?secret=1 HTTP/1.1"));
    ck_assert(http_server_has(bench.server, 0, "\r\nRange: bytes=3-7\r\n"));
    ck_assert(http_server_has(bench.server, 0, "\r\nIf-Match: \"one\"\r\n"));
    end(&bench);
}
END_TEST

START_TEST(end_of_an_object_is_asked_for)
{
    static const struct http_answer tail = {
        "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n"
        "Content-Range: bytes 5-9/10\r\n\r\nfghij",
        0,
    };
    struct bench bench;

    begin(&bench, &tail, 1, NULL);
    bench.request.from_end = true;
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_uint_eq(bench.request.reply.off, 5);
    ck_assert_mem_eq(bench.buf, "fghij", 5);
    ck_assert(http_server_has(bench.server, 0, "\r\nRange: bytes=-5\r\n"));
    end(&bench);
}
END_TEST

START_TEST(range_beyond_the_end_is_cut)
{
    static const struct http_answer cut = {
        "HTTP/1.1 206 OK\r\nContent-Length: 2\r\n"
        "Content-Range: bytes 3-4/5\r\n\r\nab",
        0,
    };
    static const struct http_answer none = {
        "HTTP/1.1 416 No\r\nContent-Length: 0\r\n"
        "Content-Range: bytes */3\r\n\r\n",
        0,
    };
    struct bench bench;

    begin(&bench, &cut, 1, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_uint_eq(bench.request.reply.len, 2);
    end(&bench);
    begin(&bench, &none, 1, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_uint_eq(bench.request.reply.len, 0);
    ck_assert_uint_eq(bench.request.reply.size, 3);
    end(&bench);
}
END_TEST

START_TEST(small_object_is_taken_whole)
{
    static const struct http_answer whole = {
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012abcde89",
        0,
    };
    struct bench bench;

    begin(&bench, &whole, 1, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_mem_eq(bench.buf, "abcde", 6);
    ck_assert_uint_eq(bench.request.reply.size, 10);
    end(&bench);
}
END_TEST

START_TEST(large_object_is_not_taken_whole)
{
    static const char large[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n012abcde";
    struct http_answer answer = { large, 0 };
    struct bench bench;

    ck_assert_int_eq(get_from(large), -ENOTSUP);
    begin(&bench, &answer, 1, NULL);
    bench.request.off = 0;
    ck_assert_int_eq(get(&bench), 0); /* its start needs no range */
    ck_assert_mem_eq(bench.buf, "012ab", 5);
    ck_assert_uint_eq(bench.request.reply.size, 10000000);
    end(&bench);
}
END_TEST

START_TEST(head_tells_the_size)
{
    static const struct http_answer head = {
        "HTTP/1.1 200 OK\r\nContent-Length: 77\r\nETag: W/\"x\"\r\n\r\n",
        0,
    };
    struct net_stats stats;
    struct bench bench;

    begin(&bench, &head, 1, NULL);
    bench.request.method = NET_HEAD;
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_uint_eq(bench.request.reply.size, 77);
    ck_assert_str_eq(bench.request.reply.etag, "W/\"x\"");
    ck_assert(http_server_has(bench.server, 0, "HEAD /frame"));
    net_get_stats(bench.net, &stats);
    ck_assert_uint_eq(stats.heads, 1);
    ck_assert_uint_eq(stats.gets, 0);
    end(&bench);
}
END_TEST

START_TEST(busy_server_is_asked_again)
{
    const struct http_answer answers[] = { busy, busy };
    struct net_stats stats = get_after(answers, 2);

    ck_assert_uint_eq(stats.retries[NET_BUSY], 2);
    ck_assert_uint_eq(stats.gets, 3);
    ck_assert_uint_eq(stats.failed, 0);
    ck_assert_uint_eq(stats.received, 5);
    ck_assert_uint_eq(stats.running, 0);
    ck_assert_uint_gt(stats.p50_us, 0);
    ck_assert_uint_ge(stats.p99_us, stats.p50_us);
}
END_TEST

START_TEST(failing_server_is_asked_again)
{
    const struct http_answer answer = {
        "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
        0,
    };

    ck_assert_uint_eq(get_after(&answer, 1).retries[NET_FAILING], 1);
}
END_TEST

START_TEST(lost_connection_is_made_again)
{
    const struct http_answer answers[] = {
        { "", 1 },
        { "HTTP/1.1 206 Part", 1 },
    };

    ck_assert_uint_eq(get_after(answers, 2).retries[NET_CONNECTION], 2);
}
END_TEST

START_TEST(short_reply_is_asked_for_again)
{
    const struct http_answer answers[] = {
        { "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n"
          "Content-Range: bytes 3-7/10\r\n\r\nabc",
          1 },
        { "HTTP/1.1 206 OK\r\nConnection: close\r\n"
          "Content-Range: bytes 3-7/10\r\n\r\nabc",
          1 },
    };

    ck_assert_uint_eq(get_after(answers, 2).retries[NET_WRONG], 2);
}
END_TEST

START_TEST(wrong_reply_is_asked_for_again)
{
    const struct http_answer answers[] = {
        { "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n"
          "Content-Range: bytes 2-6/10\r\n\r\nxxxxx",
          0 },
        { "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n\r\nxxxxx", 0 },
        { "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n"
          "Content-Encoding: gzip\r\nContent-Range: bytes 3-7/10\r\n\r\nxxxxx",
          0 },
    };

    ck_assert_uint_eq(get_after(answers, 3).retries[NET_WRONG], 3);
}
END_TEST

START_TEST(wrong_reply_gets_a_new_connection)
{
    const struct http_answer answers[] = {
        { "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n"
          "Content-Range: bytes 2-6/10\r\n\r\nxxxxx",
          0 },
        all,
    };
    struct bench bench;

    begin(&bench, answers, 2, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert_uint_eq(http_server_nconnections(bench.server), 2);
    ck_assert_int_eq(get(&bench), 0); /* and that one is kept */
    ck_assert_uint_eq(http_server_nconnections(bench.server), 2);
    end(&bench);
}
END_TEST

START_TEST(statuses_have_their_errors)
{
    ck_assert_int_eq(get_from("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
                     -ENOENT);
    ck_assert_int_eq(get_from("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"),
                     -EACCES);
    ck_assert_int_eq(get_from("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"),
                     -EACCES);
    ck_assert_int_eq(get_from("HTTP/1.1 412 No\r\nContent-Length: 0\r\n\r\n"),
                     -ESTALE);
    ck_assert_int_eq(get_from("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"),
                     -EIO);
    ck_assert_int_eq(get_from("rubbish\r\n\r\n"), -EIO);
}
END_TEST

START_TEST(failure_is_reported_without_secrets)
{
    static const struct http_answer failing = {
        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n"
        "x-amz-request-id: AB\x01"
        "C\r\n\r\n",
        0,
    };
    struct net_stats stats;
    struct bench bench;
    char wanted[256];

    begin(&bench, &failing, 1, "retries=1");
    ck_assert_int_eq(get(&bench), -EIO);
    snprintf(wanted, sizeof(wanted),
             "http://127.0.0.1:%u/frame: 5 bytes at 3: the server fails, "
             "tries: 2, status: 500, request id: AB?C",
             http_server_port(bench.server));
    ck_assert_str_eq(last_line, wanted);
    net_get_stats(bench.net, &stats);
    ck_assert_uint_eq(stats.failed, 1);
    end(&bench);
}
END_TEST

START_TEST(pause_that_the_server_asks_for_is_kept)
{
    static const struct http_answer answers[] = {
        { "HTTP/1.1 503 Later\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
          0 },
        { "HTTP/1.1 503 Later\r\nRetry-After: 99\r\nContent-Length: 0\r\n\r\n",
          0 },
    };
    struct bench bench;
    int64_t start = clock_monotonic_ns();

    begin(&bench, answers, 2, NULL);
    ck_assert_int_eq(get(&bench), -EIO); /* at once, for 99 s are too long */
    ck_assert_int_ge(clock_monotonic_ns() - start, 1000000000);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 2);
    end(&bench);
}
END_TEST

START_TEST(request_ends_at_its_deadline)
{
    static const struct http_answer silence = { NULL, 0 };
    struct bench bench;

    begin(&bench, &silence, 1, "timeout=1");
    ck_assert_int_eq(get(&bench), -EIO);
    /* Whether the loop or libcurl notices it first depends on the machine. */
    ck_assert(strstr(last_line, "no reply in time") ||
              strstr(last_line, "the server does not answer"));
    end(&bench);
}
END_TEST

START_TEST(redirect_is_followed)
{
    const struct http_answer answers[] = {
        { "HTTP/1.1 302 There\r\nLocation: /other?key=2#part\r\n"
          "Content-Length: 0\r\n\r\n",
          0 },
        all,
    };
    struct bench bench;

    begin(&bench, answers, 2, NULL);
    ck_assert_int_eq(get(&bench), 0);
    ck_assert(bench.request.reply.redirected);
    ck_assert(http_server_has(bench.server, 1, "GET /other?key=2 HTTP/1.1"));
    ck_assert(http_server_has(bench.server, 1, "\r\nRange: bytes=3-7\r\n"));
    end(&bench);
}
END_TEST

START_TEST(dangerous_redirects_are_refused)
{
    static const char *const targets[] = {
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "s3://bucket/x",
        "http://169.254.169.254/latest/meta-data",
        "http://0xa9fea9fe/",
        "http://[fe80::1]/",
        "http://user:secret@127.0.0.1/",
        "/frame",
    };

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text),
                 "HTTP/1.1 307 There\r\nLocation: %s\r\n"
                 "Content-Length: 0\r\n\r\n",
                 targets[i]);
        ck_assert_msg(get_from(text) == -EIO, "%s", targets[i]);
        ck_assert_ptr_nonnull(strstr(last_line, "redirect"));
    }
}
END_TEST

static void note_end(struct net_request *request)
{
    pthread_barrier_wait(request->context);
}

START_TEST(cancelled_request_ends)
{
    static const struct http_answer silence = { NULL, 0 };
    pthread_barrier_t ended;
    struct bench bench;

    begin(&bench, &silence, 1, NULL);
    pthread_barrier_init(&ended, NULL, 2);
    bench.request.done = note_end;
    bench.request.context = &ended;
    ck_assert_int_eq(net_submit(bench.net, &bench.request), 0);
    http_server_await(bench.server, 1);
    net_cancel(bench.net, &bench.request);
    pthread_barrier_wait(&ended);
    ck_assert_int_eq(bench.request.error, -ECANCELED);
    end(&bench);
    pthread_barrier_destroy(&ended);
}
END_TEST

START_TEST(many_requests_share_few_connections)
{
    enum {
        N = 50
    };
    struct net_request requests[N];
    uint8_t bufs[N][BUF_LEN];
    struct bench bench;

    begin(&bench, &all, 1, "connections=4");
    for (size_t i = 0; i < N; i++) {
        requests[i] = bench.request;
        requests[i].buf = bufs[i];
    }
    net_run(bench.net, requests, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(requests[i].error, 0);
        ck_assert_mem_eq(bufs[i], "abcde", 5);
    }
    ck_assert_uint_eq(http_server_nrequests(bench.server), N);
    ck_assert_uint_le(http_server_nconnections(bench.server), 4);
    end(&bench);
}
END_TEST

START_TEST(server_that_never_answered_is_given_up_soon)
{
    struct net_stats stats;
    struct bench bench;

    begin(&bench, &all, 1, NULL);
    http_server_stop(bench.server);
    ck_assert_int_eq(get(&bench), -EIO);
    net_get_stats(bench.net, &stats);
    ck_assert_uint_eq(stats.gets, 3);
    net_put(bench.net);
    url_fini(&bench.url);
}
END_TEST

START_TEST(options_are_checked)
{
    struct net_options options = net_default_options;

    ck_assert_int_eq(net_options_set(&options, "timeout", "5"), 0);
    ck_assert_uint_eq(options.timeout, 5);
    ck_assert_int_eq(net_options_set(&options, "timeout", "0"), -EINVAL);
    ck_assert_int_eq(net_options_set(&options, "retries", "0"), 0);
    ck_assert_uint_eq(options.retries, 0);
    ck_assert_int_eq(net_options_set(&options, "connections", "0"), -EINVAL);
    ck_assert_int_eq(net_options_set(&options, "revalidate", "inf"), 0);
    ck_assert_uint_eq(options.revalidate, NET_FOREVER);
    ck_assert_int_eq(net_options_set(&options, "revalidate", "x"), -EINVAL);
    ck_assert_int_eq(net_options_set(&options, "cacert", ""), -EINVAL);
    ck_assert_int_eq(net_options_set(&options, "cacert", "/ca"), 0);
    ck_assert_str_eq(options.cacert, "/ca");
    ck_assert_int_eq(net_options_set(&options, "cache", "1"), -ENOENT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        range_is_asked_for_and_stored,
        end_of_an_object_is_asked_for,
        range_beyond_the_end_is_cut,
        small_object_is_taken_whole,
        large_object_is_not_taken_whole,
        head_tells_the_size,
        busy_server_is_asked_again,
        failing_server_is_asked_again,
        lost_connection_is_made_again,
        short_reply_is_asked_for_again,
        wrong_reply_is_asked_for_again,
        wrong_reply_gets_a_new_connection,
        statuses_have_their_errors,
        failure_is_reported_without_secrets,
        pause_that_the_server_asks_for_is_kept,
        request_ends_at_its_deadline,
        redirect_is_followed,
        dangerous_redirects_are_refused,
        cancelled_request_ends,
        many_requests_share_few_connections,
        server_that_never_answered_is_given_up_soon,
        options_are_checked,
        NULL,
    };

    return suite_run("net", tests);
}
