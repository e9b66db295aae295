/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "http_server.h"
#include "store/store_http.h"
#include "suite.h"

/* An object of ten bytes in one state, and a part of it in another state. */
#define WHOLE(tag)                                             \
    {                                                          \
        "HTTP/1.1 206 OK\r\nContent-Length: 10\r\n"            \
        "Content-Range: bytes 0-9/10\r\nETag: \"" tag "\"\r\n" \
        "Last-Modified: Thu, 01 Jan 1970 00:01:00 GMT\r\n\r\n" \
        "0123456789",                                          \
            0                                                  \
    }
#define MISSING                                             \
    {                                                       \
        "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 0 \
    }
#define BYTE(tag)                                              \
    {                                                          \
        "HTTP/1.1 206 OK\r\nContent-Length: 1\r\n"             \
        "Content-Range: bytes 0-0/10\r\nETag: \"" tag "\"\r\n" \
        "Last-Modified: Thu, 01 Jan 1970 00:01:00 GMT\r\n\r\n" \
        "0",                                                   \
            0                                                  \
    }

enum {
    SIZE = 10
};

struct bench {
    struct http_server *server;
    struct net *net;
    struct url url;
};

static void begin(struct bench *bench, const struct http_answer *answers,
                  size_t nanswers, unsigned revalidate)
{
    struct net_options options = net_default_options;
    char text[128];
    const char *why;

    options.revalidate = revalidate;
    options.connections = 1; /* answers come in the order of requests */
    bench->server = http_server_start(answers, nanswers);
    snprintf(text, sizeof(text), "http://127.0.0.1:%u/f",
             http_server_port(bench->server));
    ck_assert_int_eq(url_parse(text, &bench->url, &why), 0);
    ck_assert_int_eq(net_new(&options, &bench->net), 0);
}

static void end(struct bench *bench)
{
    net_put(bench->net);
    http_server_stop(bench->server);
    url_fini(&bench->url);
}

static struct store *open_file(struct bench *bench)
{
    struct store *store;

    ck_assert_int_eq(store_http_open(bench->net, &bench->url, &store), 0);
    ck_assert(!store_is_directory(store));
    return store;
}

static struct store *open_dir(struct bench *bench)
{
    struct store *store;

    ck_assert_int_eq(store_http_open_dir(bench->net, &bench->url, &store), 0);
    ck_assert(store_is_directory(store));
    return store;
}

static struct store_object *open_object(struct store *store, const char *name)
{
    struct store_object *object;

    ck_assert_int_eq(store_open(store, name, &object), 0);
    return object;
}

START_TEST(object_is_read_from_what_opened_it)
{
    static const struct http_answer answers[] = { WHOLE("a") };
    struct store_object *object;
    struct store_stat stat;
    struct store *store;
    struct bench bench;
    char buf[SIZE];

    begin(&bench, answers, 1, NET_FOREVER);
    store = open_file(&bench);
    object = open_object(store, "");
    ck_assert_int_eq(store_object_read_at(object, 2, buf, 5), 0);
    ck_assert_mem_eq(buf, "23456", 5);
    ck_assert_int_eq(store_object_read_at(object, 8, buf, 3), -ENODATA);
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, SIZE);
    ck_assert_int_eq(stat.version.mtime.tv_sec, 60);
    ck_assert(stat.version.settled);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 2);
    ck_assert_int_eq(store_open(store, "x", &object), -ENOENT);
    ck_assert_int_eq(store_object_write(object, 0, buf, 1), -EROFS);
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(new_state_is_another_version)
{
    static const struct http_answer answers[] = {
        WHOLE("a"), WHOLE("a"), BYTE("a"),  BYTE("a"),
        BYTE("b"),  WHOLE("b"), WHOLE("b"), BYTE("b"),
    };
    struct store_object *object;
    struct store_object *newer;
    struct store_stat first;
    struct store_stat second;
    struct store *store;
    struct bench bench;
    char byte;

    begin(&bench, answers, 8, 0);
    store = open_file(&bench);
    object = open_object(store, "");
    ck_assert_int_eq(store_object_stat(object, &first), 0);
    ck_assert_int_eq(store_object_read_at(object, 0, &byte, 1), 0);
    ck_assert_int_eq(store_object_stat(object, &second), -ESTALE);
    ck_assert_int_eq(store_object_stat(object, &second), -ESTALE);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 5);
    newer = open_object(store, "");
    ck_assert_int_eq(store_object_stat(newer, &second), 0);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 8);
    ck_assert_int_eq(store_version_compare(first.version, second.version),
                     VERSION_OTHER_OBJECT);
    store_object_close(newer);
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(bytes_of_another_state_are_refused)
{
    static const struct http_answer answers[] = {
        { "HTTP/1.1 206 OK\r\nContent-Length: 10\r\n"
          "Content-Range: bytes 0-9/10\r\n\r\n0123456789",
          0 },
        { "HTTP/1.1 206 OK\r\nContent-Length: 11\r\n"
          "Content-Range: bytes 0-10/11\r\n\r\n0123456789X",
          0 },
    };
    struct store_object *object;
    struct store_stat stat;
    struct store *store;
    struct bench bench;
    char byte;

    /* The end is of a longer state, so it is not used. */
    begin(&bench, answers, 2, NET_FOREVER);
    store = open_file(&bench);
    object = open_object(store, "");
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, 10);
    ck_assert_int_eq(store_object_read_at(object, 9, &byte, 1), 0);
    ck_assert_int_eq(byte, '9');
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(chunk_object_opens_without_a_request)
{
    static const struct http_answer answers[] = { WHOLE("a") };
    struct store_object *object;
    struct store_stat stat;
    struct store *store;
    struct bench bench;
    char buf[SIZE];

    begin(&bench, answers, 1, NET_FOREVER);
    store = open_dir(&bench);
    object = open_object(store, "00000001.chunk");
    ck_assert_uint_eq(http_server_nrequests(bench.server), 0);
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, SIZE);
    ck_assert_int_eq(store_object_read_at(object, 0, buf, SIZE), 0);
    ck_assert_mem_eq(buf, "0123456789", SIZE);
    store_object_close(object);
    object = open_object(store, "00000001.chunk");
    ck_assert_int_eq(store_object_read_at(object, 0, buf, SIZE), 0);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    ck_assert(http_server_has(bench.server, 0, "GET /f/00000001.chunk "));
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(missing_chunk_makes_the_index_be_asked_for)
{
    static const struct http_answer answers[] = {
        WHOLE("a"),
        MISSING,
        BYTE("b"),
        WHOLE("b"),
    };
    struct store_object *object;
    struct store_stat before;
    struct store_stat after;
    struct store_stat stat;
    struct store *store;
    struct bench bench;

    begin(&bench, answers, 4, 1000);
    store = open_dir(&bench);
    ck_assert_int_eq(store_stat(store, "index", &before), 0);
    ck_assert_int_eq(store_stat(store, "index", &after), 0);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    object = open_object(store, "00000001.chunk");
    ck_assert_int_eq(store_object_stat(object, &stat), -ENOENT);
    store_object_close(object);
    ck_assert_int_eq(store_stat(store, "index", &after), 0);
    ck_assert_int_eq(store_version_compare(before.version, after.version),
                     VERSION_OTHER_OBJECT);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 4);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(nothing_there_is_told)
{
    static const struct http_answer answers[] = { MISSING };
    struct store_object *object;
    struct store *store;
    struct bench bench;

    begin(&bench, answers, 1, NET_FOREVER);
    ck_assert_int_eq(store_http_open(bench.net, &bench.url, &store), -ENOENT);
    store = open_dir(&bench);
    ck_assert_int_eq(store_open(store, "index", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "a/b", &object), -ENOENT);
    ck_assert_int_eq(store_list(store, NULL, NULL), -ENOTSUP);
    store_close(store);
    end(&bench);
}
END_TEST

/* A waiter for which a thread of the test waits. */
struct waiting {
    struct store_waiter waiter;
    sem_t ready;
};

static void wake(struct store_waiter *waiter)
{
    sem_post(&((struct waiting *)(void *)waiter)->ready);
}

static void fetch_ahead(struct waiting *waiting, struct store_object *object)
{
    sem_init(&waiting->ready, 0, 0);
    store_waiter_begin(&waiting->waiter, wake);
    ck_assert(store_object_prefetch(object, 0, UINT64_MAX, &waiting->waiter));
    store_waiter_asked(&waiting->waiter);
}

START_TEST(bytes_fetched_ahead_are_not_asked_for_again)
{
    static const struct http_answer answers[] = { WHOLE("a") };
    struct store_object *object;
    struct waiting waiting;
    struct store *store;
    struct bench bench;
    char buf[SIZE];

    begin(&bench, answers, 1, NET_FOREVER);
    store = open_dir(&bench);
    ck_assert_uint_gt(store_ahead(store), 0);
    object = open_object(store, "00000001.chunk");
    fetch_ahead(&waiting, object);
    sem_wait(&waiting.ready);
    ck_assert(!waiting.waiter.failed);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    fetch_ahead(&waiting, object);
    sem_wait(&waiting.ready);
    ck_assert_int_eq(store_object_read_at(object, 0, buf, SIZE), 0);
    ck_assert_mem_eq(buf, "0123456789", SIZE);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(waiter_learns_that_bytes_cannot_be_had)
{
    static const struct http_answer answers[] = { MISSING };
    struct store_object *object;
    struct waiting waiting;
    struct store *store;
    struct bench bench;
    char byte;

    begin(&bench, answers, 1, NET_FOREVER);
    store = open_dir(&bench);
    object = open_object(store, "00000001.chunk");
    fetch_ahead(&waiting, object);
    sem_wait(&waiting.ready);
    ck_assert(waiting.waiter.failed);
    ck_assert_int_eq(store_object_read_at(object, 0, &byte, 1), -ENOENT);
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(store_closes_while_bytes_are_on_their_way)
{
    static const struct http_answer answers[] = { { NULL, 0 } };
    struct store_object *object;
    struct waiting waiting;
    struct store *store;
    struct bench bench;

    begin(&bench, answers, 1, NET_FOREVER);
    store = open_dir(&bench);
    object = open_object(store, "00000001.chunk");
    fetch_ahead(&waiting, object);
    http_server_await(bench.server, 1);
    store_object_close(object);
    store_close(store);
    sem_wait(&waiting.ready);
    ck_assert(waiting.waiter.failed);
    end(&bench);
}
END_TEST

START_TEST(nothing_is_fetched_ahead_beyond_the_limit)
{
    static const struct http_answer answers[] = { WHOLE("a") };
    static const struct store_http_owner owner = { .limit = SIZE };
    struct store_object *object;
    struct store *store;
    struct bench bench;
    char byte;

    begin(&bench, answers, 1, NET_FOREVER);
    ck_assert_int_eq(store_http_set_owner(bench.net, &owner), 0);
    store = open_dir(&bench);
    object = open_object(store, "00000001.chunk");
    ck_assert(!store_object_prefetch(object, 0, UINT64_MAX, NULL));
    ck_assert_int_eq(store_object_read_at(object, 0, &byte, 1), 0);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    store_object_close(object);
    store_close(store);
    end(&bench);
}
END_TEST

START_TEST(bytes_being_read_stay_however_many_wait)
{
    static const struct http_answer answers[] = { WHOLE("a"), WHOLE("b") };
    /* Half of it is room for one object that was read, but not for two. */
    static const struct store_http_owner owner = { .limit = 3 * SIZE };
    struct store_object *objects[2];
    struct waiting waiting[2];
    struct store *store;
    struct bench bench;
    char byte;

    begin(&bench, answers, 2, NET_FOREVER);
    store = open_dir(&bench);
    objects[0] = open_object(store, "00000001.chunk");
    objects[1] = open_object(store, "00000002.chunk");
    for (int i = 0; i < 2; i++) {
        fetch_ahead(&waiting[i], objects[i]);
        sem_wait(&waiting[i].ready);
    }
    ck_assert_int_eq(store_http_set_owner(bench.net, &owner), 0);
    for (uint64_t off = 0; off < SIZE; off++)
        ck_assert_int_eq(store_object_read_at(objects[0], off, &byte, 1), 0);
    ck_assert_int_eq(store_object_read_at(objects[1], 0, &byte, 1), 0);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 2);
    store_object_close(objects[0]);
    store_object_close(objects[1]);
    store_close(store);
    end(&bench);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        object_is_read_from_what_opened_it,
        new_state_is_another_version,
        bytes_of_another_state_are_refused,
        chunk_object_opens_without_a_request,
        missing_chunk_makes_the_index_be_asked_for,
        nothing_there_is_told,
        bytes_fetched_ahead_are_not_asked_for_again,
        waiter_learns_that_bytes_cannot_be_had,
        store_closes_while_bytes_are_on_their_way,
        nothing_is_fetched_ahead_beyond_the_limit,
        bytes_being_read_stay_however_many_wait,
        NULL,
    };

    return suite_run("store_http", tests);
}
