/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "encode_samples.h"
#include "frame/frame_sums.h"

enum {
    NCHUNKS = 3000,
    NGROUPS = 3,
    NLAYERS = 5,
    GUARD_MAX = 4096,
};

static const struct frame_info info = {
    .header_len = 97,
    .frame_len = 123456,
    .nbytes = 10000000,
    .cbytes = 100000,
    .typesize = 8,
    .chunksize = 4000,
};

/* The parts of a frame from which a guard can be made, and its guard and
   fingerprint. */
struct state {
    uint8_t *index;
    size_t index_len;
    struct frame_sums found;
    uint8_t layers[NLAYERS * FRAME_GUARD_LAYER_LEN];
    bool layers_lost; /* the metalayers are damaged, too */
    uint8_t guard[GUARD_MAX];
    size_t guard_len;
    uint8_t fingerprint[FRAME_FINGERPRINT_LEN];
};

static struct range ranges[] = { { 0, 100 }, { 200, 300 }, { 1000, 1001 } };

/* Make a state, with ranges and groups or without. */
static void begin(struct state *state, bool plain)
{
    const struct chunk_params params = {
        .typesize = FRAME_INDEX_TYPESIZE,
        .blocksize = 8192,
        .codec = CODEC_BLOSCLZ,
        .clevel = 5,
        .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
        .split_mode = CHUNK_SPLIT_FORWARD,
    };
    uint8_t sizes[NGROUPS * FRAME_GUARD_SIZES_LEN] = { 1, 2, 3 };
    struct frame_sums sums = { .nvl = 3,
                               .nfixed = NLAYERS - 3,
                               .tags = draw(),
                               .trailer = draw(),
                               .names = draw(),
                               .array = draw() };

    for (size_t i = 0; i < sizeof(state->layers); i++)
        state->layers[i] = (uint8_t)draw();
    sums.layers = state->layers;
    state->layers_lost = false;
    for (size_t i = 0; i < NCHUNKS; i++)
        store_le64(src + 8 * i, 1000 * i + draw() % 100);
    state->index_len = encode(&params, 8 * NCHUNKS);
    state->index = malloc(state->index_len);
    ck_assert_ptr_nonnull(state->index);
    memcpy(state->index, chunk, state->index_len);
    ck_assert_int_eq(frame_sums_of_index(state->index, state->index_len, &sums),
                     0);
    state->found = sums;
    if (!plain) {
        sums.unsummed.list = ranges;
        sums.unsummed.n = sizeof(ranges) / sizeof(ranges[0]);
        sums.sizes = sizes;
        sums.ngroups = NGROUPS;
    }
    state->guard_len = frame_sums_guard_len(&sums);
    ck_assert_uint_le(state->guard_len, GUARD_MAX);
    frame_sums_encode(&sums, state->guard);
    ck_assert_int_eq(frame_sums_fingerprint(&info, state->guard,
                                            state->guard_len,
                                            state->fingerprint),
                     0);
}

static void end(struct state *state)
{
    free(state->index);
    free(state->found.index);
}

/* Mend a damaged guard.  If that works, the result must be `state->guard`. */
static int mend(const struct state *state, const struct frame_info *of,
                const uint8_t *guard, size_t len)
{
    const struct frame_guard stored = {
        .info = of,
        .bytes = guard,
        .len = len,
        .fingerprint = state->fingerprint,
        .found = &state->found,
        .has_layers = !state->layers_lost,
    };
    struct frame_sums *sums = NULL;
    uint8_t again[GUARD_MAX];
    int r = frame_sums_mend(&stored, &sums);

    if (r == 0) {
        ck_assert_uint_eq(frame_sums_guard_len(sums), state->guard_len);
        frame_sums_encode(sums, again);
        ck_assert_mem_eq(again, state->guard, state->guard_len);
    }
    frame_sums_free(sums);
    return r;
}

START_TEST(a_guard_is_read_as_it_was_written)
{
    struct state state;
    struct frame_sums *sums;
    uint32_t nbytes[2] = { 7, 8 };

    begin(&state, false);
    ck_assert_int_eq(frame_sums_parse(state.guard, state.guard_len, &sums), 0);
    ck_assert(!frame_sums_have(sums, 0));
    ck_assert(!frame_sums_have(sums, 99));
    ck_assert(frame_sums_have(sums, 100));
    ck_assert(!frame_sums_have(sums, 1000));
    ck_assert(frame_sums_have(sums, UINT64_MAX));
    ck_assert_uint_eq(sums->ngroups, NGROUPS);
    ck_assert(!frame_sums_check_sizes(sums, 0, nbytes, 2));
    ck_assert(!frame_sums_check_sizes(sums, NGROUPS, nbytes, 2));
    store_le64(sums->sizes, frame_sums_of_sizes(nbytes, 2));
    ck_assert(frame_sums_check_sizes(sums, 0, nbytes, 2));
    frame_sums_free(sums);
    end(&state);
}
END_TEST

START_TEST(a_guard_that_is_cut_off_is_refused_or_shorter)
{
    struct state state;
    struct frame_sums *sums;

    begin(&state, false);
    for (size_t len = 0; len < state.guard_len; len++) {
        uint8_t *cut = malloc(len + 1); /* so that reads beyond it show */

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, state.guard, len);
        if (frame_sums_parse(cut, len, &sums) == 0) {
            ck_assert_uint_eq(frame_sums_guard_len(sums), len);
            frame_sums_free(sums);
        }
        free(cut);
    }
    end(&state);
}
END_TEST

START_TEST(counts_and_ranges_that_make_no_sense_are_refused)
{
    const struct {
        size_t off;
        uint64_t value;
    } rows[] = {
        { FRAME_GUARD_COUNT_OFF, UINT64_MAX },
        { FRAME_GUARD_COUNT_OFF, UINT64_C(1) << 60 },
        { FRAME_GUARD_NGROUPS_OFF, UINT64_MAX },
        { FRAME_GUARD_NGROUPS_OFF, UINT64_C(1) << 61 },
        { FRAME_GUARD_NVL_OFF, UINT64_MAX },
        { FRAME_GUARD_NVL_OFF, 1 << 10 },
        { FRAME_GUARD_NFIXED_OFF, UINT64_MAX },
        { FRAME_GUARD_NFIXED_OFF, UINT64_C(1) << 61 },
        { FRAME_GUARD_RUNS_OFF + 8, 0 },           /* length */
        { FRAME_GUARD_RUNS_OFF + 8, 200 },         /* touches the next */
        { FRAME_GUARD_RUNS_OFF + 8, UINT64_MAX },  /* overlaps it */
        { FRAME_GUARD_RUNS_OFF, UINT64_MAX - 98 }, /* ends beyond 64 bits */
        { FRAME_GUARD_RUNS_OFF + 16, 100 },        /* touches the last */
        { FRAME_GUARD_RUNS_OFF + 16, 2000 },       /* descends */
    };
    struct state state;
    struct frame_sums *sums;

    begin(&state, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t right = load_le64(state.guard + rows[i].off);

        store_le64(state.guard + rows[i].off, rows[i].value);
        ck_assert_msg(frame_sums_parse(state.guard, state.guard_len, &sums) ==
                          -EBADMSG,
                      "row %zu", i);
        store_le64(state.guard + rows[i].off, right);
    }
    end(&state);
}
END_TEST

START_TEST(a_plain_guard_is_mended_whatever_is_left_of_it)
{
    struct state state;
    uint8_t noise[GUARD_MAX];

    begin(&state, true);
    for (size_t len = 0; len < 200; len++) {
        for (size_t i = 0; i < len; i++)
            noise[i] = (uint8_t)draw();
        ck_assert_int_eq(mend(&state, &info, noise, len), 0);
    }
    end(&state);
}
END_TEST

START_TEST(one_bit_of_another_guard_is_mended)
{
    struct state state;
    uint8_t guard[GUARD_MAX];
    size_t record;

    begin(&state, false);
    record = FRAME_GUARD_RUNS_OFF + 3 * FRAME_GUARD_RUN_LEN +
             (NGROUPS + NLAYERS) * FRAME_GUARD_SIZES_LEN;
    for (size_t bit = 0; bit < 8 * state.guard_len; bit += 3) {
        memcpy(guard, state.guard, state.guard_len);
        guard[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), 0);
    }
    memset(guard, 0, FRAME_GUARD_MAGIC_LEN);
    memset(guard + record, 0, state.guard_len - record);
    memcpy(guard + FRAME_GUARD_COUNT_OFF, state.guard + FRAME_GUARD_COUNT_OFF,
           record - FRAME_GUARD_COUNT_OFF);
    ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), 0);
    guard[FRAME_GUARD_RUNS_OFF] ^= 3;
    ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), -EBADMSG);
    end(&state);
}
END_TEST

START_TEST(sums_of_metalayers_are_mended_if_these_are_right)
{
    struct state state;
    uint8_t guard[GUARD_MAX];
    size_t layers = FRAME_GUARD_RUNS_OFF + 3 * FRAME_GUARD_RUN_LEN +
                    NGROUPS * FRAME_GUARD_SIZES_LEN;

    begin(&state, false);
    memcpy(guard, state.guard, state.guard_len);
    memset(guard + FRAME_GUARD_NVL_OFF, 0xff,
           FRAME_GUARD_RUNS_OFF - FRAME_GUARD_NVL_OFF);
    memset(guard + layers, 0, sizeof(state.layers));
    ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), 0);
    state.layers_lost = true;
    ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), -EBADMSG);
    memcpy(guard, state.guard, state.guard_len);
    guard[layers] ^= 1;
    ck_assert_int_eq(mend(&state, &info, guard, state.guard_len), 0);
    end(&state);
}
END_TEST

START_TEST(nothing_else_is_taken_for_a_damaged_guard)
{
    struct frame_info other = info;
    struct state state;

    begin(&state, true);
    other.nbytes ^= 1;
    ck_assert_int_eq(mend(&state, &other, state.guard, state.guard_len),
                     -EBADMSG);
    for (size_t i = 0; i < state.found.index_len; i++) {
        state.found.index[i] ^= 4;
        ck_assert_int_eq(mend(&state, &info, state.guard, 0), -EBADMSG);
        state.found.index[i] ^= 4;
    }
    state.found.tags ^= 1;
    ck_assert_int_eq(mend(&state, &info, state.guard, 0), -EBADMSG);
    end(&state);
}
END_TEST

START_TEST(an_index_that_is_cut_off_has_no_record)
{
    struct frame_sums sums = { 0 };
    struct state state;

    begin(&state, true);
    ck_assert_int_lt(
        frame_sums_of_index(state.index, state.index_len - 1, &sums), 0);
    ck_assert_int_lt(frame_sums_of_index(state.index, 20, &sums), 0);
    end(&state);
}
END_TEST

START_TEST(a_few_damaged_bits_of_a_fingerprint_do_not_count)
{
    struct state state;
    uint8_t other[FRAME_FINGERPRINT_LEN];

    begin(&state, true);
    memcpy(other, state.fingerprint, sizeof(other));
    other[3] ^= 0xff;
    ck_assert(frame_sums_is_fingerprint(other, state.fingerprint));
    other[9] ^= 1;
    ck_assert(!frame_sums_is_fingerprint(other, state.fingerprint));
    end(&state);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_guard_is_read_as_it_was_written,
        a_guard_that_is_cut_off_is_refused_or_shorter,
        counts_and_ranges_that_make_no_sense_are_refused,
        a_plain_guard_is_mended_whatever_is_left_of_it,
        one_bit_of_another_guard_is_mended,
        sums_of_metalayers_are_mended_if_these_are_right,
        nothing_else_is_taken_for_a_damaged_guard,
        an_index_that_is_cut_off_has_no_record,
        a_few_damaged_bits_of_a_fingerprint_do_not_count,
        NULL,
    };

    return run_encode_suite("frame_sums", tests);
}
