/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/lock_holder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/killed.h"

/*
 * Read the offset from "... OFDLCK ADVISORY READ PID DEVICE:INODE FIRST LAST",
 * the format of both /proc/locks and fdinfo.  Returns false if the line is for
 * another kind of lock, or for one of more than one byte.
 */
static bool parse_lock(const char *line, off_t *off)
{
    const char *lock = strstr(line, "OFDLCK");
    long long first;
    long long last;

    if (!lock ||
        sscanf(lock, "%*s %*s %*s %*s %*s %lld %lld", &first, &last) != 2)
        return false;
    *off = (off_t)first;
    return first == last;
}

/* Visit the locks that a file of /proc lists.  Closes the file.  Returns true
   if `visit` did. */
static bool list_file(FILE *file, lock_holder_visit *visit, void *arg)
{
    char *line = NULL;
    size_t size = 0;
    bool stopped = false;
    off_t off;

    while (!stopped && getline(&line, &size, file) >= 0)
        stopped = parse_lock(line, &off) && visit(arg, off);
    free(line);
    fclose(file);
    return stopped;
}

int lock_holder_list(lock_holder_visit *visit, void *arg)
{
    FILE *file = fopen("/proc/locks", "re");

    if (!file)
        return -errno;
    list_file(file, visit, arg);
    return 0;
}

static bool is_wanted(void *arg, off_t off)
{
    const off_t *wanted = arg;

    return off == *wanted;
}

/* Find the descriptor through which a process holds the lock; -1 if there is
   none.  /proc shows the descriptors of a process for each of its threads, but
   no longer for a thread that has ended, which may be the first one. */
static int find_descriptor(pid_t pid, pid_t tid, off_t off)
{
    char path[64];
    const struct dirent *entry;
    int found = -1;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/fdinfo", (int)pid, (int)tid);
    dir = opendir(path);
    while (dir && found < 0 && (entry = readdir(dir))) {
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

        if (file && list_file(file, is_wanted, &off))
            found = atoi(entry->d_name);
        else if (!file && fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
    return found;
}

int lock_holder_open(pid_t pid, off_t off)
{
    int number = find_descriptor(pid, pid, off);
    char path[64];

    if (number < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* A process, as its status file in /proc tells. */
struct process {
    char name[32];
    unsigned real; /* its users */
    unsigned effective;
};

static bool look_at(pid_t pid, struct process *out)
{
    bool found = false;
    char line[256];
    char path[64];
    FILE *file;

    *out = (struct process){ .name = "" };
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file)) {
        sscanf(line, "Name: %31s", out->name);
        found = sscanf(line, "Uid: %u %u", &out->real, &out->effective) == 2;
    }
    if (file)
        fclose(file);
    return found;
}

/* Do the real and the effective user of a process belong to root or `uid`?  The
   owner of its files in /proc does not tell, because that may be root for
   processes of other users. */
static bool has_user(pid_t pid, uid_t uid)
{
    struct process process;

    return look_at(pid, &process) &&
           (process.real == 0 || process.real == uid) &&
           (process.effective == 0 || process.effective == uid);
}

/* Is the process a framefs of the user that hides its descriptors, because it
   has secrets?  Then it is taken to be the holder. */
static bool is_secretive(pid_t pid, uid_t uid)
{
    struct process process;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
    return access(path, R_OK | X_OK) < 0 && errno == EACCES &&
           look_at(pid, &process) && strcmp(process.name, "framefs") == 0 &&
           process.real == uid && process.effective == uid;
}

bool lock_holder_is_of(pid_t pid, off_t off, uid_t uid)
{
    return is_secretive(pid, uid) ||
           (has_user(pid, uid) && find_descriptor(pid, pid, off) >= 0);
}

bool lock_holder_is_trusted(pid_t pid, off_t off)
{
    return lock_holder_is_of(pid, off, geteuid());
}

bool lock_holder_is_killed(pid_t pid, off_t off, uid_t uid)
{
    const struct dirent *entry;
    bool killed = false;
    char path[64];
    DIR *dir;

    if (!has_user(pid, uid))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && !killed && (entry = readdir(dir))) {
        pid_t tid = atoi(entry->d_name);

        killed = tid > 0 && killed_for_good(pid, tid) &&
                 find_descriptor(pid, tid, off) >= 0;
    }
    if (dir)
        closedir(dir);
    return killed;
}
