/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/identity.h"
#include "open/deferred_close.h"
#include "open/reform_private.h"

static int check_nothing(void *context __attribute__((unused)))
{
    return 0;
}

static int make_empty(const struct reform *reform,
                      const struct backing_reform *draft)
{
    struct fault fault = FAULT_NONE;
    struct file *file;
    int r = reform_create(reform, draft, &file);

    if (r < 0)
        return r;
    r = file_sync(file, &fault);
    file_close(file);
    return r;
}

/* Put an empty frame in the place of an array.  Returns as reform_swap(). */
static int empty(struct reform *reform)
{
    struct node_table *nodes = &reform->fs->nodes;
    struct backing_reform draft = { .old = &reform->old, .new = &reform->new };
    int r = backing_reform_begin(&draft);

    if (r < 0)
        return r;
    r = make_empty(reform, &draft);
    if (r == 0) {
        node_begin_rename(nodes, reform->node, NULL);
        r = reform_is_moved(reform)
                ? -ESTALE
                : reform_swap(reform, &draft, check_nothing);
        node_end_rename(nodes, reform->node, NULL);
    }
    backing_reform_end(&draft);
    return r;
}

static int empty_array(struct reform *reform)
{
    int r = reform_choose_frame(reform);

    /* The node can stay if the layout does. */
    reform->new.kind = reform->old.kind;
    if (r > 0)
        r = empty(reform);
    if (r < 0)
        return r;
    return r > 0 ? 0 : -ESTALE;
}

/* Try once.  Returns as reform_empty(). */
static int try_empty(struct fs *fs, struct node *node)
{
    struct reform reform;
    int r = reform_begin(fs, node, &reform);

    if (r < 0)
        return r == -EMLINK || r == -EPERM ? 0 : r;
    if (reform_is_array(&reform))
        r = empty_array(&reform);
    reform_end(&reform);
    return r;
}

/* Another thread may put an empty frame there at the same time. */
int reform_empty(struct fs *fs, struct node *node)
{
    unsigned nreformed;
    bool served;
    int r;

    if (!fs->source.npy || !fs_reforms(fs) || !node_traits(node)->frame ||
        node_traits(node)->virtual)
        return 0;
    served = identity_serve_nobody();
    do {
        nreformed = fs->nreformed;
        r = try_empty(fs, node);
    } while (r == -ESTALE && nreformed != fs->nreformed &&
             !node_is_removed(&fs->nodes, node));
    identity_serve_again(served);
    if (r == -ESTALE)
        deferred_close_now(fs, node);
    return r;
}
