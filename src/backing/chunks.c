/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/chunks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "frame/frame.h"

enum {
    NFACES = 2,  /* files for each chunk */
    NDIGITS = 8, /* minimum number of digits */
};

/* Suffix of the file that shows a chunk as it is stored. */
static const char stored_suffix[] = ".chunk";

struct chunks {
    atomic_uint nrefs;
    struct backing_place place; /* place of the frame; a reference */
    struct stat st;             /* attributes of the directory */
    struct frame *frame;
};

int chunks_open(const struct backing_place *place, uint64_t base,
                struct chunks **out, struct fault *fault)
{
    struct chunks *chunks = calloc(1, sizeof(*chunks));
    struct store *store;
    int r;

    if (!chunks)
        return fault_set(fault, -ENOMEM, 0, NULL);
    atomic_init(&chunks->nrefs, 1);
    chunks->place = *place;
    r = backing_place_own(&chunks->place);
    if (r == 0)
        r = backing_stat(place, ENTRY_CHUNKS, &chunks->st);
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = backing_store(place, ENTRY_CHUNKS, 0, &store, fault);
    if (r == 0) {
        r = frame_open(store, base, &chunks->frame, fault);
        store_close(store);
    }
    if (r < 0) {
        chunks_put(chunks);
        return r;
    }
    *out = chunks;
    return 0;
}

struct chunks *chunks_get(struct chunks *chunks)
{
    atomic_fetch_add(&chunks->nrefs, 1);
    return chunks;
}

void chunks_put(struct chunks *chunks)
{
    if (!chunks || atomic_fetch_sub(&chunks->nrefs, 1) > 1)
        return;
    frame_close(chunks->frame);
    backing_close(&chunks->place);
    free(chunks);
}

bool chunks_are_current(const struct chunks *chunks)
{
    struct stat st;

    return backing_stat(&chunks->place, ENTRY_CHUNKS, &st) == 0 &&
           st.st_ino == chunks->st.st_ino && frame_is_unwritten(chunks->frame);
}

uint64_t chunks_nentries(const struct chunks *chunks)
{
    return NFACES * frame_get_info(chunks->frame)->nchunks;
}

void chunks_name(uint64_t entry_no, char name[CHUNKS_NAME_MAX])
{
    snprintf(name, CHUNKS_NAME_MAX, "%0*" PRIu64 "%s", NDIGITS,
             entry_no / NFACES, entry_no % NFACES ? stored_suffix : "");
}

/* Get the number of the entry with this name.  Returns false if no entry of any
   frame has such a name.  Does not check how many chunks there are. */
static bool parse(const char *name, uint64_t *entry_no)
{
    char same[CHUNKS_NAME_MAX];
    char *end;
    uint64_t chunk_no = strtoull(name, &end, 10);

    *entry_no = NFACES * chunk_no + (*end != '\0');
    chunks_name(*entry_no, same);
    return strcmp(name, same) == 0;
}

enum entry_kind chunks_kind(const struct chunks *chunks, const char *name)
{
    uint64_t entry_no;

    if (!parse(name, &entry_no) || entry_no >= chunks_nentries(chunks))
        return ENTRY_NONE;
    return entry_no % NFACES ? ENTRY_CHUNK_STORED : ENTRY_CHUNK;
}

void chunks_place_in(struct chunks *chunks, const char *name,
                     struct backing_place *out)
{
    uint64_t entry_no;

    parse(name, &entry_no);
    *out = chunks->place;
    out->owned = false;
    out->chunks = chunks;
    out->chunk_no = entry_no / NFACES;
}

/*
 * Derive the inode number of an entry from that of the directory.  Hard links
 * to one frame have a directory each, with different inode numbers.
 */
static uint64_t ino_of(uint64_t dir, uint64_t chunk_no, enum entry_kind kind)
{
    return kind == ENTRY_CHUNKS ? dir : hash_mix(hash_mix(dir, chunk_no), kind);
}

uint64_t chunks_dev(const struct chunks *chunks)
{
    return chunks->st.st_dev;
}

uint64_t chunks_ino(const struct chunks *chunks, const char *name)
{
    uint64_t entry_no;

    parse(name, &entry_no);
    return ino_of(chunks->st.st_ino, entry_no / NFACES,
                  entry_no % NFACES ? ENTRY_CHUNK_STORED : ENTRY_CHUNK);
}

struct file_face chunks_face(const struct backing_place *place,
                             enum entry_kind kind)
{
    return (struct file_face){
        .view = kind == ENTRY_CHUNK ? FILE_VIEW_CHUNK : FILE_VIEW_STORED,
        .chunk_no = place->chunk_no,
    };
}

int chunks_size(const struct backing_place *place, enum entry_kind kind,
                uint64_t *size, struct fault *fault)
{
    const struct file_face face = chunks_face(place, kind);
    struct frame *frame = place->chunks->frame;
    int r = file_face_size(frame, &face, size, fault);

    return r < 0 && !frame_is_unwritten(frame) ? -ESTALE : r;
}

void chunks_show(const struct backing_place *place, enum entry_kind kind,
                 struct stat *st)
{
    mode_t read = st->st_mode & 0444;

    st->st_mode = S_IFREG | read;
    if (kind == ENTRY_CHUNKS) {
        st->st_mode = S_IFDIR | read | read >> 2;
        st->st_size = 0;
    }
    st->st_ino = ino_of(hash_mix(st->st_ino, hash_text(place->name)),
                        place->chunk_no, kind);
    st->st_nlink = 1;
    st->st_blocks = 0;
}
