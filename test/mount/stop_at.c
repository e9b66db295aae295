/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This library is loaded into a program with LD_PRELOAD.  It stops the program,
 * as kill -STOP would, after it has opened or looked at a file of a certain
 * name, or a file in it.
 *
 * STOP_NAME in the environment is the name.  STOP_FILE is a file that begins
 * with a 32-bit number, which other programs may change: the program is stopped
 * after that many calls.  It goes on as it is if the number is 0.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Suffix of the functions in the C library that take a 64-bit off_t. */
#ifdef __GLIBC__
#define LARGE "64"
#else
#define LARGE ""
#endif

static atomic_uint *calls_left;

__attribute__((constructor)) static void init(void)
{
    const char *path = getenv("STOP_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = MAP_FAILED;

    if (fd >= 0) {
        map = mmap(NULL, sizeof(*calls_left), PROT_READ | PROT_WRITE,
                   MAP_SHARED, fd, 0);
        close(fd);
    }
    if (map != MAP_FAILED)
        calls_left = map;
}

/* Count a call that was given this path. */
static void count(const char *path)
{
    static const char *const parts[] = { "chunks.b2frame", "chunks.b2eframe" };
    const char *name = getenv("STOP_NAME");
    unsigned left = calls_left ? *calls_left : 0;

    if (!name || (strcmp(path, name) != 0 && strcmp(path, parts[0]) != 0 &&
                  strcmp(path, parts[1]) != 0))
        return;
    while (left > 0 &&
           !atomic_compare_exchange_weak(calls_left, &left, left - 1))
        continue;
    if (left == 1)
        raise(SIGSTOP); /* with kill() this thread might still go on a little */
}

int openat(int dir, const char *path, int flags, ...)
{
    static __typeof__(&(openat)) real;
    va_list args;
    mode_t mode;
    int fd;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "openat" LARGE);
    fd = real(dir, path, flags, mode);
    count(path);
    return fd;
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
    static __typeof__(&(fstatat)) real;
    int r;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "fstatat" LARGE);
    r = real(dir, path, st, flags);
    count(path);
    return r;
}

/* openat2() has no function in the C library. */
long syscall(long number, ...)
{
    static __typeof__(&(syscall)) real;
    va_list args;
    long words[6];
    long r;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(args, long);
    va_end(args);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    r = real(number, words[0], words[1], words[2], words[3], words[4],
             words[5]);
    if (number == SYS_openat2)
        count((const char *)words[1]);
    return r;
}
