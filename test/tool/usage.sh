#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test: b2frame usage
#
# Wrong usage exits 2 and says how to do it right, on standard error alone;
# help goes to standard output.
#
# usage: usage.sh B2FRAME
set -u
export LC_ALL=C
tool=$1
frame=$(dirname "$0")/../data/frames/chunk-4mib.b2frame
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# fails STATUS PATTERN ARGUMENT...: the tool exits with STATUS, and its standard
# error has the pattern.
fails() {
    status=$1 pattern=$2
    shift 2
    "$tool" "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    if [ $got -ne $status ] || [ -s "$dir/out" ] ||
        ! grep -q -e "$pattern" "$dir/err"; then
        echo "b2frame $*: status $got, and says:"
        cat "$dir/out" "$dir/err"
        failed=1
    fi
}

# works PATTERN ARGUMENT...: the tool succeeds, and its standard output has the
# pattern.
works() {
    pattern=$1
    shift
    if ! "$tool" "$@" >"$dir/out" 2>"$dir/err" || [ -s "$dir/err" ] ||
        ! grep -q -e "$pattern" "$dir/out"; then
        echo "b2frame $*: says:"
        cat "$dir/out" "$dir/err"
        failed=1
    fi
}

fails 2 '^usage: b2frame \[--lock\] VERB'
fails 2 'timeout=no: not a list' cat -o timeout=no frame
fails 2 'strange=1: not a list' -ostrange=1 cat frame
fails 2 'wants OPTION' cat frame -o
fails 2 '^usage: b2frame \[--lock\] VERB' --lock
fails 2 "unknown verb 'frobnicate'" frobnicate
fails 2 "unknown option '--frobnicate'" --frobnicate
for verb in info cat verify repair map; do
    fails 2 "^usage: b2frame $verb " $verb
    fails 2 "--frobnicate" $verb --frobnicate "$frame"
    fails 2 "'-1' is no number" $verb --frame-offset -1 "$frame"
    fails 1 'No such file or directory' $verb "$dir/none"
    fails 1 "$dir/none: " $verb "$dir/none"
    fails 1 "$dir: " $verb "$dir"
    fails 1 'Is a directory' $verb --frame-offset 1 "$dir"
    works '^Example:' $verb --help
done
for size in '' x 1x 1KBB 0x10 ' 1' 1.5M 16777216T 18446744073709551616; do
    fails 2 'is no number of bytes' cat --offset "$size" "$frame"
done
fails 2 'one argument too many' cat "$frame" "$frame"
fails 2 'one argument too many' map "$frame" "$frame"

works '^  verify ' --help
works '^b2frame [0-9]' --version
if [ "$("$tool" cat --offset 4095K --length 2K "$frame" | wc -c)" -ne 1024 ]
then
    echo 'cat does not cut a length at the end'
    failed=1
fi
works ': ok' verify "$frame" "$frame"
if ! "$tool" verify --quiet "$frame" >"$dir/out" || [ -s "$dir/out" ]; then
    echo 'verify --quiet names a good frame'
    failed=1
fi

# Names may hold any bytes, but must break neither lines nor JSON.
odd=$dir/$(printf 'a\nb\377')
cp "$frame" "$odd"
works '/a.x0ab.*: ok' verify "$odd"
works '/a..x0ab..xff", "escaped": true' verify --json "$odd"
fails 1 '/none.x0a: No such file or directory$' info "$dir/none
"

"$tool" info "$frame" >/dev/full 2>"$dir/err"
if [ $? -ne 1 ] || ! grep -q 'No space left' "$dir/err"; then
    echo 'a full disk passes unnoticed'
    failed=1
fi
"$tool" cat "$frame" 2>"$dir/err" | head -c 1 >/dev/null
if [ -s "$dir/err" ]; then
    echo 'a pipe that is closed early is complained about'
    failed=1
fi

exit $failed
