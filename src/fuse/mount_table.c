/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/mount_table.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/hash.h"

static bool is_octal(const char *text)
{
    return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' &&
           text[1] <= '7' && text[2] >= '0' && text[2] <= '7';
}

/* Undo the kernel's escapes: it writes blanks and backslashes as `\ooo`. */
static void unescape(char *text)
{
    char *to = text;

    while (*text) {
        if (*text == '\\' && is_octal(text + 1)) {
            *to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
                           (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* Get the user from the options of a FUSE mount. */
static uid_t user_of(const char *options)
{
    const char *user = options ? strstr(options, "user_id=") : NULL;

    return user ? (uid_t)strtoul(strchr(user, '=') + 1, NULL, 10) : (uid_t)-1;
}

/* Parse a line: ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELD...] - TYPE
   FSNAME OPTIONS. */
static bool parse(char *line, struct mount_entry *out)
{
    enum {
        DEV = 2,
        PATH = 4,
        NFIELDS
    };
    char *fields[NFIELDS];
    char *rest = line;
    char *separator = strstr(line, " - ");
    unsigned major;
    unsigned minor;
    const char *type;
    char *fsname;

    if (!separator)
        return false;
    for (int i = 0; i < NFIELDS; i++)
        fields[i] = strsep(&rest, " ");
    rest = separator + strlen(" - ");
    type = strsep(&rest, " ");
    fsname = strsep(&rest, " ");
    if (!fields[PATH] || !fsname ||
        sscanf(fields[DEV], "%u:%u", &major, &minor) != 2)
        return false;
    unescape(fields[PATH]);
    *out = (struct mount_entry){
        .dev = makedev(major, minor),
        .path = fields[PATH],
        .is_framefs = strcmp(type, "fuse.framefs") == 0,
        .user = user_of(rest),
        .tag = (uint16_t)hash_text(fsname),
    };
    return true;
}

int mount_table_open(pid_t pid, struct mount_table *out)
{
    char path[64] = "/proc/self/mountinfo";

    if (pid > 0)
        snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
    *out = (struct mount_table){ .file = fopen(path, "re") };
    return out->file ? 0 : -errno;
}

bool mount_table_next(struct mount_table *table, struct mount_entry *out)
{
    while (getline(&table->line, &table->size, table->file) >= 0)
        if (parse(table->line, out))
            return true;
    return false;
}

void mount_table_close(struct mount_table *table)
{
    if (table->file)
        fclose(table->file);
    free(table->line);
}

int mount_table_find(const char *path, struct mount_entry *out)
{
    struct mount_entry entry;
    struct mount_table table;
    int r = mount_table_open(0, &table);

    if (r < 0)
        return r;
    r = -ENOENT;
    while (mount_table_next(&table, &entry)) {
        if (strcmp(entry.path, path) != 0)
            continue;
        /* A later mount covers this one. */
        r = entry.is_framefs ? 0 : -ENOENT;
        *out = entry;
        out->path = NULL;
    }
    mount_table_close(&table);
    return r;
}

static int has(pid_t pid, dev_t dev, uint16_t tag, const char *except)
{
    struct mount_entry entry;
    struct mount_table table;
    int r = mount_table_open(pid, &table);

    if (r < 0)
        return r;
    while (r == 0 && mount_table_next(&table, &entry))
        r = entry.is_framefs && entry.dev == dev && entry.tag == tag &&
            (!except || strcmp(entry.path, except) != 0);
    mount_table_close(&table);
    return r;
}

int mount_table_has(pid_t pid, dev_t dev, uint16_t tag)
{
    return has(pid, dev, tag, NULL);
}

/* Mount namespaces whose tables were read. */
struct namespaces {
    ino_t seen[128];
    size_t n;
};

/* Is there a namespace that this process may look at, and that was not seen
   before?  Namespaces that find no room are looked at again. */
static bool is_another(struct namespaces *namespaces, const char *process)
{
    char path[NAME_MAX + 16];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
    if (stat(path, &st) < 0)
        return false;
    for (size_t i = 0; i < namespaces->n; i++)
        if (namespaces->seen[i] == st.st_ino)
            return false;
    if (namespaces->n < sizeof(namespaces->seen) / sizeof(ino_t))
        namespaces->seen[namespaces->n++] = st.st_ino;
    return true;
}

bool mount_table_any_has(dev_t dev, uint16_t tag, const char *except)
{
    struct namespaces namespaces = { .n = 0 };
    bool found =
        is_another(&namespaces, "self") && has(0, dev, tag, except) > 0;
    DIR *processes = opendir("/proc");
    struct dirent *entry;

    while (processes && !found && (entry = readdir(processes)))
        found = isdigit((unsigned char)entry->d_name[0]) &&
                is_another(&namespaces, entry->d_name) &&
                mount_table_has((pid_t)strtol(entry->d_name, NULL, 10), dev,
                                tag) > 0;
    if (processes)
        closedir(processes);
    return found;
}
