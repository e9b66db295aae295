/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "suite.h"
#include "writer/chunk_tags.h"

static struct chunk_tags tags;

/* Are these the tags of all chunks? */
static bool are(const uint32_t *wanted, size_t n)
{
    if (tags.unknown || tags.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (chunk_tags_get(&tags, i) != wanted[i])
            return false;
    return chunk_tags_get(&tags, n) == 0;
}

#define CHECK(...)                             \
    ck_assert(                                 \
        are((const uint32_t[]){ __VA_ARGS__ }, \
            sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)))

START_TEST(tags_follow_their_chunks)
{
    const uint64_t order[] = { 3, 1, 0, 2 };

    chunk_tags_splice(&tags, 0, 0, 1, 7);
    chunk_tags_splice(&tags, 1, 0, 2, 8);
    CHECK(7, 8, 8);
    chunk_tags_put(&tags, 1, 1, 9);
    CHECK(7, 9, 8);
    chunk_tags_splice(&tags, 1, 1, 2, 5);
    CHECK(7, 5, 5, 8);
    chunk_tags_put(&tags, 1, 1, 6);
    chunk_tags_reorder(&tags, order);
    CHECK(8, 6, 7, 5);
    chunk_tags_splice(&tags, 0, 3, 0, 0);
    CHECK(5);
    chunk_tags_splice(&tags, 0, 1, 0, 0);
    ck_assert(are(NULL, 0));
    chunk_tags_reorder(&tags, NULL);
    ck_assert(are(NULL, 0));
    chunk_tags_free(&tags);
}
END_TEST

START_TEST(too_many_chunks_have_none_until_there_are_fewer)
{
    chunk_tags_splice(&tags, 0, 0, FRAME_TAGS_MAX, 7);
    ck_assert_uint_eq(chunk_tags_get(&tags, FRAME_TAGS_MAX - 1), 7);
    chunk_tags_splice(&tags, 5, 0, 1, 8);
    ck_assert(tags.unknown);
    ck_assert_uint_eq(chunk_tags_get(&tags, 5), 0);
    chunk_tags_put(&tags, 5, 1, 9);
    chunk_tags_splice(&tags, 0, FRAME_TAGS_MAX - 1, 0, 0);
    chunk_tags_revive(&tags, FRAME_TAGS_MAX + 1);
    ck_assert(tags.unknown);
    chunk_tags_revive(&tags, 2);
    CHECK(0, 0);
    chunk_tags_put(&tags, 1, 1, 9);
    chunk_tags_revive(&tags, 2);
    CHECK(0, 9);
    chunk_tags_splice(&tags, 0, 0, UINT64_C(1) << 40, 0);
    ck_assert(tags.unknown);
    chunk_tags_free(&tags);
}
END_TEST

START_TEST(tags_are_loaded_as_they_were_stored)
{
    uint8_t bytes[3 * FRAME_TAG_LEN];
    struct frame_tags *stored;

    chunk_tags_splice(&tags, 0, 0, 3, UINT32_MAX - 1);
    chunk_tags_put(&tags, 1, 1, 5);
    chunk_tags_encode(&tags, 3, bytes);
    ck_assert_uint_eq(load_le32(bytes + FRAME_TAG_LEN), 5);
    stored = frame_tags_new(bytes, 3);
    ck_assert_ptr_nonnull(stored);
    chunk_tags_load(&tags, stored, 3);
    CHECK(UINT32_MAX - 1, 5, UINT32_MAX - 1);
    chunk_tags_load(&tags, stored, 2);
    CHECK(UINT32_MAX - 1, 5);
    stored->damaged = true;
    chunk_tags_load(&tags, stored, 3);
    CHECK(0, 0, 0);
    chunk_tags_load(&tags, NULL, FRAME_TAGS_MAX + 1);
    ck_assert(tags.unknown);
    memset(bytes, 0xff, sizeof(bytes));
    chunk_tags_encode(&tags, 3, bytes);
    ck_assert_uint_eq(load_le32(bytes), 0);
    free(stored);
    chunk_tags_free(&tags);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        tags_follow_their_chunks,
        too_many_chunks_have_none_until_there_are_fewer,
        tags_are_loaded_as_they_were_stored,
        NULL,
    };

    return suite_run("chunk_tags", tests);
}
