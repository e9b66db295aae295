/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/zip.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/size.h"

bool zip_has_magic(const uint8_t bytes[ZIP_MAGIC_LEN])
{
    uint32_t magic = load_le32(bytes);

    return magic == ZIP_LOCAL_MAGIC || magic == ZIP_END_MAGIC;
}

/* Find the record at the end of the file; a comment may follow it. */
static int find_end(const uint8_t *tail, size_t len, size_t *out)
{
    for (size_t comment = 0; comment + ZIP_END_LEN <= len; comment++) {
        const uint8_t *end = tail + (len - ZIP_END_LEN - comment);

        if (comment > ZIP_COMMENT_MAX)
            break;
        if (load_le32(end) == ZIP_END_MAGIC &&
            load_le16(end + ZIP_END_COMMENT_LEN) == comment) {
            *out = len - ZIP_END_LEN - comment;
            return 0;
        }
    }
    return -EBADMSG;
}

static bool is_on_disks(const uint8_t *end)
{
    return load_le16(end + ZIP_END_DISK) != 0 ||
           load_le16(end + ZIP_END_DIRECTORY_DISK) != 0 ||
           load_le16(end + ZIP_END_NENTRIES_HERE) !=
               load_le16(end + ZIP_END_NENTRIES);
}

/* Does a field of the record refer to the zip64 record? */
static bool is_large(const uint8_t *end)
{
    return load_le16(end + ZIP_END_NENTRIES) == UINT16_MAX ||
           load_le32(end + ZIP_END_DIRECTORY_LEN) == UINT32_MAX ||
           load_le32(end + ZIP_END_DIRECTORY_OFF) == UINT32_MAX;
}

/*
 * Find the zip64 record.
 *
 *  at  offset in `tail` of the end record; receives that of the zip64 record
 */
static int find_end64(const uint8_t *tail, uint64_t tail_off, size_t *at,
                      struct fault *fault)
{
    const uint8_t *locator;
    uint64_t off;

    if (*at < ZIP_LOCATOR_LEN)
        return fault_set(fault, -EBADMSG, tail_off,
                         "a zip archive lacks its zip64 record");
    locator = tail + *at - ZIP_LOCATOR_LEN;
    off = load_le64(locator + ZIP_LOCATOR_END64_OFF);
    if (load_le32(locator) != ZIP_LOCATOR_MAGIC || off < tail_off ||
        !size_within(off - tail_off, ZIP_END64_LEN, *at - ZIP_LOCATOR_LEN) ||
        load_le32(tail + (off - tail_off)) != ZIP_END64_MAGIC)
        return fault_set(fault, -EBADMSG, tail_off + *at,
                         "a zip archive lacks its zip64 record");
    *at = (size_t)(off - tail_off);
    return 0;
}

static struct zip_directory read_end(const uint8_t *end)
{
    return (struct zip_directory){
        .off = load_le32(end + ZIP_END_DIRECTORY_OFF),
        .len = load_le32(end + ZIP_END_DIRECTORY_LEN),
        .nentries = load_le16(end + ZIP_END_NENTRIES),
    };
}

static struct zip_directory read_end64(const uint8_t *end)
{
    return (struct zip_directory){
        .off = load_le64(end + ZIP_END64_DIRECTORY_OFF),
        .len = load_le64(end + ZIP_END64_DIRECTORY_LEN),
        .nentries = load_le64(end + ZIP_END64_NENTRIES),
    };
}

int zip_find_directory(const uint8_t *tail, size_t len, uint64_t tail_off,
                       struct zip_directory *out, struct fault *fault)
{
    struct zip_directory directory;
    size_t at;
    int r = find_end(tail, len, &at);

    if (r < 0)
        return fault_set(fault, r, tail_off + len,
                         "a zip archive has no end of its directory");
    if (is_on_disks(tail + at))
        return fault_set(fault, -ENOTSUP, tail_off + at,
                         "a zip archive is in several parts");
    directory = read_end(tail + at);
    if (is_large(tail + at)) {
        r = find_end64(tail, tail_off, &at, fault);
        if (r < 0)
            return r;
        directory = read_end64(tail + at);
    }
    if (!size_within(directory.off, directory.len, tail_off + at) ||
        directory.nentries > directory.len / ZIP_ENTRY_LEN)
        return fault_set(fault, -EBADMSG, tail_off + at,
                         "the directory of a zip archive lies outside it");
    *out = directory;
    return 0;
}

/* The numbers of an entry; each is in its own field or in the zip64 field. */
struct numbers {
    uint64_t nbytes; /* size when not compressed */
    uint64_t cbytes;
    uint64_t local_off;
};

/* Take a number from the zip64 field if it does not fit its own field. */
static bool take_large(uint64_t *number, const uint8_t *field, size_t len,
                       size_t *at)
{
    if (*number != UINT32_MAX)
        return true;
    if (len - *at < sizeof(uint64_t))
        return false;
    *number = load_le64(field + *at);
    *at += sizeof(uint64_t);
    return true;
}

static bool read_zip64(const uint8_t *field, size_t len, struct numbers *out)
{
    size_t at = 0;

    return take_large(&out->nbytes, field, len, &at) &&
           take_large(&out->cbytes, field, len, &at) &&
           take_large(&out->local_off, field, len, &at);
}

/* Find the zip64 field.  Extra fields may be damaged if no number needs it. */
static bool read_extra(const uint8_t *extra, size_t len, struct numbers *out)
{
    while (len >= ZIP_EXTRA_HEAD_LEN) {
        size_t field_len = load_le16(extra + 2);

        len -= ZIP_EXTRA_HEAD_LEN;
        if (field_len > len)
            break;
        extra += ZIP_EXTRA_HEAD_LEN;
        if (load_le16(extra - ZIP_EXTRA_HEAD_LEN) == ZIP_EXTRA_ZIP64)
            return read_zip64(extra, field_len, out);
        extra += field_len;
        len -= field_len;
    }
    return out->nbytes != UINT32_MAX && out->cbytes != UINT32_MAX &&
           out->local_off != UINT32_MAX;
}

int zip_read_entry(const struct zip_directory *directory, const uint8_t *bytes,
                   uint64_t *pos, struct zip_member *out, struct fault *fault)
{
    const uint8_t *entry = bytes + *pos;
    uint64_t off = directory->off + *pos;
    uint64_t left = directory->len - *pos;
    struct numbers numbers;
    uint16_t method;
    size_t name_len;
    size_t extra_len;
    bool encrypted;
    uint64_t len;

    if (left < ZIP_ENTRY_LEN || load_le32(entry) != ZIP_ENTRY_MAGIC)
        return fault_set(fault, -EBADMSG, off,
                         "no entry where one of a zip directory should be");
    name_len = load_le16(entry + ZIP_ENTRY_NAME_LEN);
    extra_len = load_le16(entry + ZIP_ENTRY_EXTRA_LEN);
    len = ZIP_ENTRY_LEN + name_len + extra_len +
          load_le16(entry + ZIP_ENTRY_COMMENT_LEN);
    if (len > left)
        return fault_set(fault, -EBADMSG, off,
                         "an entry passes the end of the zip directory");
    numbers = (struct numbers){
        .nbytes = load_le32(entry + ZIP_ENTRY_NBYTES),
        .cbytes = load_le32(entry + ZIP_ENTRY_CBYTES),
        .local_off = load_le32(entry + ZIP_ENTRY_LOCAL_OFF),
    };
    if (!read_extra(entry + ZIP_ENTRY_LEN + name_len, extra_len, &numbers))
        return fault_set(fault, -EBADMSG, off,
                         "an entry of a zip directory lacks its zip64 field");
    method = load_le16(entry + ZIP_ENTRY_METHOD);
    encrypted = load_le16(entry + ZIP_ENTRY_FLAGS) & ZIP_FLAG_ENCRYPTED;
    *out = (struct zip_member){
        .name = (const char *)entry + ZIP_ENTRY_LEN,
        .name_len = name_len,
        .encrypted = encrypted,
        .stored = method == ZIP_METHOD_STORED && !encrypted,
        .deflated = method == ZIP_METHOD_DEFLATED && !encrypted,
        .crc = load_le32(entry + ZIP_ENTRY_CRC),
        .nbytes = numbers.cbytes,
        .decoded = numbers.nbytes,
        .local_off = numbers.local_off,
    };
    if (out->stored && numbers.nbytes != numbers.cbytes)
        return fault_set(fault, -EBADMSG, off,
                         "a member of a zip archive has two sizes");
    if (!size_within(out->local_off, ZIP_LOCAL_LEN, directory->off) ||
        out->nbytes > directory->off - out->local_off - ZIP_LOCAL_LEN)
        return fault_set(fault, -EBADMSG, off,
                         "a member of a zip archive lies outside it");
    *pos += len;
    return 0;
}

int zip_locate(const struct zip_directory *directory,
               const struct zip_member *member,
               const uint8_t header[ZIP_LOCAL_LEN], uint64_t *off,
               struct fault *fault)
{
    uint64_t start = member->local_off + ZIP_LOCAL_LEN +
                     load_le16(header + ZIP_LOCAL_NAME_LEN) +
                     load_le16(header + ZIP_LOCAL_EXTRA_LEN);

    if (load_le32(header) != ZIP_LOCAL_MAGIC)
        return fault_set(fault, -EBADMSG, member->local_off,
                         "no header where a member of a zip archive should be");
    if (!size_within(start, member->nbytes, directory->off))
        return fault_set(fault, -EBADMSG, member->local_off,
                         "a member of a zip archive lies outside it");
    *off = start;
    return 0;
}
