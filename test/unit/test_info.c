/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/info.h"
#include "frame/frame.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

/*
 * Open the frame with this name and any suffix.  Returns NULL if there is no
 * such file, because the row describes a frame at an offset in another one.
 */
static struct frame *open_frame(const char *id)
{
    static const char *const suffixes[] = { ".b2frame", ".b2eframe", ".b2nd" };
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    struct store *store;
    char path[SUITE_DATA_MAX];
    struct stat st;
    size_t i = 0;
    int r;

    do {
        if (i == sizeof(suffixes) / sizeof(suffixes[0]))
            return NULL;
        suite_data_path(path, "frames/%s%s", id, suffixes[i++]);
    } while (stat(path, &st) < 0);

    r = S_ISDIR(st.st_mode)
            ? store_dir_open(AT_FDCWD, path, STORE_FOLLOW, &store)
            : store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store);
    ck_assert_int_eq(r, 0);
    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    return frame;
}

static struct json_object *info_of(struct frame *frame, unsigned parts)
{
    struct json_object *object;
    char *text;

    ck_assert_int_eq(info_text(frame, parts, &text), 0);
    object = json_tokener_parse(text);
    ck_assert_msg(object != NULL, "%s", text);
    free(text);
    return object;
}

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value;

    ck_assert_msg(json_object_object_get_ex(object, key, &value), "%s", key);
    return value;
}

static const char *string_of(struct json_object *object, const char *key)
{
    return json_object_get_string(member(object, key));
}

static uint64_t number_of(struct json_object *object, const char *key)
{
    return json_object_get_uint64(member(object, key));
}

START_TEST(geometry_and_defaults_are_those_of_the_header)
{
    struct frame *frame = open_frame("dict-zstd-7");
    struct json_object *info = info_of(frame, 0);
    struct json_object *filters = member(info, "filters");

    ck_assert_str_eq(string_of(info, "layout"), "contiguous");
    ck_assert_str_eq(string_of(info, "format"), "E");
    ck_assert_str_eq(string_of(info, "codec"), "zstd");
    ck_assert_str_eq(string_of(info, "split"), "compatible");
    ck_assert_uint_eq(number_of(info, "nbytes"), 14928);
    ck_assert_uint_eq(number_of(info, "chunksize"), 6400);
    ck_assert_uint_eq(number_of(info, "blocksize"), 1024);
    ck_assert_uint_eq(number_of(info, "typesize"), 16);
    ck_assert_uint_eq(number_of(info, "nchunks"), 3);
    ck_assert_uint_eq(json_object_array_length(filters), 1);
    ck_assert_str_eq(string_of(json_object_array_get_idx(filters, 0), "name"),
                     "shuffle");
    ck_assert(!json_object_object_get_ex(info, "chunks", NULL));
    json_object_put(info);
    frame_close(frame);
}
END_TEST

START_TEST(the_table_has_every_chunk_in_order)
{
    struct frame *frame = open_frame("zeros-small-dir");
    struct json_object *info = info_of(frame, INFO_CHUNKS);
    struct json_object *chunks = member(info, "chunks");

    ck_assert_uint_eq(json_object_array_length(chunks), 12);
    for (size_t i = 0; i < 12; i++) {
        struct json_object *chunk = json_object_array_get_idx(chunks, i);

        ck_assert_uint_eq(number_of(chunk, "number"), i);
        ck_assert_uint_eq(number_of(chunk, "nbytes"), 1000);
        ck_assert_int_eq(strcmp(string_of(chunk, "kind"), "zeros") == 0,
                         i != 7);
        ck_assert_int_eq(json_object_object_get_ex(chunk, "id", NULL), i == 7);
    }
    json_object_put(info);
    frame_close(frame);
}
END_TEST

/* Does the frame have a metalayer with this content? */
static bool has_layer(struct json_object *info, const char *kind,
                      const char *name, uint64_t size, const char *hex)
{
    struct json_object *layers = member(info, "metalayers");
    size_t n = json_object_array_length(layers);

    for (size_t i = 0; i < n; i++) {
        struct json_object *layer = json_object_array_get_idx(layers, i);

        if (strcmp(string_of(layer, "kind"), kind) == 0 &&
            strcmp(string_of(layer, "name"), name) == 0)
            return number_of(layer, "size") == size &&
                   (size > 64 || strcmp(string_of(layer, "content"), hex) == 0);
    }
    return false;
}

/* Undo the \xHH escapes of the table, in place. */
static void unescape(char *text)
{
    char *to = text;

    for (; *text != '\0'; to++) {
        unsigned byte;

        if (sscanf(text, "\\x%2x", &byte) == 1) {
            *to = (char)byte;
            text += 4;
        } else {
            *to = *text++;
        }
    }
    *to = '\0';
}

START_TEST(every_metalayer_comes_with_its_content)
{
    char path[SUITE_DATA_MAX];
    char line[4096];
    unsigned nchecked = 0;

    suite_data_path(path, "frames/layers.tsv");
    FILE *table = fopen(path, "r");

    ck_assert_ptr_nonnull(table);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), table));
    while (fgets(line, sizeof(line), table)) {
        char *rest = line;
        char *id = strsep(&rest, "\t");
        char *kind = strsep(&rest, "\t");
        char *name = strsep(&rest, "\t");
        char *size = strsep(&rest, "\t");
        struct frame *frame = open_frame(id);

        unescape(name);
        strsep(&rest, "\t");
        if (!frame)
            continue;

        struct json_object *info = info_of(frame, INFO_CONTENT);
        const char *hex = rest ? strsep(&rest, "\t\n") : "";

        ck_assert_msg(
            has_layer(info, kind, name, strtoull(size, NULL, 10), hex),
            "%s: %s", id, name);
        nchecked++;
        json_object_put(info);
        frame_close(frame);
    }
    fclose(table);
    ck_assert_uint_gt(nchecked, 20);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        geometry_and_defaults_are_those_of_the_header,
        the_table_has_every_chunk_in_order,
        every_metalayer_comes_with_its_content,
        NULL,
    };

    return suite_run("info", tests);
}
