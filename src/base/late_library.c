/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/late_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/log.h"

/* Flags of dlopen() for a scope. */
static int flags_of(enum late_scope scope)
{
    int flags = RTLD_NOW | RTLD_LOCAL;

#ifdef HAVE_DEEPBIND
    if (scope == LATE_ITSELF)
        flags |= RTLD_DEEPBIND;
#else
    (void)scope;
#endif
    return flags;
}

bool late_library_load(const char *soname, enum late_scope scope,
                       const struct late_function *functions, size_t n)
{
    void *library = dlopen(soname, flags_of(scope));

    for (size_t i = 0; library && i < n; i++) {
        void *function = dlsym(library, functions[i].name);

        if (!function) {
            dlclose(library);
            library = NULL;
        } else {
            memcpy(functions[i].place, &function, sizeof(function));
        }
    }
    if (!library)
        log_error("cannot load %s: %s", soname, dlerror());
    return library;
}
