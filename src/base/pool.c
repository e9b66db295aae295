/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/operation.h"
#include "base/thread.h"

/* Locking.  `lock` is a leaf; workers drop it while they run a task. */
struct pool {
    /* Constant once pool_new() returns. */
    pthread_t *threads;
    unsigned nthreads;

    /* Guarded by `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a task came, or `stopping` was set */
    struct list tasks;
    bool stopping;
};

/* Wait for the next task and take it out of the queue.  Returns NULL when the
   queue is empty and the pool is stopping. */
static struct pool_task *take(struct pool *pool)
{
    struct pool_task *task = NULL;

    pthread_mutex_lock(&pool->lock);
    while (list_empty(&pool->tasks) && !pool->stopping)
        pthread_cond_wait(&pool->changed, &pool->lock);
    if (!list_empty(&pool->tasks)) {
        task = list_entry(pool->tasks.next, struct pool_task, node);
        list_remove(&task->node);
    }
    pthread_mutex_unlock(&pool->lock);
    return task;
}

static void *work(void *arg)
{
    struct pool *pool = arg;
    struct pool_task *task;

    while ((task = take(pool)))
        task->run(task);
    return NULL;
}

static int start(struct pool *pool, unsigned nthreads)
{
    int r = 0;

    while (pool->nthreads < nthreads && r == 0) {
        r = thread_start(&pool->threads[pool->nthreads], work, pool);
        pool->nthreads += r == 0;
    }
    return r;
}

int pool_new(unsigned nthreads, struct pool **out)
{
    struct pool *pool = calloc(1, sizeof(*pool));
    int r;

    if (!pool)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    list_init(&pool->tasks);

    pool->threads = calloc(nthreads, sizeof(*pool->threads));
    r = pool->threads || nthreads == 0 ? start(pool, nthreads) : -ENOMEM;
    if (r < 0) {
        pool_free(pool);
        return r;
    }

    *out = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;

    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);

    for (unsigned i = 0; i < pool->nthreads; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
}

void pool_submit(struct pool *pool, struct pool_task *task)
{
    list_init(&task->node);
    pthread_mutex_lock(&pool->lock);
    list_append(&pool->tasks, &task->node);
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

size_t pool_withdraw(struct pool *pool, const void *owner, struct list *out)
{
    size_t n = 0;

    pthread_mutex_lock(&pool->lock);
    list_for_each_safe(node, &pool->tasks) {
        if (list_entry(node, struct pool_task, node)->owner != owner)
            continue;
        list_remove(node);
        list_append(out, node);
        n++;
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

struct job_task {
    struct pool_task task;
    struct pool_job *job;
    unsigned no;
};

static void end_tasks(struct pool_job *job, unsigned n)
{
    pthread_mutex_lock(&job->lock);
    job->ntasks -= n;
    if (job->ntasks == 0)
        pthread_cond_signal(&job->finished);
    pthread_mutex_unlock(&job->lock);
}

static void run_job_task(struct pool_task *pool_task)
{
    struct job_task *task = (struct job_task *)(void *)pool_task;

    int64_t outer = operation_join(task->job->began_ns);

    task->job->run(task->job, task->no);
    operation_end(outer);
    end_tasks(task->job, 1);
}

int pool_run(struct pool *pool, struct pool_job *job, unsigned ntasks)
{
    struct job_task *tasks = calloc(ntasks + 1, sizeof(*tasks));
    struct list late;

    if (!tasks)
        return -ENOMEM;
    list_init(&late);
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->finished, NULL);
    job->ntasks = ntasks;
    job->began_ns = operation_began_ns();
    for (unsigned i = 0; i < ntasks; i++) {
        tasks[i] =
            (struct job_task){ .task = { .run = run_job_task, .owner = job },
                               .job = job,
                               .no = i + 1 };
        pool_submit(pool, &tasks[i].task);
    }
    job->run(job, 0);
    end_tasks(job, (unsigned)pool_withdraw(pool, job, &late));
    pthread_mutex_lock(&job->lock);
    while (job->ntasks > 0)
        pthread_cond_wait(&job->finished, &job->lock);
    pthread_mutex_unlock(&job->lock);
    pthread_cond_destroy(&job->finished);
    pthread_mutex_destroy(&job->lock);
    free(tasks);
    return 0;
}
