/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_PREFIX_LIST_H
#define BACKING_PREFIX_LIST_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "net/net.h"

/* An object, or a prefix of the keys of others, directly below a prefix. */
struct prefix_entry {
    char *name;    /* followed by its ETag, see prefix_entry_etag() */
    bool prefix;   /* it is a prefix, which has no other members */
    uint64_t size; /* bytes */
    time_t modified;
};

/* The ETag of an object; "": unknown. */
const char *prefix_entry_etag(const struct prefix_entry *entry);

/*
 * The entries below a prefix at some moment.  Constant.
 *
 * Only keys that make a name are entries.  An object with the name of a prefix
 * is none.
 */
struct prefix_list {
    atomic_uint nshared;          /* references besides the first one */
    char stem[NAME_MAX + 1];      /* it has only names that begin with this; of
                                longer ones, it may lack some */
    bool whole;                   /* `stem` is "", and no page is missing */
    bool marked;                  /* an object marks the directory */
    struct prefix_entry *entries; /* by name */
    size_t nentries;
    size_t npages;     /* that the server has sent */
    int64_t asked_ns;  /* clock_monotonic_ns() before the first one was asked
                          for; it may lack what came to be there since */
    int64_t listed_ns; /* and when the last one had come */
    size_t nhidden;    /* keys that are no entries, and are no markers of
                          directories either */
    char hidden[NAME_MAX + 1]; /* one of them, cut, in printable characters */
};

/* The names to list. */
struct prefix_wanted {
    const struct url *url; /* of the prefix, as for s3_request_list() */
    const char *stem;      /* list names that are this, or this and one of the
                              suffixes that frames have; "": all */
    size_t pages_max;      /* ask for no more pages; 0: for all */
};

/*
 * Ask a server for a list.
 *
 *  out  a reference; drop it with prefix_list_put()
 *
 * Returns 0; -EFBIG if there are too many entries; or an error of
 * s3_request_list().
 */
int prefix_list_fetch(struct net *net, const struct prefix_wanted *wanted,
                      struct prefix_list **out);

/* Take one more reference.  Returns `list`. */
struct prefix_list *prefix_list_get(struct prefix_list *list);

/* Drop a reference.  Accepts NULL. */
void prefix_list_put(struct prefix_list *list);

/* Find an entry; NULL if there is none. */
const struct prefix_entry *prefix_list_find(const struct prefix_list *list,
                                            const char *name);

/* The number of the first entry whose name is not before `name`. */
size_t prefix_list_seek(const struct prefix_list *list, const char *name);

#endif
