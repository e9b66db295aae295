/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/aws_profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/secret.h"

/* By enum aws_property. */
static const char *const names[] = {
    [AWS_ACCESS_KEY_ID] = "aws_access_key_id",
    [AWS_SECRET_ACCESS_KEY] = "aws_secret_access_key",
    [AWS_SESSION_TOKEN] = "aws_session_token",
    [AWS_CREDENTIAL_PROCESS] = "credential_process",
    [AWS_CREDENTIAL_SOURCE] = "credential_source",
    [AWS_SOURCE_PROFILE] = "source_profile",
    [AWS_ROLE_ARN] = "role_arn",
    [AWS_ROLE_SESSION_NAME] = "role_session_name",
    [AWS_EXTERNAL_ID] = "external_id",
    [AWS_DURATION_SECONDS] = "duration_seconds",
    [AWS_MFA_SERIAL] = "mfa_serial",
    [AWS_WEB_IDENTITY_TOKEN_FILE] = "web_identity_token_file",
    [AWS_SSO_SESSION] = "sso_session",
    [AWS_SSO_START_URL] = "sso_start_url",
    [AWS_REGION] = "region",
    [AWS_ENDPOINT_URL] = "endpoint_url",
};

/* A part of the file. */
struct span {
    const char *at;
    size_t len;
};

/* A file that is being parsed. */
struct reader {
    const struct aws_file *file;
    const char *name;
    bool in_section; /* there has been one */
    bool in_profile; /* it is one of the profile */
    struct fault *fault;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span span)
{
    while (span.len > 0 && is_blank(span.at[0])) {
        span.at++;
        span.len--;
    }
    while (span.len > 0 && is_blank(span.at[span.len - 1]))
        span.len--;
    return span;
}

static bool equals(struct span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

static int reject(const struct reader *reader, const char *at, const char *what)
{
    return fault_set(reader->fault, -EBADMSG,
                     (uint64_t)(at - reader->file->text), what);
}

static struct span unquote(struct span span)
{
    if (span.len >= 2 && (span.at[0] == '"' || span.at[0] == '\'') &&
        span.at[span.len - 1] == span.at[0]) {
        span.at++;
        span.len -= 2;
    }
    return span;
}

/* Is this the section of the profile? */
static bool is_profile(const struct reader *reader, struct span section)
{
    static const char word[] = "profile";
    size_t len = sizeof(word) - 1;

    if (reader->file->kind == AWS_FILE_CREDENTIALS)
        return equals(section, reader->name);
    if (section.len > len && memcmp(section.at, word, len) == 0 &&
        is_blank(section.at[len])) {
        section.at += len;
        section.len -= len;
        return equals(unquote(trim(section)), reader->name);
    }
    return equals(section, "default") && strcmp(reader->name, "default") == 0;
}

/* Read [NAME].  The rest of the line is a comment. */
static int read_section(struct reader *reader, struct span line,
                        struct aws_profile *profile)
{
    const char *end = memchr(line.at, ']', line.len);
    struct span section = { line.at + 1, 0 };

    if (!end)
        return reject(reader, line.at, "section has no ']'");
    section.len = (size_t)(end - section.at);
    reader->in_section = true;
    reader->in_profile = is_profile(reader, trim(section));
    profile->found |= reader->in_profile;
    return 0;
}

static enum aws_property find_property(struct span name)
{
    unsigned i = 0;

    while (i < AWS_NPROPERTIES &&
           (strlen(names[i]) != name.len ||
            strncasecmp(names[i], name.at, name.len) != 0))
        i++;
    return (enum aws_property)i;
}

static int check_value(const struct reader *reader, struct span value)
{
    for (size_t i = 0; i < value.len; i++)
        if (iscntrl((unsigned char)value.at[i]) && value.at[i] != '\t')
            return reject(reader, value.at + i,
                          "value has a control character");
    return 0;
}

static int set_value(struct aws_profile *profile, enum aws_property property,
                     struct span value)
{
    struct secret text = { 0 };
    char *taken = NULL;

    if (value.len > 0) {
        secret_add_bytes(&text, value.at, value.len);
        taken = secret_take(&text);
        if (!taken)
            return -ENOMEM;
    }
    secret_free(profile->values[property]);
    profile->values[property] = taken;
    return 0;
}

/* Read NAME = VALUE.  Values that do not matter are not checked. */
static int read_property(const struct reader *reader, struct span line,
                         struct aws_profile *profile)
{
    struct span name = line;
    struct span value;
    enum aws_property property;
    int r;

    name.len = 0;
    while (name.len < line.len && !strchr("=:", line.at[name.len]))
        name.len++;
    if (name.len == line.len)
        return reject(reader, line.at, "line has no '='");
    if (!reader->in_section)
        return reject(reader, line.at, "value is in no section");
    value.at = name.at + name.len + 1;
    value.len = line.len - name.len - 1;
    value = trim(value);
    property = find_property(trim(name));
    if (!reader->in_profile || property == AWS_NPROPERTIES)
        return 0;
    r = check_value(reader, value);
    return r < 0 ? r : set_value(profile, property, value);
}

static int read_line(struct reader *reader, struct span line,
                     struct aws_profile *profile)
{
    struct span content = trim(line);

    if (content.len == 0 || content.at[0] == '#' || content.at[0] == ';')
        return 0;
    if (content.at[0] == '[' && content.at == line.at)
        return read_section(reader, content, profile);
    /* A line that is indented has settings of the property before it. */
    if (content.at != line.at)
        return 0;
    return read_property(reader, content, profile);
}

int aws_profile_parse(const struct aws_file *file, const char *name,
                      struct aws_profile *profile, struct fault *fault)
{
    struct reader reader = { .file = file, .name = name, .fault = fault };
    const char *text = file->text;
    const char *end = text + file->len;
    const char *nul = memchr(text, '\0', file->len);
    int r = 0;

    if (nul)
        return reject(&reader, nul, "file has a NUL");
    if (file->len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (r == 0 && text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        struct span line = { text, 0 };

        if (!line_end)
            line_end = end;
        line.len = (size_t)(line_end - text);
        r = read_line(&reader, line, profile);
        text = line_end < end ? line_end + 1 : end;
    }
    return r;
}

void aws_profile_fini(struct aws_profile *profile)
{
    for (unsigned i = 0; i < AWS_NPROPERTIES; i++)
        secret_free(profile->values[i]);
    *profile = (struct aws_profile){ 0 };
}
