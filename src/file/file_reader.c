/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file_reader.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    TENDENCY_READS = 4, /* from which on a reader has a tendency; and how many
                           times more reads follow each other than not if it is
                           to be sequential */
};

/* How far a reader has come.  Tasks keep it, because they can outlive it. */
struct reader_progress {
    atomic_uint nrefs;
    _Atomic uint64_t passed; /* end of the bytes that it has read */
};

struct reader_progress *reader_progress_get(struct file_reader *reader)
{
    struct reader_progress *progress = reader->progress;

    if (!progress) {
        progress = reader->progress = calloc(1, sizeof(*progress));
        if (!progress)
            return NULL;
        atomic_init(&progress->nrefs, 1); /* of the reader */
    }
    atomic_fetch_add(&progress->nrefs, 1);
    return progress;
}

void reader_progress_put(struct reader_progress *progress)
{
    if (progress && atomic_fetch_sub(&progress->nrefs, 1) == 1)
        free(progress);
}

void reader_progress_note(struct file_reader *reader, uint64_t passed)
{
    if (reader->progress)
        atomic_store(&reader->progress->passed, passed);
}

bool reader_progress_is_past(const struct reader_progress *progress,
                             uint64_t off)
{
    return atomic_load(&progress->passed) > off;
}

void file_reader_end(struct file_reader *reader)
{
    reader_progress_note(reader, UINT64_MAX);
    reader_progress_put(reader->progress);
    reader->progress = NULL;
}

int file_reader_tendency(const struct file_reader *reader)
{
    if (reader->nfollowed >= TENDENCY_READS &&
        reader->njumps <= reader->nfollowed / TENDENCY_READS)
        return 1;
    if (reader->njumps >= TENDENCY_READS &&
        reader->njumps > reader->nfollowed / TENDENCY_READS)
        return -1;
    return 0;
}
