/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_encode.h"

#include "base/msgpack_write.h"

uint64_t frame_encode_header_len(const struct layers *fixed)
{
    return FRAME_E_METALAYERS_OFF + layers_encoded_len(fixed);
}

/* Format: frame.md, 2.1. */
static uint8_t general_flags(const struct frame_info *info, bool variable)
{
    uint8_t flags = FRAME_FLAG_OFFSETS_64;

    if (info->nbytes == 0 || (!variable && !info->vlblocks))
        return flags | FRAME_VERSION_ORDINARY;
    if (variable)
        flags |= FRAME_FLAG_VARIABLE;
    if (info->vlblocks)
        flags |= FRAME_FLAG_VLBLOCKS;
    return flags | FRAME_VERSION_MAX;
}

/* Format: frame.md, 6. */
static uint32_t chunksize_field(const struct frame_info *info, bool variable)
{
    if (info->nbytes > 0 && variable)
        return 0;
    return info->chunksize > 0 ? info->chunksize : UINT32_MAX;
}

static uint8_t codec_flags(const struct frame_info *info)
{
    unsigned codec = info->codec < FRAME_CODEC_ELSEWHERE
                         ? info->codec
                         : (unsigned)FRAME_CODEC_ELSEWHERE;

    return (uint8_t)(codec | info->clevel << 4);
}

static void write_sizes(struct msgpack_writer *writer,
                        const struct frame_info *info, bool variable)
{
    msgpack_write_u64(writer, MSGPACK_INT64, info->nbytes);
    msgpack_write_u64(writer, MSGPACK_INT64, info->cbytes);
    msgpack_write_u32(writer, MSGPACK_INT32, info->typesize);
    msgpack_write_u32(writer, MSGPACK_INT32, info->blocksize);
    msgpack_write_u32(writer, MSGPACK_INT32, chunksize_field(info, variable));
}

static void write_defaults(struct msgpack_writer *writer,
                           const struct frame_info *info, bool has_vl)
{
    msgpack_write_u16(writer, MSGPACK_INT16, 1); /* numbers of threads, */
    msgpack_write_u16(writer, MSGPACK_INT16, 1); /* which no reader uses */
    msgpack_write_byte(writer, has_vl ? MSGPACK_TRUE : MSGPACK_FALSE);
    msgpack_write_byte(writer, MSGPACK_FIXEXT16);
    msgpack_write_byte(writer, CHUNK_NFILTERS);
    msgpack_write_bytes(writer, info->filters, CHUNK_NFILTERS);
    msgpack_write_byte(writer, (uint8_t)info->codec);
    msgpack_write_byte(writer, (uint8_t)info->codec_meta);
    msgpack_write_bytes(writer, info->filters_meta, CHUNK_NFILTERS);
    msgpack_write_byte(writer, info->use_dict ? FRAME_FLAG2_USE_DICT : 0);
    msgpack_write_byte(writer, 0);
}

void frame_encode_fixed(const struct frame_info *info, bool variable,
                        bool has_vl, uint8_t *dst)
{
    struct msgpack_writer writer = { .bytes = dst };

    msgpack_write_byte(&writer, MSGPACK_FIXARRAY | FRAME_E_NELEMENTS);
    msgpack_write_byte(&writer, MSGPACK_FIXSTR | sizeof(FRAME_MAGIC));
    msgpack_write_bytes(&writer, FRAME_MAGIC, sizeof(FRAME_MAGIC));
    msgpack_write_u32(&writer, MSGPACK_INT32, info->header_len);
    msgpack_write_u64(&writer, MSGPACK_UINT64, info->frame_len);
    msgpack_write_byte(&writer, MSGPACK_FIXSTR | 4);
    msgpack_write_byte(&writer, general_flags(info, variable));
    msgpack_write_byte(&writer, info->sparse ? FRAME_TYPE_SPARSE
                                             : FRAME_TYPE_CONTIGUOUS);
    msgpack_write_byte(&writer, codec_flags(info));
    msgpack_write_byte(&writer, (uint8_t)(info->split_mode - 1));
    write_sizes(&writer, info, variable);
    write_defaults(&writer, info, has_vl);
}

void frame_encode_header(const struct frame_info *info, bool variable,
                         bool has_vl, const struct layers *fixed, uint8_t *dst)
{
    frame_encode_fixed(info, variable, has_vl, dst);
    layers_encode(fixed, dst + FRAME_E_METALAYERS_OFF, FRAME_E_METALAYERS_OFF,
                  0);
}

uint64_t frame_encode_trailer_len(const struct layers *variable)
{
    return FRAME_TRAILER_LAYERS_OFF + layers_encoded_len(variable) +
           FRAME_TRAILER_END_LEN;
}

void frame_encode_trailer(const struct layers *variable, uint8_t *dst)
{
    static const uint8_t fingerprint[16] = { 0 };
    struct msgpack_writer writer = { .bytes = dst };

    msgpack_write_byte(&writer, MSGPACK_FIXARRAY | 4);
    msgpack_write_byte(&writer, FRAME_TRAILER_VERSION);
    layers_encode(variable, dst + FRAME_TRAILER_LAYERS_OFF,
                  FRAME_TRAILER_LAYERS_OFF, 1);
    writer.pos += layers_encoded_len(variable);
    msgpack_write_u32(&writer, MSGPACK_UINT32,
                      (uint32_t)frame_encode_trailer_len(variable));
    msgpack_write_byte(&writer, MSGPACK_FIXEXT16);
    msgpack_write_byte(&writer, 0); /* no fingerprint */
    msgpack_write_bytes(&writer, fingerprint, sizeof(fingerprint));
}
