/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/put_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_format.h"
#include "frame/frame_tags.h"

/* Open a chunk in memory.  Returns 0, also if it cannot be opened, or
   -ENOMEM. */
static int open_chunk(struct put_sums *put)
{
    struct chunk_header header;
    struct fault ignored;
    int r = chunk_header_parse(put->bytes, put->len, &header, &ignored);

    if (r == 0 && (header.header_len != CHUNK_LONG_HEADER_LEN ||
                   header.cbytes != put->len))
        return 0;
    if (r == 0)
        r = chunk_open(&header, put->bytes, NULL, &put->chunk, &ignored);
    return r == -ENOMEM ? r : 0;
}

/* Make room for the sums in a copy of the chunk. */
static int make_room(struct put_sums *put)
{
    size_t room = chunk_sums_len(chunk_get_header(put->chunk));
    size_t len;

    put->wider = malloc(put->len + room);
    if (!put->wider)
        return -ENOMEM;
    len = chunk_sums_make_room(put->chunk, put->bytes, put->wider);
    if (len == 0)
        return 0;
    chunk_close(put->chunk);
    put->chunk = NULL;
    put->bytes = put->wider;
    put->chunk_len = put->len = len;
    return open_chunk(put);
}

/* The record in the copy. */
static uint8_t *record_of(const struct put_sums *put)
{
    bool inside = put->place.off < chunk_get_header(put->chunk)->cbytes;

    return put->copy + (inside ? put->place.off : 0);
}

/* Compute the sums, for any place. */
static int make_record(struct put_sums *put)
{
    bool inside = put->place.off < put->len;

    put->copy = malloc(put->place.len + (inside ? put->place.off : 0));
    if (!put->copy)
        return -ENOMEM;
    if (inside)
        memcpy(put->copy, put->bytes, put->place.off);
    put->off = inside ? put->place.off + put->place.len : put->len;
    put->len += inside ? 0 : put->place.len;
    put->summed = true;
    chunk_sums_make(put->chunk, put->bytes, 0, record_of(put));
    return 0;
}

int put_sums_init(struct put_sums *put, const uint8_t *bytes, size_t len,
                  bool sums)
{
    int r;

    *put = (struct put_sums){ .bytes = bytes, .chunk_len = len, .len = len };
    if (!sums)
        return 0;
    r = open_chunk(put);
    if (r == 0 && put->chunk && !chunk_sums_find(put->chunk, &put->place) &&
        chunk_get_header(put->chunk)->kind == CHUNK_BLOCKS)
        r = make_room(put);
    if (r < 0 || !put->chunk || !chunk_sums_find(put->chunk, &put->place))
        return r;
    return make_record(put);
}

void put_sums_fini(struct put_sums *put)
{
    chunk_close(put->chunk);
    free(put->wider);
    free(put->copy);
}

int put_sums_write(struct put_sums *put, struct store_object *object,
                   uint64_t off, uint64_t place)
{
    bool inside;
    int r;

    if (!put->summed)
        return store_object_write(object, off, put->bytes, put->len);
    inside = record_of(put) != put->copy;
    chunk_sums_move(put->chunk, put->bytes, place, record_of(put));
    put->tag = chunk_sums_tag(record_of(put), put->place.len);
    r = store_object_write(object, off, inside ? put->copy : put->bytes,
                           put->off);
    if (r < 0 || put->off == put->len)
        return r;
    return store_object_write(object, off + put->off,
                              inside ? put->bytes + put->off : put->copy,
                              put->len - put->off);
}

/* Does a record belong to the chunk that was moved?  A damaged one is made
   again if the tag shows that the chunk is right.  Returns 1, 0, -ENOMEM or an
   error of the store. */
static int is_record(const struct moved_chunk *moved, const struct chunk *chunk,
                     const uint8_t *head, uint8_t *record)
{
    const struct tagged_chunk tagged = {
        .chunk = chunk,
        .object = moved->object,
        .off = moved->off,
        .head = head,
        .place = moved->from,
        .tag = moved->tag,
    };
    bool right = chunk_sums_check_head(chunk, head, moved->from, record);
    size_t len = chunk_sums_len(chunk_get_header(chunk));

    if (moved->tag == 0 || (right && chunk_sums_tag(record, len) == moved->tag))
        return right;
    return frame_tags_remake_record(&tagged, record);
}

/* Compute the sum of a head again. */
static int move_record(struct moved_chunk *moved, const struct chunk *chunk,
                       const uint8_t *head)
{
    struct chunk_sums_place place;
    uint8_t *record;
    int r;

    if (!chunk_sums_find(chunk, &place))
        return 0;
    record = malloc(place.len);
    if (!record)
        return -ENOMEM;
    r = store_object_read_at(moved->object, moved->off + place.off, record,
                             place.len);
    if (r == 0)
        r = is_record(moved, chunk, head, record);
    if (r > 0) {
        chunk_sums_move(chunk, head, moved->to, record);
        moved->tag = chunk_sums_tag(record, place.len);
        r = moved->from == moved->to
                ? 0
                : store_object_write(moved->object, moved->off + place.off,
                                     record, place.len);
    }
    free(record);
    return r;
}

/* A chunk that cannot be opened is damaged, and no sums belong to it. */
static int move_chunk(struct moved_chunk *moved,
                      const struct chunk_header *header)
{
    size_t len = chunk_head_len(header);
    uint8_t *head = malloc(len);
    struct chunk *chunk = NULL;
    struct fault ignored;
    int r;

    if (!head)
        return -ENOMEM;
    r = store_object_read_at(moved->object, moved->off, head, len);
    if (r == 0) {
        r = chunk_open(header, head, NULL, &chunk, &ignored);
        if (r == 0)
            r = move_record(moved, chunk, head);
        else if (r != -ENOMEM)
            r = 0;
    }
    chunk_close(chunk);
    free(head);
    return r == -ENODATA ? 0 : r;
}

int put_sums_move(struct moved_chunk *moved)
{
    uint8_t bytes[CHUNK_LONG_HEADER_LEN];
    struct chunk_header header;
    struct fault ignored;
    int r =
        store_object_read_at(moved->object, moved->off, bytes, sizeof(bytes));

    if (r < 0 || (moved->from == moved->to && moved->tag > 0))
        return r == -ENODATA ? 0 : r;
    if (chunk_header_parse(bytes, sizeof(bytes), &header, &ignored) < 0)
        return 0;
    return move_chunk(moved, &header);
}
