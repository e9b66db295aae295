/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_ANSWER_H
#define NET_S3_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/fault.h"
#include "net/xml.h"

/* What the parsers of s3_reply.h share. */

/* An answer that is being parsed. */
struct s3_answer {
    struct xml xml;
    bool no_memory;
};

/* Enter the outermost element. */
void s3_answer_begin(struct s3_answer *answer, const char *text, size_t len);

/* End.  Returns as the parsers. */
int s3_answer_end(struct s3_answer *answer, struct fault *fault);

/* Fail unless the element has this name. */
void s3_answer_expect(struct s3_answer *answer, const char *name);

/* Read the text of an element.  Returns NULL after a failure. */
char *s3_answer_text(struct s3_answer *answer);

/* Replace a text that an earlier element of the same name may have left. */
void s3_answer_into(struct s3_answer *answer, char **out);

/* Read a text of up to `size` bytes with its NUL; a longer one is cut. */
void s3_answer_cut(struct s3_answer *answer, char *out, size_t size);

/* Read a time; 0 if it is none. */
void s3_answer_time(struct s3_answer *answer, time_t *out);

/* Read true or false. */
bool s3_answer_bool(struct s3_answer *answer);

/* Make room for one more element, of zeros, behind `n` others of this size.
   Returns the array; after a failure, the old one. */
void *s3_answer_grow(struct s3_answer *answer, void *array, size_t n,
                     size_t size);

/* Decode a key.  Servers that encode them write a blank as '+'. */
void s3_answer_decode(struct s3_answer *answer, char **key);

/* Values that a list gives of itself. */
struct s3_list_flags {
    bool truncated;
    bool encoded;
};

/* Read how the keys of a list are encoded. */
void s3_answer_encoding(struct s3_answer *answer, struct s3_list_flags *flags);

#endif
