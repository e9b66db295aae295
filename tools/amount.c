/* SPDX-License-Identifier: BSD-3-Clause */
#include "amount.h"

#include <stdio.h>

void amount_format(double nbytes, char text[AMOUNT_LEN])
{
    static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
                                         "TiB", "PiB", "EiB" };
    unsigned unit = 0;

    while (nbytes >= 1024 && unit < sizeof(units) / sizeof(units[0]) - 1) {
        nbytes /= 1024;
        unit++;
    }
    snprintf(text, AMOUNT_LEN, "%.*f %s", unit > 0, nbytes, units[unit]);
}
