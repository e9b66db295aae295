# SPDX-License-Identifier: BSD-3-Clause
# Completion of b2frame for fish.

function __b2frame_is
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end

complete -c b2frame -l help -d 'Print how it is called'
complete -c b2frame -n __fish_is_first_token -l version -d 'Print the version'

complete -c b2frame -n __fish_is_first_token -f -a info -d 'Show geometry, codec, sizes and metalayers'
complete -c b2frame -n __fish_is_first_token -f -a cat -d 'Write decoded bytes to standard output'
complete -c b2frame -n __fish_is_first_token -f -a verify -d 'Check every structure and decode every chunk'
complete -c b2frame -n __fish_is_first_token -f -a create -d 'Compress a file or standard input'
complete -c b2frame -n __fish_is_first_token -f -a append -d 'Add bytes at the end'
complete -c b2frame -n __fish_is_first_token -f -a insert -d 'Insert a chunk before another one'
complete -c b2frame -n __fish_is_first_token -f -a update -d 'Replace a chunk'
complete -c b2frame -n __fish_is_first_token -f -a delete -d 'Remove a chunk'
complete -c b2frame -n __fish_is_first_token -f -a reorder -d 'Change the order of the chunks'
complete -c b2frame -n __fish_is_first_token -f -a truncate -d 'Cut a frame, or let it grow by zeros'
complete -c b2frame -n __fish_is_first_token -f -a meta -d 'List, get, set and remove metalayers'
complete -c b2frame -n __fish_is_first_token -f -a convert -d 'Copy a frame in another layout or compression'
complete -c b2frame -n __fish_is_first_token -f -a compact -d 'Rewrite a frame without dead space'
complete -c b2frame -n __fish_is_first_token -f -a repair -d 'Save what a crash or damage left of a frame'
complete -c b2frame -n __fish_is_first_token -f -a map -d 'Draw which chunks compress how well'
complete -c b2frame -n __fish_is_first_token -f -a estimate -d 'Try which codec and filters suit a file'
complete -c b2frame -n '__b2frame_is meta' -a 'list get set rm'

complete -c b2frame -n '__b2frame_is create convert' -l layout -x -a 'contiguous sparse' -d 'Layout'
complete -c b2frame -n '__b2frame_is create convert' -l codec -x -a 'blosclz lz4 lz4hc zlib zstd' -d 'Codec'
complete -c b2frame -n '__b2frame_is create convert' -l clevel -x -a '0 1 2 3 4 5 6 7 8 9' -d 'Compression level'
complete -c b2frame -n '__b2frame_is create convert' -l filters -x -a 'none shuffle bitshuffle delta' -d 'Filters'
complete -c b2frame -n '__b2frame_is create convert estimate' -l typesize -x -a 'auto 1 2 4 8 16' -d 'Bytes per element'
complete -c b2frame -n '__b2frame_is create convert' -l chunksize -x -d 'Decoded bytes in a chunk'
complete -c b2frame -n '__b2frame_is create convert' -l blocksize -x -a auto -d 'Decoded bytes in a block'
complete -c b2frame -n '__b2frame_is create convert repair map' -l force -d 'Replace what has the name'
complete -c b2frame -n '__b2frame_is info cat verify meta convert repair map' -l frame-offset -x -d 'Where the frame starts in the file'
complete -c b2frame -n '__b2frame_is info verify meta estimate' -l json -d 'Print JSON'
complete -c b2frame -n '__b2frame_is info' -l chunks -d 'Print a table of the chunks too'
complete -c b2frame -n '__b2frame_is cat' -l offset -x -d 'First decoded byte'
complete -c b2frame -n '__b2frame_is cat' -l length -x -d 'Decoded bytes'
complete -c b2frame -n '__b2frame_is verify' -l quiet -d 'Print only faults'
complete -c b2frame -n '__b2frame_is truncate' -l size -x -d 'Decoded bytes'
complete -c b2frame -n '__b2frame_is meta' -l fixed -d 'A metalayer of the header'
complete -c b2frame -n '__b2frame_is repair' -l in-place -d 'Put it in the place of the frame'
complete -c b2frame -n '__b2frame_is map' -l svg -r -d 'Draw a picture for a browser'
complete -c b2frame -n '__b2frame_is estimate' -l sample -x -d 'Bytes to try'
complete -c b2frame -n '__b2frame_is estimate' -l all -d 'Print all that was tried'
