/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/s3_put.h"
#include "net/s3_reply.h"

enum {
    BATCH = 64,       /* requests that are made together */
    ANSWER_MAX = 4096 /* bytes of the answer to a copy */
};

/* One request of a batch. */
struct job {
    char put_id[sizeof(NET_PUT_ID) + 2 + NET_ID_MAX];
    char condition[S3_CONDITION_LEN];
    char match[sizeof("x-amz-copy-source-if-match: ") + NET_ETAG_MAX];
    char *source; /* header; NULL: none */
    const char *lines[5];
    uint8_t answer[ANSWER_MAX];
};

struct copying {
    struct net *net;
    const struct s3_copy *copies;
    size_t n;
    char id[NET_ID_MAX]; /* of all objects that are put */
    struct job *jobs;    /* BATCH of them */
    struct net_request requests[BATCH];
};

/* Make the requests of a batch, which begins with this copy.  Returns their
   number. */
static size_t run_batch(struct copying *copying, size_t first,
                        int (*make)(struct copying *copying, size_t no,
                                    struct job *job,
                                    struct net_request *request))
{
    size_t n = copying->n - first < BATCH ? copying->n - first : BATCH;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct job *job = &copying->jobs[i];

        memset(job, 0, offsetof(struct job, answer));
        snprintf(job->put_id, sizeof(job->put_id), NET_PUT_ID ": %s",
                 copying->id);
        job->lines[0] = job->put_id;
        copying->requests[i] = (struct net_request){
            .method = NET_PUT,
            .url = &copying->copies[first + i].to,
            .whole = true,
            .body = "",
            .lines = job->lines,
        };
        r = make(copying, first + i, job, &copying->requests[i]);
    }
    if (r == 0)
        net_run(copying->net, copying->requests, n);
    for (size_t i = 0; i < n; i++) {
        free(copying->jobs[i].source);
        copying->jobs[i].source = NULL;
        if (r < 0)
            copying->requests[i].error = r;
    }
    return n;
}

static int make_claim(struct copying *copying, size_t no, struct job *job,
                      struct net_request *request __attribute__((unused)))
{
    const struct url *to = &copying->copies[no].to;

    s3_put_condition(net_get_conditions(copying->net, to->host), "",
                     job->condition);
    job->lines[1] = job->condition;
    return 0;
}

/* Is the key taken by this process?  A reply may have been lost. */
static int judge_claim(struct copying *copying, size_t no,
                       const struct net_request *request)
{
    const struct url *to = &copying->copies[no].to;
    struct s3_found found = { 0 };
    struct s3_put put = {
        .url = to,
        .body = "",
        .id = copying->id,
        .conditions = net_get_conditions(copying->net, to->host),
        .expected = "",
    };
    int r;

    if (request->error != -ESTALE && request->error != -EIO)
        return request->error;
    r = s3_find(copying->net, to, &found);
    if (r == 0)
        return strcmp(found.id, copying->id) == 0 ? 0 : -EEXIST;
    return r == -ENOENT ? s3_put(copying->net, &put, &found) : r;
}

/* Delete the objects that were put to take keys. */
static void unclaim(const struct copying *copying, const bool *claimed)
{
    for (size_t i = 0; i < copying->n; i++)
        if (claimed[i])
            s3_delete_once(copying->net, &copying->copies[i].to, NULL);
}

/* Take all keys, or none if one of them is taken. */
static int claim_all(struct copying *copying)
{
    bool *claimed = calloc(copying->n, sizeof(*claimed));
    int r = claimed ? 0 : -ENOMEM;

    for (size_t first = 0; first < copying->n && r == 0; first += BATCH) {
        size_t n = run_batch(copying, first, make_claim);

        for (size_t i = 0; i < n; i++) {
            int error = judge_claim(copying, first + i, &copying->requests[i]);

            claimed[first + i] = error == 0;
            if (r == 0 || error != -EEXIST)
                r = error < 0 ? error : r;
        }
    }
    if (r == -EEXIST)
        unclaim(copying, claimed);
    free(claimed);
    return r;
}

static int make_copy(struct copying *copying, size_t no, struct job *job,
                     struct net_request *request)
{
    const struct s3_copy *copy = &copying->copies[no];

    if (asprintf(&job->source, "x-amz-copy-source: /%s%s", copy->from.host,
                 copy->from.path) < 0) {
        job->source = NULL;
        return -ENOMEM;
    }
    snprintf(job->match, sizeof(job->match), "x-amz-copy-source-if-match: %s",
             copy->etag);
    job->lines[1] = "x-amz-metadata-directive: REPLACE";
    job->lines[2] = job->source;
    job->lines[3] = copy->etag[0] != '\0' ? job->match : NULL;
    request->buf = job->answer;
    request->len = sizeof(job->answer);
    return 0;
}

static int copy_all(struct copying *copying)
{
    int r = 0;

    for (size_t first = 0; first < copying->n && r == 0; first += BATCH) {
        size_t n = run_batch(copying, first, make_copy);

        for (size_t i = 0; i < n && r == 0; i++) {
            const struct net_request *request = &copying->requests[i];
            char etag[S3_ETAG_MAX];

            r = request->error;
            if (r == 0)
                r = s3_complete_result((const char *)request->buf,
                                       request->reply.len, etag);
        }
    }
    return r;
}

/* Is the server asked to look at conditions? */
static bool has_conditions(const struct copying *copying)
{
    char line[S3_CONDITION_LEN];

    return s3_put_condition(
        net_get_conditions(copying->net, copying->copies[0].to.host), "", line);
}

int s3_copy_all(struct net *net, const struct s3_copy *copies, size_t n)
{
    struct copying *copying;
    int r = -ENOMEM;

    if (n == 0)
        return 0;
    copying = calloc(1, sizeof(*copying));
    if (copying) {
        *copying = (struct copying){ .net = net, .copies = copies, .n = n };
        copying->jobs = calloc(BATCH, sizeof(copying->jobs[0]));
        r = copying->jobs ? s3_put_id(copying->id) : -ENOMEM;
        if (r == 0 && has_conditions(copying))
            r = claim_all(copying);
        if (r == 0)
            r = copy_all(copying);
        free(copying->jobs);
    }
    free(copying);
    return r;
}
