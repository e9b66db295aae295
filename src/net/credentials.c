/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credentials.h"

#include <errno.h>
#include <string.h>

#include "net/iso_time.h"
#include "net/json_object.h"
#include "net/secret.h"
#include "net/xml.h"

/* Returns NULL if there is no memory. */
static char *copy_text(const char *text)
{
    struct secret copy = { 0 };

    secret_add(&copy, text);
    return secret_take(&copy);
}

/* Is a text printable, without blanks, and not empty? */
static bool is_word(const char *text)
{
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

int credentials_set(const char *id, const char *secret, const char *token,
                    struct credentials *out)
{
    struct credentials credentials = { 0 };
    bool has_token = token && token[0] != '\0';

    if (!is_word(id) || secret[0] == '\0' || (has_token && !is_word(token)))
        return -EINVAL;
    credentials.id = copy_text(id);
    credentials.secret = copy_text(secret);
    credentials.token = has_token ? copy_text(token) : NULL;
    if (!credentials.id || !credentials.secret ||
        (has_token && !credentials.token)) {
        credentials_fini(&credentials);
        return -ENOMEM;
    }
    *out = credentials;
    return 0;
}

/* Parts of credentials, any of which may be NULL. */
struct parts {
    const char *id;
    const char *secret;
    const char *token;
    const char *expires;
};

/* Returns 0, -ENOMEM, or -EBADMSG with a fault. */
static int make(const struct parts *parts, struct credentials *out,
                struct fault *fault)
{
    time_t time = 0;
    int r;

    if (!parts->id || !parts->secret)
        return fault_set(fault, -EBADMSG, 0, "credentials have no key");
    if (parts->expires && parts->expires[0] != '\0' &&
        !iso_time_parse(parts->expires, &time))
        return fault_set(fault, -EBADMSG, 0,
                         "credentials have no valid time of expiration");
    r = credentials_set(parts->id, parts->secret, parts->token, out);
    if (r == -EINVAL)
        return fault_set(fault, -EBADMSG, 0,
                         "credentials have characters that cannot be sent");
    if (r == 0)
        out->expires = time;
    return r;
}

enum {
    VERSION,
    CODE,
    ID,
    SECRET,
    SESSION_TOKEN,
    TOKEN,
    EXPIRATION,
    NMEMBERS,
};

/* The members of the object beside the credentials. */
static const char *check_members(const struct json_member members[NMEMBERS])
{
    if (members[VERSION].text && strcmp(members[VERSION].text, "1") != 0)
        return "credentials have an unknown version";
    if (members[CODE].text && strcmp(members[CODE].text, "Success") != 0)
        return "the server has no credentials";
    return NULL;
}

int credentials_parse(const char *text, size_t len, struct credentials *out,
                      struct fault *fault)
{
    struct json_member members[NMEMBERS] = {
        [VERSION] = { .name = "Version" },
        [CODE] = { .name = "Code" },
        [ID] = { .name = "AccessKeyId" },
        [SECRET] = { .name = "SecretAccessKey" },
        [SESSION_TOKEN] = { .name = "SessionToken" },
        [TOKEN] = { .name = "Token" },
        [EXPIRATION] = { .name = "Expiration" },
    };
    struct parts parts;
    const char *why;
    int r = json_object_parse(text, len, members, NMEMBERS, fault);

    if (r < 0)
        return r;
    parts = (struct parts){ .id = members[ID].text,
                            .secret = members[SECRET].text,
                            .token = members[SESSION_TOKEN].text
                                         ? members[SESSION_TOKEN].text
                                         : members[TOKEN].text,
                            .expires = members[EXPIRATION].text };
    why = check_members(members);
    r = why ? fault_set(fault, -EBADMSG, 0, why) : make(&parts, out, fault);
    for (size_t i = 0; i < NMEMBERS; i++)
        secret_free(members[i].text);
    return r;
}

/* The texts in Credentials. */
struct sts {
    struct secret id;
    struct secret secret;
    struct secret token;
    struct secret expires;
};

/* Read a text in place of one that came before. */
static void read_text(struct xml *xml, struct secret *out)
{
    secret_fini(out);
    xml_read(xml, out);
}

static void read_credentials(struct xml *xml, struct sts *sts)
{
    while (xml_next(xml)) {
        if (xml_is(xml, "AccessKeyId"))
            read_text(xml, &sts->id);
        else if (xml_is(xml, "SecretAccessKey"))
            read_text(xml, &sts->secret);
        else if (xml_is(xml, "SessionToken"))
            read_text(xml, &sts->token);
        else if (xml_is(xml, "Expiration"))
            read_text(xml, &sts->expires);
        else
            xml_skip(xml);
    }
}

/* Read AssumeRoleResponse, AssumeRoleResult, Credentials, each of which is in
   the one before. */
static void read_answer(struct xml *xml, struct sts *sts)
{
    xml_next(xml);
    if (!xml_is(xml, "AssumeRoleResponse") &&
        !xml_is(xml, "AssumeRoleWithWebIdentityResponse"))
        xml_fail(xml, "XML is not the answer to this request");
    while (xml_next(xml)) {
        if (!xml_is(xml, "AssumeRoleResult") &&
            !xml_is(xml, "AssumeRoleWithWebIdentityResult")) {
            xml_skip(xml);
            continue;
        }
        while (xml_next(xml)) {
            if (xml_is(xml, "Credentials"))
                read_credentials(xml, sts);
            else
                xml_skip(xml);
        }
    }
}

int credentials_parse_sts(const char *text, size_t len, struct credentials *out,
                          struct fault *fault)
{
    struct sts sts = { 0 };
    struct parts parts;
    struct xml xml;
    int r;

    xml_begin(&xml, text, len);
    read_answer(&xml, &sts);
    r = xml_end(&xml, fault);
    if (sts.id.failed || sts.secret.failed || sts.token.failed ||
        sts.expires.failed)
        r = -ENOMEM;
    parts = (struct parts){ sts.id.text, sts.secret.text, sts.token.text,
                            sts.expires.text };
    if (r == 0)
        r = make(&parts, out, fault);
    secret_fini(&sts.id);
    secret_fini(&sts.secret);
    secret_fini(&sts.token);
    secret_fini(&sts.expires);
    return r;
}

int credentials_copy(const struct credentials *from, struct credentials *out)
{
    int r = credentials_set(from->id, from->secret, from->token, out);

    if (r == 0)
        out->expires = from->expires;
    return r;
}

void credentials_fini(struct credentials *credentials)
{
    secret_free(credentials->id);
    secret_free(credentials->secret);
    secret_free(credentials->token);
    *credentials = (struct credentials){ 0 };
}
