/* SPDX-License-Identifier: BSD-3-Clause */

/* The answers of S3, and XML in general. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/s3_reply.h"
#include "net/xml.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* A failure must say why, at a place in the text. */
static bool succeeded(int r, const struct fault *fault, size_t size)
{
    if (r < 0)
        insist(fault->what && fault->what[0] != '\0' && fault->off <= size);
    return r == 0;
}

/* Read every text, as deep as the elements go. */
static void read_all(struct xml *xml, const char *text, size_t size)
{
    struct secret read = { 0 };
    struct fault fault;

    xml_begin(xml, text, size);
    while (!xml->what && !xml->ended) {
        insist(xml->pos <= size);
        if (!xml_next(xml))
            continue;
        insist(xml->depth > 0 && xml->depth <= XML_DEPTH_MAX);
        if (xml->pos < size && text[xml->pos] != '<')
            xml_read(xml, &read);
    }
    succeeded(xml_end(xml, &fault), &fault, size);
    secret_fini(&read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct fault fault = FAULT_NONE;
    struct s3_complete complete;
    struct s3_error error;
    struct s3_list list;
    struct s3_uploads uploads;
    struct xml xml;
    char *id;

    read_all(&xml, text, size);
    if (succeeded(s3_list_parse(text, size, &list, &fault), &fault, size)) {
        for (size_t i = 0; i < list.nobjects; i++)
            insist(list.objects[i].key);
        for (size_t i = 0; i < list.nprefixes; i++)
            insist(list.prefixes[i]);
        s3_list_fini(&list);
    }
    if (succeeded(s3_error_parse(text, size, &error, &fault), &fault, size))
        insist(error.code[0] != '\0');
    if (succeeded(s3_upload_parse(text, size, &id, &fault), &fault, size)) {
        insist(id[0] != '\0');
        free(id);
    }
    if (succeeded(s3_uploads_parse(text, size, &uploads, &fault), &fault,
                  size)) {
        for (size_t i = 0; i < uploads.n; i++)
            insist(uploads.uploads[i].key && uploads.uploads[i].id);
        insist(!uploads.next_key == !uploads.next_id);
        s3_uploads_fini(&uploads);
    }
    if (succeeded(s3_complete_parse(text, size, &complete, &fault), &fault,
                  size))
        insist(complete.etag[0] != '\0' || complete.error.code[0] != '\0');
    return 0;
}
