/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/size.h"
#include "bench_data.h"
#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "frame/frame_format.h"

/*
 * Make a frame of generated data, in one pass: chunks, index, trailer, and the
 * header last.  Nothing syncs it: the frame is for measuring how it is read.
 */
static const char usage[] =
    "usage: make_frame OUT --size SIZE [option...]\n"
    "  --size SIZE           decoded bytes, with a suffix K, M, G or T\n"
    "  --codec NAME          lz4\n"
    "  --clevel N            5\n"
    "  --filter NAME         shuffle\n"
    "  --chunksize SIZE      1M\n"
    "  --blocksize SIZE      automatic\n"
    "  --sparse              a directory with one file for each chunk\n"
    "  --nchunks-special N   this many chunks, the last ones, are zeros\n";

enum {
    HEADER_LEN = 97,
    TRAILER_LEN = 35,
    INDEX_BLOCKSIZE = 16384
};

struct maker {
    const char *path;
    struct chunk_params params;
    uint64_t nbytes;
    uint64_t chunksize;
    uint64_t nspecial;
    bool sparse;

    struct chunk_encoder *encoder;
    uint64_t nchunks;
    uint8_t *entries; /* of the index, still decoded */
    uint8_t *src;     /* a chunk before and after encoding */
    uint8_t *chunk;
    uint64_t cbytes; /* of all chunks so far */
    int dir;         /* of a sparse frame */
    int file;        /* the frame; of a sparse frame its index */
};

static void die(const char *what, int error)
{
    fprintf(stderr, "make_frame: %s: %s\n", what, strerror(error));
    exit(1);
}

static void die_usage(void)
{
    fputs(usage, stderr);
    exit(2);
}

static void *allocate(size_t len)
{
    void *bytes = malloc(len);

    if (!bytes)
        die("memory", ENOMEM);
    return bytes;
}

static void put(const char *name, int file, const uint8_t *bytes, size_t len,
                uint64_t off)
{
    while (len > 0) {
        ssize_t n = pwrite(file, bytes, len, (off_t)off);

        if (n < 0)
            die(name, errno);
        bytes += n;
        len -= (size_t)n;
        off += (size_t)n;
    }
}

static void put_chunk_file(const struct maker *maker, uint64_t chunk_no,
                           size_t len)
{
    char name[32];
    int file;

    snprintf(name, sizeof(name), "%08X.chunk", (unsigned)chunk_no);
    file = openat(maker->dir, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0)
        die(name, errno);
    put(name, file, maker->chunk, len, 0);
    close(file);
}

static void set_entry(struct maker *maker, uint64_t chunk_no, uint64_t value)
{
    value = htole64(value);
    memcpy(maker->entries + chunk_no * FRAME_INDEX_TYPESIZE, &value,
           sizeof(value));
}

static void make_chunk(struct maker *maker, uint64_t chunk_no)
{
    uint64_t left = maker->nbytes - chunk_no * maker->chunksize;
    size_t nbytes = left < maker->chunksize ? left : maker->chunksize;
    ssize_t len;

    bench_walk(chunk_no, maker->src, nbytes);
    len = chunk_encode(maker->encoder, &maker->params, maker->src, nbytes,
                       maker->chunk, nbytes + CHUNK_OVERHEAD_MAX);
    if (len < 0)
        die("chunk", (int)-len);

    if (maker->sparse) {
        set_entry(maker, chunk_no, chunk_no);
        put_chunk_file(maker, chunk_no, (size_t)len);
    } else {
        set_entry(maker, chunk_no, maker->cbytes);
        put(maker->path, maker->file, maker->chunk, (size_t)len,
            HEADER_LEN + maker->cbytes);
    }
    maker->cbytes += (size_t)len;
}

static void make_chunks(struct maker *maker)
{
    for (uint64_t i = 0; i < maker->nchunks; i++) {
        if (i < maker->nchunks - maker->nspecial)
            make_chunk(maker, i);
        else
            set_entry(maker, i,
                      (uint64_t)(0x80 | FRAME_ENTRY_ZEROS)
                          << FRAME_ENTRY_KIND_SHIFT);
    }
}

/* Returns where the index ends. */
static uint64_t make_index(struct maker *maker)
{
    static const struct chunk_params params = {
        .typesize = FRAME_INDEX_TYPESIZE,
        .blocksize = INDEX_BLOCKSIZE,
        .codec = CODEC_BLOSCLZ,
        .clevel = 5,
        .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
        .split_mode = CHUNK_SPLIT_NEVER,
        .bodied = true,
    };
    uint64_t off = HEADER_LEN + (maker->sparse ? 0 : maker->cbytes);
    size_t nbytes = maker->nchunks * FRAME_INDEX_TYPESIZE;
    size_t cap = nbytes + CHUNK_OVERHEAD_MAX;
    uint8_t *chunk = allocate(cap);
    ssize_t len = chunk_encode(maker->encoder, &params, maker->entries, nbytes,
                               chunk, cap);

    if (len < 0)
        die("index", (int)-len);
    put(maker->path, maker->file, chunk, (size_t)len, off);
    free(chunk);
    return off + (size_t)len;
}

static void make_trailer(const struct maker *maker, uint64_t off)
{
    static const uint8_t trailer[TRAILER_LEN] = {
        0x94, 0x01, 0x93, 0xcd, 0, 6, 0xde, 0,           0,
        0xdc, 0,    0,    0xce, 0, 0, 0,    TRAILER_LEN, 0xd8,
    };

    put(maker->path, maker->file, trailer, TRAILER_LEN, off);
}

static void store_be32(uint8_t *bytes, uint64_t value)
{
    uint32_t word = htobe32((uint32_t)value);

    memcpy(bytes, &word, sizeof(word));
}

static void store_be64(uint8_t *bytes, uint64_t value)
{
    value = htobe64(value);
    memcpy(bytes, &value, sizeof(value));
}

/* An empty frame's.  Format: Frame, 8.1. */
static const uint8_t empty_header[HEADER_LEN] = {
    0x9e, 0xa8, 0x62, 0x32, 0x66, 0x72, 0x61, 0x6d, 0x65, 0x00, 0xd2,
    0x00, 0x00, 0x00, 0x61, 0xcf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x84, 0xa4, 0x12, 0x00, 0x50, 0x03, 0xd3, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xd3, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0xd2, 0x00, 0x00, 0x00, 0x04, 0xd2, 0x00, 0x00,
    0x00, 0x00, 0xd2, 0xff, 0xff, 0xff, 0xff, 0xd1, 0x00, 0x01, 0xd1,
    0x00, 0x01, 0xc2, 0xd8, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x93,
    0xcd, 0x00, 0x07, 0xde, 0x00, 0x00, 0xdc, 0x00, 0x00,
};

static void make_header(const struct maker *maker, uint64_t frame_len)
{
    const struct chunk_params *params = &maker->params;
    uint8_t header[HEADER_LEN];

    memcpy(header, empty_header, HEADER_LEN);
    store_be64(header + FRAME_LEN_OFF, frame_len);
    header[FRAME_TYPE_OFF] =
        maker->sparse ? FRAME_TYPE_SPARSE : FRAME_TYPE_CONTIGUOUS;
    header[FRAME_CODEC_FLAGS_OFF] =
        (uint8_t)(params->clevel << 4 | params->codec);
    header[FRAME_OTHER_FLAGS_OFF] = (uint8_t)(params->split_mode - 1);
    store_be64(header + FRAME_NBYTES_OFF, maker->nbytes);
    store_be64(header + FRAME_CBYTES_OFF, maker->cbytes);
    store_be32(header + FRAME_TYPESIZE_OFF, params->typesize);
    store_be32(header + FRAME_E_BLOCKSIZE_OFF, params->blocksize);
    store_be32(header + FRAME_E_CHUNKSIZE_OFF, maker->chunksize);
    memcpy(header + FRAME_E_FILTERS_OFF, params->filters, CHUNK_NFILTERS);
    header[FRAME_E_CODEC_OFF] = params->codec;
    put(maker->path, maker->file, header, HEADER_LEN, 0);
}

static void open_out(struct maker *maker)
{
    const char *name = maker->path;

    maker->dir = AT_FDCWD;
    if (maker->sparse) {
        if (mkdir(maker->path, 0777) < 0)
            die(maker->path, errno);
        maker->dir = open(maker->path, O_RDONLY | O_DIRECTORY);
        if (maker->dir < 0)
            die(maker->path, errno);
        name = "chunks.b2frame";
    }
    maker->file = openat(maker->dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (maker->file < 0)
        die(name, errno);
}

static uint64_t parse_number(const char *text)
{
    static const char suffixes[] = "KMGT";
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;

    if (end == text || (*end && (!suffix || end[1])))
        die_usage();
    return suffix ? value << (10 * (suffix - suffixes + 1)) : value;
}

static uint8_t parse_codec(const char *name)
{
    const struct codec *codec = codec_by_name(name);

    if (!codec)
        die_usage();
    return (uint8_t)codec->id;
}

static uint8_t parse_filter(const char *name)
{
    const struct filter *filter = filter_by_name(name);

    if (!filter && strcmp(name, "none") != 0)
        die_usage();
    return (uint8_t)(filter ? filter->id : FILTER_NONE);
}

static void parse_option(struct maker *maker, int option, const char *text)
{
    switch (option) {
    case 's':
        maker->nbytes = parse_number(text);
        break;
    case 'c':
        maker->params.codec = parse_codec(text);
        break;
    case 'l':
        maker->params.clevel = (uint8_t)parse_number(text);
        break;
    case 'f':
        maker->params.filters[CHUNK_NFILTERS - 1] = parse_filter(text);
        break;
    case 'k':
        maker->chunksize = parse_number(text);
        break;
    case 'b':
        maker->params.blocksize = (uint32_t)parse_number(text);
        break;
    case 'd':
        maker->sparse = true;
        break;
    case 'z':
        maker->nspecial = parse_number(text);
        break;
    default:
        die_usage();
    }
}

static void parse(struct maker *maker, int argc, char **argv)
{
    static const struct option options[] = {
        { "size", required_argument, NULL, 's' },
        { "codec", required_argument, NULL, 'c' },
        { "clevel", required_argument, NULL, 'l' },
        { "filter", required_argument, NULL, 'f' },
        { "chunksize", required_argument, NULL, 'k' },
        { "blocksize", required_argument, NULL, 'b' },
        { "sparse", no_argument, NULL, 'd' },
        { "nchunks-special", required_argument, NULL, 'z' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        parse_option(maker, option, optarg);
    if (optind != argc - 1 || maker->nbytes == 0 || maker->chunksize == 0 ||
        chunk_params_check(&maker->params) < 0)
        die_usage();

    maker->path = argv[optind];
    maker->nchunks = size_pieces(maker->nbytes, maker->chunksize);
    if (maker->nspecial > maker->nchunks)
        maker->nspecial = maker->nchunks;
}

int main(int argc, char **argv)
{
    struct maker maker = {
        .chunksize = 1 << 20,
        .params = {
            .typesize = BENCH_TYPESIZE,
            .codec = CODEC_LZ4,
            .clevel = 5,
            .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
            .split_mode = CHUNK_SPLIT_FORWARD,
            .bodied = true,
        },
    };
    uint64_t end;

    parse(&maker, argc, argv);
    if (chunk_encoder_new(cpu_features(), &maker.encoder) < 0)
        die("encoder", ENOMEM);
    maker.entries = allocate(maker.nchunks * FRAME_INDEX_TYPESIZE);
    maker.src = allocate(maker.chunksize);
    maker.chunk = allocate(maker.chunksize + CHUNK_OVERHEAD_MAX);

    open_out(&maker);
    make_chunks(&maker);
    end = make_index(&maker);
    make_trailer(&maker, end);
    make_header(&maker, end + TRAILER_LEN);
    if (close(maker.file) < 0)
        die(maker.path, errno);

    free(maker.entries);
    free(maker.src);
    free(maker.chunk);
    chunk_encoder_free(maker.encoder);
    return 0;
}
