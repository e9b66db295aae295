/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Signs requests; see ../tool/signatures.py.
 *
 * Reads one request a line, whose fields end in a byte 0x1f: key id, secret,
 * token or "", region, service, time, method, host, path, query, payload, and
 * then names and values of headers.  Prints for each the header Authorization.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/sigv4.h"

enum {
    NFIELDS_MAX = 11 + 2 * SIGV4_HEADERS_MAX
};

static size_t split(char *line, char *fields[NFIELDS_MAX])
{
    size_t n = 0;
    char *end;

    while (n < NFIELDS_MAX && (end = strchr(line, 0x1f))) {
        *end = '\0';
        fields[n++] = line;
        line = end + 1;
    }
    return n;
}

static int sign(char *fields[NFIELDS_MAX], size_t n)
{
    struct sigv4_key key = { .id = fields[0], .secret = fields[1] };
    struct sigv4_scope scope = { .region = fields[3], .service = fields[4] };
    struct sigv4_header headers[SIGV4_HEADERS_MAX];
    struct sigv4_request request = { .method = fields[6],
                                     .host = fields[7],
                                     .path = fields[8],
                                     .query = fields[9],
                                     .payload = fields[10],
                                     .headers = headers };
    struct sigv4_lines lines;

    key.token = fields[2][0] != '\0' ? fields[2] : NULL;
    scope.time = (time_t)strtoll(fields[5], NULL, 10);
    for (size_t i = 11; i + 1 < n; i += 2)
        headers[request.nheaders++] =
            (struct sigv4_header){ fields[i], fields[i + 1] };
    if (sigv4_sign(&request, &key, &scope, &lines) < 0)
        return -1;
    puts(lines.line[0]);
    sigv4_fini(&lines);
    return 0;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    int r = 0;

    while (r == 0 && getline(&line, &size, stdin) > 0) {
        char *fields[NFIELDS_MAX];
        size_t n = split(line, fields);

        r = n >= 11 ? sign(fields, n) : -1;
    }
    free(line);
    return r != 0;
}
