/* SPDX-License-Identifier: BSD-3-Clause */
#include "behind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/frame.h"

enum {
    MAGIC_LEN = 16, /* bytes of a file to look at */
    LINE_MAX_LEN = 3 * PATH_MAX,
};

/* A mount, as /proc/self/mountinfo has it. */
struct mount_line {
    unsigned major;
    unsigned minor;
    char root[PATH_MAX];
    char mountpoint[PATH_MAX];
    char type[64];
    char source[PATH_MAX];
};

/* Undo the octal escapes of a field. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        unsigned octal;

        if (from[0] == '\\' && sscanf(from + 1, "%3o", &octal) == 1) {
            *to = (char)octal;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Parse a line: "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/sda rw". */
static bool parse(const char *line, struct mount_line *out)
{
    const char *rest = strstr(line, " - ");

    /* The widths are those of the arrays, PATH_MAX and 64. */
    if (!rest ||
        sscanf(line, "%*u %*u %u:%u %4095s %4095s", &out->major, &out->minor,
               out->root, out->mountpoint) != 4 ||
        sscanf(rest + 3, "%63s %4095s", out->type, out->source) != 2)
        return false;
    unescape(out->mountpoint);
    unescape(out->source);
    return true;
}

/* Find the mount of framefs that a file is in.  Returns the path of the file in
   it, or NULL. */
static const char *find_mount(const char *real, dev_t dev,
                              struct mount_line *found)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    struct mount_line *mount = malloc(sizeof(*mount));
    char *line = malloc(LINE_MAX_LEN);
    const char *below = NULL;

    while (mounts && mount && line && fgets(line, LINE_MAX_LEN, mounts)) {
        size_t len;

        if (!parse(line, mount) || makedev(mount->major, mount->minor) != dev ||
            strcmp(mount->type, "fuse.framefs") != 0 ||
            strcmp(mount->root, "/") != 0)
            continue;
        len = strlen(mount->mountpoint);
        if (strncmp(real, mount->mountpoint, len) == 0 &&
            (real[len] == '/' || real[len] == '\0')) {
            *found = *mount;
            below = real + len;
        }
    }
    free(line);
    free(mount);
    if (mounts)
        fclose(mounts);
    return below;
}

/* Find the entry of a directory that has the file's number, which is that of
   the stored frame. */
static bool find_entry(const char *dir, ino_t number, char out[PATH_MAX])
{
    DIR *entries = opendir(dir);
    const struct dirent *entry;
    bool found = false;

    while (entries && !found && (entry = readdir(entries)))
        found = entry->d_ino == number && strcmp(entry->d_name, ".") != 0 &&
                strcmp(entry->d_name, "..") != 0 &&
                snprintf(out, PATH_MAX, "%s/%s", dir, entry->d_name) < PATH_MAX;
    if (entries)
        closedir(entries);
    return found;
}

/* Find the frame in SOURCE. */
static bool find_frame(const char *real, const struct stat *st,
                       char out[PATH_MAX])
{
    struct mount_line *mount = malloc(sizeof(*mount));
    const char *below = mount ? find_mount(real, st->st_dev, mount) : NULL;
    char dir[PATH_MAX];
    struct stat source;
    bool found = false;

    if (below && mount->source[0] == '/' && stat(mount->source, &source) == 0) {
        size_t len =
            below[0] != '\0' ? (size_t)(strrchr(below, '/') - below) : 0;

        found = source.st_ino == st->st_ino;
        if (found)
            snprintf(out, PATH_MAX, "%s", mount->source);
        else if (snprintf(dir, sizeof(dir), "%s%.*s", mount->source, (int)len,
                          below) < PATH_MAX)
            found = find_entry(dir, st->st_ino, out);
    }
    free(mount);
    return found;
}

/* Does a mount of framefs show a frame by an open file, whose bytes are no
   frame themselves? */
static bool is_shown(int fd)
{
    uint8_t bytes[MAGIC_LEN];
    ssize_t n;

    if (fgetxattr(fd, "user.b2frame.info", NULL, 0) < 0)
        return false;
    n = pread(fd, bytes, sizeof(bytes), 0);
    return n < 0 || !frame_has_magic(bytes, (size_t)n);
}

bool behind_find(const char *path, char out[PATH_MAX])
{
    struct statfs fs;
    struct stat st;
    char *real;
    bool found;
    int fd;

    if (statfs(path, &fs) < 0 || fs.f_type != FUSE_SUPER_MAGIC)
        return false;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    real = realpath(path, NULL);
    found = real && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            is_shown(fd) && fsync(fd) == 0 && find_frame(real, &st, out);
    free(real);
    close(fd);
    return found;
}
