/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "interrupt.h"
#include "progress.h"
#include "results.h"
#include "threads.h"

enum {
    COPY_LEN = 1 << 16, /* bytes of output to copy at a time */
    SLOTS_PER_PROCESS = 4,
    WAITING = 16, /* processes that wait for the disk at a time */
};

/* A process, or the room for one. */
struct slot {
    pid_t pid; /* 0: none */
    size_t job;
    bool ended;
    int status;                    /* as waitpid() returns it */
    int out;                       /* receives its standard output */
    int messages;                  /* receives its standard error */
    uint64_t counts[JOBS_NCOUNTS]; /* copied from `shared` when it has ended */
};

struct crew {
    const struct jobs *jobs;
    struct slot *slots;
    size_t nslots; /* more than `nprocs`, because the output of a job that has
                      ended waits for its turn in a slot */
    size_t nprocs; /* that run at a time, at most */
    size_t nrunning;
    uint64_t (*shared)[JOBS_NCOUNTS]; /* one for each slot; processes write */
    size_t next;                      /* job to start */
    size_t oldest;                    /* job whose output comes next */
    bool printed;                     /* something came before */
    long nfailed;
    uint64_t done; /* bytes */
    uint64_t total;
    bool stopped; /* the processes were told to end */
    bool cut;     /* a job whose turn has come was not done for that reason */
    struct progress progress;
};

/* The process of a job: everything it prints goes to files of its slot. */
static _Noreturn void run_job(const struct crew *crew, const struct slot *slot,
                              pid_t parent)
{
    const struct jobs *jobs = crew->jobs;
    uint64_t *counts = crew->shared[slot - crew->slots];
    int r;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    interrupt_uncatch();
    if (dup2(slot->out, STDOUT_FILENO) < 0 ||
        dup2(slot->messages, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    /* Jobs beside each other keep the CPUs busy, so one needs no threads. */
    if (jobs->files->n >= crew->nprocs)
        threads_set(1);
    r = jobs->run(jobs->context, &jobs->files->entries[slot->job], counts);
    if (results_flush() < 0)
        r = -EIO;
    _exit(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int start(struct crew *crew, struct slot *slot)
{
    pid_t parent = getpid();
    pid_t pid;

    slot->job = crew->next;
    slot->ended = false;
    memset(crew->shared[slot - crew->slots], 0, sizeof(slot->counts));
    if (ftruncate(slot->out, 0) < 0 || ftruncate(slot->messages, 0) < 0 ||
        lseek(slot->out, 0, SEEK_SET) < 0 ||
        lseek(slot->messages, 0, SEEK_SET) < 0)
        return -errno;
    progress_clear(&crew->progress);
    if (fflush(stdout) != 0)
        return 0; /* no job is started after that */
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        run_job(crew, slot, parent);
    slot->pid = pid;
    crew->nrunning++;
    crew->next++;
    return 0;
}

static void copy(int from, FILE *to)
{
    char bytes[COPY_LEN];
    off_t off = 0;
    ssize_t n;

    while ((n = pread(from, bytes, sizeof(bytes), off)) > 0) {
        if (to == stdout)
            results_write(bytes, (size_t)n);
        else
            fwrite(bytes, 1, (size_t)n, to);
        off += n;
    }
}

static bool has_output(int fd)
{
    return lseek(fd, 0, SEEK_END) > 0;
}

/* Has an interruption ended a job?  It may reach its process first. */
static bool is_interrupted(const struct crew *crew, const struct slot *slot)
{
    int signal_no = WIFSIGNALED(slot->status) ? WTERMSIG(slot->status) : 0;

    return signal_no != 0 && (crew->stopped || signal_no == SIGINT ||
                              signal_no == SIGTERM || signal_no == SIGHUP);
}

/* Tell that a job has ended.  Its output is out by then. */
static void tell_end(struct crew *crew, const struct slot *slot)
{
    const struct jobs *jobs = crew->jobs;

    if (!jobs->ended)
        return;
    crew->cut |= is_interrupted(crew, slot) || fflush(stdout) != 0;
    if (!crew->cut)
        jobs->ended(jobs->context, &jobs->files->entries[slot->job],
                    slot->status != 0);
}

/* Print the output of a job that has ended, and count it. */
static void finish(struct crew *crew, struct slot *slot)
{
    const struct jobs *jobs = crew->jobs;

    progress_clear(&crew->progress);
    fflush(stdout);
    copy(slot->messages, stderr);
    if (has_output(slot->out)) {
        if (crew->printed && jobs->separator)
            fputs(jobs->separator, stdout);
        copy(slot->out, stdout);
        crew->printed = true;
    }
    if (WIFSIGNALED(slot->status) && !crew->stopped)
        log_error("%s: its process was ended by signal %d",
                  jobs->files->entries[slot->job].path, WTERMSIG(slot->status));
    if (slot->status != 0)
        crew->nfailed++;
    else if (jobs->done)
        jobs->done(jobs->context, slot->counts);
    tell_end(crew, slot);
    slot->pid = 0;
    crew->oldest++;
}

/* Finish all jobs whose turn has come. */
static void finish_ended(struct crew *crew)
{
    bool found = true;

    while (found) {
        found = false;
        for (size_t i = 0; i < crew->nslots; i++) {
            struct slot *slot = &crew->slots[i];

            if (slot->pid != 0 && slot->ended && slot->job == crew->oldest) {
                finish(crew, slot);
                found = true;
            }
        }
    }
}

/* End the processes, because the user has interrupted this one, or because
   their output can't be printed. */
static void stop(struct crew *crew)
{
    if (crew->stopped)
        return;
    crew->stopped = true;
    for (size_t i = 0; i < crew->nslots; i++)
        if (crew->slots[i].pid != 0 && !crew->slots[i].ended)
            kill(crew->slots[i].pid, SIGTERM);
}

static void note_end(struct crew *crew, pid_t pid, int status)
{
    for (size_t i = 0; i < crew->nslots; i++) {
        struct slot *slot = &crew->slots[i];

        if (slot->pid != pid)
            continue;
        slot->ended = true;
        slot->status = status;
        crew->nrunning--;
        memcpy(slot->counts, crew->shared[i], sizeof(slot->counts));
        crew->done += crew->jobs->files->entries[slot->job].size;
    }
}

/* Wait until a process ends.  Returns false if there is none. */
static bool wait_for_one(struct crew *crew)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);

    if (interrupt_seen() || ferror(stdout))
        stop(crew);
    if (pid > 0) {
        note_end(crew, pid, status);
        finish_ended(crew);
        progress_update(&crew->progress, crew->done, crew->total);
    }
    return pid > 0 || errno == EINTR;
}

static struct slot *find_free(struct crew *crew)
{
    for (size_t i = 0; i < crew->nslots && crew->nrunning < crew->nprocs; i++)
        if (crew->slots[i].pid == 0)
            return &crew->slots[i];
    return NULL;
}

static int run_all(struct crew *crew)
{
    int r = 0;

    progress_start(&crew->progress);
    while (r == 0 && crew->next < crew->jobs->files->n && !interrupt_seen() &&
           !ferror(stdout)) {
        struct slot *slot = find_free(crew);

        if (slot)
            r = start(crew, slot);
        else
            wait_for_one(crew);
    }
    while (wait_for_one(crew))
        continue;
    progress_clear(&crew->progress);
    return r;
}

static int init(struct crew *crew)
{
    int r = 0;

    crew->nprocs = threads_count();
    if (crew->jobs->waits && threads_get() == 0 && crew->nprocs < WAITING)
        crew->nprocs = WAITING;
    crew->nslots = SLOTS_PER_PROCESS * crew->nprocs;
    if (crew->nslots > crew->jobs->files->n)
        crew->nslots = crew->jobs->files->n;
    crew->slots = calloc(crew->nslots, sizeof(*crew->slots));
    crew->shared =
        mmap(NULL, crew->nslots * sizeof(*crew->shared), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!crew->slots || crew->shared == MAP_FAILED)
        return -ENOMEM;
    for (size_t i = 0; i < crew->nslots; i++)
        crew->slots[i].out = crew->slots[i].messages = -1;
    for (size_t i = 0; i < crew->nslots && r == 0; i++) {
        crew->slots[i].out = memfd_create("output", MFD_CLOEXEC);
        crew->slots[i].messages = memfd_create("messages", MFD_CLOEXEC);
        if (crew->slots[i].out < 0 || crew->slots[i].messages < 0)
            r = -errno;
    }
    for (size_t i = 0; i < crew->jobs->files->n; i++)
        crew->total += crew->jobs->files->entries[i].size;
    return r;
}

static void fini(struct crew *crew)
{
    for (size_t i = 0; crew->slots && i < crew->nslots; i++) {
        if (crew->slots[i].out >= 0)
            close(crew->slots[i].out);
        if (crew->slots[i].messages >= 0)
            close(crew->slots[i].messages);
    }
    if (crew->shared != MAP_FAILED)
        munmap(crew->shared, crew->nslots * sizeof(*crew->shared));
    free(crew->slots);
}

/* Do the only job in this process. */
static long run_alone(const struct jobs *jobs)
{
    uint64_t counts[JOBS_NCOUNTS] = { 0 };
    int r = jobs->run(jobs->context, jobs->files->entries, counts);

    if (r == 0 && jobs->done)
        jobs->done(jobs->context, counts);
    if (jobs->ended)
        jobs->ended(jobs->context, jobs->files->entries, r < 0);
    return r < 0;
}

long jobs_run(const struct jobs *jobs)
{
    struct crew crew = { .jobs = jobs, .shared = MAP_FAILED };
    int r;

    if (jobs->files->n == 0)
        return 0;
    if (jobs->files->n == 1)
        return run_alone(jobs);
    interrupt_catch();
    r = init(&crew);
    if (r == 0)
        r = run_all(&crew);
    fini(&crew);
    interrupt_die();
    if (r < 0) {
        log_error("cannot start a process: %s", strerror(-r));
        return r;
    }
    return crew.nfailed;
}
