/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/shelf.h"

#include <stdlib.h>

struct book {
    struct list link;
    struct store_version version; /* of the file, before it was read; settled */
    struct bundle *bundle;        /* a reference */
};

void shelf_init(struct shelf *shelf)
{
    pthread_mutex_init(&shelf->lock, NULL);
    list_init(&shelf->books);
}

static void drop_locked(struct shelf *shelf, struct book *book)
{
    list_remove(&book->link);
    shelf->nbooks--;
    shelf->footprint -= bundle_footprint(book->bundle);
    bundle_put(book->bundle);
    free(book);
}

void shelf_fini(struct shelf *shelf)
{
    list_for_each_safe(link, &shelf->books)
        drop_locked(shelf, list_entry(link, struct book, link));
    pthread_mutex_destroy(&shelf->lock);
}

static struct book *find_locked(struct shelf *shelf,
                                struct store_version version)
{
    list_for_each_safe(link, &shelf->books) {
        struct book *book = list_entry(link, struct book, link);

        if (store_version_compare(book->version, version) >=
            VERSION_SAME_OBJECT)
            return book;
    }
    return NULL;
}

struct bundle *shelf_find(struct shelf *shelf, struct store_version version)
{
    struct bundle *bundle = NULL;
    struct book *book;

    pthread_mutex_lock(&shelf->lock);
    book = find_locked(shelf, version);
    if (book && store_version_compare(book->version, version) == VERSION_SAME) {
        list_remove(&book->link);
        list_append(shelf->books.next, &book->link);
        bundle = bundle_get(book->bundle);
    }
    pthread_mutex_unlock(&shelf->lock);
    return bundle;
}

/* Add an entry, and evict old ones if there are too many. */
static void put_locked(struct shelf *shelf, struct book *book)
{
    struct book *old = find_locked(shelf, book->version);

    if (old)
        drop_locked(shelf, old);
    list_append(shelf->books.next, &book->link);
    shelf->nbooks++;
    shelf->footprint += bundle_footprint(book->bundle);
    while ((shelf->footprint > SHELF_MAX || shelf->nbooks > SHELF_NBOOKS) &&
           shelf->books.prev != &book->link)
        drop_locked(shelf, list_entry(shelf->books.prev, struct book, link));
}

void shelf_keep(struct shelf *shelf, struct store_version version,
                struct bundle *bundle)
{
    struct book *book = version.settled ? malloc(sizeof(*book)) : NULL;

    if (!book)
        return;
    *book = (struct book){
        .version = version,
        .bundle = bundle_get(bundle),
    };
    pthread_mutex_lock(&shelf->lock);
    put_locked(shelf, book);
    pthread_mutex_unlock(&shelf->lock);
}
