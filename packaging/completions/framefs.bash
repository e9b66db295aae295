# SPDX-License-Identifier: BSD-3-Clause
# Completion of framefs for bash.

_framefs() {
    local line=${COMP_LINE:0:COMP_POINT}
    local word=${line##*[[:space:]]}
    local words=(${line%"$word"})
    local cut=${word%"${word##*=}"} # readline keeps all up to the last `=`
    local given='' option
    local options='ro noatime allow_other names=keep offset= raw npy chunks cache=
        threads= readahead= commit= close=commit close=later lock
        layout=contiguous layout=sparse codec=blosclz codec=lz4 codec=lz4hc
        codec=zlib codec=zstd clevel= filters=none
        filters=shuffle filters=bitshuffle typesize=auto typesize= chunksize=
        blocksize=auto blocksize= io_uring'

    COMPREPLY=()
    if [[ ${words[-1]} == -o ]]; then
        [[ $word != *,* ]] || given=${word%,*},
        for option in $options; do
            option=$given$option
            [[ $option != "$word"* ]] || COMPREPLY+=("${option#"$cut"}")
        done
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '-o -f -d --stats --json --watch
            --unmount --help --version' -- "$word"))
    fi
} && complete -o bashdefault -o default -F _framefs framefs
