/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "net/s3_answer.h"
#include "net/s3_reply.h"

static void read_pending(struct s3_answer *answer, struct s3_pending *out)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "Key"))
            s3_answer_into(answer, &out->key);
        else if (xml_is(xml, "UploadId"))
            s3_answer_into(answer, &out->id);
        else if (xml_is(xml, "Initiated"))
            s3_answer_time(answer, &out->begun);
        else
            xml_skip(xml);
    }
    if (!out->key || !out->id)
        xml_fail(xml, "upload in XML has no key, or no id");
}

static void read_uploads(struct s3_answer *answer, struct s3_uploads *list,
                         struct s3_list_flags *flags)
{
    struct xml *xml = &answer->xml;

    while (xml_next(xml)) {
        if (xml_is(xml, "Upload")) {
            list->uploads = s3_answer_grow(answer, list->uploads, list->n,
                                           sizeof(list->uploads[0]));
            if (!answer->no_memory)
                read_pending(answer, &list->uploads[list->n++]);
        } else if (xml_is(xml, "IsTruncated")) {
            flags->truncated = s3_answer_bool(answer);
        } else if (xml_is(xml, "NextKeyMarker")) {
            s3_answer_into(answer, &list->next_key);
        } else if (xml_is(xml, "NextUploadIdMarker")) {
            s3_answer_into(answer, &list->next_id);
        } else if (xml_is(xml, "EncodingType")) {
            s3_answer_encoding(answer, flags);
        } else {
            xml_skip(xml);
        }
    }
}

static void end_uploads(struct s3_answer *answer, struct s3_uploads *list,
                        const struct s3_list_flags *flags)
{
    for (size_t i = 0; i < list->n && flags->encoded; i++)
        s3_answer_decode(answer, &list->uploads[i].key);
    if (flags->truncated && (!list->next_key || !list->next_id))
        xml_fail(&answer->xml, "list in XML is truncated and has no markers");
    if (list->next_key && flags->encoded)
        s3_answer_decode(answer, &list->next_key);
    if (flags->truncated)
        return;
    free(list->next_key);
    free(list->next_id);
    list->next_key = list->next_id = NULL;
}

int s3_uploads_parse(const char *text, size_t len, struct s3_uploads *out,
                     struct fault *fault)
{
    struct s3_list_flags flags = { 0 };
    struct s3_uploads list = { 0 };
    struct s3_answer answer;
    int r;

    s3_answer_begin(&answer, text, len);
    s3_answer_expect(&answer, "ListMultipartUploadsResult");
    read_uploads(&answer, &list, &flags);
    r = s3_answer_end(&answer, fault);
    if (r == 0) {
        end_uploads(&answer, &list, &flags);
        r = s3_answer_end(&answer, fault);
    }
    if (r < 0)
        s3_uploads_fini(&list);
    else
        *out = list;
    return r;
}

void s3_uploads_fini(struct s3_uploads *uploads)
{
    for (size_t i = 0; i < uploads->n; i++) {
        free(uploads->uploads[i].key);
        free(uploads->uploads[i].id);
    }
    free(uploads->uploads);
    free(uploads->next_key);
    free(uploads->next_id);
    *uploads = (struct s3_uploads){ 0 };
}
