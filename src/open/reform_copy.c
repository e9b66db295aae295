/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open/reform_private.h"

enum {
    PIECE = 1 << 20, /* bytes copied at a time */
    GAIN = 16,       /* a frame pays if it saves this part of the bytes */
};

/* Has the old entry been removed or renamed? */
static bool is_moved_locked(const struct reform *reform)
{
    const struct node *node = reform->node;

    return node->unlinked || node->unhashed || node->parent != reform->parent ||
           strcmp(node->name, reform->old.name) != 0;
}

bool reform_is_moved(const struct reform *reform)
{
    struct node_table *nodes = &reform->fs->nodes;
    bool moved;

    pthread_mutex_lock(&nodes->lock);
    moved = is_moved_locked(reform);
    pthread_mutex_unlock(&nodes->lock);
    return moved;
}

bool reform_is_disturbed(const struct reform *reform)
{
    struct node_table *nodes = &reform->fs->nodes;
    bool disturbed;

    pthread_mutex_lock(&nodes->lock);
    disturbed = reform->node->open || reform->node->nheld > 0 ||
                is_moved_locked(reform);
    pthread_mutex_unlock(&nodes->lock);
    return disturbed;
}

/* Count the bytes of the chunks of a frame, until there are more than `max`. */
static int count_stored(struct frame *frame, uint64_t max, uint64_t *out)
{
    uint64_t nchunks = frame_get_info(frame)->nchunks;
    struct fault fault = FAULT_NONE;
    uint64_t sum = 0;
    int r = 0;

    for (uint64_t i = 0; r == 0 && i < nchunks && sum <= max; i++) {
        struct frame_chunk *chunk;

        r = frame_chunk_open(frame, i, &chunk, &fault);
        if (r < 0)
            break;
        sum += chunk->cbytes;
        frame_chunk_close(chunk);
    }
    *out = sum;
    return r;
}

int reform_pays(struct file *file)
{
    struct frame *frame = file_frame_get(file);
    const struct frame_info *info = frame_get_info(frame);
    uint64_t max = info->nbytes - info->nbytes / GAIN;
    uint64_t stored = info->cbytes; /* with the dead ones */
    int r = 0;

    if (stored > max)
        r = count_stored(frame, max, &stored);
    file_frame_put(file, frame);
    return r < 0 ? r : stored <= max;
}

int64_t reform_size(const struct reform_content *content)
{
    struct stat st;
    int r;

    if (content->file)
        return (int64_t)file_size(content->file);
    r = backing_anchor_stat(&content->plain, &st);
    return r < 0 ? r : st.st_size;
}

/* Read bytes of a frame; returns how many were read. */
static ssize_t read_frame(struct file *file, const struct file_range *range,
                          uint8_t *buf)
{
    struct fault fault = FAULT_NONE;
    struct file_data data;
    size_t done = 0;
    int r = file_read(file, NULL, range, &data, &fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < data.niov; i++) {
        memcpy(buf + done, data.iov[i].iov_base, data.iov[i].iov_len);
        done += data.iov[i].iov_len;
    }
    r = data.error;
    file_data_put(file, &data);
    return done == 0 && r < 0 ? r : (ssize_t)done;
}

int reform_read(const struct reform_content *from, uint64_t off, uint8_t *buf,
                size_t len)
{
    while (len > 0) {
        const struct file_range range = { .off = off, .len = len };
        ssize_t n = from->file ? read_frame(from->file, &range, buf)
                               : pread(from->plain.fd, buf, len, (off_t)off);

        if (n < 0 && from->file)
            return (int)n;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return -ESTALE;
        if (n > 0) {
            off += (size_t)n;
            buf += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int write_plain(int fd, uint64_t off, const uint8_t *buf, size_t len)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, buf, len, (off_t)off);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            off += (size_t)n;
            buf += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int write_bytes(const struct reform_content *to, uint64_t off,
                       const uint8_t *buf, size_t len)
{
    struct fault fault = FAULT_NONE;

    return to->file ? file_write(to->file, off, buf, len, &fault)
                    : write_plain(to->plain.fd, off, buf, len);
}

/* Find the next byte that is in no hole.  Returns 0, -ENXIO if there is none,
   or another error. */
static int next_data(const struct reform_content *from, uint64_t *off)
{
    struct fault fault = FAULT_NONE;
    off_t at;

    if (from->file)
        return file_seek(from->file, *off, false, off, &fault);
    at = lseek(from->plain.fd, (off_t)*off, SEEK_DATA);
    if (at >= 0)
        *off = (uint64_t)at;
    /* Not all file systems know their holes. */
    return at < 0 && errno == ENXIO ? -ENXIO : 0;
}

/* Set the size, and make everything durable. */
static int finish(const struct reform *reform, const struct reform_content *to,
                  uint64_t size)
{
    struct fault fault = FAULT_NONE;
    int r = 0;

    if (!to->file) {
        r = ftruncate(to->plain.fd, (off_t)size) < 0 ? -errno : 0;
        return r < 0 ? r : backing_anchor_sync(&to->plain);
    }
    if (!reform->header)
        r = file_truncate(to->file, size, &fault);
    return r < 0 ? r : file_sync(to->file, &fault);
}

/* Give up if the new frame has to pay, and does not. */
static int check_pays(const struct reform *reform,
                      const struct reform_content *to)
{
    int r = reform->must_pay ? reform_pays(to->file) : 1;

    if (r < 0)
        return r;
    return r > 0 ? 0 : -ECANCELED;
}

/* Check that after the first piece of a larger file, too, because copying the
   rest in vain takes long. */
static int check_first(const struct reform *reform,
                       const struct reform_content *to, uint64_t size)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (!reform->must_pay || size <= PIECE)
        return 0;
    r = file_commit(to->file, NULL, &fault);
    return r == 0 ? check_pays(reform, to) : r;
}

/* Copy the bytes from `off` on. */
static int copy_bytes(struct reform *reform, const struct reform_content *to,
                      uint64_t off, uint64_t size)
{
    uint8_t *piece = malloc(PIECE);
    bool first = true;
    int r = piece ? 0 : -ENOMEM;

    if (r == 0 && off < size)
        r = next_data(&reform->from, &off);
    while (r == 0 && off < size) {
        size_t len = size - off < PIECE ? (size_t)(size - off) : PIECE;

        r = reform_is_disturbed(reform) ? -EBUSY : 0;
        if (r == 0)
            r = reform_read(&reform->from, off, piece, len);
        if (r == 0)
            r = write_bytes(to, off, piece, len);
        off += len;
        if (r == 0 && first)
            r = check_first(reform, to, size);
        first = false;
        if (r == 0 && off < size)
            r = next_data(&reform->from, &off);
    }
    free(piece);
    return r == -ENXIO ? 0 : r;
}

/* Is what a new array shows before its items the same as in the file? */
static int check_header(const struct reform *reform,
                        const struct reform_content *to, uint64_t size)
{
    uint8_t *header = malloc(reform->header_len);
    int r = header ? -ECANCELED : -ENOMEM;

    if (header && file_size(to->file) == size)
        r = reform_read(to, 0, header, reform->header_len);
    if (r == 0 && memcmp(header, reform->header, reform->header_len) != 0)
        r = -ECANCELED;
    free(header);
    return r;
}

int reform_copy(struct reform *reform, const struct reform_content *to)
{
    int64_t size = reform_size(&reform->from);
    int r = 0;

    if (size < 0)
        return (int)size;
    if (reform->header)
        r = check_header(reform, to, (uint64_t)size);
    if (r == 0)
        r = copy_bytes(reform, to, reform->header_len, (uint64_t)size);
    if (r == 0)
        r = finish(reform, to, (uint64_t)size);
    return r == 0 ? check_pays(reform, to) : r;
}
