/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.h"
#include "suite.h"

static struct url parse(const char *text)
{
    const char *why;
    struct url url;
    int r = url_parse(text, &url, &why);

    ck_assert_msg(r == 0, "%s: %s", text, why ? why : "");
    return url;
}

static void check_parts(const char *text, const char *host, unsigned port,
                        const char *path, const char *query)
{
    struct url url = parse(text);

    ck_assert_str_eq(url.host, host);
    ck_assert_uint_eq(url.port, port);
    ck_assert_str_eq(url.path, path);
    if (query)
        ck_assert_str_eq(url.query, query);
    else
        ck_assert_ptr_null(url.query);
    url_fini(&url);
}

START_TEST(parts_are_found)
{
    check_parts("http://example.org/a/b.b2frame", "example.org", 80,
                "/a/b.b2frame", NULL);
    check_parts("https://Example.ORG:8443", "example.org", 8443, "/", NULL);
    check_parts("HTTPS://h/x?a=b&c=%2F", "h", 443, "/x", "a=b&c=%2F");
    check_parts("http://h?q", "h", 80, "/", "q");
    check_parts("http://[::1]:80/x", "[::1]", 80, "/x", NULL);
    check_parts("s3://bucket-1/run/7.b2frame", "bucket-1", 0, "/run/7.b2frame",
                NULL);
    check_parts("s3://bucket", "bucket", 0, "/", NULL);
    check_parts("http://h/a/...//.x/..y", "h", 80, "/a/...//.x/..y", NULL);
}
END_TEST

START_TEST(other_texts_are_refused)
{
    static const char *const bad[] = {
        "",
        "x",
        "./s3:bucket",
        "ftp://host/x",
        "http:/host/x",
        "http://",
        "http:///x",
        "http://:80/x",
        "http://h:/x",
        "http://h:0/x",
        "http://h:65536/x",
        "http://h:99999999999/x",
        "http://h:8a/x",
        "http://user@h/x",
        "http://user:secret@h/x",
        "http://h/x#part",
        "http://h/a b",
        "http://h/a\nb",
        "http://h/\x7f",
        "http://h/\xc3\xa4",
        "http://h/a\\b",
        "http://h/%",
        "http://h/%2",
        "http://h/%zz",
        "http://h/a%00b",
        "http://h/.",
        "http://h/a/../b",
        "http://h/a/%2e%2E/b",
        "http://h/a/.%2e?q",
        "http://.h/x",
        "http://-h/x",
        "http://h\x01/x",
        "http://[::1/x",
        "http://[g::1]/x",
        "http://[]/x",
        "http://h/?a\r\nHost:b",
        "s3://",
        "s3://ab/x",
        "s3://Bucket/x",
        "s3://buck_et/x",
        "s3://bucket/x?versionId=1",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *why;
        struct url url;

        ck_assert_msg(url_parse(bad[i], &url, &why) == -EINVAL, "%s", bad[i]);
        ck_assert_ptr_nonnull(why);
    }
}
END_TEST

START_TEST(text_that_is_too_long_is_refused)
{
    char *text = malloc(URL_MAX + 2);
    const char *why;
    struct url url;

    memset(text, 'a', URL_MAX + 1);
    memcpy(text, "http://h/", 9);
    text[URL_MAX + 1] = '\0';
    ck_assert_int_eq(url_parse(text, &url, &why), -EINVAL);
    text[URL_MAX] = '\0';
    ck_assert_int_eq(url_parse(text, &url, &why), 0);
    url_fini(&url);
    free(text);
}
END_TEST

START_TEST(paths_do_not_look_like_urls)
{
    ck_assert(url_is("http://h"));
    ck_assert(url_is("S3://b"));
    ck_assert(!url_is("./s3://b"));
    ck_assert(!url_is("s3:b"));
    ck_assert(!url_is("run7.b2frame"));
    ck_assert(!url_is(""));
}
END_TEST

START_TEST(query_is_in_the_text_but_not_in_the_name)
{
    struct url url = parse("http://H:8080/x?secret");
    char *text = url_text(&url);
    char *name = url_name(&url);

    ck_assert_str_eq(text, "http://h:8080/x?secret");
    ck_assert_str_eq(name, "http://h:8080/x");
    ck_assert_uint_eq(url_public_len("http://h/x?secret"), 10);
    ck_assert_uint_eq(url_public_len("http://h/x"), 10);
    free(name);
    free(text);
    url_fini(&url);
}
END_TEST

static void check_join(const char *base, const char *name, const char *wanted)
{
    struct url url = parse(base);
    struct url joined;
    char *text;

    ck_assert_int_eq(url_join(&url, name, &joined), 0);
    text = url_text(&joined);
    ck_assert_str_eq(text, wanted);
    free(text);
    url_fini(&joined);
    url_fini(&url);
}

START_TEST(names_are_joined_by_one_slash)
{
    check_join("http://h", "x", "http://h/x");
    check_join("http://h/a", "x", "http://h/a/x");
    check_join("https://h:1/a/", "x", "https://h:1/a/x");
}
END_TEST

static bool same_origin(const char *a, const char *b)
{
    struct url first = parse(a);
    struct url second = parse(b);
    bool same = url_same_origin(&first, &second);

    url_fini(&first);
    url_fini(&second);
    return same;
}

START_TEST(origin_is_scheme_host_and_port)
{
    ck_assert(same_origin("http://h/a", "http://H:80/b?c"));
    ck_assert(!same_origin("http://h/", "https://h/"));
    ck_assert(!same_origin("http://h/", "http://h:81/"));
    ck_assert(!same_origin("http://h/", "http://g/"));
}
END_TEST

static bool is_internal(const char *text)
{
    struct url url = parse(text);
    bool internal = url_is_internal(&url);

    url_fini(&url);
    return internal;
}

START_TEST(link_local_hosts_are_found_in_any_form)
{
    ck_assert(is_internal("http://169.254.169.254/"));
    ck_assert(is_internal("http://0xa9fea9fe/"));
    ck_assert(is_internal("http://2852039166/"));
    ck_assert(is_internal("http://0251.0376.0251.0376/"));
    ck_assert(is_internal("http://169.254.1/"));
    ck_assert(is_internal("http://[fe80::1]/"));
    ck_assert(is_internal("http://[::ffff:169.254.1.1]/"));
    ck_assert(is_internal("http://[fd00:ec2::254]/"));
    ck_assert(!is_internal("http://127.0.0.1/"));
    ck_assert(!is_internal("http://169.253.0.1/"));
    ck_assert(!is_internal("http://[::1]/"));
    ck_assert(!is_internal("http://example.org/"));
}
END_TEST

START_TEST(link_local_addresses_are_found)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

    inet_pton(AF_INET, "169.254.0.7", &in.sin_addr);
    ck_assert(url_is_internal_address((struct sockaddr *)&in));
    inet_pton(AF_INET, "10.0.0.7", &in.sin_addr);
    ck_assert(!url_is_internal_address((struct sockaddr *)&in));
    inet_pton(AF_INET6, "febf::1", &in6.sin6_addr);
    ck_assert(url_is_internal_address((struct sockaddr *)&in6));
    inet_pton(AF_INET6, "fec0::1", &in6.sin6_addr);
    ck_assert(!url_is_internal_address((struct sockaddr *)&in6));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        parts_are_found,
        other_texts_are_refused,
        text_that_is_too_long_is_refused,
        paths_do_not_look_like_urls,
        query_is_in_the_text_but_not_in_the_name,
        names_are_joined_by_one_slash,
        origin_is_scheme_host_and_port,
        link_local_hosts_are_found_in_any_form,
        link_local_addresses_are_found,
        NULL,
    };

    return suite_run("url", tests);
}
