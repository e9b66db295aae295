/* SPDX-License-Identifier: BSD-3-Clause */
#include "inflate.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/log.h"
#include "interrupt.h"
#include "source.h"

enum {
    PIECE = 1 << 18,  /* bytes read, and decoded, at a time */
    RAW_WINDOW = -15, /* 32 KiB; no header.  zlib.h, inflateInit2() */
};

static int refuse(const struct inflate *from, const char *what)
{
    log_error("%s: %s", from->name, what);
    return -EBADMSG;
}

static int report(const struct inflate *from, int error)
{
    source_report(from->name, error, &FAULT_NONE);
    return error;
}

static int compare(const struct inflate *from, uLong crc)
{
    return crc == from->crc
               ? 0
               : refuse(from, "its bytes do not match their checksum");
}

int inflate_check(const struct inflate *from)
{
    uLong crc = crc32(0, NULL, 0);
    uint8_t *bytes = malloc(PIECE);
    uint64_t done = 0;
    int r = bytes ? 0 : report(from, -ENOMEM);

    while (r == 0 && done < from->nbytes) {
        uint64_t left = from->nbytes - done;
        size_t n = left < PIECE ? (size_t)left : PIECE;

        r = input_read_at(from->input, bytes, n, from->off + done);
        if (r == 0)
            crc = crc32(crc, bytes, (uInt)n);
        done += n;
    }
    free(bytes);
    return r < 0 ? r : compare(from, crc);
}

/* A member that is being decoded. */
struct decoding {
    const struct inflate *from;
    z_stream stream;
    uint64_t nread;
    uint64_t nwritten;
    uLong crc;
    uint8_t in[PIECE];
    uint8_t out[PIECE];
};

static int read_piece(struct decoding *decoding)
{
    const struct inflate *from = decoding->from;
    uint64_t left = from->nbytes - decoding->nread;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    int r = input_read_at(from->input, decoding->in, n,
                          from->off + decoding->nread);

    decoding->nread += n;
    decoding->stream.next_in = decoding->in;
    decoding->stream.avail_in = (uInt)n;
    return r;
}

/* Write what was decoded. */
static int write_piece(struct decoding *decoding)
{
    const struct inflate *from = decoding->from;
    size_t n = PIECE - decoding->stream.avail_out;
    size_t done = 0;

    if (n > from->decoded - decoding->nwritten)
        return refuse(from, "has more bytes than its archive says");
    while (done < n) {
        ssize_t written = write(from->fd, decoding->out + done, n - done);

        if (interrupt_seen())
            return -EINTR;
        if (written < 0 && errno != EINTR)
            return report(from, -errno);
        done += written > 0 ? (size_t)written : 0;
    }
    decoding->crc = crc32(decoding->crc, decoding->out, (uInt)n);
    decoding->nwritten += n;
    return 0;
}

/* Decode one piece.  Returns 1 at the end. */
static int decode_piece(struct decoding *decoding)
{
    z_stream *stream = &decoding->stream;
    int r = stream->avail_in == 0 ? read_piece(decoding) : 0;
    int z;

    if (r < 0)
        return r;
    stream->next_out = decoding->out;
    stream->avail_out = PIECE;
    z = inflate(stream, Z_NO_FLUSH);
    if (z != Z_OK && z != Z_STREAM_END)
        return refuse(decoding->from, "cannot be decoded");
    r = write_piece(decoding);
    return r < 0 ? r : z == Z_STREAM_END;
}

static int finish(const struct decoding *decoding)
{
    const struct inflate *from = decoding->from;

    if (decoding->nwritten < from->decoded)
        return refuse(from, "has fewer bytes than its archive says");
    return compare(from, decoding->crc);
}

int inflate_member(const struct inflate *from)
{
    struct decoding *decoding = calloc(1, sizeof(*decoding));
    int r = 0;

    if (!decoding || inflateInit2(&decoding->stream, RAW_WINDOW) != Z_OK) {
        free(decoding);
        return report(from, -ENOMEM);
    }
    decoding->from = from;
    decoding->crc = crc32(0, NULL, 0);
    while (r == 0)
        r = decode_piece(decoding);
    inflateEnd(&decoding->stream);
    if (r > 0)
        r = finish(decoding);
    free(decoding);
    return r;
}
