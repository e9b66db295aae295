/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_server.h"
#include "net/net.h"
#include "net/s3_site.h"
#include "suite.h"

#define FOUND                                        \
    "HTTP/1.1 206 Partial Content\r\n"               \
    "Content-Range: bytes 0-3/10\r\nETag: \"e\"\r\n" \
    "Content-Length: 4\r\n\r\nabcd"
#define REFUSED(code)                                     \
    "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n" \
    "<Error><Code>" code "</Code></Error>"

static char home[SUITE_PATH_MAX];
static char reported[4096];

/* Each case runs in a process of its own, so the environment is its own. */
static void begin(void)
{
    suite_make_dir(home);
    ck_assert_int_eq(clearenv(), 0);
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("HOME", home, 1);
    setenv("AWS_CONFIG_FILE", "~/config", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}

static void end(void)
{
    suite_remove_dir(home);
}

static void write_file(const char *name, const char *text)
{
    char path[2 * SUITE_PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", home, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void set_key(void)
{
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
    setenv("AWS_SESSION_TOKEN", "TOKEN", 1);
}

static void check_map(const char *endpoint, const char *region,
                      const char *text, const char *expected)
{
    struct s3_options options = { .aws = { .region = region,
                                           .endpoint = endpoint } };
    char why[AWS_WHY_MAX];
    struct s3_site *site;
    struct url mapped;
    struct url url;
    const char *error;
    char *written;

    ck_assert_int_eq(url_parse(text, &url, &error), 0);
    ck_assert_msg(s3_site_new(&options, &site, why) == 0, "%s", why);
    ck_assert_int_eq(s3_site_map(site, &url, &mapped), 0);
    written = url_text(&mapped);
    ck_assert_str_eq(written, expected);
    free(written);
    url_fini(&mapped);
    url_fini(&url);
    s3_site_free(site);
}

START_TEST(bucket_is_where_the_server_wants_it)
{
    begin();
    check_map(NULL, NULL, "s3://bucket/a/b",
              "https://bucket.s3.us-east-1.amazonaws.com/a/b");
    check_map(NULL, "eu-west-1", "s3://my.bucket/a",
              "https://s3.eu-west-1.amazonaws.com/my.bucket/a");
    check_map(NULL, "cn-north-1", "s3://bucket",
              "https://bucket.s3.cn-north-1.amazonaws.com.cn/");
    check_map("http://127.0.0.1:7480", NULL, "s3://bucket/a//b",
              "http://127.0.0.1:7480/bucket/a//b");
    check_map("http://host/base/", NULL, "s3://bucket/a",
              "http://host/base/bucket/a");
    check_map("https://{bucket}.host", NULL, "s3://bucket/a",
              "https://bucket.host/a");
    check_map("http://h", NULL, "s3://bucket/%7eu+%c3%bc%2F(1)",
              "http://h/bucket/~u%2B%C3%BC/%281%29");
    end();
}
END_TEST

START_TEST(wrong_endpoint_is_refused)
{
    static const char *const wrong[] = {
        "host",       "s3://bucket", "http://user@host", "http://host/?x=y",
        "ftp://host",
    };

    begin();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct s3_options options = { .aws = { .endpoint = wrong[i] } };
        char why[AWS_WHY_MAX] = "";
        struct s3_site *site;

        ck_assert_int_eq(s3_site_new(&options, &site, why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "endpoint"));
    }
    end();
}
END_TEST

START_TEST(options_are_set)
{
    struct net_options options = net_default_options;

    ck_assert_int_eq(net_options_set(&options, "endpoint", "http://h"), 0);
    ck_assert_int_eq(net_options_set(&options, "region", "r"), 0);
    ck_assert_int_eq(net_options_set(&options, "profile", "p"), 0);
    ck_assert_int_eq(net_options_set(&options, "anonymous", ""), 0);
    ck_assert_str_eq(options.endpoint, "http://h");
    ck_assert_str_eq(options.region, "r");
    ck_assert_str_eq(options.profile, "p");
    ck_assert(options.anonymous);
    ck_assert_int_eq(net_options_set(&options, "anonymous", "x"), -EINVAL);
    ck_assert_int_eq(net_options_set(&options, "region", ""), -EINVAL);
}
END_TEST

static void report(const char *line)
{
    strncat(reported, line, sizeof(reported) - strlen(reported) - 1);
}

/* Get four bytes of an object from a server of S3.  Returns the error of the
   request. */
static int get(struct http_server *server, struct net_options *options)
{
    uint8_t buf[4];
    struct net_request request = { .len = sizeof(buf), .buf = buf };
    struct net *net;
    struct url url;
    const char *why;

    snprintf(options->endpoint, sizeof(options->endpoint),
             "http://127.0.0.1:%u", http_server_port(server));
    options->report = report;
    ck_assert_int_eq(url_parse("s3://bucket/key", &url, &why), 0);
    request.url = &url;
    ck_assert_int_eq(net_new(options, &net), 0);
    net_run(net, &request, 1);
    net_put(net);
    url_fini(&url);
    /* No message has a secret. */
    ck_assert_ptr_null(strstr(reported, "SECRET"));
    ck_assert_ptr_null(strstr(reported, "TOKEN"));
    ck_assert_ptr_null(strstr(reported, "Signature="));
    return request.error;
}

START_TEST(requests_are_signed)
{
    static const struct http_answer answers[] = { { .text = FOUND } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    set_key();
    write_file(".netrc", "machine 127.0.0.1 login a password b\n");
    strcpy(options.region, "mars");
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert(http_server_has(server, 0, "GET /bucket/key HTTP/1.1\r\n"));
    ck_assert(http_server_has(server, 0,
                              "\r\nAuthorization: AWS4-HMAC-SHA256 Credential="
                              "AKID/"));
    ck_assert(http_server_has(server, 0, "/mars/s3/aws4_request, "));
    ck_assert(
        http_server_has(server, 0, "\r\nX-Amz-Security-Token: TOKEN\r\n"));
    ck_assert(http_server_has(server, 0, "\r\nX-Amz-Content-Sha256: e3b0c442"));
    ck_assert(!http_server_has(server, 0, "Authorization: Basic"));
    ck_assert(!http_server_has(server, 0, "SECRET"));
    http_server_stop(server);
    end();
}
END_TEST

enum {
    KEY_LEN = 40,
    KEY_END = 20
};

/* A character of a secret key, which stands nowhere as a whole. */
static char key_char(size_t i)
{
    return (char)('A' + (i * 7 + i / 26) % 26);
}

/* The end of the key counts, because free() may overwrite its start. */
static bool is_key(const char *at)
{
    size_t i = 0;

    while (i < KEY_END && at[i] == key_char(KEY_LEN - KEY_END + i))
        i++;
    return i == KEY_END;
}

/* Write a profile with the key, and leave no copy in memory. */
static void write_profile(void)
{
    char text[256] = "[default]\naws_access_key_id=AKID\n"
                     "aws_secret_access_key=";
    size_t len = strlen(text);
    char path[2 * SUITE_PATH_MAX];
    int fd;

    for (size_t i = 0; i < KEY_LEN; i++)
        text[len++] = key_char(i);
    text[len++] = '\n';
    snprintf(path, sizeof(path), "%s/config", home);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
    close(fd);
    explicit_bzero(text, sizeof(text));
}

/* Count the places in a part of memory that have the key. */
static size_t count_keys_in(int mem, uint64_t from, uint64_t to)
{
    static char bytes[1 << 20];
    size_t count = 0;

    while (to - from >= KEY_END) {
        size_t len = to - from < sizeof(bytes) ? to - from : sizeof(bytes);
        ssize_t n = pread(mem, bytes, len, (off_t)from);

        if (n < KEY_END)
            return count;
        for (ssize_t i = 0; i + KEY_END <= n; i++)
            count += is_key(bytes + i);
        from += (uint64_t)n - KEY_END + 1;
    }
    return count;
}

/* Do so in all memory that can be written to.  Sanitizers have a huge map. */
static size_t count_keys(void)
{
    const uint64_t huge = UINT64_C(1) << 30;
    int mem = open("/proc/self/mem", O_RDONLY);
    FILE *maps = fopen("/proc/self/maps", "r");
    uint64_t from;
    uint64_t to;
    size_t count = 0;
    char line[512];
    char mode[5];

    ck_assert_ptr_nonnull(maps);
    ck_assert_int_ge(mem, 0);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, mode) ==
                3 &&
            strncmp(mode, "rw", 2) == 0 && to - from < huge)
            count += count_keys_in(mem, from, to);
    fclose(maps);
    close(mem);
    return count;
}

START_TEST(key_is_wiped_when_the_loop_has_ended)
{
    static const struct http_answer answers[] = { { .text = FOUND } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    write_profile();
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert(http_server_has(server, 0, "Credential=AKID/"));
    ck_assert_uint_eq(count_keys(), 0);
    http_server_stop(server);
    end();
}
END_TEST

START_TEST(anonymous_requests_are_not_signed)
{
    static const struct http_answer answers[] = { { .text = FOUND } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    set_key();
    options.anonymous = true;
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert(!http_server_has(server, 0, "Authorization"));
    ck_assert(!http_server_has(server, 0, "TOKEN"));
    http_server_stop(server);
    end();
}
END_TEST

START_TEST(without_credentials_nothing_is_sent)
{
    static const struct http_answer answers[] = { { .text = FOUND } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    ck_assert_int_eq(get(server, &options), -EACCES);
    ck_assert_uint_eq(http_server_nrequests(server), 0);
    ck_assert_ptr_nonnull(strstr(reported, "s3://bucket/key: "));
    ck_assert_ptr_nonnull(strstr(reported, "no credentials"));
    reported[0] = '\0';
    strcpy(options.profile, "none");
    ck_assert_int_eq(get(server, &options), -ENOENT);
    ck_assert_ptr_nonnull(strstr(reported, "no profile none"));
    http_server_stop(server);
    end();
}
END_TEST

/* Each run of the process gives another key. */
START_TEST(refused_credentials_are_replaced)
{
    static const struct http_answer answers[] = {
        { .text = REFUSED("ExpiredToken"), .close = 1 },
        { .text = FOUND },
    };
    struct http_server *server = http_server_start(answers, 2);
    struct net_options options = net_default_options;

    begin();
    write_file("say", "cd && echo >>runs\n"
                      "echo '{\"Version\":1,\"AccessKeyId\":\"A'$(wc -l <runs)'"
                      "\",\"SecretAccessKey\":\"SECRET\"}'\n");
    write_file("config",
               "[default]\ncredential_process = sh -c 'exec sh ~/say'\n");
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert(http_server_has(server, 0, "Credential=A1/"));
    ck_assert(http_server_has(server, 1, "Credential=A2/"));
    ck_assert_str_eq(reported, "");
    http_server_stop(server);
    end();
}
END_TEST

START_TEST(credentials_that_take_too_long_are_not_waited_for)
{
    static const struct http_answer answers[] = { { .text = FOUND } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    write_file("config", "[default]\ncredential_process = sleep 2\n");
    options.timeout = 1;
    ck_assert_int_eq(get(server, &options), -EIO);
    ck_assert_uint_eq(http_server_nrequests(server), 0);
    ck_assert_ptr_nonnull(strstr(reported, "could not be sent in time"));
    http_server_stop(server);
    end();
}
END_TEST

static void check_refusal(const char *text, const char *line)
{
    const struct http_answer answer = { .text = text, .close = 1 };
    struct http_server *server = http_server_start(&answer, 1);
    struct net_options options = net_default_options;

    reported[0] = '\0';
    ck_assert_int_eq(get(server, &options), -EACCES);
    ck_assert_uint_eq(http_server_nrequests(server), 2);
    ck_assert_msg(line ? strstr(reported, line) != NULL : reported[0] == '\0',
                  "%s", reported);
    http_server_stop(server);
}

START_TEST(refusals_are_explained)
{
    begin();
    set_key();
    check_refusal(REFUSED("AccessDenied"), NULL);
    check_refusal(REFUSED("SignatureDoesNotMatch"),
                  "error: SignatureDoesNotMatch");
    check_refusal("HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n<a>SE", NULL);
    end();
}
END_TEST

START_TEST(wrong_region_is_explained)
{
    static const struct http_answer answers[] = {
        { .text = "HTTP/1.1 301 Moved Permanently\r\nConnection: close\r\n"
                  "x-amz-bucket-region: eu-west-1\r\n\r\n"
                  "<Error><Code>PermanentRedirect</Code></Error>",
          .close = 1 },
    };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    set_key();
    ck_assert_int_eq(get(server, &options), -EIO);
    ck_assert_ptr_nonnull(strstr(reported, ", error: PermanentRedirect, "
                                           "bucket's region: eu-west-1"));
    http_server_stop(server);
    end();
}
END_TEST

START_TEST(signatures_do_not_go_to_another_server)
{
    static const struct http_answer found[] = { { .text = FOUND } };
    struct http_server *other = http_server_start(found, 1);
    char text[256];
    struct http_answer answers[] = { { .text = text } };
    struct http_server *server = http_server_start(answers, 1);
    struct net_options options = net_default_options;

    begin();
    set_key();
    snprintf(text, sizeof(text),
             "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
             "Location: http://127.0.0.1:%u/bucket/key\r\n\r\n",
             http_server_port(other));
    ck_assert_int_eq(get(server, &options), -EIO);
    ck_assert_uint_eq(http_server_nrequests(other), 0);
    ck_assert_ptr_nonnull(strstr(reported, "another server"));

    options.anonymous = true;
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert_uint_eq(http_server_nrequests(other), 1);
    http_server_stop(server);
    http_server_stop(other);
    end();
}
END_TEST

START_TEST(redirects_of_the_server_itself_are_signed_again)
{
    static const struct http_answer answers[] = {
        { .text = "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\n"
                  "Location: /other\r\n\r\n" },
        { .text = FOUND },
    };
    struct http_server *server = http_server_start(answers, 2);
    struct net_options options = net_default_options;

    begin();
    set_key();
    ck_assert_int_eq(get(server, &options), 0);
    ck_assert(http_server_has(server, 1, "GET /other HTTP/1.1\r\n"));
    ck_assert(http_server_has(server, 1, "Authorization: AWS4-HMAC-SHA256"));
    http_server_stop(server);
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        bucket_is_where_the_server_wants_it,
        wrong_endpoint_is_refused,
        options_are_set,
        requests_are_signed,
        key_is_wiped_when_the_loop_has_ended,
        anonymous_requests_are_not_signed,
        without_credentials_nothing_is_sent,
        refused_credentials_are_replaced,
        credentials_that_take_too_long_are_not_waited_for,
        refusals_are_explained,
        wrong_region_is_explained,
        signatures_do_not_go_to_another_server,
        redirects_of_the_server_itself_are_signed_again,
        NULL,
    };

    return suite_run("net_s3", tests);
}
