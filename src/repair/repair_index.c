/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_tags.h"
#include "repair/repair_private.h"
#include "writer/frame_writer.h"

enum {
    BATCH = 512,            /* entries that are read at a time */
    ORIGINS_MAX = 64,       /* chunks that are tried as the one with the lowest
                               place */
    SURVEY_MIN = 256 << 20, /* limit on bytes that are read to find an index, */
    SURVEY_FACTOR = 16,     /* plus this for each byte of the file */
};

/* Statistics over the entries of a possible index. */
struct survey {
    uint64_t nstored;  /* entries that name a place */
    uint64_t nhits;    /* of these, entries that name the place of a chunk */
    uint64_t nspecial; /* entries that stand for a special chunk */
    uint64_t nbad;     /* entries that are invalid, or name a place again */
    uint64_t nmissed;  /* data chunks that no entry names */
    uint64_t least;    /* the lowest place, as in the entry */
};

/* A possible index, and its place. */
struct suspect {
    uint64_t off;
    struct index *index;
    uint32_t header_len; /* receives the offset in the frame from which its
                            places count */
    struct survey survey;
};

/* Read entries.  Each entry that can't be read becomes `unreadable`, which is
   not a valid entry. */
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

/* The tag of a chunk of a frame that can be opened; 0 if it is not known. */
static uint32_t tag_of(const struct repair *repair, uint64_t chunk_no)
{
    struct fault ignored;
    uint32_t tag = 0;

    if (!repair->frame ||
        frame_get_tag(repair->frame, chunk_no, &tag, &ignored) < 0)
        return 0;
    return tag;
}

static int add_entry(struct repair *repair, uint64_t chunk_no, int64_t raw)
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
        chunk.tag = tag_of(repair, chunk_no);
    }
    return repair_list_add(&repair->chunks, &chunk);
}

int repair_read_index(struct repair *repair, struct index *index,
                      struct fault *fault)
{
    uint64_t nentries = index_nentries(index);
    int64_t raw[BATCH];
    int r = 0;

    if (nentries > FRAME_WRITER_CHUNKS_MAX)
        return fault_set(fault, -EFBIG, 0, "the frame has too many chunks");
    for (uint64_t first = 0; first < nentries && r == 0; first += BATCH) {
        uint64_t rest = nentries - first;
        size_t n = rest < BATCH ? (size_t)rest : BATCH;

        r = read_entries(index, first, n, raw);
        for (size_t i = 0; i < n && r == 0; i++)
            r = add_entry(repair, first + i, raw[i]);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Is this an entry that writers make for a special chunk?  Readers accept
   more. */
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

/* Does a chunk decode, and is it most likely data and not an index? */
static bool is_data(const struct repair *repair,
                    const struct repair_chunk *chunk)
{
    return chunk->state == REPAIR_GOOD &&
           (!repair_has_entries(chunk) ||
            (repair->header_known &&
             chunk->nbytes == repair->view.info.chunksize));
}

/* Count the data chunks that an index does not name, except the index
   itself. */
static uint64_t count_missed(const struct repair *repair, uint64_t index_off,
                             const uint8_t *hit)
{
    const struct repair_list *found = &repair->found;
    uint64_t n = 0;

    for (size_t i = 0; i < found->n && !repair->view.info.sparse; i++)
        n += hit[i] == 0 && found->chunks[i].place != index_off &&
             is_data(repair, &found->chunks[i]);
    return n;
}

/* Read a whole index, with places that count from `origin`. */
static int take_survey(struct repair *repair, struct suspect *suspect,
                       uint64_t origin)
{
    struct survey survey = { .least = UINT64_MAX };
    uint64_t nentries = index_nentries(suspect->index);
    uint8_t *hit = calloc(repair->found.n + 1, 1);
    int64_t raw[BATCH];
    int r = hit ? 0 : -ENOMEM;

    repair->surveyed += nentries * sizeof(raw[0]);
    for (uint64_t first = 0; first < nentries && r == 0; first += BATCH) {
        uint64_t rest = nentries - first;
        size_t n = rest < BATCH ? (size_t)rest : BATCH;

        r = read_entries(suspect->index, first, n, raw);
        for (size_t i = 0; i < n && r == 0; i++)
            survey_entry(repair, raw[i], origin, hit, &survey);
    }
    if (r == 0)
        survey.nmissed = count_missed(repair, suspect->off, hit);
    free(hit);
    suspect->survey = survey;
    return r;
}

/* Does the header say that the frame has stored chunks, and that its index is
   elsewhere? */
static bool is_elsewhere(const struct repair *repair,
                         const struct suspect *suspect)
{
    const struct frame *view = &repair->view;

    return repair->index_hint > view->base + view->info.header_len &&
           suspect->off != repair->index_hint;
}

/*
 * Is this the frame's index?  At least half of the places that it names must
 * hold a chunk, because some chunks may be lost.  An index that names fewer
 * chunks than it misses belongs to an old state, unless it is at the offset in
 * the header.  So does one that names no chunk of a frame that has some: the
 * state in which a frame was made often lies right behind the header.
 */
static bool is_index(const struct repair *repair, const struct suspect *suspect)
{
    const struct survey *survey = &suspect->survey;

    if (survey->nbad > 0 || survey->nstored + survey->nspecial == 0 ||
        2 * survey->nhits < survey->nstored)
        return false;
    if (survey->nstored == 0 && is_elsewhere(repair, suspect))
        return false;
    return suspect->off == repair->index_hint ||
           survey->nhits >= survey->nmissed;
}

/* Is it an index if its places count from `origin`, which is then the end of
   the header? */
static int judge_from(struct repair *repair, struct suspect *suspect,
                      uint64_t origin, bool *out)
{
    int r = take_survey(repair, suspect, origin);

    *out = r == 0 && is_index(repair, suspect);
    suspect->header_len = (uint32_t)(origin - repair->view.base);
    return r;
}

/* Has the search read so much that the file must have been made to cause
   that? */
static bool is_enough(const struct repair *repair)
{
    return repair->surveyed > SURVEY_MIN + SURVEY_FACTOR * repair->size;
}

/*
 * Is it an index?  Places usually count from the end of the header.  If they do
 * not fit, try the origins for which the lowest place in the index is that of
 * one of the first chunks found.
 */
static int judge(struct repair *repair, struct suspect *suspect, bool *out)
{
    const struct repair_list *found = &repair->found;
    const struct survey *survey = &suspect->survey;
    uint64_t base = repair->view.base;
    uint64_t least;
    int r;

    r = judge_from(repair, suspect, base + repair->view.info.header_len, out);
    least = survey->least;
    if (survey->nstored == 0 || survey->nstored > 2 * found->n ||
        repair->view.info.sparse)
        return r;
    for (size_t i = 0; i < found->n && i < ORIGINS_MAX && r == 0 && !*out; i++)
        if (least < found->chunks[i].place - base && !is_enough(repair))
            r = judge_from(repair, suspect, found->chunks[i].place - least,
                           out);
    return r;
}

/* Open the bytes at an offset as an index.  Returns 0, -EBADMSG or -ENOTSUP if
   they are not an index, or an error. */
static int open_index(struct repair *repair, uint64_t off, struct index **out,
                      struct fault *fault)
{
    struct frame *view = &repair->view;
    uint64_t rest = repair->size - off;
    uint8_t head[INDEX_HEAD_LEN];
    const struct index_source source = {
        .object = view->object,
        .off = off,
        .end = repair->size,
        .head = head,
        .head_len = rest < sizeof(head) ? (size_t)rest : sizeof(head),
    };
    int r = store_object_read_at(view->object, off, head, source.head_len);

    if (r < 0)
        return fault_set(fault, r, off, NULL);
    return index_open(&source, out, fault);
}

/* Do the bytes at an offset hold an index, and does `is_wanted` accept it?  The
   answer is no if the index is too large. */
static int try_index(struct repair *repair, struct suspect *suspect,
                     int (*is_wanted)(struct repair *repair,
                                      struct suspect *suspect, bool *out),
                     bool *out, struct fault *fault)
{
    int r = open_index(repair, suspect->off, &suspect->index, fault);

    *out = false;
    if (r < 0)
        return r == -EBADMSG || r == -ENOTSUP ? 0 : r;
    if (index_nentries(suspect->index) <= FRAME_WRITER_CHUNKS_MAX &&
        !is_enough(repair))
        r = is_wanted(repair, suspect, out);
    index_close(suspect->index);
    return r < 0 ? fault_set(fault, r, suspect->off, NULL) : 0;
}

/* Use an index as that of the frame. */
static int take_index(struct repair *repair, const struct suspect *suspect,
                      struct fault *fault)
{
    struct index *index;
    int r = open_index(repair, suspect->off, &index, fault);

    if (r < 0)
        return r;
    repair->view.info.header_len = suspect->header_len;
    repair->index_off = suspect->off;
    if (suspect->off != repair->index_hint)
        repair->result.nleft_over = suspect->survey.nmissed;
    r = repair_read_index(repair, index, fault);
    index_close(index);
    return r;
}

/*
 * Among the chunks found, choose the index that names the most chunks.  If
 * several name as many, choose the last one in the file, because it is most
 * likely the newest.
 */
static int find_best(struct repair *repair, struct suspect *best, bool *out,
                     struct fault *fault)
{
    const struct repair_list *found = &repair->found;
    int r = 0;

    *out = false;
    for (size_t i = found->n; i-- > 0 && r == 0;) {
        struct suspect suspect;
        bool is;

        if (!repair_has_entries(&found->chunks[i]))
            continue;
        suspect = (struct suspect){ .off = found->chunks[i].place };
        r = try_index(repair, &suspect, judge, &is, fault);
        if (!is || (*out && suspect.survey.nhits <= best->survey.nhits))
            continue;
        *out = true;
        *best = suspect;
        if (best->survey.nmissed == 0)
            break;
    }
    return r;
}

int repair_find_index(struct repair *repair, struct fault *fault)
{
    uint64_t hint = repair->index_hint;
    struct suspect suspect = { .off = hint };
    bool is = false;
    int r = 0;

    if (hint > 0 && hint < repair->size)
        r = try_index(repair, &suspect, judge, &is, fault);
    if (r == 0 && !is)
        r = find_best(repair, &suspect, &is, fault);
    if (r < 0)
        return r;
    return is ? take_index(repair, &suspect, fault) : -ENOENT;
}

/* Do the data of the frame have other items than an index? */
static bool has_other_items(const struct repair *repair)
{
    const struct repair_list *found = &repair->found;
    size_t i = 0;

    while (i < found->n && (found->chunks[i].state != REPAIR_GOOD ||
                            found->chunks[i].typesize == FRAME_INDEX_TYPESIZE))
        i++;
    return i < found->n && (!repair->header_known ||
                            repair->view.info.typesize != FRAME_INDEX_TYPESIZE);
}

/*
 * Is it the index of an old state?  Every entry must be the place of a chunk,
 * or special.  If the data have other items than an index, entries may also
 * name places of chunks that are gone.  Without a header, places are taken to
 * count from the first chunk.
 */
static int judge_old(struct repair *repair, struct suspect *suspect, bool *out)
{
    const struct frame *view = &repair->view;
    const struct survey *survey = &suspect->survey;
    uint64_t origin = repair->header_known ? view->base + view->info.header_len
                                           : repair->found.chunks[0].place;
    int r = take_survey(repair, suspect, origin);

    *out = r == 0 && survey->nbad == 0 &&
           survey->nstored + survey->nspecial > 0 &&
           (survey->nhits == survey->nstored || has_other_items(repair));
    return r;
}

/* The chunks stay where they are until all are judged, because an index is
   recognized by the chunks that it names. */
int repair_drop_indexes(struct repair *repair, struct fault *fault)
{
    struct repair_list *found = &repair->found;
    bool *drop = calloc(found->n + 1, sizeof(*drop));
    size_t kept = 0;
    int r = drop ? 0 : fault_set(fault, -ENOMEM, 0, NULL);

    for (size_t i = 0; i < found->n && r == 0 && !repair->view.info.sparse;
         i++) {
        struct suspect suspect = { .off = found->chunks[i].place };

        if (repair_has_entries(&found->chunks[i]))
            r = try_index(repair, &suspect, judge_old, &drop[i], fault);
    }
    for (size_t i = 0; i < found->n && r == 0; i++)
        if (!drop[i])
            found->chunks[kept++] = found->chunks[i];
    if (r == 0)
        found->n = kept;
    free(drop);
    return r;
}
