/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/metalayer.h"
#include "frame_build.h"
#include "frame_examples.h"
#include "frame_open.h"
#include "suite.h"

static void read_list(struct frame *frame, struct metalayer_list *list)
{
    struct fault fault = FAULT_NONE;
    int r = metalayer_list_read(frame, list, &fault);

    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
}

static void check_layer(struct frame *frame, const struct metalayer *layer,
                        const void *bytes, size_t len)
{
    struct fault fault = FAULT_NONE;
    uint8_t *content;
    uint32_t size;

    ck_assert_ptr_nonnull(layer);
    ck_assert_int_eq(metalayer_size(frame, layer, &size, &fault), 0);
    ck_assert_uint_eq(size, len);
    ck_assert_int_eq(metalayer_read(frame, layer, len, &content, &fault),
                     (ssize_t)len);
    ck_assert_mem_eq(content, bytes, len);
    free(content);
    if (len > 0)
        ck_assert_int_eq(
            metalayer_read(frame, layer, len - 1, &content, &fault), -E2BIG);
}

START_TEST(layers_of_the_worked_example_are_read)
{
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));
    struct metalayer_list list;

    read_list(frame, &list);
    ck_assert_uint_eq(list.nlayers, 3);
    ck_assert_str_eq(list.layers[0].name, "foo");
    ck_assert_int_eq(list.layers[0].kind, METALAYER_FIXED);
    ck_assert_uint_eq(list.layers[0].off, 0x76);
    check_layer(frame, &list.layers[0], "hello", 5);
    ck_assert_str_eq(list.layers[1].name, "a");
    check_layer(frame, &list.layers[1], "", 0);
    ck_assert_str_eq(list.layers[2].name, "v1");
    ck_assert_int_eq(list.layers[2].kind, METALAYER_VL);
    ck_assert_uint_eq(list.layers[2].len, 0x24);
    check_layer(frame, &list.layers[2], "note", 4);
    metalayer_list_free(&list);
    frame_close(frame);
}
END_TEST

START_TEST(a_layer_is_found_by_kind_and_name)
{
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));
    struct metalayer_list list;

    read_list(frame, &list);
    ck_assert_ptr_eq(metalayer_find(&list, METALAYER_FIXED, "a"),
                     &list.layers[1]);
    ck_assert_ptr_eq(metalayer_find(&list, METALAYER_VL, "v1"),
                     &list.layers[2]);
    ck_assert_ptr_null(metalayer_find(&list, METALAYER_VL, "a"));
    ck_assert_ptr_null(metalayer_find(&list, METALAYER_FIXED, "fo"));
    metalayer_list_free(&list);
    metalayer_list_free(&list);
    frame_close(frame);
}
END_TEST

START_TEST(offsets_of_layers_count_from_the_frame)
{
    struct build *file = build_new();
    struct metalayer_list list;
    struct fault fault;
    struct frame *frame;

    build_bytes(file, "something before", 16);
    build_bytes(file, frame_worked, sizeof(frame_worked));
    ck_assert_int_eq(try_open(file->bytes, file->len, 16, &frame, &fault), 0);
    read_list(frame, &list);
    ck_assert_uint_eq(list.layers[0].off, 16 + 0x76);
    check_layer(frame, &list.layers[0], "hello", 5);
    check_layer(frame, &list.layers[2], "note", 4);
    metalayer_list_free(&list);
    frame_close(frame);
    free(file);
}
END_TEST

START_TEST(a_frame_may_have_no_layers)
{
    struct frame *frame = open_bytes(frame_empty, sizeof(frame_empty));
    struct metalayer_list list;

    read_list(frame, &list);
    ck_assert_uint_eq(list.nlayers, 0);
    metalayer_list_free(&list);
    frame_close(frame);
}
END_TEST

/* A changed byte of the worked example, and the offset of the fault. */
struct change {
    uint16_t off;
    uint8_t byte;
    uint16_t fault_off;
};

static struct frame *open_changed(uint8_t bytes[sizeof(frame_worked)],
                                  const struct change *change)
{
    memcpy(bytes, frame_worked, sizeof(frame_worked));
    bytes[change->off] = change->byte;
    return open_bytes(bytes, sizeof(frame_worked));
}

START_TEST(names_that_break_the_format_are_refused)
{
    static const struct change changes[] = {
        /* In the header. */
        { 0x57, 0x94, 0x57 },
        { 0x58, 0xce, 0x58 },
        { 0x5b, 0xdf, 0x5b },
        { 0x5d, 17, 0x57 + 7 }, /* too many */
        { 0x5d, 3, 0x6e },      /* one more than exist */
        { 0x5e, 0xc3, 0x5e },   /* not a string */
        { 0x5e, 0xbf, 0x7e },   /* a longer name */
        { 0x60, 0x00, 0x62 },   /* NUL in the name */
        { 0x62, 0xd1, 0x62 },   /* not an offset */
        { 0x65, 0x01, 0x57 },   /* offset beyond the header */
        { 0x66, 0x7c, 0x57 },   /* no room for a length */
        { 0x66, 0x72, 0x72 },   /* not at a value */
        { 0x6e, 0xdd, 0x6e },   /* not an array */
        { 0x70, 0x01, 0x71 },   /* another length */
        { 0x71, 0xc5, 0x71 },
        { 0x75, 0x0b, 0x71 }, /* content beyond the header */
        { 0x72, 0x80, 0x71 },
        /* In the trailer. */
        { 0x116, 0x94, 0x116 },
        { 0x117, 0xce, 0x117 },
        { 0x11a, 0xdf, 0x11a },
        { 0x11b, 0x80, 0x11d },
        { 0x11d, 0xc2, 0x11d },
        { 0x124, 0xff, 0x116 },
        { 0x124, 0x15, 0x129 },
        { 0x12c, 0x25, 0x128 },
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        uint8_t bytes[sizeof(frame_worked)];
        struct frame *frame = open_changed(bytes, &changes[i]);
        struct fault fault = FAULT_NONE;
        struct metalayer_list list;

        ck_assert_msg(metalayer_list_read(frame, &list, &fault) == -EBADMSG,
                      "byte %#x", changes[i].off);
        ck_assert_msg(fault.off == changes[i].fault_off, "byte %#x: %s at %#x",
                      changes[i].off, fault.what, (unsigned)fault.off);
        frame_close(frame);
    }
}
END_TEST

START_TEST(two_layers_of_one_name_are_refused)
{
    uint8_t bytes[sizeof(frame_worked)];
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;
    struct frame *frame;

    memcpy(bytes, frame_worked, sizeof(bytes));
    memcpy(bytes + 0x5e, "\xa2oo\xd2\0\0\0\x71\xa2oo\xd2\0\0\0\x7b", 16);
    frame = open_bytes(bytes, sizeof(bytes));
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 0x57);
    frame_close(frame);
}
END_TEST

START_TEST(a_damaged_vlmetalayer_is_refused_when_it_is_read)
{
    static const struct change changes[] = {
        { 0x12c, 0x23, 0x12d }, /* cbytes differs */
        { 0x12d + 4, 0x05, 0x12d + 12 },
        { 0x12d + 3, 0x00, 0x12d + 3 },
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        uint8_t bytes[sizeof(frame_worked)];
        struct frame *frame = open_changed(bytes, &changes[i]);
        struct fault fault = FAULT_NONE;
        struct metalayer_list list;
        uint8_t *content;

        read_list(frame, &list);
        ck_assert_int_eq(
            metalayer_read(frame, &list.layers[2], 100, &content, &fault),
            -EBADMSG);
        ck_assert_msg(fault.off == changes[i].fault_off, "%s at %#x",
                      fault.what, (unsigned)fault.off);
        check_layer(frame, &list.layers[0], "hello", 5);
        metalayer_list_free(&list);
        frame_close(frame);
    }
}
END_TEST

START_TEST(the_trailer_needs_room_for_what_it_holds)
{
    uint8_t bytes[sizeof(frame_empty)];
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;
    struct frame *frame;

    /* These lengths leave only a part of the trailer. */
    for (uint8_t len = 25; len < 35; len++) {
        memcpy(bytes, frame_empty, sizeof(bytes));
        bytes[sizeof(bytes) - 19] = len;
        frame = open_bytes(bytes, sizeof(bytes));
        ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), -EBADMSG);
        frame_close(frame);
    }
}
END_TEST

START_TEST(frames_of_all_layouts_show_their_layers)
{
    static const char my_info[] = "0123456789";
    static const uint8_t second[] = { 0x93, 1, 2, 3 };
    static const struct {
        const char *name;
        enum metalayer_kind last;
    } frames[] = {
        { "frames/beta1-meta.b2frame", METALAYER_FIXED },
        { "frames/beta3-usermeta.b2frame", METALAYER_USERMETA },
        { "frames/dev20210204-le.b2frame", METALAYER_USERMETA },
        { "frames/dev20210214-vl13.b2frame", METALAYER_VL },
        { "frames/rc2-ops.b2frame", METALAYER_VL },
    };

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        struct frame *frame = open_data(frames[i].name);
        struct metalayer_list list;

        read_list(frame, &list);
        ck_assert_uint_ge(list.nlayers, 2);
        ck_assert_str_eq(list.layers[0].name, "my_info");
        check_layer(frame, &list.layers[0], my_info, 10);
        ck_assert_str_eq(list.layers[1].name, "second");
        check_layer(frame, &list.layers[1], second, 4);
        ck_assert_int_eq(list.layers[list.nlayers - 1].kind, frames[i].last);
        metalayer_list_free(&list);
        frame_close(frame);
    }
}
END_TEST

START_TEST(the_user_meta_is_one_layer_without_name)
{
    struct frame *frame = open_data("frames/beta3-usermeta.b2frame");
    const struct metalayer *layer;
    struct metalayer_list list;
    struct fault fault = FAULT_NONE;
    uint32_t size;

    read_list(frame, &list);
    layer = metalayer_find(&list, METALAYER_USERMETA, "");
    ck_assert_ptr_nonnull(layer);
    ck_assert_int_eq(metalayer_size(frame, layer, &size, &fault), 0);
    ck_assert_uint_eq(size, 300);
    metalayer_list_free(&list);
    frame_close(frame);

    frame = open_data("frames/beta4-plain.b2frame");
    read_list(frame, &list);
    ck_assert_uint_eq(list.nlayers, 0);
    metalayer_list_free(&list);
    frame_close(frame);
}
END_TEST

/*
 * Build a frame without chunks that has this many vlmetalayers, named by their
 * numbers, which all share one value.
 */
static struct build *many_vlmetalayers(unsigned count)
{
    struct build *build = build_new();
    struct build *trailer = build_new();
    uint32_t value = 9 + 9 * count + 3;
    uint32_t len = value + 5 + 36 + 23;
    uint8_t head[] = {
        0x94, 1, 0x93, 0xcd, 0, 0, 0xde, (uint8_t)(count >> 8), (uint8_t)count
    };
    uint8_t end[23] = {
        0xce, 0, (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, 0xd8
    };

    build_bytes(trailer, head, sizeof(head));
    for (unsigned i = 0; i < count; i++) {
        char name[6];
        uint8_t off[] = { 0xd2, 0, (uint8_t)(value >> 16),
                          (uint8_t)(value >> 8), (uint8_t)value };

        snprintf(name, sizeof(name), "%03x", i & 0xfff);
        build_bytes(trailer, "\xa3", 1);
        build_bytes(trailer, name, 3);
        build_bytes(trailer, off, sizeof(off));
    }
    build_bytes(trailer, "\xdc", 1);
    build_bytes(trailer, head + 7, 2);
    build_bytes(trailer, "\xc6\0\0\0\x24", 5);
    build_copy(trailer, 1, "note", 4);
    build_bytes(trailer, end, sizeof(end));
    ck_assert_uint_eq(trailer->len, len);

    build_bytes(build, frame_empty, 97);
    build_bytes(build, trailer->bytes, trailer->len);
    build->bytes[0x15] = (uint8_t)(build->len >> 16);
    build->bytes[0x16] = (uint8_t)(build->len >> 8);
    build->bytes[0x17] = (uint8_t)build->len;
    free(trailer);
    return build;
}

START_TEST(there_may_be_thousands_of_vlmetalayers)
{
    struct build *build = many_vlmetalayers(4096);
    struct frame *frame = open_bytes(build->bytes, build->len);
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;

    read_list(frame, &list);
    ck_assert_uint_eq(list.nlayers, 4096);
    check_layer(frame, metalayer_find(&list, METALAYER_VL, "fff"), "note", 4);
    metalayer_list_free(&list);
    frame_close(frame);
    free(build);

    build = many_vlmetalayers(8193);
    frame = open_bytes(build->bytes, build->len);
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), -EBADMSG);
    ck_assert_str_eq(fault.what, "too many metalayers");
    frame_close(frame);
    free(build);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        layers_of_the_worked_example_are_read,
        a_layer_is_found_by_kind_and_name,
        offsets_of_layers_count_from_the_frame,
        a_frame_may_have_no_layers,
        names_that_break_the_format_are_refused,
        two_layers_of_one_name_are_refused,
        a_damaged_vlmetalayer_is_refused_when_it_is_read,
        the_trailer_needs_room_for_what_it_holds,
        frames_of_all_layouts_show_their_layers,
        the_user_meta_is_one_layer_without_name,
        there_may_be_thousands_of_vlmetalayers,
        NULL,
    };

    return suite_run("metalayer", tests);
}
