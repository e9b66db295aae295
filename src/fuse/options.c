/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "chunk/plugin.h"
#include "fuse/options_mount.h"
#include "open/kernel_readahead.h"
#include "state/option_words.h"
#include "state/params.h"

/* Does libfuse support io_uring? */
enum {
#ifdef HAVE_FUSE_URING
    HAS_URING = true
#else
    HAS_URING = false
#endif
};

enum key {
    KEY_OFFSET,
    KEY_NAMES,
    KEY_LAYOUT,
    KEY_CLOSE,
    KEY_PLUGINS,
    KEY_NAMED,
    KEY_NET_FLAG,
    KEY_MAX_READ,
};

#define MEMBER(name) offsetof(struct options, name)

/* Options without a value.  Each sets a member of struct options. */
static const struct flag {
    const char *names[2]; /* as the user may write it */
    size_t member;        /* offset of a bool */
    bool passed_on;       /* libfuse gets the option, too */
} flags[] = {
    { { "-f" }, MEMBER(foreground), false },
    { { "-d", "debug" }, MEMBER(debug), false },
    { { "-h", "--help" }, MEMBER(help), false },
    { { "-V", "--version" }, MEMBER(version), false },
    { { "--stats" }, MEMBER(stats), false },
    { { "--json" }, MEMBER(json), false },
    { { "--watch" }, MEMBER(watch), false },
    { { "--prometheus" }, MEMBER(prometheus), false },
    { { "--unmount" }, MEMBER(unmount), false },
    { { "ro" }, MEMBER(fs.read_only), false },
    { { "noatime" }, MEMBER(fs.noatime), false },
    { { "raw" }, MEMBER(raw), false },
    { { "npy" }, MEMBER(fs.npy), false },
    { { "chunks" }, MEMBER(fs.chunks), false },
    { { "lock" }, MEMBER(file.lock), false },
    { { "io_uring" }, MEMBER(io_uring), true },
    { { "allow_other" }, MEMBER(others), true },
};

/* FUSE_OPT_KEY() without its conversion from int, for which compilers warn. */
#define OPTION(template, key)     \
    {                             \
        template, UINT32_MAX, key \
    }

static const struct fuse_opt known[] = {
    OPTION("offset=", KEY_OFFSET),
    OPTION("names=", KEY_NAMES),
    OPTION("cache=", KEY_NAMED),
    OPTION("threads=", KEY_NAMED),
    OPTION("readahead=", KEY_NAMED),
    OPTION("sums=", KEY_NAMED),
    OPTION("commit=", KEY_NAMED),
    OPTION("close=", KEY_CLOSE),
    OPTION("lock=", KEY_NAMED),
    OPTION("timeout=", KEY_NAMED),
    OPTION("retries=", KEY_NAMED),
    OPTION("connections=", KEY_NAMED),
    OPTION("cacert=", KEY_NAMED),
    OPTION("revalidate=", KEY_NAMED),
    OPTION("ticket=", KEY_NAMED),
    OPTION("grace=", KEY_NAMED),
    OPTION("single_writer", KEY_NET_FLAG),
    OPTION("plugins=", FUSE_OPT_KEY_DISCARD), /* see find_plugins() */
    OPTION("netcache=", KEY_NAMED),
    OPTION("netcache_size=", KEY_NAMED),
    OPTION("endpoint=", KEY_NAMED),
    OPTION("region=", KEY_NAMED),
    OPTION("profile=", KEY_NAMED),
    OPTION("anonymous", KEY_NET_FLAG),
    OPTION("layout=", KEY_LAYOUT),
    OPTION("codec=", KEY_NAMED),
    OPTION("clevel=", KEY_NAMED),
    OPTION("filters=", KEY_NAMED),
    OPTION("typesize=", KEY_NAMED),
    OPTION("chunksize=", KEY_NAMED),
    OPTION("blocksize=", KEY_NAMED),
    /* take_argument() passes this on to libfuse, too. */
    OPTION("max_read=", KEY_MAX_READ),
    FUSE_OPT_END,
};

static const char *value_of(const char *option)
{
    return strchr(option, '=') + 1;
}

/* Parse the value of an option as a number from `min` to `max`. */
static int parse_size(const char *option, uint64_t min, uint64_t max,
                      uint64_t *out)
{
    uint64_t value;

    if (!size_parse(value_of(option), &value) || value < min || value > max) {
        log_error("%s: wants a size from %" PRIu64 " to %" PRIu64, option, min,
                  max);
        return -EINVAL;
    }
    *out = value;
    return 0;
}

static int set_names(struct options *options, const char *option)
{
    if (strcmp(value_of(option), "keep") != 0) {
        log_error("%s: names are kept with names=keep, or suffixes dropped",
                  option);
        return -EINVAL;
    }
    options->fs.keep_names = true;
    return 0;
}

static int set_layout(struct options *options, const char *option)
{
    int r = params_set_layout(value_of(option), &options->fs.sparse);

    if (r < 0)
        log_error("%s: the layout is contiguous or sparse", option);
    return r;
}

static int set_close(struct options *options, const char *option)
{
    options->fs.close_later = strcmp(value_of(option), "later") == 0;
    if (options->fs.close_later || strcmp(value_of(option), "commit") == 0)
        return 0;
    log_error("%s: close takes commit or later", option);
    return -EINVAL;
}

static int set_plugins(const char *option)
{
    int r = plugin_set_dir(value_of(option));

    if (r < 0)
        log_error("%s: %s", option, strerror(-r));
    return r;
}

/* Set an option of struct file_options, or a parameter of new frames. */
static int set_named(struct options *options, const char *option)
{
    char name[16] = "";
    size_t len = (size_t)(value_of(option) - option) - 1;
    int r;

    memcpy(name, option, len < sizeof(name) ? len : sizeof(name) - 1);
    r = file_options_set(&options->file, name, value_of(option));
    if (r == -ENOENT)
        r = params_set(&options->fs.params, name, value_of(option));
    if (r < 0)
        log_error("%s: wants %s", option, option_values(name));
    return r;
}

static int set_max_read(struct options *options, const char *option)
{
    uint64_t size;
    int r = parse_size(option, 0, UINT32_MAX, &size);

    if (r == 0)
        options->max_read = (uint32_t)size;
    return r;
}

/* Set an option that has no value.  Returns 0, 1 if it is for libfuse, too, or
   -ENOENT if there is none of that name. */
static int set_flag(struct options *options, const char *name)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        const struct flag *flag = &flags[i];

        if (strcmp(name, flag->names[0]) != 0 &&
            (!flag->names[1] || strcmp(name, flag->names[1]) != 0))
            continue;
        *(bool *)((char *)options + flag->member) = true;
        return flag->passed_on;
    }
    return -ENOENT;
}

/* Set all that follows from flags. */
static void apply_flags(struct options *options)
{
    options->foreground = options->foreground || options->debug;
    options->file.view = options->fs.npy ? FILE_VIEW_NPY
                         : options->raw  ? FILE_VIEW_CHUNKS
                                         : FILE_VIEW_ARRAY;
}

/* Set an option of ours.  Returns 0 or -EINVAL. */
static int set_known(struct options *options, enum key key, const char *option)
{
    switch (key) {
    case KEY_OFFSET:
        return parse_size(option, 0, INT64_MAX, &options->fs.offset);
    case KEY_NAMES:
        return set_names(options, option);
    case KEY_LAYOUT:
        return set_layout(options, option);
    case KEY_CLOSE:
        return set_close(options, option);
    case KEY_NAMED:
        return set_named(options, option);
    case KEY_NET_FLAG:
        return net_options_set(&options->file.net, option, "");
    case KEY_MAX_READ:
        return set_max_read(options, option);
    case KEY_PLUGINS: /* see find_plugins() */
        break;
    }
    return 0;
}

static int set_path(struct options *options, const char *path)
{
    if (!options->fs.source) {
        options->fs.source = path;
    } else if (!options->fs.mountpoint) {
        options->fs.mountpoint = path;
    } else {
        log_error("%s: one argument too many", path);
        return -EINVAL;
    }
    return 0;
}

/* Take an option that is not in `known`.  Returns as take_argument(). */
static int take_unlisted(struct options *options, const char *option)
{
    int r = set_flag(options, option);

    if (r >= 0)
        return r;
    if (option[0] != '-') {
        r = options_take_other(options, option);
        return r < 0 ? -1 : r;
    }
    log_error("%s: unknown option", option);
    return -1;
}

/* libfuse calls this for each argument.  Returns -1, 0, or 1 to pass it on,
   because libfuse knows the option, too. */
static int take_argument(void *data, const char *arg, int key,
                         struct fuse_args *args __attribute__((unused)))
{
    struct options *options = data;
    int r = options_note_flag(options, arg);

    if (r != 0)
        return r < 0 ? -1 : 0;
    if (key == FUSE_OPT_KEY_OPT)
        return take_unlisted(options, arg);
    if (key == FUSE_OPT_KEY_NONOPT)
        r = set_path(options, arg);
    else
        r = set_known(options, (enum key)key, arg);
    return r < 0 ? -1 : key == KEY_MAX_READ;
}

/* Make the option with the name under which the mount is listed.  It is the
   whole path: programs that read the list run in other directories.  Returns
   NULL if there is no memory; the caller frees it. */
static char *make_fsname(const struct options *options)
{
    char *path = realpath(options->fs.source, NULL);
    size_t len = strlen(options->fs.source);
    char *name = NULL;

    if (path)
        len = strlen(path);
    else if (url_is(options->fs.source)) /* whose query is a secret */
        len = url_public_len(options->fs.source);
    if (asprintf(&name, "fsname=%.*s", (int)len,
                 path ? path : options->fs.source) < 0)
        name = NULL;
    free(path);
    return name;
}

/*
 * The number of requests in a queue of the ring.  Each processor has a queue,
 * and each request in it a buffer for the largest one.  A queue is served by
 * one thread.  So with more than one request, they would only wait there, and
 * even those that were answered would wait until all are.
 */
static const char queue_depth[] = "-oio_uring_q_depth=1";

/* Add our defaults for libfuse, before the user's options, so that the user's
   win. */
static int add_defaults(struct options *options)
{
    static const char common[] = "-osubtype=framefs,default_permissions";
    struct fuse_args *args = &options->args;
    char *name = make_fsname(options);
    char *opts = NULL;
    int r = -1;

    if (!name)
        return -ENOMEM;
    if (fuse_opt_add_opt_escaped(&opts, name) == 0)
        r = fuse_opt_insert_arg(args, 1, opts);
    if (r == 0)
        r = fuse_opt_insert_arg(args, 1, "-o");
    if (r == 0)
        r = fuse_opt_insert_arg(args, 1, common);
    if (r == 0 && options->io_uring)
        r = fuse_opt_insert_arg(args, 1, queue_depth);
    if (r == 0 && options->debug)
        r = fuse_opt_add_arg(args, "-odebug");
    free(opts);
    free(name);
    return r == 0 ? 0 : -ENOMEM;
}

/* Take the one argument of an option for an existing mount. */
static int take_mountpoint(struct options *options, const char *option)
{
    if (!options->fs.source || options->fs.mountpoint) {
        log_error("%s wants one MOUNTPOINT, see framefs --help", option);
        return -EINVAL;
    }
    options->fs.mountpoint = options->fs.source;
    return 0;
}

/* Check the options that go with --stats. */
static int take_stats(struct options *options)
{
    if (!options->stats) {
        log_error("--json, --watch and --prometheus go with --stats");
        return -EINVAL;
    }
    if (options->prometheus && (options->json || options->watch)) {
        log_error("--prometheus goes without --json and --watch");
        return -EINVAL;
    }
    return take_mountpoint(options, "--stats");
}

/*
 * Check the options that go with io_uring.
 *
 * With io_uring, libfuse has one thread for each processor, which answers all
 * requests from that processor one after the other.  A commit takes seconds,
 * and so may the wait for a lock; a program that only looks up a file would
 * wait as long.  Reads are short, and with io_uring reads at random places take
 * a fifth less time.  So io_uring is an option, and only for read-only mounts
 * without locks.
 */
static int check_io_uring(const struct options *options)
{
    if (!options->io_uring)
        return 0;
    if (!HAS_URING) {
        log_error("io_uring: wants libfuse 3.18 when framefs is built");
        return -EINVAL;
    }
    if (!options->fs.read_only || options->file.lock) {
        log_error("io_uring goes with ro, and without lock");
        return -EINVAL;
    }
    return 0;
}

/* Files that are stored by their content get another name when that changes. */
static int check_plain(const struct options *options)
{
    if (options->fs.plain.below == 0 && !options->fs.plain.incompressible)
        return 0;
    if (options->file.lock || options->fs.keep_names) {
        log_error("plain=below=SIZE and plain=incompressible go without %s",
                  options->file.lock ? "lock" : "names=keep");
        return -EINVAL;
    }
    return 0;
}

static int take_plugins(void *data __attribute__((unused)), const char *arg,
                        int key, struct fuse_args *args __attribute__((unused)))
{
    return key != KEY_PLUGINS ? 1 : set_plugins(arg) < 0 ? -1 : 0;
}

/* Set the directory of plug-ins before other options name what is in it. */
static int find_plugins(int argc, char **argv)
{
    static const struct fuse_opt option[] = {
        OPTION("plugins=", KEY_PLUGINS),
        FUSE_OPT_END,
    };
    struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
    int r = fuse_opt_parse(&args, NULL, option, take_plugins);

    fuse_opt_free_args(&args);
    return r < 0 ? -EINVAL : 0;
}

int options_parse(int argc, char **argv, struct options *out)
{
    char clash[OPTION_CLASH_LEN];

    *out = (struct options){
        .file = file_default_options,
        .fs.params = params_default,
        .fs.shown = fs_shown_default,
        .kernel_readahead = KERNEL_READAHEAD_AUTO,
        .args = FUSE_ARGS_INIT(argc, argv),
    };
    if (find_plugins(argc, argv) < 0)
        return -EINVAL;
    if (fuse_opt_parse(&out->args, out, known, take_argument) < 0)
        return -EINVAL;
    apply_flags(out);
    if (out->help || out->version)
        return 0;
    if (out->stats || out->json || out->watch || out->prometheus)
        return take_stats(out);
    if (out->unmount)
        return take_mountpoint(out, "--unmount");
    if (out->remount && out->fs.mountpoint)
        return 0;
    out->fs.shared = out->file.lock;
    if (!out->fs.mountpoint) {
        log_error("SOURCE and MOUNTPOINT are needed, see framefs --help");
        return -EINVAL;
    }
    if (check_io_uring(out) < 0 || check_plain(out) < 0 ||
        options_resolve_paths(out) < 0)
        return -EINVAL;
    if (params_check(&out->fs.params) < 0) {
        option_clash(&out->fs.params, clash);
        log_error("new files: %s", clash);
        return -EINVAL;
    }
    return add_defaults(out);
}

void options_fini(struct options *options)
{
    fuse_opt_free_args(&options->args);
}
