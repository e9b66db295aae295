/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/options_mount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "fuse/options.h"
#include "open/kernel_readahead.h"

enum {
    ID_MAX = INT32_MAX, /* the kernel has larger ones, but they mean nobody in
                           some places */
    TIMEOUT_MAX = 31 * 24 * 3600,
    KIB = 1024,
    KERNEL_READAHEAD_MAX = 1 << 30,
};

/* Flags of a mount that a remount may set.  If `taken`, framefs or libfuse
   takes it, too; other mounts of FUSE have no use for it. */
static const struct {
    const char *name;
    bool taken;
} flags[] = {
    { "rw", true },
    { "ro", true },
    { "suid", true },
    { "nosuid", true },
    { "dev", true },
    { "nodev", true },
    { "exec", true },
    { "noexec", true },
    { "sync", true },
    { "async", true },
    { "dirsync", true },
    { "atime", true },
    { "noatime", true },
    { "diratime", false },
    { "nodiratime", false },
    { "relatime", false },
    { "norelatime", false },
    { "strictatime", false },
    { "nostrictatime", false },
    { "lazytime", false },
    { "nolazytime", false },
    { "symfollow", false },
    { "nosymfollow", false },
    { "silent", false },
    { "loud", false },
    { "mand", false },
    { "nomand", false },
    { "iversion", false },
    { "noiversion", false },
};

/* Words for mount(8) and systemd in lines of fstab. */
static const char *const ignored[] = {
    "defaults", "auto",   "noauto", "nofail", "_netdev",
    "user",     "nouser", "users",  "owner",  "group",
};

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_ignored(const char *option)
{
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        if (strcmp(option, ignored[i]) == 0)
            return true;
    }
    return begins(option, "x-") || begins(option, "X-") ||
           begins(option, "comment=") || begins(option, "user=");
}

int options_note_flag(struct options *options, const char *option)
{
    size_t len = strlen(options->flags);

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(option, flags[i].name) != 0)
            continue;
        if (len + strlen(option) + 2 > sizeof(options->flags)) {
            log_error("%s: one option too many", option);
            return -EINVAL;
        }
        options->flags[len] = ',';
        strcpy(options->flags + len + 1, option);
        return !flags[i].taken;
    }
    return 0;
}

static int set_id(const char *option, const char *value, int64_t *out)
{
    unsigned id;

    if (size_parse_number(value, 0, ID_MAX, &id) < 0) {
        log_error("%s: wants a number from 0 to %d", option, ID_MAX);
        return -EINVAL;
    }
    *out = id;
    return 0;
}

static int set_umask(const char *option, const char *value, int *out)
{
    char *end;
    unsigned long mask = strtoul(value, &end, 8);

    if (value[0] < '0' || value[0] > '7' || *end != '\0' || mask > 0777) {
        log_error("%s: wants an octal number from 0 to 0777", option);
        return -EINVAL;
    }
    *out = (int)mask;
    return 0;
}

static int set_timeout(const char *option, const char *value, double *out)
{
    char *end;
    double seconds = strtod(value, &end);

    /* This refuses what is no number, too. */
    if (value[0] < '0' || value[0] > '9' || *end != '\0' ||
        !(seconds <= TIMEOUT_MAX)) {
        log_error("%s: wants a number of seconds from 0 to %d", option,
                  TIMEOUT_MAX);
        return -EINVAL;
    }
    *out = seconds;
    return 0;
}

static int set_idle(const char *option, const char *value, unsigned *out)
{
    double seconds;
    int r = set_timeout(option, value, &seconds);

    if (r == 0)
        *out = seconds > 0 && seconds < 1 ? 1 : (unsigned)seconds;
    return r;
}

static int set_kernel_readahead(const char *option, const char *value,
                                int64_t *kib)
{
    uint64_t size;

    if (strcmp(value, "auto") == 0) {
        *kib = KERNEL_READAHEAD_AUTO;
        return 0;
    }
    if (!size_parse(value, &size) || size > KERNEL_READAHEAD_MAX) {
        log_error("%s: wants auto, or a size up to %d", option,
                  KERNEL_READAHEAD_MAX);
        return -EINVAL;
    }
    *kib = (int64_t)(size / KIB);
    return 0;
}

/* Add a suffix to the list, without its dot. */
static bool add_suffix(const char *suffix, size_t n, char *list)
{
    size_t len = strlen(list);

    if (n > 0 && *suffix == '.') {
        suffix++;
        n--;
    }
    if (n == 0 || memchr(suffix, '/', n) || memchr(suffix, '=', n) ||
        len + (len > 0) + n >= FS_PLAIN_MAX)
        return false;
    if (len > 0)
        list[len++] = ':';
    memcpy(list + len, suffix, n);
    list[len + n] = '\0';
    return true;
}

static bool set_below(const char *value, size_t n, uint64_t *out)
{
    char size[32];

    if (n >= sizeof(size))
        return false;
    memcpy(size, value, n);
    size[n] = '\0';
    return size_parse(size, out) && *out > 0;
}

/* Take one of the words of plain=. */
static bool take_plain(const char *word, size_t n, struct fs_plain *out)
{
    static const char below[] = "below=";
    static const char incompressible[] = "incompressible";

    if (n > strlen(below) && strncmp(word, below, strlen(below)) == 0)
        return set_below(word + strlen(below), n - strlen(below), &out->below);
    if (n == strlen(incompressible) && strncmp(word, incompressible, n) == 0)
        return out->incompressible = true;
    return add_suffix(word, n, out->suffixes);
}

static int set_plain(const char *option, const char *list, struct fs_plain *out)
{
    *out = (struct fs_plain){ 0 };
    do {
        size_t n = strcspn(list, ":");

        if (!take_plain(list, n, out)) {
            log_error("%s: wants words with : between them: suffixes, such as "
                      "jpg:tar.gz, of fewer than %d bytes; below=SIZE; "
                      "incompressible",
                      option, FS_PLAIN_MAX);
            return -EINVAL;
        }
        list += n;
    } while (*list++ == ':');
    return 0;
}

/* Set an option that changes what the kernel is told of files.  Returns 1 if it
   is another one. */
static int set_shown(struct fs_shown *shown, const char *option)
{
    const char *value = strchr(option, '=');

    if (!value)
        return 1;
    value++;
    if (begins(option, "uid="))
        return set_id(option, value, &shown->uid);
    if (begins(option, "gid="))
        return set_id(option, value, &shown->gid);
    if (begins(option, "umask="))
        return set_umask(option, value, &shown->umask);
    if (begins(option, "attr_timeout="))
        return set_timeout(option, value, &shown->attr_timeout);
    if (begins(option, "entry_timeout="))
        return set_timeout(option, value, &shown->entry_timeout);
    return 1;
}

int options_take_other(struct options *options, const char *option)
{
    if (is_ignored(option))
        return 0;
    if (strcmp(option, "remount") == 0) {
        options->remount = true;
        return 0;
    }
    if (begins(option, "kernel_readahead="))
        return set_kernel_readahead(option, strchr(option, '=') + 1,
                                    &options->kernel_readahead);
    if (begins(option, "plain="))
        return set_plain(option, strchr(option, '=') + 1, &options->fs.plain);
    if (begins(option, "idle="))
        return set_idle(option, strchr(option, '=') + 1, &options->idle);
    return set_shown(&options->fs.shown, option);
}
