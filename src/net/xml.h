/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_XML_H
#define NET_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "net/secret.h"

enum {
    XML_LEN_MAX = 8 << 20, /* bytes; a list of 1,000 keys has up to 3.5 MB */
    XML_DEPTH_MAX = 16,    /* elements inside each other */
};

/*
 * A reader of XML in memory, for the answers of servers.  It checks that tags
 * match and skips attributes, comments and processing instructions.  It refuses
 * document types, so there are no entities but those that all XML has.
 *
 * The first thing that is wrong or not as requested makes the reader fail, and
 * all later calls fail too, so a run of calls needs only xml_end() at its end.
 */
struct xml {
    const char *text;
    size_t len;
    size_t pos;       /* of the next byte, or of the one that failed */
    const char *what; /* why it failed; NULL: it has not */

    /* The names of the elements that are open. */
    struct {
        size_t off;
        size_t len;
    } open[XML_DEPTH_MAX];
    unsigned depth;
    bool closed; /* the innermost one is <name/> */
    bool ended;  /* the outermost element has ended */
};

/* Begin to read a text, which is not copied. */
void xml_begin(struct xml *xml, const char *text, size_t len);

/*
 * Enter the next element of the innermost one, or the outermost one at first.
 * Text before it is skipped.  If there is no other, leave the innermost element
 * and return false.
 */
bool xml_next(struct xml *xml);

/* Has the innermost element this name, apart from the prefix of a
   namespace? */
bool xml_is(const struct xml *xml, const char *name);

/* Add the text of the innermost element to `out`, in UTF-8, and leave the
   element.  It must contain no other. */
void xml_read(struct xml *xml, struct secret *out);

/* Leave the innermost element, whatever it contains. */
void xml_skip(struct xml *xml);

/* Make the reader fail at this place; the first failure counts. */
void xml_fail(struct xml *xml, const char *what);

/* Check that the outermost element has ended and nothing follows.  Returns 0,
   or -EBADMSG if the reader has failed at any time. */
int xml_end(struct xml *xml, struct fault *fault);

#endif
