/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CURL_H
#define NET_CURL_H

/* The checks of types would call the functions by their names. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

/* The functions of libcurl, which is loaded when the first loop is made. */
struct curl_library {
    __typeof__(curl_easy_cleanup) *curl_easy_cleanup;
    __typeof__(curl_easy_getinfo) *curl_easy_getinfo;
    __typeof__(curl_easy_init) *curl_easy_init;
    __typeof__(curl_easy_setopt) *curl_easy_setopt;
    __typeof__(curl_easy_strerror) *curl_easy_strerror;
    __typeof__(curl_getdate) *curl_getdate;
    __typeof__(curl_global_init) *curl_global_init;
    __typeof__(curl_multi_add_handle) *curl_multi_add_handle;
    __typeof__(curl_multi_cleanup) *curl_multi_cleanup;
    __typeof__(curl_multi_info_read) *curl_multi_info_read;
    __typeof__(curl_multi_init) *curl_multi_init;
    __typeof__(curl_multi_perform) *curl_multi_perform;
    __typeof__(curl_multi_poll) *curl_multi_poll;
    __typeof__(curl_multi_remove_handle) *curl_multi_remove_handle;
    __typeof__(curl_multi_setopt) *curl_multi_setopt;
    __typeof__(curl_multi_wakeup) *curl_multi_wakeup;
    __typeof__(curl_slist_append) *curl_slist_append;
    __typeof__(curl_slist_free_all) *curl_slist_free_all;
};

/* NULL pointers until curl_load(). */
extern struct curl_library libcurl;

/* Load libcurl unless it is loaded.  Returns false if there is none. */
bool curl_load(void);

#endif
