/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A FUSE server that does as little as possible, with the FUSE options of
 * framefs, so that no other server can be faster.  One directory shows the
 * files of DIR as they were at the start, mapped into memory.  Written data is
 * dropped. New files have only a size, and read as zeros.  Nodes of removed
 * files are kept, because a run is short.
 *
 * usage: ceiling DIR MOUNTPOINT [-o OPTION,...]
 */
static const double timeout = 1;

enum {
    ZEROS_LEN = 1 << 20 /* the largest read of the kernel */
};

/* The address of a node is its inode number. */
struct node {
    char *name;
    const uint8_t *data;   /* NULL for a file that was created here */
    _Atomic uint64_t size; /* in bytes; at most that of `data` if not NULL */
    struct node *next;     /* the next removed one */
};

static const uint8_t zeros[ZEROS_LEN];

/* Files by name, removed files, and the lock that guards both. */
static void *names;
static struct node *removed;
static pthread_rwlock_t names_lock = PTHREAD_RWLOCK_INITIALIZER;

static void die(const char *what)
{
    fprintf(stderr, "ceiling: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int compare(const void *a, const void *b)
{
    const struct node *x = a;
    const struct node *y = b;

    return strcmp(x->name, y->name);
}

static struct node *find(const char *name)
{
    const struct node key = { .name = (char *)(uintptr_t)name };
    struct node **found;

    pthread_rwlock_rdlock(&names_lock);
    found = tfind(&key, &names, compare);
    pthread_rwlock_unlock(&names_lock);
    return found ? *found : NULL;
}

static struct node *add(const char *name)
{
    struct node *node = calloc(1, sizeof(*node));

    if (!node || !(node->name = strdup(name)))
        die("memory");
    pthread_rwlock_wrlock(&names_lock);
    if (!tsearch(node, &names, compare))
        die("memory");
    pthread_rwlock_unlock(&names_lock);
    return node;
}

static struct node *node_of(fuse_ino_t ino)
{
    return (struct node *)(uintptr_t)ino;
}

static struct stat stat_of(fuse_ino_t ino)
{
    struct stat st = { .st_ino = ino, .st_nlink = 1, .st_blksize = 1 << 20 };

    if (ino == FUSE_ROOT_ID) {
        st.st_mode = S_IFDIR | 0777;
    } else {
        st.st_mode = S_IFREG | 0666;
        st.st_size = (off_t)node_of(ino)->size;
    }
    return st;
}

static struct fuse_entry_param entry_of(const struct node *node)
{
    return (struct fuse_entry_param){
        .ino = (uintptr_t)node,
        .attr = stat_of((uintptr_t)node),
        .attr_timeout = timeout,
        .entry_timeout = timeout,
    };
}

static void op_init(void *userdata __attribute__((unused)),
                    struct fuse_conn_info *conn)
{
    conn->want |=
        conn->capable &
        (FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_AUTO_INVAL_DATA |
         FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_WRITEBACK_CACHE);
    conn->want &= ~(unsigned)(FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_SPLICE_READ);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent __attribute__((unused)),
                      const char *name)
{
    struct node *node = find(name);
    struct fuse_entry_param entry;

    if (!node) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    entry = entry_of(node);
    fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
                       struct fuse_file_info *fi __attribute__((unused)))
{
    struct stat st = stat_of(ino);

    fuse_reply_attr(req, &st, timeout);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
                       int to_set, struct fuse_file_info *fi)
{
    if (to_set & FUSE_SET_ATTR_SIZE) {
        node_of(ino)->data = NULL;
        node_of(ino)->size = (uint64_t)attr->st_size;
    }
    op_getattr(req, ino, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t parent __attribute__((unused)),
                      const char *name, mode_t mode __attribute__((unused)),
                      struct fuse_file_info *fi)
{
    struct fuse_entry_param entry = entry_of(add(name));

    fi->keep_cache = 1;
    fuse_reply_create(req, &entry, fi);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent __attribute__((unused)),
                      const char *name)
{
    struct node *node = find(name);

    pthread_rwlock_wrlock(&names_lock);
    if (node && tdelete(node, &names, compare)) {
        node->next = removed;
        removed = node;
    }
    pthread_rwlock_unlock(&names_lock);
    fuse_reply_err(req, node ? 0 : ENOENT);
}

static void op_open(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                    struct fuse_file_info *fi)
{
    fi->keep_cache = 1;
    fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi __attribute__((unused)))
{
    const struct node *node = node_of(ino);
    uint64_t end = node->size;
    uint64_t left = (uint64_t)off < end ? end - (uint64_t)off : 0;

    if (size > left)
        size = left;
    if (node->data)
        fuse_reply_buf(req, (const char *)node->data + off, size);
    else
        fuse_reply_buf(req, (const char *)zeros,
                       size < ZEROS_LEN ? size : ZEROS_LEN);
}

static void op_write(fuse_req_t req, fuse_ino_t ino,
                     const char *buf __attribute__((unused)), size_t size,
                     off_t off,
                     struct fuse_file_info *fi __attribute__((unused)))
{
    struct node *node = node_of(ino);
    uint64_t end = (uint64_t)off + size;
    uint64_t old = node->size;

    while (end > old && !atomic_compare_exchange_weak(&node->size, &old, end))
        ;
    fuse_reply_write(req, size);
}

static void op_done(fuse_req_t req, fuse_ino_t ino __attribute__((unused)),
                    struct fuse_file_info *fi __attribute__((unused)))
{
    fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino,
                     int datasync __attribute__((unused)),
                     struct fuse_file_info *fi)
{
    op_done(req, ino, fi);
}

static const struct fuse_lowlevel_ops ops = {
    .init = op_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .create = op_create,
    .unlink = op_unlink,
    .open = op_open,
    .read = op_read,
    .write = op_write,
    .flush = op_done,
    .fsync = op_fsync,
    .release = op_done,
};

/* Map a whole file, with its pages present. */
static void load(int dirfd, const char *name)
{
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
    struct node *node;
    struct stat st;
    void *data;

    if (fd < 0 || fstat(fd, &st) < 0)
        die(name);
    if (S_ISREG(st.st_mode) && st.st_size > 0) {
        data = mmap(NULL, (size_t)st.st_size, PROT_READ,
                    MAP_SHARED | MAP_POPULATE, fd, 0);
        if (data == MAP_FAILED)
            die(name);
        node = add(name);
        node->data = data;
        node->size = (uint64_t)st.st_size;
    }
    close(fd);
}

static void load_all(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    if (!dir)
        die(path);
    while ((entry = readdir(dir)))
        load(dirfd(dir), entry->d_name);
    closedir(dir);
}

int main(int argc, char **argv)
{
    struct fuse_args args = FUSE_ARGS_INIT(argc - 2, argv + 2);
    struct fuse_session *session;
    int status = 1;

    if (argc < 3) {
        fprintf(stderr, "usage: ceiling DIR MOUNTPOINT [-o OPTION,...]\n");
        return 2;
    }
    load_all(argv[1]);
    session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
    if (!session)
        return 2;
    if (fuse_set_signal_handlers(session) == 0 &&
        fuse_session_mount(session, argv[2]) == 0) {
        status = fuse_session_loop_mt(session, NULL) < 0;
        fuse_session_unmount(session);
    }
    fuse_session_destroy(session);
    fuse_opt_free_args(&args);
    return status;
}
