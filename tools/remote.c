/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "frame/frame_remote.h"
#include "source.h"

enum {
    GIVEN_MAX = 64
};

static const char variable[] = "FRAMEFS_REMOTE";

/* An argument whose query was cut off, and its whole text. */
struct secret {
    const char *arg;
    char *text;
    struct secret *next;
};

static struct secret *secrets;

/* The lists of options that were given. */
static const char *given[GIVEN_MAX];
static size_t ngiven;

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
    if (!remote_is(arg) || strncmp(arg, "s3:", 3) == 0)
        return false;
    log_error("%s: frames on web servers can only be read", arg);
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
    if (strcmp(word, "sums") == 0)
        return source_set_sums(value + 1);
    return net_options_set(options, word, value + 1);
}

/* Set options from a list.  A mistake in it is reported, with the place where
   the list stands. */
static int set_options(struct net_options *options, const char *list,
                       const char *place)
{
    char *text = strdup(list);
    char *rest = text;
    char *word;
    int r = text ? 0 : -ENOMEM;

    while (r == 0 && (word = strsep(&rest, ",")))
        if (word[0] != '\0')
            r = set_option(options, word);
    free(text);
    if (r == 0 || r == -ENOMEM)
        return r;
    log_error("%s: not a list of options that make sense", place);
    return -EINVAL;
}

/* Get the options for requests: from the environment, and then those that were
   given. */
static int get_options(struct net_options *out)
{
    const char *value = getenv(variable);
    int r;

    *out = net_default_options;
    out->report = report;
    out->no_core = true;
    r = set_options(out, value ? value : "", variable);
    for (size_t i = 0; i < ngiven && r == 0; i++)
        r = set_options(out, given[i], given[i]);
    return r;
}

/* Keep a list of options, unless there is a mistake in it. */
static int take_list(const char *list)
{
    struct net_options options = net_default_options;
    int r = set_options(&options, list, list);

    if (r < 0)
        return r;
    if (ngiven == GIVEN_MAX) {
        log_error("-o: is given too often");
        return -EINVAL;
    }
    given[ngiven++] = list;
    return 0;
}

int remote_take_options(int *argc, char **argv)
{
    int to = 1;
    int i = 1;
    int r = 0;

    for (; i < *argc && strcmp(argv[i], "--") != 0 && r == 0; i++) {
        if (strncmp(argv[i], "-o", 2) != 0) {
            argv[to++] = argv[i];
        } else if (argv[i][2] != '\0') {
            r = take_list(argv[i] + 2);
        } else if (i + 1 < *argc) {
            r = take_list(argv[++i]);
        } else {
            log_error("-o wants OPTION=VALUE");
            r = -EINVAL;
        }
    }
    while (i < *argc)
        argv[to++] = argv[i++];
    argv[to] = NULL;
    *argc = to;
    return r;
}

static bool ask_always;

void remote_ask_always(void)
{
    ask_always = true;
}

static int get_net(struct net **out)
{
    struct net_options options;
    int r = get_options(&options);

    if (ask_always) {
        options.netcache[0] = '\0';
        options.revalidate = 0;
    }
    return r < 0 ? r : net_new(&options, out);
}

bool remote_has_query(const char *arg)
{
    return full_text(arg) != arg;
}

int remote_open_ticket(struct frame_ticket *ticket, struct store **out)
{
    struct net *net;
    int r = get_net(&net);

    if (r == 0) {
        r = frame_ticket_open(net, ticket, out);
        net_put(net);
    }
    frame_ticket_fini(ticket);
    return r;
}

/* Why frames behind the URL that was opened last are not changed. */
static const char *refusal;

const char *remote_refusal(void)
{
    return refusal;
}

int remote_open(const char *arg, bool to_change, struct store **out)
{
    const char *why;
    struct net *net;
    int r = get_net(&net);

    if (r < 0)
        return r;
    r = to_change
            ? frame_remote_open_to_change(net, full_text(arg), out, &refusal)
            : frame_remote_open(net, full_text(arg), out, &why);
    net_put(net);
    return r;
}

int remote_abort_old(const char *arg, const struct s3_abort *how)
{
    const char *why;
    struct net *net;
    struct url url;
    int r = url_parse(full_text(arg), &url, &why);

    if (r < 0)
        return r;
    r = url.scheme == URL_S3 ? get_net(&net) : 1;
    if (r == 0) {
        r = s3_abort_old(net, &url, how);
        net_put(net);
    }
    url_fini(&url);
    return r < 0 ? r : 0;
}

int remote_open_lost(const char *arg, struct store **out)
{
    const char *why;
    struct net *net;
    int r = get_net(&net);

    if (r < 0)
        return r;
    r = frame_remote_open_lost(net, full_text(arg), out, &why);
    net_put(net);
    return r;
}

int remote_create(const char *arg, bool sparse, bool replace,
                  struct store **out)
{
    struct net *net;
    int r = get_net(&net);

    if (r < 0)
        return r;
    r = sparse
            ? frame_remote_create(net, full_text(arg), replace, out, &refusal)
            : frame_remote_create_whole(net, full_text(arg), replace, out,
                                        &refusal);
    net_put(net);
    return r;
}
