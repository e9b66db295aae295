/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/disk_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/disk_trim.h"

/*
 * Files are spread over NFOLDERS directories by their keys, which are random,
 * so each may have an equal part of all bytes, and only one of them is listed
 * to find the oldest files.  That is done after some bytes were written to it.
 */
enum {
    NFOLDERS = 16,
    TRIM_PART = 16, /* part of a folder's limit that is written to it before it
                       is listed again */
    FREE_PART = 20, /* part of the disk that stays free */
    TOUCH = 60,     /* seconds after which a use of a file is noted again */
    NAME_LEN = 16 + 2 * DISK_KEY_LEN,
};

/* Where things are in a file. */
enum {
    MAGIC_OFF = 0,
    SUM_OFF = 8, /* of the rest of the header */
    KEY_OFF = 16,
    SIZE_OFF = KEY_OFF + DISK_KEY_LEN,
    MODIFIED_OFF = SIZE_OFF + 8,
    CHECKED_OFF = MODIFIED_OFF + 8,
    LEN_OFF = CHECKED_OFF + 8,
    SETTLED_OFF = LEN_OFF + 4,
    ETAG_OFF = SETTLED_OFF + 4,
    SUMS_OFF = ETAG_OFF + NET_ETAG_MAX,
    HEADER_LEN = SUMS_OFF + 8 * DISK_NBLOCKS,
};

static const char magic[8] = "b2fcach1";

/* Bytes that were written to a folder since it was listed. */
struct folder {
    uint64_t written;
    bool busy; /* a thread lists it */
};

/* Locking.  `lock` is a leaf, held over no system call. */
struct disk_cache {
    /* Constant. */
    int dirfd;
    uint64_t limit; /* bytes in a folder */

    atomic_uint_fast64_t read;
    atomic_uint_fast64_t wrote;
    atomic_uint_fast64_t wrong;

    pthread_mutex_t lock; /* guards the folders */
    struct folder folders[NFOLDERS];
};

static uint64_t random_number(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
        number = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
    return number;
}

/* Open a directory that only this user can change. */
static int open_own_dir(const char *dir)
{
    struct stat st;
    int fd;
    int r = 0;

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        r = -EPERM;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

int disk_cache_open(const char *dir, uint64_t size, struct disk_cache **out)
{
    struct disk_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return -ENOMEM;
    cache->dirfd = open_own_dir(dir);
    if (cache->dirfd < 0) {
        int r = cache->dirfd;

        free(cache);
        return r;
    }
    cache->limit = size / NFOLDERS;
    pthread_mutex_init(&cache->lock, NULL);
    /* A process that writes little lists a folder as often, for each byte, as
       one that writes much. */
    for (size_t i = 0; i < NFOLDERS; i++)
        cache->folders[i].written =
            random_number() % (cache->limit / TRIM_PART);
    *out = cache;
    return 0;
}

void disk_cache_close(struct disk_cache *cache)
{
    if (!cache)
        return;
    close(cache->dirfd);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static unsigned folder_of(const struct disk_key *key)
{
    return key->id[0] % NFOLDERS;
}

static void folder_name(unsigned folder, char name[NAME_LEN])
{
    snprintf(name, NAME_LEN, "%x", folder);
}

static void file_name(const struct disk_key *key, char name[NAME_LEN])
{
    static const char digits[] = "0123456789abcdef";
    char *to = name;

    *to++ = digits[folder_of(key)];
    *to++ = '/';
    for (size_t i = 0; i < DISK_KEY_LEN; i++) {
        *to++ = digits[key->id[i] >> 4];
        *to++ = digits[key->id[i] & 15];
    }
    *to = '\0';
}

/* Sum up bytes of a key.  The seed keeps bytes at other places, and of other
   keys, apart. */
static uint64_t sum(const struct disk_key *key, uint64_t seed,
                    const uint8_t *bytes, size_t len)
{
    return hash_bytes(bytes, len, hash_mix(load_le64(key->id), seed));
}

static uint64_t header_sum(const struct disk_key *key, const uint8_t *header)
{
    return sum(key, DISK_NBLOCKS, header + KEY_OFF, HEADER_LEN - KEY_OFF);
}

static size_t block_len(size_t len, size_t block)
{
    size_t rest = len - block * DISK_BLOCK;

    return rest < DISK_BLOCK ? rest : DISK_BLOCK;
}

static size_t count_blocks(size_t len)
{
    return (len + DISK_BLOCK - 1) / DISK_BLOCK;
}

static void write_header(const struct disk_key *key,
                         const struct disk_note *note, const uint8_t *bytes,
                         size_t len, uint8_t header[HEADER_LEN])
{
    memset(header, 0, HEADER_LEN);
    memcpy(header + MAGIC_OFF, magic, sizeof(magic));
    memcpy(header + KEY_OFF, key->id, DISK_KEY_LEN);
    store_le64(header + SIZE_OFF, note->size);
    store_le64(header + MODIFIED_OFF, (uint64_t)note->modified);
    store_le64(header + CHECKED_OFF, (uint64_t)note->checked);
    store_le32(header + LEN_OFF, (uint32_t)len);
    store_le32(header + SETTLED_OFF, note->settled);
    memcpy(header + ETAG_OFF, note->etag, strlen(note->etag));
    for (size_t i = 0; i < count_blocks(len); i++)
        store_le64(header + SUMS_OFF + 8 * i,
                   sum(key, i, bytes + i * DISK_BLOCK, block_len(len, i)));
    store_le64(header + SUM_OFF, header_sum(key, header));
}

/* Parse a header, and check it against the key and the length of the file. */
static bool parse_header(const uint8_t header[HEADER_LEN],
                         const struct disk_key *key, int64_t file_len,
                         struct disk_file *out)
{
    if (memcmp(header + MAGIC_OFF, magic, sizeof(magic)) != 0 ||
        memcmp(header + KEY_OFF, key->id, DISK_KEY_LEN) != 0 ||
        load_le64(header + SUM_OFF) != header_sum(key, header))
        return false;
    out->key = *key;
    out->len = load_le32(header + LEN_OFF);
    out->note = (struct disk_note){
        .size = load_le64(header + SIZE_OFF),
        .modified = (int64_t)load_le64(header + MODIFIED_OFF),
        .checked = (int64_t)load_le64(header + CHECKED_OFF),
        .settled = load_le32(header + SETTLED_OFF) != 0,
    };
    memcpy(out->note.etag, header + ETAG_OFF, NET_ETAG_MAX - 1);
    for (size_t i = 0; i < DISK_NBLOCKS; i++)
        out->sums[i] = load_le64(header + SUMS_OFF + 8 * i);
    return out->len <= DISK_FILE_MAX &&
           file_len == (int64_t)out->len + HEADER_LEN;
}

/* Note that a file is used, so that it is not one of the oldest. */
static void touch(int fd, const struct stat *st)
{
    if (time(NULL) - st->st_mtime > TOUCH)
        futimens(fd, NULL);
}

static void remove_wrong(struct disk_cache *cache, const struct disk_key *key)
{
    atomic_fetch_add(&cache->wrong, 1);
    disk_cache_remove(cache, key);
}

int disk_cache_find(struct disk_cache *cache, const struct disk_key *key,
                    struct disk_file *out)
{
    uint8_t header[HEADER_LEN];
    char name[NAME_LEN];
    struct stat st;
    int fd;

    file_name(key, name);
    fd = openat(cache->dirfd, name,
                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -ENOENT;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        pread(fd, header, HEADER_LEN, 0) != HEADER_LEN ||
        !parse_header(header, key, st.st_size, out)) {
        close(fd);
        remove_wrong(cache, key);
        return -ENOENT;
    }
    touch(fd, &st);
    out->fd = fd;
    return 0;
}

void disk_file_close(struct disk_file *file)
{
    close(file->fd);
}

/* Read all bytes.  Returns false if there are fewer, or if the disk fails. */
static bool read_fully(int fd, uint8_t *buf, size_t len, size_t off)
{
    while (len > 0) {
        ssize_t n = pread(fd, buf, len, (off_t)off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        buf += n;
        off += (size_t)n;
        len -= (size_t)n;
    }
    return true;
}

int disk_file_read(struct disk_cache *cache, const struct disk_file *file,
                   size_t off, size_t len, uint8_t *buf)
{
    size_t first = off / DISK_BLOCK;
    size_t end = count_blocks(off + len);
    bool right = read_fully(file->fd, buf, len, HEADER_LEN + off);

    for (size_t i = first; i < end && right; i++)
        right = sum(&file->key, i, buf + (i - first) * DISK_BLOCK,
                    block_len(file->len, i)) == file->sums[i];
    if (!right) {
        remove_wrong(cache, &file->key);
        return -ENOENT;
    }
    atomic_fetch_add(&cache->read, len);
    return 0;
}

/* List a folder, and make it smaller if it is too large.  The lock is dropped
   meanwhile. */
static void trim_locked(struct disk_cache *cache, unsigned folder,
                        uint64_t limit)
{
    char name[NAME_LEN];
    int fd;

    cache->folders[folder].busy = true;
    pthread_mutex_unlock(&cache->lock);
    folder_name(folder, name);
    fd = openat(cache->dirfd, name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        disk_trim(fd, limit);
    pthread_mutex_lock(&cache->lock);
    cache->folders[folder].busy = false;
    cache->folders[folder].written = 0;
}

static void account(struct disk_cache *cache, unsigned folder, size_t len)
{
    struct folder *at = &cache->folders[folder];

    pthread_mutex_lock(&cache->lock);
    at->written += len;
    if (at->written >= cache->limit / TRIM_PART && !at->busy)
        trim_locked(cache, folder, cache->limit);
    pthread_mutex_unlock(&cache->lock);
}

/* Would too little of the disk be free with so many bytes more? */
static bool is_disk_full(struct disk_cache *cache, size_t len)
{
    struct statvfs st;

    return fstatvfs(cache->dirfd, &st) < 0 ||
           st.f_bavail < st.f_blocks / FREE_PART + len / st.f_frsize + 1;
}

/* Is there space for a file?  If the disk is nearly full, the oldest files of
   the folder go first. */
static bool make_space(struct disk_cache *cache, unsigned folder, size_t len)
{
    if (!is_disk_full(cache, len))
        return true;
    pthread_mutex_lock(&cache->lock);
    if (!cache->folders[folder].busy)
        trim_locked(cache, folder, 0);
    pthread_mutex_unlock(&cache->lock);
    return !is_disk_full(cache, len);
}

/* Make a file under a temporary name in a folder, which may have to be made
   first. */
static int create(struct disk_cache *cache, unsigned folder,
                  char name[NAME_LEN])
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char dir[NAME_LEN];
    int fd;

    snprintf(name, NAME_LEN, "%x/" DISK_TEMPORARY "%016llx", folder,
             (unsigned long long)random_number());
    fd = openat(cache->dirfd, name, flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        folder_name(folder, dir);
        mkdirat(cache->dirfd, dir, 0700);
        fd = openat(cache->dirfd, name, flags, 0600);
    }
    return fd;
}

static bool write_file(int fd, const uint8_t header[HEADER_LEN],
                       const uint8_t *bytes, size_t len)
{
    struct iovec parts[2] = {
        { (void *)(uintptr_t)header, HEADER_LEN },
        { (void *)(uintptr_t)bytes, len },
    };

    /* The disk is full if this writes less. */
    return writev(fd, parts, 2) == (ssize_t)(HEADER_LEN + len);
}

void disk_cache_put(struct disk_cache *cache, const struct disk_key *key,
                    const struct disk_note *note, const uint8_t *bytes,
                    size_t len)
{
    unsigned folder = folder_of(key);
    uint8_t header[HEADER_LEN];
    char temporary[NAME_LEN];
    char name[NAME_LEN];
    bool written;
    int fd;

    if (!make_space(cache, folder, HEADER_LEN + len))
        return;
    write_header(key, note, bytes, len, header);
    fd = create(cache, folder, temporary);
    if (fd < 0)
        return;
    written = write_file(fd, header, bytes, len);
    written &= close(fd) == 0;
    file_name(key, name);
    if (!written || renameat(cache->dirfd, temporary, cache->dirfd, name) < 0) {
        unlinkat(cache->dirfd, temporary, 0);
        return;
    }
    atomic_fetch_add(&cache->wrote, len);
    account(cache, folder, HEADER_LEN + len);
}

void disk_cache_remove(struct disk_cache *cache, const struct disk_key *key)
{
    char name[NAME_LEN];

    file_name(key, name);
    unlinkat(cache->dirfd, name, 0);
}

void disk_cache_get_stats(const struct disk_cache *cache,
                          struct disk_stats *out)
{
    *out = (struct disk_stats){
        .read = atomic_load(&cache->read),
        .written = atomic_load(&cache->wrote),
        .wrong = atomic_load(&cache->wrong),
    };
}
