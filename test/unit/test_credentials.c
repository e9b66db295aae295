/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/credential_cache.h"
#include "net/credential_chain.h"
#include "net/credential_process.h"
#include "net/credentials.h"
#include "net/small_file.h"
#include "suite.h"

static char home[SUITE_PATH_MAX];

static int get_nothing(const struct fetcher *fetcher, const struct fetch *fetch,
                       struct secret *out)
{
    (void)fetcher;
    (void)fetch;
    (void)out;
    return -EIO;
}

/* No case here makes requests. */
static const struct fetcher no_fetcher = { get_nothing };

static struct credential_options options_of(const char *profile)
{
    return (struct credential_options){ profile, "us-east-1", &no_fetcher,
                                        NULL };
}

static int get_chain(const char *profile, struct credentials *out,
                     char why[AWS_WHY_MAX])
{
    const struct credential_options options = options_of(profile);

    return credential_chain_get(&options, out, why);
}

static int new_cache(const char *profile, unsigned pause,
                     struct credential_cache **out)
{
    const struct credential_options options = options_of(profile);

    return credential_cache_new(&options, pause, out);
}

/* Each case runs in a process of its own, so the environment is its own. */
static void begin(void)
{
    static const char *const variables[] = {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_CREDENTIAL_EXPIRATION",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_ROLE_ARN",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    };
    char path[SUITE_PATH_MAX + 8];

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    suite_make_dir(home);
    setenv("HOME", home, 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    snprintf(path, sizeof(path), "%s/.aws", home);
    ck_assert_int_eq(mkdir(path, 0700), 0);
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

static void end(void)
{
    suite_remove_dir(home);
}

static void check_chain(const char *profile, const char *id, const char *secret,
                        const char *token)
{
    struct credentials found;
    char why[AWS_WHY_MAX] = "";

    ck_assert_msg(get_chain(profile, &found, why) == 0, "%s", why);
    ck_assert_str_eq(found.id, id);
    ck_assert_str_eq(found.secret, secret);
    ck_assert_pstr_eq(found.token, token);
    credentials_fini(&found);
}

static void check_no_chain(const char *profile, int error, const char *part)
{
    struct credentials found;
    char why[AWS_WHY_MAX] = "";

    ck_assert_int_eq(get_chain(profile, &found, why), error);
    ck_assert_msg(strstr(why, part), "%s", why);
}

START_TEST(environment_comes_first)
{
    begin();
    write_file(".aws/credentials", "[default]\naws_access_key_id=F\n"
                                   "aws_secret_access_key=f\n");
    check_chain(NULL, "F", "f", NULL);
    setenv("AWS_ACCESS_KEY_ID", "E", 1);
    check_no_chain(NULL, -EBADMSG, "missing");
    setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
    setenv("AWS_SESSION_TOKEN", "t", 1);
    check_chain(NULL, "E", "e", "t");
    check_chain("default", "F", "f", NULL);
    setenv("AWS_SESSION_TOKEN", "", 1);
    check_chain(NULL, "E", "e", NULL);
    setenv("AWS_ACCESS_KEY_ID", "E\r\nHost: x", 1);
    check_no_chain(NULL, -EBADMSG, "characters");
    end();
}
END_TEST

START_TEST(profile_is_chosen)
{
    begin();
    write_file(".aws/config", "[default]\naws_access_key_id=D\n"
                              "aws_secret_access_key=d\n"
                              "[profile p]\naws_access_key_id=X\n"
                              "aws_secret_access_key=x\n");
    write_file(".aws/credentials", "[p]\naws_access_key_id=P\n"
                                   "aws_secret_access_key=p\n");
    check_chain(NULL, "D", "d", NULL);
    check_chain("p", "P", "p", NULL);
    setenv("AWS_PROFILE", "p", 1);
    check_chain(NULL, "P", "p", NULL);
    check_chain("default", "D", "d", NULL);
    setenv("AWS_PROFILE", "q", 1);
    check_no_chain(NULL, -ENOENT, "no profile q");
    end();
}
END_TEST

START_TEST(files_are_where_the_environment_says)
{
    char path[2 * SUITE_PATH_MAX];

    begin();
    check_no_chain(NULL, -EACCES, "anonymous");
    write_file("c", "[default]\naws_access_key_id=D\n"
                    "aws_secret_access_key=d\n");
    setenv("AWS_CONFIG_FILE", "~/c", 1);
    check_chain(NULL, "D", "d", NULL);
    setenv("AWS_CONFIG_FILE", "/dev/null", 1);
    check_no_chain(NULL, -EACCES, "anonymous");
    snprintf(path, sizeof(path), "%s/c", home);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    check_chain(NULL, "D", "d", NULL);
    setenv("AWS_SHARED_CREDENTIALS_FILE", home, 1);
    check_no_chain(NULL, -EINVAL, home);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/zero", 1);
    check_no_chain(NULL, -EFBIG, "/dev/zero");
    unsetenv("HOME");
    unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    check_no_chain(NULL, -EACCES, "anonymous");
    end();
}
END_TEST

START_TEST(file_that_is_not_valid_is_named)
{
    begin();
    write_file(".aws/config", "[default]\naws_secret_access_key\n");
    check_no_chain(NULL, -EBADMSG, "/.aws/config: offset 10: ");
    write_file(".aws/config", "[default]\naws_access_key_id=a b\n"
                              "aws_secret_access_key=SECRET\n");
    check_no_chain(NULL, -EBADMSG, "characters");
    write_file(".aws/config", "[default]\nrole_arn=arn:x\n"
                              "source_profile=p\n");
    check_no_chain(NULL, -ENOENT, "no profile p");
    write_file(".aws/config", "[default]\nrole_arn=arn:x\n"
                              "credential_source=Moon\n");
    check_no_chain(NULL, -ENOTSUP, "credential_source");
    write_file(".aws/config", "[default]\nrole_arn=arn:x\n");
    check_no_chain(NULL, -EACCES, "for the role");
    write_file(".aws/config", "[default]\nrole_arn=arn:x\nmfa_serial=y\n");
    check_no_chain(NULL, -ENOTSUP, "device");
    write_file(".aws/config", "[default]\nrole_arn=x\nsource_profile=p\n"
                              "[profile p]\nrole_arn=x\n"
                              "source_profile=default\n");
    check_no_chain(NULL, -ELOOP, "each other");
    write_file(".aws/config", "[default]\nsso_session=x\n");
    check_no_chain(NULL, -ENOTSUP, "single sign-on");
    end();
}
END_TEST

START_TEST(pipe_is_no_file)
{
    char path[2 * SUITE_PATH_MAX];
    struct secret text;

    begin();
    snprintf(path, sizeof(path), "%s/fifo", home);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(small_file_read(path, &text), -EINVAL);
    end();
}
END_TEST

START_TEST(process_gives_credentials)
{
    begin();
    write_file("say", "#!/bin/sh\n"
                      "printf '{\"Version\":1,\"AccessKeyId\":\"%s\",' \"$1\"\n"
                      "printf '\"SecretAccessKey\":\"s\",\"SessionToken\":'\n"
                      "printf '\"t\",\"Expiration\":"
                      "\"2009-10-12T17:50:30Z\"}\\n'\n");
    write_file(".aws/config",
               "[default]\ncredential_process = /bin/sh \"$HOME/say\" A\n"
               "[profile b]\n"
               "credential_process = sh -c '. ~/say; echo' \"B C\" 'D'\n");
    /* Nothing is expanded without a shell. */
    check_no_chain(NULL, -EACCES, "failed");
    check_chain("b", "D", "s", "t");
    end();
}
END_TEST

START_TEST(bad_output_of_a_process_is_refused)
{
    static const char *const outputs[] = {
        "",
        "{}",
        "SECRET",
        "{\"Version\":2,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"SECRET\"}",
        "{\"Version\":1,\"AccessKeyId\":\"a\"}",
        "{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"SECRET\","
        "\"Expiration\":\"soon\"}",
        "{\"Version\":1,\"AccessKeyId\":\"a b\",\"SecretAccessKey\":"
        "\"SECRET\"}",
    };

    begin();
    write_file(".aws/config", "[default]\ncredential_process = cat out\n");
    ck_assert_int_eq(chdir(home), 0);
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        struct credentials found;
        char why[AWS_WHY_MAX] = "";

        write_file("out", outputs[i]);
        ck_assert_int_eq(get_chain(NULL, &found, why), -EBADMSG);
        ck_assert_ptr_null(strstr(why, "SECRET"));
    }
    ck_assert_int_eq(chdir("/"), 0);
    end();
}
END_TEST

static int run(const char *command, unsigned seconds)
{
    struct secret out;
    const char *why = NULL;
    int r = credential_process_run(command, seconds, NULL, &out, &why);

    ck_assert(r == 0 || why);
    secret_fini(&out);
    return r;
}

START_TEST(process_that_misbehaves_is_stopped)
{
    int64_t start = clock_monotonic_ns();

    ck_assert_int_eq(run("sleep 100", 1), -ETIMEDOUT);
    ck_assert_int_eq(run("sh -c 'exec >&-; exec sleep 100'", 1), -ETIMEDOUT);
    ck_assert_int_lt(clock_monotonic_ns() - start, 20 * 1000000000LL);
    ck_assert_int_eq(run("yes", 60), -EFBIG);
    ck_assert_int_eq(run("false", 60), -EACCES);
    ck_assert_int_eq(run("sh -c 'kill -9 $$'", 60), -EACCES);
    ck_assert_int_eq(run("/no/such/program", 60), -ENOENT);
    ck_assert_int_eq(run("", 60), -EINVAL);
    ck_assert_int_eq(run("a 'b", 60), -EINVAL);
    ck_assert_int_eq(run("true", 60), 0);
}
END_TEST

START_TEST(process_is_killed_when_it_is_cancelled)
{
    const atomic_bool cancel = true;
    int64_t start = clock_monotonic_ns();
    struct secret out;
    const char *why;

    ck_assert_int_eq(
        credential_process_run("sleep 100", 60, &cancel, &out, &why),
        -ECANCELED);
    ck_assert_int_lt(clock_monotonic_ns() - start, 20 * 1000000000LL);
}
END_TEST

START_TEST(process_inherits_no_files_and_signals)
{
    int fd = open("/dev/null", O_RDONLY);
    char command[128];
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &all, NULL), 0);
    ck_assert_int_eq(run("grep -q '^SigBlk:.0000000000000000' "
                         "/proc/self/status",
                         60),
                     0);
    /* SIGPIPE is the lowest bit of the fourth digit from the right. */
    ck_assert_int_eq(run("grep -q '^SigIgn:.*[13579bdf]...$' "
                         "/proc/self/status",
                         60),
                     -EACCES);
#ifdef HAVE_SPAWN_CLOSEFROM
    snprintf(command, sizeof(command), "test -e /proc/self/fd/%d", fd);
    ck_assert_int_eq(run(command, 60), -EACCES);
#endif
    snprintf(command, sizeof(command), "test -t 0 -o -p /proc/self/fd/0");
    ck_assert_int_eq(run(command, 60), -EACCES);
    close(fd);
}
END_TEST

START_TEST(commands_are_split_into_words)
{
    static const char *const words[] = {
        "a", "b c", "d\"e", "f\\g", "", "$h", "i'j k", "l\\m", "n o",
    };
    char **split;

    ck_assert_int_eq(
        credential_process_split(" a 'b c'\td\\\"e 'f\\g' \"\" $h \"i'j k\" "
                                 "\"l\\m\" n\\ o ",
                                 &split),
        9);
    for (int i = 0; i < 9; i++)
        ck_assert_str_eq(split[i], words[i]);
    ck_assert_ptr_null(split[9]);
    free(split);
    ck_assert_int_eq(credential_process_split("\"a", &split), -EINVAL);
    ck_assert_int_eq(credential_process_split("a\\", &split), -EINVAL);
    ck_assert_int_eq(credential_process_split("  ", &split), 0);
    ck_assert_ptr_null(split[0]);
    free(split);
}
END_TEST

START_TEST(answers_of_sts_are_parsed)
{
    static const char text[] =
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/\">"
        "<AssumeRoleResult><AssumedRoleUser><Arn>x</Arn></AssumedRoleUser>"
        "<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s"
        "</SecretAccessKey><SessionToken>t</SessionToken>"
        "<Expiration>2009-10-12T17:50:30Z</Expiration></Credentials>"
        "</AssumeRoleResult></AssumeRoleResponse>";
    static const char none[] = "<AssumeRoleResponse/>";
    struct fault fault = FAULT_NONE;
    struct credentials found;

    ck_assert_int_eq(credentials_parse_sts(text, strlen(text), &found, &fault),
                     0);
    ck_assert_str_eq(found.id, "A");
    ck_assert_str_eq(found.secret, "s");
    ck_assert_str_eq(found.token, "t");
    ck_assert_int_eq(found.expires, 1255369830);
    credentials_fini(&found);
    ck_assert_int_eq(credentials_parse_sts(none, strlen(none), &found, &fault),
                     -EBADMSG);
    ck_assert_int_eq(credentials_parse_sts("<Error/>", 8, &found, &fault),
                     -EBADMSG);
}
END_TEST

START_TEST(region_and_endpoint_are_found)
{
    struct aws_options options = { 0 };
    struct aws_settings settings;
    char why[AWS_WHY_MAX];

    begin();
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), 0);
    ck_assert_str_eq(settings.region, "us-east-1");
    ck_assert_ptr_null(settings.endpoint);
    aws_settings_fini(&settings);

    write_file(".aws/config", "[default]\nregion=r1\nendpoint_url=http://e1\n");
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), 0);
    ck_assert_str_eq(settings.region, "r1");
    ck_assert_str_eq(settings.endpoint, "http://e1");
    aws_settings_fini(&settings);

    setenv("AWS_DEFAULT_REGION", "r2", 1);
    setenv("AWS_ENDPOINT_URL", "http://e2", 1);
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), 0);
    ck_assert_str_eq(settings.region, "r2");
    ck_assert_str_eq(settings.endpoint, "http://e2");
    aws_settings_fini(&settings);

    setenv("AWS_REGION", "r3", 1);
    setenv("AWS_ENDPOINT_URL_S3", "http://e3", 1);
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), 0);
    ck_assert_str_eq(settings.region, "r3");
    ck_assert_str_eq(settings.endpoint, "http://e3");
    aws_settings_fini(&settings);

    options = (struct aws_options){ .region = "r4", .endpoint = "http://e4" };
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), 0);
    ck_assert_str_eq(settings.region, "r4");
    ck_assert_str_eq(settings.endpoint, "http://e4");
    aws_settings_fini(&settings);

    options.region = "evil.example.org/";
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), -EINVAL);
    options.profile = "none";
    ck_assert_int_eq(aws_settings_load(&options, &settings, why), -ENOENT);
    end();
}
END_TEST

/* Let a process give credentials that expire after some seconds, and count how
   often it runs. */
static void write_process(int seconds)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "#!/bin/sh\n"
             "cd \"$HOME\" && echo >>runs\n"
             "[ ! -e broken ] || exit 1\n"
             "when=$(date -u -d '+%d seconds' +%%Y-%%m-%%dT%%H:%%M:%%SZ)\n"
             "echo '{\"Version\":1,\"AccessKeyId\":\"A'$(wc -l <runs)'\",'\n"
             "echo '\"SecretAccessKey\":\"s\",\"Expiration\":\"'$when'\"}'\n",
             seconds);
    write_file("say", text);
    write_file(".aws/config",
               "[default]\ncredential_process = sh -c 'exec sh ~/say'\n");
}

static void check_cache(struct credential_cache *cache, const char *id)
{
    struct credentials found;
    char why[AWS_WHY_MAX];

    ck_assert_msg(credential_cache_get(cache, &found, why) == 0, "%s", why);
    ck_assert_str_eq(found.id, id);
    credentials_fini(&found);
}

START_TEST(credentials_are_kept_until_they_are_old)
{
    struct credential_cache *cache;

    begin();
    write_process(1000);
    ck_assert_int_eq(new_cache(NULL, 0, &cache), 0);
    check_cache(cache, "A1");
    check_cache(cache, "A1");
    credential_cache_free(cache);

    write_process(5);
    ck_assert_int_eq(new_cache("default", 0, &cache), 0);
    check_cache(cache, "A2");
    check_cache(cache, "A3");
    credential_cache_free(cache);
    ck_assert_int_eq(new_cache(NULL, CREDENTIAL_CACHE_PAUSE, &cache), 0);
    check_cache(cache, "A4");
    check_cache(cache, "A4");
    credential_cache_free(cache);
    credential_cache_free(NULL);
    end();
}
END_TEST

START_TEST(old_credentials_are_replaced_while_they_are_used)
{
    struct credential_cache *cache;
    struct credentials found;
    char why[AWS_WHY_MAX];
    int r;

    begin();
    write_process(100);
    ck_assert_int_eq(new_cache(NULL, 0, &cache), 0);
    while ((r = credential_cache_poll(cache, &found, why)) == -EAGAIN)
        usleep(1000);
    ck_assert_int_eq(r, 0);
    ck_assert_str_eq(found.id, "A1");
    while (strcmp(found.id, "A1") == 0) {
        credentials_fini(&found);
        ck_assert_int_eq(credential_cache_poll(cache, &found, why), 0);
    }
    credentials_fini(&found);
    credential_cache_free(cache);
    end();
}
END_TEST

START_TEST(refused_credentials_are_replaced)
{
    struct credential_cache *cache;
    struct credentials old;
    char why[AWS_WHY_MAX];

    begin();
    write_process(1000);
    ck_assert_int_eq(new_cache(NULL, 0, &cache), 0);
    ck_assert_int_eq(credential_cache_get(cache, &old, why), 0);
    ck_assert(credential_cache_refuse(cache, &old));
    ck_assert(credential_cache_refuse(cache, &old));
    check_cache(cache, "A2");
    ck_assert(credential_cache_refuse(cache, &old));
    check_cache(cache, "A2");
    credentials_fini(&old);
    credential_cache_free(cache);

    ck_assert_int_eq(new_cache(NULL, CREDENTIAL_CACHE_PAUSE, &cache), 0);
    ck_assert_int_eq(credential_cache_get(cache, &old, why), 0);
    ck_assert(credential_cache_refuse(cache, &old));
    credentials_fini(&old);
    ck_assert_int_eq(credential_cache_get(cache, &old, why), 0);
    ck_assert_str_eq(old.id, "A4");
    ck_assert(!credential_cache_refuse(cache, &old));
    check_cache(cache, "A4");
    credentials_fini(&old);
    credential_cache_free(cache);
    end();
}
END_TEST

START_TEST(failing_search_does_no_harm_while_they_are_good)
{
    struct credential_cache *cache;
    struct credentials found;
    char why[AWS_WHY_MAX];

    begin();
    write_process(100);
    ck_assert_int_eq(new_cache(NULL, 0, &cache), 0);
    check_cache(cache, "A1");
    write_file("broken", "");
    check_cache(cache, "A1");
    ck_assert_int_eq(credential_cache_get(cache, &found, why), 0);
    ck_assert(credential_cache_refuse(cache, &found));
    credentials_fini(&found);
    ck_assert_int_eq(credential_cache_get(cache, &found, why), -EACCES);
    ck_assert_ptr_nonnull(strstr(why, "failed"));
    credential_cache_free(cache);
    end();
}
END_TEST

static void *get_from_cache(void *cache)
{
    check_cache(cache, "A1");
    return NULL;
}

START_TEST(threads_wait_for_one_search)
{
    struct credential_cache *cache;
    pthread_t threads[8];

    begin();
    write_process(1000);
    ck_assert_int_eq(new_cache(NULL, 0, &cache), 0);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, get_from_cache, cache);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    credential_cache_free(cache);
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        environment_comes_first,
        profile_is_chosen,
        files_are_where_the_environment_says,
        file_that_is_not_valid_is_named,
        pipe_is_no_file,
        process_gives_credentials,
        bad_output_of_a_process_is_refused,
        process_that_misbehaves_is_stopped,
        process_is_killed_when_it_is_cancelled,
        process_inherits_no_files_and_signals,
        commands_are_split_into_words,
        answers_of_sts_are_parsed,
        region_and_endpoint_are_found,
        credentials_are_kept_until_they_are_old,
        old_credentials_are_replaced_while_they_are_used,
        refused_credentials_are_replaced,
        failing_search_does_no_harm_while_they_are_good,
        threads_wait_for_one_search,
        NULL,
    };

    return suite_run("credentials", tests);
}
