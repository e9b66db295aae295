/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_READER_H
#define FILE_FILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader_progress;

/* The position of one reader, so that read-ahead can follow it.  Starts zeroed,
   and ends with file_reader_end().  A reader may go on to any file of a
   context; the files lock it. */
struct file_reader {
    uint64_t next_off;   /* where its next read starts if it reads
                            sequentially */
    uint64_t ahead_off;  /* end of the bytes that read-ahead was asked to
                            decode */
    uint64_t fetch_off;  /* end of the bytes that read-ahead was asked to
                            fetch */
    size_t window;       /* bytes to decode ahead; 0 while it looks random */
    unsigned streak;     /* number of reads in a row that continued the last */
    uint64_t behind_off; /* chunks that end before this offset have been
                            released */
    uint32_t nfollowed;  /* reads that continued the last, in all */
    uint32_t njumps;     /* and those that did not */
    uint64_t own_bytes;  /* read since all sequential readers together had */
    uint64_t all_bytes;  /* read this many */
    uint64_t nstreams;   /* readers that share the cache; 0: not yet known */
    struct reader_progress *progress; /* for the tasks that decode ahead; NULL:
                                         there were none */
};

/* End a reader, or begin anew after a jump: nobody needs what is still to be
   decoded ahead of it. */
void file_reader_end(struct file_reader *reader);

/* Did a reader that has ended read one piece after the other?  Returns 1 for
   yes, -1 if it read here and there, and 0 if it did not read enough to
   tell. */
int file_reader_tendency(const struct file_reader *reader);

/*
 * The progress of a reader, for a task that decodes ahead of it: a reference,
 * which the task puts when it ends.  Returns NULL if there is no memory.
 */
struct reader_progress *reader_progress_get(struct file_reader *reader);

/* Accepts NULL. */
void reader_progress_put(struct reader_progress *progress);

/* Note that a reader has read the bytes before an offset. */
void reader_progress_note(struct file_reader *reader, uint64_t passed);

/* Has a reader read the byte at `off`, or ended? */
bool reader_progress_is_past(const struct reader_progress *progress,
                             uint64_t off);

#endif
