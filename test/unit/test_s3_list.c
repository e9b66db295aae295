/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_server.h"
#include "store/store.h"
#include "store/store_http.h"
#include "suite.h"

#define PAGE(text)                                            \
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"            \
    "<ListBucketResult><EncodingType>url</EncodingType>" text \
    "</ListBucketResult>"
#define OBJECT(key) "<Contents><Key>" key "</Key></Contents>"
#define PREFIX(key) "<CommonPrefixes><Prefix>" key "</Prefix></CommonPrefixes>"
#define GO_ON(token)                  \
    "<IsTruncated>true</IsTruncated>" \
    "<NextContinuationToken>" token "</NextContinuationToken>"

struct names {
    char text[256];
    size_t n;
    size_t max; /* end the list after so many */
};

static int add_name(void *context, const char *name)
{
    struct names *names = context;

    strcat(names->text, name);
    strcat(names->text, "|");
    return ++names->n == names->max ? 7 : 0;
}

/* List a directory on a server of S3. */
static int list(struct http_server *server, const char *text,
                struct names *names)
{
    struct net_options options = net_default_options;
    struct store *store;
    struct net *net;
    struct url url;
    const char *why;
    int r;

    snprintf(options.endpoint, sizeof(options.endpoint), "http://127.0.0.1:%u",
             http_server_port(server));
    options.anonymous = true;
    options.retries = 0;
    ck_assert_int_eq(clearenv(), 0);
    ck_assert_int_eq(url_parse(text, &url, &why), 0);
    ck_assert_int_eq(net_new(&options, &net), 0);
    ck_assert_int_eq(store_http_open_dir(net, &url, &store), 0);
    r = store_list(store, add_name, names);
    store_close(store);
    net_put(net);
    url_fini(&url);
    return r;
}

START_TEST(pages_are_listed)
{
    static const struct http_answer answers[] = {
        { PAGE(OBJECT("a+b/f/1.chunk") OBJECT("a+b/f/%C3%BC") GO_ON("x/y=")),
          1 },
        { PAGE(OBJECT("a+b/f/2.chunk") PREFIX("a+b/f/sub%2F")), 1 },
    };
    struct http_server *server = http_server_start(answers, 2);
    struct names names = { .max = 10 };

    ck_assert_int_eq(list(server, "s3://bucket/a%20b/f", &names), 0);
    ck_assert_str_eq(names.text, "1.chunk|\xc3\xbc|2.chunk|sub|");
    ck_assert(http_server_has(server, 0,
                              "GET /bucket/?list-type=2&encoding-type=url&"
                              "delimiter=%2F&prefix=a%20b%2Ff%2F HTTP/1.1"));
    ck_assert(
        http_server_has(server, 1, "&continuation-token=x%2Fy%3D HTTP/1.1"));
    http_server_stop(server);
}
END_TEST

START_TEST(names_that_are_none_are_left_out)
{
    static const struct http_answer answers[] = {
        { PAGE(OBJECT("f/") OBJECT("other") OBJECT("f/a%2Fb") OBJECT("f/c")
                   PREFIX("f/%2F") PREFIX("f/d%2Fe%2F")),
          1 },
    };
    struct http_server *server = http_server_start(answers, 1);
    struct names names = { .max = 10 };

    ck_assert_int_eq(list(server, "s3://bucket/f/", &names), 0);
    ck_assert_str_eq(names.text, "c|");
    http_server_stop(server);
}
END_TEST

START_TEST(whole_bucket_is_listed)
{
    static const struct http_answer answers[] = {
        { PAGE(OBJECT("a") PREFIX("b%2F")), 1 },
    };
    struct http_server *server = http_server_start(answers, 1);
    struct names names = { .max = 1 };

    ck_assert_int_eq(list(server, "s3://bucket", &names), 7);
    ck_assert_str_eq(names.text, "a|");
    ck_assert(http_server_has(server, 0, "&prefix= HTTP/1.1"));
    http_server_stop(server);
}
END_TEST

START_TEST(list_that_leads_back_to_itself_ends)
{
    static const struct http_answer answers[] = {
        { PAGE(OBJECT("a") GO_ON("again")), 1 },
    };
    struct http_server *server = http_server_start(answers, 1);
    struct names names = { .max = 100 };

    ck_assert_int_eq(list(server, "s3://bucket", &names), -EIO);
    http_server_stop(server);
}
END_TEST

START_TEST(other_answers_are_errors)
{
    static const struct http_answer answers[] = {
        { PAGE("<IsTruncated>true</IsTruncated>"), 1 },
        { "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 1 },
        { "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", 1 },
    };
    struct http_server *server = http_server_start(answers, 3);
    struct names names = { .max = 1 };
    struct store *store;
    struct net *net;
    struct url url;
    const char *why;

    ck_assert_int_eq(list(server, "s3://bucket", &names), -EIO);
    ck_assert_int_eq(list(server, "s3://bucket", &names), -ENOENT);
    ck_assert_int_eq(list(server, "s3://bucket", &names), -EACCES);
    http_server_stop(server);
    ck_assert_uint_eq(names.n, 0);

    ck_assert_int_eq(url_parse("http://127.0.0.1/", &url, &why), 0);
    ck_assert_int_eq(net_new(&net_default_options, &net), 0);
    ck_assert_int_eq(store_http_open_dir(net, &url, &store), 0);
    ck_assert_int_eq(store_list(store, add_name, &names), -ENOTSUP);
    store_close(store);
    net_put(net);
    url_fini(&url);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        pages_are_listed,         names_that_are_none_are_left_out,
        whole_bucket_is_listed,   list_that_leads_back_to_itself_ends,
        other_answers_are_errors, NULL,
    };

    return suite_run("s3_list", tests);
}
