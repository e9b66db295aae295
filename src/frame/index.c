/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/index.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/size.h"
#include "chunk/chunk.h"
#include "chunk/chunk_format.h"
#include "chunk/chunk_sums.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/blocks.h"
#include "frame/frame_format.h"

enum {
    INDEX_UNIT_MAX = 8 << 20,   /* largest block that is decoded */
    INDEX_COPY_UNIT = 16 << 10, /* bytes read at a time if it is a copy */
    INDEX_KEPT_BYTES = 1 << 20, /* of decoded units; or one unit, if that is
                                   larger */
    INDEX_SLOTS = 8,
    PLANES_VERSION_MIN = 3, /* first chunk version that is split as its flags
                               say */
};

static const char what_mismatch[] = "the index does not match its sums";
/* Decoded bytes of the index. */
struct slot {
    uint8_t *bytes; /* NULL: free */
    uint64_t unit_no;
    uint64_t used; /* clock value at the last use */
};

/* Locking.  `lock` is a leaf, and no thread holds it while it reads or decodes.
   Two threads that want one unit at the same time may both decode it. */
struct index {
    /* Constant once index_open() returns. */
    struct store_object *object;
    uint64_t off; /* of the chunk in the object */
    struct chunk *chunk;
    const struct chunk_header *header;
    uint32_t unit;        /* bytes decoded at a time; the last may be shorter */
    uint8_t *first_block; /* NULL if decoding does not need it */
    unsigned nslots;
    uint8_t *sums; /* the record of its sums; NULL: none */

    /* Guarded by `lock`. */
    pthread_mutex_t lock;
    struct slot slots[INDEX_SLOTS];
    uint64_t clock;
    struct chunk_decoder *decoder; /* a spare one, or NULL */
};

uint64_t index_nentries(const struct index *index)
{
    return index->header->nbytes / FRAME_INDEX_TYPESIZE;
}

uint64_t index_period(const struct index *index)
{
    uint64_t len = index->header->value_len;

    if (chunk_kind_has_blocks(index->header->kind))
        return index_nentries(index);
    if (len == 0)
        return 1;
    /* Find where the repeated items and the entries line up again. */
    while (len % FRAME_INDEX_TYPESIZE != 0)
        len *= 2;
    return len / FRAME_INDEX_TYPESIZE;
}

static uint32_t unit_len(const struct index *index, uint64_t unit_no)
{
    uint64_t rest = index->header->nbytes - unit_no * index->unit;

    return rest < index->unit ? (uint32_t)rest : index->unit;
}

static struct chunk_decoder *take_decoder(struct index *index)
{
    struct chunk_decoder *decoder;

    pthread_mutex_lock(&index->lock);
    decoder = index->decoder;
    index->decoder = NULL;
    pthread_mutex_unlock(&index->lock);
    if (!decoder && chunk_decoder_new(cpu_features(), &decoder) < 0)
        return NULL;
    return decoder;
}

static void put_decoder(struct index *index, struct chunk_decoder *decoder)
{
    struct chunk_decoder *surplus;

    pthread_mutex_lock(&index->lock);
    surplus = index->decoder;
    index->decoder = decoder;
    pthread_mutex_unlock(&index->lock);
    chunk_decoder_free(surplus);
}

static int decode_block(struct index *index, uint64_t unit_no, uint8_t *dst,
                        struct fault *fault)
{
    const struct blocks_source source = {
        .object = index->object,
        .off = index->off,
        .sums = index->sums ? chunk_sums_blocks(index->sums) : NULL,
    };
    const struct blocks_run run = {
        .first = (uint32_t)unit_no,
        .n = 1,
        .dst = dst,
        .first_block = index->first_block,
    };
    struct chunk_decoder *decoder = take_decoder(index);
    int r;

    if (!decoder)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = blocks_decode(&source, index->chunk, &run, decoder, fault);
    put_decoder(index, decoder);
    if (r < 0 && fault->mismatch)
        fault_set(fault, r, fault->off, what_mismatch);
    return r;
}

static int load_unit(struct index *index, uint64_t unit_no, uint8_t *dst,
                     struct fault *fault)
{
    uint64_t off;
    int r;

    if (index->header->kind != CHUNK_COPY || index->sums) {
        r = decode_block(index, unit_no, dst, fault);
        if (r < 0)
            fault->off += index->off;
        return r;
    }
    off = index->off + index->header->header_len + unit_no * index->unit;
    r = store_object_read_at(index->object, off, dst, unit_len(index, unit_no));
    return r < 0 ? blocks_read_error(r, off, fault) : 0;
}

static struct slot *find_slot_locked(struct index *index, uint64_t unit_no)
{
    for (unsigned i = 0; i < index->nslots; i++)
        if (index->slots[i].bytes && index->slots[i].unit_no == unit_no)
            return &index->slots[i];
    return NULL;
}

/* The slot that is free or was used longest ago. */
static struct slot *oldest_slot_locked(struct index *index)
{
    struct slot *oldest = &index->slots[0];

    for (unsigned i = 1; i < index->nslots; i++)
        if (index->slots[i].used < oldest->used)
            oldest = &index->slots[i];
    return oldest;
}

static bool copy_kept(struct index *index, uint64_t unit_no, size_t off,
                      uint8_t *dst, size_t len)
{
    struct slot *slot;

    pthread_mutex_lock(&index->lock);
    slot = find_slot_locked(index, unit_no);
    if (slot) {
        memcpy(dst, slot->bytes + off, len);
        slot->used = ++index->clock;
    }
    pthread_mutex_unlock(&index->lock);
    return slot != NULL;
}

/* Keep a decoded unit in place of another one.  `bytes` belongs to the index
   from now on. */
static void keep(struct index *index, uint64_t unit_no, uint8_t *bytes)
{
    struct slot *slot;
    uint8_t *old;

    pthread_mutex_lock(&index->lock);
    slot = find_slot_locked(index, unit_no);
    if (!slot)
        slot = oldest_slot_locked(index);
    old = slot->bytes;
    slot->bytes = bytes;
    slot->unit_no = unit_no;
    slot->used = ++index->clock;
    pthread_mutex_unlock(&index->lock);
    free(old);
}

/* Copy bytes that lie inside one unit. */
static int read_in_unit(struct index *index, uint64_t off, uint8_t *dst,
                        size_t len, struct fault *fault)
{
    uint64_t unit_no = off / index->unit;
    size_t unit_off = (size_t)(off % index->unit);
    uint8_t *bytes;
    int r;

    if (copy_kept(index, unit_no, unit_off, dst, len))
        return 0;
    bytes = malloc(unit_len(index, unit_no));
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = load_unit(index, unit_no, bytes, fault);
    if (r < 0) {
        free(bytes);
        return r;
    }
    memcpy(dst, bytes + unit_off, len);
    keep(index, unit_no, bytes);
    return 0;
}

static int read_bytes(struct index *index, uint64_t off, uint8_t *dst,
                      size_t len, struct fault *fault)
{
    if (!chunk_kind_has_blocks(index->header->kind)) {
        chunk_fill(index->chunk, (uint32_t)off, dst, len);
        return 0;
    }
    while (len > 0) {
        size_t n =
            unit_len(index, off / index->unit) - (size_t)(off % index->unit);
        int r;

        if (n > len)
            n = len;
        r = read_in_unit(index, off, dst, n, fault);
        if (r < 0)
            return r;
        off += n;
        dst += n;
        len -= n;
    }
    return 0;
}

int index_read(struct index *index, uint64_t first, size_t n, int64_t *entries,
               struct fault *fault)
{
    int r = read_bytes(index, first * FRAME_INDEX_TYPESIZE, (uint8_t *)entries,
                       n * FRAME_INDEX_TYPESIZE, fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        entries[i] = (int64_t)le64toh((uint64_t)entries[i]);
    return 0;
}

static bool is_right(const struct index *index, uint32_t block_no,
                     const uint8_t *bytes, size_t len)
{
    return !index->sums ||
           chunk_sums_check_block(chunk_sums_blocks(index->sums), block_no,
                                  bytes, len);
}

/* Is each block stored as one stream for each byte of an entry? */
static bool has_planes(const struct chunk_header *header)
{
    static const uint8_t filters[CHUNK_NFILTERS] = { 0, 0, 0,
                                                     0, 0, FILTER_SHUFFLE };

    return header->kind == CHUNK_BLOCKS &&
           header->version >= PLANES_VERSION_MIN &&
           !(header->flags & CHUNK_FLAG_UNSPLIT) && !header->instrumented &&
           memcmp(header->filters, filters, sizeof(filters)) == 0;
}

size_t index_read_block(struct index *index, uint64_t block_no,
                        uint32_t blocksize, uint8_t *dst, size_t cap)
{
    uint32_t off;
    uint32_t len;

    if (!has_planes(index->header) || index->header->has_dict ||
        index->header->codec != CODEC_BLOSCLZ || index->unit != blocksize ||
        (block_no + 1) * blocksize > index->header->nbytes)
        return 0;
    chunk_block_extent(index->chunk, (uint32_t)block_no, &off, &len);
    if (len > cap ||
        store_object_read_at(index->object, index->off + off, dst, len) < 0)
        return 0;
    return is_right(index, (uint32_t)block_no, dst, len) ? len : 0;
}

/* Is each plane of a block one repeated byte?  Format: chunk.md, 6. */
static bool parse_runs(const uint8_t *bytes, size_t len, uint64_t *entry)
{
    *entry = 0;
    for (unsigned i = 0; i < FRAME_INDEX_TYPESIZE; i++) {
        uint32_t value;
        size_t n;

        if (len < CHUNK_STREAM_PREFIX_LEN)
            return false;
        value = -load_le32(bytes);
        n = CHUNK_STREAM_PREFIX_LEN + (value != 0);
        if (value > UINT8_MAX || n > len ||
            (value != 0 && !(bytes[CHUNK_STREAM_PREFIX_LEN] & CHUNK_RUN_TOKEN)))
            return false;
        *entry |= (uint64_t)value << (8 * i);
        bytes += n;
        len -= n;
    }
    return true;
}

/* Does a full block hold one repeated entry? */
static bool is_run(struct index *index, uint32_t block_no, uint64_t *entry)
{
    uint8_t bytes[FRAME_INDEX_TYPESIZE * (CHUNK_STREAM_PREFIX_LEN + 1)];
    uint32_t off;
    uint32_t len;

    chunk_block_extent(index->chunk, block_no, &off, &len);
    if (len > sizeof(bytes)) /* the sum is that of all bytes */
        len = index->sums ? 0 : (uint32_t)sizeof(bytes);
    return store_object_read_at(index->object, index->off + off, bytes, len) ==
               0 &&
           is_right(index, block_no, bytes, len) &&
           parse_runs(bytes, len, entry);
}

uint64_t index_run(struct index *index, uint64_t first, int64_t *entry)
{
    uint64_t off = first * FRAME_INDEX_TYPESIZE;
    uint64_t unit_no = off / index->unit;
    struct fault ignored;
    uint64_t value;

    if (!chunk_kind_has_blocks(index->header->kind))
        return index_period(index) == 1 &&
                       index_read(index, first, 1, entry, &ignored) == 0
                   ? index_nentries(index) - first
                   : 0;
    if (!has_planes(index->header) || unit_len(index, unit_no) < index->unit ||
        index->unit % FRAME_INDEX_TYPESIZE != 0 ||
        !is_run(index, (uint32_t)unit_no, &value))
        return 0;
    *entry = (int64_t)value;
    return (index->unit - off % index->unit) / FRAME_INDEX_TYPESIZE;
}

/* Format: frame.md, 5. */
static int check_header(const struct chunk_header *header, uint64_t avail,
                        struct fault *fault)
{
    if (header->cbytes > avail)
        return fault_set(fault, -EBADMSG, 0,
                         "the index does not fit into the frame");
    if (header->typesize != FRAME_INDEX_TYPESIZE)
        return fault_set(fault, -EBADMSG, 0, "typesize of the index is not 8");
    if (header->nbytes == 0 || header->nbytes % FRAME_INDEX_TYPESIZE != 0)
        return fault_set(fault, -EBADMSG, 0,
                         "the index is not a whole number of entries");
    if (chunk_kind_has_blocks(header->kind) && header->kind != CHUNK_COPY &&
        header->blocksize > INDEX_UNIT_MAX)
        return fault_set(fault, -ENOTSUP, 0,
                         "blocks of the index are too large");
    return 0;
}

static int open_chunk(struct index *index, const struct chunk_header *header,
                      const uint8_t *bytes, size_t len, struct fault *fault)
{
    const struct blocks_source source = {
        .object = index->object,
        .off = index->off,
    };
    const struct blocks_head head = {
        .header = header,
        .bytes = bytes,
        .len = len,
    };

    return blocks_open_chunk(&source, &head, &index->chunk, fault);
}

static int keep_first_block(struct index *index, struct fault *fault)
{
    if (!chunk_kind_has_blocks(index->header->kind) ||
        !chunk_needs_first_block(index->chunk))
        return 0;
    index->first_block = malloc(unit_len(index, 0));
    if (!index->first_block)
        return fault_set(fault, -ENOMEM, 0, NULL);
    return decode_block(index, 0, index->first_block, fault);
}

/* Compare the head of the index with its sum, and keep the sums. */
static int check_sums(struct index *index, const struct index_source *source,
                      const uint8_t *head, struct fault *fault)
{
    if (chunk_sums_len(chunk_get_header(index->chunk)) != source->sums_len ||
        !chunk_sums_check_head(index->chunk, head, 0, source->sums))
        return fault_set(fault, -EBADMSG, 0, what_mismatch);
    index->sums = malloc(source->sums_len);
    if (!index->sums)
        return fault_set(fault, -ENOMEM, 0, NULL);
    memcpy(index->sums, source->sums, source->sums_len);
    return 0;
}

/* Do so with the head in memory, or read it again if it is long. */
static int read_sums(struct index *index, const struct index_source *source,
                     struct fault *fault)
{
    size_t len = chunk_sums_head_len(index->chunk);
    uint8_t *head;
    int r;

    if (!source->sums)
        return 0;
    if (len <= source->head_len)
        return check_sums(index, source, source->head, fault);
    head = malloc(len);
    if (!head)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = store_object_read_at(index->object, index->off, head, len);
    r = r < 0 ? blocks_read_error(r, 0, fault)
              : check_sums(index, source, head, fault);
    free(head);
    return r;
}

static int open_index(struct index *index, const struct index_source *source,
                      struct fault *fault)
{
    struct chunk_header header;
    int r = chunk_header_parse(source->head, source->head_len, &header, fault);

    if (r == 0)
        r = check_header(&header, source->end - source->off, fault);
    if (r == 0)
        r = open_chunk(index, &header, source->head, source->head_len, fault);
    if (r == 0)
        r = read_sums(index, source, fault);
    if (r < 0)
        return r;
    index->header = chunk_get_header(index->chunk);
    index->unit = header.kind == CHUNK_COPY && !index->sums ? INDEX_COPY_UNIT
                                                            : header.blocksize;
    index->nslots = INDEX_SLOTS;
    while (index->nslots > 1 &&
           (uint64_t)index->nslots * index->unit > INDEX_KEPT_BYTES)
        index->nslots--;
    return keep_first_block(index, fault);
}

int index_open(const struct index_source *source, struct index **out,
               struct fault *fault)
{
    struct index *index = calloc(1, sizeof(*index));
    int r;

    if (!index)
        return fault_set(fault, -ENOMEM, source->off, NULL);
    pthread_mutex_init(&index->lock, NULL);
    index->object = source->object;
    index->off = source->off;
    r = open_index(index, source, fault);
    if (r < 0) {
        fault->off += source->off;
        index_close(index);
        return r;
    }
    *out = index;
    return 0;
}

void index_close(struct index *index)
{
    if (!index)
        return;
    for (unsigned i = 0; i < INDEX_SLOTS; i++)
        free(index->slots[i].bytes);
    free(index->first_block);
    free(index->sums);
    chunk_decoder_free(index->decoder);
    chunk_close(index->chunk);
    pthread_mutex_destroy(&index->lock);
    free(index);
}
