# SPDX-License-Identifier: BSD-3-Clause
# Completion of b2frame for bash.

# Print the long options of a verb.
_b2frame_options() {
    local new='--layout --codec --clevel --filters --typesize --chunksize
        --blocksize --force'

    case $1 in
    info) echo --json --chunks --frame-offset ;;
    cat) echo --offset --length --raw --npy --frame-offset ;;
    verify) echo --json --quiet --frame-offset ;;
    create) echo $new --shape --dtype --chunks --blocks ;;
    truncate) echo --size ;;
    meta) echo --json --fixed --frame-offset ;;
    convert) echo $new --frame-offset ;;
    repair) echo --in-place --force --frame-offset ;;
    map) echo --svg --force --frame-offset ;;
    estimate) echo --sample --typesize --all --json ;;
    '') echo --lock --version ;;
    esac
    echo --help
}

# Print the values of an option, if they can be listed.
_b2frame_values() {
    case $1 in
    --layout) echo contiguous sparse ;;
    --codec) echo blosclz lz4 lz4hc zlib zstd ;;
    --clevel) echo 0 1 2 3 4 5 6 7 8 9 ;;
    --filters) echo none shuffle bitshuffle delta ;;
    --typesize) echo auto 1 2 4 8 16 ;;
    --blocksize) echo auto ;;
    --chunksize | --frame-offset | --length | --offset | --sample | --size)
        echo 64K 1M 1G ;;
    esac
}

_b2frame() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local verb='' values at=1 # where the verb is
    local verbs='info cat verify create append insert update delete reorder
        truncate meta convert compact repair map estimate'

    [[ ${COMP_WORDS[1]} != --lock ]] || ((COMP_CWORD == 1)) || at=2
    ((COMP_CWORD == at)) || verb=${COMP_WORDS[at]}
    values=$(_b2frame_values "$before")
    COMPREPLY=()
    if [[ $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_b2frame_options "$verb")" -- "$word"))
    elif ((COMP_CWORD == at)); then
        COMPREPLY=($(compgen -W "$verbs" -- "$word"))
    elif [[ $verb == meta ]] && ((COMP_CWORD == at + 1)); then
        COMPREPLY=($(compgen -W 'list get set rm' -- "$word"))
    fi
} && complete -o bashdefault -o default -F _b2frame b2frame
