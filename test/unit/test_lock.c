/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "give_store.h"
#include "store/store_local.h"
#include "suite.h"

enum {
    CHUNKSIZE = 4096
};

/* The errno of flock(); 0 lets it work. */
static atomic_int flock_error;

/* Replaces the system's flock() in this program. */
int flock(int fd, int operation)
{
    if (flock_error == 0)
        return (int)syscall(SYS_flock, fd, operation);
    errno = flock_error;
    return -1;
}

/* The errno of a read of the count in a lock file; 0 lets it work. */
static atomic_int count_error;

/* Replaces the system's pread() in this program. */
ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    if (count_error == 0 || off != 8 || len != 8)
        return syscall(SYS_pread64, fd, buf, len, off);
    errno = count_error;
    return -1;
}

/* A frame of a few chunks, and the lock file as another program has it open. */
struct scene {
    struct fixture fixture;
    int lock_file;
};

static void scene_init_patient(struct scene *scene, bool sparse,
                               unsigned lock_timeout)
{
    const struct fixture_kind kind = { .sparse = sparse,
                                       .typesize = 1,
                                       .chunksize = CHUNKSIZE,
                                       .nchunks = 40,
                                       .lock = true,
                                       .lock_timeout = lock_timeout };
    const char *name = sparse ? "f.b2frame/.b2lock" : "f.b2frame.b2lock";

    fixture_init(&scene->fixture, &kind);
    fixture_write(&scene->fixture, 0, 4 * CHUNKSIZE);
    fixture_sync(&scene->fixture);
    scene->lock_file = openat(scene->fixture.fd, name, O_RDWR);
    ck_assert_int_ge(scene->lock_file, 0);
}

static void scene_init(struct scene *scene, bool sparse)
{
    scene_init_patient(scene, sparse, 60);
}

static void scene_fini(struct scene *scene)
{
    close(scene->lock_file);
    fixture_fini(&scene->fixture);
}

/* Can another program read the frame now? */
static bool is_free(struct scene *scene)
{
    if (flock(scene->lock_file, LOCK_SH | LOCK_NB) < 0) {
        ck_assert_int_eq(errno, EWOULDBLOCK);
        return false;
    }
    flock(scene->lock_file, LOCK_UN);
    return true;
}

static uint64_t count_of(struct scene *scene)
{
    uint64_t count = 0;

    ck_assert_int_ge(pread(scene->lock_file, &count, sizeof(count), 8), 0);
    return count;
}

/* Count a change, as another program does that changes the frame. */
static void count_up(struct scene *scene)
{
    uint64_t count = count_of(scene) + 1;

    ck_assert_int_eq(flock(scene->lock_file, LOCK_EX), 0);
    ck_assert_int_eq(pwrite(scene->lock_file, &count, sizeof(count), 8),
                     sizeof(count));
    flock(scene->lock_file, LOCK_UN);
}

/* Open the same frame in a second context, as another program would. */
static struct file *open_other(struct fixture *fixture,
                               struct file_context **context)
{
    const struct file_options options = {
        .cache_size = 1 << 20, .nthreads = 1, .lock = true, .lock_timeout = 60
    };
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(file_context_new(&options, context), 0);
    ck_assert_int_eq(
        give_file_open_writable(*context, fixture_store(fixture, STORE_WRITE),
                                &file, &fault),
        0);
    return file;
}

static void write_other(struct fixture *fixture, struct file *file,
                        uint64_t off, uint8_t value)
{
    struct fault fault;

    memset(fixture->model + off, value, CHUNKSIZE);
    if (fixture->size < off + CHUNKSIZE)
        fixture->size = off + CHUNKSIZE;
    ck_assert_int_eq(
        file_write(file, off, fixture->model + off, CHUNKSIZE, &fault), 0);
    ck_assert_int_eq(file_sync(file, &fault), 0);
}

static void check_locked_out(bool sparse)
{
    struct scene scene;
    uint64_t count;

    scene_init(&scene, sparse);
    ck_assert(is_free(&scene));
    count = count_of(&scene);
    ck_assert_uint_gt(count, 0);

    fixture_write(&scene.fixture, CHUNKSIZE, 100);
    ck_assert(!is_free(&scene));
    fixture_write(&scene.fixture, 2 * CHUNKSIZE, 100);
    ck_assert(!is_free(&scene));
    ck_assert_uint_eq(count_of(&scene), count + 1);
    fixture_sync(&scene.fixture);
    ck_assert(is_free(&scene));

    fixture_truncate(&scene.fixture, CHUNKSIZE + 5);
    ck_assert(!is_free(&scene));
    fixture_sync(&scene.fixture);
    ck_assert(is_free(&scene));
    ck_assert_uint_eq(count_of(&scene), count + 2);
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}

START_TEST(others_are_locked_out_until_all_is_committed)
{
    check_locked_out(false);
    check_locked_out(true);
}
END_TEST

START_TEST(what_changes_nothing_locks_nobody_out)
{
    struct scene scene;
    struct fault fault;

    scene_init(&scene, false);
    ck_assert_int_eq(file_write(scene.fixture.file, 0, "", 0, &fault), 0);
    ck_assert(is_free(&scene));
    ck_assert_int_eq(
        file_write(scene.fixture.file, INT64_MAX - 1, "xy", 2, &fault), -EFBIG);
    ck_assert(is_free(&scene));
    ck_assert_int_eq(file_meta_remove(scene.fixture.file, "not there", &fault),
                     -ENOENT);
    ck_assert(is_free(&scene));
    scene_fini(&scene);
}
END_TEST

static void take_turns(bool sparse)
{
    struct scene scene;
    struct file_context *context;
    struct file *other;

    scene_init(&scene, sparse);
    other = open_other(&scene.fixture, &context);
    for (uint32_t i = 0; i < 6; i++) {
        write_other(&scene.fixture, other, i * CHUNKSIZE, (uint8_t)(i + 1));
        ck_assert(!file_is_latest(scene.fixture.file));
        fixture_write(&scene.fixture, (i + 1) * CHUNKSIZE, CHUNKSIZE + 10);
        ck_assert(file_take_reopened(scene.fixture.file));
        ck_assert(file_is_latest(scene.fixture.file));
        fixture_sync(&scene.fixture);
        fixture_check(&scene.fixture);
    }
    ck_assert_int_eq(file_close(other), 0);
    file_context_free(context);
    fixture_reopen(&scene.fixture);
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}

START_TEST(writers_take_turns)
{
    take_turns(false);
    take_turns(true);
}
END_TEST

/* One of two programs that write to the chunks of one frame in turn. */
struct program {
    struct file *file;
    uint32_t first;
    uint8_t value;
};

static void *run_program(void *arg)
{
    const struct program *program = arg;
    uint8_t bytes[CHUNKSIZE];
    struct fault fault;

    memset(bytes, program->value, sizeof(bytes));
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t off = (uint64_t)(program->first + 2 * i) * CHUNKSIZE;

        ck_assert_int_eq(
            file_write(program->file, off, bytes, sizeof(bytes), &fault), 0);
        if (i % 3 == 0)
            ck_assert_int_eq(file_sync(program->file, &fault), 0);
    }
    ck_assert_int_eq(file_sync(program->file, &fault), 0);
    return NULL;
}

START_TEST(what_two_programs_write_at_a_time_is_all_there)
{
    struct scene scene;
    struct fixture *fixture = &scene.fixture;
    struct file_context *context;
    struct file *other;
    struct program a;
    struct program b;
    pthread_t thread;

    scene_init(&scene, false);
    fixture_truncate(fixture, 40 * CHUNKSIZE);
    fixture_sync(fixture);
    other = open_other(fixture, &context);
    a = (struct program){ fixture->file, 0, 'a' };
    b = (struct program){ other, 1, 'b' };
    ck_assert_int_eq(pthread_create(&thread, NULL, run_program, &b), 0);
    run_program(&a);
    pthread_join(thread, NULL);
    ck_assert_int_eq(file_close(other), 0);
    file_context_free(context);
    for (size_t i = 0; i < 40; i++)
        memset(fixture->model + i * CHUNKSIZE, i % 2 == 0 ? 'a' : 'b',
               CHUNKSIZE);
    fixture_reopen(fixture);
    fixture_check(fixture);
    scene_fini(&scene);
}
END_TEST

START_TEST(changes_in_place_are_seen_by_the_count_alone)
{
    struct scene scene;

    scene_init(&scene, false);
    ck_assert(file_is_latest(scene.fixture.file));
    ck_assert(file_is_own(scene.fixture.file));
    count_up(&scene);
    ck_assert(!file_is_latest(scene.fixture.file));
    ck_assert(!file_is_own(scene.fixture.file));
    scene_fini(&scene);
}
END_TEST

START_TEST(files_of_one_context_do_not_lock_each_other_out)
{
    struct scene scene;
    struct file *reader;
    struct fault fault;

    scene_init(&scene, false);
    fixture_write(&scene.fixture, 0, 10);
    ck_assert_int_eq(give_file_open(scene.fixture.context,
                                    fixture_store(&scene.fixture, 0), 0,
                                    &reader, &fault),
                     0);
    ck_assert(!is_free(&scene));
    fixture_sync(&scene.fixture);
    ck_assert(is_free(&scene));
    ck_assert_int_eq(file_close(reader), 0);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_lock_that_is_not_given_back_is_not_awaited_for_ever)
{
    struct scene scene;
    struct fault fault;

    scene_init_patient(&scene, false, 1);
    ck_assert_int_eq(flock(scene.lock_file, LOCK_SH), 0);
    ck_assert_int_eq(file_write(scene.fixture.file, 0, "x", 1, &fault), -EBUSY);
    fixture_check(&scene.fixture);
    flock(scene.lock_file, LOCK_UN);
    fixture_write(&scene.fixture, 0, 1);
    fixture_reopen(&scene.fixture);
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}
END_TEST

static void *write_in_vain(void *arg)
{
    struct fault fault;

    ck_assert_int_eq(file_write(arg, 0, "x", 1, &fault), -EBUSY);
    return NULL;
}

START_TEST(those_who_wait_for_a_lock_are_refused_together)
{
    struct scene scene;
    pthread_t threads[8];
    struct timespec start;
    struct timespec end;

    scene_init_patient(&scene, false, 1);
    ck_assert_int_eq(flock(scene.lock_file, LOCK_SH), 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_in_vain,
                                        scene.fixture.file),
                         0);
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* One after the other, they would wait for eight seconds. */
    ck_assert_int_lt(end.tv_sec - start.tv_sec, 5);
    flock(scene.lock_file, LOCK_UN);
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_file_system_without_locks_is_told)
{
    struct scene scene;
    struct store *store;
    struct file *file;
    struct fault fault;

    scene_init(&scene, false);
    flock_error = ENOLCK;
    ck_assert_int_eq(file_write(scene.fixture.file, 0, "x", 1, &fault),
                     -ENOLCK);
    ck_assert_str_eq(fault.what, "the lock file of the frame can't be locked");
    store = fixture_store(&scene.fixture, 0);
    ck_assert_int_eq(file_open(scene.fixture.context, store, 0, &file, &fault),
                     -ENOLCK);
    store_close(store);
    flock_error = 0;
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_count_that_cannot_be_read_is_no_zero)
{
    struct scene scene;
    struct store *store;
    struct file *file;
    struct fault fault;
    uint64_t count;

    scene_init(&scene, false);
    count_up(&scene);
    count_up(&scene);
    fixture_write(&scene.fixture, 0, 10);
    fixture_sync(&scene.fixture);
    count = count_of(&scene);
    count_error = EIO;
    ck_assert_int_eq(file_write(scene.fixture.file, 0, "x", 1, &fault), -EIO);
    ck_assert_str_eq(fault.what, "the lock file of the frame can't be read");
    ck_assert(!file_is_latest(scene.fixture.file));
    ck_assert_int_eq(file_catch_up(scene.fixture.file, &fault), -EIO);
    store = fixture_store(&scene.fixture, 0);
    ck_assert_int_eq(file_open(scene.fixture.context, store, 0, &file, &fault),
                     -EIO);
    store_close(store);
    ck_assert(is_free(&scene));
    count_error = 0;
    ck_assert_uint_eq(count_of(&scene), count);
    fixture_write(&scene.fixture, 0, 10);
    fixture_sync(&scene.fixture);
    ck_assert_uint_eq(count_of(&scene), count + 1);
    fixture_check(&scene.fixture);
    scene_fini(&scene);
}
END_TEST

START_TEST(a_name_that_is_too_long_for_a_lock_file_is_no_obstacle)
{
    char name[256];
    struct fixture fixture;
    struct store *store;
    struct store_object *lock_file;

    fixture_new(&fixture, false);
    memset(name, 'n', 250);
    name[250] = '\0';
    ck_assert_int_eq(renameat(fixture.fd, "f.b2frame", fixture.fd, name), 0);
    ck_assert_int_eq(store_file_open(fixture.fd, name, STORE_LOCK, &store), 0);
    lock_file = store_lock_file(store);
    ck_assert_ptr_null(lock_file);
    store_close(store);
    ck_assert_int_eq(renameat(fixture.fd, name, fixture.fd, "f.b2frame"), 0);
    fixture_fini(&fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        others_are_locked_out_until_all_is_committed,
        what_changes_nothing_locks_nobody_out,
        writers_take_turns,
        what_two_programs_write_at_a_time_is_all_there,
        changes_in_place_are_seen_by_the_count_alone,
        files_of_one_context_do_not_lock_each_other_out,
        a_lock_that_is_not_given_back_is_not_awaited_for_ever,
        those_who_wait_for_a_lock_are_refused_together,
        a_file_system_without_locks_is_told,
        a_count_that_cannot_be_read_is_no_zero,
        a_name_that_is_too_long_for_a_lock_file_is_no_obstacle,
        NULL,
    };

    return suite_run("lock", tests);
}
