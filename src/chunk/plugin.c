/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/plugin.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "chunk/plugin_file.h"
#include "framefs-codec.h"

enum {
    FIRST_ID = 32, /* lower numbers are those of the format itself */
    NAME_MAX_LEN = 31,
    ALL_FLAGS = FRAMEFS_USES_SHAPE | FRAMEFS_IS_LOSSY | FRAMEFS_HAS_META,
};

struct plugin_codec {
    struct codec codec;
    const struct framefs_codec *from;
};

struct plugin_filter {
    struct filter filter;
    const struct framefs_filter *from;
};

/* Locking.  `lock` is held while a file is loaded. */
static struct {
    pthread_mutex_t lock;
    int dirfd; /* -1: not open yet; -2: there is none */
    bool asked_codec[CODEC_NIDS];
    bool asked_filter[CODEC_NIDS];
    struct plugin_codec *codecs[CODEC_NIDS];
    struct plugin_filter *filters[CODEC_NIDS];
} plugins = { .lock = PTHREAD_MUTEX_INITIALIZER, .dirfd = -1 };

int plugin_set_dir(const char *dir)
{
    int fd = plugin_dir_open(dir);

    if (fd < 0)
        return fd;
    pthread_mutex_lock(&plugins.lock);
    plugins.dirfd = fd;
    pthread_mutex_unlock(&plugins.lock);
    return 0;
}

static bool has_dir_locked(void)
{
    const char *dir = getenv("FRAMEFS_PLUGINS");
    int fd;

    if (plugins.dirfd != -1)
        return plugins.dirfd >= 0;
    if (!dir)
        dir = PLUGIN_DIR;
    fd = plugin_dir_open(dir);
    plugins.dirfd = fd < 0 ? -2 : fd;
    return fd >= 0;
}

static bool is_name(const char *name)
{
    size_t len =
        name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") : 0;

    return len > 0 && len <= NAME_MAX_LEN && name[len] == '\0';
}

bool plugin_is_valid(const char *file, uint32_t abi, uint32_t flags,
                     const char *name)
{
    if (abi != FRAMEFS_CODEC_ABI) {
        log_error("plug-in %s: was built for version %u of framefs-codec.h, "
                  "not %u",
                  file, (unsigned)abi, (unsigned)FRAMEFS_CODEC_ABI);
        return false;
    }
    if ((flags & ~(uint32_t)ALL_FLAGS) || !is_name(name)) {
        log_error("plug-in %s: its flags or its name are not valid", file);
        return false;
    }
    return true;
}

static struct framefs_block make_block(uint32_t typesize,
                                       const struct chunk_items *items)
{
    struct framefs_block block = { .typesize = typesize };

    if (items) {
        block.itemsize = items->size;
        block.ndim = items->block.ndim;
        block.extents = items->block.extents;
    }
    return block;
}

static struct framefs_stream make_stream(const struct codec_stream *stream,
                                         const struct framefs_block *block)
{
    return (struct framefs_stream){
        .block = block,
        .meta = stream->meta,
        .level = (uint32_t)stream->level,
        .src = stream->src,
        .src_len = stream->src_len,
        .dst = stream->dst,
        .dst_len = stream->dst_len,
    };
}

static int decode(const struct codec_stream *stream)
{
    const struct plugin_codec *plugin =
        (const struct plugin_codec *)stream->codec;
    struct framefs_block block = make_block(stream->typesize, stream->items);
    struct framefs_stream call = make_stream(stream, &block);

    return plugin->from->decode(&call) == 0 ? 0 : -EBADMSG;
}

static ssize_t encode(const struct codec_stream *stream)
{
    const struct plugin_codec *plugin =
        (const struct plugin_codec *)stream->codec;
    struct framefs_block block = make_block(stream->typesize, stream->items);
    struct framefs_stream call = make_stream(stream, &block);
    size_t len = plugin->from->encode(&call);

    return len <= stream->dst_len ? (ssize_t)len : 0;
}

static struct plugin_codec *load_codec_locked(unsigned id)
{
    const struct framefs_codec *from;
    struct plugin_codec *plugin;
    char file[32];

    snprintf(file, sizeof(file), "codec-%u.so", id);
    from = plugin_file_load(plugins.dirfd, file, "framefs_codec");
    if (!from || !plugin_is_valid(file, from->abi, from->flags, from->name))
        return NULL;
    if (!from->decode) {
        log_error("plug-in %s: cannot decode", file);
        return NULL;
    }
    plugin = calloc(1, sizeof(*plugin));
    if (!plugin)
        return NULL;
    *plugin = (struct plugin_codec){
        .codec = {
            .id = (enum codec_id)id,
            .name = from->name,
            .uses_shape = from->flags & FRAMEFS_USES_SHAPE,
            .is_lossy = from->flags & FRAMEFS_IS_LOSSY,
            .has_meta = from->flags & FRAMEFS_HAS_META,
            .decode = decode,
            .encode = from->encode ? encode : NULL,
        },
        .from = from,
    };
    return plugin;
}

static void undo(const struct filter *filter, const struct filter_block *block,
                 uint8_t meta, const uint8_t *src, uint8_t *dst)
{
    const struct plugin_filter *plugin = (const struct plugin_filter *)filter;
    struct framefs_block call = make_block(block->typesize, block->items);

    plugin->from->undo(&call, meta, block->len, src, dst);
}

static void apply(const struct filter *filter, const struct filter_block *block,
                  uint8_t meta, const uint8_t *src, uint8_t *dst)
{
    const struct plugin_filter *plugin = (const struct plugin_filter *)filter;
    struct framefs_block call = make_block(block->typesize, block->items);

    plugin->from->apply(&call, meta, block->len, src, dst);
}

static struct plugin_filter *load_filter_locked(unsigned id)
{
    const struct framefs_filter *from;
    struct plugin_filter *plugin;
    char file[32];

    snprintf(file, sizeof(file), "filter-%u.so", id);
    from = plugin_file_load(plugins.dirfd, file, "framefs_filter");
    if (!from || !plugin_is_valid(file, from->abi, from->flags, from->name))
        return NULL;
    if (!from->undo) {
        log_error("plug-in %s: cannot undo the filter", file);
        return NULL;
    }
    plugin = calloc(1, sizeof(*plugin));
    if (!plugin)
        return NULL;
    *plugin = (struct plugin_filter){
        .filter = {
            .id = (enum filter_id)id,
            .name = from->name,
            .is_lossy = from->flags & FRAMEFS_IS_LOSSY,
            .mixes_items = from->flags & FRAMEFS_IS_LOSSY,
            .uses_shape = from->flags & FRAMEFS_USES_SHAPE,
            .undo = undo,
            .apply = from->apply ? apply : NULL,
        },
        .from = from,
    };
    return plugin;
}

const struct codec *plugin_codec(unsigned id)
{
    const struct plugin_codec *found;

    if (id < FIRST_ID || id >= CODEC_NIDS)
        return NULL;
    pthread_mutex_lock(&plugins.lock);
    if (!plugins.asked_codec[id] && has_dir_locked())
        plugins.codecs[id] = load_codec_locked(id);
    plugins.asked_codec[id] = true;
    found = plugins.codecs[id];
    pthread_mutex_unlock(&plugins.lock);
    return found ? &found->codec : NULL;
}

const struct filter *plugin_filter(unsigned id)
{
    const struct plugin_filter *found;

    if (id < FIRST_ID || id >= CODEC_NIDS)
        return NULL;
    pthread_mutex_lock(&plugins.lock);
    if (!plugins.asked_filter[id] && has_dir_locked())
        plugins.filters[id] = load_filter_locked(id);
    plugins.asked_filter[id] = true;
    found = plugins.filters[id];
    pthread_mutex_unlock(&plugins.lock);
    return found ? &found->filter : NULL;
}
