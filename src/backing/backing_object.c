/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_object.h"

#include <errno.h>

#include "backing/backing_ops.h"

int backing_pin(const struct backing_place *place, enum entry_kind kind,
                struct backing_object *out)
{
    return place->ops->pin ? place->ops->pin(place, kind, out) : -EROFS;
}

void backing_unpin(struct backing_object *object)
{
    object->ops->unpin(object);
}

int backing_chmod(const struct backing_object *object, mode_t mode)
{
    return object->ops->chmod(object, mode);
}

int backing_chown(const struct backing_object *object, uid_t uid, gid_t gid)
{
    return object->ops->chown(object, uid, gid);
}

int backing_utimens(const struct backing_object *object,
                    const struct timespec times[2])
{
    return object->ops->utimens(object, times);
}

ssize_t backing_getxattr(const struct backing_object *object, const char *name,
                         void *value, size_t size)
{
    return object->ops->getxattr(object, name, value, size);
}

ssize_t backing_listxattr(const struct backing_object *object, char *list,
                          size_t size)
{
    return object->ops->listxattr(object, list, size);
}

int backing_setxattr(const struct backing_object *object, const char *name,
                     const void *value, size_t size, int flags)
{
    return object->ops->setxattr(object, name, value, size, flags);
}

int backing_removexattr(const struct backing_object *object, const char *name)
{
    return object->ops->removexattr(object, name);
}
