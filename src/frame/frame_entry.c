/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/size.h"
#include "frame/frame_private.h"

/* Number of entries that a search reads at a time. */
enum {
    ENTRY_BATCH = 512
};

static int read_raw(struct frame *frame, uint64_t first, size_t n, int64_t *raw,
                    struct fault *fault)
{
    int r = index_read(frame->index, first, n, raw, fault);

    if (r < 0)
        frame_fault_name(frame, fault);
    return r;
}

int frame_read_raw(struct frame *frame, uint64_t first, size_t n, int64_t *raw,
                   struct fault *fault)
{
    int r = read_raw(frame, first, n, raw, fault);

    return frame_check_kept(frame, r, fault);
}

/* Record a fault of an entry; the fault lies at the start of the index. */
static int entry_fault(const struct frame *frame, uint64_t chunk_no,
                       const char *what, struct fault *fault)
{
    frame_fault(frame, -EBADMSG, frame->base + frame_index_off(&frame->info),
                what, fault);
    fault->chunk_no = (int64_t)chunk_no;
    return -EBADMSG;
}

/* Test the bits in the order that frame.md, 5.1 prescribes. */
static bool special_kind(uint64_t raw, enum chunk_kind *out)
{
    unsigned bits = (unsigned)(raw >> FRAME_ENTRY_KIND_SHIFT);

    if (bits & FRAME_ENTRY_ZEROS)
        *out = CHUNK_ZEROS;
    else if (bits & FRAME_ENTRY_UNINIT)
        *out = CHUNK_UNINIT;
    else if (bits & FRAME_ENTRY_NANS)
        *out = CHUNK_NANS;
    else
        return false;
    return true;
}

int64_t frame_special_entry(enum chunk_kind kind)
{
    uint64_t bits = FRAME_ENTRY_SPECIAL;

    switch (kind) {
    case CHUNK_NANS:
        bits |= FRAME_ENTRY_NANS;
        break;
    case CHUNK_UNINIT:
        bits |= FRAME_ENTRY_UNINIT;
        break;
    default:
        bits |= FRAME_ENTRY_ZEROS;
        break;
    }
    return (int64_t)(bits << FRAME_ENTRY_KIND_SHIFT);
}

int64_t frame_plain_entry(int64_t raw)
{
    enum chunk_kind kind;

    return raw < 0 && special_kind((uint64_t)raw, &kind)
               ? frame_special_entry(kind)
               : raw;
}

/* The first sparse frames stored ids of chunk files negated, and had no special
   values.  Format: history.md, 4. */
int frame_parse_entry(const struct frame *frame, uint64_t chunk_no, int64_t raw,
                      struct frame_entry *out, struct fault *fault)
{
    const struct frame_info *info = &frame->info;
    bool negated = info->sparse && info->format == FRAME_FORMAT_B;
    struct frame_entry entry = { 0 };

    if (raw < 0 && !negated) {
        entry.special = true;
        if (!special_kind((uint64_t)raw, &entry.kind))
            return entry_fault(frame, chunk_no,
                               "index entry is of no known kind", fault);
    } else if (info->sparse) {
        entry.place = raw < 0 ? -(uint64_t)raw : (uint64_t)raw;
        if (entry.place > UINT32_MAX)
            return entry_fault(frame, chunk_no,
                               "index entry is no number of a chunk file",
                               fault);
    } else {
        if (!size_within((uint64_t)raw, FRAME_CHUNK_MIN, info->cbytes))
            return entry_fault(frame, chunk_no,
                               "index entry lies outside the chunks section",
                               fault);
        entry.place = frame->base + info->header_len + (uint64_t)raw;
    }
    *out = entry;
    return 0;
}

int frame_get_entry_unchecked(struct frame *frame, uint64_t chunk_no,
                              struct frame_entry *out, struct fault *fault)
{
    int64_t raw;
    int r;

    if (chunk_no >= frame->info.nchunks)
        return fault_set(fault, -ERANGE, 0, NULL);
    r = read_raw(frame, chunk_no, 1, &raw, fault);
    return r < 0 ? r : frame_parse_entry(frame, chunk_no, raw, out, fault);
}

int frame_get_entry(struct frame *frame, uint64_t chunk_no,
                    struct frame_entry *out, struct fault *fault)
{
    int r = frame_get_entry_unchecked(frame, chunk_no, out, fault);

    return frame_check_kept(frame, r, fault);
}

/* Look up chunks whose entries are read at once.  If that fails, read each by
   itself, because an error of the index may concern only some of them. */
static int get_some(struct frame *frame, const struct frame_entries *which,
                    size_t from, size_t n, struct fault *fault)
{
    uint64_t first = which->first + from;
    int64_t raw[ENTRY_BATCH];
    bool whole = read_raw(frame, first, n, raw, fault) == 0;

    for (size_t i = 0; i < n; i++) {
        int r = whole ? frame_parse_entry(frame, first + i, raw[i],
                                          &which->entries[from + i], fault)
                      : frame_get_entry_unchecked(
                            frame, first + i, &which->entries[from + i], fault);

        if (r < 0 && r != -EBADMSG && r != -ENOTSUP)
            return r;
        which->errors[from + i] = r;
    }
    return 0;
}

int frame_get_entries(struct frame *frame, const struct frame_entries *which,
                      struct fault *fault)
{
    int r = 0;

    if (which->first > frame->info.nchunks ||
        which->n > frame->info.nchunks - which->first)
        return fault_set(fault, -ERANGE, 0, NULL);
    for (size_t i = 0; i < which->n && r == 0; i += ENTRY_BATCH) {
        size_t rest = which->n - i;

        r = get_some(frame, which, i, rest < ENTRY_BATCH ? rest : ENTRY_BATCH,
                     fault);
    }
    return frame_check_kept(frame, r, fault);
}

uint64_t frame_place_no(const struct frame *frame,
                        const struct frame_entry *entry)
{
    return frame->info.sparse
               ? entry->place
               : entry->place - frame->base - frame->info.header_len;
}

bool frame_chunk_has_sums(const struct frame *frame,
                          const struct frame_entry *entry)
{
    return frame->sums && !frame->unchecked && !entry->special &&
           frame_sums_have(frame->sums, frame_place_no(frame, entry));
}

/* Count the chunk of an entry. */
static int count_entry(const struct frame *frame, uint64_t chunk_no,
                       int64_t raw, struct frame_sums_count *count,
                       struct fault *fault)
{
    struct frame_entry entry;
    int r = frame_parse_entry(frame, chunk_no, raw, &entry, fault);

    if (r < 0)
        return r;
    count->nstored += !entry.special;
    count->nsummed += frame_chunk_has_sums(frame, &entry);
    return 0;
}

int frame_count_sums(struct frame *frame, struct frame_sums_count *out,
                     struct fault *fault)
{
    struct frame_sums_count count = {
        .in_force = frame->sums && !frame->unchecked,
    };
    uint64_t end = frame->info.nchunks;
    int64_t raw[ENTRY_BATCH];

    for (uint64_t i = 0; i < end;) {
        struct frame_entry ignored;
        uint64_t n = frame_special_run(frame, i, &ignored);
        int r = 0;

        if (n == 0) {
            n = end - i < ENTRY_BATCH ? end - i : ENTRY_BATCH;
            r = frame_read_raw(frame, i, (size_t)n, raw, fault);
            for (size_t k = 0; k < n && r == 0; k++)
                r = count_entry(frame, i + k, raw[k], &count, fault);
        }
        if (r < 0)
            return r;
        i += n;
    }
    *out = count;
    return 0;
}

uint64_t frame_special_run(struct frame *frame, uint64_t first,
                           struct frame_entry *out)
{
    struct fault ignored;
    int64_t raw;
    uint64_t n = index_run(frame->index, first, &raw);

    if (n == 0 || frame_check_kept(frame, 0, &ignored) < 0 ||
        frame_parse_entry(frame, first, raw, out, &ignored) < 0)
        return 0;
    return out->special ? n : 0;
}

/* Invalid entries are not holes; reading their chunks reports the fault. */
static bool is_hole(const struct frame *frame, int64_t raw)
{
    struct frame_entry entry;
    struct fault ignored;

    return frame_parse_entry(frame, 0, raw, &entry, &ignored) == 0 &&
           entry.special && entry.kind != CHUNK_NANS;
}

/* Returns how many chunks from `chunk_no` on the search can skip, because they
   repeat and do not match. */
static uint64_t skip_run(struct frame *frame, uint64_t chunk_no, bool hole)
{
    struct frame_entry entry = { 0 };
    uint64_t n = frame_special_run(frame, chunk_no, &entry);

    return (entry.kind != CHUNK_NANS) == hole ? 0 : n;
}

int frame_next(struct frame *frame, uint64_t chunk_no, bool hole, uint64_t *out,
               struct fault *fault)
{
    uint64_t end = frame->info.nchunks;
    int64_t raw[ENTRY_BATCH];

    /* Entries after one period repeat those before, so the search can stop. */
    if (chunk_no < end && end - chunk_no > index_period(frame->index))
        end = chunk_no + index_period(frame->index);
    while (chunk_no < end) {
        size_t n = end - chunk_no < ENTRY_BATCH ? (size_t)(end - chunk_no)
                                                : ENTRY_BATCH;
        int r = frame_read_raw(frame, chunk_no, n, raw, fault);

        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            if (is_hole(frame, raw[i]) == hole) {
                *out = chunk_no + i;
                return 0;
            }
        chunk_no += n;
        if (chunk_no < end)
            chunk_no += skip_run(frame, chunk_no, hole);
    }
    *out = frame->info.nchunks;
    return 0;
}
