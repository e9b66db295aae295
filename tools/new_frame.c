/* SPDX-License-Identifier: BSD-3-Clause */
#include "new_frame.h"

#include <getopt.h>

#include "base/log.h"
#include "file/params.h"

/* In the order of the options. */
static const char *const names[] = {
    "layout",   "codec",     "clevel",    "filters",
    "typesize", "chunksize", "blocksize",
};

/* Set what an option says. */
static int set(int option, const char *value, struct file_params *params,
               bool *sparse)
{
    if (option == NEW_FRAME_LAYOUT)
        return params_set_layout(value, sparse);
    return params_set(params, names[option - NEW_FRAME_LAYOUT], value);
}

bool new_frame_take(const struct verb *verb, int option,
                    struct new_frame *new_frame)
{
    struct file_params params = params_default;
    bool sparse;

    if (option < NEW_FRAME_LAYOUT || option >= NEW_FRAME_END)
        return false;
    if (option == NEW_FRAME_FORCE) {
        new_frame->force = true;
        return true;
    }
    if (set(option, optarg, &params, &sparse) < 0) {
        log_error("--%s %s: not a value that makes sense",
                  names[option - NEW_FRAME_LAYOUT], optarg);
        verb_usage(verb);
    }
    new_frame->values[option - NEW_FRAME_LAYOUT] = optarg;
    return true;
}

/* Is anything said of how the content is kept? */
static bool has_params(const struct new_frame *new_frame)
{
    for (int i = NEW_FRAME_CODEC; i < NEW_FRAME_FORCE; i++)
        if (new_frame->values[i - NEW_FRAME_LAYOUT])
            return true;
    return false;
}

bool new_frame_apply(const struct new_frame *new_frame,
                     struct file_params *params, bool *sparse)
{
    for (int i = NEW_FRAME_LAYOUT; i < NEW_FRAME_FORCE; i++) {
        const char *value = new_frame->values[i - NEW_FRAME_LAYOUT];

        if (value)
            set(i, value, params, sparse);
    }
    return !has_params(new_frame) || params_check(params) == 0;
}
