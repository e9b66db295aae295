/* SPDX-License-Identifier: BSD-3-Clause */
#include "npz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "bundle/zip.h"
#include "inflate.h"
#include "scratch.h"
#include "source.h"

enum {
    DIRECTORY_MAX = 64 << 20 /* bytes */
};

/* A member that is an ordinary file. */
struct member {
    char *name;
    struct zip_member zip; /* its name is not used */
    uint64_t off;          /* of its bytes in the archive */
};

struct npz {
    const char *path;
    struct input file;
    struct zip_directory directory;
    struct member *members;
    size_t n;
};

static int report(const struct npz *npz, int error, const struct fault *fault)
{
    source_report(npz->path, error, fault);
    return error;
}

static int refuse(const struct npz *npz, const char *name, int error,
                  const char *what)
{
    log_error("%s: %s: %s", npz->path, name, what);
    return error;
}

static int find_directory(struct npz *npz)
{
    uint64_t size = (uint64_t)npz->file.stat.st_size;
    size_t len = size < ZIP_TAIL_MAX ? (size_t)size : ZIP_TAIL_MAX;
    struct fault fault = FAULT_NONE;
    uint8_t *tail = malloc(len + 1);
    int r;

    if (!tail)
        return report(npz, -ENOMEM, &FAULT_NONE);
    r = input_read_at(&npz->file, tail, len, size - len);
    if (r == 0) {
        r = zip_find_directory(tail, len, size - len, &npz->directory, &fault);
        if (r == 0 && npz->directory.len > DIRECTORY_MAX)
            r = fault_set(&fault, -EFBIG, npz->directory.off, NULL);
        if (r < 0)
            report(npz, r, &fault);
    }
    free(tail);
    return r;
}

/* Does a name lead to a place below a directory, and can it be printed? */
static bool is_good_name(const char *name, size_t len)
{
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)name[i] : '/';
        size_t n = i - start;

        if (c < ' ' || c == 0x7f || c == '\\')
            return false;
        if (c != '/')
            continue;
        if (n == 0 || n > NAME_MAX || (n == 1 && name[start] == '.') ||
            (n == 2 && name[start] == '.' && name[start + 1] == '.'))
            return false;
        start = i + 1;
    }
    return true;
}

/* Check a member, and find its bytes. */
static int check_member(const struct npz *npz, struct member *member)
{
    uint8_t header[ZIP_LOCAL_LEN];
    struct fault fault = FAULT_NONE;
    int r;

    if (member->zip.encrypted)
        return refuse(npz, member->name, -ENOTSUP, "is encrypted");
    if (!member->zip.stored && !member->zip.deflated)
        return refuse(npz, member->name, -ENOTSUP,
                      "is compressed in a way that NumPy does not use");
    r = input_read_at(&npz->file, header, sizeof(header),
                      member->zip.local_off);
    if (r < 0)
        return r;
    r = zip_locate(&npz->directory, &member->zip, header, &member->off, &fault);
    return r < 0 ? report(npz, r, &fault) : 0;
}

static int add_member(struct npz *npz, const struct zip_member *zip)
{
    struct member *members;
    struct member *member;

    if (zip->name_len > 0 && zip->name[zip->name_len - 1] == '/')
        return 0; /* a directory, which has no bytes */
    if (!is_good_name(zip->name, zip->name_len)) {
        log_error("%s: the name of a member leads elsewhere, or cannot be "
                  "printed",
                  npz->path);
        return -EBADMSG;
    }
    members = realloc(npz->members, (npz->n + 1) * sizeof(*members));
    if (!members)
        return report(npz, -ENOMEM, &FAULT_NONE);
    npz->members = members;
    member = &members[npz->n];
    *member = (struct member){ .name = strndup(zip->name, zip->name_len),
                               .zip = *zip };
    if (!member->name)
        return report(npz, -ENOMEM, &FAULT_NONE);
    npz->n++;
    return check_member(npz, member);
}

static int read_members(struct npz *npz)
{
    const struct zip_directory *directory = &npz->directory;
    struct fault fault = FAULT_NONE;
    uint8_t *bytes = malloc((size_t)directory->len + 1);
    uint64_t pos = 0;
    int r = bytes ? input_read_at(&npz->file, bytes, (size_t)directory->len,
                                  directory->off)
                  : report(npz, -ENOMEM, &FAULT_NONE);

    while (r == 0 && pos < directory->len) {
        struct zip_member zip;

        r = zip_read_entry(directory, bytes, &pos, &zip, &fault);
        r = r < 0 ? report(npz, r, &fault) : add_member(npz, &zip);
    }
    free(bytes);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name,
                  ((const struct member *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    const struct member *left = a;
    const struct member *right = b;

    return (left->zip.local_off > right->zip.local_off) -
           (left->zip.local_off < right->zip.local_off);
}

/* Check that no two members have the same name or the same bytes.  They stay in
   the order of the archive. */
static int check_all(struct npz *npz)
{
    struct member *members = npz->members;

    if (npz->n == 0)
        return 0;
    qsort(members, npz->n, sizeof(*members), compare_names);
    for (size_t i = 1; i < npz->n; i++)
        if (strcmp(members[i - 1].name, members[i].name) == 0)
            return refuse(npz, members[i].name, -EBADMSG,
                          "is in the archive twice");
    qsort(members, npz->n, sizeof(*members), compare_places);
    for (size_t i = 1; i < npz->n; i++)
        if (members[i - 1].off + members[i - 1].zip.nbytes >
            members[i].zip.local_off)
            return refuse(npz, members[i].name, -EBADMSG,
                          "overlaps another member");
    return 0;
}

int npz_open(const char *path, struct npz **out)
{
    struct npz *npz = calloc(1, sizeof(*npz));
    uint8_t magic[ZIP_MAGIC_LEN];
    ssize_t n;
    int r;

    if (!npz) {
        source_report(path, -ENOMEM, &FAULT_NONE);
        return -ENOMEM;
    }
    npz->path = path;
    npz->file.fd = -1;
    r = input_open(path, &npz->file);
    if (r < 0) {
        free(npz);
        return r;
    }
    n = input_peek(&npz->file, magic, sizeof(magic));
    if (n < (ssize_t)sizeof(magic) || !zip_has_magic(magic)) {
        log_error("%s: is neither a directory nor a .npz file", path);
        r = -EBADMSG;
    }
    if (r == 0)
        r = find_directory(npz);
    if (r == 0)
        r = read_members(npz);
    if (r == 0)
        r = check_all(npz);
    if (r < 0)
        npz_close(npz);
    else
        *out = npz;
    return r;
}

void npz_close(struct npz *npz)
{
    if (!npz)
        return;
    for (size_t i = 0; i < npz->n; i++)
        free(npz->members[i].name);
    free(npz->members);
    input_close(&npz->file);
    free(npz);
}

size_t npz_nmembers(const struct npz *npz)
{
    return npz->n;
}

const char *npz_name(const struct npz *npz, size_t i)
{
    return npz->members[i].name;
}

const struct stat *npz_stat(const struct npz *npz)
{
    return &npz->file.stat;
}

static int open_archive_again(const struct npz *npz, const char *name)
{
    int fd = dup(npz->file.fd);

    if (fd >= 0)
        return fd;
    fd = -errno;
    source_report(name, fd, &FAULT_NONE);
    return fd;
}

/* Decode a member.  Returns a descriptor of its bytes. */
static int decode(struct inflate *from)
{
    int r;

    from->fd = scratch_open();
    if (from->fd < 0) {
        source_report(from->name, from->fd, &FAULT_NONE);
        return from->fd;
    }
    r = inflate_member(from);
    if (r < 0)
        close(from->fd);
    return r < 0 ? r : from->fd;
}

int npz_open_member(const struct npz *npz, size_t i, const char *name,
                    struct input *out)
{
    const struct member *member = &npz->members[i];
    struct inflate from = {
        .input = &npz->file,
        .name = name,
        .off = member->off,
        .nbytes = member->zip.nbytes,
        .decoded = member->zip.decoded,
        .crc = member->zip.crc,
    };
    struct file_range part = { 0, (size_t)from.decoded };
    int r;

    if (member->zip.stored) {
        part.off = from.off;
        r = inflate_check(&from);
        if (r == 0)
            r = open_archive_again(npz, name);
    } else {
        r = decode(&from);
    }
    if (r < 0)
        return r;
    *out = input_of_part(name, r, &npz->file.stat, &part);
    return 0;
}
