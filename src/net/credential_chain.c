/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credential_chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/credential_process.h"
#include "net/iso_time.h"

/* One search for credentials. */
struct chain {
    const char *option; /* profile that the caller names; NULL: none */
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
    int r;

    if (chain->option)
        return -ENODATA;
    r = use_key(chain, aws_getenv("AWS_ACCESS_KEY_ID"),
                aws_getenv("AWS_SECRET_ACCESS_KEY"),
                aws_getenv("AWS_SESSION_TOKEN"));
    if (r == 0 && expires)
        iso_time_parse(expires, &chain->out->expires);
    return r;
}

static int load_profile(struct chain *chain)
{
    const char *name = aws_profile_name(chain->option);
    int r = aws_settings_profile(name, &chain->profile, chain->why);

    if (r < 0)
        return r;
    if (!chain->profile.found && (chain->option || aws_getenv("AWS_PROFILE"))) {
        snprintf(chain->why, AWS_WHY_MAX, "there is no profile %s", name);
        return -ENOENT;
    }
    return -ENODATA;
}

static int from_role(struct chain *chain)
{
    if (!chain->profile.values[AWS_ROLE_ARN])
        return -ENODATA;
    return fail(chain, -ENOTSUP,
                "profile wants a role, which is not supported; its "
                "credential_process can assume it");
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
    r = credential_process_run(command, CREDENTIAL_PROCESS_SECONDS, &text,
                               &why);
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

int credential_chain_get(const char *profile, struct credentials *out,
                         char why[AWS_WHY_MAX])
{
    static int (*const places[])(struct chain * chain) = {
        from_environment, load_profile, from_role,
        from_key,         from_process, from_sso,
    };
    struct chain chain = { .option = profile, .out = out, .why = why };
    int r = -ENODATA;

    why[0] = '\0';
    for (size_t i = 0; r == -ENODATA && i < sizeof(places) / sizeof(places[0]);
         i++)
        r = places[i](&chain);
    aws_profile_fini(&chain.profile);
    if (r == -ENODATA)
        return fail(&chain, -EACCES,
                    "there are no credentials; the option anonymous does "
                    "without");
    if (r < 0 && why[0] == '\0')
        fail(&chain, r, strerror(-r));
    return r;
}
