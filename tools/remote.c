/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "frame/frame_remote.h"

static const char variable[] = "FRAMEFS_REMOTE";

/* An argument whose query was cut off, and its whole text. */
struct secret {
    const char *arg;
    char *text;
    struct secret *next;
};

static struct secret *secrets;

bool remote_is(const char *arg)
{
    return url_is(arg);
}

static const char *full_text(const char *arg)
{
    for (const struct secret *secret = secrets; secret; secret = secret->next)
        if (secret->arg == arg)
            return secret->text;
    return arg;
}

static int hide_query(char *arg)
{
    size_t len = url_public_len(arg);
    struct secret *secret;

    if (arg[len] == '\0')
        return 0;
    secret = malloc(sizeof(*secret));
    if (!secret)
        return -ENOMEM;
    *secret = (struct secret){
        .arg = arg,
        .text = strdup(arg),
        .next = secrets,
    };
    if (!secret->text) {
        free(secret);
        return -ENOMEM;
    }
    secrets = secret;
    memset(arg + len, '\0', strlen(arg + len));
    return 0;
}

static int take_arg(const struct verb *verb, char *arg)
{
    const char *why = NULL;
    int r = hide_query(arg);

    if (r == 0)
        r = frame_remote_check(full_text(arg), &why);
    if (r < 0) {
        log_error("%s: %s", arg, why ? why : strerror(-r));
        return r;
    }
    if (verb->urls)
        return 0;
    log_error("%s: %s takes no URL", arg, verb->name);
    return -EROFS;
}

int remote_take_args(const struct verb *verb, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int r = remote_is(argv[i]) ? take_arg(verb, argv[i]) : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

bool remote_refuse_change(const char *arg)
{
    if (!remote_is(arg))
        return false;
    log_error("%s: frames behind URLs can only be read", arg);
    return true;
}

static void report(const char *line)
{
    log_error("%s", line);
}

static int set_option(struct net_options *options, char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return net_options_set(options, word, "");
    *value = '\0';
    return net_options_set(options, word, value + 1);
}

/* Get the options for requests from the environment. */
static int get_options(struct net_options *out)
{
    const char *value = getenv(variable);
    char *text = strdup(value ? value : "");
    char *rest = text;
    char *word;
    int r = text ? 0 : -ENOMEM;

    *out = net_default_options;
    out->report = report;
    while (r == 0 && (word = strsep(&rest, ",")))
        if (word[0] != '\0')
            r = set_option(out, word);
    free(text);
    if (r == 0 || r == -ENOMEM)
        return r;
    log_error("%s: not a list of options that make sense", variable);
    return -EINVAL;
}

int remote_open(const char *arg, struct store **out)
{
    struct net_options options;
    const char *why;
    struct net *net;
    int r = get_options(&options);

    if (r == 0)
        r = net_new(&options, &net);
    if (r < 0)
        return r;
    r = frame_remote_open(net, full_text(arg), out, &why);
    net_put(net);
    return r;
}
