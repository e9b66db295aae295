/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/frame.h"
#include "store/store_local.h"

enum {
    LOCK_UNUSED_LEN = 8, /* bytes at the start of a lock file, which are zero */
    LOCK_LEN_MAX = 16
};

bool backing_is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

bool backing_is_unreadable(int error)
{
    return error == -EACCES || error == -EIO;
}

/* Return 0 for a file that cannot be opened, which has none of the formats,
   unless the error leaves it unknown. */
static int unless_unknown(int error)
{
    return backing_is_shortage(error) || backing_is_unreadable(error) ? error
                                                                      : 0;
}

/*
 * Read the start of a file.
 *
 *  size  receives the size of the file; may be NULL
 *
 * Returns the number of bytes; 0 if the file cannot be opened; -EACCES if
 * permissions keep the daemon from reading it; -EIO if its bytes cannot be
 * read; or another error if descriptors or memory ran out.
 */
static ssize_t read_start(int dirfd, const char *name, uint8_t *bytes,
                          size_t len, uint64_t *size)
{
    int fd =
        openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return unless_unknown(-errno);
    store_leave_atime(fd);
    n = pread(fd, bytes, len, 0);
    if (n < 0 || (size && fstat(fd, &st) < 0))
        n = -EIO;
    else if (size)
        *size = (uint64_t)st.st_size;
    close(fd);
    return n;
}

int backing_has_magic(int dirfd, const char *name)
{
    uint8_t bytes[FRAME_MAGIC_LEN];
    ssize_t n = read_start(dirfd, name, bytes, sizeof(bytes), NULL);

    return n < 0 ? (int)n : frame_has_magic(bytes, (size_t)n);
}

/* Does an open file have the header of a frame?  Returns as
   backing_has_header(). */
static int has_header(struct store_object *file, uint64_t size,
                      struct fault *fault)
{
    uint8_t bytes[FRAME_CLAIM_LEN];
    struct frame_start start = { .bytes = bytes, .avail = size };
    struct frame_info info;
    int r;

    start.len = start.avail < sizeof(bytes) ? start.avail : sizeof(bytes);
    r = store_object_read_at(file, 0, bytes, start.len);
    /* Another program has just cut it off. */
    if (r == -ENODATA)
        return false;
    if (r < 0)
        return -EIO;
    if (!frame_has_magic(bytes, start.len))
        return false;
    r = frame_parse_claim(&start, &info, fault);
    return r < 0 ? r : true;
}

int backing_open_frame(int dirfd, const char *name, struct store **out,
                       struct fault *fault)
{
    struct store_object *file;
    struct store_stat stat;
    struct store *store;
    int r = store_file_open(dirfd, name, STORE_NOATIME, &store);

    if (r < 0)
        return unless_unknown(r);
    r = store_open_stat(store, "", &file, &stat);
    if (r == 0) {
        r = has_header(file, stat.version.size, fault);
        store_object_close(file);
    }
    if (r > 0)
        *out = store;
    else
        store_close(store);
    return r;
}

int backing_has_header(int dirfd, const char *name, struct fault *fault)
{
    struct store *store;
    int r = backing_open_frame(dirfd, name, &store, fault);

    if (r > 0)
        store_close(store);
    return r;
}

int backing_may_be_lock(int dirfd, const char *name)
{
    static const uint8_t unused[LOCK_UNUSED_LEN];
    uint8_t bytes[LOCK_UNUSED_LEN];
    uint64_t size = UINT64_MAX;
    ssize_t n = read_start(dirfd, name, bytes, sizeof(bytes), &size);

    if (n < 0)
        return (int)n;
    return size <= LOCK_LEN_MAX && memcmp(bytes, unused, (size_t)n) == 0;
}
