/* Profiles: reading them, the simulated truth, and a device that computes real numbers on simulated time. */
#include "backends/device_impl.h"
#include "backends/profile_impl.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *source_dir(void)
{
    const char *dir = getenv("GSRT_SRCDIR");
    return dir == NULL ? "." : dir;
}

static gsrt_profile *open_shipped(const char *name)
{
    char path[1024];
    gsrt_profile *profile;
    gsrt_diag diag = {0};
    snprintf(path, sizeof path, "%s/scenarios/profiles/%s.json", source_dir(), name);
    ck_assert_msg(gsrt_profile_open(path, &profile, &diag) == GSRT_OK, "%s", diag.text);
    return profile;
}

START_TEST(shipped_profiles)
{
    static const char *const names[] = {"gpu-72w", "npu-15w", "edge-5w"};
    for (int i = 0; i < 3; i++) {
        gsrt_profile *profile = open_shipped(names[i]);
        const gsrt_profile_declared *declared = gsrt_profile_declared_of(profile);
        ck_assert_str_eq(declared->name, names[i]);
        ck_assert(declared->memory_bytes.value >= 0x1p30 && declared->memory_bytes.source[0] != '\0');
        ck_assert(profile->truth.efficiency_memory < 1.0); /* the truth differs from what is declared */
        gsrt_profile_free(profile);
    }
}
END_TEST

/* The shipped document with one piece of text replaced. */
static void expect_refused(const char *from, const char *to, const char *in_error)
{
    char path[1024], text[8192], changed[8192], truth_name[256];
    snprintf(path, sizeof path, "%s/scenarios/profiles/npu-15w.json", source_dir());
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "'%s' is not in the profile", from);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    gsrt_profile_declared declared;
    gsrt_diag diag = {0};
    gsrt_status status = gsrt__profile_parse(gsrt_span_of_text(changed), "npu.json", &declared, truth_name, &diag);
    ck_assert_int_eq(status, GSRT_EINPUT);
    ck_assert_msg(strstr(diag.text, "npu.json") != NULL && strstr(diag.text, in_error) != NULL, "%s", diag.text);
}

START_TEST(bad_profiles)
{
    expect_refused("\"gsrt_profile\": 1", "\"gsrt_profile\": 2", "\"gsrt_profile\": 1");
    expect_refused("\"peak_f16\"", "\"peak_f61\"", "did you mean 'peak_f16'");
    expect_refused("\"unit\": \"W\"", "\"unit\": \"kW\"", "\"W\"");
    expect_refused("\"value\": 15.0", "\"value\": \"15\"", "number");
    expect_refused("\"value\": 15.0", "\"value\": -1", "range");
    expect_refused("\"value\": 15.0", "\"value\": 0.1", "power_idle");
    expect_refused("\"value\": 80.0", "\"value\": 20.0", "temperature_ambient");
    expect_refused("npu-15w.truth.json", "../truth.json", "same folder");
    expect_refused("\"source\": \"invented\"", "\"source\": \"\"", "source");
    expect_refused("\"name\": \"npu-15w\"", "\"name\": 7", "name");
    expect_refused("{\n", "", "npu.json");
    gsrt_profile *profile;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_profile_open("/no/such/profile.json", &profile, &diag), GSRT_EIO);
    gsrt_profile_truth truth;
    ck_assert_int_eq(gsrt__profile_parse_truth(gsrt_span_of_text("{\"gsrt_profile_truth\": 1}"), "t", &truth, NULL),
                     GSRT_EINPUT);
}
END_TEST

START_TEST(truth_is_seeded_and_hot)
{
    gsrt_profile *profile = open_shipped("edge-5w");
    gsrt_profile_state a, b, c;
    gsrt__profile_state_init(&a, profile, 1);
    gsrt__profile_state_init(&b, profile, 1);
    gsrt__profile_state_init(&c, profile, 2);
    gsrt_job_cost cost = {.weight_bytes = 1u << 30, .flops = {0, 0, 1u << 30}};
    uint64_t sum_a = 0, sum_c = 0, declared_ns = (uint64_t)(0x1p30 / 17e9 * 1e9);
    bool was_throttled = false;
    for (int i = 0; i < 3000; i++) {
        uint64_t ns = gsrt__profile_work(&a, profile, &cost, 4);
        ck_assert_uint_eq(ns, gsrt__profile_work(&b, profile, &cost, 4));
        ck_assert_uint_gt(ns, declared_ns); /* slower than declared */
        sum_a += ns;
        sum_c += gsrt__profile_work(&c, profile, &cost, 4);
        was_throttled = was_throttled || a.is_throttled;
    }
    ck_assert_uint_ne(sum_a, sum_c);
    ck_assert(was_throttled && a.throttled_ns > 0);
    double limit_c = profile->declared.temperature_throttle.value;
    ck_assert(a.temperature_c > limit_c - 20 && a.temperature_c < limit_c + 20);
    double seconds = (double)sum_a * 1e-9;
    ck_assert(a.energy_j > seconds * profile->declared.power_idle.value);
    ck_assert(a.energy_j <= seconds * profile->declared.power_max.value * 1.001);
    gsrt__profile_idle(&a, profile, 3600000000000u);
    ck_assert(!a.is_throttled);
    double cool_c = profile->declared.temperature_ambient.value +
                    profile->declared.power_idle.value * profile->declared.thermal_resistance.value;
    ck_assert_double_eq_tol(a.temperature_c, cool_c, 0.1);
    gsrt_profile_free(profile);
}
END_TEST

typedef struct finished {
    _Atomic uint32_t count;
    uint64_t work_ns, at_ns;
} finished;

static void on_done(void *arg, gsrt_job *job, gsrt_status status, uint64_t work_ns)
{
    (void)job;
    ck_assert_int_eq(status, GSRT_OK);
    finished *f = arg;
    f->work_ns = work_ns;
    f->at_ns = gsrt__now_ns();
    atomic_fetch_add_explicit(&f->count, 1, memory_order_release);
}

/* Adds two slots on a simulated device. */
static gsrt_device_facts run_jobs(gsrt_profile *profile, double time_scale, uint32_t job_count, finished *f)
{
    gsrt_device *device;
    gsrt_device_options options = {.isa = GSRT_ISA_SCALAR,
                                   .profile = profile,
                                   .profile_seed = 3,
                                   .time_scale = time_scale,
                                   .done = on_done,
                                   .done_arg = f};
    ck_assert_int_eq(gsrt_device_create_profile(&options, &device, NULL), GSRT_OK);
    gsrt_slot slots[2] = {{.width = 64}, {.width = 64}};
    gsrt_instr instr = {.kind = GSRT_INSTR_ADD, .in = {0, 1, GSRT_NO_SLOT}, .out = 0};
    gsrt_program program = {.instrs = &instr, .instr_count = 1, .slots = slots, .slot_count = 2};
    gsrt_workspace *workspace = gsrt_workspace_create(&program, 1);
    ((float *)gsrt_workspace_slot(workspace, 1))[63] = 1.0f;
    gsrt_job job = {.program = &program, .instr_count = 1, .workspace = workspace, .row_count = 1};
    for (uint32_t i = 0; i < job_count; i++) {
        uint64_t start_ns = gsrt__now_ns();
        ck_assert_int_eq(gsrt_device_submit(device, &job), GSRT_OK);
        while (atomic_load_explicit(&f->count, memory_order_acquire) == i)
            ;
        ck_assert(f->at_ns - start_ns >= (uint64_t)((double)f->work_ns * time_scale)); /* never too early */
    }
    gsrt_device_facts facts;
    gsrt_device_read_facts(device, &facts);
    gsrt_device_free(device);
    ck_assert(((float *)gsrt_workspace_slot(workspace, 0))[63] == (float)job_count); /* the numbers are real */
    gsrt_workspace_free(workspace);
    return facts;
}

START_TEST(device_on_simulated_time)
{
    gsrt_profile *profile = open_shipped("gpu-72w");
    finished slow = {0}, fast = {0};
    gsrt_device_facts facts = run_jobs(profile, 500.0, 3, &slow);
    ck_assert(facts.is_simulated && strcmp(facts.kind, "profile") == 0 && strcmp(facts.name, "gpu-72w") == 0);
    ck_assert_uint_eq(facts.job_count, 3);
    ck_assert_uint_eq(facts.row_count, 3);
    ck_assert_uint_gt(facts.busy_ns, 3 * 3000);
    ck_assert(facts.energy_j > 0 && facts.temperature_c > 28);
    ck_assert_uint_eq(facts.memory_bytes_max, (uint64_t)24 << 30);
    facts = run_jobs(profile, 1e-6, 3, &fast); /* no CPU is that fast */
    ck_assert_uint_eq(facts.late_count, 3);
    ck_assert_uint_eq(fast.work_ns, slow.work_ns); /* the same seed, the same simulated time, whatever the scale */
    gsrt_profile_free(profile);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tcase = tcase_create("profile");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, shipped_profiles);
    tcase_add_test(tcase, bad_profiles);
    tcase_add_test(tcase, truth_is_seeded_and_hot);
    tcase_add_test(tcase, device_on_simulated_time);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
