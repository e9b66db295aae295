/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "store/store_version.h"

enum {
    MAX_FAULTS = 32
};

/* Faults of a file's current state that were logged. */
struct fault_log {
    uint64_t state; /* hash of its version */
    unsigned nfaults;
    uint64_t faults[MAX_FAULTS];
};

void fault_log_free(struct fault_log *log)
{
    free(log);
}

bool report_is_fault(int error)
{
    switch (error) {
    case -EINTR: /* the program is gone */
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
    case -ENOENT:
    case -ESTALE:
        return false;
    default:
        return true;
    }
}

static uint64_t hash_of(int error, const struct fault *fault)
{
    uint64_t hash = hash_mix((uint64_t)-error, fault->off);

    hash = hash_mix(hash, (uint64_t)fault->chunk_no);
    hash = hash_mix(hash, (uintptr_t)fault->what);
    for (const char *c = fault->object; *c != '\0'; c++)
        hash = hash_mix(hash, (unsigned char)*c);
    return hash;
}

/* Note a fault.  Returns false if it was noted before or there is no memory for
   it. */
static bool note_locked(struct node *node, uint64_t state, uint64_t fault)
{
    struct fault_log *log = node->faults;

    if (!log)
        log = node->faults = calloc(1, sizeof(*log));
    if (!log)
        return true;
    if (log->state != state)
        *log = (struct fault_log){ .state = state };
    for (unsigned i = 0; i < log->nfaults; i++) {
        if (log->faults[i] == fault)
            return false;
    }
    if (log->nfaults == MAX_FAULTS)
        return false;
    log->faults[log->nfaults++] = fault;
    return true;
}

/* A name may have any characters, but a message must stay on one line. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

void report_text(struct node_table *table, struct node *node, const char *text)
{
    struct node_path path = { .dir = "" };

    if (node_locate(table, node, &path) < 0)
        path.dir[0] = '\0';
    make_printable(path.dir);
    make_printable(path.name);
    make_printable(path.bundle_path);
    log_error("%s%s%s%s%s: %s", path.dir, path.dir[0] != '\0' ? "/" : "",
              path.name, path.bundle_path[0] != '\0' ? "/" : "",
              path.bundle_path, text);
}

void report_fault(struct node_table *table, struct node *node,
                  const struct stat *st, int error, const struct fault *fault)
{
    char text[256];
    uint64_t state =
        st ? store_version_hash(store_version_of(st), VERSION_SAME) : 0;
    bool is_new;

    if (!report_is_fault(error))
        return;
    atomic_fetch_add_explicit(&table->nfaults, 1, memory_order_relaxed);
    pthread_mutex_lock(&table->lock);
    is_new = note_locked(node, state, hash_of(error, fault));
    pthread_mutex_unlock(&table->lock);
    if (!is_new)
        return;
    fault_format(fault, error, text, sizeof(text));
    report_text(table, node, text);
}

void report_lost(struct node_table *table, struct node *node,
                 const struct unwritten *bytes)
{
    char text[256];

    snprintf(text, sizeof(text),
             "bytes %" PRIu64 " to %" PRIu64 " cannot be written and are %s: "
             "%s",
             bytes->off, bytes->end, bytes->fate, strerror(-bytes->error));
    report_text(table, node, text);
}
