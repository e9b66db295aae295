/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "file/file.h"
#include "fuse/fs_open.h"
#include "ops/create.h"
#include "ops/remove.h"
#include "state/params.h"
#include "suite.h"

/* A file system as it is mounted, but without the kernel. */
struct scene {
    char top[SUITE_PATH_MAX];
    char source[SUITE_PATH_MAX + 16];
    char mountpoint[SUITE_PATH_MAX + 16];
    struct fs *fs;
};

static void scene_init(struct scene *scene, bool sparse)
{
    struct fs_options options = { .params = params_default, .sparse = sparse };

    suite_make_dir(scene->top);
    snprintf(scene->source, sizeof(scene->source), "%s/src", scene->top);
    snprintf(scene->mountpoint, sizeof(scene->mountpoint), "%s/mnt",
             scene->top);
    ck_assert_int_eq(mkdir(scene->source, 0700), 0);
    ck_assert_int_eq(mkdir(scene->mountpoint, 0700), 0);
    options.source = scene->source;
    options.mountpoint = scene->mountpoint;
    ck_assert_int_eq(fs_open(&options, &scene->fs), 0);
    ck_assert_int_eq(file_context_new(&file_default_options, &scene->fs->files),
                     0);
    ck_assert_int_eq(deferred_close_start(scene->fs->deferred_close), 0);
}

static void scene_fini(struct scene *scene)
{
    fs_close(scene->fs);
    suite_remove_dir(scene->top);
}

static void pause_ms(long ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000 };

    nanosleep(&pause, NULL);
}

/* Is a file still open?  `final` tells whether it is being closed for good. */
static bool is_open(struct fs *fs, const struct node *node, bool *final)
{
    bool open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    *final = open && node->open->closing.final;
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

/* Make a file, and close it while a part of it is still in use. */
static struct open_version *begin_close(struct fs *fs, struct node **node)
{
    const struct create create = { .parent = &fs->nodes.root,
                                   .shown = "a",
                                   .mode = S_IFREG | 0600 };
    struct open_file *open;
    struct open_version *version;
    struct stat st;
    bool final = false;

    ck_assert_int_eq(create_entry(fs, &create, &open, node, &st), 0);
    version = open_file_version(open);
    open_file_put(fs, open);
    while (is_open(fs, *node, &final) && !final)
        pause_ms(1);
    return version;
}

START_TEST(a_file_is_not_closed_before_the_last_who_uses_its_state_is_through)
{
    struct scene scene;
    struct open_version *version;
    struct node *node;
    bool final;

    scene_init(&scene, false);
    version = begin_close(scene.fs, &node);
    pause_ms(100);
    ck_assert(is_open(scene.fs, node, &final) && final);
    open_version_put(version);
    while (is_open(scene.fs, node, &final))
        pause_ms(1);
    node_forget(&scene.fs->nodes, node, 1);
    scene_fini(&scene);
}
END_TEST

static void *remove_a(void *arg)
{
    struct fs *fs = arg;

    ck_assert_int_eq(remove_file(fs, &fs->nodes.root, "a"), 0);
    return NULL;
}

START_TEST(a_frame_that_is_removed_while_it_is_being_closed_leaves_nothing)
{
    struct scene scene;
    struct open_version *version;
    struct node *node;
    pthread_t thread;
    char command[400];

    scene_init(&scene, true);
    version = begin_close(scene.fs, &node);
    ck_assert_int_eq(pthread_create(&thread, NULL, remove_a, scene.fs), 0);
    while (!node_is_removed(&scene.fs->nodes, node))
        pause_ms(1);
    open_version_put(version);
    pthread_join(thread, NULL);
    snprintf(command, sizeof(command),
             "test -z \"$(find %s/.framefs-tmp.* -mindepth 1 -type d)\"",
             scene.source);
    ck_assert_int_eq(system(command), 0);
    node_forget(&scene.fs->nodes, node, 1);
    scene_fini(&scene);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_file_is_not_closed_before_the_last_who_uses_its_state_is_through,
        a_frame_that_is_removed_while_it_is_being_closed_leaves_nothing,
        NULL,
    };

    return suite_run("deferred_close", tests);
}
