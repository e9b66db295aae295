/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "chunk/chunk_sums.h"
#include "encode_samples.h"

enum {
    NBYTES = 40000,
    PLACE = 77,
    SUMMED_MAX = CAP + 4096, /* a chunk with its record */
};

/* A chunk with its record, and what is needed to compare them. */
struct sample {
    struct chunk *chunk;
    struct chunk_sums_place place;
    uint8_t bytes[SUMMED_MAX];
};

static void open_chunk(struct sample *sample, size_t len)
{
    struct chunk_header header;
    struct fault fault;

    ck_assert_int_eq(chunk_header_parse(sample->bytes, len, &header, &fault),
                     0);
    ck_assert_uint_eq(header.cbytes, len);
    ck_assert_int_eq(
        chunk_open(&header, sample->bytes, NULL, &sample->chunk, &fault), 0);
}

/* Encode `src`, and make the record. */
static void begin(struct sample *sample, const struct chunk_params *params,
                  enum chunk_kind kind)
{
    struct chunk_params wanted = *params;
    size_t len;

    wanted.sums = true;
    len = encode(&wanted, NBYTES);
    memcpy(sample->bytes, chunk, len);
    open_chunk(sample, len);
    ck_assert_int_eq(chunk_get_header(sample->chunk)->kind, kind);
    ck_assert(chunk_sums_find(sample->chunk, &sample->place));
    ck_assert_uint_eq(sample->place.len,
                      chunk_sums_len(chunk_get_header(sample->chunk)));
    ck_assert_uint_eq(chunk_sums_len_behind(chunk_get_header(sample->chunk)),
                      sample->place.off == len ? sample->place.len : 0);
    chunk_sums_make(sample->chunk, sample->bytes, PLACE,
                    sample->bytes + sample->place.off);
}

static bool head_is_right(const struct sample *sample, uint64_t place)
{
    return chunk_sums_check_head(sample->chunk, sample->bytes, place,
                                 sample->bytes + sample->place.off);
}

static bool block_is_right(const struct sample *sample, uint32_t block)
{
    const uint8_t *record = sample->bytes + sample->place.off;
    uint32_t off;
    uint32_t len;

    chunk_block_extent(sample->chunk, block, &off, &len);
    return chunk_sums_check_block(chunk_sums_blocks(record), block,
                                  sample->bytes + off, len);
}

static bool all_is_right(const struct sample *sample)
{
    const struct chunk_header *header = chunk_get_header(sample->chunk);
    bool right = head_is_right(sample, PLACE);

    for (uint32_t i = 0;
         i < header->nblocks && chunk_kind_has_blocks(header->kind); i++)
        right = right && block_is_right(sample, i);
    return right;
}

/* Flip a bit of each byte of the chunk, outside the record. */
static void check_flips(struct sample *sample)
{
    uint32_t cbytes = chunk_get_header(sample->chunk)->cbytes;

    ck_assert(all_is_right(sample));
    ck_assert(!head_is_right(sample, PLACE + 1));
    for (uint32_t i = 0; i < cbytes; i++) {
        if (i >= sample->place.off && i < sample->place.off + sample->place.len)
            continue;
        sample->bytes[i] ^= (uint8_t)(1u << i % 8);
        ck_assert_msg(!all_is_right(sample), "byte %u", (unsigned)i);
        sample->bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    chunk_close(sample->chunk);
}

static struct sample sample;

START_TEST(every_bit_of_blocks_has_a_sum)
{
    struct chunk_params params = shuffled_lz4;

    params.blocksize = 4096;
    fill_mixture(NBYTES);
    begin(&sample, &params, CHUNK_BLOCKS);
    ck_assert_uint_lt(sample.place.off + sample.place.len,
                      chunk_get_header(sample.chunk)->cbytes);
    check_flips(&sample);
}
END_TEST

START_TEST(every_bit_of_a_copy_has_a_sum)
{
    fill_noise(NBYTES);
    begin(&sample, &plain_lz4, CHUNK_COPY);
    check_flips(&sample);
}
END_TEST

START_TEST(every_bit_of_a_repeated_item_has_a_sum)
{
    fill_repeated("abcd", 4, NBYTES);
    begin(&sample, &plain_lz4, CHUNK_VALUE);
    check_flips(&sample);
}
END_TEST

START_TEST(one_damaged_bit_of_a_sum_does_not_count)
{
    uint8_t *record;

    fill_noise(NBYTES);
    begin(&sample, &plain_lz4, CHUNK_COPY);
    record = sample.bytes + sample.place.off;
    for (uint32_t i = CHUNK_SUMS_HEAD_OFF;
         i < CHUNK_SUMS_BLOCKS_OFF + CHUNK_SUM_LEN; i++) {
        record[i] ^= 0x10;
        ck_assert(all_is_right(&sample));
        record[i] ^= 0x41;
        ck_assert(!all_is_right(&sample));
        record[i] ^= 0x51;
    }
    ck_assert(all_is_right(&sample));
    chunk_close(sample.chunk);
}
END_TEST

START_TEST(a_record_moves_with_its_chunk)
{
    fill_mixture(NBYTES);
    begin(&sample, &shuffled_lz4, CHUNK_BLOCKS);
    chunk_sums_move(sample.chunk, sample.bytes, PLACE + 1,
                    sample.bytes + sample.place.off);
    ck_assert(!head_is_right(&sample, PLACE));
    ck_assert(head_is_right(&sample, PLACE + 1));
    ck_assert(block_is_right(&sample, 0));
    chunk_close(sample.chunk);
}
END_TEST

START_TEST(room_is_made_in_chunks_without)
{
    static uint8_t narrow[CAP];
    struct chunk_params params = shuffled_lz4;
    struct fault fault;
    size_t len;

    params.blocksize = 4096;
    fill_mixture(NBYTES);
    len = encode(&params, NBYTES);
    memcpy(narrow, chunk, len);
    memcpy(sample.bytes, chunk, len);
    open_chunk(&sample, len);
    ck_assert(!chunk_sums_find(sample.chunk, &sample.place));
    len = chunk_sums_make_room(sample.chunk, narrow, sample.bytes);
    ck_assert_uint_gt(len, 0);
    chunk_close(sample.chunk);
    open_chunk(&sample, len);
    ck_assert(chunk_sums_find(sample.chunk, &sample.place));
    chunk_sums_make(sample.chunk, sample.bytes, PLACE,
                    sample.bytes + sample.place.off);
    ck_assert(all_is_right(&sample));
    ck_assert_int_eq(
        chunk_decode(&(struct stored_chunk){ sample.bytes, len, NULL }, decoded,
                     NBYTES, decoder, &fault),
        NBYTES);
    ck_assert_mem_eq(decoded, src, NBYTES);
    chunk_close(sample.chunk);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_bit_of_blocks_has_a_sum,
        every_bit_of_a_copy_has_a_sum,
        every_bit_of_a_repeated_item_has_a_sum,
        one_damaged_bit_of_a_sum_does_not_count,
        a_record_moves_with_its_chunk,
        room_is_made_in_chunks_without,
        NULL,
    };

    return run_encode_suite("chunk_sums", tests);
}
