/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle_format.h"
#include "bundle/bundle_private.h"
#include "bundle/zip.h"

static int is_zip(struct store *store __attribute__((unused)),
                  const uint8_t *start)
{
    return zip_has_magic(start);
}

static bool is_embed(const struct zip_member *member)
{
    return member->name_len == strlen(BUNDLE_EMBED_NAME) &&
           memcmp(member->name, BUNDLE_EMBED_NAME, member->name_len) == 0;
}

static int add_member(struct bundle *bundle, const struct zip_member *member,
                      struct fault *fault)
{
    const struct bundle_entry entry = { .off = member->local_off,
                                        .len = member->nbytes,
                                        .packed = !member->stored };

    if (is_embed(member) && bundle->has_embed)
        return fault_set(fault, -EBADMSG, member->local_off,
                         "a store has two frames of one name");
    if (is_embed(member)) {
        bundle->embed = entry;
        bundle->has_embed = true;
        return 0;
    }
    /* Other programs also write entries for folders. */
    if (member->name_len > 0 && member->name[member->name_len - 1] == '/')
        return 0;
    return bundle_add(
        bundle, &entry,
        &(struct bundle_key){ member->name, member->name_len, "" }, fault);
}

static int read_members(struct bundle *bundle, const uint8_t *bytes,
                        struct fault *fault)
{
    const struct zip_directory *archive = bundle->state;
    struct zip_member member;
    uint64_t pos = 0;
    int r = 0;

    for (uint64_t i = 0; i < archive->nentries && r == 0; i++) {
        uint64_t off = archive->off + pos;

        r = zip_read_entry(archive, bytes, &pos, &member, fault);
        if (r == 0) {
            r = add_member(bundle, &member, fault);
            if (r < 0)
                fault->off = off;
        }
    }
    if (r == 0 && pos != archive->len)
        r = fault_set(fault, -EBADMSG, archive->off + pos,
                      "a zip directory goes on behind its last entry");
    return r;
}

/* Read a range into memory. */
static int read_bytes(struct store_object *object, uint64_t off, size_t len,
                      uint8_t **out, struct fault *fault)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1);
    int r;

    *out = NULL;
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = store_object_read_at(object, off, bytes, len);
    if (r < 0) {
        free(bytes);
        return fault_set(fault, r == -ENODATA ? -EBADMSG : r, off,
                         r == -ENODATA ? "file is cut short" : NULL);
    }
    *out = bytes;
    return 0;
}

/* Find the directory of an archive. */
static int find_archive(const struct bundle *bundle,
                        struct store_object *object,
                        struct zip_directory *archive, struct fault *fault)
{
    uint64_t size = bundle->version.size;
    size_t len = size < ZIP_TAIL_MAX ? (size_t)size : ZIP_TAIL_MAX;
    uint8_t *tail;
    int r = read_bytes(object, size - len, len, &tail, fault);

    if (r < 0)
        return r;
    r = zip_find_directory(tail, len, size - len, archive, fault);
    free(tail);
    if (r == 0 && archive->len > BUNDLE_DIRECTORY_MAX)
        r = fault_set(fault, -ENOTSUP, archive->off,
                      "the directory of a zip archive is too large");
    return r;
}

static int read_archive(struct bundle *bundle, struct store_object *object,
                        struct fault *fault)
{
    struct zip_directory *archive = malloc(sizeof(*archive));
    uint8_t *bytes;
    int r;

    if (!archive)
        return fault_set(fault, -ENOMEM, 0, NULL);
    bundle->state = archive;
    bundle->footprint += sizeof(*archive);
    r = find_archive(bundle, object, archive, fault);
    if (r == 0)
        r = read_bytes(object, archive->off, (size_t)archive->len, &bytes,
                       fault);
    if (r < 0)
        return r;
    r = read_members(bundle, bytes, fault);
    free(bytes);
    return r;
}

/* Add the values of the embed store in an archive. */
static int read_archived_embed(struct bundle *bundle, struct store *store,
                               struct fault *fault)
{
    struct store *embed;
    int r;

    if (!bundle->has_embed)
        return 0;
    r = bundle_open_member(bundle, store, &bundle->embed, &embed, fault);
    if (r < 0)
        return r;
    r = bundle_add_embedded(bundle, embed, fault);
    store_close(embed);
    return r;
}

/* The members come first, because they take precedence over embedded frames of
   the same key. */
static int read_zip(struct bundle *bundle, struct store *store,
                    struct store_object *object, struct fault *fault)
{
    int r = read_archive(bundle, object, fault);

    if (r == 0)
        r = bundle_arrange(bundle, fault);
    return r < 0 ? r : read_archived_embed(bundle, store, fault);
}

static int open_member(const struct bundle *bundle, struct store_object *object,
                       const struct bundle_entry *entry, struct store **out,
                       struct fault *fault)
{
    const struct zip_member member = { .nbytes = entry->len,
                                       .local_off = entry->off };
    uint8_t header[ZIP_LOCAL_LEN];
    uint64_t off;
    int r;

    if (entry->packed)
        return fault_set(fault, -ENOTSUP, entry->off,
                         "a member of a zip archive is compressed");
    r = store_object_read_at(object, entry->off, header, sizeof(header));
    if (r < 0)
        return fault_set(fault, r == -ENODATA ? -EBADMSG : r, entry->off,
                         r == -ENODATA ? "file ends in a member" : NULL);
    r = zip_locate(bundle->state, &member, header, &off, fault);
    if (r < 0)
        return r;
    return store_part_open(object, off, entry->len, out);
}

const struct bundle_format bundle_format_zip = {
    .suffix = ".b2z",
    .is = is_zip,
    .read = read_zip,
    .open_member = open_member,
};
