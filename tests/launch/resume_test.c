/* Resuming: which directories are taken up, and what becomes of a scenario on other ranks and after its faults. */
#include "launch/resume.h"

#include "tests/launch/scratch.h"
#include "tests/unit.h"

static const char SCENARIO[] = "gsrt: 1\n"
                               "name: a\n"
                               "plan:\n"
                               "  stages: [{layers: [0, 2], ranks: [0, 1]}, {layers: [3, 4], ranks: [2]}]\n"
                               "  spares: [3]\n"
                               "faults:\n"
                               "  - {kill: 1, when: {request: 0, token: 7}}\n"
                               "  - {kill: 0, times: 3, when: {seconds: 1}}\n"
                               "  - {stop: 3, for: 1, when: {view: 2}}\n"
                               "workload: {model: /m.gguf, requests: [{prompt: a, max_tokens: 40}]}\n";

static scratch_directory scratch;

static void put(const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", scratch.path, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void check(gsrt_status wanted, const char *text)
{
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_resume_check(scratch.path, &diag), wanted);
    ck_assert_msg(strstr(diag.text, text) != NULL, "'%s' lacks '%s'", diag.text, text);
}

START_TEST(which_directories)
{
    scratch = scratch_make();
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_resume_check("/nonexistent/run", &diag), GSRT_EINPUT);
    check(GSRT_EINPUT, "is no run directory: it has no scenario.yaml");
    put("scenario.yaml", SCENARIO);
    check(GSRT_OK, "");
    static const int open_codes[] = {1, 2, 3, 5, 130};
    for (size_t i = 0; i < sizeof open_codes / sizeof open_codes[0]; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "{\"exit\": %d}\n", open_codes[i]);
        put("report.json", text);
        check(GSRT_OK, "");
    }
    put("report.json", "{\"exit\": 0}\n");
    check(GSRT_EINPUT, "this run is complete");
    put("report.json", "{\"exit\": 4}\n");
    check(GSRT_EINPUT, "this run violated its contract");
    put("report.json", "{\"exit\": 0");
    check(GSRT_EINPUT, "line 1");
    scratch_remove(&scratch);
}
END_TEST

static gsrt_status fit(uint32_t rank_count, gsrt_scenario **out, gsrt_diag *diag)
{
    ck_assert_int_eq(gsrt_scenario_read_span(gsrt_span_of_text(SCENARIO), "q.yaml", NULL, 0, out, diag), GSRT_OK);
    gsrt_status status = gsrt_resume_fit(scratch.path, *out, rank_count, diag);
    if (status == GSRT_OK) { /* a scenario as good as any */
        ck_assert_int_eq(gsrt_plan_check((*out)->plan, NULL, rank_count, NULL, diag), GSRT_OK);
        ck_assert_int_eq(gsrt_faults_check((*out)->faults, (*out)->fault_count, rank_count, NULL, diag), GSRT_OK);
    }
    return status;
}

START_TEST(on_other_ranks)
{
    scratch = scratch_make();
    for (uint32_t rank_count = 1; rank_count <= 6; rank_count++) {
        gsrt_scenario *scenario;
        gsrt_diag diag = {0};
        ck_assert_int_eq(fit(rank_count, &scenario, &diag), GSRT_OK);
        uint32_t roles = 0, stage, member;
        for (uint32_t rank = 0; rank < rank_count; rank++)
            roles += gsrt_plan_role_of(scenario->plan, rank, &stage, &member) ? 1 : 0;
        ck_assert_uint_eq(roles, rank_count < 3 ? rank_count : 3);
        ck_assert_uint_eq(scenario->plan->stage_count, rank_count < 3 ? 1 : 2);
        ck_assert_uint_eq(scenario->fault_count, 3); /* they keep their numbers */
        ck_assert_uint_eq(scenario->faults[0].when.token == 7, rank_count > 1);
        ck_assert_uint_eq(scenario->faults[1].times, 3);
        ck_assert_uint_eq(scenario->faults[2].kind == GSRT_FAULT_STOP, rank_count > 3);
        gsrt_scenario_free(scenario);
    }
    scratch_remove(&scratch);
}
END_TEST

START_TEST(faults_are_done_once)
{
    scratch = scratch_make();
    gsrt_scenario *scenario;
    gsrt_diag diag = {0};
    gsrt_run_directory *directory;
    ck_assert_int_eq(gsrt_run_directory_open(scratch.path, &directory, &diag), GSRT_OK);
    static const uint32_t done[] = {0, 1, 1, 2};
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++)
        ck_assert_int_eq(gsrt_resume_note_fault(directory, done[i], &diag), GSRT_OK);
    ck_assert_int_eq(fit(4, &scenario, &diag), GSRT_OK);
    gsrt_faults *machine;
    uint32_t index;
    static const uint32_t incarnations[4];
    ck_assert_int_eq(gsrt_faults_create(scenario->faults, scenario->fault_count, 4, &machine), GSRT_OK);
    gsrt_faults_token(machine, 0, 40);
    gsrt_faults_view(machine, 2, incarnations);
    ck_assert(!gsrt_faults_poll(machine, &index));
    gsrt_faults_time(machine, 2000000000u);
    ck_assert(gsrt_faults_poll(machine, &index));
    ck_assert_uint_eq(index, 1);
    ck_assert_uint_eq(scenario->faults[1].times, 1);
    gsrt_faults_free(machine);
    gsrt_scenario_free(scenario);
    put("faults", "0\n3\n");
    ck_assert_int_eq(fit(4, &scenario, &diag), GSRT_EINPUT);
    ck_assert_msg(strstr(diag.text, "names a fault that this scenario has not") != NULL, "%s", diag.text);
    gsrt_scenario_free(scenario);
    static const char *const bad[] = {"\n", "x\n", "0 \n", "4294967296\n", "-1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("faults", bad[i]);
        ck_assert_int_eq(fit(4, &scenario, &diag), GSRT_EINPUT);
        gsrt_scenario_free(scenario);
    }
    put("faults", "0\n1"); /* torn: it was not done */
    ck_assert_int_eq(fit(4, &scenario, &diag), GSRT_OK);
    ck_assert_uint_eq(scenario->faults[1].times, 3);
    gsrt_scenario_free(scenario);
    gsrt_run_directory_free(directory);
    scratch_remove(&scratch);
}
END_TEST

START_TEST(generations)
{
    scratch = scratch_make();
    gsrt_diag diag = {0};
    gsrt_run_directory *directory;
    uint32_t generation = 77;
    ck_assert_int_eq(gsrt_run_directory_open(scratch.path, &directory, &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_resume_generation(directory, &generation, &diag), GSRT_OK);
    ck_assert_uint_eq(generation, 0);
    for (uint32_t wanted = 1; wanted <= 12; wanted++) {
        ck_assert_int_eq(gsrt_resume_begin(directory, &generation, &diag), GSRT_OK);
        ck_assert_uint_eq(generation, wanted);
    }
    ck_assert_int_eq(gsrt_resume_generation(directory, &generation, &diag), GSRT_OK);
    ck_assert_uint_eq(generation, 12);
    static const char *const bad[] = {"", "x\n", "1", "-1\n", "1 \n", "99999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put("resumed", bad[i]);
        ck_assert_int_eq(gsrt_resume_generation(directory, &generation, &diag), GSRT_EINPUT);
    }
    gsrt_run_directory_free(directory);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {which_directories, on_other_ranks, faults_are_done_once, generations};
    return unit_run("resume", tests, sizeof tests / sizeof tests[0]);
}
