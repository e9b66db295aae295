/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/name_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int name_list_add(struct name_list *list, const char *name)
{
    if (list->nnames == list->nallocated) {
        size_t n = list->nallocated ? 2 * list->nallocated : 64;
        char **names = realloc(list->names, n * sizeof(names[0]));

        if (!names)
            return -ENOMEM;
        list->names = names;
        list->nallocated = n;
    }
    list->names[list->nnames] = strdup(name);
    if (!list->names[list->nnames])
        return -ENOMEM;
    list->nnames++;
    return 0;
}

void name_list_free(struct name_list *list)
{
    for (size_t i = 0; i < list->nnames; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct name_list){ 0 };
}
