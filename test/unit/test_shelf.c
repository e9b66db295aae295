/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/shelf.h"
#include "suite.h"

/* Read a zip archive without members. */
static struct bundle *read_empty(void)
{
    static const uint8_t archive[22] = "PK\5\6";
    struct fault fault = FAULT_NONE;
    struct bundle *bundle;
    struct store *store;

    ck_assert_int_eq(store_mem_open(archive, sizeof(archive), &store), 0);
    ck_assert_int_eq(bundle_read(store, BUNDLE_ZIP, &bundle, &fault), 0);
    store_close(store);
    return bundle;
}

static bool finds(struct shelf *shelf, struct store_version version)
{
    struct bundle *bundle = shelf_find(shelf, version);

    bundle_put(bundle);
    return bundle != NULL;
}

START_TEST(bundle_is_found_until_its_file_changes)
{
    struct store_version version = { .ino = 5, .size = 22, .settled = true };
    struct bundle *bundle = read_empty();
    struct shelf shelf = { 0 };

    shelf_init(&shelf);
    ck_assert(!finds(&shelf, version));
    shelf_keep(&shelf, version, bundle);
    ck_assert(finds(&shelf, version));
    version.ctime.tv_nsec++;
    ck_assert(!finds(&shelf, version));
    shelf_keep(&shelf, version, bundle);
    ck_assert(finds(&shelf, version));
    ck_assert_uint_eq(shelf.nbooks, 1);
    version.dev++;
    ck_assert(!finds(&shelf, version));
    shelf_fini(&shelf);
    bundle_put(bundle);
}
END_TEST

/* Reading may take so long that the times have become old by then. */
START_TEST(bundle_is_not_kept_if_its_file_was_young_before_it_was_read)
{
    const struct store_version version = { .ino = 5, .size = 22 };
    struct bundle *bundle = read_empty();
    struct shelf shelf = { 0 };

    shelf_init(&shelf);
    shelf_keep(&shelf, version, bundle);
    ck_assert(!finds(&shelf, version));
    shelf_fini(&shelf);
    bundle_put(bundle);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        bundle_is_found_until_its_file_changes,
        bundle_is_not_kept_if_its_file_was_young_before_it_was_read,
        NULL,
    };

    return suite_run("shelf", tests);
}
