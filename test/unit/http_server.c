/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"

enum {
    REQUEST_MAX = 4096,
    NREQUESTS_MAX = 64, /* whose texts are kept */
    NCONNECTIONS_MAX = 256,
};

/* `lock` guards all that is not constant. */
struct http_server {
    const struct http_answer *answers;
    size_t nanswers;
    int listener;
    unsigned port;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stopping;
    size_t nrequests;
    char requests[NREQUESTS_MAX][REQUEST_MAX];
    size_t nconnections;
    int connections[NCONNECTIONS_MAX];
    pthread_t threads[NCONNECTIONS_MAX];
};

struct connection {
    struct http_server *server;
    int fd;
};

/* Read the headers of one request.  Returns 0 at the end. */
static int read_request(int fd, char text[REQUEST_MAX])
{
    size_t len = 0;

    text[0] = '\0';
    while (!strstr(text, "\r\n\r\n") && len + 1 < REQUEST_MAX) {
        ssize_t n = recv(fd, text + len, REQUEST_MAX - 1 - len, 0);

        if (n <= 0)
            return 0;
        len += (size_t)n;
        text[len] = '\0';
    }
    return 1;
}

/* Count a request and choose its answer. */
static const struct http_answer *note(struct http_server *server,
                                      const char *text)
{
    size_t i;

    pthread_mutex_lock(&server->lock);
    i = server->nrequests++;
    if (i < NREQUESTS_MAX)
        strcpy(server->requests[i], text);
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    return &server->answers[i < server->nanswers ? i : server->nanswers - 1];
}

static void await_stop(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    while (!server->stopping)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

static void *serve(void *arg)
{
    struct connection *connection = arg;
    char text[REQUEST_MAX];

    while (read_request(connection->fd, text)) {
        const struct http_answer *answer = note(connection->server, text);

        if (!answer->text) {
            await_stop(connection->server);
            break;
        }
        send(connection->fd, answer->text, strlen(answer->text), MSG_NOSIGNAL);
        if (answer->close)
            break;
    }
    shutdown(connection->fd, SHUT_RDWR);
    free(connection);
    return NULL;
}

static void add(struct http_server *server, int fd)
{
    struct connection *connection = malloc(sizeof(*connection));
    size_t i;

    ck_assert_ptr_nonnull(connection);
    *connection = (struct connection){ server, fd };
    pthread_mutex_lock(&server->lock);
    i = server->nconnections++;
    ck_assert_uint_lt(i, NCONNECTIONS_MAX);
    server->connections[i] = fd;
    ck_assert_int_eq(
        pthread_create(&server->threads[i], NULL, serve, connection), 0);
    pthread_mutex_unlock(&server->lock);
}

static void *listen_for_all(void *arg)
{
    struct http_server *server = arg;
    int fd;

    while ((fd = accept(server->listener, NULL, NULL)) >= 0)
        add(server, fd);
    return NULL;
}

struct http_server *http_server_start(const struct http_answer *answers,
                                      size_t nanswers)
{
    struct http_server *server = calloc(1, sizeof(*server));
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t len = sizeof(address);

    ck_assert_ptr_nonnull(server);
    server->answers = answers;
    server->nanswers = nanswers;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(
        bind(server->listener, (struct sockaddr *)&address, sizeof(address)),
        0);
    ck_assert_int_eq(listen(server->listener, NCONNECTIONS_MAX), 0);
    getsockname(server->listener, (struct sockaddr *)&address, &len);
    server->port = ntohs(address.sin_port);
    ck_assert_int_eq(
        pthread_create(&server->thread, NULL, listen_for_all, server), 0);
    return server;
}

void http_server_stop(struct http_server *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    pthread_mutex_lock(&server->lock);
    server->stopping = 1;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < server->nconnections; i++) {
        shutdown(server->connections[i], SHUT_RDWR);
        pthread_join(server->threads[i], NULL);
        close(server->connections[i]);
    }
    close(server->listener);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

unsigned http_server_port(const struct http_server *server)
{
    return server->port;
}

size_t http_server_nrequests(struct http_server *server)
{
    size_t n;

    pthread_mutex_lock(&server->lock);
    n = server->nrequests;
    pthread_mutex_unlock(&server->lock);
    return n;
}

size_t http_server_nconnections(struct http_server *server)
{
    size_t n;

    pthread_mutex_lock(&server->lock);
    n = server->nconnections;
    pthread_mutex_unlock(&server->lock);
    return n;
}

void http_server_await(struct http_server *server, size_t nrequests)
{
    pthread_mutex_lock(&server->lock);
    while (server->nrequests < nrequests)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

int http_server_has(struct http_server *server, size_t request,
                    const char *text)
{
    int has;

    pthread_mutex_lock(&server->lock);
    has = request < server->nrequests && request < NREQUESTS_MAX &&
          strstr(server->requests[request], text) != NULL;
    pthread_mutex_unlock(&server->lock);
    return has;
}
