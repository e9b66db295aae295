/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

/* Open a file without a name in $TMPDIR or /tmp.  Returns a descriptor or a
   negative errno. */
int scratch_open(void);

#endif
