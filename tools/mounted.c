/* SPDX-License-Identifier: BSD-3-Clause */
#include "mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "framefs-ioctl.h"
#include "input.h"
#include "interrupt.h"

enum {
    PIECE_SIZE = 1 << 20 /* bytes to append at a time */
};

static int report(const struct mounted *mounted, int error)
{
    if (error != -EINTR)
        log_error("%s: %s", mounted->path, strerror(-error));
    return error;
}

static uint64_t get_number(struct json_object *info, const char *key)
{
    return json_object_get_uint64(json_object_object_get(info, key));
}

/* Get the geometry of the frame from the mount.  Returns false if this is not a
   mount of framefs, or if it does not show a frame by this file. */
static bool read_info(struct mounted *mounted)
{
    char text[XATTR_SIZE_MAX + 1];
    struct json_object *info = NULL;
    struct statfs fs;
    ssize_t len = -1;
    bool found;

    if (fstatfs(mounted->fd, &fs) == 0 && fs.f_type == FUSE_SUPER_MAGIC)
        len = fgetxattr(mounted->fd, "user.b2frame.info", text, XATTR_SIZE_MAX);
    if (len >= 0) {
        text[len] = '\0';
        info = json_tokener_parse(text);
    }
    mounted->nbytes = get_number(info, "nbytes");
    mounted->nchunks = get_number(info, "nchunks");
    mounted->chunksize = get_number(info, "chunksize");
    found = info != NULL;
    json_object_put(info);
    return found;
}

int mounted_open(const char *path, struct mounted *out)
{
    struct mounted mounted = {
        .path = path, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    };
    int r = 0;

    if (mounted.fd < 0)
        return 0;
    if (read_info(&mounted)) {
        close(mounted.fd);
        interrupt_catch();
        mounted.fd = open(path, O_RDWR | O_CLOEXEC);
        /* Lock out other processes that change a mounted frame in this way,
           because the geometry must not change after it is read.  Commit bytes
           that were written before, so that they count too. */
        if (mounted.fd < 0 || flock(mounted.fd, LOCK_EX) < 0 ||
            fsync(mounted.fd) < 0)
            r = report(&mounted, -errno);
        else
            r = read_info(&mounted);
    }
    if (r > 0)
        *out = mounted;
    else
        mounted_close(&mounted);
    return r;
}

void mounted_close(struct mounted *mounted)
{
    if (mounted->fd >= 0)
        close(mounted->fd);
    interrupt_die();
}

static int sync_all(const struct mounted *mounted)
{
    return fsync(mounted->fd) < 0 ? report(mounted, -errno) : 0;
}

static int write_at(const struct mounted *mounted, const uint8_t *bytes,
                    size_t len, uint64_t off)
{
    while (len > 0) {
        ssize_t n = pwrite(mounted->fd, bytes, len, (off_t)off);

        if (n < 0)
            return report(mounted, -errno);
        bytes += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* Write bytes where the file ends now.  Adds their number to `done`, also that
   of some of them if there is an error. */
static int write_behind(const struct mounted *mounted, const uint8_t *bytes,
                        size_t len, uint64_t *done)
{
    while (len > 0) {
        ssize_t n = write(mounted->fd, bytes, len);

        if (n < 0)
            return report(mounted, -errno);
        bytes += n;
        *done += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static int set_size(const struct mounted *mounted, uint64_t size)
{
    return ftruncate(mounted->fd, (off_t)size) < 0 ? report(mounted, -errno)
                                                   : 0;
}

/* Cut the file, whose size is `from`.  If it is longer now, another program has
   appended bytes without locking the file, and they must stay. */
static int cut(const struct mounted *mounted, uint64_t size, uint64_t from)
{
    struct stat st;

    if (fstat(mounted->fd, &st) < 0)
        return report(mounted, -errno);
    if ((uint64_t)st.st_size <= from)
        return set_size(mounted, size);
    log_error("%s: is not made shorter, because another program has appended "
              "to it",
              mounted->path);
    return -EBUSY;
}

/* Append the input, piece by piece.  What another program appends meanwhile
   stays between the pieces. */
static int append_pieces(const struct mounted *mounted, struct input *input,
                         uint64_t *done, uint8_t *piece)
{
    ssize_t len;

    if (fcntl(mounted->fd, F_SETFL, O_APPEND) < 0)
        return report(mounted, -errno);
    while ((len = input_read(input, piece, PIECE_SIZE)) > 0) {
        int r = write_behind(mounted, piece, (size_t)len, done);

        if (r < 0)
            return r;
    }
    return len < 0 ? (int)len : sync_all(mounted);
}

/* Append the whole input.  If that fails, cut the file to its old size, unless
   others have appended to it meanwhile. */
static int append_all(const struct mounted *mounted, struct input *input,
                      uint8_t *piece)
{
    struct stat st;
    uint64_t done = 0;
    int r;

    if (fstat(mounted->fd, &st) < 0)
        return report(mounted, -errno);
    r = append_pieces(mounted, input, &done, piece);
    if (r < 0)
        cut(mounted, (uint64_t)st.st_size, (uint64_t)st.st_size + done);
    return r;
}

int mounted_append(struct mounted *mounted, const char *path)
{
    uint8_t *piece = malloc(PIECE_SIZE);
    struct input input;
    int r;

    if (!piece)
        return report(mounted, -ENOMEM);
    r = input_open(path, &input);
    if (r == 0) {
        r = append_all(mounted, &input, piece);
        input_close(&input);
    }
    free(piece);
    return r;
}

static int report_missing(const struct mounted *mounted, uint64_t chunk_no)
{
    log_error("%s: there is no chunk %" PRIu64 ", but %" PRIu64, mounted->path,
              chunk_no, mounted->nchunks);
    return -ERANGE;
}

/* Check the size of a chunk.  Only the last chunk may be shorter than the
   others. */
static int check_size(const struct mounted *mounted, uint64_t chunk_no,
                      uint64_t nbytes, bool last)
{
    if (mounted->chunksize == 0) {
        log_error("%s: where chunks differ in size, only the frame itself can "
                  "be changed so",
                  mounted->path);
        return -ENOTSUP;
    }
    if (nbytes == mounted->chunksize || (last && nbytes < mounted->chunksize))
        return 0;
    log_error("%s: chunk %" PRIu64 " can't have %" PRIu64
              " bytes, all but the last have %" PRIu64,
              mounted->path, chunk_no, nbytes, mounted->chunksize);
    return -EINVAL;
}

/* Insert or delete a chunk, and tell the kernel the new size of the file. */
static int change_one(const struct mounted *mounted, unsigned long request,
                      uint64_t chunk_no, uint64_t nbytes)
{
    struct framefs_ioctl_chunk one = { .chunk_no = chunk_no, .nbytes = nbytes };

    if (ioctl(mounted->fd, request, &one) < 0)
        return errno == ERANGE ? report_missing(mounted, chunk_no)
                               : report(mounted, -errno);
    return set_size(mounted, one.nbytes);
}

static int insert_bytes(const struct mounted *mounted, uint64_t chunk_no,
                        const uint8_t *bytes, size_t len)
{
    int r;

    if (chunk_no > mounted->nchunks)
        return report_missing(mounted, chunk_no);
    r = check_size(mounted, chunk_no, len, chunk_no == mounted->nchunks);
    if (r == 0)
        r = change_one(mounted, FRAMEFS_IOCTL_INSERT, chunk_no, len);
    if (r < 0)
        return r;
    r = write_at(mounted, bytes, len, chunk_no * mounted->chunksize);
    if (r == 0)
        r = sync_all(mounted);
    if (r < 0)
        change_one(mounted, FRAMEFS_IOCTL_DELETE, chunk_no, 0);
    return r;
}

static int update_bytes(const struct mounted *mounted, uint64_t chunk_no,
                        const uint8_t *bytes, size_t len)
{
    uint64_t end = chunk_no * mounted->chunksize + len;
    bool last = chunk_no + 1 == mounted->nchunks;
    int r;

    if (chunk_no >= mounted->nchunks)
        return report_missing(mounted, chunk_no);
    r = check_size(mounted, chunk_no, len, last);
    if (r == 0)
        r = write_at(mounted, bytes, len, chunk_no * mounted->chunksize);
    if (r == 0 && end < mounted->nbytes && last)
        r = cut(mounted, end, mounted->nbytes);
    return r < 0 ? r : sync_all(mounted);
}

/* Change a chunk to the bytes of an input. */
static int change_with(const struct mounted *mounted, uint64_t chunk_no,
                       const char *input,
                       int (*change)(const struct mounted *mounted,
                                     uint64_t chunk_no, const uint8_t *bytes,
                                     size_t len))
{
    uint8_t *bytes;
    ssize_t len = input_read_chunk(input, &bytes);
    int r;

    if (len < 0)
        return (int)len;
    r = change(mounted, chunk_no, bytes, (size_t)len);
    free(bytes);
    return r;
}

int mounted_insert(struct mounted *mounted, uint64_t chunk_no,
                   const char *input)
{
    return change_with(mounted, chunk_no, input, insert_bytes);
}

int mounted_update(struct mounted *mounted, uint64_t chunk_no,
                   const char *input)
{
    return change_with(mounted, chunk_no, input, update_bytes);
}

int mounted_delete(struct mounted *mounted, uint64_t chunk_no)
{
    return change_one(mounted, FRAMEFS_IOCTL_DELETE, chunk_no, 0);
}

/* Find the range from the first chunk that moves to the last. */
static void find_moved(const uint64_t *order, uint64_t nchunks, uint64_t *first,
                       uint64_t *end)
{
    *first = 0;
    while (*first < nchunks && order[*first] == *first)
        (*first)++;
    *end = nchunks;
    while (*end > *first && order[*end - 1] == *end - 1)
        (*end)--;
}

static int send_order(const struct mounted *mounted, const uint64_t *order,
                      uint64_t first, uint64_t end)
{
    struct framefs_ioctl_order *request = calloc(1, sizeof(*request));
    int r = 0;

    if (!request)
        return -ENOMEM;
    request->first = first;
    request->nchunks = end - first;
    for (uint64_t i = first; i < end; i++)
        request->order[i - first] = (uint32_t)(order[i] - first);
    if (ioctl(mounted->fd, FRAMEFS_IOCTL_REORDER, request) < 0)
        r = -errno;
    free(request);
    return r;
}

int mounted_reorder(struct mounted *mounted, const uint64_t *order)
{
    uint64_t first;
    uint64_t end;
    int r;

    find_moved(order, mounted->nchunks, &first, &end);
    if (end - first > FRAMEFS_IOCTL_ORDER_MAX) {
        log_error("%s: chunks %" PRIu64 " to %" PRIu64
                  " change places, of a mounted frame at most %d do at once",
                  mounted->path, first, end - 1, FRAMEFS_IOCTL_ORDER_MAX);
        return -E2BIG;
    }
    if (first == end)
        return 0;
    r = send_order(mounted, order, first, end);
    return r < 0 && r != -EINVAL ? report(mounted, r) : r;
}

int mounted_truncate(struct mounted *mounted, uint64_t size)
{
    int r = set_size(mounted, size);

    return r < 0 ? r : sync_all(mounted);
}
