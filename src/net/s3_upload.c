/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_upload.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/percent.h"
#include "net/s3_reply.h"
#include "net/secret.h"
#include "net/xml.h"

enum {
    FLIGHT_MAX = 128 << 20, /* bytes on their way */
    SPEED_MIN = 64 << 10,   /* bytes per second that a connection should have,
                               at least when all are busy */
    FINISH_TRIES = 3,
    LINE_LEN = NET_ETAG_MAX + 32,
};

/* A part on its way. */
struct part {
    struct s3_upload *upload;
    struct net_request request;
    struct url url;
    uint8_t *bytes;
    unsigned number;
    struct part *next;
};

/* Locking.  `lock` guards the members behind it.  net.lock may be taken while
   it is held. */
struct s3_upload {
    struct net *net; /* a reference */
    struct url url;
    char id[NET_ID_MAX];
    char *upload; /* the id of the server, encoded for a query */
    bool over;    /* the server has no parts any more */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct part *running;
    unsigned nrunning;
    size_t nbytes; /* of these */
    char **etags;  /* of part 1 and those behind it; NULL: not there */
    unsigned nparts;
    int error; /* of the first part that failed */
};

/* Make the URL of a request about an upload.  `query` is freed. */
static int make_url(const struct s3_upload *upload, char *query,
                    struct url *out)
{
    int r = query ? url_copy(&upload->url, out) : -ENOMEM;

    if (r < 0) {
        free(query);
        return r;
    }
    out->query = query;
    return 0;
}

static char *upload_query(const struct s3_upload *upload)
{
    char *query;

    return asprintf(&query, "uploadId=%s", upload->upload) < 0 ? NULL : query;
}

/* Take note of the id that the server has given to the upload. */
static int parse_upload(struct s3_upload *upload, const uint8_t *bytes,
                        size_t len)
{
    struct secret encoded = { 0 };
    struct fault fault;
    char *id;
    int r = s3_upload_parse((const char *)bytes, len, &id, &fault);

    if (r < 0)
        return r == -EBADMSG ? -EIO : r;
    percent_encode(id, strlen(id), PERCENT_KEEP_NONE, &encoded);
    free(id);
    upload->upload = secret_take(&encoded);
    return upload->upload ? 0 : -ENOMEM;
}

/* Ask the server for an upload. */
static int create(struct s3_upload *upload)
{
    char id[sizeof(NET_PUT_ID) + 2 + NET_ID_MAX];
    const char *lines[] = { id, NULL };
    uint8_t *buf = malloc(XML_LEN_MAX);
    struct url url = { 0 };
    struct net_request request = {
        .method = NET_POST,
        .url = &url,
        .whole = true,
        .buf = buf,
        .len = XML_LEN_MAX,
        .lines = lines,
    };
    int r = buf ? make_url(upload, strdup("uploads="), &url) : -ENOMEM;

    snprintf(id, sizeof(id), NET_PUT_ID ": %s", upload->id);
    if (r == 0) {
        net_run(upload->net, &request, 1);
        r = request.error;
    }
    if (r == 0)
        r = parse_upload(upload, buf, request.reply.len);
    url_fini(&url);
    free(buf);
    return r;
}

int s3_upload_begin(struct net *net, const struct url *url, const char *id,
                    struct s3_upload **out)
{
    struct s3_upload *upload = calloc(1, sizeof(*upload));
    int r;

    if (!upload)
        return -ENOMEM;
    upload->net = net_get(net);
    pthread_mutex_init(&upload->lock, NULL);
    pthread_cond_init(&upload->changed, NULL);
    snprintf(upload->id, sizeof(upload->id), "%s", id);
    upload->etags = calloc(S3_PARTS_MAX, sizeof(*upload->etags));
    r = upload->etags ? url_copy(url, &upload->url) : -ENOMEM;
    if (r == 0)
        r = create(upload);
    if (r < 0) {
        s3_upload_free(upload);
        return r;
    }
    *out = upload;
    return 0;
}

static void free_part(struct part *part)
{
    if (!part)
        return;
    url_fini(&part->url);
    free(part->bytes);
    free(part);
}

static void remove_locked(struct s3_upload *upload, const struct part *part)
{
    struct part **link = &upload->running;

    while (*link != part)
        link = &(*link)->next;
    *link = part->next;
    upload->nrunning--;
    upload->nbytes -= part->request.body_len;
    pthread_cond_signal(&upload->changed);
}

/* Whoever waits may free the upload as soon as the lock is dropped. */
static void part_done(struct net_request *request)
{
    struct part *part = request->context;
    struct s3_upload *upload = part->upload;
    char *etag = request->error == 0 ? strdup(request->reply.etag) : NULL;
    int r = request->error;

    if (r == 0 && !etag)
        r = -ENOMEM;
    else if (r == 0 && etag[0] == '\0')
        r = -EIO;
    pthread_mutex_lock(&upload->lock);
    if (r < 0 && upload->error == 0)
        upload->error = r;
    free(upload->etags[part->number - 1]);
    upload->etags[part->number - 1] = etag;
    remove_locked(upload, part);
    pthread_mutex_unlock(&upload->lock);
    free_part(part);
}

/* Wait until a part may be sent.  Returns 0 or the error of another one. */
static int await_turn(struct s3_upload *upload, size_t len)
{
    unsigned most = net_get_options(upload->net)->connections;
    int r;

    pthread_mutex_lock(&upload->lock);
    while (upload->error == 0 && upload->nrunning > 0 &&
           (upload->nrunning >= most || upload->nbytes + len > FLIGHT_MAX))
        pthread_cond_wait(&upload->changed, &upload->lock);
    r = upload->error;
    pthread_mutex_unlock(&upload->lock);
    return r;
}

/* Make the request for a part, which takes over `bytes`. */
static struct part *new_part(struct s3_upload *upload, unsigned number,
                             uint8_t *bytes, size_t len)
{
    struct part *part = calloc(1, sizeof(*part));
    char *query = NULL;

    if (!part) {
        free(bytes);
        return NULL;
    }
    *part = (struct part){
        .upload = upload,
        .bytes = bytes,
        .number = number,
        .request = { .method = NET_PUT,
                     .url = &part->url,
                     .whole = true,
                     .body = bytes,
                     .body_len = len,
                     .timeout = net_get_options(upload->net)->timeout +
                                FLIGHT_MAX / SPEED_MIN,
                     .done = part_done,
                     .context = part },
    };
    if (asprintf(&query, "partNumber=%u&uploadId=%s", number, upload->upload) <
        0)
        query = NULL;
    if (make_url(upload, query, &part->url) < 0) {
        free_part(part);
        return NULL;
    }
    return part;
}

int s3_upload_part(struct s3_upload *upload, unsigned number, uint8_t *bytes,
                   size_t len)
{
    struct part *part = new_part(upload, number, bytes, len);
    int r = part ? await_turn(upload, len) : -ENOMEM;

    if (r < 0) {
        free_part(part);
        return r;
    }
    pthread_mutex_lock(&upload->lock);
    part->next = upload->running;
    upload->running = part;
    upload->nrunning++;
    upload->nbytes += len;
    if (number > upload->nparts)
        upload->nparts = number;
    pthread_mutex_unlock(&upload->lock);
    r = net_submit(upload->net, &part->request);
    if (r < 0) {
        pthread_mutex_lock(&upload->lock);
        remove_locked(upload, part);
        pthread_mutex_unlock(&upload->lock);
        free_part(part);
    }
    return r;
}

/* Wait until no part is on its way. */
static int await_all(struct s3_upload *upload)
{
    int r;

    pthread_mutex_lock(&upload->lock);
    while (upload->nrunning > 0)
        pthread_cond_wait(&upload->changed, &upload->lock);
    r = upload->error;
    pthread_mutex_unlock(&upload->lock);
    return r;
}

/* A tag is the server's, so it may have any characters. */
static void write_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        if (strchr("<>&", *text))
            fprintf(file, "&#%d;", *text);
        else
            fputc(*text, file);
}

/* Write the list of all parts.  The caller frees it; NULL: there is no memory,
   or a part is missing. */
static char *list_parts(const struct s3_upload *upload, size_t *len)
{
    bool whole = true;
    char *text = NULL;
    FILE *file = open_memstream(&text, len);

    if (!file)
        return NULL;
    fputs("<CompleteMultipartUpload>", file);
    for (unsigned i = 0; i < upload->nparts && whole; i++) {
        whole = upload->etags[i] != NULL;
        fprintf(file, "<Part><PartNumber>%u</PartNumber><ETag>", i + 1);
        write_text(file, whole ? upload->etags[i] : "");
        fputs("</ETag></Part>", file);
    }
    fputs("</CompleteMultipartUpload>", file);
    if (fclose(file) == 0 && whole)
        return text;
    free(text);
    return NULL;
}

/* A request to put the parts together. */
struct completion {
    const char *condition; /* header; NULL: none */
    const char *body;
    size_t len;
    uint8_t *buf; /* XML_LEN_MAX bytes */
};

static int complete(struct s3_upload *upload,
                    const struct completion *completion, struct s3_found *found)
{
    const char *lines[] = { completion->condition, NULL };
    struct url url = { 0 };
    struct net_request request = {
        .method = NET_POST,
        .url = &url,
        .whole = true,
        .buf = completion->buf,
        .len = XML_LEN_MAX,
        .body = completion->body,
        .body_len = completion->len,
        .lines = completion->condition ? lines : NULL,
    };
    int r = make_url(upload, upload_query(upload), &url);

    if (r < 0)
        return r;
    net_run(upload->net, &request, 1);
    url_fini(&url);
    return request.error < 0
               ? request.error
               : s3_complete_result((const char *)completion->buf,
                                    request.reply.len, found->etag);
}

static bool is_expected(const char *expected, bool there,
                        const struct s3_found *found)
{
    if (!expected)
        return true;
    return there ? strcmp(found->etag, expected) == 0 : expected[0] == '\0';
}

/*
 * Put the parts together if the server has what is expected.  Ask for that
 * first, because not every server looks at the condition, and because the reply
 * to an earlier try may have been lost.
 */
static int try_complete(struct s3_upload *upload, const char *expected,
                        const struct completion *completion,
                        struct s3_found *found)
{
    int r;

    *found = (struct s3_found){ 0 };
    r = s3_find(upload->net, &upload->url, found);
    if (r == 0 && strcmp(found->id, upload->id) == 0)
        return 0;
    if (r < 0 && r != -ENOENT)
        return r;
    if (!is_expected(expected, r == 0, found))
        return expected[0] == '\0' ? -EEXIST : -ESTALE;
    return complete(upload, completion, found);
}

static int complete_all(struct s3_upload *upload, const char *expected,
                        const struct completion *completion,
                        struct s3_found *found)
{
    int r = -EIO;

    for (int i = 0; i < FINISH_TRIES && r == -EIO; i++)
        r = try_complete(upload, expected, completion, found);
    if (r == 0 || r == -EEXIST || r == -EACCES)
        return r;
    if (s3_find(upload->net, &upload->url, found) == 0 &&
        strcmp(found->id, upload->id) == 0)
        return 0;
    if (r == -ESTALE && expected && expected[0] == '\0')
        return -EEXIST;
    return r == -ENOENT ? -EIO : r; /* the server has lost the upload */
}

int s3_upload_finish(struct s3_upload *upload, const char *expected,
                     struct s3_found *found)
{
    char condition[S3_CONDITION_LEN];
    struct completion completion = { 0 };
    char *body = NULL;
    int r = await_all(upload);

    if (r < 0)
        return r;
    if (s3_put_condition(net_get_conditions(upload->net, upload->url.host),
                         expected, condition))
        completion.condition = condition;
    body = list_parts(upload, &completion.len);
    completion.body = body;
    completion.buf = malloc(XML_LEN_MAX);
    r = body && completion.buf
            ? complete_all(upload, expected, &completion, found)
            : -ENOMEM;
    upload->over = r == 0;
    free(completion.buf);
    free(body);
    return r;
}

/* Tell the server to delete the parts.  If that fails, they stay until the
   rules of the bucket delete them. */
static void delete_parts(struct s3_upload *upload)
{
    struct url url = { 0 };
    struct net_request request = { .method = NET_DELETE,
                                   .url = &url,
                                   .whole = true };

    if (make_url(upload, upload_query(upload), &url) < 0)
        return;
    net_run(upload->net, &request, 1);
    url_fini(&url);
}

void s3_upload_free(struct s3_upload *upload)
{
    if (!upload)
        return;
    pthread_mutex_lock(&upload->lock);
    for (struct part *part = upload->running; part; part = part->next)
        net_cancel(upload->net, &part->request);
    pthread_mutex_unlock(&upload->lock);
    await_all(upload);
    if (upload->upload && !upload->over)
        delete_parts(upload);
    for (unsigned i = 0; i < upload->nparts; i++)
        free(upload->etags[i]);
    free(upload->etags);
    free(upload->upload);
    url_fini(&upload->url);
    pthread_cond_destroy(&upload->changed);
    pthread_mutex_destroy(&upload->lock);
    net_put(upload->net);
    free(upload);
}
