/* SPDX-License-Identifier: BSD-3-Clause */
#include "resume.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum {
    TEXT_MAX = PATH_MAX + 64,
};

/* The file has one line: this, the number of files that have failed, a space,
   and the last entry. */
static const char magic[] = "b2frame-resume ";

static int report(const struct resume *resume, int error, const char *what)
{
    log_error("%s: %s", resume->path, what ? what : strerror(-error));
    return error;
}

/* Read the file, or nothing if it is not there. */
static int read_text(const struct resume *resume, char text[TEXT_MAX])
{
    FILE *file = fopen(resume->path, "re");
    size_t len;
    bool bad;

    text[0] = '\0';
    if (!file)
        return errno == ENOENT ? 0 : report(resume, -errno, NULL);
    len = fread(text, 1, TEXT_MAX - 1, file);
    bad = ferror(file);
    fclose(file);
    text[bad ? 0 : len] = '\0';
    return bad ? report(resume, -EIO, NULL) : 0;
}

static size_t find(const struct tree *tree, const char *entry)
{
    for (size_t i = 0; i < tree->n; i++)
        if (strcmp(tree->entries[i].path, entry) == 0)
            return i + 1;
    return 0;
}

int resume_begin(struct resume *resume, const struct tree *tree, size_t *first)
{
    char text[TEXT_MAX];
    char *rest;
    long nfailed;
    int r;

    *first = 0;
    r = resume->path ? read_text(resume, text) : 0;
    if (r < 0 || !resume->path || text[0] == '\0')
        return r;
    if (strncmp(text, magic, strlen(magic)) != 0)
        return report(resume, -EINVAL, "is not a file of --resume");
    nfailed = strtol(text + strlen(magic), &rest, 10);
    if (nfailed >= 0 && *rest == ' ')
        *first = find(tree, rest + 1);
    if (*first > 0)
        resume->nfailed = nfailed;
    if (resume->nfailed > 0)
        log_warning("%ld files before the interruption have failed", nfailed);
    return 0;
}

/* Open a new file, not one to which a link of another user leads. */
static FILE *open_new(const char *path)
{
    FILE *file;
    int fd;

    unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return NULL;
    file = fdopen(fd, "w");
    if (!file)
        close(fd);
    return file;
}

/* Replace the file in one step. */
static int write_text(const struct resume *resume, const char *entry)
{
    char temporary[PATH_MAX];
    FILE *file;
    int r;

    if (snprintf(temporary, sizeof(temporary), "%s.new", resume->path) >=
        (int)sizeof(temporary))
        return -ENAMETOOLONG;
    file = open_new(temporary);
    if (!file)
        return -errno;
    r = fprintf(file, "%s%ld %s", magic, resume->nfailed, entry) < 0 ? -errno
                                                                     : 0;
    if (fclose(file) != 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, resume->path) < 0)
        r = -errno;
    if (r < 0)
        unlink(temporary);
    return r;
}

void resume_note(struct resume *resume, const char *entry, bool failed)
{
    int r;

    resume->nfailed += failed;
    if (!resume->path)
        return;
    r = write_text(resume, entry);
    if (r < 0 && !resume->reported)
        report(resume, r, NULL);
    resume->reported |= r < 0;
}

void resume_end(const struct resume *resume)
{
    if (resume->path && unlink(resume->path) < 0 && errno != ENOENT)
        report(resume, -errno, NULL);
}
