/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/workers.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"

enum {
    RECEIVERS_MAX = 16,
    NTHREADS_KEPT = 12,  /* besides as many as may receive requests */
    PARKED_SECONDS = 30, /* after which a parked thread ends */
    PAUSE_NS = 1000 * 1000,
    PAUSES_MAX = 8, /* without a receiver, before there are more threads */
};

struct workers {
    struct fuse_session *session;
    sem_t call; /* wakes the thread of workers_run(): the session has ended, or
                   no thread receives requests */
    unsigned nthreads_max;
    unsigned nreceivers_wanted;

    pthread_mutex_t lock; /* guards all that follows, and the workers */
    struct list all;
    struct list parked; /* the one that was parked last comes first */
    unsigned nthreads;
    unsigned nreceivers; /* threads that wait for a request, or are about to */
    uint64_t nserved;    /* requests */
    bool called;         /* because no thread receives requests */
    bool ending;
    int error;
};

struct worker {
    struct workers *workers;
    struct list node;
    struct list parked_node; /* in no list while the thread is not parked */
    pthread_t thread;
    pthread_cond_t go_on;
    struct fuse_buf request; /* its memory is used again */
};

/* One receiver for each processor, and one that wakes up meanwhile. */
static unsigned count_receivers(void)
{
    unsigned wanted = (unsigned)get_nprocs() + 1;

    return wanted < RECEIVERS_MAX ? wanted : RECEIVERS_MAX;
}

static void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    list_remove(&worker->node);
    pthread_cond_destroy(&worker->go_on);
    free(worker->request.mem);
    free(worker);
}

static struct worker *worker_new(struct workers *workers)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    pthread_condattr_t monotonic;

    if (!worker)
        return NULL;
    worker->workers = workers;
    list_init(&worker->parked_node);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->go_on, &monotonic);
    pthread_condattr_destroy(&monotonic);
    list_append(&workers->all, &worker->node);
    return worker;
}

/* Start a thread, which no signal that ends the session will interrupt. */
static int create_thread(struct worker *worker, void *(*run)(void *))
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    sigset_t blocked;
    sigset_t before;
    int error;

    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(&blocked, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    error = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static void *run(void *arg);

/* Start a thread that receives requests.  Returns 0 or a negative errno. */
static int start_locked(struct workers *workers)
{
    struct worker *worker = worker_new(workers);
    int r = -ENOMEM;

    if (worker)
        r = create_thread(worker, run);
    if (r < 0) {
        log_warning("no thread for more requests: %s", strerror(-r));
        worker_free(worker);
        return r;
    }
    workers->nthreads++;
    workers->nreceivers++;
    return 0;
}

static void unpark_locked(struct workers *workers)
{
    struct worker *worker =
        list_entry(workers->parked.next, struct worker, parked_node);

    list_remove(&worker->parked_node);
    workers->nreceivers++;
    pthread_cond_signal(&worker->go_on);
}

/* How many threads are kept when there is less to do? */
static unsigned nthreads_kept(const struct workers *workers)
{
    return workers->nreceivers_wanted + NTHREADS_KEPT;
}

/*
 * Let another thread receive requests.
 *
 * If there are many threads already, most of them may have replied, and wait
 * for a processor that the program with its next request has taken.  More
 * threads would not help then, so look() decides about them.
 */
static void add_receiver_locked(struct workers *workers)
{
    if (!list_empty(&workers->parked)) {
        unpark_locked(workers);
    } else if (workers->nthreads < nthreads_kept(workers)) {
        start_locked(workers);
    } else if (!workers->called) {
        workers->called = true;
        sem_post(&workers->call);
    }
}

/* Wait until the thread is to receive requests again.  Returns false if it is
   to end instead, because there are enough without it, or after a long time. */
static bool park_locked(struct worker *worker)
{
    struct workers *workers = worker->workers;
    struct timespec until;
    int error = 0;

    if (workers->nthreads > nthreads_kept(workers))
        return false;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PARKED_SECONDS;
    list_prepend(&workers->parked, &worker->parked_node);
    while (!list_empty(&worker->parked_node) && !workers->ending && error == 0)
        error = pthread_cond_timedwait(&worker->go_on, &workers->lock, &until);
    if (list_empty(&worker->parked_node))
        return true;
    list_remove(&worker->parked_node);
    return false;
}

/* A request was received.  Serve it while another thread receives the next. */
static void serve(struct worker *worker)
{
    struct workers *workers = worker->workers;

    pthread_mutex_lock(&workers->lock);
    workers->nreceivers--;
    if (workers->nreceivers == 0 && !workers->ending)
        add_receiver_locked(workers);
    pthread_mutex_unlock(&workers->lock);
    fuse_session_process_buf(workers->session, &worker->request);
}

/* After a request, should the thread receive another one, and not end? */
static bool receive_again(struct worker *worker)
{
    struct workers *workers = worker->workers;
    bool again = true;

    pthread_mutex_lock(&workers->lock);
    workers->nserved++;
    if (workers->nreceivers < workers->nreceivers_wanted)
        workers->nreceivers++;
    else
        again = park_locked(worker);
    if (!again && !workers->ending) {
        pthread_detach(worker->thread);
        workers->nthreads--;
        worker_free(worker);
    }
    pthread_mutex_unlock(&workers->lock);
    return again;
}

/* Wait for a request.  workers_run() cancels threads only here. */
static int receive(struct worker *worker)
{
    int r;

    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    r = fuse_session_receive_buf(worker->workers->session, &worker->request);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return r;
}

static void end(struct workers *workers, int error)
{
    pthread_mutex_lock(&workers->lock);
    if (error < 0 && workers->error == 0)
        workers->error = error;
    pthread_mutex_unlock(&workers->lock);
    fuse_session_exit(workers->session);
    sem_post(&workers->call);
}

static void *run(void *arg)
{
    struct worker *worker = arg;
    struct workers *workers = worker->workers;
    int r = 1;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    while (!fuse_session_exited(workers->session)) {
        r = receive(worker);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            break;
        serve(worker);
        if (!receive_again(worker))
            return NULL;
    }
    end(workers, r < 0 && r != -EINTR ? r : 0);
    return NULL;
}

static void start_more_locked(struct workers *workers)
{
    int r = 0;

    while (r == 0 && workers->nreceivers < workers->nreceivers_wanted &&
           workers->nthreads < workers->nthreads_max)
        r = start_locked(workers);
}

/* If no thread receives requests, and none has served one for a moment, all
   wait for something.  Start more threads then, and also if they serve some,
   but never all that there are. */
static void look(struct workers *workers)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    unsigned npauses = 0;
    uint64_t before;

    pthread_mutex_lock(&workers->lock);
    do {
        before = workers->nserved;
        pthread_mutex_unlock(&workers->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&workers->lock);
    } while (workers->nreceivers == 0 && workers->nserved != before &&
             ++npauses < PAUSES_MAX);
    workers->called = false;
    if (workers->nreceivers == 0)
        start_more_locked(workers);
    pthread_mutex_unlock(&workers->lock);
}

/* End all threads.  Those that serve a request do so first. */
static void join_all(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->ending = true;
    list_for_each(node, &workers->all) {
        struct worker *worker = list_entry(node, struct worker, node);

        pthread_cancel(worker->thread);
        pthread_cond_signal(&worker->go_on);
    }
    pthread_mutex_unlock(&workers->lock);
    /* From now on no thread starts another one, or frees itself. */
    while (!list_empty(&workers->all)) {
        struct worker *worker =
            list_entry(workers->all.next, struct worker, node);

        pthread_join(worker->thread, NULL);
        worker_free(worker);
    }
}

int workers_run(struct fuse_session *session, unsigned nthreads_max)
{
    struct workers workers = {
        .session = session,
        .nthreads_max = nthreads_max,
        .nreceivers_wanted = count_receivers(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    int r;

    list_init(&workers.all);
    list_init(&workers.parked);
    sem_init(&workers.call, 0, 0);
    pthread_mutex_lock(&workers.lock);
    r = start_locked(&workers);
    pthread_mutex_unlock(&workers.lock);
    while (r == 0 && !fuse_session_exited(session)) {
        sem_wait(&workers.call);
        if (!fuse_session_exited(session))
            look(&workers);
    }
    join_all(&workers);
    sem_destroy(&workers.call);
    pthread_mutex_destroy(&workers.lock);
    return r < 0 ? r : workers.error;
}
