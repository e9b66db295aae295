/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_STATS_H
#define OPS_STATS_H

/*
 * Statistics of a mount since it started.
 *
 * They are an extended attribute of the mount's root.  It is not listed, so
 * that programs neither copy it nor read it unless they ask for it by name.
 * SIGUSR1 makes the daemon log them.
 */

#define STATS_ATTRIBUTE "user.framefs.stats"

enum {
    STATS_TEXT_MAX = 4096 /* maximum length of the text in bytes */
};

struct fs;

/* Format the statistics as a JSON object on one line.  The caller frees the
   text; NULL if there is no memory. */
char *stats_text(struct fs *fs);

#endif
