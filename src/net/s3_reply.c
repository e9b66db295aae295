/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "net/iso_time.h"
#include "net/percent.h"
#include "net/s3_answer.h"

/* Read a tag, which is useless if it is cut. */
static void read_etag(struct s3_answer *answer, char out[S3_ETAG_MAX])
{
    char *text = s3_answer_text(answer);

    out[0] = '\0';
    if (text && strlen(text) < S3_ETAG_MAX)
        strcpy(out, text);
    free(text);
}

static void read_size(struct s3_answer *answer, uint64_t *out)
{
    char *text = s3_answer_text(answer);
    size_t len = text ? strlen(text) : 0;

    /* size_parse() also knows suffixes. */
    if (text && (strspn(text, "0123456789") != len || !size_parse(text, out)))
        xml_fail(&answer->xml, "size in XML is no number");
    free(text);
}

static void read_object(struct s3_answer *answer, struct s3_object *out)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "Key"))
            s3_answer_into(answer, &out->key);
        else if (xml_is(xml, "Size"))
            read_size(answer, &out->size);
        else if (xml_is(xml, "LastModified"))
            s3_answer_time(answer, &out->modified);
        else if (xml_is(xml, "ETag"))
            read_etag(answer, out->etag);
        else
            xml_skip(xml);
    }
    if (!out->key)
        xml_fail(xml, "object in XML has no key");
}

static void add_object(struct s3_answer *answer, struct s3_list *list)
{
    list->objects = s3_answer_grow(answer, list->objects, list->nobjects,
                                   sizeof(list->objects[0]));
    if (!answer->no_memory)
        read_object(answer, &list->objects[list->nobjects++]);
}

static void add_prefix(struct s3_answer *answer, struct s3_list *list)
{
    struct xml *xml = &answer->xml;
    char **prefix;

    list->prefixes = s3_answer_grow(answer, list->prefixes, list->nprefixes,
                                    sizeof(list->prefixes[0]));
    if (answer->no_memory)
        return;
    prefix = &list->prefixes[list->nprefixes++];
    while (xml_next(xml)) {
        if (xml_is(xml, "Prefix"))
            s3_answer_into(answer, prefix);
        else
            xml_skip(xml);
    }
    if (!*prefix)
        xml_fail(xml, "prefix in XML is missing");
}

static void decode_keys(struct s3_answer *answer, struct s3_list *list)
{
    for (size_t i = 0; i < list->nobjects; i++)
        s3_answer_decode(answer, &list->objects[i].key);
    for (size_t i = 0; i < list->nprefixes; i++)
        s3_answer_decode(answer, &list->prefixes[i]);
}

static void read_list(struct s3_answer *answer, struct s3_list *list,
                      struct s3_list_flags *flags)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "Contents"))
            add_object(answer, list);
        else if (xml_is(xml, "CommonPrefixes"))
            add_prefix(answer, list);
        else if (xml_is(xml, "IsTruncated"))
            flags->truncated = s3_answer_bool(answer);
        else if (xml_is(xml, "NextContinuationToken"))
            s3_answer_into(answer, &list->next);
        else if (xml_is(xml, "EncodingType"))
            s3_answer_encoding(answer, flags);
        else
            xml_skip(xml);
    }
}

/* The list must end if it says so, or else it would be asked for without
   end. */
static void check_next(struct s3_answer *answer, struct s3_list *list,
                       bool truncated)
{
    if (truncated && (!list->next || list->next[0] == '\0'))
        xml_fail(&answer->xml, "list in XML is truncated and has no token");
    if (truncated)
        return;
    free(list->next);
    list->next = NULL;
}

int s3_list_parse(const char *text, size_t len, struct s3_list *out,
                  struct fault *fault)
{
    struct s3_list_flags flags = { 0 };
    struct s3_list list = { 0 };
    struct s3_answer answer;
    int r;

    s3_answer_begin(&answer, text, len);
    s3_answer_expect(&answer, "ListBucketResult");
    read_list(&answer, &list, &flags);
    r = s3_answer_end(&answer, fault);
    if (r == 0) {
        check_next(&answer, &list, flags.truncated);
        if (flags.encoded)
            decode_keys(&answer, &list);
        r = s3_answer_end(&answer, fault);
    }
    if (r < 0)
        s3_list_fini(&list);
    else
        *out = list;
    return r;
}

void s3_list_fini(struct s3_list *list)
{
    for (size_t i = 0; i < list->nobjects; i++)
        free(list->objects[i].key);
    for (size_t i = 0; i < list->nprefixes; i++)
        free(list->prefixes[i]);
    free(list->objects);
    free(list->prefixes);
    free(list->next);
    *list = (struct s3_list){ 0 };
}

/* Read the elements of an Error. */
static void read_error(struct s3_answer *answer, struct s3_error *out)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "Code"))
            s3_answer_cut(answer, out->code, sizeof(out->code));
        else if (xml_is(xml, "Message"))
            s3_answer_cut(answer, out->message, sizeof(out->message));
        else if (xml_is(xml, "Region"))
            s3_answer_cut(answer, out->region, sizeof(out->region));
        else
            xml_skip(xml);
    }
    if (out->code[0] == '\0')
        xml_fail(xml, "error in XML has no code");
}

/* Other services than S3 put their error into an ErrorResponse. */
static void read_error_response(struct s3_answer *answer, struct s3_error *out)
{
    struct xml *xml = &answer->xml;
    bool found = false;

    while (xml_next(xml)) {
        if (xml_is(xml, "Error") && !found) {
            found = true;
            read_error(answer, out);
        } else {
            xml_skip(xml);
        }
    }
    if (!found)
        xml_fail(xml, "error in XML has no code");
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* QuotaExceeded: Ceph; XMinioAdminBucketQuotaExceeded and XMinioStorageFull:
   MinIO; servers that are like MinIO have other prefixes. */
int s3_error_space(const char *code)
{
    if (ends_with(code, "QuotaExceeded"))
        return -EDQUOT;
    return ends_with(code, "StorageFull") ||
                   strcmp(code, "InsufficientStorage") == 0
               ? -ENOSPC
               : 0;
}

bool s3_error_is_busy(const char *code)
{
    static const char *const codes[] = { "ConditionalRequestConflict",
                                         "ConcurrentModification",
                                         "OperationAborted" };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

int s3_error_parse(const char *text, size_t len, struct s3_error *out,
                   struct fault *fault)
{
    struct s3_error error = { 0 };
    struct s3_answer answer;
    int r;

    s3_answer_begin(&answer, text, len);
    if (xml_is(&answer.xml, "ErrorResponse")) {
        read_error_response(&answer, &error);
    } else {
        s3_answer_expect(&answer, "Error");
        read_error(&answer, &error);
    }
    r = s3_answer_end(&answer, fault);
    if (r == 0)
        *out = error;
    return r;
}

int s3_upload_parse(const char *text, size_t len, char **out,
                    struct fault *fault)
{
    struct s3_answer answer;
    char *id = NULL;
    int r;

    s3_answer_begin(&answer, text, len);
    s3_answer_expect(&answer, "InitiateMultipartUploadResult");
    while (xml_next(&answer.xml)) {
        if (xml_is(&answer.xml, "UploadId"))
            s3_answer_into(&answer, &id);
        else
            xml_skip(&answer.xml);
    }
    if (!id || id[0] == '\0')
        xml_fail(&answer.xml, "upload in XML has no id");
    r = s3_answer_end(&answer, fault);
    if (r < 0)
        free(id);
    else
        *out = id;
    return r;
}

static void read_complete(struct s3_answer *answer, struct s3_complete *out)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "ETag"))
            read_etag(answer, out->etag);
        else
            xml_skip(xml);
    }
    if (out->etag[0] == '\0')
        xml_fail(xml, "object in XML has no tag");
}

int s3_complete_parse(const char *text, size_t len, struct s3_complete *out,
                      struct fault *fault)
{
    struct s3_complete complete = { 0 };
    struct s3_answer answer;
    int r;

    s3_answer_begin(&answer, text, len);
    if (xml_is(&answer.xml, "Error")) {
        read_error(&answer, &complete.error);
    } else {
        if (!xml_is(&answer.xml, "CopyObjectResult"))
            s3_answer_expect(&answer, "CompleteMultipartUploadResult");
        read_complete(&answer, &complete);
    }
    r = s3_answer_end(&answer, fault);
    if (r == 0)
        *out = complete;
    return r;
}

int s3_complete_result(const char *text, size_t len, char etag[S3_ETAG_MAX])
{
    struct s3_complete complete;
    struct fault fault;
    int r = s3_complete_parse(text, len, &complete, &fault);

    if (r < 0)
        return r == -EBADMSG ? -EIO : r;
    if (strcmp(complete.error.code, "PreconditionFailed") == 0)
        return -ESTALE;
    if (s3_error_space(complete.error.code) < 0)
        return s3_error_space(complete.error.code);
    if (complete.error.code[0] != '\0')
        return -EIO;
    strcpy(etag, complete.etag);
    return 0;
}
