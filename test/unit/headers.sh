#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every header of src/ and include/ compiles alone.
# usage: headers.sh SOURCE_ROOT COMPILER...
root=$1
shift
status=0
for header in "$root"/src/*/*.h "$root"/include/*.h; do
    "$@" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused \
        -Werror -fsyntax-only \
        -I"$root/src" -I"$root/include" -x c "$header" || status=1
done
exit $status
