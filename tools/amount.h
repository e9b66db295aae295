/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_AMOUNT_H
#define TOOLS_AMOUNT_H

enum {
    AMOUNT_LEN = 16
};

/* Format a number of bytes in an easily readable unit, such as "1.4 MiB". */
void amount_format(double nbytes, char text[AMOUNT_LEN]);

#endif
