/* SPDX-License-Identifier: BSD-3-Clause */

/* The directory of a zip archive: the input is the whole file. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/size.h"
#include "bundle/zip.h"
#include "fuzz.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

/* A member must lie before the directory, and its name inside the directory. */
static void check_member(const struct zip_directory *directory,
                         const struct zip_member *member, const uint8_t *data)
{
    const uint8_t *name = (const uint8_t *)member->name;
    struct fault fault = FAULT_NONE;
    uint64_t off;

    insist(name >= data + directory->off);
    insist(name + member->name_len <= data + directory->off + directory->len);
    insist(size_within(member->local_off, ZIP_LOCAL_LEN, directory->off));
    if (zip_locate(directory, member, data + member->local_off, &off, &fault) <
        0)
        insist(fault.what);
    else
        insist(size_within(off, member->nbytes, directory->off));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t tail_len = size < ZIP_TAIL_MAX ? size : ZIP_TAIL_MAX;
    size_t tail_off = size - tail_len;
    struct fault fault = FAULT_NONE;
    struct zip_directory directory;
    struct zip_member member;
    uint64_t pos = 0;

    if (zip_find_directory(data + tail_off, tail_len, tail_off, &directory,
                           &fault) < 0) {
        insist(fault.what);
        return 0;
    }
    insist(size_within(directory.off, directory.len, size));
    while (pos < directory.len) {
        if (zip_read_entry(&directory, data + directory.off, &pos, &member,
                           &fault) < 0) {
            insist(fault.what);
            return 0;
        }
        insist(pos <= directory.len);
        check_member(&directory, &member, data);
    }
    return 0;
}
