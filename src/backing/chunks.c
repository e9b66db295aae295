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
#include "frame/frame_keys.h"

enum {
    NDIGITS = 8,   /* minimum number of digits */
    NAME_LEN = 32, /* bytes that hold any name */
};

/* The files for each chunk.  Those up to FACE_LISTED are listed; the others are
   not, so that no program that removes or copies all files meets them. */
enum face {
    FACE_DECODED,
    FACE_STORED,
    FACE_LISTED,
    FACE_KEY = FACE_LISTED /* decoded, and named by the key */
};

/* Suffix of the file that shows a chunk as it is stored. */
static const char stored_suffix[] = ".chunk";

static const char key_prefix[] = "key-";

struct chunks {
    atomic_uint nrefs;
    struct backing_place place; /* place of the directory; a reference */
    struct stat st;             /* attributes of the directory */
    struct frame *frame;
};

/* The meaning of a name. */
struct chunk_name {
    uint64_t chunk_no;
    uint64_t key; /* for FACE_KEY; else 0 */
    enum face face;
};

/*
 * Derive the inode number of an entry from that of the directory.  Hard links
 * to one frame have a directory each, with different inode numbers.
 */
static uint64_t ino_of(uint64_t dir, uint64_t chunk_no, enum entry_kind kind)
{
    return kind == ENTRY_CHUNKS ? dir : hash_mix(hash_mix(dir, chunk_no), kind);
}

static uint64_t ino_of_name(uint64_t dir, const struct chunk_name *name)
{
    if (name->face == FACE_KEY)
        return ino_of(hash_mix(dir, name->key), name->key, ENTRY_CHUNK);
    return ino_of(dir, name->chunk_no,
                  name->face == FACE_STORED ? ENTRY_CHUNK_STORED : ENTRY_CHUNK);
}

/* Turn the attributes of a frame's file into those of a view of it.  A chunk
   keeps the size of the frame's file, because the caller sets it. */
static void show(const struct backing_place *place, enum entry_kind kind,
                 struct stat *st)
{
    uint64_t dir = hash_mix(st->st_ino, hash_text(place->name));
    mode_t mode = st->st_mode & 0666;

    st->st_mode = S_IFREG | mode;
    if (kind == ENTRY_CHUNKS) {
        st->st_mode = S_IFDIR | mode | (mode & 0444) >> 2;
        st->st_size = 0;
    }
    st->st_ino =
        place->chunk_key > 0
            ? ino_of_name(dir, &(struct chunk_name){ .key = place->chunk_key,
                                                     .face = FACE_KEY })
            : ino_of(dir, place->chunk_no, kind);
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

/* Get the keys of the chunks; NULL if there are none, or they are damaged. */
static const struct frame_keys *get_keys(const struct chunks *chunks)
{
    const struct frame_keys *keys;
    struct fault ignored;

    return frame_get_keys(chunks->frame, &keys, &ignored) < 0 ? NULL : keys;
}

static void print_name(const struct chunk_name *name, char *out)
{
    if (name->face == FACE_KEY)
        snprintf(out, NAME_LEN, "%s%" PRIu64, key_prefix, name->key);
    else
        snprintf(out, NAME_LEN, "%0*" PRIu64 "%s", NDIGITS, name->chunk_no,
                 name->face == FACE_STORED ? stored_suffix : "");
}

/* Parse a name, of whatever frame.  The number of a chunk with a key is not
   set. */
static bool parse(const char *text, struct chunk_name *out)
{
    size_t skip = strlen(key_prefix);
    struct chunk_name name = { .face = FACE_DECODED };
    char same[NAME_LEN];
    char *end;

    if (strncmp(text, key_prefix, skip) == 0) {
        name.face = FACE_KEY;
        name.key = strtoull(text + skip, &end, 10);
    } else {
        name.chunk_no = strtoull(text, &end, 10);
        if (*end != '\0')
            name.face = FACE_STORED;
    }
    print_name(&name, same);
    if (strcmp(text, same) != 0)
        return false;
    *out = name;
    return true;
}

bool chunks_parse_number(const char *text, uint64_t *chunk_no)
{
    struct chunk_name name;

    if (!parse(text, &name) || name.face == FACE_KEY)
        return false;
    *chunk_no = name.chunk_no;
    return true;
}

uint64_t chunks_parse_key(const char *text)
{
    struct chunk_name name;

    return parse(text, &name) ? name.key : 0;
}

/* Find the chunk that a name stands for.  Returns false if there is none. */
static bool find(const struct chunks *chunks, const char *text,
                 struct chunk_name *out)
{
    const struct frame_keys *keys;

    if (!parse(text, out))
        return false;
    if (out->face != FACE_KEY)
        return out->chunk_no < frame_get_info(chunks->frame)->nchunks;
    keys = get_keys(chunks);
    return keys && frame_keys_find(keys, out->key, &out->chunk_no) == 0;
}

static int kind_of(const struct backing_dir *dir, const char *name,
                   unsigned char type __attribute__((unused)))
{
    struct chunk_name found;

    if (!find(dir->state, name, &found))
        return ENTRY_NONE;
    return found.face == FACE_STORED ? ENTRY_CHUNK_STORED : ENTRY_CHUNK;
}

static void place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind __attribute__((unused)),
                     struct backing_place *out)
{
    struct chunks *chunks = dir->state;
    struct chunk_name found = { 0 };

    /* If the chunk is gone, no frame has one with this number. */
    if (!find(chunks, name, &found))
        found.chunk_no = UINT64_MAX;
    *out = chunks->place;
    out->owned = false;
    out->chunks = chunks;
    out->chunk_no = found.chunk_no;
    out->chunk_key = found.key;
}

/* Describe the entry with this number. */
static void describe(const struct backing_dir *dir, uint64_t entry_no,
                     struct backing_listed *out)
{
    const struct chunks *chunks = dir->state;
    const struct chunk_name name = {
        .chunk_no = entry_no / FACE_LISTED,
        .face = (enum face)(entry_no % FACE_LISTED),
    };

    print_name(&name, out->name);
    out->ino = ino_of_name(chunks->st.st_ino, &name);
}

static int list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out)
{
    const struct chunks *chunks = dir->state;

    return backing_list_numbered(
        dir, off, FACE_LISTED * frame_get_info(chunks->frame)->nchunks,
        describe, out);
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
