/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/aws_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/small_file.h"

const char *aws_getenv(const char *name)
{
    const char *value = secure_getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

/* The profile that the user has named; NULL: none. */
static const char *named_profile(const char *option)
{
    return option ? option : aws_getenv("AWS_PROFILE");
}

const char *aws_profile_name(const char *option)
{
    const char *name = named_profile(option);

    return name ? name : "default";
}

/* Find the path of a file.  Returns -ENOENT if there is no home directory. */
static int find_file(const char *variable, const char *standard,
                     char path[PATH_MAX])
{
    const char *value = aws_getenv(variable);
    const char *home = aws_getenv("HOME");
    int len;

    if (!value)
        value = standard;
    if (strncmp(value, "~/", 2) != 0)
        len = snprintf(path, PATH_MAX, "%s", value);
    else if (home)
        len = snprintf(path, PATH_MAX, "%s%s", home, value + 1);
    else
        return -ENOENT;
    return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int fail(int error, const char *path, const struct fault *fault,
                char why[AWS_WHY_MAX])
{
    int len = snprintf(why, AWS_WHY_MAX, "%s: ", path);

    if (len < AWS_WHY_MAX)
        fault_format(fault, error, why + len, (size_t)(AWS_WHY_MAX - len));
    return error;
}

/* Add the settings of one file. */
static int add_file(const char *path, enum aws_file_kind kind, const char *name,
                    struct aws_profile *profile, char why[AWS_WHY_MAX])
{
    struct fault fault = FAULT_NONE;
    struct secret text;
    struct aws_file file = { .kind = kind };
    int r = small_file_read(path, &text);

    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r == 0) {
        file.text = text.text;
        file.len = text.len;
        r = aws_profile_parse(&file, name, profile, &fault);
        secret_fini(&text);
    }
    return r < 0 ? fail(r, path, &fault, why) : 0;
}

int aws_settings_profile(const char *name, struct aws_profile *out,
                         char why[AWS_WHY_MAX])
{
    static const struct {
        const char *variable;
        const char *standard;
        enum aws_file_kind kind;
    } files[] = {
        { "AWS_CONFIG_FILE", "~/.aws/config", AWS_FILE_CONFIG },
        { "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials",
          AWS_FILE_CREDENTIALS },
    };
    struct aws_profile profile = { 0 };
    char path[PATH_MAX];
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
        r = find_file(files[i].variable, files[i].standard, path);
        if (r == 0)
            r = add_file(path, files[i].kind, name, &profile, why);
        else if (r == -ENOENT)
            r = 0;
        else
            snprintf(why, AWS_WHY_MAX, "%s: path is too long",
                     files[i].variable);
    }
    if (r < 0)
        aws_profile_fini(&profile);
    else
        *out = profile;
    return r;
}

static const char *first(const char *a, const char *b)
{
    return a ? a : b;
}

static const char *find_endpoint(const struct aws_options *options,
                                 const struct aws_profile *profile)
{
    const char *ignore = aws_getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");

    if (options->endpoint || (ignore && strcmp(ignore, "true") == 0))
        return options->endpoint;
    return first(first(aws_getenv("AWS_ENDPOINT_URL_S3"),
                       aws_getenv("AWS_ENDPOINT_URL")),
                 profile->values[AWS_ENDPOINT_URL]);
}

static const char *find_region(const struct aws_options *options,
                               const struct aws_profile *profile)
{
    const char *set = first(
        first(options->region, aws_getenv("AWS_REGION")),
        first(aws_getenv("AWS_DEFAULT_REGION"), profile->values[AWS_REGION]));

    return first(set, "us-east-1");
}

/* The region is a part of host names. */
static bool is_region(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < 64 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_") == len;
}

static int copy(const struct aws_options *options,
                const struct aws_profile *profile, struct aws_settings *out,
                char why[AWS_WHY_MAX])
{
    const char *endpoint = find_endpoint(options, profile);
    const char *region = find_region(options, profile);

    if (!is_region(region)) {
        snprintf(why, AWS_WHY_MAX, "region is not valid");
        return -EINVAL;
    }
    out->region = strdup(region);
    out->endpoint = endpoint ? strdup(endpoint) : NULL;
    if (out->region && (out->endpoint || !endpoint))
        return 0;
    aws_settings_fini(out);
    snprintf(why, AWS_WHY_MAX, "out of memory");
    return -ENOMEM;
}

int aws_settings_load(const struct aws_options *options,
                      struct aws_settings *out, char why[AWS_WHY_MAX])
{
    const char *named = named_profile(options->profile);
    struct aws_profile profile;
    int r = aws_settings_profile(named ? named : "default", &profile, why);

    if (r < 0)
        return r;
    if (named && !profile.found) {
        snprintf(why, AWS_WHY_MAX, "there is no profile %s", named);
        r = -ENOENT;
    } else {
        r = copy(options, &profile, out, why);
    }
    aws_profile_fini(&profile);
    return r;
}

void aws_settings_fini(struct aws_settings *settings)
{
    free(settings->region);
    free(settings->endpoint);
    *settings = (struct aws_settings){ 0 };
}
