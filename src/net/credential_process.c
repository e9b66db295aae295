/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credential_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    NS_PER_MS = 1000 * 1000,
    WAIT_MS = 5,    /* between looks at a process that has closed its output */
    CANCEL_MS = 50, /* between looks whether a process is to be killed */
};

/* How long to wait for a process. */
struct wait {
    int64_t until_ns;
    const atomic_bool *cancel; /* may be NULL */
};

/* Copy a word without its quotes.  Returns the place behind it, or NULL if a
   quote is open. */
static const char *copy_word(const char *at, char **to)
{
    char quote = '\0';

    for (; *at != '\0'; at++) {
        if (quote == '\0' && strchr(" \t\r\n", *at))
            break;
        if (quote == '\0' && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else if (*at == quote) {
            quote = '\0';
        } else if (*at == '\\' && quote != '\'' &&
                   (quote == '\0' || at[1] == '"' || at[1] == '\\')) {
            at++;
            if (*at == '\0')
                return NULL;
            *(*to)++ = *at;
        } else {
            *(*to)++ = *at;
        }
    }
    *(*to)++ = '\0';
    return quote == '\0' ? at : NULL;
}

int credential_process_split(const char *command, char ***out)
{
    size_t len = strlen(command);
    /* Each word takes two bytes of the command, with the blank behind it. */
    size_t max = len / 2 + 2;
    char **words = malloc(max * sizeof(*words) + len + 1);
    char *to;
    int n = 0;

    if (!words)
        return -ENOMEM;
    to = (char *)(words + max);
    for (;;) {
        command += strspn(command, " \t\r\n");
        if (*command == '\0')
            break;
        words[n++] = to;
        command = copy_word(command, &to);
        if (!command) {
            free(words);
            return -EINVAL;
        }
    }
    words[n] = NULL;
    *out = words;
    return n;
}

/* The process must not inherit what this thread does with signals. */
static int set_signals(posix_spawnattr_t *attr)
{
    sigset_t none;
    sigset_t all;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    error = posix_spawnattr_setsigmask(attr, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attr, &all);
    if (error == 0)
        error = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETSIGDEF);
    return error;
}

static int set_files(posix_spawn_file_actions_t *actions, int output)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO,
                                                 "/dev/null", O_RDONLY, 0);

    if (error == 0)
        error =
            posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
#ifdef HAVE_SPAWN_CLOSEFROM
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(actions,
                                                         STDERR_FILENO + 1);
#endif
    return error;
}

static int spawn(char **words, int output, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int error;

    error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return -error;
    error = posix_spawnattr_init(&attr);
    if (error == 0) {
        error = set_files(&actions, output);
        if (error == 0)
            error = set_signals(&attr);
        if (error == 0)
            error =
                posix_spawnp(out, words[0], &actions, &attr, words, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

/* The milliseconds that are left, at least 0. */
static int left_ms(int64_t until_ns)
{
    int64_t ms = (until_ns - clock_monotonic_ns() + NS_PER_MS - 1) / NS_PER_MS;

    return ms > 0 ? (int)ms : 0;
}

/* Is it time to give up?  Returns 0 or the error. */
static int check_wait(const struct wait *wait)
{
    if (wait->cancel && atomic_load(wait->cancel))
        return -ECANCELED;
    return left_ms(wait->until_ns) > 0 ? 0 : -ETIMEDOUT;
}

/* Wait until there is output.  Returns 0 or an error. */
static int await_output(int fd, const struct wait *wait)
{
    struct pollfd pollfd = { .fd = fd, .events = POLLIN };
    int ready;
    int r;

    do {
        r = check_wait(wait);
        ready = r == 0 ? poll(&pollfd, 1, CANCEL_MS) : 0;
    } while (r == 0 && (ready == 0 || (ready < 0 && errno == EINTR)));
    if (ready < 0)
        r = -errno;
    return r;
}

/* Read to the end of the output. */
static int read_output(int fd, const struct wait *wait, struct secret *out)
{
    char buf[4096];
    int r = -EAGAIN;

    while (r == -EAGAIN) {
        int error = await_output(fd, wait);
        ssize_t n = error == 0 ? read(fd, buf, sizeof(buf)) : -1;

        if (error < 0)
            r = error;
        else if (n < 0 && errno != EINTR)
            r = -errno;
        else if (n == 0)
            r = 0;
        else if (n > 0)
            secret_add_bytes(out, buf, (size_t)n);
        if (out->len > CREDENTIAL_PROCESS_OUTPUT)
            r = -EFBIG;
        if (out->failed)
            r = -ENOMEM;
    }
    explicit_bzero(buf, sizeof(buf));
    return r;
}

/* Wait for the end of a process.  One that takes too long is killed. */
static int await_end(pid_t pid, const struct wait *wait, int error)
{
    int status;
    pid_t r;

    if (error < 0)
        kill(pid, SIGKILL);
    while ((r = waitpid(pid, &status, error < 0 ? 0 : WNOHANG)) == 0 ||
           (r < 0 && errno == EINTR)) {
        if (r < 0)
            continue;
        error = check_wait(wait);
        if (error == 0)
            poll(NULL, 0, WAIT_MS);
        else
            kill(pid, SIGKILL);
    }
    if (error < 0)
        return error;
    /* A program that ignores SIGCHLD never learns the status. */
    return r < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? 0
                                                                    : -EACCES;
}

static int run(char **words, const struct wait *wait, struct secret *out)
{
    pid_t pid;
    int fds[2];
    int r;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    r = spawn(words, fds[1], &pid);
    close(fds[1]);
    if (r == 0) {
        r = read_output(fds[0], wait, out);
        r = await_end(pid, wait, r);
    }
    close(fds[0]);
    return r;
}

static const char *describe(int error)
{
    switch (error) {
    case -EINVAL:
        return "credential_process is no command";
    case -EFBIG:
        return "credential_process prints too much";
    case -ETIMEDOUT:
    case -ECANCELED:
        return "credential_process does not end";
    case -EACCES:
        return "credential_process has failed";
    default:
        return "credential_process cannot be run";
    }
}

int credential_process_run(const char *command, unsigned seconds,
                           const atomic_bool *cancel, struct secret *out,
                           const char **why)
{
    const struct wait wait = {
        .until_ns = clock_monotonic_ns() + seconds * CLOCK_SECOND_NS,
        .cancel = cancel,
    };
    char **words;
    int r = credential_process_split(command, &words);

    *out = (struct secret){ 0 };
    if (r >= 0) {
        if (r == 0) {
            r = -EINVAL;
        } else {
            r = run(words, &wait, out);
            /* Words may be secrets. */
            explicit_bzero(words[0], strlen(command) + 1);
        }
        free(words);
    }
    if (r < 0) {
        *why = describe(r);
        secret_fini(out);
    }
    return r;
}
