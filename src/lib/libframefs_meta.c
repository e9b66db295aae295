/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/retry.h"
#include "chunk/codec.h"
#include "file/info.h"
#include "lib/libframefs_private.h"

enum {
    CONTENT_MAX = 64 << 20 /* bytes of a metalayer that can be read */
};

static void fill_info(const struct frame_info *from, struct framefs_info *out)
{
    *out = (struct framefs_info){
        .size = from->nbytes,
        .stored = from->frame_len + (from->sparse ? from->cbytes : 0),
        .nchunks = from->nchunks,
        .chunksize = from->chunksize,
        .blocksize = from->blocksize,
        .typesize = from->typesize,
        .clevel = from->clevel,
        .sparse = from->sparse,
        .version = from->version,
    };
    snprintf(out->codec, sizeof(out->codec), "%s", codec_name(from->codec));
}

int framefs_info(struct framefs_frame *frame, struct framefs_info *out,
                 size_t size)
{
    struct framefs_info info;
    struct frame *state;
    struct file *file;

    if (size > sizeof(info))
        return libframefs_refuse(frame->path, -EINVAL,
                                 "this library is too old");
    file = libframefs_enter(frame);
    state = file_frame_get(file);
    fill_info(frame_get_info(state), &info);
    file_frame_put(file, state);
    libframefs_leave(frame);
    memcpy(out, &info, size);
    return 0;
}

ssize_t libframefs_hand_out(const struct framefs_frame *frame,
                            const void *bytes, size_t len, void *to,
                            size_t size)
{
    if (size == 0)
        return (ssize_t)len;
    if (len > size)
        return libframefs_refuse(frame->path, -ERANGE, NULL);
    memcpy(to, bytes, len);
    return (ssize_t)len;
}

ssize_t framefs_info_json(struct framefs_frame *frame, char *text, size_t size)
{
    struct retry retry = RETRY_REPLACED;
    char *info;
    ssize_t len;

    do {
        struct file *file = libframefs_enter(frame);
        struct frame *state = file_frame_get(file);

        len = info_text(state, INFO_CONTENT, &info);
        file_frame_put(file, state);
        libframefs_leave(frame);
    } while (len == -ESTALE && retry_wait(&retry));
    if (len < 0)
        return libframefs_refuse(frame->path, (int)len, NULL);
    len = libframefs_hand_out(frame, info, strlen(info) + 1, text, size);
    free(info);
    return len < 0 ? len : len - 1;
}

/* Open the metalayers of the last commit, and keep its state open.  The caller
   calls close_layers() afterwards, even if this fails. */
static int open_layers(struct framefs_frame *frame, struct frame **state,
                       struct metalayer_list *list, struct fault *fault)
{
    *list = (struct metalayer_list){ 0 };
    *state = file_frame_get(libframefs_enter(frame));
    return metalayer_list_read(*state, list, fault);
}

static void close_layers(struct framefs_frame *frame, struct frame *state,
                         struct metalayer_list *list)
{
    metalayer_list_free(list);
    file_frame_put(frame->file, state);
    libframefs_leave(frame);
}

static char *list_names(const struct metalayer_list *list, size_t *len)
{
    char *names = NULL;
    FILE *text = open_memstream(&names, len);

    if (!text)
        return NULL;
    for (size_t i = 0; i < list->nlayers; i++)
        fprintf(text, "%s%s%c", metalayer_prefix(list->layers[i].kind),
                list->layers[i].name, '\0');
    if (fclose(text) != 0) {
        free(names);
        return NULL;
    }
    return names;
}

static int get_names(struct framefs_frame *frame, char **names, size_t *len,
                     struct fault *fault)
{
    struct metalayer_list layers;
    struct frame *state;
    int r = open_layers(frame, &state, &layers, fault);

    if (r == 0) {
        *names = list_names(&layers, len);
        if (!*names)
            r = fault_set(fault, -ENOMEM, 0, NULL);
    }
    close_layers(frame, state, &layers);
    return r;
}

ssize_t framefs_meta_list(struct framefs_frame *frame, char *list, size_t size)
{
    struct retry retry = RETRY_REPLACED;
    struct fault fault = FAULT_NONE;
    char *names = NULL;
    size_t len;
    ssize_t r;

    do
        r = get_names(frame, &names, &len, &fault);
    while (r == -ESTALE && retry_wait(&retry));
    if (r < 0)
        return libframefs_fail(frame->path, (int)r, &fault);
    r = libframefs_hand_out(frame, names, len, list, size);
    free(names);
    return r;
}

/* Read a metalayer.  Returns its length, -ENODATA or another error. */
static ssize_t get_content(struct framefs_frame *frame, const char *name,
                           uint8_t **content, struct fault *fault)
{
    const struct metalayer *layer;
    struct metalayer_list layers;
    struct frame *state;
    ssize_t len = open_layers(frame, &state, &layers, fault);

    if (len == 0) {
        layer = metalayer_find_label(&layers, name);
        len = layer ? metalayer_read(state, layer, CONTENT_MAX, content, fault)
                    : -ENODATA;
    }
    close_layers(frame, state, &layers);
    return len;
}

ssize_t framefs_meta_get(struct framefs_frame *frame, const char *name,
                         void *buf, size_t size)
{
    struct retry retry = RETRY_REPLACED;
    struct fault fault = FAULT_NONE;
    uint8_t *content = NULL;
    ssize_t len;

    do
        len = get_content(frame, name, &content, &fault);
    while (len == -ESTALE && retry_wait(&retry));
    if (len == -ENODATA)
        return libframefs_refuse(frame->path, -ENODATA, "no such metalayer");
    if (len < 0)
        return libframefs_fail(frame->path, (int)len, &fault);
    len = libframefs_hand_out(frame, content, (size_t)len, buf, size);
    free(content);
    return len;
}

/* Record why a metalayer could not be changed. */
static int fail_change(const struct framefs_frame *frame, int error,
                       const struct fault *fault)
{
    if (error == -ENOENT)
        return libframefs_refuse(frame->path, -ENODATA, "no such metalayer");
    return libframefs_fail(frame->path, error, fault);
}

int framefs_meta_set(struct framefs_frame *frame, const char *name,
                     const void *buf, size_t len)
{
    struct fault fault = FAULT_NONE;
    enum metalayer_kind kind;
    const char *bare = metalayer_parse_label(name, &kind);
    int r;

    if (!bare || kind == METALAYER_USERMETA)
        return libframefs_refuse(name, -EINVAL, "not a name that can be set");
    r = file_meta_set(libframefs_enter(frame),
                      &(struct file_meta){ kind, bare, buf, len }, &fault);
    libframefs_leave(frame);
    return r < 0 ? fail_change(frame, r, &fault) : 0;
}

int framefs_meta_remove(struct framefs_frame *frame, const char *name)
{
    struct fault fault = FAULT_NONE;
    enum metalayer_kind kind;
    const char *bare = metalayer_parse_label(name, &kind);
    int r;

    if (!bare || kind != METALAYER_VL)
        return libframefs_refuse(name, -EINVAL,
                                 "not a name that can be removed");
    r = file_meta_remove(libframefs_enter(frame), bare, &fault);
    libframefs_leave(frame);
    return r < 0 ? fail_change(frame, r, &fault) : 0;
}
