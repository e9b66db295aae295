/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/chunk_format.h"
#include "frame/frame_private.h"

enum {
    VERSION = 1,
    NUMBER_LEN = 8,
    HEAD_LEN = 4 * NUMBER_LEN,
    VERSION_OFF = 0,
    STATE_OFF = 8,
    NEXT_OFF = 16,
    NCHUNKS_OFF = 24,
};

static const uint64_t next_max = (uint64_t)1 << 63;

void frame_keys_fini(struct frame_keys *keys)
{
    free(keys->keys);
    free(keys->checks);
    *keys = (struct frame_keys){ 0 };
}

static int grow(uint64_t **numbers, uint64_t capacity)
{
    uint64_t *longer = realloc(*numbers, (size_t)capacity * sizeof(*longer));

    if (!longer)
        return -ENOMEM;
    *numbers = longer;
    return 0;
}

int frame_keys_reserve(struct frame_keys *keys, uint64_t n)
{
    uint64_t capacity = keys->capacity > 0 ? keys->capacity : 16;

    if (n > FRAME_KEYS_MAX || keys->n + n > FRAME_KEYS_MAX)
        return -EFBIG;
    while (capacity < keys->n + n)
        capacity *= 2;
    if (capacity == keys->capacity)
        return 0;
    if (grow(&keys->keys, capacity) < 0 || grow(&keys->checks, capacity) < 0)
        return -ENOMEM;
    keys->capacity = capacity;
    return 0;
}

static void move(uint64_t *numbers, uint64_t to, uint64_t from, uint64_t end)
{
    if (end > from)
        memmove(numbers + to, numbers + from,
                (size_t)(end - from) * sizeof(*numbers));
}

void frame_keys_splice(struct frame_keys *keys, uint64_t first,
                       uint64_t nremoved, uint64_t nadded, uint64_t check)
{
    move(keys->keys, first + nadded, first + nremoved, keys->n);
    move(keys->checks, first + nadded, first + nremoved, keys->n);
    keys->n += nadded - nremoved;
    for (uint64_t i = first; i < first + nadded; i++) {
        keys->keys[i] = keys->next++;
        keys->checks[i] = check;
    }
}

void frame_keys_number(struct frame_keys *keys)
{
    for (uint64_t i = 0; i < keys->n; i++)
        if (keys->keys[i] == 0)
            keys->keys[i] = keys->next++;
}

int frame_keys_find(const struct frame_keys *keys, uint64_t key,
                    uint64_t *chunk_no)
{
    if (key == 0)
        return -ENOENT;
    for (uint64_t i = 0; i < keys->n; i++)
        if (keys->keys[i] == key) {
            *chunk_no = i;
            return 0;
        }
    return -ENOENT;
}

static uint64_t fnv(uint64_t hash, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Bytes of a chunk that do not count. */
struct gap {
    uint64_t off;
    uint64_t end;
};

/* Find the gap between the head of a chunk and its first block. */
static struct gap find_gap(const uint8_t *chunk, size_t len)
{
    struct chunk_header header;
    struct fault ignored;
    struct gap gap = { 0 };

    if (chunk_header_parse(chunk, len, &header, &ignored) < 0 ||
        header.kind != CHUNK_BLOCKS ||
        len < (size_t)header.header_len + CHUNK_BSTART_LEN)
        return gap;
    gap.off = header.header_len + (uint64_t)header.nblocks * CHUNK_BSTART_LEN;
    gap.end = load_le32(chunk + header.header_len);
    if (header.has_dict && gap.off + CHUNK_DICT_PREFIX_LEN <= FRAME_KEYS_END &&
        gap.off + CHUNK_DICT_PREFIX_LEN <= len)
        gap.off += CHUNK_DICT_PREFIX_LEN + (uint64_t)load_le32(chunk + gap.off);
    return gap;
}

/* Add bytes that lie at `off` of a chunk. */
static uint64_t fnv_part(uint64_t hash, const uint8_t *bytes, size_t len,
                         uint64_t off, const struct gap *gap)
{
    static const uint8_t zero = 0;

    for (size_t i = 0; i < len; i++) {
        bool counts = off + i < gap->off || off + i >= gap->end;

        hash = fnv(hash, counts ? &bytes[i] : &zero, 1);
    }
    return hash;
}

uint64_t frame_keys_check(const uint8_t *chunk, size_t len)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct gap gap = find_gap(chunk, len);
    uint64_t last;

    if (len < 2 * FRAME_KEYS_END)
        return fnv_part(hash, chunk, len, 0, &gap);
    last = load_le32(chunk + CHUNK_OFF_CBYTES) - (uint64_t)FRAME_KEYS_END;
    hash = fnv_part(hash, chunk, FRAME_KEYS_END, 0, &gap);
    return fnv_part(hash, chunk + len - FRAME_KEYS_END, FRAME_KEYS_END, last,
                    &gap);
}

uint64_t frame_keys_check_special(enum chunk_kind kind)
{
    return (uint64_t)frame_special_entry(kind);
}

size_t frame_keys_encoded_len(const struct frame_keys *keys)
{
    return HEAD_LEN + (size_t)keys->n * 2 * NUMBER_LEN;
}

void frame_keys_encode(const struct frame_keys *keys, uint64_t state,
                       uint8_t *dst)
{
    uint8_t *checks = dst + HEAD_LEN + keys->n * NUMBER_LEN;

    store_le64(dst + VERSION_OFF, VERSION);
    store_le64(dst + STATE_OFF, state);
    store_le64(dst + NEXT_OFF, keys->next);
    store_le64(dst + NCHUNKS_OFF, keys->n);
    for (uint64_t i = 0; i < keys->n; i++) {
        store_le64(dst + HEAD_LEN + i * NUMBER_LEN, keys->keys[i]);
        store_le64(checks + i * NUMBER_LEN, keys->checks[i]);
    }
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return (*left > *right) - (*left < *right);
}

/* Are all keys different, and neither 0 nor still to be used? */
static int check_keys(const struct frame_keys *keys, struct fault *fault)
{
    size_t len = (size_t)keys->n * sizeof(*keys->keys);
    uint64_t *sorted = malloc(len + 1);
    bool valid = true;

    if (!sorted)
        return fault_set(fault, -ENOMEM, 0, NULL);
    if (keys->n > 0)
        memcpy(sorted, keys->keys, len);
    qsort(sorted, (size_t)keys->n, sizeof(*sorted), by_number);
    for (uint64_t i = 0; i < keys->n && valid; i++)
        valid =
            sorted[i] > (i > 0 ? sorted[i - 1] : 0) && sorted[i] < keys->next;
    free(sorted);
    return valid ? 0
                 : fault_set(fault, -EBADMSG, 0,
                             "keys of chunks are not valid numbers");
}

int frame_keys_parse(const uint8_t *bytes, size_t len, struct frame_keys *out,
                     uint64_t *state, struct fault *fault)
{
    struct frame_keys keys = { 0 };
    uint64_t n = len >= HEAD_LEN ? load_le64(bytes + NCHUNKS_OFF) : 0;
    int r;

    if (len >= HEAD_LEN && load_le64(bytes + VERSION_OFF) > VERSION)
        return fault_set(fault, -ENOTSUP, 0,
                         "keys of chunks are of a later version");
    if (len < HEAD_LEN || load_le64(bytes + VERSION_OFF) != VERSION ||
        n > FRAME_KEYS_MAX || len != HEAD_LEN + n * 2 * NUMBER_LEN)
        return fault_set(fault, -EBADMSG, 0,
                         "keys of chunks have no valid form");
    keys.next = load_le64(bytes + NEXT_OFF);
    if (keys.next == 0 || keys.next >= next_max)
        return fault_set(fault, -EBADMSG, 0,
                         "keys of chunks are not valid numbers");
    r = frame_keys_reserve(&keys, n);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    keys.n = n;
    for (uint64_t i = 0; i < n; i++) {
        keys.keys[i] = load_le64(bytes + HEAD_LEN + i * NUMBER_LEN);
        keys.checks[i] = load_le64(bytes + HEAD_LEN + (n + i) * NUMBER_LEN);
    }
    r = check_keys(&keys, fault);
    if (r < 0) {
        frame_keys_fini(&keys);
        return r;
    }
    *state = load_le64(bytes + STATE_OFF);
    *out = keys;
    return 0;
}
