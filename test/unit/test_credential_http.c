/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http_server.h"
#include "net/credential_chain.h"
#include "net/net_fetch.h"
#include "suite.h"

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
#define CREDENTIALS                              \
    "<Credentials><AccessKeyId>ID</AccessKeyId>" \
    "<SecretAccessKey>SECRET</SecretAccessKey>"  \
    "<SessionToken>TOKEN</SessionToken>"         \
    "<Expiration>2009-10-12T17:50:30Z</Expiration></Credentials>"
#define ROLE                                             \
    "<AssumeRoleResponse><AssumeRoleResult>" CREDENTIALS \
    "</AssumeRoleResult></AssumeRoleResponse>"
#define IDENTITY                                    \
    "<AssumeRoleWithWebIdentityResponse>"           \
    "<AssumeRoleWithWebIdentityResult>" CREDENTIALS \
    "</AssumeRoleWithWebIdentityResult>"            \
    "</AssumeRoleWithWebIdentityResponse>"
#define JSON                                              \
    "{\"Code\":\"Success\",\"AccessKeyId\":\"ID\","       \
    "\"SecretAccessKey\":\"SECRET\",\"Token\":\"TOKEN\"," \
    "\"Expiration\":\"2009-10-12T17:50:30Z\"}"

/* What a case works with. */
struct bench {
    char home[SUITE_PATH_MAX];
    struct http_server *server;
    char url[64]; /* of that server */
    struct net_fetcher fetcher;
};

/* Each case runs in a process of its own, so the environment is its own. */
static void begin(struct bench *bench, const struct http_answer *answers,
                  size_t n)
{
    suite_make_dir(bench->home);
    bench->server = http_server_start(answers, n);
    snprintf(bench->url, sizeof(bench->url), "http://127.0.0.1:%u",
             http_server_port(bench->server));
    net_fetch_init(&bench->fetcher, &net_default_options);
    ck_assert_int_eq(clearenv(), 0);
    setenv("HOME", bench->home, 1);
    setenv("AWS_CONFIG_FILE", "~/config", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("AWS_ENDPOINT_URL_STS", bench->url, 1);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
}

static void end(struct bench *bench)
{
    net_fetch_fini(&bench->fetcher);
    http_server_stop(bench->server);
    suite_remove_dir(bench->home);
}

static void write_file(const struct bench *bench, const char *name,
                       const char *text)
{
    char path[2 * SUITE_PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", bench->home, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static int get(struct bench *bench, struct credentials *out,
               char why[AWS_WHY_MAX])
{
    const struct credential_options options = {
        .region = "mars-1",
        .fetcher = &bench->fetcher.fetcher,
    };

    return credential_chain_get(&options, out, why);
}

static void check(struct bench *bench)
{
    struct credentials found;
    char why[AWS_WHY_MAX];

    ck_assert_msg(get(bench, &found, why) == 0, "%s", why);
    ck_assert_str_eq(found.id, "ID");
    ck_assert_str_eq(found.secret, "SECRET");
    ck_assert_str_eq(found.token, "TOKEN");
    ck_assert_int_eq(found.expires, 1255369830);
    credentials_fini(&found);
}

static void check_fails(struct bench *bench, int error, const char *part)
{
    struct credentials found;
    char why[AWS_WHY_MAX] = "";
    int r = get(bench, &found, why);

    ck_assert_msg(r == error, "%d: %s", r, why);
    ck_assert_msg(strstr(why, part), "%s", why);
    ck_assert_ptr_null(strstr(why, "SECRET"));
}

static void check_sent(struct bench *bench, size_t request, const char *text)
{
    ck_assert_msg(http_server_has(bench->server, request, text), "%s", text);
}

START_TEST(role_is_assumed_with_the_key_of_another_profile)
{
    static const struct http_answer answers[] = { { OK ROLE, 1 } };
    struct bench bench;

    begin(&bench, answers, 1);
    unsetenv("http_proxy");
    write_file(&bench, "config",
               "[default]\nrole_arn=arn:aws:iam::1:role/r\n"
               "source_profile=p\nexternal_id=e&x\nduration_seconds=900\n"
               "[profile p]\naws_access_key_id=BASE\n"
               "aws_secret_access_key=b\n");
    check(&bench);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 1);
    check_sent(&bench, 0, "POST / HTTP/1.1\r\n");
    check_sent(&bench, 0, "Credential=BASE/");
    check_sent(&bench, 0,
               "/mars-1/sts/aws4_request, "
               "SignedHeaders=content-type;host;x-amz-date, ");
    check_sent(&bench, 0,
               "Content-Type: application/x-www-form-urlencoded\r\n");
    end(&bench);
}
END_TEST

START_TEST(roles_are_chained)
{
    static const struct http_answer answers[] = { { OK ROLE, 1 } };
    struct bench bench;

    begin(&bench, answers, 1);
    unsetenv("http_proxy");
    setenv("AWS_PROFILE", "a", 1);
    write_file(&bench, "config",
               "[profile a]\nrole_arn=a\nsource_profile=b\n"
               "[profile b]\nrole_arn=b\nsource_profile=b\n"
               "aws_access_key_id=BASE\naws_secret_access_key=b\n");
    check(&bench);
    ck_assert_uint_eq(http_server_nrequests(bench.server), 2);
    check_sent(&bench, 0, "Credential=BASE/");
    check_sent(&bench, 1, "Credential=ID/");
    check_sent(&bench, 1, "X-Amz-Security-Token: TOKEN\r\n");
    end(&bench);
}
END_TEST

START_TEST(role_that_is_refused_is_told)
{
    static const struct http_answer answers[] = {
        { "HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n"
          "<ErrorResponse><Error><Code>AccessDenied</Code></Error>"
          "</ErrorResponse>",
          1 },
        { OK "<AssumeRoleResponse/>", 1 },
        { "HTTP/1.1 307 Other\r\nLocation: http://localhost:1/\r\n"
          "Content-Length: 0\r\n\r\n",
          1 },
    };
    struct bench bench;

    begin(&bench, answers, 3);
    unsetenv("http_proxy");
    setenv("AWS_SESSION_TOKEN", "SECRET", 1);
    write_file(&bench, "config",
               "[default]\nrole_arn=a\nsource_profile=default\n"
               "aws_access_key_id=BASE\naws_secret_access_key=b\n");
    check_fails(&bench, -EACCES, "AssumeRole refuses");
    check_fails(&bench, -EBADMSG, "AssumeRole");
    check_fails(&bench, -EIO, "AssumeRole");
    end(&bench);
}
END_TEST

START_TEST(token_of_an_identity_is_exchanged)
{
    static const struct http_answer answers[] = { { OK IDENTITY, 1 } };
    char path[2 * SUITE_PATH_MAX];
    struct bench bench;

    begin(&bench, answers, 1);
    unsetenv("http_proxy");
    snprintf(path, sizeof(path), "%s/token", bench.home);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    setenv("AWS_ROLE_ARN", "arn:x", 1);
    check_fails(&bench, -ENOENT, "/token: ");
    write_file(&bench, "token", " \n");
    check_fails(&bench, -EBADMSG, "no token");
    write_file(&bench, "token", "a.b.c\n");
    check(&bench);
    ck_assert(!http_server_has(bench.server, 0, "Authorization"));
    end(&bench);
}
END_TEST

START_TEST(server_of_a_container_is_asked)
{
    static const struct http_answer answers[] = { { OK JSON, 1 } };
    char url[128];
    struct bench bench;

    begin(&bench, answers, 1);
    snprintf(url, sizeof(url), "%s/creds?x=y", bench.url);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url, 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer z", 1);
    check(&bench);
    check_sent(&bench, 0, "GET /creds?x=y HTTP/1.1\r\n");
    check_sent(&bench, 0, "\r\nAuthorization: Bearer z\r\n");
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\r\nb: c", 1);
    check_fails(&bench, -EBADMSG, "token");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/", 1);
    check_fails(&bench, -EINVAL, "names no server");
    end(&bench);
}
END_TEST

START_TEST(metadata_service_is_asked)
{
    static const struct http_answer answers[] = {
        { OK "session", 1 },
        { OK "my-role\n", 1 },
        { OK JSON, 1 },
        { "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", 1 },
    };
    struct bench bench;

    begin(&bench, answers, 4);
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", bench.url, 1);
    check(&bench);
    check_sent(&bench, 0, "PUT /latest/api/token HTTP/1.1\r\n");
    check_sent(&bench, 0, "X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n");
    check_sent(&bench, 1,
               "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n");
    check_sent(&bench, 1, "\r\nX-aws-ec2-metadata-token: session\r\n");
    check_sent(&bench, 2, "/security-credentials/my-role HTTP/1.1\r\n");
    check_sent(&bench, 2, "\r\nX-aws-ec2-metadata-token: session\r\n");
    check_fails(&bench, -EACCES, "no credentials");
    end(&bench);
}
END_TEST

static void *stop_later(void *arg)
{
    struct bench *bench = arg;

    http_server_await(bench->server, 1);
    net_fetch_stop(&bench->fetcher);
    return NULL;
}

/* Without that it takes 30 seconds. */
START_TEST(request_to_a_silent_server_is_cancelled)
{
    static const struct http_answer silence = { NULL, 0 };
    int64_t start = clock_monotonic_ns();
    struct credentials found;
    char why[AWS_WHY_MAX];
    struct bench bench;
    pthread_t thread;

    begin(&bench, &silence, 1);
    unsetenv("http_proxy");
    write_file(&bench, "config",
               "[default]\nrole_arn=a\nsource_profile=default\n"
               "aws_access_key_id=BASE\naws_secret_access_key=b\n");
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, &bench), 0);
    ck_assert_int_eq(get(&bench, &found, why), -ECANCELED);
    ck_assert_int_eq(get(&bench, &found, why), -ECANCELED);
    ck_assert_int_lt(clock_monotonic_ns() - start, 20 * CLOCK_SECOND_NS);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    end(&bench);
}
END_TEST

START_TEST(answer_that_is_too_long_is_refused)
{
    size_t len = 100000;
    char *text = malloc(len);
    const struct http_answer answer = { text, 1 };
    struct bench bench;

    memset(text, 'x', len);
    memcpy(text, OK, strlen(OK));
    text[len - 1] = '\0';
    begin(&bench, &answer, 1);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", bench.url, 1);
    check_fails(&bench, -EIO, "container");
    end(&bench);
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        role_is_assumed_with_the_key_of_another_profile,
        roles_are_chained,
        role_that_is_refused_is_told,
        token_of_an_identity_is_exchanged,
        server_of_a_container_is_asked,
        metadata_service_is_asked,
        request_to_a_silent_server_is_cancelled,
        answer_that_is_too_long_is_refused,
        NULL,
    };

    return suite_run("credential_http", tests);
}
