/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_PATH_JSON_H
#define TOOLS_PATH_JSON_H

/* Print the path of a frame as the member "frame" of a JSON object.  If it is
   not UTF-8, which JSON requires, it is escaped, and another member says so. */
void path_json_print(const char *path);

#endif
