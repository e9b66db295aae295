# SPDX-License-Identifier: BSD-3-Clause
# Completion of framefs for fish.

complete -c framefs -s f -d 'Stay in the foreground'
complete -c framefs -s d -d 'The same, and print every request'
complete -c framefs -l stats -d 'Print what a mount has done'
complete -c framefs -l json -d 'The same as JSON'
complete -c framefs -l watch -d 'The same every second'
complete -c framefs -l unmount -d 'Unmount, and wait until all is on disk'
complete -c framefs -l help -d 'Print how it is called'
complete -c framefs -l version -d 'Print the version'

complete -c framefs -s o -x -d 'Mount options' -a "(__fish_append , \
    ro noatime allow_other names=keep offset= raw npy chunks cache= threads= readahead= \
    commit= close=commit close=later lock layout=contiguous layout=sparse \
    codec=blosclz codec=lz4 codec=lz4hc codec=zlib codec=zstd clevel= filters=none filters=shuffle \
    filters=bitshuffle typesize=auto typesize= chunksize= blocksize=auto \
    blocksize= io_uring)"
