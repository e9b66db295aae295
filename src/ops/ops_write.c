/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/retry.h"
#include "open/free_space.h"
#include "open/handle.h"
#include "open/kernel.h"
#include "open/open_file_lost.h"
#include "ops/killpriv.h"
#include "ops/ops_private.h"
#include "ops/setattr.h"
#include "tree/report.h"

static int write_other(int fd, const char *buf, size_t size, off_t off)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, buf, size, off);

        if (n < 0)
            return -errno;
        buf += n;
        size -= (size_t)n;
        off += n;
    }
    return 0;
}

/* Report the error of a change, unless the program itself caused it. */
static int finish_change(struct fs *fs, struct handle *handle,
                         const struct open_version *version, int r,
                         const struct fault *fault)
{
    if (r < 0 && version->file && r != -EFBIG && r != -EINVAL)
        handle_report(fs, handle, version, r, fault);
    return r;
}

/* The bytes of a WRITE request. */
struct bytes {
    const char *buf;
    size_t size;
    off_t off;
    bool late;    /* the kernel has already accepted them from a program */
    bool append;  /* they go to the end of the frame, and `off` receives the
                    place */
    bool written; /* some of them are */
};

/* Write to a frame.  Pages from the kernel's cache may go on behind the end of
   a frame whose size is fixed; the bytes before the end are kept. */
static int write_frame(struct file *file, struct bytes *bytes,
                       struct fault *fault)
{
    uint64_t off = (uint64_t)bytes->off;
    int r = file_accept(file, off, bytes->buf, bytes->size, fault);
    uint64_t end = file_size(file);

    if (r != -EFBIG || off >= end || bytes->size <= end - off)
        return r;
    r = file_accept(file, off, bytes->buf, (size_t)(end - off), fault);
    bytes->written = r == 0;
    return r < 0 ? r : -EFBIG;
}

static int append_frame(struct file *file, struct bytes *bytes,
                        struct fault *fault)
{
    uint64_t off;
    int r = file_append(file, bytes->buf, bytes->size, &off, fault);

    if (r == 0)
        bytes->off = (off_t)off;
    return r;
}

/* Write to one state of a file. */
static int write_to(struct fs *fs, struct handle *handle,
                    struct open_version *version, struct bytes *bytes)
{
    struct fault fault = FAULT_NONE;
    int r = 0;

    if (!version->file) {
        r = write_other(open_version_fd(version), bytes->buf, bytes->size,
                        bytes->off);
        if (r == 0)
            open_file_note_end(handle->open,
                               (uint64_t)bytes->off + bytes->size);
        return r;
    }
    if (!bytes->late)
        r = free_space_check(fs, handle->open, version, (uint64_t)bytes->off,
                             bytes->size);
    if (r < 0)
        return r;
    r = bytes->append ? append_frame(version->file, bytes, &fault)
                      : write_frame(version->file, bytes, &fault);
    if (r == 0 && bytes->late)
        free_space_write_out(fs, handle->open, version);
    return finish_change(fs, handle, version, r, &fault);
}

/*
 * Get the newest state of a file.  If another program has told through the lock
 * file that it changes the frame, this opens the new state first; `*error`
 * receives the error if that fails.
 */
static struct open_version *open_newest(struct fs *fs, struct handle *handle,
                                        bool writable, int *error)
{
    struct open_version *version = open_file_version(handle->open);
    int r = 0;

    if (open_version_is_superseded(version)) {
        open_version_put(version);
        r = open_file_reopen(fs, handle->open, writable);
        version = open_file_version(handle->open);
    }
    if (r < 0)
        *error = r;
    return version;
}

/*
 * A write to a state has failed because other programs have changed the frame.
 * May it be tried with a newer state?
 */
static bool is_outdated(struct fs *fs, struct handle *handle,
                        struct open_version *version)
{
    return open_version_is_superseded(version) ||
           (fs->shared && open_file_has_newer(handle->open, version));
}

/*
 * Try to write to the newest state of a file.  -ESTALE without any bytes
 * written means that other programs have put another frame in its place.  If
 * `*again` becomes true, the next try opens that frame first.
 */
static int try_write(struct fs *fs, struct handle *handle, struct bytes *bytes,
                     bool *again)
{
    int r = 0;
    struct open_version *version = open_newest(fs, handle, true, &r);

    /* The state was taken before, so that it is none that the handle does not
       know. */
    if (r == 0)
        r = handle_check_newest(fs, handle);
    if (r == 0)
        r = write_to(fs, handle, version, bytes);
    *again = r == -ESTALE && is_outdated(fs, handle, version);
    open_version_put(version);
    return r;
}

static int write_newest(struct fs *fs, struct handle *handle,
                        struct bytes *bytes)
{
    struct retry retry = RETRY_REPLACED;
    bool again;
    int r;

    do
        r = try_write(fs, handle, bytes, &again);
    while (again && retry_wait(&retry));
    return r;
}

/* Other programs have made the frame longer, so the kernel knows a wrong end:
   tell it where the bytes went. */
static void tell_of_append(struct fs *fs, struct handle *handle)
{
    struct open_version *version = open_file_version(handle->open);

    kernel_notify(fs, handle->open->node, version);
    open_version_put(version);
}

/* The first byte that was refused: for a file whose size is fixed, the one
   behind its end. */
static uint64_t first_refused(struct handle *handle, uint64_t off, size_t size,
                              int r)
{
    struct open_version *version = open_file_version(handle->open);
    uint64_t end = version->file ? file_size(version->file) : 0;

    open_version_put(version);
    return r == -EFBIG && end > off && end < off + size ? end : off;
}

/* Bytes that programs wrote to a frame which other programs have changed since
   are lost for these programs alone; all others read the stored bytes. */
static void refuse_stale(struct fs *fs, struct handle *handle, off_t off,
                         size_t size)
{
    const struct unwritten bytes = {
        .off = (uint64_t)off,
        .end = (uint64_t)off + size,
        .error = -ESTALE,
        .fate = "lost",
    };

    if (open_file_note_refused(handle->open))
        report_lost(&fs->nodes, handle->open->node, &bytes);
    if (!fs->shared)
        open_file_outdate(fs, handle->open);
}

/*
 * Reply to a WRITE of pages that the kernel had accepted from a program.  If
 * they are refused, the kernel does not try again.
 */
static void reply_pages(fuse_req_t req, struct handle *handle, size_t size,
                        off_t off, int r)
{
    struct fs *fs = request_fs(req);
    struct node *node = handle->open->node;

    if (r == 0) {
        fuse_reply_write(req, size);
        return;
    }
    if (r == -EFBIG || r == -ESTALE)
        open_file_mark_kernel_stale(fs, handle->open->node);
    if (r == -ESTALE)
        refuse_stale(fs, handle, off, size);
    else
        open_file_lose(fs, handle->open,
                       first_refused(handle, (uint64_t)off, size, r),
                       (uint64_t)off + size, r);
    /* Keep the node: the kernel may release the handle once it has the
       reply. */
    node_ref(&fs->nodes, node);
    request_fail_change(req, r);
    /* If another program had locked the frame, a program that maps it may store
       the bytes in its mapping again.  If the pages were dropped, that store
       would be a SIGBUS. */
    if (r != -EBUSY)
        kernel_drop(fs, node, (uint64_t)off, size);
    node_unref(&fs->nodes, node);
}

void ops_write(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
               const char *buf, size_t size, off_t off,
               struct fuse_file_info *fi)
{
    struct fs *fs = request_fs(req);
    struct handle *handle = handle_of(fi);
    struct bytes bytes = {
        .buf = buf,
        .size = size,
        .off = off,
        .late = fi->writepage,
        .append = fs->shared && (fi->flags & O_APPEND),
    };
    /* For pages from its cache, the kernel has cleared the bits itself. */
    int r = fi->writepage || handle->draft
                ? 0
                : killpriv_drop(req, handle->open->node);

    if (handle->draft) {
        r = chunk_draft_write(handle->draft, buf, size, (uint64_t)off);
        if (r < 0)
            request_fail_change(req, r);
        else
            fuse_reply_write(req, size);
        return;
    }
    if (r == 0)
        r = write_newest(fs, handle, &bytes);
    if (r == 0 && bytes.off != off)
        tell_of_append(fs, handle);
    if (r == 0)
        open_file_regain(handle->open, (uint64_t)bytes.off,
                         (uint64_t)bytes.off + size);
    if (r == 0 || bytes.written)
        open_file_written(handle->open, !fi->writepage);
    if (fi->writepage)
        reply_pages(req, handle, size, off, r);
    else if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_write(req, size);
}

/* Zero a range, including lost bytes.  For the kernel, the file does not end
   before the last lost byte, so it must reach that far when the byte becomes a
   zero and is no longer lost. */
static int zero(struct open_file *open, struct file *file, uint64_t off,
                uint64_t len, struct fault *fault)
{
    int r = file_extend(file, open_file_lost_end(open, off, off + len), fault);

    if (r == 0)
        r = file_zero(file, off, len, fault);
    if (r == 0)
        open_file_regain(open, off, off + len);
    return r;
}

/*
 * Set the size of an open file, for ftruncate().  The kernel also sends this by
 * itself, with the size that it knows, after an O_DIRECT write has failed that
 * would have made the file longer.  handle_check_newest() and
 * handle_choose_io() keep that from cutting off bytes that other programs have
 * appended since.
 */
int ops_set_size(struct fs *fs, struct handle *handle, off_t size)
{
    int r = 0;
    struct open_version *version = open_newest(fs, handle, true, &r);

    if (r == 0)
        r = handle_check_newest(fs, handle);
    if (r == 0)
        r = setattr_size(fs, handle->open, version, size);
    open_version_put(version);
    return r;
}

/* The number of bytes in a range that lie behind the end of a file. */
static uint64_t behind_end(struct file *file, uint64_t off, uint64_t len)
{
    uint64_t size = file_size(file);
    uint64_t start = off > size ? off : size;

    return off + len > start ? off + len - start : 0;
}

/* The arguments of fallocate(). */
struct allocation {
    int mode;
    uint64_t off;
    uint64_t len;
};

/*
 * fallocate() of a frame.  This reserves no space, because a frame takes space
 * only when it is written, but it refuses a range that could not be stored.
 */
static int allocate(struct fs *fs, struct open_file *open,
                    const struct open_version *version,
                    const struct allocation *what, struct fault *fault)
{
    struct file *file = version->file;
    uint64_t off = what->off;
    uint64_t len = what->len;
    int mode = what->mode;
    int r = 0;

    if (mode &
        ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (!(mode & FALLOC_FL_PUNCH_HOLE) &&
        !free_space_is_enough(fs, version, behind_end(file, off, len)))
        return -ENOSPC;
    if (!(mode & FALLOC_FL_KEEP_SIZE))
        r = file_extend(file, off + len, fault);
    if (r == 0 && (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
        r = zero(open, file, off, len, fault);
    return r;
}

void ops_fallocate(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                   int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
    const struct allocation what = { mode, (uint64_t)off, (uint64_t)len };
    struct handle *handle = handle_of(fi);
    struct fs *fs = request_fs(req);
    struct fault fault = FAULT_NONE;
    int r = handle->draft ? -EOPNOTSUPP : 0;
    struct open_version *version = open_newest(fs, handle, true, &r);

    if (r == 0)
        r = handle_check_newest(fs, handle);
    if (r == 0)
        r = killpriv_drop(req, handle->open->node);
    if (r == 0 && version->file)
        r = finish_change(fs, handle, version,
                          allocate(fs, handle->open, version, &what, &fault),
                          &fault);
    else if (r == 0)
        r = fallocate(open_version_fd(version), mode, off, len) < 0 ? -errno
                                                                    : 0;
    if (r == 0)
        open_file_written(handle->open, true);
    open_version_put(version);
    request_done(req, r);
}

/* Bytes that are copied from one open file to another, or inside one. */
struct copying {
    struct open_version *from;
    off_t from_off;
    struct open_version *to;
    off_t to_off;
    size_t len;
};

/* Do the ranges of bytes overlap in one frame? */
static bool copies_onto_itself(const struct copying *bytes)
{
    return bytes->from->file == bytes->to->file &&
           bytes->from_off < bytes->to_off + (off_t)bytes->len &&
           bytes->to_off < bytes->from_off + (off_t)bytes->len;
}

/*
 * Copy bytes.
 *
 *  handle  of the file that is written to
 *
 * Returns 0 and the number of bytes copied, -EXDEV to make the kernel copy
 * them, or another error.
 */
static int copy(struct fs *fs, struct handle *handle,
                const struct copying *bytes, uint64_t *done)
{
    struct file *from = bytes->from->file;
    struct file *to = bytes->to->file;
    off_t from_off = bytes->from_off;
    off_t to_off = bytes->to_off;
    struct fault fault = FAULT_NONE;
    ssize_t n;
    int r;

    *done = 0;
    if (!from != !to)
        return -EXDEV;
    if (!from) {
        n = copy_file_range(open_version_fd(bytes->from), &from_off,
                            open_version_fd(bytes->to), &to_off, bytes->len, 0);
        *done = n < 0 ? 0 : (uint64_t)n;
        return n < 0 ? -errno : 0;
    }
    if (copies_onto_itself(bytes))
        return -EXDEV;
    r = file_copy(&(struct file_copy){ .src = from,
                                       .src_off = (uint64_t)from_off,
                                       .dst = to,
                                       .dst_off = (uint64_t)to_off,
                                       .len = bytes->len },
                  done, &fault);
    return finish_change(fs, handle, bytes->to, *done > 0 ? 0 : r, &fault);
}

void ops_copy_file_range(fuse_req_t req,
                         fuse_ino_t ino_in __attribute__((unused)),
                         off_t off_in, struct fuse_file_info *fi_in,
                         fuse_ino_t ino_out __attribute__((unused)),
                         off_t off_out, struct fuse_file_info *fi_out,
                         size_t len, int flags __attribute__((unused)))
{
    struct fs *fs = request_fs(req);
    struct handle *out = handle_of(fi_out);
    uint64_t done = 0;
    int r = out->draft || handle_of(fi_in)->draft ? -EXDEV : 0;
    struct open_version *from = open_newest(fs, handle_of(fi_in), false, &r);
    struct open_version *to = open_newest(fs, out, true, &r);

    if (r == 0)
        r = handle_check_newest(fs, out);
    if (r == 0)
        r = killpriv_drop(req, out->open->node);
    if (r == 0 && open_file_has_lost(handle_of(fi_in)->open, (uint64_t)off_in,
                                     (uint64_t)off_in + len))
        r = -EIO;
    if (r == 0)
        r = copy(fs, out, &(struct copying){ from, off_in, to, off_out, len },
                 &done);
    open_file_regain(out->open, (uint64_t)off_out, (uint64_t)off_out + done);
    if (done > 0)
        open_file_written(out->open, true);
    open_version_put(from);
    open_version_put(to);
    if (r < 0)
        request_fail_change(req, r);
    else
        fuse_reply_write(req, (size_t)done);
}
