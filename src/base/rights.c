/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* Length of /proc/PID/status; each group takes up to eleven bytes. */
    TEXT_LEN = 4096,
    TEXT_LEN_MAX = TEXT_LEN + 11 * RIGHTS_GROUPS_MAX
};

/*
 * Read all of a file that reports no size, such as one in /proc.  Returns the
 * text, or NULL if reading fails or the text is TEXT_LEN_MAX bytes or longer.
 */
static char *read_text(int fd)
{
    size_t size = TEXT_LEN;
    char *text = malloc(size);
    size_t len = 0;
    ssize_t n = 1;

    while (text && n > 0 && len < TEXT_LEN_MAX) {
        if (len + 1 == size) {
            char *larger = realloc(text, size *= 2);

            if (!larger)
                break;
            text = larger;
        }
        n = read(fd, text + len, size - 1 - len);
        if (n > 0)
            len += (size_t)n;
    }
    if (n != 0) {
        free(text);
        return NULL;
    }
    if (text)
        text[len] = '\0';
    return text;
}

/* The text after a keyword at the start of a line; NULL if there is none. */
static const char *find_line(const char *text, const char *keyword)
{
    const char *line = strstr(text, keyword);

    while (line && line[-1] != '\n')
        line = strstr(line + 1, keyword);
    return line ? line + strlen(keyword) : NULL;
}

static int parse_groups(const char *line, struct rights *out)
{
    size_t capacity = 0;
    char *end;

    for (;;) {
        unsigned long group;

        while (*line == ' ' || *line == '\t')
            line++;
        if (*line < '0' || *line > '9')
            return 0;
        group = strtoul(line, &end, 10);
        line = end;
        if (out->ngroups == capacity) {
            gid_t *larger;

            capacity = capacity ? 2 * capacity : 16;
            larger = realloc(out->groups, capacity * sizeof(*larger));
            if (!larger)
                return -ENOMEM;
            out->groups = larger;
        }
        out->groups[out->ngroups++] = (gid_t)group;
    }
}

static int parse(const char *text, struct rights *out)
{
    const char *groups = find_line(text, "Groups:");
    const char *caps = find_line(text, "CapEff:");
    int r;

    if (!groups || !caps)
        return -ENOTSUP;
    r = parse_groups(groups, out);
    if (r < 0) {
        free(out->groups);
        return r;
    }
    out->caps = strtoull(caps, NULL, 16);
    return 0;
}

int rights_read(pid_t pid, struct rights *out)
{
    char path[sizeof("/proc//status") + 11];
    char *text;
    int fd;
    int r;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    text = read_text(fd);
    close(fd);
    if (!text)
        return -EIO;
    *out = (struct rights){ .ngroups = 0 };
    r = parse(text, out);
    free(text);
    return r;
}
