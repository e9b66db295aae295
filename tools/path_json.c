/* SPDX-License-Identifier: BSD-3-Clause */
#include "path_json.h"

#include <json.h>
#include <limits.h>
#include <stdio.h>

#include "base/text.h"

static void print_string(const char *text)
{
    struct json_object *string = json_object_new_string(text);

    fputs(json_object_to_json_string_ext(
              string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
          stdout);
    json_object_put(string);
}

void path_json_print(const char *path)
{
    char text[TEXT_ESCAPED_SIZE(PATH_MAX)];

    fputs("\"frame\": ", stdout);
    if (text_is_utf8(path)) {
        print_string(path);
        return;
    }
    text_escape(path, TEXT_PLAIN_ASCII, text, sizeof(text));
    print_string(text);
    fputs(", \"escaped\": true", stdout);
}
