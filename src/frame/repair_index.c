/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_change.h"
#include "frame/repair_private.h"

enum {
    BATCH = 512,            /* entries that are read at a time */
    ORIGINS_MAX = 64,       /* chunks tried as the one that is named first */
    SURVEY_MIN = 256 << 20, /* bytes that may be looked at for an index, */
    SURVEY_FACTOR = 16,     /* and this for each byte of the file */
    HEAD_LEN = 4096         /* bytes of the index that are read first */
};

/* What the entries of something that may be an index say. */
struct survey {
    uint64_t nstored;  /* that name a place */
    uint64_t nhits;    /* of them, those where there is a chunk */
    uint64_t nspecial; /* that stand for a chunk by themselves */
    uint64_t nbad;     /* that can't be, or name a place twice */
    uint64_t least;    /* the lowest place, as the entry has it */
};

/* Read entries; those that can't be read come as UINT64_MAX - 1, which is no
   entry. */
static const int64_t unreadable = -2;

static int read_entries(struct index *index, uint64_t first, size_t n,
                        int64_t *raw)
{
    struct fault ignored;
    int r = index_read(index, first, n, raw, &ignored);

    if (r == 0 || (r != -EBADMSG && r != -ENOTSUP))
        return r;
    if (n == 1) {
        *raw = unreadable;
        return 0;
    }
    r = read_entries(index, first, n / 2, raw);
    return r < 0 ? r
                 : read_entries(index, first + n / 2, n - n / 2, raw + n / 2);
}

static int add_entry(struct repair *repair, int64_t raw)
{
    struct repair_chunk chunk = { .state = REPAIR_STORED };
    struct frame_entry entry;
    struct fault ignored;

    if (raw == unreadable ||
        frame_parse_entry(&repair->view, 0, raw, &entry, &ignored) < 0) {
        chunk.state = REPAIR_UNKNOWN;
    } else if (entry.special) {
        chunk.state = REPAIR_SPECIAL;
        chunk.kind = (uint8_t)entry.kind;
    } else {
        chunk.place = entry.place;
    }
    return repair_list_add(&repair->chunks, &chunk);
}

int repair_read_index(struct repair *repair, struct index *index,
                      struct fault *fault)
{
    uint64_t nentries = index_nentries(index);
    int64_t raw[BATCH];
    int r = 0;

    if (nentries > FRAME_CHANGE_CHUNKS_MAX)
        return fault_set(fault, -EFBIG, 0, "the frame has too many chunks");
    for (uint64_t first = 0; first < nentries && r == 0; first += BATCH) {
        uint64_t rest = nentries - first;
        size_t n = rest < BATCH ? (size_t)rest : BATCH;

        r = read_entries(index, first, n, raw);
        for (size_t i = 0; i < n && r == 0; i++)
            r = add_entry(repair, raw[i]);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Is this what writers make of a special chunk?  A reader accepts more. */
static bool is_special(uint64_t raw)
{
    unsigned kind = (unsigned)(raw >> FRAME_ENTRY_KIND_SHIFT);

    return raw << (64 - FRAME_ENTRY_KIND_SHIFT) == 0 &&
           (kind == (FRAME_ENTRY_SPECIAL | FRAME_ENTRY_ZEROS) ||
            kind == (FRAME_ENTRY_SPECIAL | FRAME_ENTRY_NANS) ||
            kind == (FRAME_ENTRY_SPECIAL | FRAME_ENTRY_UNINIT));
}

/* Count one entry; `hit` has a byte for each chunk found. */
static void survey_entry(const struct repair *repair, int64_t raw,
                         uint64_t origin, uint8_t *hit, struct survey *survey)
{
    const struct repair_list *found = &repair->found;
    const struct repair_chunk *chunk;

    if (raw == unreadable)
        return;
    if (raw < 0) {
        survey->nspecial += is_special((uint64_t)raw);
        survey->nbad += !is_special((uint64_t)raw);
        return;
    }
    survey->nstored++;
    if ((uint64_t)raw < survey->least)
        survey->least = (uint64_t)raw;
    if (repair->view.info.sparse) {
        survey->nhits += raw <= UINT32_MAX;
        survey->nbad += raw > UINT32_MAX;
        return;
    }
    chunk = repair_list_find(found, origin + (uint64_t)raw);
    survey->nbad += (uint64_t)raw >= repair->size;
    if (chunk)
        survey->nbad += hit[chunk - found->chunks]++ > 0;
    survey->nhits += chunk != NULL;
}

/* Read all of an index, with places counted from `origin` on. */
static int take_survey(struct repair *repair, struct index *index,
                       uint64_t origin, struct survey *out)
{
    struct survey survey = { .least = UINT64_MAX };
    uint64_t nentries = index_nentries(index);
    uint8_t *hit = calloc(repair->found.n + 1, 1);
    int64_t raw[BATCH];
    int r = hit ? 0 : -ENOMEM;

    repair->surveyed += nentries * sizeof(raw[0]);
    for (uint64_t first = 0; first < nentries && r == 0; first += BATCH) {
        uint64_t rest = nentries - first;
        size_t n = rest < BATCH ? (size_t)rest : BATCH;

        r = read_entries(index, first, n, raw);
        for (size_t i = 0; i < n && r == 0; i++)
            survey_entry(repair, raw[i], origin, hit, &survey);
    }
    free(hit);
    *out = survey;
    return r;
}

/* Most of the places that an index names hold a chunk; some may be lost. */
static bool is_index(const struct survey *survey)
{
    return survey->nbad == 0 && survey->nstored + survey->nspecial > 0 &&
           2 * survey->nhits >= survey->nstored;
}

/* Is it an index if its places count from `origin` on, and the header ends
   there? */
static int judge_from(struct repair *repair, struct index *index,
                      uint64_t origin, struct survey *survey, bool *out)
{
    int r = take_survey(repair, index, origin, survey);

    *out = r == 0 && is_index(survey);
    if (*out)
        repair->view.info.header_len = (uint32_t)(origin - repair->view.base);
    return r;
}

/* Has so much been looked at that a file must have been made for that? */
static bool is_enough(const struct repair *repair)
{
    return repair->surveyed > SURVEY_MIN + SURVEY_FACTOR * repair->size;
}

/*
 * Is it an index?  If its places do not count from where the header says that
 * it ends, then from somewhere such that one of the first chunks that were
 * found is that named first.
 */
static int judge(struct repair *repair, struct index *index, bool *out)
{
    const struct repair_list *found = &repair->found;
    uint64_t base = repair->view.base;
    struct survey survey;
    uint64_t least;
    int r;

    *out = false;
    if (index_nentries(index) > FRAME_CHANGE_CHUNKS_MAX || is_enough(repair))
        return 0;
    r = judge_from(repair, index, base + repair->view.info.header_len, &survey,
                   out);
    least = survey.least;
    if (survey.nstored == 0 || survey.nstored > 2 * found->n ||
        repair->view.info.sparse)
        return r;
    for (size_t i = 0; i < found->n && i < ORIGINS_MAX && r == 0 && !*out; i++)
        if (least < found->chunks[i].place - base && !is_enough(repair))
            r = judge_from(repair, index, found->chunks[i].place - least,
                           &survey, out);
    return r;
}

/* Take what lies at an offset for the index, if it is one. */
static int try_index(struct repair *repair, uint64_t off, bool *out,
                     struct fault *fault)
{
    struct frame *view = &repair->view;
    uint64_t rest = repair->size - off;
    uint8_t head[HEAD_LEN];
    struct index *index;
    int r;

    *out = false;
    r = store_object_read_at(view->object, off, head,
                             rest < HEAD_LEN ? (size_t)rest : HEAD_LEN);
    if (r < 0)
        return fault_set(fault, r, off, NULL);
    r = index_open(view->object, off, repair->size, head,
                   rest < HEAD_LEN ? (size_t)rest : HEAD_LEN, &index, fault);
    if (r < 0)
        return r == -EBADMSG || r == -ENOTSUP ? 0 : r;
    r = judge(repair, index, out);
    if (r < 0)
        fault_set(fault, r, off, NULL);
    else if (*out)
        r = repair_read_index(repair, index, fault);
    index_close(index);
    return r;
}

int repair_find_index(struct repair *repair, struct fault *fault)
{
    uint64_t hint = repair->index_hint;
    const struct repair_list *found = &repair->found;
    bool is = false;
    int r = 0;

    if (hint > 0 && hint < repair->size) {
        r = try_index(repair, hint, &is, fault);
        repair->index_off = is ? hint : 0;
    }
    /* The last one is most likely the newest. */
    for (size_t i = found->n; i-- > 0 && !is && r == 0;) {
        if (found->chunks[i].typesize != FRAME_INDEX_TYPESIZE ||
            found->chunks[i].nbytes % FRAME_INDEX_TYPESIZE != 0)
            continue;
        r = try_index(repair, found->chunks[i].place, &is, fault);
        repair->index_off = is ? found->chunks[i].place : 0;
    }
    return r < 0 || is ? r : -ENOENT;
}
