#include "launch/scenario.h"

#include "base/limits.h"
#include "launch/scenario_impl.h"
#include "placement/search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, PLACE_BYTES_MAX = 512 };

static gsrt_scenario *scenario_create(void)
{
    gsrt_scenario *scenario = calloc(1, sizeof *scenario);
    if (scenario == NULL)
        return NULL;
    gsrt_arena_init(&scenario->arena, GSRT_YAML_ARENA_BYTES_MAX);
    scenario->contract = "bitwise";
    scenario->watch = 16;
    scenario->thread_count = 1;
    scenario->prefill_chunk = GSRT_BATCH_ROWS_MAX;
    scenario->batch_requests = 8;
    scenario->is_reusing_prefixes = true;
    scenario->is_replicating = true;
    scenario->is_packing = true;
    scenario->is_binding = true;
    scenario->spin_us = -1;
    scenario->restart_max = 3;
    scenario->restart_window_ms = 60 * 1000;
    scenario->contact_ms = 50;
    scenario->link = (gsrt_scenario_link){.latency_us = 5, .bandwidth_gbps = 100};
    scenario->twin_seed = 1;
    scenario->is_numeric_in_twin = true;
    scenario->time_scale = 1;
    return scenario;
}

gsrt_scenario *gsrt_scenario_free(gsrt_scenario *scenario)
{
    if (scenario == NULL)
        return NULL;
    (void)gsrt_plan_free(scenario->plan);
    (void)gsrt_contract_free(scenario->asked);
    free(scenario->planning.planned);
    gsrt_arena_fini(&scenario->arena);
    free(scenario);
    return NULL;
}

/* The directory of `path`, absolute and free of symbolic links; where that cannot be known, as it is written. In
 * `arena`; NULL: no memory. */
static const char *directory_of(gsrt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    const char *written = len == 0 ? "." : gsrt_arena_copy_text(arena, path, len);
    if (written == NULL)
        return NULL;
    char *real = realpath(written, NULL);
    const char *made =
        gsrt_arena_copy_text(arena, real == NULL ? written : real, strlen(real == NULL ? written : real));
    free(real);
    return made;
}

/* The check of the plan knows paths ("plan.stages[1].ranks: ..."), the tree knows where they stand: put both together.
 */
static gsrt_status check_plan(const gsrt_yaml_reader *reader, const gsrt_yaml *yaml)
{
    gsrt_diag found = {0};
    gsrt_status status = gsrt_plan_check(gsrt__scenario_of(reader)->plan, NULL, GSRT_RANK_COUNT_MAX, NULL, &found);
    if (status == GSRT_OK)
        return GSRT_OK;
    char path[PLACE_BYTES_MAX], place[PLACE_BYTES_MAX];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(found.text, ":"), found.text);
    const gsrt_yaml_node *node = gsrt_yaml_at(yaml, path);
    if (node == NULL)
        node = yaml->root;
    return gsrt_diag_set(reader->diag, status, node->origin == NULL ? reader->file : NULL,
                         gsrt_yaml_place(node, NULL, place, sizeof place), "%s", found.text);
}

/* One more than the highest rank that a device is given to: as many as a plan that is to be made can count on. */
static uint32_t device_rank_count(const gsrt_scenario *scenario)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < scenario->device_count; i++)
        count = scenario->devices[i].rank >= count ? scenario->devices[i].rank + 1 : count;
    return count;
}

/* Apply the overrides, read the tree, check what can be checked without the model. */
static gsrt_status resolve(gsrt_yaml *yaml, const gsrt_scenario_set *sets, size_t set_count, gsrt_scenario *scenario,
                           gsrt_diag *diag)
{
    gsrt_status status = GSRT_OK;
    for (size_t i = 0; i < set_count && status == GSRT_OK; i++)
        status = gsrt_yaml_set(yaml, sets[i].key, sets[i].value, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_yaml_reader reader = {
        .arena = &scenario->arena,
        .subject = scenario,
        .subject_name = "the scenario",
        .file = scenario->file,
        .directory = directory_of(&scenario->arena, scenario->file),
        .working = directory_of(&scenario->arena, "./"),
        .diag = diag,
    };
    if (reader.directory == NULL || reader.working == NULL)
        return GSRT_ENOMEM;
    status = gsrt__scenario_planning_init(scenario);
    if (status == GSRT_OK)
        status = gsrt__scenario_read_root(&reader, yaml->root);
    if (status == GSRT_OK && scenario->plan != NULL)
        status = check_plan(&reader, yaml);
    if (status == GSRT_OK) /* of a plan that is one */
        status = gsrt__scenario_check_moves(&reader, yaml->root);
    if (status == GSRT_OK && scenario->twin_rank_count == 0)
        scenario->twin_rank_count =
            scenario->plan != NULL ? gsrt_plan_rank_count(scenario->plan) : device_rank_count(scenario);
    if (status == GSRT_OK && scenario->asked == NULL)
        scenario->asked = gsrt_contract_bitwise();
    return status == GSRT_OK && scenario->asked == NULL ? GSRT_ENOMEM : status;
}

gsrt_status gsrt_scenario_read_span(gsrt_span bytes, const char *path, const gsrt_scenario_set *sets, size_t set_count,
                                    gsrt_scenario **out, gsrt_diag *diag)
{
    gsrt_yaml *yaml;
    gsrt_status status = gsrt_yaml_parse(bytes, path, &yaml, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_scenario *scenario = scenario_create();
    if (scenario != NULL)
        scenario->file = gsrt_arena_copy_text(&scenario->arena, path, strlen(path));
    status = scenario == NULL || scenario->file == NULL ? GSRT_ENOMEM : resolve(yaml, sets, set_count, scenario, diag);
    (void)gsrt_yaml_free(yaml);
    if (status != GSRT_OK) {
        (void)gsrt_scenario_free(scenario);
        return status;
    }
    *out = scenario;
    return GSRT_OK;
}

gsrt_status gsrt_scenario_check_runs(const gsrt_scenario *scenario, gsrt_diag *diag)
{
    if (scenario->model == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, scenario->file, "workload",
                             "has no weights to run; give a 'model', or plan for it with 'gsrt plan'");
    if (scenario->planning.inventory != NULL && scenario->plan == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, scenario->file, "fleet.inventory",
                             "describes machines, and not these ranks; leave it out, or plan for it with 'gsrt plan'");
    return GSRT_OK;
}

/* All bytes of the open file, at most GSRT_SCENARIO_BYTES_MAX. */
static gsrt_status read_bytes(int descriptor, const char *path, gsrt_buffer *bytes, gsrt_diag *diag)
{
    while (true) {
        uint8_t *room;
        size_t start = bytes->len;
        gsrt_status status = gsrt_buffer_extend(bytes, READ_BYTES, &room);
        if (status == GSRT_ELIMIT)
            return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is larger than %u bytes; is it a scenario?",
                                 (unsigned)GSRT_SCENARIO_BYTES_MAX);
        if (status != GSRT_OK)
            return status;
        ssize_t n = read(descriptor, room, READ_BYTES);
        bytes->len = start + (n > 0 ? (size_t)n : 0);
        if (n < 0 && errno != EINTR)
            return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "cannot be read: %s", strerror(errno));
        if (n == 0)
            return GSRT_OK;
    }
}

gsrt_status gsrt_scenario_read(const char *path, const gsrt_scenario_set *sets, size_t set_count, gsrt_scenario **out,
                               gsrt_diag *diag)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "the scenario cannot be opened: %s; check its path",
                             strerror(errno));
    struct stat facts;
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_SCENARIO_BYTES_MAX + 2 * READ_BYTES);
    gsrt_status status;
    if (fstat(descriptor, &facts) == 0 && S_ISDIR(facts.st_mode))
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is a directory; name the scenario's YAML file");
    else
        status = read_bytes(descriptor, path, &bytes, diag);
    (void)close(descriptor);
    if (status == GSRT_OK)
        status = gsrt_scenario_read_span(gsrt_buffer_span(&bytes), path, sets, set_count, out, diag);
    gsrt_buffer_fini(&bytes);
    return status;
}

const gsrt_scenario_device *gsrt_scenario_device_of(const gsrt_scenario *scenario, uint32_t rank)
{
    for (uint32_t i = 0; i < scenario->device_count; i++) {
        if (scenario->devices[i].rank == rank)
            return &scenario->devices[i];
    }
    return NULL;
}
