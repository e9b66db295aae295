/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "file/file.h"
#include "frame/frame_remote.h"
#include "lib/libframefs_private.h"
#include "state/option_words.h"
#include "store/store_local.h"

enum {
    PIECE_LEN = 4 << 20 /* bytes that are read at a time */
};

/* The only state outside a handle: see framefs_error(). */
static _Thread_local char message[1024];

const char *framefs_version(void)
{
    return FRAMEFS_VERSION;
}

const char *framefs_error(void)
{
    return message;
}

/* The query of a URL is left out, because it is a secret. */
int libframefs_refuse(const char *subject, int error, const char *why)
{
    size_t len = url_is(subject) ? url_public_len(subject) : strlen(subject);

    snprintf(message, sizeof(message), "%.*s: %s", (int)len, subject,
             why ? why : strerror(-error));
    return error;
}

int libframefs_fail(const char *subject, int error, const struct fault *fault)
{
    char text[256];

    fault_format(fault, error, text, sizeof(text));
    return libframefs_refuse(subject, error, text);
}

/* Refuse the value of an option, given as NAME=VALUE. */
static int refuse_value(const char *word)
{
    char name[32] = "";
    char why[512];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
    snprintf(why, sizeof(why), "wants %s", option_values(name));
    return libframefs_refuse(word, -EINVAL, why);
}

static int set_one(char *word, void *to,
                   int (*set)(void *to, const char *name, const char *value))
{
    char *value = strchr(word, '=');
    int r = -ENOENT;

    if (value) {
        *value = '\0';
        r = set(to, word, value + 1);
        *value = '=';
    }
    if (r == -ENOENT)
        return libframefs_refuse(word, -EINVAL, "unknown option");
    if (r == -EINVAL)
        return refuse_value(word);
    return r < 0 ? libframefs_refuse(word, r, NULL) : 0;
}

int libframefs_set_options(const char *options, void *to,
                           int (*set)(void *to, const char *name,
                                      const char *value))
{
    char *text = strdup(options ? options : "");
    char *rest = text;
    char *word;
    int r = 0;

    if (!text)
        return libframefs_refuse("options", -ENOMEM, NULL);
    while (r == 0 && (word = strsep(&rest, ",")))
        if (word[0] != '\0')
            r = set_one(word, to, set);
    free(text);
    return r;
}

static int set_file_option(void *to, const char *name, const char *value)
{
    return file_options_set(to, name, value);
}

int framefs_new(const char *options, struct framefs **out)
{
    struct file_options settings = file_default_options;
    struct framefs *fs;
    int r = libframefs_set_options(options, &settings, set_file_option);

    if (r < 0)
        return r;
    fs = calloc(1, sizeof(*fs));
    r = fs ? file_context_new(&settings, &fs->context) : -ENOMEM;
    if (r < 0) {
        free(fs);
        return libframefs_refuse("libframefs", r, NULL);
    }
    *out = fs;
    return 0;
}

void framefs_free(struct framefs *fs)
{
    if (!fs)
        return;
    file_context_free(fs->context);
    free(fs);
}

int libframefs_new_frame(struct framefs *fs, const char *path, int flags,
                         struct framefs_frame **out)
{
    size_t size = strlen(path) + 1;
    struct framefs_frame *frame = calloc(1, sizeof(*frame) + size);

    if (!frame)
        return libframefs_refuse(path, -ENOMEM, NULL);
    pthread_rwlock_init(&frame->lock, NULL);
    frame->fs = fs;
    frame->flags = flags;
    memcpy(frame->path, path, size);
    *out = frame;
    return 0;
}

void libframefs_free_frame(struct framefs_frame *frame)
{
    pthread_rwlock_destroy(&frame->lock);
    file_reader_end(&frame->reader);
    if (frame->memory)
        store_close(frame->memory);
    free(frame);
}

/* Open the frame in a store. */
static int open_file(const struct framefs_frame *frame, struct store *store,
                     struct file **out, struct fault *fault)
{
    struct file_context *context = frame->fs->context;

    const struct view_spec spec = {
        .base = frame->offset,
        .view =
            frame->flags & FRAMEFS_ARRAY ? FILE_VIEW_ARRAY : FILE_VIEW_CHUNKS,
    };

    if (!(frame->flags & FRAMEFS_WRITE))
        return file_open_view(context, &spec, store, out, fault);
    if (frame->offset > 0)
        return fault_set(fault, -EROFS, frame->offset,
                         "a frame inside a file is not changed");
    return file_open_writable_view(context, spec.view, store, out, fault);
}

int libframefs_check_name(const char *path)
{
    const char *why;
    int r = url_is(path) ? frame_remote_check(path, &why) : 0;

    return r < 0 ? libframefs_refuse(path, r, why) : 0;
}

int libframefs_open_path(struct framefs_frame *frame, struct file **out,
                         struct fault *fault)
{
    unsigned mode = frame->flags & FRAMEFS_WRITE ? STORE_WRITE : 0;
    struct store *store;
    int r = 0;

    if (frame->memory)
        store = store_get(frame->memory);
    else
        r = file_store_open(frame->fs->context, frame->path, mode, &store,
                            fault);
    if (r < 0)
        return r;
    r = open_file(frame, store, out, fault);
    store_close(store);
    return r;
}

/* Open the file of a new frame.  After an error, the frame is gone. */
static int open_new(struct framefs_frame *frame, struct framefs_frame **out)
{
    struct retry retry = RETRY_REPLACED;
    struct fault fault = FAULT_NONE;
    int r;

    /* Another program may replace the frame while it is being opened. */
    do
        r = libframefs_open_path(frame, &frame->file, &fault);
    while (r == -ESTALE && retry_wait(&retry));
    if (r == -EREMCHG)
        r = fault_set(&fault, -ESTALE, 0,
                      "the frame has changed since the ticket was made");
    if (r < 0) {
        libframefs_fail(frame->path, r, &fault);
        libframefs_free_frame(frame);
        return r;
    }
    *out = frame;
    return 0;
}

int framefs_open_memory(struct framefs *fs, const void *buf, size_t len,
                        int flags, struct framefs_frame **out)
{
    struct framefs_frame *frame = NULL;
    int r;

    if (flags & FRAMEFS_WRITE)
        return libframefs_refuse("memory", -EROFS,
                                 "a frame in memory can only be read");
    if (flags & ~FRAMEFS_ARRAY)
        return libframefs_refuse("memory", -EINVAL, "unknown flags");
    r = libframefs_new_frame(fs, "memory", flags, &frame);
    if (r < 0)
        return r;
    r = store_mem_open(buf, len, &frame->memory);
    if (r < 0) {
        libframefs_free_frame(frame);
        return libframefs_refuse("memory", r, NULL);
    }
    return open_new(frame, out);
}

int framefs_open(struct framefs *fs, const char *path, int flags,
                 uint64_t offset, struct framefs_frame **out)
{
    struct framefs_frame *frame = NULL;
    int r;

    if (flags & ~(FRAMEFS_WRITE | FRAMEFS_ARRAY))
        return libframefs_refuse(path, -EINVAL, "unknown flags");
    r = libframefs_check_name(path);
    if (r < 0)
        return r;
    r = libframefs_new_frame(fs, path, flags, &frame);
    if (r < 0)
        return r;
    frame->offset = offset;
    return open_new(frame, out);
}

/* Open the newest state, if possible.  Otherwise keep the older one, which can
   be read as far as it still exists. */
static void reopen(struct framefs_frame *frame)
{
    struct fault fault;
    struct file *newest;

    pthread_rwlock_wrlock(&frame->lock);
    if (!file_is_newest(frame->file) &&
        libframefs_open_path(frame, &newest, &fault) == 0) {
        file_close(frame->file);
        frame->file = newest;
    }
    pthread_rwlock_unlock(&frame->lock);
}

struct file *libframefs_enter(struct framefs_frame *frame)
{
    pthread_rwlock_rdlock(&frame->lock);
    if (!(frame->flags & FRAMEFS_WRITE) && !file_is_newest(frame->file)) {
        pthread_rwlock_unlock(&frame->lock);
        reopen(frame);
        pthread_rwlock_rdlock(&frame->lock);
    }
    return frame->file;
}

int libframefs_check_open(const struct framefs_frame *frame)
{
    return frame->lost ? libframefs_refuse(frame->path, -ESTALE,
                                           "could not be opened again")
                       : 0;
}

void libframefs_leave(struct framefs_frame *frame)
{
    pthread_rwlock_unlock(&frame->lock);
}

int framefs_close(struct framefs_frame *frame)
{
    struct fault fault = FAULT_NONE;
    int synced;
    int r;

    if (!frame)
        return 0;
    /*
     * Sync first, because file_sync() fills in the fault.  If it fails,
     * file_close() commits again and may succeed, so its result counts.  But
     * after -ESTALE the data have been dropped, and file_close() has nothing
     * left to commit.
     */
    synced = file_sync(frame->file, &fault);
    r = file_close(frame->file);
    if (synced == -ESTALE)
        r = synced;
    if (r < 0)
        libframefs_fail(frame->path, r, &fault);
    libframefs_free_frame(frame);
    return r;
}

uint64_t framefs_size(const struct framefs_frame *frame)
{
    /* Drop the const: libframefs_enter() may reopen the file, but does not
       change the frame itself. */
    struct framefs_frame *newest = (struct framefs_frame *)(uintptr_t)frame;
    uint64_t size = file_size(libframefs_enter(newest));

    libframefs_leave(newest);
    return size;
}

/* A range to be read. */
struct reading {
    uint8_t *buf;
    size_t len;
    uint64_t off;
    int error; /* receives the reason why fewer bytes were read, or 0 */
    struct fault fault;
};

/* Read from the newest state; see read_piece(). */
static ssize_t try_read(struct framefs_frame *frame, struct file *file,
                        struct reading *reading)
{
    size_t len = reading->len < PIECE_LEN ? reading->len : PIECE_LEN;
    struct file_data data = { 0 };
    uint8_t *buf = reading->buf;
    int r = file_read(file, &frame->reader,
                      &(struct file_range){ reading->off, len }, &data,
                      &reading->fault);

    if (r < 0)
        return r;
    reading->error = data.error;
    for (size_t i = 0; i < data.niov; i++) {
        memcpy(buf, data.iov[i].iov_base, data.iov[i].iov_len);
        buf += data.iov[i].iov_len;
    }
    len = data.len;
    file_data_put(file, &data);
    return (ssize_t)len;
}

/* Read up to PIECE_LEN bytes.  Fewer are read if `error` is set, or at the
   end. */
static ssize_t read_piece(struct framefs_frame *frame, struct reading *reading)
{
    bool writable = frame->flags & FRAMEFS_WRITE;
    struct retry retry = RETRY_REPLACED;
    ssize_t n;

    do {
        struct file *file = libframefs_enter(frame);

        reading->error = 0;
        n = try_read(frame, file, reading);
        libframefs_leave(frame);
        /* The bytes that were read before the frame changed are valid. */
        if (n > 0 && reading->error == -ESTALE)
            reading->error = 0;
    } while (n == -ESTALE && !writable && retry_wait(&retry));
    return n;
}

ssize_t framefs_pread(struct framefs_frame *frame, void *buf, size_t len,
                      uint64_t off)
{
    struct reading reading = { .buf = buf,
                               .len = len < SSIZE_MAX ? len : SSIZE_MAX,
                               .off = off,
                               .fault = FAULT_NONE };
    size_t done = 0;
    ssize_t n = 1;

    if (libframefs_check_open(frame) < 0)
        return -ESTALE;
    while (reading.len > 0 && n > 0 && reading.error == 0) {
        n = read_piece(frame, &reading);
        if (n > 0) {
            done += (size_t)n;
            reading.buf += n;
            reading.off += (size_t)n;
            reading.len -= (size_t)n;
        }
    }
    if (done == 0 && n < 0)
        return libframefs_fail(frame->path, (int)n, &reading.fault);
    return (ssize_t)done;
}

ssize_t framefs_pwrite(struct framefs_frame *frame, const void *buf, size_t len,
                       uint64_t off)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (len > SSIZE_MAX)
        return libframefs_refuse(frame->path, -EINVAL, NULL);
    if (libframefs_check_open(frame) < 0)
        return -ESTALE;
    r = file_write(libframefs_enter(frame), off, buf, len, &fault);
    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : (ssize_t)len;
}

int framefs_truncate(struct framefs_frame *frame, uint64_t size)
{
    struct fault fault = FAULT_NONE;
    int r = file_truncate(libframefs_enter(frame), size, &fault);

    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}

int framefs_sync(struct framefs_frame *frame)
{
    struct fault fault = FAULT_NONE;
    int r = file_sync(libframefs_enter(frame), &fault);

    libframefs_leave(frame);
    return r < 0 ? libframefs_fail(frame->path, r, &fault) : 0;
}
