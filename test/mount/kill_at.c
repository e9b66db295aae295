/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This library is loaded into a program with LD_PRELOAD.  It kills the program,
 * as kill -9 would, before one of the library calls that change files.
 *
 * The variable KILL_AT in the environment is the number of that call, counted
 * from 1.  The program is not killed if it is 0.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Suffix of the functions in the C library that take a 64-bit off_t. */
#ifdef __GLIBC__
#define LARGE "64"
#else
#define LARGE ""
#endif

/*
 * Count the call, which may kill the program, then look up the C library's
 * function of that name.
 */
#define REAL(function, suffix)           \
    static __typeof__(&(function)) real; \
    count();                             \
    if (!real)                           \
    *(void **)&real = dlsym(RTLD_NEXT, #function suffix)

static void count(void)
{
    static atomic_ulong ncalls;
    const char *last = getenv("KILL_AT");

    if (++ncalls == (last ? strtoul(last, NULL, 10) : 0))
        kill(getpid(), SIGKILL);
}

int openat(int dir, const char *path, int flags, ...)
{
    static __typeof__(&(openat)) real;
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))
        count();
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "openat" LARGE);
    return real(dir, path, flags, mode);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    REAL(pwrite, LARGE);
    return real(fd, buf, len, off);
}

int ftruncate(int fd, off_t size)
{
    REAL(ftruncate, LARGE);
    return real(fd, size);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    REAL(fallocate, LARGE);
    return real(fd, mode, off, len);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    REAL(mkdirat, );
    return real(dir, path, mode);
}

int mknodat(int dir, const char *path, mode_t mode, dev_t dev)
{
    REAL(mknodat, );
    return real(dir, path, mode, dev);
}

int symlinkat(const char *target, int dir, const char *path)
{
    REAL(symlinkat, );
    return real(target, dir, path);
}

int utimensat(int dir, const char *path, const struct timespec times[2],
              int flags)
{
    REAL(utimensat, );
    return real(dir, path, times, flags);
}

int linkat(int dir, const char *path, int to_dir, const char *to, int flags)
{
    REAL(linkat, );
    return real(dir, path, to_dir, to, flags);
}

int renameat(int dir, const char *path, int to_dir, const char *to)
{
    REAL(renameat, );
    return real(dir, path, to_dir, to);
}

int renameat2(int dir, const char *path, int to_dir, const char *to,
              unsigned flags)
{
    REAL(renameat2, );
    return real(dir, path, to_dir, to, flags);
}

int unlinkat(int dir, const char *path, int flags)
{
    REAL(unlinkat, );
    return real(dir, path, flags);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
    REAL(fchown, );
    return real(fd, uid, gid);
}

int fchownat(int dir, const char *path, uid_t uid, gid_t gid, int flags)
{
    REAL(fchownat, );
    return real(dir, path, uid, gid, flags);
}

int fchmod(int fd, mode_t mode)
{
    REAL(fchmod, );
    return real(fd, mode);
}

int chmod(const char *path, mode_t mode)
{
    REAL(chmod, );
    return real(path, mode);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size,
              int flags)
{
    REAL(fsetxattr, );
    return real(fd, name, value, size, flags);
}

int setxattr(const char *path, const char *name, const void *value, size_t size,
             int flags)
{
    REAL(setxattr, );
    return real(path, name, value, size, flags);
}

int fremovexattr(int fd, const char *name)
{
    REAL(fremovexattr, );
    return real(fd, name);
}
