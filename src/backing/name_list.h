/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_NAME_LIST_H
#define BACKING_NAME_LIST_H

#include <stddef.h>

/* A list of names.  Starts zeroed. */
struct name_list {
    char **names;
    size_t nnames;
    size_t nallocated;
};

/* Add a copy of a name.  Returns 0 or -ENOMEM. */
int name_list_add(struct name_list *list, const char *name);

/* Free the names.  Accepts a zeroed list, and leaves one. */
void name_list_free(struct name_list *list);

#endif
