/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/curl.h"

#include <pthread.h>

#include "base/late_library.h"

struct curl_library libcurl;

static const struct late_function functions[] = {
    LATE_FUNCTION(libcurl, curl_easy_cleanup),
    LATE_FUNCTION(libcurl, curl_easy_getinfo),
    LATE_FUNCTION(libcurl, curl_easy_init),
    LATE_FUNCTION(libcurl, curl_easy_setopt),
    LATE_FUNCTION(libcurl, curl_easy_strerror),
    LATE_FUNCTION(libcurl, curl_getdate),
    LATE_FUNCTION(libcurl, curl_global_init),
    LATE_FUNCTION(libcurl, curl_multi_add_handle),
    LATE_FUNCTION(libcurl, curl_multi_cleanup),
    LATE_FUNCTION(libcurl, curl_multi_info_read),
    LATE_FUNCTION(libcurl, curl_multi_init),
    LATE_FUNCTION(libcurl, curl_multi_perform),
    LATE_FUNCTION(libcurl, curl_multi_poll),
    LATE_FUNCTION(libcurl, curl_multi_remove_handle),
    LATE_FUNCTION(libcurl, curl_multi_setopt),
    LATE_FUNCTION(libcurl, curl_multi_wakeup),
    LATE_FUNCTION(libcurl, curl_slist_append),
    LATE_FUNCTION(libcurl, curl_slist_free_all),
};

static bool loaded;

static void load(void)
{
    loaded = late_library_load(CURL_SONAME, LATE_PROGRAM, functions,
                               sizeof(functions) / sizeof(functions[0]));
}

bool curl_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded;
}
