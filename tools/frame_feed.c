/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_feed.h"

#include <errno.h>
#include <string.h>

#include "interrupt.h"
#include "source.h"

enum {
    PIECE = 4 << 20 /* bytes to ask for at a time */
};

static struct frame_feed *frame_feed_of(struct feed *feed)
{
    return (struct frame_feed *)(void *)feed;
}

/* Copy the bytes out of the cache, and unpin them there. */
static void take_data(struct file *file, struct file_data *data, uint8_t *buf)
{
    for (size_t i = 0; i < data->niov; i++) {
        memcpy(buf, data->iov[i].iov_base, data->iov[i].iov_len);
        buf += data->iov[i].iov_len;
    }
    file_data_put(file, data);
}

/* Read `len` bytes; the caller knows that the frame has that many. */
static int read_bytes(struct frame_feed *feed, uint64_t off, uint8_t *buf,
                      size_t len)
{
    struct fault fault = FAULT_NONE;
    size_t done = 0;
    int r = 0;

    while (done < len && r == 0) {
        size_t n = len - done < PIECE ? len - done : PIECE;
        struct file_data data = { 0 };

        if (interrupt_seen())
            return -EINTR;
        r = file_read(feed->file, &feed->reader,
                      &(struct file_range){ off + done, n }, &data, &fault);
        if (r == 0) {
            n = data.len;
            take_data(feed->file, &data, buf + done);
            done += n;
            r = data.error;
        }
    }
    if (r < 0)
        source_report(feed->path, r, &fault);
    return r;
}

/* Find the next byte that lies in no hole, or the end.  The result is kept,
   because finding it may take a walk along the index. */
static uint64_t next_data(struct frame_feed *feed)
{
    struct fault fault;
    int r;

    if (feed->data > feed->off)
        return feed->data;
    r = file_seek(feed->file, feed->off, false, &feed->data, &fault);
    if (r == -ENXIO)
        feed->data = file_size(feed->file);
    else if (r < 0)
        feed->data = feed->off;
    return feed->data;
}

static size_t count_left(const struct frame_feed *feed, uint64_t off,
                         size_t len)
{
    uint64_t left = file_size(feed->file) - off;

    return left < len ? (size_t)left : len;
}

static ssize_t read_or_skip(struct feed *base, void *buf, size_t len,
                            bool *zeros)
{
    struct frame_feed *feed = frame_feed_of(base);
    size_t n = count_left(feed, feed->off, len);
    int r = interrupt_seen() ? -EINTR : 0;

    *zeros = n > 0 && next_data(feed) >= feed->off + n;
    if (r == 0 && !*zeros)
        r = read_bytes(feed, feed->off, buf, n);
    if (r < 0)
        return r;
    feed->off += n;
    return (ssize_t)n;
}

static ssize_t sample(struct feed *base, void *buf, size_t len)
{
    struct frame_feed *feed = frame_feed_of(base);
    uint64_t off = next_data(feed);
    size_t n = count_left(feed, off, len);
    int r = read_bytes(feed, off, buf, n);

    return r < 0 ? r : (ssize_t)n;
}

void frame_feed_init(struct frame_feed *feed, const char *path,
                     struct file *file)
{
    *feed = (struct frame_feed){
        .feed = { .read = read_or_skip,
                  .sample = sample,
                  .total = file_size(file) },
        .path = path,
        .file = file,
    };
}

void frame_feed_end(struct frame_feed *feed)
{
    file_reader_end(&feed->reader);
}
