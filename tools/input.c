/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "chunk/chunk_format.h"
#include "confine.h"
#include "interrupt.h"
#include "remote.h"

enum {
    ALL_FIRST = 1 << 16 /* bytes that input_read_all() allocates first */
};

static int report(const struct input *input, int error)
{
    if (error != -EINTR)
        log_error("%s: %s", input->name, strerror(-error));
    return error;
}

void input_close(struct input *input)
{
    if (input->object) {
        store_object_close(input->object);
        store_close(input->store);
    } else if (input->fd != STDIN_FILENO) {
        close(input->fd);
    }
    free(input->ahead);
}

const struct stat *input_likeness(const struct input *input)
{
    return S_ISREG(input->stat.st_mode) && !input->object ? &input->stat : NULL;
}

/* The number of bytes that are left; 0 if it is not known, as for a pipe. */
static uint64_t known_size(const struct input *input)
{
    uint64_t size = (uint64_t)input->stat.st_size;

    return input->seekable && size > input->off ? size - input->off : 0;
}

void input_put_back(struct input *input, uint8_t *bytes, size_t len)
{
    input->ahead = bytes;
    input->nahead = len;
}

/* Take bytes that were put back. */
static size_t take_ahead(struct input *input, uint8_t *buf, size_t len)
{
    size_t n = input->nahead - input->ahead_at;

    if (n > len)
        n = len;
    if (n > 0)
        memcpy(buf, input->ahead + input->ahead_at, n);
    input->ahead_at += n;
    return n;
}

/* Read from the object behind a URL, and have fetched what follows. */
static ssize_t read_object(const struct input *input, uint8_t *buf, size_t len,
                           uint64_t off)
{
    uint64_t size = (uint64_t)input->stat.st_size;
    uint64_t ahead = store_ahead(input->store);
    int r;

    if (off >= size)
        return 0;
    if (len > size - off)
        len = (size_t)(size - off);
    if (ahead > 0 && len < size - off)
        store_object_prefetch(input->object, off + len, ahead, NULL);
    r = store_object_read_at(input->object, off, buf, len);
    errno = -r;
    return r < 0 ? -1 : (ssize_t)len;
}

static ssize_t read_some(const struct input *input, uint8_t *buf, size_t len,
                         uint64_t off)
{
    if (input->end > 0 && len > input->end - off)
        len = (size_t)(input->end - off);
    if (input->object)
        return read_object(input, buf, len, off);
    return input->seekable ? pread(input->fd, buf, len, (off_t)off)
                           : read(input->fd, buf, len);
}

/* Read from the file, without changing `off`. */
static ssize_t read_fully(const struct input *input, uint8_t *buf, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = -EINTR;

        if (interrupt_seen())
            return n;
        n = read_some(input, buf + done, len - done, input->off + done);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return report(input, -errno);
        if (n > 0)
            done += (size_t)n;
    }
    return (ssize_t)done;
}

ssize_t input_peek(const struct input *input, void *buf, size_t len)
{
    return input->seekable ? read_fully(input, buf, len) : 0;
}

ssize_t input_read(struct input *input, void *buf, size_t len)
{
    size_t done = take_ahead(input, buf, len);
    ssize_t n = read_fully(input, (uint8_t *)buf + done, len - done);

    if (n < 0)
        return n;
    input->off += (size_t)n;
    return (ssize_t)done + n;
}

int input_refuse_size(const struct input *input, bool fewer, uint64_t wanted)
{
    log_error("%s: has %s bytes than the %" PRIu64 " of the array", input->name,
              fewer ? "fewer" : "more", wanted);
    return -EINVAL;
}

int input_check_size(const struct input *input, uint64_t size)
{
    uint64_t known = known_size(input);

    return known == size ? 0 : input_refuse_size(input, known < size, size);
}

int input_read_at(const struct input *input, void *buf, size_t len,
                  uint64_t off)
{
    struct input later = *input;
    ssize_t n;

    later.off += off;
    n = read_fully(&later, buf, len);
    if (n < 0 || (size_t)n == len)
        return n < 0 ? (int)n : 0;
    log_error("%s: has become shorter", input->name);
    return -EINVAL;
}

/* Find the next byte that lies in no hole, or the end of the file. */
static uint64_t next_data(const struct input *input)
{
    off_t off;

    if (input->object)
        return input->off;
    off = lseek(input->fd, (off_t)input->off, SEEK_DATA);
    if (off >= 0)
        return (uint64_t)off;
    return errno == ENXIO ? (uint64_t)input->stat.st_size : input->off;
}

static struct input *input_of(struct feed *feed)
{
    return (struct input *)(void *)feed;
}

static ssize_t read_or_skip(struct feed *feed, void *buf, size_t len,
                            bool *zeros)
{
    struct input *input = input_of(feed);
    uint64_t size = known_size(input);
    size_t n = size < len ? (size_t)size : len;

    *zeros = n > 0 && input->ahead_at == input->nahead &&
             next_data(input) >= input->off + n;
    if (!*zeros)
        return input_read(input, buf, len);
    if (interrupt_seen())
        return -EINTR;
    input->off += n;
    return (ssize_t)n;
}

static ssize_t sample(struct feed *feed, void *buf, size_t len)
{
    struct input *input = input_of(feed);
    struct input later = *input;
    uint8_t *bytes;
    ssize_t n;

    if (input->seekable) {
        later.off = next_data(input);
        return read_fully(&later, buf, len);
    }
    n = read_fully(input, buf, len);
    if (n <= 0)
        return n;
    bytes = malloc((size_t)n);
    if (!bytes)
        return report(input, -ENOMEM);
    memcpy(bytes, buf, (size_t)n);
    input_put_back(input, bytes, (size_t)n);
    return n;
}

/* Double the memory, but to no more than `max` + 1 bytes, which suffice to see
   that there are too many. */
static int grow(uint8_t **bytes, size_t *capacity, size_t max)
{
    size_t more = *capacity > max / 2 ? max + 1 : 2 * *capacity;
    uint8_t *moved = realloc(*bytes, more);

    if (!moved)
        return -ENOMEM;
    *bytes = moved;
    *capacity = more;
    return 0;
}

ssize_t input_read_all(struct input *input, size_t max, uint8_t **bytes)
{
    size_t capacity = max < ALL_FIRST ? max + 1 : ALL_FIRST;
    uint8_t *all = malloc(capacity);
    size_t len = 0;
    ssize_t n = all ? 0 : report(input, -ENOMEM);

    while (n == 0) {
        n = input_read(input, all + len, capacity - len);
        if (n < 0)
            break;
        len += (size_t)n;
        if (len < capacity) {
            *bytes = all;
            return (ssize_t)len;
        }
        n = len > max ? -EFBIG : grow(&all, &capacity, max);
        if (n < 0)
            report(input, (int)n);
    }
    free(all);
    return n;
}

static int open_object(struct input *input)
{
    struct store_stat stat;
    int r = remote_open(input->name, false, &input->store);

    if (r < 0)
        return r;
    r = store_is_directory(input->store)
            ? -EISDIR
            : store_open(input->store, "", &input->object);
    if (r == 0)
        r = store_object_stat(input->object, &stat);
    if (r == 0 && stat.version.size > INT64_MAX)
        r = -EFBIG;
    if (r < 0) {
        store_object_close(input->object);
        store_close(input->store);
        return r;
    }
    input->stat.st_mode = S_IFREG | 0444;
    input->stat.st_size = (off_t)stat.version.size;
    return 0;
}

static int open_url(const char *url, struct input *out)
{
    struct input input = {
        .feed = { .read = read_or_skip, .sample = sample },
        .name = url,
        .fd = -1,
        .seekable = true,
    };
    int r = open_object(&input);

    if (r < 0)
        return report(&input, r);
    input.feed.total = known_size(&input);
    *out = input;
    return 0;
}

static int open_file(const char *path, struct input *out)
{
    bool standard = strcmp(path, "-") == 0;
    struct input input = {
        .feed = { .read = read_or_skip, .sample = sample },
        .name = standard ? "standard input" : path,
        .fd = standard ? STDIN_FILENO : confine_open(path, S_IFREG),
    };
    off_t off;

    if (input.fd < 0)
        return report(&input, input.fd);
    if (fstat(input.fd, &input.stat) < 0) {
        int r = report(&input, -errno);

        input_close(&input);
        return r;
    }
    off = lseek(input.fd, 0, SEEK_CUR);
    input.seekable = S_ISREG(input.stat.st_mode) && off >= 0;
    input.off = input.seekable ? (uint64_t)off : 0;
    input.feed.total = known_size(&input);
    *out = input;
    return 0;
}

struct input input_of_part(const char *name, int fd, const struct stat *like,
                           const struct file_range *part)
{
    struct input input = {
        .feed = { .read = read_or_skip, .sample = sample, .total = part->len },
        .name = name,
        .fd = fd,
        .stat = *like,
        .seekable = true,
        .off = part->off,
        .end = part->off + part->len,
    };

    input.stat.st_size = (off_t)input.end;
    return input;
}

int input_open(const char *path, struct input *out)
{
    return remote_is(path) ? open_url(path, out) : open_file(path, out);
}

ssize_t input_read_chunk(const char *path, uint8_t **bytes)
{
    struct input input;
    ssize_t len = input_open(path, &input);

    if (len < 0)
        return len;
    len = input_read_all(&input, CHUNK_NBYTES_MAX, bytes);
    if (len == 0) {
        log_error("%s: is empty, which no chunk can be", input.name);
        free(*bytes);
        len = -EINVAL;
    }
    input_close(&input);
    return len;
}
