/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/helper.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"

int helper_run(char *const args[])
{
    extern char **environ;
    int status;
    pid_t pid;
    int error = posix_spawnp(&pid, args[0], NULL, NULL, args, environ);

    if (error) {
        log_error("%s: %s", args[0], strerror(error));
        return -error;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}
