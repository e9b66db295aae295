/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

/* What a process may do beside what its user may. */

enum {
    RIGHTS_GROUPS_MAX = 65536 /* as in the kernel */
};

struct rights {
    uint64_t caps; /* effective capabilities, a bit for each */
    size_t ngroups;
    gid_t *groups; /* to be freed */
};

/* Read the rights of a process or thread.  Returns 0 or a negative errno. */
int rights_read(pid_t pid, struct rights *out);

#endif
