/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_ENTRY_KIND_H
#define BACKING_ENTRY_KIND_H

#include <stdbool.h>

/* The kind of an entry of a directory. */
enum entry_kind {
    ENTRY_NONE,       /* not there, or not shown */
    ENTRY_PLAIN,      /* passed through as it is */
    ENTRY_DIRECTORY,  /* a directory that is neither a frame nor a store */
    ENTRY_FRAME,      /* a frame in one file */
    ENTRY_SPARSE,     /* a frame that is a directory */
    ENTRY_STORE,      /* a file or directory of frames, shown as a directory */
    ENTRY_BUNDLE_DIR, /* a folder in a store */
    ENTRY_BUNDLE_FRAME, /* a frame in a store */
    /* Views of a frame.  They have its name in the backing directory. */
    ENTRY_CHUNKS,       /* a directory of its chunks */
    ENTRY_CHUNK,        /* one chunk in that directory, decoded */
    ENTRY_CHUNK_STORED, /* one chunk in that directory, as it is stored */
    ENTRY_FRAME_DIR,    /* the virtual directory that holds the frame SOURCE */
    ENTRY_NKINDS
};

/* Properties of a kind of entries. */
struct entry_traits {
    bool plain;    /* is passed through as it is, with its type */
    bool frame;    /* shows the bytes of a whole frame */
    bool sparse;   /* is a frame whose chunks are files of their own; its number
                     stays the same when it is committed */
    bool chunk;    /* shows one chunk of a frame */
    bool view;     /* is a view of a frame */
    bool decoded;  /* its bytes are read out of a frame */
    bool folder;   /* shows as a directory */
    bool virtual;  /* is part of a store, or a view of a frame, and is found in
                     the directory that it is in; it never changes */
    bool mirrored; /* is a directory that shows the entries of a backing
                      directory, which it can be compared with */
    bool made_up;  /* is a directory that exists only here */
    bool in_store; /* is part of a store; a directory is opened by its store
                      and its path there */
    bool readonly_dir; /* is a directory in which nothing is ever changed */
    bool layers;       /* metalayers show as its attributes */
    bool one_name;     /* never has a second name, which would be a hard link */
};

/* The properties of each kind. */
extern const struct entry_traits entry_traits[ENTRY_NKINDS];

#endif
