/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/prefix_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/s3_request.h"

enum {
    ENTRIES_MAX = 4 << 20,
    EMPTY_MAX = 100, /* pages in a row that have no keys */
};

/* A list that is being fetched. */
struct listing {
    struct prefix_list *list;
    char *prefix; /* of all keys */
    size_t prefix_len;
    size_t nallocated;       /* in list->entries */
    char last[NAME_MAX + 1]; /* greatest name so far */
};

const char *prefix_entry_etag(const struct prefix_entry *entry)
{
    return entry->name + strlen(entry->name) + 1;
}

static void hide(struct prefix_list *list, const char *key)
{
    size_t len = strlen(key);

    if (list->nhidden++ > 0)
        return;
    if (len > NAME_MAX)
        len = NAME_MAX;
    for (size_t i = 0; i < len; i++)
        list->hidden[i] = key[i] >= ' ' && key[i] < 0x7f ? key[i] : '?';
}

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_MAX && !memchr(name, '/', len) &&
           !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

/* Add an entry.  `etag` is NULL for a prefix. */
static int add(struct listing *listing, const char *name, size_t len,
               const char *etag)
{
    struct prefix_list *list = listing->list;
    size_t tag = etag ? strlen(etag) : 0;
    struct prefix_entry *entry;

    if (list->nentries == ENTRIES_MAX)
        return -EFBIG;
    if (list->nentries == listing->nallocated) {
        size_t n = listing->nallocated > 0 ? 2 * listing->nallocated : 64;

        entry = reallocarray(list->entries, n, sizeof(*entry));
        if (!entry)
            return -ENOMEM;
        list->entries = entry;
        listing->nallocated = n;
    }
    entry = &list->entries[list->nentries];
    *entry = (struct prefix_entry){ .prefix = !etag };
    entry->name = malloc(len + tag + 2);
    if (!entry->name)
        return -ENOMEM;
    memcpy(entry->name, name, len);
    entry->name[len] = '\0';
    memcpy(entry->name + len + 1, etag ? etag : "", tag + 1);
    list->nentries++;
    if (strcmp(entry->name, listing->last) > 0)
        strcpy(listing->last, entry->name);
    return 0;
}

/* Add the entry of a key, unless the key makes none.  A server may list names
   that it was not asked for.  An object with the key of the prefix itself marks
   a directory. */
static int add_key(struct listing *listing, const char *key, const char *etag)
{
    const char *name = key + listing->prefix_len;
    size_t len;

    if (strncmp(key, listing->prefix, listing->prefix_len) != 0) {
        hide(listing->list, key);
        return 0;
    }
    len = strlen(name);
    if (!etag && len > 0 && name[len - 1] == '/')
        len--;
    if (is_name(name, len))
        return add(listing, name, len, etag);
    if (name[0] != '\0')
        hide(listing->list, key);
    else
        listing->list->marked = true;
    return 0;
}

static int add_page(struct listing *listing, const struct s3_list *page)
{
    struct prefix_list *list = listing->list;
    int r = 0;

    for (size_t i = 0; r == 0 && i < page->nprefixes; i++)
        r = add_key(listing, page->prefixes[i], NULL);
    for (size_t i = 0; r == 0 && i < page->nobjects; i++) {
        const struct s3_object *object = &page->objects[i];
        size_t n = list->nentries;

        r = add_key(listing, object->key, object->etag);
        if (r == 0 && list->nentries > n) {
            list->entries[n].size = object->size;
            list->entries[n].modified = object->modified;
        }
    }
    return r;
}

/* Has the server sent all names that are the stem, or begin with the stem and
   '.'?  The keys come in order, and that of a prefix ends in '/', which follows
   on '.'. */
static bool has_stem(const struct listing *listing)
{
    const char *stem = listing->list->stem;
    size_t len = strlen(stem);

    return len > 0 && strncmp(listing->last, stem, len) == 0 &&
           (unsigned char)listing->last[len] > '/';
}

/* A list would never end. */
static int report_endless(struct net *net, const struct url *url)
{
    const struct net_options *options = net_get_options(net);
    char *name = options->report ? url_name(url) : NULL;
    char *line;

    if (name && asprintf(&line, "%s: list of keys does not end", name) >= 0) {
        options->report(line);
        free(line);
    }
    free(name);
    return -EIO;
}

/* Fetch the page that a token stands for, and put that of the next page into
   its place.  Returns 1, or 0 after the last one, or an error. */
static int fetch_page(struct listing *listing, struct net *net,
                      const struct prefix_wanted *wanted, char **token)
{
    const struct s3_list_wanted next = {
        .url = wanted->url,
        .stem = wanted->stem,
        .token = *token,
    };
    struct s3_list page;
    int r = s3_request_list(net, &next, &page);

    if (r < 0)
        return r;
    r = add_page(listing, &page);
    if (r == 0 && *token && page.next && strcmp(*token, page.next) == 0)
        r = report_endless(net, wanted->url);
    listing->list->npages++;
    free(*token);
    *token = page.next;
    page.next = NULL;
    s3_list_fini(&page);
    return r < 0 ? r : *token != NULL;
}

static int fetch_pages(struct listing *listing, struct net *net,
                       const struct prefix_wanted *wanted)
{
    struct prefix_list *list = listing->list;
    unsigned nempty = 0;
    char *token = NULL;
    size_t before;
    int r;

    do {
        before = list->nentries;
        r = fetch_page(listing, net, wanted, &token);
        nempty = list->nentries > before ? 0 : nempty + 1;
        if (r > 0 && nempty == EMPTY_MAX)
            r = report_endless(net, wanted->url);
    } while (r > 0 && list->npages != wanted->pages_max && !has_stem(listing));
    free(token);
    list->whole = r == 0 && list->stem[0] == '\0';
    return r < 0 ? r : 0;
}

/* Prefixes come before objects with the same name. */
static int compare(const void *a, const void *b)
{
    const struct prefix_entry *one = a;
    const struct prefix_entry *two = b;
    int r = strcmp(one->name, two->name);

    return r != 0 ? r : two->prefix - one->prefix;
}

/* Sort the entries, and hide objects with the name of a prefix.  Those that are
   empty only mark a directory. */
static void sort(struct prefix_list *list)
{
    size_t n = 0;

    if (list->nentries > 0)
        qsort(list->entries, list->nentries, sizeof(list->entries[0]), compare);
    for (size_t i = 0; i < list->nentries; i++) {
        struct prefix_entry *entry = &list->entries[i];

        if (n > 0 && strcmp(list->entries[n - 1].name, entry->name) == 0) {
            if (entry->size > 0)
                hide(list, entry->name);
            free(entry->name);
        } else {
            list->entries[n++] = *entry;
        }
    }
    list->nentries = n;
}

int prefix_list_fetch(struct net *net, const struct prefix_wanted *wanted,
                      struct prefix_list **out)
{
    struct listing listing = { .prefix = s3_key_prefix(wanted->url) };
    struct prefix_list *list = calloc(1, sizeof(*list));
    int r = -ENOMEM;

    if (list && listing.prefix) {
        listing.list = list;
        listing.prefix_len = strlen(listing.prefix);
        strcpy(list->stem, wanted->stem);
        list->asked_ns = clock_monotonic_ns();
        r = fetch_pages(&listing, net, wanted);
    }
    free(listing.prefix);
    if (r < 0) {
        prefix_list_put(list);
        return r;
    }
    sort(list);
    list->listed_ns = clock_monotonic_ns();
    *out = list;
    return 0;
}

struct prefix_list *prefix_list_get(struct prefix_list *list)
{
    atomic_fetch_add(&list->nshared, 1);
    return list;
}

void prefix_list_put(struct prefix_list *list)
{
    if (!list || atomic_fetch_sub(&list->nshared, 1) > 0)
        return;
    for (size_t i = 0; i < list->nentries; i++)
        free(list->entries[i].name);
    free(list->entries);
    free(list);
}

size_t prefix_list_seek(const struct prefix_list *list, const char *name)
{
    size_t first = 0;
    size_t end = list->nentries;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (strcmp(list->entries[middle].name, name) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

const struct prefix_entry *prefix_list_find(const struct prefix_list *list,
                                            const char *name)
{
    size_t i = prefix_list_seek(list, name);

    return i < list->nentries && strcmp(list->entries[i].name, name) == 0
               ? &list->entries[i]
               : NULL;
}
