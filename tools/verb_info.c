/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "args.h"
#include "array/array.h"
#include "base/log.h"
#include "base/text.h"
#include "chunk/chunk_params.h"
#include "chunk/codec.h"
#include "chunk/filter.h"
#include "file/info.h"
#include "frame/frame.h"
#include "frame/frame_keys.h"
#include "frame/metalayer.h"
#include "jobs.h"
#include "path_json.h"
#include "source.h"
#include "tree.h"
#include "verb.h"

enum {
    OPTION_JSON = 0x300,
    OPTION_CHUNKS,
};

struct info {
    const char *path;
    bool table; /* one row for each frame */
    uint64_t frame_offset;
    bool json;
    bool chunks;
    uint64_t nbytes; /* of all frames */
    uint64_t stored;
};

/* Print the label at the start of a line. */
static void print_label(const char *label)
{
    printf("%-12s  ", label);
}

/* Print a number of bytes; if it is large, also in a unit that is easy to
   read. */
static void print_bytes(const char *label, uint64_t nbytes)
{
    char amount[AMOUNT_LEN];

    print_label(label);
    printf("%" PRIu64, nbytes);
    if (nbytes >= 1024) {
        amount_format((double)nbytes, amount);
        printf(" (%s)", amount);
    }
    putchar('\n');
}

/* Return the parameter of a filter, which is signed for some. */
static int meta_of(unsigned id, uint8_t meta)
{
    const struct filter *filter = filter_by_id(id);

    return filter && filter->meta_is_signed ? (int8_t)meta : meta;
}

static void print_filters(const uint8_t *filters, const uint8_t *meta)
{
    bool any = false;

    for (int i = 0; i < CHUNK_NFILTERS; i++) {
        if (filters[i] == FILTER_NONE)
            continue;
        printf("%s%s", any ? "+" : "", filter_name(filters[i]));
        if (meta[i] != 0)
            printf(":%d", meta_of(filters[i], meta[i]));
        any = true;
    }
    if (!any)
        printf("none");
}

/* The number of bytes that the frame takes up, according to its header. */
static uint64_t stored_size(const struct frame_info *info)
{
    return info->frame_len + (info->sparse ? info->cbytes : 0);
}

static void print_sizes(const struct frame_info *info)
{
    uint64_t stored = stored_size(info);

    print_bytes("nbytes", info->nbytes);
    print_bytes("stored", stored);
    print_label("ratio");
    printf("%.2f\n", (double)info->nbytes / (double)stored);
}

static void print_geometry(const struct frame_info *info)
{
    print_label("layout");
    printf("%s, format %c, version %u%s\n",
           info->sparse ? "sparse" : "contiguous", 'A' + (int)info->format,
           info->version,
           info->vlblocks ? ", blocks of sizes of their own" : "");
    print_sizes(info);
    print_label("typesize");
    printf("%" PRIu32 "\n", info->typesize);
    print_label("nchunks");
    printf("%" PRIu64 "\n", info->nchunks);
    print_label("chunksize");
    if (info->chunksize > 0)
        printf("%" PRIu32 "\n", info->chunksize);
    else
        printf("%s\n", info->nchunks > 0 ? "variable" : "not decided");
    print_label("blocksize");
    if (info->blocksize > 0)
        printf("%" PRIu32 "\n", info->blocksize);
    else
        printf("automatic\n");
}

/* Print the parameters for new chunks. */
static void print_defaults(const struct frame_info *info)
{
    print_label("codec");
    printf("%s, level %u%s\n", codec_name(info->codec), info->clevel,
           info->use_dict ? ", with dictionaries" : "");
    print_label("filters");
    print_filters(info->filters, info->filters_meta);
    putchar('\n');
    print_label("split");
    printf("%s\n", chunk_split_name(info->split_mode));
}

/* Print an error in the place of a value that can't be read. */
static void print_fault(int error, const struct fault *fault)
{
    char text[256];

    fault_format(fault, error, text, sizeof(text));
    printf("%s\n", text);
}

static void print_extents(const char *label, const uint32_t *extents,
                          unsigned ndim)
{
    print_label(label);
    putchar('(');
    for (unsigned i = 0; i < ndim; i++)
        printf(i > 0 ? ", %" PRIu32 : "%" PRIu32, extents[i]);
    puts(")");
}

static void print_shape(const struct layout_shape *shape)
{
    print_label("shape");
    putchar('(');
    for (unsigned i = 0; i < shape->ndim; i++)
        printf(i > 0 ? ", %" PRIu64 : "%" PRIu64, shape->items[i]);
    puts(")");
    print_extents("chunk shape", shape->chunk, shape->ndim);
    print_extents("block shape", shape->block, shape->ndim);
}

static void print_dtype(const char *dtype)
{
    size_t size = TEXT_ESCAPED_SIZE(strlen(dtype));
    char *text = malloc(size);

    if (!text)
        return;
    text_escape(dtype, TEXT_PLAIN_PRINTABLE, text, size);
    print_label("dtype");
    puts(text);
    free(text);
}

/* Print shape and dtype of the frame, if it is an array. */
static void print_array(struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct array *array;
    int r = array_read(frame, &array, &fault);

    if (r < 0) {
        print_label("array");
        print_fault(r, &fault);
        return;
    }
    if (!array)
        return;
    print_shape(&array->shape);
    if (array->dtype)
        print_dtype(array->dtype);
    array_free(array);
}

static void print_sums(struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct frame_sums_count count;
    int r = frame_count_sums(frame, &count, &fault);

    print_label("sums");
    if (r < 0)
        print_fault(r, &fault);
    else if (!count.in_force)
        printf("none\n");
    else
        printf("in force, of %" PRIu64 " of %" PRIu64 " stored chunks\n",
               count.nsummed, count.nstored);
}

static void print_layer(struct frame *frame, const struct metalayer *layer)
{
    struct fault fault = FAULT_NONE;
    char name[TEXT_ESCAPED_SIZE(METALAYER_NAME_MAX)];
    uint32_t size;
    int r;

    print_label(metalayer_kind_name(layer->kind));
    text_escape(layer->name, TEXT_PLAIN_PRINTABLE, name, sizeof(name));
    printf("%s%s", name, name[0] != '\0' ? "  " : "");
    r = metalayer_size(frame, layer, &size, &fault);
    if (r < 0)
        print_fault(r, &fault);
    else
        printf("%" PRIu32 " bytes\n", size);
}

static void print_layers(struct frame *frame)
{
    struct metalayer_list list;
    struct fault fault = FAULT_NONE;
    int r;

    r = metalayer_list_read(frame, &list, &fault);
    if (r < 0) {
        print_label("metalayers");
        print_fault(r, &fault);
        return;
    }
    for (size_t i = 0; i < list.nlayers; i++)
        print_layer(frame, &list.layers[i]);
    metalayer_list_free(&list);
}

/* Print the row of a chunk in the table, after its number and key. */
static void print_chunk(const struct frame_chunk *chunk)
{
    const struct chunk_header *header;

    if (chunk->entry.special)
        printf("%14s", "-");
    else
        printf("%14" PRIu64, chunk->entry.place);
    printf(" %10" PRIu32 " %10" PRIu32 " %10" PRIu32 "  %s", chunk->span.nbytes,
           chunk->cbytes, chunk->blocksize, chunk_kind_name(chunk->kind));
    if (chunk->kind == CHUNK_BLOCKS || chunk->kind == CHUNK_VLBLOCKS) {
        header = chunk_get_header(chunk->chunk);
        printf(", %s, ", codec_name(header->codec));
        print_filters(header->filters, header->filters_meta);
    }
    putchar('\n');
}

static void print_chunks(struct frame *frame)
{
    const struct frame_info *info = frame_get_info(frame);
    const struct frame_keys *keys;
    struct frame_chunk *chunk;
    struct fault fault = FAULT_NONE;
    int r = frame_get_keys(frame, &keys, &fault);

    if (r < 0) {
        print_label("keys");
        print_fault(r, &fault);
        keys = NULL;
    }
    printf("\n%10s ", "chunk");
    if (keys)
        printf("%10s ", "key");
    printf("%14s %10s %10s %10s  %s\n", info->sparse ? "file" : "offset",
           "nbytes", "cbytes", "blocksize", "kind, codec, filters");
    for (uint64_t i = 0; i < info->nchunks; i++) {
        printf("%10" PRIu64 " ", i);
        if (keys && keys->keys[i] > 0)
            printf("%10" PRIu64 " ", keys->keys[i]);
        else if (keys)
            printf("%10s ", "-");
        r = frame_chunk_open(frame, i, &chunk, &fault);
        if (r < 0) {
            print_fault(r, &fault);
            continue;
        }
        print_chunk(chunk);
        frame_chunk_close(chunk);
    }
}

static void print_text(struct frame *frame, const struct info *info)
{
    print_geometry(frame_get_info(frame));
    print_defaults(frame_get_info(frame));
    print_array(frame);
    print_sums(frame);
    print_layers(frame);
    if (info->chunks)
        print_chunks(frame);
}

static int print_json(struct frame *frame, const struct info *info)
{
    unsigned parts =
        INFO_CONTENT | INFO_SUMS | (info->chunks ? INFO_CHUNKS : 0);
    int r = info_write(frame, parts, stdout);

    putchar('\n');
    if (r < 0)
        source_report(info->path, r, &FAULT_NONE);
    return r;
}

/* The sums of all frames of a table. */
enum {
    COUNT_NBYTES,
    COUNT_STORED,
};

static void print_path(const char *path)
{
    char text[TEXT_ESCAPED_SIZE(PATH_MAX)];

    text_escape(path, TEXT_PLAIN_PRINTABLE, text, sizeof(text));
    puts(text);
}

static void print_totals(uint64_t nbytes, uint64_t stored)
{
    printf("%14" PRIu64 " %14" PRIu64 " %7.2f  ", nbytes, stored,
           (double)nbytes / (double)(stored > 0 ? stored : 1));
}

static void print_row(struct frame *frame, const struct info *info)
{
    const struct frame_info *frame_info = frame_get_info(frame);

    print_totals(frame_info->nbytes, stored_size(frame_info));
    printf("%9" PRIu64 "  %-7s %u  ", frame_info->nchunks,
           codec_name(frame_info->codec), frame_info->clevel);
    print_path(info->path);
}

/* Print the description as an element of an array. */
static int print_element(struct frame *frame, const struct info *info)
{
    int r;

    fputs("{", stdout);
    path_json_print(info->path);
    fputs(", \"info\": ", stdout);
    r = print_json(frame, info);
    fputs("}", stdout);
    return r;
}

/* Open the frame and print its description.  Errors are reported. */
static int info_frame(void *context, const struct tree_entry *file,
                      uint64_t counts[JOBS_NCOUNTS])
{
    struct info *info = context;
    struct frame *frame;
    int r;

    info->path = file->path;
    r = source_open_frame(info->path, info->frame_offset, &frame);
    if (r < 0)
        return r;
    counts[COUNT_NBYTES] = frame_get_info(frame)->nbytes;
    counts[COUNT_STORED] = stored_size(frame_get_info(frame));
    if (info->table && info->json)
        r = print_element(frame, info);
    else if (info->json)
        r = print_json(frame, info);
    else if (info->table)
        print_row(frame, info);
    else
        print_text(frame, info);
    frame_close(frame);
    return r;
}

static void add_counts(void *context, const uint64_t counts[JOBS_NCOUNTS])
{
    struct info *info = context;

    info->nbytes += counts[COUNT_NBYTES];
    info->stored += counts[COUNT_STORED];
}

/* Describe all frames.  Returns the number of those that could not be. */
static long info_all(struct info *info, const struct tree *frames)
{
    const struct jobs jobs = {
        .files = frames,
        .run = info_frame,
        .done = add_counts,
        .context = info,
        .separator = info->json ? "," : NULL,
    };
    long nfailed;

    if (info->table)
        puts(info->json ? "["
                        : "        nbytes         stored   ratio     chunks  "
                          "codec, level  frame");
    nfailed = jobs_run(&jobs);
    if (info->table && info->json) {
        puts("]");
    } else if (info->table) {
        print_totals(info->nbytes, info->stored);
        printf("%9s  %-9s  %zu frames\n", "", "", frames->n);
    }
    return nfailed + frames->nfailed;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, OPTION_JSON },
        { "chunks", no_argument, NULL, OPTION_CHUNKS },
        { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        ARGS_ROWS,
    };
    struct info info = { 0 };
    struct tree frames = { 0 };
    bool recursive = false;
    long nfailed;
    int option;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_JSON:
            info.json = true;
            break;
        case OPTION_CHUNKS:
            info.chunks = true;
            break;
        case ARGS_RECURSIVE:
            recursive = true;
            break;
        case ARGS_FRAME_OFFSET:
            info.frame_offset = args_size(verb, optarg);
            break;
        }
    args_frames(verb, argc);
    if (info.chunks && !info.json && (recursive || argc - optind > 1)) {
        log_error("--chunks describes one frame, or many with --json");
        verb_usage(verb);
    }

    info.table = recursive || argc - optind > 1;
    nfailed =
        tree_find_frames(argv + optind, argc - optind,
                         recursive ? TREE_BELOW | TREE_LEAVES : 0, &frames);
    if (nfailed == 0)
        nfailed = info_all(&info, &frames);
    tree_free(&frames);
    return nfailed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_info = {
    .name = "info",
    .args = "[-r] [--json] [--chunks] [--frame-offset N] FRAME...",
    .summary = "Show geometry, codec, sizes and metalayers",
    .help =
        "Options:\n"
        "  --json            print a JSON object\n"
        "  --chunks          print a table of the chunks too\n" ARGS_RECURSIVE_HELP
            ARGS_COMMON_HELP "\n"
        "Several frames, or a tree of them, become one table, or one JSON "
        "array.\n\n"
        "Example:\n"
        "  b2frame info --chunks run7.b2frame\n",
    .run = run,
    .urls = true,
};
