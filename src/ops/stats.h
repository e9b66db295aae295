/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_STATS_H
#define OPS_STATS_H

/*
 * What a mount has done since it is there.
 *
 * The root of the mount has it as an extended attribute, which is not listed,
 * so that it is not copied, nor looked at unless asked for; SIGUSR1 has it
 * logged.
 */

#define STATS_ATTRIBUTE "user.framefs.stats"

enum {
    STATS_TEXT_MAX = 4096 /* bytes that the text takes at most */
};

struct fs;

/* The text of it, an object of JSON on one line, which the caller frees; NULL
   if there is no memory. */
char *stats_text(struct fs *fs);

#endif
