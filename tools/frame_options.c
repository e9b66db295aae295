/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_options.h"

#include <getopt.h>

#include "base/log.h"
#include "state/option_words.h"
#include "state/params.h"

/* In the order of the FRAME_OPTIONS_ enumerators. */
static const char *const names[] = {
    "layout",   "codec",     "clevel",    "filters",
    "typesize", "chunksize", "blocksize",
};

/* Set the parameter that an option stands for. */
static int set(int option, const char *value, struct file_params *params,
               bool *sparse)
{
    if (option == FRAME_OPTIONS_LAYOUT)
        return params_set_layout(value, sparse);
    return params_set(params, names[option - FRAME_OPTIONS_LAYOUT], value);
}

bool frame_options_take(const struct verb *verb, int option,
                        struct frame_options *options)
{
    struct file_params params = params_default;
    bool sparse;

    if (option < FRAME_OPTIONS_LAYOUT || option >= FRAME_OPTIONS_END)
        return false;
    if (option == FRAME_OPTIONS_FORCE) {
        options->force = true;
        return true;
    }
    if (set(option, optarg, &params, &sparse) < 0) {
        const char *name = names[option - FRAME_OPTIONS_LAYOUT];

        log_error("--%s %s: wants %s", name, optarg, option_values(name));
        verb_usage(verb);
    }
    options->values[option - FRAME_OPTIONS_LAYOUT] = optarg;
    return true;
}

bool frame_options_has(const struct frame_options *options, int option)
{
    return options->values[option - FRAME_OPTIONS_LAYOUT];
}

/* Does an option set a parameter other than the layout? */
static bool has_params(const struct frame_options *options)
{
    for (int i = FRAME_OPTIONS_CODEC; i < FRAME_OPTIONS_FORCE; i++)
        if (frame_options_has(options, i))
            return true;
    return false;
}

/* Do the parameters go together, with one of the usual typesizes if it is still
   to be chosen? */
static bool suits_a_typesize(const struct file_params *params)
{
    static const uint32_t usual[] = { 1, 2, 4, 8, 16 };
    struct file_params tried = *params;

    if (params->chunk.typesize != 0)
        return params_check(params) == 0;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        tried.chunk.typesize = usual[i];
        if (params_check(&tried) == 0)
            return true;
    }
    return false;
}

bool frame_options_apply(const struct frame_options *options,
                         struct file_params *params, bool *sparse)
{
    for (int i = FRAME_OPTIONS_LAYOUT; i < FRAME_OPTIONS_FORCE; i++) {
        const char *value = options->values[i - FRAME_OPTIONS_LAYOUT];

        if (value)
            set(i, value, params, sparse);
    }
    return !has_params(options) || params_await_shape(params) ||
           suits_a_typesize(params);
}
