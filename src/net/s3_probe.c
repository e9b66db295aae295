/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/s3_put.h"

/* The object that is put and deleted. */
struct probe {
    struct net *net;
    struct url url;
    struct s3_found found;
};

/* Put the object under a condition.  Returns whether the server has done so, or
   a negative errno. */
static int try_put(struct probe *probe, enum net_conditions conditions,
                   const char *expected)
{
    char id[NET_ID_MAX];
    struct s3_found found;
    const struct s3_put put = { .url = &probe->url,
                                .body = id,
                                .len = sizeof(id) - 1,
                                .id = id,
                                .conditions = conditions,
                                .expected = expected };
    int r;

    memset(id, ' ', sizeof(id)); /* the content differs each time */
    r = s3_put_id(id);
    if (r == 0)
        r = s3_put(probe->net, &put, &found);
    if (r == -EEXIST || r == -ESTALE)
        return 0;
    if (r < 0)
        return r;
    probe->found = found;
    return 1;
}

/* Does the server put the object, although its ETag is another one? */
static int ignores_tag(struct probe *probe, enum net_conditions conditions)
{
    return try_put(probe, conditions, "\"00000000000000000000000000000000\"");
}

/* Find the spelling of a tag that the server accepts. */
static int find_spelling(struct probe *probe, enum net_conditions *out)
{
    static const enum net_conditions spellings[] = { NET_CONDITIONS_QUOTED,
                                                     NET_CONDITIONS_BARE };

    for (size_t i = 0; i < 2; i++) {
        const struct s3_found before = probe->found;
        int r = try_put(probe, spellings[i], before.etag);

        if (r > 0)
            r = ignores_tag(probe, spellings[i]);
        else if (r == 0)
            continue;
        if (r < 0)
            return r;
        *out = r > 0 ? NET_CONDITIONS_IGNORED : spellings[i];
        return 0;
    }
    *out = NET_CONDITIONS_IGNORED;
    return 0;
}

static int probe_conditions(struct probe *probe, enum net_conditions *out)
{
    int r = try_put(probe, NET_CONDITIONS_QUOTED, "");

    if (r < 0)
        return r;
    r = try_put(probe, NET_CONDITIONS_QUOTED, "");
    if (r < 0)
        return r;
    if (r == 0)
        return find_spelling(probe, out);
    *out = NET_CONDITIONS_IGNORED;
    return 0;
}

int s3_probe(struct net *net, const struct url *url, enum net_conditions *out)
{
    struct probe probe = { .net = net };
    char id[NET_ID_MAX];
    char name[NET_ID_MAX + 32];
    int r;

    *out = net_get_conditions(net, url->host);
    if (*out != NET_CONDITIONS_UNKNOWN)
        return 0;
    r = s3_put_id(id);
    if (r < 0)
        return r;
    snprintf(name, sizeof(name), S3_PROBE_PREFIX "%s", id);
    r = url_join(url, name, &probe.url);
    if (r < 0)
        return r;
    r = probe_conditions(&probe, out);
    if (probe.found.etag[0] != '\0')
        s3_delete(net, &probe.url);
    url_fini(&probe.url);
    if (r == -ENOTSUP) {
        *out = NET_CONDITIONS_IGNORED;
        r = 0;
    }
    if (r == 0)
        net_set_conditions(net, url->host, *out);
    return r;
}
