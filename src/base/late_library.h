/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LATE_LIBRARY_H
#define BASE_LATE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A shared library that is loaded when it is first needed.  Few programs need
 * libcurl, libcrypto, libzfp or libsnappy; but with these and the forty
 * libraries that they use, each start of a program would take 6 ms and not 1.
 *
 * A module that uses such a library has a struct of pointers to functions, and
 * a row for each:
 *
 *     static struct {
 *         __typeof__(zfp_compress) *zfp_compress;
 *     } lib;
 *     static const struct late_function functions[] = {
 *         LATE_FUNCTION(lib, zfp_compress),
 *     };
 */
struct late_function {
    const char *name;
    void *place; /* of the pointer */
};

#define LATE_FUNCTION(lib, name) \
    {                            \
#name, &(lib).name       \
    }

/* Where a library finds the functions that it uses. */
enum late_scope {
    LATE_PROGRAM, /* first in the program, as other libraries do */
    LATE_ITSELF,  /* first in itself, because other libraries of the program may
                     contain another version of it, as libblosc2 does of libzfp.
                     A sanitizer rules this out */
};

/*
 * Load a library, and set the pointers.  The caller sees to it that this is
 * done once, by pthread_once().  The library stays loaded.
 *
 *  soname  its name for the dynamic linker
 *
 * Returns false, after a line in the log, if the library or a function is
 * missing.
 */
bool late_library_load(const char *soname, enum late_scope scope,
                       const struct late_function *functions, size_t n);

#endif
