/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/retry.h"
#include "open/handle.h"
#include "open/open_file_lost.h"
#include "ops/ops_private.h"

/* How often a read or seek is tried while another program writes to the frame,
   and from which try on programs that look at the frame's lock file are kept
   from writing. */
enum {
    READ_TRIES = 20,
    SHARE_FROM = 2
};

/* One try to read or seek in the newest version of an open file. */
struct attempt {
    struct fs *fs;
    struct handle *handle;
    struct open_version *version; /* a reference */
    unsigned number;              /* of a read; see open_file_begin_read() */
    bool shared; /* programs that look at the lock file are kept from writing */
    bool last;
};

static struct retry retry_of_read(void)
{
    return (struct retry){
        .tries_left = READ_TRIES - 1,
        .patience_ns = RETRY_FOREVER,
    };
}

/* Prepare a try.  The caller ends it with attempt_fini(). */
static struct attempt attempt_of(struct fs *fs, struct handle *handle,
                                 const struct retry *retry)
{
    return (struct attempt){
        .fs = fs,
        .handle = handle,
        .version = open_file_version(handle->open),
        .shared = retry->tries_left + SHARE_FROM < READ_TRIES,
        .last = retry->tries_left == 0,
    };
}

static void attempt_fini(struct attempt *attempt)
{
    open_version_put(attempt->version);
}

/*
 * Is the result of a try invalid?  If another program wrote to a frame, the
 * frame has another state, or is about to have one.  But if it writes all the
 * time, the frame may still be in the same state at the end of each try.  So
 * the last try accepts the bytes unless the frame's lock file tells of a
 * change.
 */
static bool is_worthless(const struct attempt *attempt, int r)
{
    if (r == -ESTALE)
        return true;
    if (attempt->last && r >= 0)
        return open_version_is_superseded(attempt->version);
    return open_version_is_modified_externally(attempt->version);
}

/* Begin a try.  Returns 0, -EAGAIN if the newest state must be opened, or an
   error. */
static int begin_attempt(const struct attempt *attempt)
{
    struct fault fault;
    int r = attempt->shared ? file_share(attempt->version->file, &fault) : 0;

    return r == -ESTALE ? -EAGAIN : r;
}

static void end_attempt(const struct attempt *attempt)
{
    if (attempt->shared)
        file_unshare(attempt->version->file);
}

static void report_attempt(const struct attempt *attempt, int r,
                           const struct fault *fault)
{
    handle_report(attempt->fs, attempt->handle, attempt->version, r, fault);
}

/*
 * Read from a frame.  A writer puts chunks where the index was, so neither the
 * bytes nor an error count if another program wrote to the file.
 *
 * Returns 0, -EAGAIN in this case, or an error, which is reported.
 */
static int read_state(const struct attempt *attempt, size_t size, uint64_t off,
                      struct file_data *data)
{
    struct fault fault = FAULT_NONE;
    int r = begin_attempt(attempt);
    bool worthless;

    if (r < 0)
        return r;
    r = file_read(attempt->version->file, &attempt->handle->reader,
                  &(struct file_range){ off, size }, data, &fault);
    if (r == 0)
        r = data->error;
    worthless = is_worthless(attempt, r);
    end_attempt(attempt);
    if (worthless)
        return -EAGAIN;
    if (r < 0)
        report_attempt(attempt, r, &fault);
    return r;
}

/*
 * Read from a frame and reply.  The kernel takes a reply that is shorter than
 * its request for the end of the file.  So the reply is all or nothing; to get
 * the bytes around the damaged ones, the kernel or the program asks again in
 * smaller pieces.
 *
 * Returns 0, or -EAGAIN if there was no reply, as read_state().
 */
static int read_frame(fuse_req_t req, const struct attempt *attempt,
                      size_t size, uint64_t off)
{
    struct file_data data = { 0 };
    int r = read_state(attempt, size, off, &data);

    if (r == 0)
        open_file_note_read(attempt->handle->open, attempt->number,
                            off + size >= file_size(attempt->version->file));
    if (r == 0)
        fuse_reply_iov(req, data.iov, (int)data.niov);
    else if (r != -EAGAIN)
        request_fail(req, r);
    file_data_put(attempt->version->file, &data);
    return r == -EAGAIN ? r : 0;
}

static void read_other(fuse_req_t req, int fd, size_t size, off_t off)
{
    struct fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);

    buffer.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
    buffer.buf[0].fd = fd;
    buffer.buf[0].pos = off;
    fuse_reply_data(req, &buffer, FUSE_BUF_SPLICE_MOVE);
}

/* Read a range of an object, up to its end.  Returns the number of bytes, or an
   error of the store. */
static ssize_t read_range(struct store_object *object, uint64_t off, char *buf,
                          size_t size)
{
    struct store_stat stat;
    int r = store_object_stat(object, &stat);

    if (r < 0 || off >= stat.version.size)
        return r;
    if (size > stat.version.size - off)
        size = (size_t)(stat.version.size - off);
    r = store_object_read_at(object, off, buf, size);
    return r < 0 ? r : (ssize_t)size;
}

/*
 * Read from a file that is passed through and has no descriptor, and reply.
 * Returns 0, or -EAGAIN if there was no reply because the file has another
 * state.
 */
static int read_object(fuse_req_t req, struct open_version *version,
                       size_t size, uint64_t off)
{
    char *buf = malloc(size);
    ssize_t n =
        buf ? read_range(version->anchor.object, off, buf, size) : -ENOMEM;

    if (n >= 0)
        fuse_reply_buf(req, buf, (size_t)n);
    else if (n != -ESTALE)
        request_fail(req, (int)n);
    free(buf);
    if (n != -ESTALE)
        return 0;
    version->stamp = 0; /* no longer that of the file */
    return -EAGAIN;
}

static bool has_changed_shape(const struct handle *handle,
                              const struct open_version *version)
{
    return version->file && handle->typesize != 0 &&
           handle_typesize_of(version) != handle->typesize;
}

/*
 * The number of requested bytes that can be read before a lost one.  If the
 * kernel caches the file, this is all or none, because the kernel takes a
 * shorter reply for the end of the file.
 */
static size_t readable(struct handle *handle, size_t size, off_t off)
{
    struct range lost;

    if (!open_file_next_lost(handle->open, (uint64_t)off, &lost) ||
        lost.first >= (uint64_t)off + size)
        return size;
    if (!handle->direct || lost.first <= (uint64_t)off)
        return 0;
    return (size_t)(lost.first - (uint64_t)off);
}

/* Reply from the newest open state; -EAGAIN as read_frame(). */
static int try_read(fuse_req_t req, const struct attempt *attempt, size_t size,
                    off_t off)
{
    struct open_version *version = attempt->version;

    if (has_changed_shape(attempt->handle, version))
        fuse_reply_err(req, ESTALE);
    else if (open_file_is_cut_off(attempt->fs, attempt->handle->open, version))
        fuse_reply_err(req, ESTALE);
    else if ((size = readable(attempt->handle, size, off)) == 0)
        fuse_reply_err(req, EIO);
    else if (version->file)
        return read_frame(req, attempt, size, (uint64_t)off);
    else if (version->anchor.object)
        return read_object(req, version, size, (uint64_t)off);
    else
        read_other(req, open_version_fd(version), size, off);
    return 0;
}

static void read_draft(fuse_req_t req, struct chunk_draft *draft, size_t size,
                       uint64_t off)
{
    char *buf = malloc(size > 0 ? size : 1);

    if (buf)
        fuse_reply_buf(req, buf, chunk_draft_read(draft, buf, size, off));
    else
        request_fail(req, -ENOMEM);
    free(buf);
}

void ops_read(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
              size_t size, off_t off, struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_of(fi);
    struct retry retry = retry_of_read();
    bool again = false;
    unsigned number;
    int r;

    if (handle->draft) {
        read_draft(req, handle->draft, size, (uint64_t)off);
        return;
    }
    number = open_file_begin_read(handle->open);
    do {
        struct attempt attempt;

        r = again ? open_file_reopen(fs, handle->open, false) : 0;
        if (r < 0)
            break;
        attempt = attempt_of(fs, handle, &retry);
        attempt.number = number;
        r = try_read(req, &attempt, size, off);
        attempt_fini(&attempt);
        again = r == -EAGAIN;
    } while (again && retry_wait(&retry));
    if (r < 0)
        request_fail(req, r);
}

/* Returns the offset that was found, -EAGAIN as read_state(), or an error. */
static off_t seek(const struct attempt *attempt, off_t off, int whence)
{
    const struct open_version *version = attempt->version;
    struct fault fault = FAULT_NONE;
    uint64_t found;
    bool worthless;
    int r;

    if (version->anchor.object)
        return off >= version->st.st_size ? -ENXIO
               : whence == SEEK_DATA      ? off
                                          : version->st.st_size;
    if (!version->file) {
        off = lseek(open_version_fd(version), off, whence);
        return off < 0 ? -errno : off;
    }
    r = begin_attempt(attempt);
    if (r < 0)
        return r;
    r = file_seek(version->file, (uint64_t)off, whence == SEEK_HOLE, &found,
                  &fault);
    worthless = is_worthless(attempt, r);
    end_attempt(attempt);
    if (worthless)
        return -EAGAIN;
    if (r < 0 && r != -ENXIO)
        report_attempt(attempt, r, &fault);
    return r < 0 ? r : (off_t)found;
}

/* Lost bytes are data, not holes: a program that copies the file must read them
   and get the error. */
static off_t seek_data(const struct attempt *attempt, off_t off)
{
    off_t found = seek(attempt, off, SEEK_DATA);
    struct range lost;
    off_t first;

    if (!open_file_next_lost(attempt->handle->open, (uint64_t)off, &lost))
        return found;
    first = (off_t)lost.first > off ? (off_t)lost.first : off;
    return found == -ENXIO || found > first ? first : found;
}

static off_t seek_hole(const struct attempt *attempt, off_t start)
{
    off_t off = start;

    for (;;) {
        off_t found = seek(attempt, off, SEEK_HOLE);
        off_t at = found == -ENXIO ? off : found;
        struct range lost;

        if (at < 0)
            return at;
        if (!open_file_next_lost(attempt->handle->open, (uint64_t)at, &lost) ||
            (off_t)lost.first > at)
            return at > start ? at : found;
        off = (off_t)lost.end;
    }
}

void ops_seek(fuse_req_t req, struct handle *handle, off_t off, int whence)
{
    struct fs *fs = request_fs(req);
    struct retry retry = retry_of_read();
    bool again = false;
    off_t found;

    do {
        struct attempt attempt;

        found = again ? open_file_reopen(fs, handle->open, false) : 0;
        if (found < 0)
            break;
        attempt = attempt_of(fs, handle, &retry);
        found = whence == SEEK_DATA ? seek_data(&attempt, off)
                                    : seek_hole(&attempt, off);
        attempt_fini(&attempt);
        again = found == -EAGAIN;
    } while (again && retry_wait(&retry));
    if (found < 0)
        request_fail(req, (int)found);
    else
        fuse_reply_lseek(req, found);
}
