/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "base/killed.h"
#include "net/net.h"

/* Counts the requests of one net_run() that are not done.  `lock` is a leaf. */
struct latch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t nleft;
};

/* The waiter may free the latch as soon as the lock is dropped. */
static void count_down(struct net_request *request)
{
    struct latch *latch = request->context;

    pthread_mutex_lock(&latch->lock);
    if (--latch->nleft == 0)
        pthread_cond_signal(&latch->changed);
    pthread_mutex_unlock(&latch->lock);
}

static void cancel(struct net *net, struct net_request *requests, size_t n)
{
    for (size_t i = 0; i < n; i++)
        net_cancel(net, &requests[i]);
}

void net_run(struct net *net, struct net_request *requests, size_t n)
{
    struct latch latch = { .nleft = n };
    int r = 0;

    pthread_mutex_init(&latch.lock, NULL);
    killed_cond_init(&latch.changed);
    for (size_t i = 0; i < n; i++) {
        requests[i].done = count_down;
        requests[i].context = &latch;
        /* If this succeeds, the loop may already have set `error`. */
        r = net_submit(net, &requests[i]);
        if (r < 0) {
            requests[i].error = r;
            count_down(&requests[i]);
        }
    }
    r = 0;
    pthread_mutex_lock(&latch.lock);
    while (latch.nleft > 0 && r == 0)
        r = killed_wait(&latch.changed, &latch.lock);
    pthread_mutex_unlock(&latch.lock);
    if (r < 0)
        cancel(net, requests, n);
    pthread_mutex_lock(&latch.lock);
    while (latch.nleft > 0)
        pthread_cond_wait(&latch.changed, &latch.lock);
    pthread_mutex_unlock(&latch.lock);
    pthread_cond_destroy(&latch.changed);
    pthread_mutex_destroy(&latch.lock);
}
