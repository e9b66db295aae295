/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fault_set(struct fault *fault, int error, uint64_t off, const char *what)
{
    *fault = FAULT_NONE;
    fault->off = off;
    fault->what = what;
    return error;
}

int fault_set_id(struct fault *fault, uint64_t off, const char *what, int id)
{
    fault_set(fault, -ENOTSUP, off, what);
    fault->id = id;
    return -ENOTSUP;
}

int fault_set_mismatch(struct fault *fault, uint64_t off, int64_t block_no)
{
    fault_set(fault, -EBADMSG, off, "the bytes do not match their sum");
    fault->mismatch = true;
    fault->block_no = block_no;
    return -EBADMSG;
}

int fault_set_limit(struct fault *fault, const char *what, uint64_t need,
                    const char *limit, uint64_t value)
{
    fault_set(fault, -ENOTSUP, 0, what);
    fault->limit = limit;
    fault->value = value;
    fault->need = need;
    return -ENOTSUP;
}

/* Append to a string in a buffer of `size` bytes; cut the text if it does not
   fit. */
__attribute__((format(printf, 3, 4))) static void append(char *text,
                                                         size_t size,
                                                         const char *format,
                                                         ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, size - len, format, args);
    va_end(args);
}

void fault_format(const struct fault *fault, int error, char *text, size_t size)
{
    text[0] = '\0';
    if (fault->object[0] != '\0')
        append(text, size, "%s: ", fault->object);
    if (fault->chunk_no >= 0)
        append(text, size, "chunk %" PRId64 ", ", fault->chunk_no);
    if (fault->block_no >= 0)
        append(text, size, "block %" PRId64 ", ", fault->block_no);
    /* The fault is another process, so there is no offset to print. */
    if (fault->what && error == -EBUSY)
        append(text, size, "%s", fault->what);
    else if (fault->what)
        append(text, size, "offset %" PRIu64 ": %s", fault->off, fault->what);
    else
        append(text, size, "%s", strerror(-error));
    if (fault->id >= 0)
        append(text, size, " (%d)", fault->id);
    if (fault->limit)
        append(text, size, " (%" PRIu64 " bytes with %s of %" PRIu64 ")",
               fault->need, fault->limit, fault->value);
}
