/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/log.h"
#include "base/text.h"
#include "edit.h"
#include "file/info.h"
#include "frame/metalayer.h"
#include "input.h"
#include "remote.h"
#include "results.h"
#include "source.h"
#include "verb.h"

enum {
    CONTENT_MAX = 1 << 28 /* bytes in a metalayer */
};

/* The options that were given.  Each action accepts some of them. */
enum {
    OPTION_JSON = 1 << 0,
    OPTION_FIXED = 1 << 1,
    OPTION_OFFSET = 1 << 2
};

struct meta {
    unsigned options;
    uint64_t frame_offset;
    const char *path;
    const char *name;
    const char *input;
};

static void print_layer(struct frame *frame, const struct metalayer *layer)
{
    struct fault fault = FAULT_NONE;
    char name[TEXT_ESCAPED_SIZE(METALAYER_NAME_MAX)];
    char text[256];
    uint32_t size;
    int r = metalayer_size(frame, layer, &size, &fault);

    text_escape(layer->name, TEXT_PLAIN_PRINTABLE, name, sizeof(name));
    if (r < 0)
        fault_format(&fault, r, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%" PRIu32, size);
    printf("%-11s %10s  %s\n", metalayer_kind_name(layer->kind), text, name);
}

static int print_text(struct frame *frame, struct fault *fault)
{
    struct metalayer_list list;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < list.nlayers; i++)
        print_layer(frame, &list.layers[i]);
    metalayer_list_free(&list);
    return 0;
}

static int print_json(struct frame *frame, struct fault *fault)
{
    int r = info_write_layers(frame, 0, stdout, fault);

    if (r == 0)
        putchar('\n');
    return r;
}

static int list(const struct meta *meta)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r = source_open_frame(meta->path, meta->frame_offset, &frame);

    if (r < 0)
        return r;
    r = meta->options & OPTION_JSON ? print_json(frame, &fault)
                                    : print_text(frame, &fault);
    if (r < 0)
        source_report(meta->path, r, &fault);
    frame_close(frame);
    return r;
}

/* Find the metalayer that the user means, or NULL.  Unless --fixed is given,
   one in the trailer takes precedence over one in the header. */
static const struct metalayer *find(const struct meta *meta,
                                    const struct metalayer_list *layers)
{
    const struct metalayer *layer = NULL;

    if (!(meta->options & OPTION_FIXED)) {
        layer = metalayer_find(layers, METALAYER_VL, meta->name);
        if (!layer)
            layer = metalayer_find(layers, METALAYER_USERMETA, meta->name);
    }
    if (!layer)
        layer = metalayer_find(layers, METALAYER_FIXED, meta->name);
    return layer;
}

static int report_missing(const struct meta *meta)
{
    log_error("%s: there is no metalayer '%s'", meta->path, meta->name);
    return -ENOENT;
}

static int write_content(const struct meta *meta, struct frame *frame,
                         const struct metalayer_list *layers)
{
    const struct metalayer *layer = find(meta, layers);
    struct fault fault = FAULT_NONE;
    uint8_t *content;
    ssize_t len;

    if (!layer)
        return report_missing(meta);
    len = metalayer_read(frame, layer, CONTENT_MAX, &content, &fault);
    if (len < 0) {
        source_report(meta->path, (int)len, &fault);
        return (int)len;
    }
    results_write(content, (size_t)len);
    free(content);
    return 0;
}

static int get(const struct meta *meta)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list layers;
    struct frame *frame;
    int r = source_open_frame(meta->path, meta->frame_offset, &frame);

    if (r < 0)
        return r;
    r = metalayer_list_read(frame, &layers, &fault);
    if (r == 0) {
        r = write_content(meta, frame, &layers);
        metalayer_list_free(&layers);
    } else {
        source_report(meta->path, r, &fault);
    }
    frame_close(frame);
    return r;
}

/* Is the metalayer that the user means in the header?  A new one is if --fixed
   is given.  Returns 1 or 0, or a negative errno, which was reported. */
static int is_fixed(const struct meta *meta, const struct edit *edit)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list layers;
    const struct metalayer *layer;
    int r = metalayer_list_read(edit->frame, &layers, &fault);

    if (r < 0)
        return edit_report(edit, r, &fault);
    layer = find(meta, &layers);
    r = layer ? layer->kind == METALAYER_FIXED
              : (meta->options & OPTION_FIXED) != 0;
    metalayer_list_free(&layers);
    return r;
}

/* Report why a metalayer can't be set. */
static int report_set(const struct meta *meta, int error)
{
    if (error == -E2BIG)
        log_error("%s: metalayers are too many or too long", meta->path);
    else if (error != -EINVAL)
        source_report(meta->path, error, &FAULT_NONE);
    else if (strlen(meta->name) > METALAYER_NAME_MAX)
        log_error("%s: a name has at most %d bytes", meta->path,
                  METALAYER_NAME_MAX);
    else
        log_error("%s: a metalayer of the header keeps its length, and is made "
                  "before there are chunks",
                  meta->path);
    return error;
}

static int set_content(const struct meta *meta, struct edit *edit,
                       const uint8_t *content, size_t len)
{
    int fixed = is_fixed(meta, edit);
    int r;

    if (fixed < 0)
        return fixed;
    if (fixed)
        r = frame_writer_set_metalayer(edit->writer, meta->name, content, len);
    else
        r = frame_writer_set_vlmetalayer(edit->writer, meta->name, content,
                                         len);
    return r < 0 ? report_set(meta, r) : 0;
}

static int set(const struct meta *meta)
{
    struct edit edit;
    struct input input;
    uint8_t *content;
    ssize_t len;
    int r = edit_open(meta->path, &edit);

    if (r < 0)
        return r;
    r = input_open(meta->input, &input);
    if (r == 0) {
        len = input_read_all(&input, CONTENT_MAX, &content);
        input_close(&input);
        r = len < 0 ? (int)len : set_content(meta, &edit, content, (size_t)len);
        if (len >= 0)
            free(content);
    }
    return edit_end(&edit, r);
}

static int rm(const struct meta *meta)
{
    struct edit edit;
    int r = edit_open(meta->path, &edit);

    if (r < 0)
        return r;
    r = frame_writer_remove_vlmetalayer(edit.writer, meta->name);
    if (r == -ENODATA && is_fixed(meta, &edit) > 0)
        log_error("%s: a metalayer of the header can't be removed", meta->path);
    else if (r == -ENODATA)
        report_missing(meta);
    return edit_end(&edit, r);
}

/* The actions, with the number of arguments and the options that each accepts,
   and whether it changes the frame. */
static const struct action {
    const char *name;
    int (*run)(const struct meta *meta);
    int nargs;
    unsigned options;
    bool changes;
} actions[] = {
    { "list", list, 1, OPTION_JSON | OPTION_OFFSET, false },
    { "get", get, 2, OPTION_FIXED | OPTION_OFFSET, false },
    { "set", set, 3, OPTION_FIXED, true },
    { "rm", rm, 2, 0, true },
};

static const struct action *find_action(const struct verb *verb,
                                        const char *name)
{
    for (size_t i = 0; name && i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    if (name)
        log_error("'%s' is none of list, get, set and rm", name);
    else
        log_error("neither list, get, set nor rm is given");
    verb_usage(verb);
}

static void take_options(const struct verb *verb, int argc, char **argv,
                         struct meta *meta)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, OPTION_JSON },
        { "fixed", no_argument, NULL, OPTION_FIXED },
        { "frame-offset", required_argument, NULL, OPTION_OFFSET },
        ARGS_ROWS,
    };
    int option;

    while ((option = args_next(verb, argc, argv, options)) != -1) {
        if (option == OPTION_OFFSET)
            meta->frame_offset = args_size(verb, optarg);
        meta->options |= (unsigned)option;
    }
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "NAME", "INPUT" };
    const struct action *action;
    struct meta meta = { 0 };
    char **args;

    take_options(verb, argc, argv, &meta);
    action = find_action(verb, optind < argc ? argv[optind++] : NULL);
    if (meta.options & ~action->options) {
        log_error("%s takes no such option", action->name);
        verb_usage(verb);
    }
    args = args_take(verb, argc, argv, action->nargs, names);
    meta.path = args[0];
    if (action->changes && remote_refuse_change(meta.path))
        return EXIT_FAILURE;
    meta.name = action->nargs > 1 ? args[1] : NULL;
    meta.input = action->nargs > 2 ? args[2] : NULL;
    return action->run(&meta) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_meta = {
    .name = "meta",
    .args = "list [--json] [--frame-offset N] FRAME\n"
            "       b2frame meta get [--fixed] [--frame-offset N] FRAME NAME\n"

            "       b2frame meta set [--fixed] FRAME NAME INPUT|-\n"
            "       b2frame meta rm FRAME NAME",
    .summary = "List, get, set and remove metalayers",
    .help = "Options:\n"
            "  --json            print a JSON array\n"
            "  --fixed           a metalayer of the header, not of the "
            "trailer\n" ARGS_COMMON_HELP "\n"
            "get writes the content to standard output; set takes it from "
            "INPUT or standard\n"
            "input.  A metalayer of the header keeps its length.\n\n"
            "Example:\n"
            "  echo 'run 7, 21 K' | b2frame meta set run7.b2frame note -\n",
    .run = run,
    .urls = true,
};
