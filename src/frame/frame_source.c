/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_sums.h"
#include "frame/blocks.h"
#include "frame/frame_private.h"

/* Names of chunk files: the usual one, and one from a single day in January
   2021.  Format: sparse-frame.md, 1; history.md, 4. */
static const char *const name_formats[] = {
    "%08" PRIX64 ".chunk",
    "%016" PRIX64 ".chunk",
};

void frame_source_name(uint64_t id, char name[FRAME_SOURCE_NAME_LEN])
{
    snprintf(name, FRAME_SOURCE_NAME_LEN, name_formats[0], id);
}

static int open_chunk_file(struct frame *frame, uint64_t id,
                           struct frame_source *source, struct store_stat *stat)
{
    int r = -ENOENT;

    for (size_t i = 0; i < 2 && r == -ENOENT; i++) {
        snprintf(source->name, sizeof(source->name), name_formats[i], id);
        r = store_open_stat(frame->store, source->name, &source->object, stat);
    }
    if (r == -ENOENT)
        snprintf(source->name, sizeof(source->name), name_formats[0], id);
    return r;
}

/*
 * Can every user who can read the index file also read a chunk file, according
 * to owner and mode?  If not, a user who cannot read the file may have put it
 * into the directory.  A file with the index file's owner is fine, because the
 * owner could let others read it.  An owner is assumed to be in the group of
 * their file.
 */
static bool is_readable(const struct frame *frame,
                        const struct store_stat *chunk)
{
    const struct store_stat *index = &frame->stat;
    bool same_group = chunk->gid == index->gid;
    bool by_group = chunk->mode & (same_group ? 0040 : 0004);

    if (chunk->uid == index->uid)
        return true;
    if (index->uid != 0 && !by_group && !(chunk->mode & 0004))
        return false;
    if ((index->mode & 0040) && !by_group)
        return false;
    return !(index->mode & 0004) || (chunk->mode & 0004);
}

static int open_sparse(struct frame *frame, uint64_t id,
                       struct frame_source *source, struct fault *fault)
{
    struct store_stat stat;
    int r = open_chunk_file(frame, id, source, &stat);

    if (r == -ENOENT)
        return fault_set(fault, -EBADMSG, 0, "chunk file is missing");
    if (r == -EINVAL)
        return fault_set(fault, -EBADMSG, 0, "chunk file is no regular file");
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (identity_serves_others() && !is_readable(frame, &stat)) {
        store_object_close(source->object);
        return fault_set(fault, -EACCES, 0, NULL);
    }
    source->avail = stat.version.size;
    return 0;
}

int frame_source_open(struct frame *frame, uint64_t chunk_no,
                      const struct frame_entry *entry, struct frame_source *out,
                      struct fault *fault)
{
    struct frame_source source = { 0 };

    if (frame->info.sparse) {
        int r = open_sparse(frame, entry->place, &source, fault);

        if (r < 0)
            return frame_source_fault(&source, chunk_no, r, fault);
    } else {
        source.object = frame->object;
        source.off = entry->place;
        source.avail = frame_chunks_end(frame) - entry->place;
    }
    *out = source;
    return 0;
}

void frame_source_close(struct frame *frame, struct frame_source *source)
{
    if (source->object != frame->object)
        store_object_close(source->object);
}

int frame_source_fault(const struct frame_source *source, uint64_t chunk_no,
                       int error, struct fault *fault)
{
    fault->off += source->off;
    fault->chunk_no = (int64_t)chunk_no;
    snprintf(fault->object, sizeof(fault->object), "%s", source->name);
    return error;
}

static size_t head_len(uint64_t avail)
{
    return avail < CHUNK_LONG_HEADER_LEN ? (size_t)avail
                                         : CHUNK_LONG_HEADER_LEN;
}

int frame_source_header(const struct frame_source *source,
                        struct chunk_header *out, struct fault *fault)
{
    size_t len = head_len(source->avail);
    uint8_t head[CHUNK_LONG_HEADER_LEN];
    int r = store_object_read_at(source->object, source->off, head, len);

    if (r < 0)
        return blocks_read_error(r, 0, fault);
    return chunk_header_parse(head, len, out, fault);
}

static int check_sizes(const struct chunk_header *header, uint64_t avail,
                       struct frame_sizes *out, struct fault *fault)
{
    if (header->cbytes > avail)
        return fault_set(fault, -EBADMSG, 0, "chunk is cut short");
    *out = (struct frame_sizes){
        .nbytes = header->nbytes,
        .cbytes = header->cbytes,
        .sums_len = chunk_sums_len_behind(header),
        .header_len = header->header_len,
    };
    return 0;
}

static int parse_sizes(const uint8_t *head, uint64_t avail,
                       struct frame_sizes *out, struct fault *fault)
{
    struct chunk_header header;
    int r = chunk_header_parse(head, head_len(avail), &header, fault);

    return r < 0 ? r : check_sizes(&header, avail, out, fault);
}

/* Nothing lies behind a chunk that has no sums. */
static void drop_sums(const struct frame *frame,
                      const struct frame_entry *entry,
                      struct frame_sizes *sizes)
{
    if (!frame->sums ||
        !frame_sums_have(frame->sums, frame_place_no(frame, entry)))
        sizes->sums_len = 0;
}

int frame_source_sizes(struct frame *frame, uint64_t chunk_no,
                       const struct frame_entry *entry, struct frame_sizes *out,
                       struct fault *fault)
{
    struct frame_source source;
    struct chunk_header header;
    int r = frame_source_open(frame, chunk_no, entry, &source, fault);

    if (r < 0)
        return r;
    r = frame_source_header(&source, &header, fault);
    if (r == 0)
        r = check_sizes(&header, source.avail, out, fault);
    frame_source_close(frame, &source);
    if (r < 0)
        return frame_source_fault(&source, chunk_no, r, fault);
    drop_sums(frame, entry, out);
    return 0;
}

static int sparse_sizes_of(struct frame *frame,
                           const struct frame_entry *entries, size_t n,
                           struct frame_sizes *sizes)
{
    struct fault fault;

    for (size_t i = 0; i < n; i++)
        if (!entries[i].special)
            sizes[i].error =
                frame_source_sizes(frame, 0, &entries[i], &sizes[i], &fault);
    return 0;
}

/* Headers that are read together. */
struct heads {
    uint8_t bytes[FRAME_SOURCE_BATCH][CHUNK_LONG_HEADER_LEN];
    struct store_range ranges[FRAME_SOURCE_BATCH];
};

static int read_heads(struct frame *frame, const struct frame_entry *entries,
                      size_t n, struct heads *heads, struct fault *fault)
{
    uint64_t end = frame_chunks_end(frame);
    size_t nranges = 0;

    for (size_t i = 0; i < n; i++)
        if (!entries[i].special)
            heads->ranges[nranges++] = (struct store_range){
                .off = entries[i].place,
                .len = head_len(end - entries[i].place),
                .buf = heads->bytes[i],
            };
    return frame_read_ranges(frame, heads->ranges, nranges, fault);
}

static int contiguous_sizes_of(struct frame *frame,
                               const struct frame_entry *entries, size_t n,
                               struct frame_sizes *sizes, struct fault *fault)
{
    uint64_t end = frame_chunks_end(frame);
    struct heads *heads = malloc(sizeof(*heads));
    struct fault ignored;
    int r;

    if (!heads)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = read_heads(frame, entries, n, heads, fault);
    for (size_t i = 0; i < n && r == 0; i++)
        if (!entries[i].special) {
            sizes[i].error = parse_sizes(
                heads->bytes[i], end - entries[i].place, &sizes[i], &ignored);
            drop_sums(frame, &entries[i], &sizes[i]);
        }
    free(heads);
    return r;
}

int frame_source_sizes_of(struct frame *frame,
                          const struct frame_entry *entries, size_t n,
                          struct frame_sizes *sizes, struct fault *fault)
{
    if (frame->info.sparse)
        return sparse_sizes_of(frame, entries, n, sizes);
    return contiguous_sizes_of(frame, entries, n, sizes, fault);
}

/* Make an object of the bytes of a chunk. */
static int cut_out(const struct frame_source *source, uint32_t len,
                   struct store_object **out, struct fault *fault)
{
    struct store *part;
    int r = store_part_open(source->object, source->off, len, &part);

    if (r == 0) {
        r = store_open(part, "", out);
        store_close(part);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int frame_chunk_bytes(struct frame *frame, uint64_t chunk_no,
                      struct store_object **out, struct fault *fault)
{
    struct frame_sizes sizes = { 0 };
    struct frame_source source;
    struct frame_entry entry;
    int r = frame_get_entry(frame, chunk_no, &entry, fault);

    if (r < 0)
        return r;
    if (entry.special) {
        *out = NULL;
        return 0;
    }
    r = frame_source_sizes(frame, chunk_no, &entry, &sizes, fault);
    if (r < 0)
        return r;
    r = frame_source_open(frame, chunk_no, &entry, &source, fault);
    if (r < 0)
        return r;
    r = cut_out(&source, sizes.cbytes, out, fault);
    frame_source_close(frame, &source);
    return r;
}
