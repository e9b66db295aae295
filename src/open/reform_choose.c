/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/npy.h"
#include "bundle/bundle.h"
#include "frame/metalayer.h"
#include "open/reform_private.h"
#include "tree/report.h"

enum {
    NPY_HEADER_MAX = 1 << 20,
    TYPESIZE_MAX = 255,
    ROWS = 8, /* rows of chunks for which the cache has space */
};

/* Has the frame metalayers, which a plain file could not have?  Returns 1, 0 or
   an error. */
static int has_layers(struct file *file)
{
    struct frame *frame = file_frame_get(file);
    struct fault fault = FAULT_NONE;
    struct metalayer_list list;
    int r = metalayer_list_read(frame, &list, &fault);

    file_frame_put(file, frame);
    if (r < 0)
        return r;
    r = list.nlayers > 0;
    metalayer_list_free(&list);
    return r;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t n = strlen(suffix);

    return len > n && strcmp(name + len - n, suffix) == 0;
}

/* Is the file to become an array if it holds one? */
static bool is_npy(const struct reform *reform)
{
    return reform->fs->source.npy && ends_in(reform->shown, NAMES_NPY);
}

bool reform_is_array(const struct reform *reform)
{
    char stem[NAME_MAX + 1];

    return ends_in(reform->shown, NAMES_NPY) &&
           names_stem(reform->old.name, stem) &&
           strlen(stem) + strlen(NAMES_NPY) == strlen(reform->shown) &&
           strncmp(stem, reform->shown, strlen(stem)) == 0;
}

/* The rule for the names of the directory without the old entry. */
static struct names_dir names_without_old(struct reform *reform)
{
    const struct names_change leaves = { .name = reform->old.name };
    struct names_dir names = backing_names(&reform->old.dir);

    names_note(&names, &leaves);
    return names;
}

static enum entry_kind frame_kind(const struct fs *fs)
{
    return fs->sparse ? ENTRY_SPARSE : ENTRY_FRAME;
}

int reform_choose_frame(struct reform *reform)
{
    struct names_dir names = names_without_old(reform);
    const struct names_frame frame = { .kind = frame_kind(reform->fs) };
    int r = names_new(&names, reform->shown, &frame, reform->new.name);

    if (r == 0)
        r = backing_check_name(&reform->old.dir, reform->new.name, frame.kind,
                               reform->st.st_mode);
    reform->new.kind = frame.kind;
    reform->params = reform->fs->params;
    return r < 0 ? r : 1;
}

/* Do the bytes of the file begin with the header of a .npy file?  Then this
   reads it.  Returns 1, 0 or an error. */
static int read_header(struct reform *reform, uint64_t size)
{
    uint8_t head[NPY_HEAD_LEN];
    uint64_t len;
    int r;

    if (size < sizeof(head))
        return 0;
    r = reform_read(&reform->from, 0, head, sizeof(head));
    len = r == 0 ? npy_header_len(head) : 0;
    if (len == 0 || len > NPY_HEADER_MAX || len > size)
        return r;
    reform->header = malloc(len);
    if (!reform->header)
        return -ENOMEM;
    reform->header_len = len;
    r = reform_read(&reform->from, 0, reform->header, len);
    return r < 0 ? r : 1;
}

/* Choose chunks and blocks of an array that the cache can hold while it is
   written in C order. */
static void choose_parts(const struct reform *reform,
                         struct layout_shape *shape, uint32_t itemsize)
{
    const struct file_params *params = &reform->fs->params;
    struct layout_sizes sizes = { params->chunksize, params->chunk.blocksize,
                                  0 };
    struct file_stats stats;

    file_context_stats(reform->fs->files, &stats);
    sizes.row = stats.cache_size / ROWS;
    layout_choose_parts(shape, itemsize, &sizes);
}

/* Can an array hold these items, as they are in the file?  Arrays of structures
   are left alone, because NumPy writes their headers in many ways. */
static bool is_suitable(const struct reform *reform, const struct npy *npy,
                        uint64_t size)
{
    struct layout_shape shape = npy->shape;
    struct fault fault = FAULT_NONE;
    struct layout layout;

    if (npy->fortran || npy->itemsize > TYPESIZE_MAX ||
        strchr("[({", npy->dtype[0]))
        return false;
    choose_parts(reform, &shape, npy->itemsize);
    return layout_init(&layout, &shape, npy->itemsize, &fault) == 0 &&
           reform->header_len + layout.nbytes == size;
}

/* Take over shape and dtype. */
static void set_array(struct reform *reform, struct npy *npy)
{
    reform->params = reform->fs->params;
    choose_parts(reform, &npy->shape, npy->itemsize);
    reform->array = (struct file_array){ npy->shape, npy->dtype, NULL };
    reform->params.chunk.typesize = npy->itemsize;
    reform->params.array = &reform->array;
    npy->dtype = NULL;
}

/* Parse the header, and set the array. */
static int parse_array(struct reform *reform)
{
    int64_t size = reform_size(&reform->from);
    struct npy npy = { 0 };
    int r = size < 0 ? (int)size : read_header(reform, (uint64_t)size);

    if (r <= 0)
        return r;
    r = npy_parse(reform->header, reform->header_len, &npy);
    if (r == -EINVAL || (r == 0 && !is_suitable(reform, &npy, (uint64_t)size)))
        r = 0;
    else if (r == 0)
        r = 1;
    if (r > 0)
        set_array(reform, &npy);
    npy_fini(&npy);
    return r;
}

/* Choose the name of an array.  Returns 1; 0 if it would not show in the place
   of the file; or an error. */
static int name_array(struct reform *reform)
{
    struct names_dir names = names_without_old(reform);
    const struct names_change comes = { reform->new.name,
                                        frame_kind(reform->fs), 1 };
    size_t len = strlen(reform->shown) - strlen(NAMES_NPY);

    memcpy(reform->new.name, reform->shown, len);
    strcpy(reform->new.name + len, ".b2nd");
    reform->new.kind = comes.kind;
    return names_will_show(&names, &comes, reform->shown);
}

/* Is the file the .npy file of an array?  Returns as reform_choose(). */
static int choose_array(struct reform *reform)
{
    int r = parse_array(reform);

    if (r > 0)
        r = params_check(&reform->params) == 0 ? name_array(reform) : 0;
    if (r == 0)
        report_text(&reform->fs->nodes, reform->node,
                    "stays an ordinary file, because it holds no array in the "
                    "form that numpy.save() gives it in C order");
    if (r <= 0) {
        free(reform->header);
        reform->header = NULL;
        reform->header_len = 0;
    }
    return r;
}

/* May a plain file have this name?  Its bytes must not be taken for a frame or
   a store. */
static bool may_be_plain(struct reform *reform)
{
    return strcmp(reform->shown, reform->old.name) != 0 &&
           !names_has_suffix(reform->shown) &&
           !bundle_has_suffix(reform->shown) &&
           backing_check_name(&reform->old.dir, reform->shown, ENTRY_PLAIN,
                              reform->st.st_mode) == 0;
}

static bool is_small(const struct reform *reform, uint64_t size)
{
    return size < reform->fs->plain.below;
}

/* Does it not pay to store a file as a frame?  Returns 1, 0 or an error. */
static int choose_plain(struct reform *reform)
{
    struct file *file = reform->from.file;
    int r = is_small(reform, file_size(file));

    if (r == 0 && reform->fs->plain.incompressible && file_size(file) > 0) {
        r = reform_pays(file);
        r = r < 0 ? r : r == 0;
    }
    if (r <= 0 || !may_be_plain(reform))
        return r < 0 ? r : 0;
    strcpy(reform->new.name, reform->shown);
    reform->new.kind = ENTRY_PLAIN;
    return 1;
}

static int choose_for_frame(struct reform *reform)
{
    int r = has_layers(reform->from.file);

    if (r != 0)
        return r < 0 ? r : 0;
    if (is_npy(reform))
        r = choose_array(reform);
    return r == 0 ? choose_plain(reform) : r;
}

/* Was a plain file stored because it did not pay?  Returns 1, 0 or an error. */
static int is_marked(const struct reform *reform)
{
    struct backing_object object;
    char value[1];
    int r = backing_pin(&reform->place, ENTRY_PLAIN, &object);

    if (r < 0)
        return r;
    r = backing_getxattr(&object, REFORM_MARK, value, sizeof(value)) > 0;
    backing_unpin(&object);
    return r;
}

static int choose_for_plain(struct reform *reform)
{
    int64_t size = reform_size(&reform->from);
    int r = size < 0 ? (int)size : is_marked(reform);

    if (r > 0 && is_npy(reform)) {
        r = choose_array(reform);
        if (r != 0)
            return r;
        r = 1;
    }
    if (r <= 0 || size == 0 || is_small(reform, (uint64_t)size))
        return r < 0 ? r : 0;
    reform->must_pay = reform->fs->plain.incompressible;
    return reform_choose_frame(reform);
}

int reform_choose(struct reform *reform)
{
    return reform->from.file ? choose_for_frame(reform)
                             : choose_for_plain(reform);
}
