/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/aws_profile.h"
#include "net/json_object.h"
#include "net/secret.h"
#include "suite.h"

static int parse(enum aws_file_kind kind, const char *text, const char *name,
                 struct aws_profile *out)
{
    struct aws_file file = { kind, text, strlen(text) };
    struct fault fault;

    *out = (struct aws_profile){ 0 };
    return aws_profile_parse(&file, name, out, &fault);
}

static void check_value(enum aws_file_kind kind, const char *text,
                        const char *name, const char *region)
{
    struct aws_profile profile;

    ck_assert_msg(parse(kind, text, name, &profile) == 0, "%s", text);
    ck_assert_pstr_eq(profile.values[AWS_REGION], region);
    aws_profile_fini(&profile);
}

static void check_config(const char *text, const char *name, const char *region)
{
    check_value(AWS_FILE_CONFIG, text, name, region);
}

START_TEST(profile_has_its_values)
{
    static const char text[] = "# comment\n"
                               "[default]\n"
                               "region = eu-west-1\n"
                               "[profile a b]  ; comment\n"
                               "aws_access_key_id = AKIA\n"
                               "Aws_Secret_Access_Key=a=b:c # d\r\n"
                               "s3 =\n"
                               "  region = nested\n"
                               "\n"
                               "  ; indented comment\n"
                               "output=json\n"
                               "role_arn: arn:aws:iam::1:role/x";
    struct aws_profile profile;

    ck_assert_int_eq(parse(AWS_FILE_CONFIG, text, "a b", &profile), 0);
    ck_assert(profile.found);
    ck_assert_str_eq(profile.values[AWS_ACCESS_KEY_ID], "AKIA");
    ck_assert_str_eq(profile.values[AWS_SECRET_ACCESS_KEY], "a=b:c # d");
    ck_assert_str_eq(profile.values[AWS_ROLE_ARN], "arn:aws:iam::1:role/x");
    ck_assert_ptr_null(profile.values[AWS_REGION]);
    aws_profile_fini(&profile);
    ck_assert_int_eq(parse(AWS_FILE_CONFIG, text, "none", &profile), 0);
    ck_assert(!profile.found);
}
END_TEST

START_TEST(sections_are_named_as_in_each_file)
{
    static const char text[] = "[default]\nregion=d\n[a]\nregion=a\n"
                               "[profile a]\nregion=pa\n"
                               "[profile \"q r\"]\nregion=q\n"
                               "[profile\tt ]\nregion=t\n"
                               "[profilex]\nregion=x\n";

    check_config(text, "default", "d");
    check_config(text, "a", "pa");
    check_config(text, "q r", "q");
    check_config(text, "t", "t");
    check_config(text, "x", NULL);
    check_config("[profile default]\nregion=p\n", "default", "p");
    check_value(AWS_FILE_CREDENTIALS, text, "a", "a");
    check_value(AWS_FILE_CREDENTIALS, text, "profile a", "pa");
    check_value(AWS_FILE_CREDENTIALS, text, "default", "d");
}
END_TEST

START_TEST(last_value_counts)
{
    check_config("[default]\nregion=a\nregion=b\n", "default", "b");
    check_config("[default]\nregion=a\n[profile x]\nregion=c\n[default]\n"
                 "output=y\nregion=b\n",
                 "default", "b");
    check_config("[default]\nregion=a\n[default]\n", "default", "a");
    check_config("[default]\nregion=a\nregion=\n", "default", NULL);
}
END_TEST

START_TEST(odd_files_are_read)
{
    char *text = malloc(200001);

    check_config("", "default", NULL);
    check_config("\n\n", "default", NULL);
    check_config("[default]", "default", NULL);
    check_config("\xef\xbb\xbf[default]\nregion=a", "default", "a");
    check_config("[default]\r\nregion = a \r\n", "default", "a");
    check_config("  region=a\n[default]\n", "default", NULL);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    memcpy(text, "[default]\nregion=", 17);
    check_config(text, "default", text + 17);
    free(text);
}
END_TEST

static void check_refused(const char *text, size_t len, uint64_t off)
{
    struct aws_file file = { AWS_FILE_CONFIG, text, len };
    struct aws_profile profile = { 0 };
    struct fault fault;

    ck_assert_msg(aws_profile_parse(&file, "default", &profile, &fault) ==
                      -EBADMSG,
                  "%s", text);
    ck_assert_msg(fault.off == off, "%s: %s at %d", text, fault.what,
                  (int)fault.off);
    aws_profile_fini(&profile);
}

START_TEST(files_that_are_not_valid_are_refused_at_the_place)
{
    check_refused("region=a\n", 9, 0);
    check_refused("[default\nregion=a\n", 18, 0);
    check_refused("[default]\nregion\n", 17, 10);
    check_refused("[other]\nx\n", 10, 8);
    check_refused("[default]\nregion=a\x01\n", 19, 18);
    check_refused("[default]\nregion=a\0b\n", 21, 18);
    check_refused("[default]\n#\0\n", 13, 11);
}
END_TEST

static int parse_json(const char *text, char **a, char **b)
{
    struct json_member members[] = { { .name = "a" }, { .name = "b" } };
    struct fault fault = FAULT_NONE;
    int r = json_object_parse(text, strlen(text), members, 2, &fault);

    ck_assert(r == 0 || (fault.what && fault.off <= strlen(text)));
    ck_assert(r == 0 || (!members[0].text && !members[1].text));
    *a = members[0].text;
    *b = members[1].text;
    return r;
}

static void check_json(const char *text, const char *a, const char *b)
{
    char *found_a;
    char *found_b;

    ck_assert_msg(parse_json(text, &found_a, &found_b) == 0, "%s", text);
    ck_assert_pstr_eq(found_a, a);
    ck_assert_pstr_eq(found_b, b);
    secret_free(found_a);
    secret_free(found_b);
}

START_TEST(members_of_json_are_found)
{
    check_json("{}", NULL, NULL);
    check_json(" { } \n", NULL, NULL);
    check_json("{\"a\":\"x\",\"b\":1}", "x", "1");
    check_json("{ \"b\" : null , \"a\" : true }", "true", NULL);
    check_json("{\"a\":\"1\",\"a\":\"2\"}", "2", NULL);
    check_json("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t",
               NULL);
    check_json("{\"a\":\"\\u0041\\u00fc\\u20AC\\ud83d\\ude00\"}",
               "A\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", NULL);
    check_json(
        "{\"c\":{\"a\":[1,{\"b\":\"}\"}]},\"\\u0061\":\"\",\"b\":-1.5e3}", "",
        "-1.5e3");
}
END_TEST

START_TEST(other_json_is_refused)
{
    static const char *const texts[] = {
        "",
        "x",
        "[]",
        "{",
        "{}x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{\"a\":\"x}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\",
        "{\"a\":\"\\u00",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"\\ude00\"}",
        "{\"a\":\"\xff\"}",
        "{\"c\":[}",
        "{\"c\":[1",
        "{\"c\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *a;
        char *b;

        ck_assert_msg(parse_json(texts[i], &a, &b) == -EBADMSG, "%s", texts[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        profile_has_its_values,
        sections_are_named_as_in_each_file,
        last_value_counts,
        odd_files_are_read,
        files_that_are_not_valid_are_refused_at_the_place,
        members_of_json_are_found,
        other_json_is_refused,
        NULL,
    };

    return suite_run("aws_profile", tests);
}
