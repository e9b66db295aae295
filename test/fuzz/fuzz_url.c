/* SPDX-License-Identifier: BSD-3-Clause */

/* A URL, as users and redirecting servers write it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/url.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* The text of a URL must parse again, to the same text; and its name must have
   nothing of the query. */
static void parse_again(const struct url *url)
{
    char *text = url_text(url);
    char *name = url_name(url);
    struct url again;
    const char *why;
    char *same;

    insist(text && name);
    insist(!strchr(name, '?') && strncmp(text, name, strlen(name)) == 0);
    insist(url_public_len(text) == strlen(name));
    if (strlen(text) <= URL_MAX) {
        insist(url_parse(text, &again, &why) == 0);
        same = url_text(&again);
        insist(same && strcmp(same, text) == 0);
        insist(url_same_origin(url, &again));
        insist(url_is_internal(url) == url_is_internal(&again));
        free(same);
        url_fini(&again);
    }
    free(name);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct url joined;
    struct url url;
    const char *why;

    insist(text);
    if (url_parse(text, &url, &why) == 0) {
        insist(url_is(text));
        parse_again(&url);
        if (!url.query && url_join(&url, "x", &joined) == 0) {
            parse_again(&joined);
            url_fini(&joined);
        }
        url_fini(&url);
    }
    free(text);
    return 0;
}
