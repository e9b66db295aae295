/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_OPTION_WORDS_H
#define STATE_OPTION_WORDS_H

#include <stddef.h>

#include "state/params.h"

/*
 * Describe the values that an option may have, for messages.
 *
 *  name  of an option of file_options_set(), params_set() or
 *        params_set_layout()
 *
 * Returns a phrase such as "a number from 0 to 9".
 */
const char *option_values(const char *name);

enum {
    OPTION_CLASH_LEN = 256
};

/* Tell why params_check() rejects parameters, in a phrase that names the one
   which does not go with the others. */
void option_clash(const struct file_params *params,
                  char text[OPTION_CLASH_LEN]);

#endif
