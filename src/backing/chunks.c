/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/chunks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backing/backing_source.h"
#include "base/hash.h"
#include "file/file.h"
#include "frame/frame.h"

enum {
    NFACES = 2,    /* files for each chunk */
    NDIGITS = 8,   /* minimum number of digits */
    NAME_LEN = 32, /* bytes that hold any name */
};

/* Suffix of the file that shows a chunk as it is stored. */
static const char stored_suffix[] = ".chunk";

struct chunks {
    atomic_uint nrefs;
    struct backing_place place; /* place of the directory; a reference */
    struct stat st;             /* attributes of the directory */
    struct frame *frame;
};

/*
 * Derive the inode number of an entry from that of the directory.  Hard links
 * to one frame have a directory each, with different inode numbers.
 */
static uint64_t ino_of(uint64_t dir, uint64_t chunk_no, enum entry_kind kind)
{
    return kind == ENTRY_CHUNKS ? dir : hash_mix(hash_mix(dir, chunk_no), kind);
}

/* The kind of the entry with this number. */
static enum entry_kind kind_of_number(uint64_t entry_no)
{
    return entry_no % NFACES ? ENTRY_CHUNK_STORED : ENTRY_CHUNK;
}

/* Turn the attributes of a frame's file into those of a view of it.  A chunk
   keeps the size of the frame's file, because the caller sets it. */
static void show(const struct backing_place *place, enum entry_kind kind,
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

/* Get the place of the frame that an entry is a view of.  It is valid as long
   as `place`.  Returns the kind of the frame or an error. */
static int find_frame(const struct backing_place *place,
                      struct backing_place *out)
{
    *out = *place;
    out->ops = place->below;
    return out->ops->frame_kind(out);
}

static int stat_view(const struct backing_place *place, enum entry_kind kind,
                     struct stat *out)
{
    struct backing_place frame;
    int r = find_frame(place, &frame);

    if (r > 0)
        r = backing_stat(&frame, (enum entry_kind)r, out);
    if (r == 0)
        show(place, kind, out);
    return r;
}

static int open_store(const struct backing_place *place,
                      enum entry_kind kind __attribute__((unused)),
                      unsigned flags, struct store **out, struct fault *fault)
{
    struct backing_place frame;
    int r = find_frame(place, &frame);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return backing_store(&frame, (enum entry_kind)r, flags, out, fault);
}

/* Open the frame at the place of its directory of chunks. */
static int open_frame(struct chunks *chunks, uint64_t base, struct fault *fault)
{
    struct store *store;
    int r = backing_stat(&chunks->place, ENTRY_CHUNKS, &chunks->st);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = backing_store(&chunks->place, ENTRY_CHUNKS, 0, &store, fault);
    if (r < 0)
        return r;
    r = frame_open(store, base, &chunks->frame, fault);
    store_close(store);
    return r;
}

static struct chunks *chunks_get(struct chunks *chunks)
{
    atomic_fetch_add(&chunks->nrefs, 1);
    return chunks;
}

static void chunks_put(struct chunks *chunks)
{
    if (atomic_fetch_sub(&chunks->nrefs, 1) > 1)
        return;
    frame_close(chunks->frame);
    backing_close(&chunks->place);
    free(chunks);
}

static int own(struct backing_place *place)
{
    int r = place->below->own(place);

    if (r == 0 && place->chunks)
        chunks_get(place->chunks);
    return r;
}

static void release(struct backing_place *place)
{
    place->below->release(place);
    if (place->chunks)
        chunks_put(place->chunks);
}

static int dir_open(const struct backing_place *place,
                    const struct backing_opening *how, struct backing_dir *out,
                    struct fault *fault)
{
    struct chunks *chunks = calloc(1, sizeof(*chunks));
    int r;

    if (!chunks)
        return fault_set(fault, -ENOMEM, 0, NULL);
    atomic_init(&chunks->nrefs, 1);
    chunks->place = *place;
    r = backing_place_own(&chunks->place);
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = open_frame(chunks, how->source->base, fault);
    if (r < 0) {
        chunks_put(chunks);
        return r;
    }
    out->ops = &chunks_ops;
    out->state = chunks;
    return 0;
}

static void dir_close(struct backing_dir *dir)
{
    chunks_put(dir->state);
}

static int dir_stat(const struct backing_dir *dir, struct stat *out)
{
    const struct chunks *chunks = dir->state;

    *out = chunks->st;
    return 0;
}

static bool dir_is_current(const struct backing_dir *dir)
{
    const struct chunks *chunks = dir->state;
    struct stat st;

    return backing_stat(&chunks->place, ENTRY_CHUNKS, &st) == 0 &&
           store_version_same_object(&st, &chunks->st) &&
           frame_is_unwritten(chunks->frame);
}

static uint64_t count_entries(const struct chunks *chunks)
{
    return NFACES * frame_get_info(chunks->frame)->nchunks;
}

static void make_name(uint64_t entry_no, char *name)
{
    snprintf(name, NAME_LEN, "%0*" PRIu64 "%s", NDIGITS, entry_no / NFACES,
             entry_no % NFACES ? stored_suffix : "");
}

/* Get the number of the entry with this name.  Returns false if no entry of any
   frame has such a name.  Does not check how many chunks there are. */
static bool parse(const char *name, uint64_t *entry_no)
{
    char same[NAME_LEN];
    char *end;
    uint64_t chunk_no = strtoull(name, &end, 10);

    *entry_no = NFACES * chunk_no + (*end != '\0');
    make_name(*entry_no, same);
    return strcmp(name, same) == 0;
}

static int kind_of(const struct backing_dir *dir, const char *name,
                   unsigned char type __attribute__((unused)))
{
    uint64_t entry_no;

    if (!parse(name, &entry_no) || entry_no >= count_entries(dir->state))
        return ENTRY_NONE;
    return (int)kind_of_number(entry_no);
}

static void place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind __attribute__((unused)),
                     struct backing_place *out)
{
    struct chunks *chunks = dir->state;
    uint64_t entry_no;

    parse(name, &entry_no);
    *out = chunks->place;
    out->owned = false;
    out->chunks = chunks;
    out->chunk_no = entry_no / NFACES;
}

/* Describe the entry with this number. */
static void describe(const struct backing_dir *dir, uint64_t entry_no,
                     struct backing_listed *out)
{
    const struct chunks *chunks = dir->state;

    make_name(entry_no, out->name);
    out->ino =
        ino_of(chunks->st.st_ino, entry_no / NFACES, kind_of_number(entry_no));
}

static int list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out)
{
    return backing_list_numbered(dir, off, count_entries(dir->state), describe,
                                 out);
}

static void view(const struct backing_place *place, enum entry_kind kind,
                 struct view_spec *out)
{
    *out = (struct view_spec){
        .view = kind == ENTRY_CHUNK ? FILE_VIEW_CHUNK : FILE_VIEW_STORED,
        .chunk_no = place->chunk_no,
    };
}

static int view_size(const struct backing_place *place, enum entry_kind kind,
                     uint64_t *size, struct fault *fault)
{
    struct frame *frame = place->chunks->frame;
    struct view_spec spec;
    int r;

    view(place, kind, &spec);
    r = file_view_size(frame, &spec, size, fault);
    return r < 0 && !frame_is_unwritten(frame) ? -ESTALE : r;
}

const struct backing_ops chunks_ops = {
    .own = own,
    .release = release,
    .stat = stat_view,
    .store = open_store,
    .view = view,
    .view_size = view_size,
    .dir_open = dir_open,
    .dir_close = dir_close,
    .kind = kind_of,
    .place_in = place_in,
    .list_next = list_next,
    .dir_stat = dir_stat,
    .dir_is_current = dir_is_current,
};
