/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/dtype.h"
#include "frame/frame_remote.h"
#include "lib/libframefs_private.h"
#include "state/params.h"
#include "store/store_local.h"

/* Parameters of a new frame. */
struct creation {
    struct file_params params;
    bool sparse;
};

static int set_creation(void *to, const char *name, const char *value)
{
    struct creation *creation = to;

    if (strcmp(name, "layout") != 0)
        return params_set(&creation->params, name, value);
    return params_set_layout(value, &creation->sparse);
}

/* Make the store of a new frame.  A directory is created at once; a file is
   created with the frame. */
static int make_store(const char *path, bool sparse, unsigned flags,
                      struct store **out)
{
    flags |= STORE_WRITE | STORE_FOLLOW;
    if (!sparse)
        return store_file_open(AT_FDCWD, path, flags | STORE_NEW, out);
    if (mkdir(path, 0777) < 0)
        return -errno;
    return store_dir_open(AT_FDCWD, path, flags, out);
}

/* Make the store of a new frame on a server, which is sparse. */
static int make_remote_store(struct file_context *context, const char *url,
                             struct store **out, const char **why)
{
    struct net *net = NULL;
    int r = file_context_net(context, &net);

    if (r == 0) {
        r = frame_remote_create(net, url, false, out, why);
        net_put(net);
    }
    return r;
}

/* Make a frame in memory. */
static int make_memory(struct framefs_frame *frame,
                       const struct creation *creation, struct fault *fault)
{
    int r;

    if (creation->sparse)
        return fault_set(fault, -EINVAL, 0, "a sparse frame is a directory");
    r = store_buffer_new(&frame->memory);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return file_create(frame->fs->context, frame->memory, &creation->params,
                       &frame->file, fault);
}

static int make_file(struct framefs_frame *frame,
                     const struct creation *creation, struct fault *fault)
{
    struct file_context *context = frame->fs->context;
    const char *why = NULL;
    struct store *store;
    int r;

    if (url_is(frame->path))
        r = make_remote_store(context, frame->path, &store, &why);
    else
        r = make_store(frame->path, creation->sparse, file_store_flags(context),
                       &store);
    if (r < 0)
        return fault_set(fault, r, 0, why);
    r = file_create(context, store, &creation->params, &frame->file, fault);
    store_close(store);
    if (r < 0 && creation->sparse && !url_is(frame->path))
        rmdir(frame->path);
    return r;
}

/* Create a frame from checked parameters, and open it.  `path` is NULL for one
   in memory. */
static int create(struct framefs *fs, const char *path, int flags,
                  const struct creation *creation, struct framefs_frame **out)
{
    struct fault fault = FAULT_NONE;
    struct framefs_frame *frame = NULL;
    int r = path ? libframefs_check_name(path) : 0;

    if (r < 0)
        return r;
    r = libframefs_new_frame(fs, path ? path : "memory", flags, &frame);
    if (r < 0)
        return r;
    r = path ? make_file(frame, creation, &fault)
             : make_memory(frame, creation, &fault);
    if (r < 0) {
        libframefs_fail(frame->path, r, &fault);
        libframefs_free_frame(frame);
        return r;
    }
    *out = frame;
    return 0;
}

static int refuse_options(const char *options)
{
    return libframefs_refuse(options ? options : "options", -EINVAL,
                             "options do not go together");
}

int framefs_create(struct framefs *fs, const char *path, const char *options,
                   struct framefs_frame **out)
{
    struct creation creation = { .params = params_default };
    int r = libframefs_set_options(options, &creation, set_creation);

    if (r < 0)
        return r;
    if (params_check(&creation.params) < 0)
        return refuse_options(options);
    return create(fs, path, FRAMEFS_WRITE, &creation, out);
}

/* Take the extents that the caller has not left at 0. */
static void take_given(const uint32_t *given, unsigned ndim, uint32_t *extents)
{
    for (unsigned i = 0; i < ndim; i++)
        if (given[i] > 0)
            extents[i] = given[i];
}

static void take_shape(const struct framefs_array *from,
                       const struct file_params *params,
                       struct layout_shape *out)
{
    uint32_t blocksize = params->chunk.blocksize;
    uint64_t chunk[ARRAY_NDIM_MAX];

    *out = (struct layout_shape){ .ndim = from->ndim };
    for (unsigned i = 0; i < from->ndim; i++)
        out->items[i] = from->shape[i];
    layout_choose(out->items, out->ndim, from->itemsize, params->chunksize,
                  out->chunk);
    take_given(from->chunks, out->ndim, out->chunk);
    for (unsigned i = 0; i < from->ndim; i++)
        chunk[i] = out->chunk[i];
    layout_choose(chunk, out->ndim, from->itemsize,
                  blocksize > 0 ? blocksize : LAYOUT_AUTO_BLOCK, out->block);
    take_given(from->blocks, out->ndim, out->block);
}

static int check_array(const struct framefs_array *array)
{
    const char *dtype = array->dtype;
    struct dtype parsed = { 0 };
    bool fits = true;

    if (array->ndim > ARRAY_NDIM_MAX || array->itemsize == 0 ||
        array->itemsize > INT32_MAX)
        return libframefs_refuse("array", -EINVAL, NULL);
    if (dtype) {
        fits = dtype_parse(dtype, &parsed) == 0 && parsed.ndim == 0 &&
               parsed.itemsize == array->itemsize;
        dtype_fini(&parsed);
    }
    return fits ? 0
                : libframefs_refuse(dtype, -EINVAL,
                                    "not a dtype of items of this size");
}

int framefs_array_create(struct framefs *fs, const char *path,
                         const char *options, const struct framefs_array *array,
                         struct framefs_frame **out)
{
    struct creation creation = { .params = params_default };
    struct file_array shape = { .dtype = array->dtype };
    int r = check_array(array);

    if (r == 0)
        r = libframefs_set_options(options, &creation, set_creation);
    if (r < 0)
        return r;
    creation.params.chunk.typesize = array->itemsize;
    take_shape(array, &creation.params, &shape.shape);
    creation.params.array = &shape;
    if (params_check(&creation.params) < 0)
        return refuse_options(options);
    return create(fs, path, FRAMEFS_WRITE | FRAMEFS_ARRAY, &creation, out);
}

/* Copy the bytes of a frame in memory, to which nothing is left to commit. */
static ssize_t copy_memory(const struct framefs_frame *frame, void *buf,
                           size_t size)
{
    struct store_object *object;
    struct store_stat stat;
    int r = store_open(frame->memory, "", &object);

    if (r < 0)
        return libframefs_refuse(frame->path, r, NULL);
    r = store_object_stat(object, &stat);
    if (r == 0 && size > 0 && size < stat.version.size)
        r = -ERANGE;
    if (r == 0 && size > 0)
        r = store_object_read_at(object, 0, buf, (size_t)stat.version.size);
    store_object_close(object);
    return r < 0 ? libframefs_refuse(frame->path, r, NULL)
                 : (ssize_t)stat.version.size;
}

ssize_t framefs_memory_get(struct framefs_frame *frame, void *buf, size_t size)
{
    struct fault fault = FAULT_NONE;
    ssize_t n;

    if (!frame->memory)
        return libframefs_refuse(frame->path, -EINVAL,
                                 "the frame is not in memory");
    /* No thread writes, and after the sync nothing is left to be committed in
       the background, so the bytes belong together. */
    pthread_rwlock_wrlock(&frame->lock);
    n = file_sync(frame->file, &fault);
    if (n < 0)
        libframefs_fail(frame->path, (int)n, &fault);
    else
        n = copy_memory(frame, buf, size);
    pthread_rwlock_unlock(&frame->lock);
    return n;
}
