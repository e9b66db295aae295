/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/rights.h"

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

/*
 * The capabilities that root's daemon keeps.  It needs them to use all files,
 * devices and security labels, to take on other identities, to mount and
 * unmount, and to see which process holds a lease.
 */
static const uint64_t caps_kept =
    CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) |
    CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID) |
    CAP_BIT(CAP_MKNOD) | CAP_BIT(CAP_SETFCAP) | CAP_BIT(CAP_SETGID) |
    CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_SYS_PTRACE);

/*
 * The user id with which root's daemon uses files; no user has it.  It is not
 * root's, because a file system reserves space for root, which the programs
 * that the daemon serves must not use up.
 */
static const uid_t SELF_UID = (uid_t)-2;

enum {
    NKNOWN = 8, /* processes whose rights one thread caches */
    KNOWN_SECONDS = 1,
};

/* Constant once identity_setup() has returned. */
static struct {
    bool acts;   /* threads act as the programs that they serve */
    bool others; /* some of these programs belong to other users */
    bool umasks; /* each thread can have its own umask */
    uid_t uid;   /* user of the daemon when it acts as itself */
    gid_t gid;
    uint64_t caps;
    int ngroups;
    gid_t *groups;
    pthread_key_t key; /* frees a thread's cached rights when it ends */
} process;

struct known {
    pid_t pid; /* 0: the slot is empty */
    uid_t uid;
    gid_t gid;
    time_t until;
    struct rights rights;
};

/* The program that this thread serves. */
static _Thread_local struct {
    bool serves; /* this thread serves a program */
    pid_t pid;
    uid_t uid;
    gid_t gid;
    mode_t mask;
    bool grouped;     /* this thread's groups differ from the process's */
    unsigned depth;   /* nested calls of identity_begin() */
    bool has_umask;   /* this thread has a umask of its own */
    bool masks;       /* that umask is now the program's, */
    unsigned nmasked; /* set when `depth` had this value */
    struct known known[NKNOWN];
} thread;

static void forget_all(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < NKNOWN; i++)
        free(thread.known[i].rights.groups);
}

static int get_caps(uint64_t *out)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    *out = (uint64_t)data[1].effective << 32 | data[0].effective;
    return 0;
}

/* Set the effective and permitted capabilities of this thread. */
static int set_caps(uint64_t effective, uint64_t permitted)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
        { .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
        { .effective = (uint32_t)(effective >> 32),
          .permitted = (uint32_t)(permitted >> 32) },
    };

    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static int read_groups(void)
{
    int n = getgroups(0, NULL);

    if (n < 0)
        return -errno;
    process.groups = calloc((size_t)n + 1, sizeof(gid_t));
    if (!process.groups)
        return -ENOMEM;
    process.ngroups = getgroups(n, process.groups);
    return process.ngroups < 0 ? -errno : 0;
}

/* Give up root's user id and the capabilities that are not needed. */
static int give_up_rights(void)
{
    uint64_t caps = process.caps & caps_kept;
    int r = set_caps(caps, caps);

    if (r < 0)
        return r;
    process.caps = caps;
    /* In a user namespace SELF_UID may be unmapped, and setfsuid() then fails.
       So ask which user id is in effect. */
    setfsuid(SELF_UID);
    process.uid = (uid_t)setfsuid((uid_t)-1);
    return set_caps(caps, caps);
}

static int check_access(int fd, int how)
{
    return syscall(SYS_faccessat2, fd, "", how, AT_EMPTY_PATH | AT_EACCESS) < 0
               ? -errno
               : 0;
}

/* Check that the kernel has faccessat2(), which identity_check() needs. */
static int probe(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = check_access(fd, R_OK);
    close(fd);
    return r < 0 ? -ENOSYS : 0;
}

int identity_setup(bool others)
{
    int r = -pthread_key_create(&process.key, forget_all);

    if (r < 0)
        return r;
    process.umasks = unshare(CLONE_FS) == 0;
    process.uid = geteuid();
    process.gid = getegid();
    if (process.uid != 0)
        return 0;
    r = get_caps(&process.caps);
    if (r == 0)
        r = read_groups();
    if (r == 0 && others)
        r = probe();
    if (r == 0 && others)
        r = give_up_rights();
    if (r < 0)
        return r;
    process.acts = true;
    process.others = others;
    return 0;
}

bool identity_serves_others(void)
{
    return process.others;
}

bool identity_has_umask(void)
{
    return process.umasks;
}

void identity_serve(pid_t pid, uid_t uid, gid_t gid, mode_t mask)
{
    if (!process.acts && !process.umasks)
        return;
    thread.serves = true;
    thread.pid = pid;
    thread.uid = uid;
    thread.gid = gid;
    thread.mask = mask;
}

bool identity_serve_nobody(void)
{
    bool served = thread.serves;

    thread.serves = false;
    return served;
}

void identity_serve_again(bool served)
{
    thread.serves = served;
}

/* Can this thread read the rights of the program that it serves?  It cannot if
   the program is in another PID namespace, or is the kernel itself. */
static bool is_seen(void)
{
    return thread.pid > 0;
}

/*
 * Return the rights of the program that this thread serves, from the thread's
 * cache if they were read less than KNOWN_SECONDS ago.  NULL if they cannot be
 * read.
 */
static const struct rights *rights_of_program(void)
{
    struct known *known = &thread.known[(size_t)thread.pid % NKNOWN];
    struct timespec now;

    if (!is_seen())
        return NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_setspecific(process.key, &thread);
    if (known->pid == thread.pid && known->uid == thread.uid &&
        known->gid == thread.gid && now.tv_sec < known->until)
        return &known->rights;
    free(known->rights.groups);
    *known = (struct known){ .uid = thread.uid, .gid = thread.gid };
    if (rights_read(thread.pid, &known->rights) < 0)
        return NULL;
    known->pid = thread.pid;
    known->until = now.tv_sec + KNOWN_SECONDS;
    return &known->rights;
}

/*
 * The capabilities to act with.  A program that is_seen() does not see gets the
 * daemon's if its user is root, else none.  A program whose rights cannot be
 * read gets none.
 */
static uint64_t caps_by(const struct rights *rights)
{
    if (!rights)
        return !is_seen() && thread.uid == 0 ? process.caps : 0;
    return rights->caps & process.caps;
}

/*
 * Set the groups of this thread.  The call is skipped if the thread has, and
 * keeps, the groups of the process, because some user namespaces forbid
 * setgroups(); all processes have the same groups there.
 */
static bool set_groups(size_t ngroups, const gid_t *groups)
{
    const size_t len = ngroups * sizeof(groups[0]);
    bool same = ngroups == (size_t)process.ngroups &&
                (len == 0 || memcmp(groups, process.groups, len) == 0);

    if (same && !thread.grouped)
        return true;
    thread.grouped = !same;
    return syscall(SYS_setgroups, ngroups, groups) == 0;
}

/* Take on the identity of the program.  If that fails, take on one that has no
   rights. */
static void assume(const struct rights *rights)
{
    bool taken =
        (rights || !is_seen()) && set_groups(rights ? rights->ngroups : 0,
                                             rights ? rights->groups : NULL);

    setfsgid(thread.gid);
    setfsuid(taken ? thread.uid : SELF_UID);
    set_caps(taken ? caps_by(rights) : 0, process.caps);
}

/*
 * Take on the daemon's identity again.  The capabilities are set first because
 * changing the identity needs them, and once more at the end because the kernel
 * drops some of them when the user changes from root.
 */
static void resume(void)
{
    set_caps(process.caps, process.caps);
    setfsuid(process.uid);
    setfsgid(process.gid);
    set_groups((size_t)process.ngroups, process.groups);
    set_caps(process.caps, process.caps);
}

void identity_begin(void)
{
    if (!thread.serves || thread.depth++ > 0 || !process.acts)
        return;
    if (process.others)
        assume(rights_of_program());
    else if (thread.gid != process.gid)
        setfsgid(thread.gid);
}

void identity_begin_create(void)
{
    identity_begin();
    if (!thread.serves || thread.masks || !process.umasks)
        return;
    if (!thread.has_umask)
        thread.has_umask = unshare(CLONE_FS) == 0;
    if (!thread.has_umask)
        return;
    umask(thread.mask);
    thread.masks = true;
    thread.nmasked = thread.depth;
}

void identity_end(void)
{
    int error = errno;

    if (!thread.serves)
        return;
    if (thread.masks && thread.nmasked == thread.depth) {
        umask(0);
        thread.masks = false;
    }
    if (--thread.depth > 0 || !process.acts)
        return;
    if (process.others)
        resume();
    else if (thread.gid != process.gid)
        setfsgid(process.gid);
    errno = error;
}

/* Do nothing for root's own files: the daemon creates these as itself, because
   as root it could use the reserved space. */
void identity_begin_lease(uid_t uid, gid_t gid)
{
    if (!process.others)
        return;
    setfsgid(gid);
    setfsuid(uid);
    set_caps(process.caps, process.caps);
}

void identity_begin_owner(uid_t uid, gid_t gid)
{
    if (uid != 0)
        identity_begin_lease(uid, gid);
}

void identity_end_owner(void)
{
    int error = errno;

    if (!process.others)
        return;
    setfsuid(process.uid);
    setfsgid(process.gid);
    set_caps(process.caps, process.caps);
    errno = error;
}

int identity_check(int fd, int how)
{
    int r;

    if (!process.others || !thread.serves)
        return 0;
    identity_begin();
    r = check_access(fd, how);
    identity_end();
    return r;
}

int identity_check_delete(int dirfd, uid_t owner)
{
    struct stat st;
    int r = identity_check(dirfd, W_OK | X_OK);

    if (r < 0 || !process.others || !thread.serves)
        return r;
    if (fstat(dirfd, &st) < 0)
        return -errno;
    if (!(st.st_mode & S_ISVTX) || thread.uid == owner ||
        thread.uid == st.st_uid)
        return 0;
    return caps_by(rights_of_program()) & CAP_BIT(CAP_FOWNER) ? 0 : -EPERM;
}

bool identity_is_in_group(gid_t gid)
{
    const struct rights *rights;

    if (!process.others || !thread.serves || thread.gid == gid)
        return true;
    rights = rights_of_program();
    for (size_t i = 0; rights && i < rights->ngroups; i++) {
        if (rights->groups[i] == gid)
            return true;
    }
    return false;
}

uid_t identity_owner(void)
{
    return process.acts ? (uid_t)setfsuid((uid_t)-1) : geteuid();
}

bool identity_is_self(uid_t uid)
{
    return uid == geteuid() || (geteuid() == 0 && uid == SELF_UID);
}
