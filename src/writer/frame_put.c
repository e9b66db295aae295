/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "chunk/chunk_format.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "writer/frame_value.h"
#include "writer/frame_writer_private.h"
#include "writer/put_sums.h"

/* The fields of a writer that writing a chunk needs, copied under the lock. */
struct site {
    struct frame_writer *writer;
    struct frame_alloc *alloc; /* a reference */
    uint64_t epoch;
    uint32_t header_len;
    uint32_t typesize;
    bool sums;
    bool sparse;
    bool vlblocks;
    bool variable;
};

static struct site get_site(struct frame_writer *writer)
{
    struct site site = { .writer = writer };

    pthread_mutex_lock(&writer->lock);
    site.alloc = frame_alloc_get(writer->alloc);
    site.epoch = writer->epoch;
    site.header_len = writer->info.header_len;
    site.typesize = writer->info.typesize;
    site.sums = writer->sums;
    site.sparse = writer->info.sparse;
    site.vlblocks = writer->info.vlblocks;
    site.variable = writer->variable;
    pthread_mutex_unlock(&writer->lock);
    return site;
}

/*
 * Can an index entry stand for the chunk?  The reference library rejects
 * entries for chunks that are not a whole number of items (observed: 3.3.3,
 * which fails to make such a chunk of zeros).
 */
static bool fits_index(const struct site *site,
                       const struct chunk_header *header)
{
    return !site->variable && header->nbytes % site->typesize == 0 &&
           (header->kind != CHUNK_NANS || header->typesize == site->typesize);
}

static int check_chunk(const struct site *site,
                       const struct chunk_header *header, size_t len,
                       struct fault *fault)
{
    if (header->header_len != CHUNK_LONG_HEADER_LEN || header->nbytes == 0 ||
        header->cbytes != len)
        return fault_set(fault, -EINVAL, 0, "a frame cannot hold this chunk");
    if ((header->kind == CHUNK_VLBLOCKS) != site->vlblocks)
        return fault_set(fault, -ENOTSUP, 0,
                         "blocks of this kind do not go with the frame");
    return 0;
}

/*
 * Write and sync a chunk file.  It must be durable before an index names it.
 * The commit could sync it later; but this is faster, because several threads
 * may write chunk files at a time.
 *
 * Where several programs make files, one whose fate is unknown may be another
 * program's, so it is not removed.
 */
static int write_file(const struct site *site, uint64_t id,
                      struct put_sums *put)
{
    char name[FRAME_SOURCE_NAME_LEN];
    struct store_object *file;
    int r;

    frame_source_name(id, name);
    r = store_create(site->writer->store, name, FRAME_OBJECT_INDEX, &file);
    if (r == 0) {
        r = put_sums_write(put, file, 0, id);
        if (r == 0)
            r = store_object_sync(file);
        store_object_close(file);
    }
    if (r < 0 && r != -EEXIST && !store_names_once(site->writer->store))
        frame_alloc_free(site->alloc, id, 1);
    return r;
}

/* Allocate the id of a new file. */
static int next_id(const struct site *site, bool taken, uint64_t *out)
{
    int r = 0;

    if (taken && store_names_once(site->writer->store))
        r = frame_alloc_reserve_ids(site->alloc);
    if (r == 0)
        r = frame_alloc_alloc(site->alloc, 0, 1, out);
    return r == 0 && *out > UINT32_MAX ? -EFBIG : r;
}

/* If another program has a file under an id, that file stays, and the id
   remains in use. */
static int store_file(const struct site *site, struct put_sums *put,
                      int64_t *entry)
{
    bool taken = false;
    uint64_t id;
    int r;

    do {
        r = next_id(site, taken, &id);
        if (r == 0)
            r = write_file(site, id, put);
        taken = r == -EEXIST;
    } while (taken);
    if (r == 0)
        *entry = (int64_t)id;
    return r;
}

static int store_bytes(const struct site *site, struct put_sums *put,
                       int64_t *entry)
{
    uint64_t off;
    int r = frame_alloc_alloc(site->alloc, 0, put->len, &off);

    if (r < 0)
        return r;
    r = put_sums_write(put, frame_alloc_object(site->alloc), off,
                       off - site->header_len);
    if (r < 0)
        frame_alloc_free(site->alloc, off, put->len);
    else
        *entry = (int64_t)(off - site->header_len);
    return r;
}

/* Check first that no other program has committed, because the place of the new
   chunk may then be in use. */
static int store_chunk(const struct site *site, struct put_sums *put,
                       int64_t *entry)
{
    int r = watch_verify(frame_alloc_watch(site->alloc));

    if (r < 0)
        return r;
    return site->sparse ? store_file(site, put, entry)
                        : store_bytes(site, put, entry);
}

/* An encoded chunk. */
struct encoded {
    const uint8_t *bytes;
    size_t len;
    uint32_t nbytes; /* its decoded size */
};

static int write_stored(const struct site *site, const struct encoded *chunk,
                        struct frame_written *out, struct fault *fault)
{
    struct frame_written written = {
        .nbytes = chunk->nbytes,
        .epoch = site->epoch,
    };
    struct put_sums put;
    int r = put_sums_init(&put, chunk->bytes, chunk->len, site->sums);

    if (r == 0)
        r = store_chunk(site, &put, &written.entry);
    written.cbytes = (uint32_t)put.len;
    written.summed = put.summed;
    written.tag = put.tag;
    written.check = frame_keys_check(put.bytes, put.chunk_len);
    put_sums_fini(&put);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    *out = written;
    return 0;
}

static int write_value(const struct site *site, const struct frame_value *value,
                       struct frame_written *out, struct fault *fault)
{
    struct encoded chunk = { .nbytes = value->nbytes };
    uint8_t *bytes;
    int r = frame_value_make(value, &bytes, &chunk.len);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    chunk.bytes = bytes;
    r = write_stored(site, &chunk, out, fault);
    free(bytes);
    return r;
}

int frame_writer_write_value(struct frame_writer *writer, bool nans,
                             uint32_t nbytes, struct frame_written *out,
                             struct fault *fault)
{
    struct site site = get_site(writer);
    int r = write_value(&site,
                        &(struct frame_value){ .nans = nans,
                                               .typesize = site.typesize,
                                               .nbytes = nbytes },
                        out, fault);

    frame_alloc_put(site.alloc);
    return r;
}

static int write_chunk(const struct site *site,
                       const struct chunk_header *header, const uint8_t *bytes,
                       struct frame_written *out, struct fault *fault)
{
    const bool nans = header->kind == CHUNK_NANS;
    const struct encoded chunk = {
        .bytes = bytes,
        .len = header->cbytes,
        .nbytes = header->nbytes,
    };
    const struct frame_value value = {
        .nans = nans,
        .typesize = nans ? header->typesize : site->typesize,
        .nbytes = header->nbytes,
    };

    if (header->cbytes > CHUNK_LONG_HEADER_LEN)
        return write_stored(site, &chunk, out, fault);
    if (!fits_index(site, header))
        return write_value(site, &value, out, fault);
    *out = (struct frame_written){
        .entry = frame_special_entry(header->kind),
        .nbytes = header->nbytes,
        .check = frame_keys_check_special(header->kind),
        .epoch = site->epoch,
    };
    return 0;
}

int frame_writer_write(struct frame_writer *writer, const uint8_t *bytes,
                       size_t len, struct frame_written *out,
                       struct fault *fault)
{
    struct chunk_header header;
    struct site site;
    int r = chunk_header_parse(bytes, len, &header, fault);

    if (r < 0)
        return r;
    site = get_site(writer);
    r = check_chunk(&site, &header, len, fault);
    if (r == 0)
        r = write_chunk(&site, &header, bytes, out, fault);
    frame_alloc_put(site.alloc);
    return r;
}

void frame_writer_drop(struct frame_writer *writer,
                       const struct frame_written *written)
{
    struct site site = get_site(writer);

    /* Space of an older epoch is gone with the old file.  A sparse frame stays
       in the same epoch. */
    if (written->entry >= 0 && written->epoch == site.epoch) {
        if (site.sparse)
            frame_alloc_free(site.alloc, (uint64_t)written->entry, 1);
        else
            frame_alloc_free(site.alloc,
                             site.header_len + (uint64_t)written->entry,
                             written->cbytes);
    }
    frame_alloc_put(site.alloc);
}

int frame_writer_try_space(struct frame_writer *writer, size_t len,
                           struct fault *fault)
{
    struct site site = get_site(writer);
    uint8_t *bytes = calloc(1, len);
    struct frame_written written;
    int r = -ENOMEM;

    if (bytes)
        r = write_stored(&site, &(struct encoded){ bytes, len, 0 }, &written,
                         fault);
    else
        fault_set(fault, r, 0, NULL);
    free(bytes);
    frame_alloc_put(site.alloc);
    if (r == 0)
        frame_writer_drop(writer, &written);
    return r;
}
