/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credential_chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/credential_http.h"
#include "net/credential_process.h"
#include "net/iso_time.h"

enum {
    DEPTH_MAX = 8 /* profiles that name each other */
};

/* One search for credentials. */
struct chain {
    const struct credential_options *options;
    const char *name; /* of the profile */
    bool named;       /* the user has named it, so it must exist */
    unsigned depth;   /* profiles that have led here */
    struct aws_profile profile;
    struct credentials *out;
    char *why; /* of AWS_WHY_MAX bytes */
};

static int fail(struct chain *chain, int error, const char *why)
{
    snprintf(chain->why, AWS_WHY_MAX, "%s", why);
    return error;
}

/* The places to look.  Each returns -ENODATA if there is nothing. */

/* Use a key that stands somewhere; one half of it is a mistake. */
static int use_key(struct chain *chain, const char *id, const char *secret,
                   const char *token)
{
    int r;

    if (!id && !secret)
        return -ENODATA;
    if (!id || !secret)
        return fail(chain, -EBADMSG,
                    "access key id or secret access key is missing");
    r = credentials_set(id, secret, token, chain->out);
    if (r == -EINVAL)
        return fail(chain, -EBADMSG,
                    "access key has characters that cannot be sent");
    return r;
}

static int from_environment(struct chain *chain)
{
    const char *expires = aws_getenv("AWS_CREDENTIAL_EXPIRATION");
    int r = use_key(chain, aws_getenv("AWS_ACCESS_KEY_ID"),
                    aws_getenv("AWS_SECRET_ACCESS_KEY"),
                    aws_getenv("AWS_SESSION_TOKEN"));

    if (r == 0 && expires)
        iso_time_parse(expires, &chain->out->expires);
    return r;
}

static int from_container(struct chain *chain)
{
    return credential_http_container(chain->options->fetcher, chain->out,
                                     chain->why);
}

static int from_instance(struct chain *chain)
{
    return credential_http_instance(chain->options->fetcher, chain->out,
                                    chain->why);
}

static int from_identity(struct chain *chain, const char *arn, const char *name,
                         const char *token_file)
{
    const struct credential_identity identity = {
        .fetcher = chain->options->fetcher,
        .region = chain->options->region,
        .arn = arn,
        .name = name,
        .token_file = token_file,
    };

    return credential_http_identity(&identity, chain->out, chain->why);
}

static int from_environment_identity(struct chain *chain)
{
    const char *file = aws_getenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    const char *arn = aws_getenv("AWS_ROLE_ARN");

    if (!file || !arn)
        return -ENODATA;
    return from_identity(chain, arn, aws_getenv("AWS_ROLE_SESSION_NAME"), file);
}

static int from_key(struct chain *chain)
{
    char **values = chain->profile.values;

    return use_key(chain, values[AWS_ACCESS_KEY_ID],
                   values[AWS_SECRET_ACCESS_KEY], values[AWS_SESSION_TOKEN]);
}

static int from_process(struct chain *chain)
{
    const char *command = chain->profile.values[AWS_CREDENTIAL_PROCESS];
    struct fault fault = FAULT_NONE;
    struct secret text;
    const char *why;
    int r;

    if (!command)
        return -ENODATA;
    r = credential_process_run(command, CREDENTIAL_PROCESS_SECONDS,
                               chain->options->cancel, &text, &why);
    if (r < 0)
        return fail(chain, r, why);
    r = credentials_parse(text.text ? text.text : "", text.len, chain->out,
                          &fault);
    secret_fini(&text);
    if (r == -EBADMSG)
        snprintf(chain->why, AWS_WHY_MAX,
                 "credential_process prints no valid "
                 "credentials: %s",
                 fault.what);
    return r;
}

static int from_sso(struct chain *chain)
{
    char **values = chain->profile.values;

    if (!values[AWS_SSO_SESSION] && !values[AWS_SSO_START_URL])
        return -ENODATA;
    return fail(chain, -ENOTSUP,
                "profile wants single sign-on, which is not supported; set "
                "credential_process = aws configure export-credentials");
}

static int from_profile(struct chain *chain);

/* Get the credentials of the profile with which a role is assumed.  One that
   names itself means its own key. */
static int from_source_profile(struct chain *chain, const char *name,
                               struct credentials *out)
{
    struct chain source = *chain;
    int r;

    source.out = out;
    if (strcmp(name, chain->name) == 0)
        return from_key(&source);
    if (chain->depth == DEPTH_MAX)
        return fail(chain, -ELOOP,
                    "profiles name each other as source_profile");
    source.name = name;
    source.named = true;
    source.depth++;
    source.profile = (struct aws_profile){ 0 };
    r = from_profile(&source);
    aws_profile_fini(&source.profile);
    return r;
}

static int from_source(struct chain *chain, const char *name,
                       struct credentials *out)
{
    static const struct {
        const char *name;
        int (*get)(struct chain *chain);
    } sources[] = {
        { "Environment", from_environment },
        { "EcsContainer", from_container },
        { "Ec2InstanceMetadata", from_instance },
    };
    struct chain source = *chain;

    source.out = out;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (strcmp(name, sources[i].name) == 0)
            return sources[i].get(&source);
    return fail(chain, -ENOTSUP, "credential_source is unknown");
}

/* Get the credentials with which the role of the profile is assumed. */
static int get_source(struct chain *chain, struct credentials *out)
{
    char *const *values = chain->profile.values;
    int r = -ENODATA;

    if (values[AWS_SOURCE_PROFILE])
        r = from_source_profile(chain, values[AWS_SOURCE_PROFILE], out);
    else if (values[AWS_CREDENTIAL_SOURCE])
        r = from_source(chain, values[AWS_CREDENTIAL_SOURCE], out);
    if (r == -ENODATA)
        return fail(chain, -EACCES, "there are no credentials for the role");
    return r;
}

static int from_role(struct chain *chain)
{
    const struct credential_role role = { .fetcher = chain->options->fetcher,
                                          .region = chain->options->region,
                                          .profile = &chain->profile };
    char *const *values = chain->profile.values;
    struct credentials with;
    int r;

    if (!values[AWS_ROLE_ARN])
        return -ENODATA;
    if (values[AWS_WEB_IDENTITY_TOKEN_FILE])
        return from_identity(chain, values[AWS_ROLE_ARN],
                             values[AWS_ROLE_SESSION_NAME],
                             values[AWS_WEB_IDENTITY_TOKEN_FILE]);
    if (values[AWS_MFA_SERIAL])
        return fail(chain, -ENOTSUP,
                    "role needs a code of a device, which is not supported");
    r = get_source(chain, &with);
    if (r < 0)
        return r;
    r = credential_http_role(&role, &with, chain->out, chain->why);
    credentials_fini(&with);
    return r;
}

static int load_profile(struct chain *chain)
{
    int r = aws_settings_profile(chain->name, &chain->profile, chain->why);

    if (r < 0 || chain->profile.found || !chain->named)
        return r;
    snprintf(chain->why, AWS_WHY_MAX, "there is no profile %s", chain->name);
    return -ENOENT;
}

/* Ask places, until one has credentials. */
static int ask(struct chain *chain, int (*const places[])(struct chain *chain))
{
    int r = -ENODATA;

    for (size_t i = 0; r == -ENODATA && places[i]; i++)
        r = places[i](chain);
    return r;
}

static int from_profile(struct chain *chain)
{
    static int (*const own[])(struct chain * chain) = {
        from_role, from_key, from_process, from_sso, NULL,
    };
    int r = load_profile(chain);

    return r < 0 ? r : ask(chain, own);
}

/* Load the first profile, so that the places that follow can look at it. */
static int load_first(struct chain *chain)
{
    int r = load_profile(chain);

    return r < 0 ? r : -ENODATA;
}

int credential_chain_get(const struct credential_options *options,
                         struct credentials *out, char why[AWS_WHY_MAX])
{
    static int (*const unnamed[])(struct chain * chain) = {
        from_environment, load_first,   from_role, from_environment_identity,
        from_key,         from_process, from_sso,  from_container,
        from_instance,    NULL,
    };
    static int (*const named[])(struct chain * chain) = {
        load_first, from_role, from_key, from_process, from_sso, NULL,
    };
    struct chain chain = {
        .options = options,
        .name = aws_profile_name(options->profile),
        .named = options->profile || aws_getenv("AWS_PROFILE"),
        .out = out,
        .why = why,
    };
    int r;

    why[0] = '\0';
    r = ask(&chain, options->profile ? named : unnamed);
    aws_profile_fini(&chain.profile);
    if (r == -ENODATA)
        return fail(&chain, -EACCES,
                    "there are no credentials; the option anonymous does "
                    "without");
    if (r < 0 && why[0] == '\0')
        fail(&chain, r, strerror(-r));
    return r;
}
