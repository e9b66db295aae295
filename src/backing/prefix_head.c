/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backing/prefix_private.h"
#include "base/clock.h"
#include "base/hash.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "net/s3_put.h"

enum {
    HEAD_LEN = 4096,     /* bytes to ask for */
    KEPT_MAX = 16 << 20, /* bytes of all heads */
    SLOT_LEN = 512       /* bytes that a slot and a head take up besides */
};

/* The known state of one object. */
struct slot {
    struct list bucket;
    struct list used;
    struct prefix_head *head; /* newest; NULL: none has come yet */
    struct fetch *fetch;      /* that is under way; or NULL */
    unsigned nheads;          /* that have come */
    int64_t changed_ns;       /* when this process has changed the object; heads
                                 that were asked for before are too old */
    int64_t seen_ns;          /* when the object was last known to exist */
    unsigned nusers;          /* threads that wait for one */
    bool index;               /* part of the key, like the next */
    char path[];              /* of the entry, from SOURCE */
};

struct fetch {
    struct prefix_tree *tree;
    struct slot *slot;
    struct url url;
    struct net_request request;
    struct prefix_head *head; /* to be filled */
};

const char *prefix_index_name(const char *frame)
{
    static const char old[] = ".b2eframe";
    size_t len = strlen(frame);

    return len > strlen(old) && strcmp(frame + len - strlen(old), old) == 0
               ? FRAME_OBJECT_OLD_INDEX
               : FRAME_OBJECT_INDEX;
}

void prefix_head_put(struct prefix_head *head)
{
    if (head && atomic_fetch_sub(&head->nshared, 1) == 0)
        free(head);
}

static struct prefix_head *ref(struct prefix_head *head)
{
    atomic_fetch_add(&head->nshared, 1);
    return head;
}

bool prefix_head_is_frame(const struct prefix_head *head)
{
    return head && head->error == 0 && frame_has_magic(head->bytes, head->len);
}

static struct list *bucket_of(struct prefix_tree *tree, const char *path)
{
    return &tree->heads[hash_text(path) % PREFIX_HEAD_BUCKETS];
}

static size_t count(const struct slot *slot)
{
    return SLOT_LEN + (slot->head ? slot->head->len : 0);
}

static void free_slot_locked(struct prefix_tree *tree, struct slot *slot)
{
    tree->nbytes -= count(slot);
    list_remove(&slot->bucket);
    list_remove(&slot->used);
    prefix_head_put(slot->head);
    free(slot);
}

static void evict_locked(struct prefix_tree *tree)
{
    list_for_each_safe(node, &tree->used) {
        struct slot *slot = list_entry(node, struct slot, used);

        if (tree->nbytes <= KEPT_MAX)
            return;
        if (!slot->fetch && slot->nusers == 0)
            free_slot_locked(tree, slot);
    }
}

static struct slot *find_locked(struct prefix_tree *tree, const char *path,
                                bool index)
{
    list_for_each(node, bucket_of(tree, path)) {
        struct slot *slot = list_entry(node, struct slot, bucket);

        if (slot->index == index && strcmp(slot->path, path) == 0)
            return slot;
    }
    return NULL;
}

static struct slot *add_locked(struct prefix_tree *tree, const char *path,
                               bool index)
{
    size_t len = strlen(path);
    struct slot *slot = calloc(1, sizeof(*slot) + len + 1);

    if (!slot)
        return NULL;
    slot->index = index;
    memcpy(slot->path, path, len + 1);
    list_append(bucket_of(tree, path), &slot->bucket);
    list_init(&slot->used);
    tree->nbytes += count(slot);
    return slot;
}

/* Find or make the slot of an object; NULL: there is no memory. */
static struct slot *get_locked(const struct prefix_object *object)
{
    struct prefix_tree *tree = object->dir->tree;
    char *path = prefix_dir_path(object->dir, object->name);
    struct slot *slot = NULL;

    if (path)
        slot = find_locked(tree, path, object->index);
    if (path && !slot)
        slot = add_locked(tree, path, object->index);
    free(path);
    if (slot) {
        list_remove(&slot->used);
        list_append(&tree->used, &slot->used);
    }
    return slot;
}

/* Compare tags; some servers write them without quotes in lists. */
static bool same_tag(const char *a, const char *b)
{
    size_t len;

    a += *a == '"';
    b += *b == '"';
    len = strcspn(a, "\"");
    return len > 0 && len == strcspn(b, "\"") && strncmp(a, b, len) == 0;
}

static bool is_good(const struct slot *slot, const char *etag, int64_t since)
{
    const struct prefix_head *head = slot->head;

    if (!head || (head->error < 0 && head->error != -ENOENT) ||
        head->asked_ns <= slot->changed_ns)
        return false;
    return head->asked_ns >= since ||
           (etag && head->error == 0 && same_tag(head->reply.etag, etag));
}

/* How many bytes of a head to keep: all if they are the whole index, so that it
   is not fetched again when the frame is opened; else the header. */
static size_t kept_len(const struct slot *slot, const struct prefix_head *head)
{
    const struct frame_start start = {
        .bytes = head->bytes,
        .len = head->len < FRAME_CLAIM_LEN ? head->len : FRAME_CLAIM_LEN,
        .avail = head->reply.size,
        .sparse = slot->index,
    };
    size_t len = FRAME_CLAIM_LEN;
    struct frame_info info;
    struct fault fault;

    if (slot->index && head->len == head->reply.size)
        return head->len;
    if (frame_parse_claim(&start, &info, &fault) == 0)
        len = info.header_len;
    return len < head->len ? len : head->len;
}

static void take_over(const struct slot *slot, const struct fetch *fetch,
                      struct prefix_head **head)
{
    struct prefix_head *cut;

    (*head)->error = fetch->request.error;
    if ((*head)->error == 0 && s3_is_marker(fetch->request.reply.put_id))
        (*head)->error = -ENOENT;
    if ((*head)->error == 0) {
        (*head)->reply = fetch->request.reply;
        (*head)->len = (*head)->reply.len;
        (*head)->len = kept_len(slot, *head);
    }
    cut = realloc(*head, sizeof(**head) + (*head)->len);
    if (cut)
        *head = cut;
}

/* Called by the loop of net. */
static void take_reply(struct net_request *request)
{
    struct fetch *fetch = request->context;
    struct prefix_tree *tree = fetch->tree;
    struct slot *slot = fetch->slot;

    take_over(slot, fetch, &fetch->head);
    pthread_mutex_lock(&tree->lock);
    tree->nbytes -= count(slot);
    prefix_head_put(slot->head);
    slot->head = fetch->head;
    slot->fetch = NULL;
    slot->nheads++;
    if (slot->head->error == 0)
        slot->seen_ns = clock_monotonic_ns();
    tree->nbytes += count(slot);
    evict_locked(tree);
    tree->nfetching--;
    pthread_cond_broadcast(&tree->changed);
    pthread_mutex_unlock(&tree->lock);
    url_fini(&fetch->url);
    free(fetch);
}

/* Make the URL of an object. */
static int object_url(const struct prefix_object *object, struct url *out)
{
    struct url url;
    int r = prefix_dir_url(object->dir, object->name, &url);

    if (r < 0 || !object->index) {
        *out = url;
        return r;
    }
    r = url_join(&url, prefix_index_name(object->name), out);
    url_fini(&url);
    return r;
}

static int submit_locked(struct prefix_tree *tree, struct fetch *fetch)
{
    struct net *net;
    int r = prefix_get_net_locked(tree, &net);

    if (r < 0)
        return r;
    fetch->request = (struct net_request){
        .url = &fetch->url,
        .len = HEAD_LEN,
        .buf = fetch->head->bytes,
        .done = take_reply,
        .context = fetch,
    };
    fetch->slot->fetch = fetch;
    tree->nfetching++;
    r = net_submit(net, &fetch->request);
    if (r < 0) {
        fetch->slot->fetch = NULL;
        tree->nfetching--;
    }
    net_put(net);
    return r;
}

/* Begin to fetch a head. */
static int begin_locked(struct slot *slot, const struct prefix_object *object)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    struct prefix_head *head = calloc(1, sizeof(*head) + HEAD_LEN);
    int r = -ENOMEM;

    if (fetch && head) {
        head->asked_ns = clock_monotonic_ns();
        fetch->tree = object->dir->tree;
        fetch->slot = slot;
        fetch->head = head;
        r = object_url(object, &fetch->url);
    }
    if (r == 0) {
        r = submit_locked(fetch->tree, fetch);
        if (r < 0)
            url_fini(&fetch->url);
    }
    if (r < 0) {
        free(head);
        free(fetch);
    }
    return r;
}

void prefix_head_begin_locked(const struct prefix_object *object, int64_t since)
{
    struct slot *slot = get_locked(object);

    if (slot && !slot->fetch && !is_good(slot, object->etag, since))
        begin_locked(slot, object);
}

/* Wait for a head that the caller or another thread fetches. */
static void await_locked(struct prefix_tree *tree, struct slot *slot)
{
    unsigned nheads = slot->nheads;

    slot->nusers++;
    while (slot->fetch && slot->nheads == nheads)
        pthread_cond_wait(&tree->changed, &tree->lock);
    slot->nusers--;
}

/* Get the head in a slot, or fetch one. */
static int get_head_locked(struct slot *slot,
                           const struct prefix_object *object, int64_t since)
{
    bool good = is_good(slot, object->etag, since);
    bool missed = !good && !slot->fetch;
    int r = missed ? begin_locked(slot, object) : 0;

    slot->nusers++; /* it stays while others are added */
    prefix_ahead_locked(object->dir, object->name, since, missed);
    slot->nusers--;
    if (r == 0 && !good)
        await_locked(object->dir->tree, slot);
    return r;
}

int prefix_head_get(const struct prefix_object *object, int64_t since,
                    struct prefix_head **out)
{
    struct prefix_tree *tree = object->dir->tree;
    struct slot *slot;
    int r = -ENOMEM;

    pthread_mutex_lock(&tree->lock);
    slot = get_locked(object);
    if (slot)
        r = get_head_locked(slot, object, since);
    /* This thread may have waited for a head from before a change. */
    if (r == 0 && slot->head->asked_ns <= slot->changed_ns)
        r = get_head_locked(slot, object, since);
    if (r == 0 && slot->head->error < 0 && slot->head->error != -ENOENT)
        r = slot->head->error;
    if (r == 0)
        *out = ref(slot->head);
    pthread_mutex_unlock(&tree->lock);
    return r;
}

void prefix_head_forget(struct prefix_dir *dir, const char *name, bool index)
{
    const struct prefix_object object = { dir, name, index, NULL };
    struct slot *slot;

    pthread_mutex_lock(&dir->tree->lock);
    slot = get_locked(&object);
    if (slot)
        slot->changed_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&dir->tree->lock);
}

void prefix_head_put_anew(struct prefix_dir *dir, const char *name, bool index)
{
    const struct prefix_object object = { dir, name, index, NULL };
    struct slot *slot;

    pthread_mutex_lock(&dir->tree->lock);
    slot = get_locked(&object);
    if (slot)
        slot->changed_ns = slot->seen_ns = clock_monotonic_ns();
    pthread_mutex_unlock(&dir->tree->lock);
}

bool prefix_head_was_seen_locked(const struct prefix_dir *dir, const char *name,
                                 int64_t since)
{
    char *path = prefix_dir_path(dir, name);
    bool seen = false;

    for (int index = 0; index <= 1 && path && !seen; index++) {
        const struct slot *slot = find_locked(dir->tree, path, index);

        seen = slot && slot->seen_ns > since;
    }
    free(path);
    return seen;
}

struct prefix_head *prefix_head_peek(const struct prefix_object *object)
{
    struct prefix_tree *tree = object->dir->tree;
    char *path = prefix_dir_path(object->dir, object->name);
    struct prefix_head *head = NULL;
    struct slot *slot;

    if (!path)
        return NULL;
    pthread_mutex_lock(&tree->lock);
    slot = find_locked(tree, path, object->index);
    if (slot && slot->head)
        head = ref(slot->head);
    pthread_mutex_unlock(&tree->lock);
    free(path);
    return head;
}

void prefix_heads_cancel(struct prefix_tree *tree)
{
    pthread_mutex_lock(&tree->lock);
    list_for_each(node, &tree->used) {
        struct slot *slot = list_entry(node, struct slot, used);

        if (slot->fetch)
            net_cancel(tree->net, &slot->fetch->request);
    }
    while (tree->nfetching > 0)
        pthread_cond_wait(&tree->changed, &tree->lock);
    pthread_mutex_unlock(&tree->lock);
}

void prefix_heads_free(struct prefix_tree *tree)
{
    list_for_each_safe(node, &tree->used)
        free_slot_locked(tree, list_entry(node, struct slot, used));
}
