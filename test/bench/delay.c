/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A proxy on 127.0.0.1 that adds latency.  It passes on each byte after half of
 * the round-trip time, in both directions.
 *
 * It prints its port, and runs until it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    RUN = 64 << 10,       /* bytes that are passed on together */
    QUEUE_MAX = 16 << 20, /* bytes on their way in one direction */
    LINKS_MAX = 1024,
    NS_PER_S = 1000000000,
};

/* Bytes on their way. */
struct run {
    struct run *next;
    int64_t due_ns;
    size_t off; /* first byte that was not sent */
    size_t end;
    uint8_t bytes[RUN];
};

/* One direction of a connection. */
struct lane {
    struct run *first;
    struct run *last;
    size_t queued; /* bytes */
    bool eof;      /* nothing more will come */
};

/* A connection.  lanes[i] leads from fds[i] to fds[1 - i]. */
struct link {
    int fds[2];
    struct lane lanes[2];
    bool dead;
};

static struct link *links[LINKS_MAX];
static size_t nlinks;
static int64_t half_ns;
static struct sockaddr_in target;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void set_up(int fd)
{
    int one = 1;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void add_link(int listener)
{
    struct link *link = calloc(1, sizeof(*link));

    if (!link)
        abort();
    link->fds[0] = accept(listener, NULL, NULL);
    link->fds[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (link->fds[0] < 0 || nlinks == LINKS_MAX ||
        connect(link->fds[1], (struct sockaddr *)&target, sizeof(target)) < 0) {
        close(link->fds[0]);
        close(link->fds[1]);
        free(link);
        return;
    }
    set_up(link->fds[0]);
    set_up(link->fds[1]);
    links[nlinks++] = link;
}

static void drop_first(struct lane *lane)
{
    struct run *run = lane->first;

    lane->first = run->next;
    free(run);
}

static void free_link(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        close(link->fds[i]);
        while (link->lanes[i].first)
            drop_first(&link->lanes[i]);
    }
    free(link);
}

static void receive(struct link *link, int from)
{
    struct lane *lane = &link->lanes[from];
    struct run *run = malloc(sizeof(*run));
    ssize_t n;

    if (!run)
        abort();
    n = read(link->fds[from], run->bytes, RUN);
    if (n <= 0) {
        free(run);
        lane->eof = n == 0 || errno != EAGAIN;
        return;
    }
    run->next = NULL;
    run->due_ns = now_ns() + half_ns;
    run->off = 0;
    run->end = (size_t)n;
    if (lane->first)
        lane->last->next = run;
    else
        lane->first = run;
    lane->last = run;
    lane->queued += run->end;
}

/* Send what is due. */
static void pass_on(struct link *link, int from)
{
    struct lane *lane = &link->lanes[from];

    while (lane->first && lane->first->due_ns <= now_ns()) {
        struct run *run = lane->first;
        ssize_t n = write(link->fds[1 - from], run->bytes + run->off,
                          run->end - run->off);

        if (n < 0) {
            link->dead |= errno != EAGAIN;
            return;
        }
        run->off += (size_t)n;
        lane->queued -= (size_t)n;
        if (run->off < run->end)
            return;
        drop_first(lane);
    }
    if (lane->eof && !lane->first)
        link->dead = true;
}

static short wanted_events(const struct link *link, int i, int64_t now)
{
    const struct lane *in = &link->lanes[i];
    const struct lane *out = &link->lanes[1 - i];
    bool reads = !in->eof && in->queued < QUEUE_MAX;
    bool writes = out->first && out->first->due_ns <= now;

    return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

/* The time until the next bytes are due that are not due yet. */
static struct timespec time_left(int64_t now)
{
    int64_t next = now + NS_PER_S;

    for (size_t i = 0; i < 2 * nlinks; i++) {
        const struct run *run = links[i / 2]->lanes[i % 2].first;

        if (run && run->due_ns > now && run->due_ns < next)
            next = run->due_ns;
    }
    next -= now;
    return (struct timespec){ next / NS_PER_S, next % NS_PER_S };
}

static void serve(int listener)
{
    static struct pollfd polls[1 + 2 * LINKS_MAX];
    size_t n = nlinks;
    int64_t now = now_ns();
    struct timespec timeout = time_left(now);

    polls[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
    for (size_t i = 0; i < 2 * n; i++) {
        short events = wanted_events(links[i / 2], i % 2, now);

        polls[1 + i] = (struct pollfd){
            .fd = events ? links[i / 2]->fds[i % 2] : -1,
            .events = events,
        };
    }
    ppoll(polls, 1 + 2 * n, &timeout, NULL);
    for (size_t i = 0; i < 2 * n; i++)
        if (polls[1 + i].revents & (POLLIN | POLLHUP | POLLERR) &&
            polls[1 + i].events & POLLIN)
            receive(links[i / 2], i % 2);
    for (size_t i = 0; i < 2 * n; i++)
        pass_on(links[i / 2], i % 2);
    for (size_t i = nlinks; i-- > 0;)
        if (links[i]->dead) {
            free_link(links[i]);
            links[i] = links[--nlinks];
        }
    if (polls[0].revents)
        add_link(listener);
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = { .sin_family = AF_INET };
    socklen_t len = sizeof(here);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (argc != 3) {
        fputs(
            "usage: delay PORT MS    in front of a port of 127.0.0.1, with a\n"
            "                        round-trip time of MS\n",
            stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    target = here;
    target.sin_port = htons((uint16_t)atoi(argv[1]));
    half_ns = (int64_t)(atof(argv[2]) * 1e6 / 2);
    if (bind(listener, (struct sockaddr *)&here, sizeof(here)) < 0 ||
        listen(listener, LINKS_MAX) < 0 ||
        getsockname(listener, (struct sockaddr *)&here, &len) < 0) {
        perror("delay");
        return 1;
    }
    printf("%d\n", ntohs(here.sin_port));
    fflush(stdout);
    for (;;)
        serve(listener);
}
