/* Fleets from files of every kind: what others exported imports or says why not, within a second, and never crashes us.
 */
#include "launch/fleet_source.h"

#include "tests/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of that name among the shared data; false, and a line that says so, where it is absent. */
static bool shared_folder(char *room, size_t room_bytes, const char *name)
{
    const char *folder = getenv("GSRT_SHARED_DATA"), *source = getenv("GSRT_SRCDIR");
    if (folder != NULL)
        (void)snprintf(room, room_bytes, "%s/%s", folder, name);
    else
        (void)snprintf(room, room_bytes, "%s/../shared/data/%s", source != NULL ? source : ".", name);
    if (access(room, R_OK) == 0)
        return true;
    printf("SKIP %s: no %s (set GSRT_SHARED_DATA)\n", name, room);
    return false;
}

static gsrt_status read_source(const char *path, size_t *out_errors, gsrt_diag *diag)
{
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_fleet *fleet = NULL;
    gsrt_status status = gsrt_fleet_source_read(path, &findings, &fleet, diag);
    if (status == GSRT_OK)
        gsrt_fleet_check(fleet, 20787, &findings);
    *out_errors = findings.error_count;
    for (size_t i = 0; i < findings.count; i++) {
        if (findings.items[i].class != GSRT_FINDING_MISSING)
            printf("%s: [%s] %s\n", findings.items[i].place, findings.items[i].reason, findings.items[i].what);
    }
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(fleet);
    return status;
}

static bool is_of_next_version(const char *path)
{
    char head[512] = "";
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    head[fread(head, 1, sizeof head - 1, file)] = 0;
    (void)fclose(file);
    return strstr(head, "<topology version=\"3") != NULL;
}

/* Every file of a folder: imports without an error, but for those of hwloc 3. Returns how many did. */
static size_t check_folder(const char *name, const char *suffix)
{
    char folder[512], path[1024];
    if (!shared_folder(folder, sizeof folder, name))
        return SIZE_MAX;
    DIR *files = opendir(folder);
    ck_assert_ptr_nonnull(files);
    size_t imported = 0;
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len < 4 || strcmp(entry->d_name + len - 4, suffix) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        gsrt_diag diag = {0};
        size_t errors;
        gsrt_status status = read_source(path, &errors, &diag);
        if (strcmp(suffix, ".xml") == 0 && is_of_next_version(path)) {
            ck_assert_msg(status == GSRT_EINPUT && strstr(diag.text, "exported by hwloc 3") != NULL, "%s: %s", path,
                          diag.text);
            continue;
        }
        ck_assert_msg(status == GSRT_OK && errors == 0, "%s: %s, %zu errors: %s", path, gsrt_status_name(status),
                      errors, diag.text);
        imported++;
    }
    (void)closedir(files);
    return imported;
}

START_TEST(topologies_of_others_import)
{
    ck_assert_uint_ge(check_folder("hardware/hwloc/xml-v2", ".xml"), 27);
}
END_TEST

START_TEST(topologies_of_the_next_version_are_named)
{
    ck_assert_uint_ge(check_folder("hardware/hwloc/xml-v3", ".xml"), 1); /* one of them is of version 2 */
}
END_TEST

START_TEST(matrices_import)
{
    ck_assert_uint_ge(check_folder("hardware/topo-m", ".txt"), 9);
}
END_TEST

START_TEST(topologies_that_crash_hwloc)
{
    char folder[512], path[1024];
    if (!shared_folder(folder, sizeof folder, "bugs/hwloc"))
        return;
    DIR *files = opendir(folder);
    ck_assert_ptr_nonnull(files);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        gsrt_diag diag = {0};
        size_t errors;
        ck_assert_int_eq(read_source(path, &errors, &diag), GSRT_EINPUT);
        ck_assert_msg(strncmp(diag.text, path, strlen(path)) == 0 && strstr(diag.text, "; ") != NULL, "%s", diag.text);
        count++;
    }
    (void)closedir(files);
    ck_assert_uint_ge(count, 4);
}
END_TEST

/* The accelerators that ship: all types, in a fleet, without an error; and each number says where it is from. */
START_TEST(the_catalogue)
{
    char path[512];
    const char *source = getenv("GSRT_SRCDIR");
    (void)snprintf(path, sizeof path, "%s/scenarios/fleets/every-type.yaml", source != NULL ? source : ".");
    gsrt_diag diag = {0};
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_fleet *fleet = NULL;
    gsrt_status status = gsrt_fleet_source_read(path, &findings, &fleet, &diag);
    ck_assert_msg(status == GSRT_OK && findings.count == 0, "%s%s", diag.text,
                  findings.count > 0 ? findings.items[0].what : "");
    gsrt_fleet_check(fleet, 20787, &findings);
    for (size_t i = 0; i < findings.count; i++)
        printf("%s: [%s] %s\n", findings.items[i].place, findings.items[i].reason, findings.items[i].what);
    ck_assert_uint_eq(findings.count, 0);
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        const gsrt_part *part = &fleet->parts[i];
        for (size_t r = 0; part->rates != NULL && r < (size_t)GSRT_CLASS_COUNT * GSRT_FORMAT_COUNT; r++)
            ck_assert_msg(!part->rates[r].is_known || part->rates[r].source_text != NULL, "%s", part->name);
        ck_assert_msg(!part->capacity.is_known || part->capacity.source_text != NULL, "%s", part->name);
        ck_assert_msg(!part->power_max.is_known || part->power_max.source_text != NULL, "%s", part->name);
    }
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(fleet);
}
END_TEST

START_TEST(what_cannot_be_read)
{
    gsrt_diag diag = {0};
    size_t errors;
    ck_assert_int_eq(read_source("/nowhere/fleet.yaml", &errors, &diag), GSRT_EINPUT);
    ck_assert_msg(strstr(diag.text, "/nowhere/fleet.yaml: could not open it") != NULL, "%s", diag.text);
    diag = (gsrt_diag){0};
    ck_assert_int_eq(read_source("/", &errors, &diag), GSRT_EINPUT);
    ck_assert_msg(strstr(diag.text, "give an inventory") != NULL, "%s", diag.text);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {topologies_of_others_import,
                            topologies_of_the_next_version_are_named,
                            matrices_import,
                            topologies_that_crash_hwloc,
                            the_catalogue,
                            what_cannot_be_read};
    return unit_run("fleet_source", tests, sizeof tests / sizeof tests[0]);
}
