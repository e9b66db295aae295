/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/percent.h"
#include "net/sigv4.h"
#include "suite.h"

/* Examples of "Authenticating Requests: Using the Authorization Header". */
static const struct sigv4_key s3_key = {
    .id = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
static const struct sigv4_scope s3_scope = {
    .region = "us-east-1",
    .service = "s3",
    .time = 1369353600, /* 2013-05-24 00:00:00 */
};

/* AWS's Signature Version 4 test suite. */
static const struct sigv4_key suite_key = {
    .id = "AKIDEXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
static const struct sigv4_scope suite_scope = {
    .region = "us-east-1",
    .service = "service",
    .time = 1440938160, /* 2015-08-30 12:36:00 */
};

#define UNRESERVED \
    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static struct sigv4_request s3_request(const char *method, const char *path)
{
    return (struct sigv4_request){
        .method = method,
        .host = "examplebucket.s3.amazonaws.com",
        .path = path,
        .payload = SIGV4_EMPTY,
    };
}

static void check(const struct sigv4_request *request,
                  const struct sigv4_key *key, const struct sigv4_scope *scope,
                  const char *names, const char *signature)
{
    struct sigv4_lines lines;
    char end[512];
    const char *line;

    ck_assert_int_eq(sigv4_sign(request, key, scope, &lines), 0);
    line = lines.line[0];
    snprintf(end, sizeof(end), ", SignedHeaders=%s, Signature=%s", names,
             signature);
    ck_assert_msg(strlen(line) > strlen(end) &&
                      strcmp(line + strlen(line) - strlen(end), end) == 0,
                  "%s %s: %s", request->path, request->query, line);
    sigv4_fini(&lines);
}

static void check_s3(const struct sigv4_request *request, const char *names,
                     const char *signature)
{
    check(request, &s3_key, &s3_scope, names, signature);
}

START_TEST(s3_get_object_with_a_range)
{
    static const struct sigv4_header header = { "Range", "bytes=0-9" };
    struct sigv4_request request = s3_request("GET", "/test.txt");

    request.headers = &header;
    request.nheaders = 1;
    check_s3(
        &request, "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}
END_TEST

START_TEST(s3_put_object)
{
    static const struct sigv4_header headers[] = {
        { "x-amz-storage-class", "REDUCED_REDUNDANCY" },
        { "Date", "Fri, 24 May 2013 00:00:00 GMT" },
    };
    struct sigv4_request request = s3_request("PUT", "/test$file.text");
    char hash[SIGV4_HASH_SIZE];

    ck_assert_int_eq(sigv4_hash("Welcome to Amazon S3.", 21, hash), 0);
    request.payload = hash;
    request.headers = headers;
    request.nheaders = 2;
    check_s3(
        &request,
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}
END_TEST

START_TEST(s3_get_lifecycle)
{
    struct sigv4_request request = s3_request("GET", "/");

    request.query = "lifecycle";
    check_s3(
        &request, "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}
END_TEST

START_TEST(s3_list_objects)
{
    struct sigv4_request request = s3_request("GET", "/");

    request.query = "max-keys=2&prefix=J";
    check_s3(
        &request, "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    request.query = "prefix=J&&max-keys=2&";
    check_s3(
        &request, "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}
END_TEST

/* A row of the test suite: a request without headers of its own. */
struct row {
    const char *method;
    const char *path;
    const char *query;
    const char *signature;
};

/* In the order of the suite's directory. */
static const struct row rows[] = {
    { "GET", "/example/..", NULL,
      "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282" },
    { "GET", "/./", NULL,
      "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145" },
    { "GET", "//example//", NULL,
      "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5" },
    { "GET", "/example space/", NULL,
      "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
    { "GET", "/example%20space/", NULL,
      "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
    { "GET", "/" UNRESERVED, NULL,
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
    { "GET", "/\xe1\x88\xb4", NULL,
      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
    { "GET", "/%e1%88%b4", NULL,
      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
    { "GET", "/", NULL,
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "GET", "/", "",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "GET", "/", "Param1=value1",
      "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb" },
    { "GET", "/", "Param2=value2&Param1=value1",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
    { "GET", "/", "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
      "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac" },
    { "GET", "/", UNRESERVED "=" UNRESERVED,
      "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197" },
    { "GET", "/", "\xe1\x88\xb4=bar",
      "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04" },
    { "POST", "/", NULL,
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
    { "POST", "/", "Param1=value1",
      "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11" },
};

static struct sigv4_request suite_request(const char *method, const char *path)
{
    return (struct sigv4_request){
        .method = method,
        .host = "example.amazonaws.com",
        .path = path,
        .payload = SIGV4_EMPTY,
    };
}

START_TEST(test_suite_paths_and_queries)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sigv4_request request =
            suite_request(rows[i].method, rows[i].path);

        request.query = rows[i].query;
        check(&request, &suite_key, &suite_scope, "host;x-amz-date",
              rows[i].signature);
    }
}
END_TEST

START_TEST(test_suite_headers)
{
    static const struct sigv4_header order[] = {
        { "My-Header1", "value4" },
        { "my-header1", "value1" },
        { "My-Header1", "value3" },
        { "My-Header1", "value2" },
    };
    static const struct sigv4_header trim[] = {
        { "My-Header2", " \"a   b   c\"" },
        { "My-Header1", " value1" },
    };
    static const struct sigv4_header upper = { "MY-HEADER1", "VALUE1" };
    struct sigv4_request request = suite_request("GET", "/");

    request.headers = order;
    request.nheaders = 4;
    check(&request, &suite_key, &suite_scope, "host;my-header1;x-amz-date",
          "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01");
    request.headers = trim;
    request.nheaders = 2;
    check(&request, &suite_key, &suite_scope,
          "host;my-header1;my-header2;x-amz-date",
          "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
    request = suite_request("POST", "/");
    request.headers = &upper;
    request.nheaders = 1;
    check(&request, &suite_key, &suite_scope, "host;my-header1;x-amz-date",
          "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d");
}
END_TEST

START_TEST(test_suite_session_token)
{
    struct sigv4_request request = suite_request("GET", "/");
    struct sigv4_key key = suite_key;

    key.token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf1942"
                "67";
    check(&request, &key, &suite_scope, "host;x-amz-date;x-amz-security-token",
          "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8");
}
END_TEST

START_TEST(test_suite_body)
{
    static const struct sigv4_header headers[] = {
        { "Content-Type", "application/x-www-form-urlencoded" },
        { "Content-Length", "13" },
        { "x-amz-content-sha256", "9095672bbd1f56dfc5b65f3e153adc8731a4a654192"
                                  "329106275f4c7b24d0b6e" },
    };
    struct sigv4_request request = suite_request("POST", "/");
    char hash[SIGV4_HASH_SIZE];

    ck_assert_int_eq(sigv4_hash("Param1=value1", 13, hash), 0);
    request.payload = hash;
    request.headers = headers;
    request.nheaders = 3;
    check(&request, &suite_key, &suite_scope,
          "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
          "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b");
}
END_TEST

START_TEST(all_lines_are_made)
{
    struct sigv4_request request = s3_request("GET", "/");
    struct sigv4_key key = s3_key;
    struct sigv4_lines lines;

    request.payload = SIGV4_UNSIGNED;
    key.token = "session/token=";
    ck_assert_int_eq(sigv4_sign(&request, &key, &s3_scope, &lines), 0);
    ck_assert_uint_eq(lines.n, 4);
    ck_assert_ptr_nonnull(strstr(lines.line[0],
                                 "Authorization: AWS4-HMAC-SHA256 Credential="
                                 "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                                 "aws4_request, SignedHeaders="));
    ck_assert_str_eq(lines.line[1], "X-Amz-Date: 20130524T000000Z");
    ck_assert_str_eq(lines.line[2], "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD");
    ck_assert_str_eq(lines.line[3], "X-Amz-Security-Token: session/token=");
    sigv4_fini(&lines);
    sigv4_fini(&lines);
}
END_TEST

START_TEST(headers_cannot_be_smuggled_in)
{
    static const struct sigv4_header header = { "x", "a\r\nHost: b" };
    static const struct sigv4_header many[SIGV4_HEADERS_MAX + 1];
    struct sigv4_request request = s3_request("GET", "/");
    struct sigv4_key key = s3_key;
    struct sigv4_lines lines;

    key.token = "a\nb: c";
    ck_assert_int_eq(sigv4_sign(&request, &key, &s3_scope, &lines), -EINVAL);
    key.token = NULL;
    key.id = "A\r";
    ck_assert_int_eq(sigv4_sign(&request, &key, &s3_scope, &lines), -EINVAL);
    request.headers = &header;
    request.nheaders = 1;
    ck_assert_int_eq(sigv4_sign(&request, &s3_key, &s3_scope, &lines), -EINVAL);
    request.headers = many;
    request.nheaders = SIGV4_HEADERS_MAX + 1;
    ck_assert_int_eq(sigv4_sign(&request, &s3_key, &s3_scope, &lines), -EINVAL);
}
END_TEST

START_TEST(encoded_texts_have_one_form)
{
    struct secret text = { 0 };

    percent_recode("/a%2fb+%7e%C3%bc%zz%4", 21, PERCENT_KEEP_SLASH, &text);
    ck_assert_str_eq(text.text, "/a/b%2B~%C3%BC%25zz%254");
    secret_fini(&text);
    percent_encode("/\xff\0 ", 4, PERCENT_KEEP_NONE, &text);
    ck_assert_str_eq(text.text, "%2F%FF%00%20");
    secret_fini(&text);
    percent_decode("%2F+%ff%", 8, &text);
    ck_assert_str_eq(text.text, "/+\xff%");
    secret_fini(&text);
}
END_TEST

START_TEST(secrets_grow)
{
    struct secret text = { 0 };
    char *taken;

    for (int i = 0; i < 1000; i++)
        secret_add(&text, "0123456789");
    ck_assert_uint_eq(text.len, 10000);
    taken = secret_take(&text);
    ck_assert_uint_eq(strlen(taken), 10000);
    ck_assert_ptr_null(text.text);
    secret_free(taken);
    taken = secret_take(&text);
    ck_assert_str_eq(taken, "");
    secret_free(taken);
    secret_free(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        s3_get_object_with_a_range,
        s3_put_object,
        s3_get_lifecycle,
        s3_list_objects,
        test_suite_paths_and_queries,
        test_suite_headers,
        test_suite_session_token,
        test_suite_body,
        all_lines_are_made,
        headers_cannot_be_smuggled_in,
        encoded_texts_have_one_form,
        secrets_grow,
        NULL,
    };

    return suite_run("sigv4", tests);
}
