/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/bundle_cache.h"
#include "bundle/bundle_format.h"
#include "suite.h"

/* Read a zip archive without members. */
static struct bundle *read_empty(void)
{
    static const uint8_t archive[22] = "PK\5\6";
    struct fault fault = FAULT_NONE;
    struct bundle *bundle;
    struct store *store;

    ck_assert_int_eq(store_mem_open(archive, sizeof(archive), &store), 0);
    ck_assert_int_eq(bundle_read(store, &bundle_format_zip, &bundle, &fault),
                     0);
    store_close(store);
    return bundle;
}

static bool finds(struct bundle_cache *cache, struct store_version version)
{
    struct bundle *bundle = bundle_cache_find(cache, version);

    bundle_put(bundle);
    return bundle != NULL;
}

START_TEST(bundle_is_found_until_its_file_changes)
{
    struct store_version version = { .ino = 5, .size = 22, .settled = true };
    struct bundle *bundle = read_empty();
    struct bundle_cache cache = { 0 };

    bundle_cache_init(&cache);
    ck_assert(!finds(&cache, version));
    bundle_cache_add(&cache, version, bundle);
    ck_assert(finds(&cache, version));
    version.ctime.tv_nsec++;
    ck_assert(!finds(&cache, version));
    bundle_cache_add(&cache, version, bundle);
    ck_assert(finds(&cache, version));
    ck_assert_uint_eq(cache.nentries, 1);
    version.dev++;
    ck_assert(!finds(&cache, version));
    bundle_cache_fini(&cache);
    bundle_put(bundle);
}
END_TEST

/* Reading may take so long that the times have become old by then. */
START_TEST(bundle_is_not_kept_if_its_file_was_young_before_it_was_read)
{
    const struct store_version version = { .ino = 5, .size = 22 };
    struct bundle *bundle = read_empty();
    struct bundle_cache cache = { 0 };

    bundle_cache_init(&cache);
    bundle_cache_add(&cache, version, bundle);
    ck_assert(!finds(&cache, version));
    bundle_cache_fini(&cache);
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

    return suite_run("bundle_cache", tests);
}
