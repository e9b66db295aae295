/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

/* The rights that a process has besides those of its user. */

enum {
    RIGHTS_GROUPS_MAX = 65536 /* the kernel's own limit */
};

struct rights {
    uint64_t caps; /* effective capabilities, one bit each */
    size_t ngroups;
    gid_t *groups; /* the caller frees them */
};

/* Read the rights of a process or thread.  Returns 0 or a negative errno. */
int rights_read(pid_t pid, struct rights *out);

#endif
