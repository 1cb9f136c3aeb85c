#include "bench/helix_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INPUT_TOKENS = 750, OUTPUT_TOKENS = 240, BLOCK_TOKENS = 16, ROUND_COUNT = 10, TYPE_COUNT_MAX = 8 };
static const double KV_SHARE = 0.3;     /* of the blocks, that are in use */
static const double NIC_BYTES_S = 10e9; /* machine_profiles.ini, "10 * gbps" of every machine */
static const double TOKEN_BYTES = 2.0;  /* from the source, to the sink */

const gsrt_helix_case gsrt_helix_cases[] = {
    {"opt10", "cluster10.ini", "llama1_30b", true, false},
    {"single24_noprune", "cluster24.ini", "llama2_70b", true, false},
    {"het42_pruned", "cluster42.ini", "llama2_70b", true, true},
    {"geo24_noprune", "3cluster24.ini", "llama2_70b", false, false},
    {"het42_noprune", "cluster42.ini", "llama2_70b", false, false},
    {0},
};

/* Of one machine for one model. */
typedef struct machine {
    const char *type, *profile;
    uint32_t typical_layers[2];             /* with plenty of memory in the cluster, with little */
    double speed;                           /* layers * token/s to start from */
    uint32_t blocks[GSRT_HELIX_LAYERS_MAX]; /* of vLLM, left beside 1, 2, ... layers; 0 ends */
} machine;

typedef struct helix_model {
    const char *name;
    uint32_t layer_count, activation_bytes;
    machine machines[TYPE_COUNT_MAX]; /* type NULL ends */
} helix_model;

static const helix_model models[] = {
    {"llama1_30b",
     60,
     13312,
     {{"T4", "t4", {4, 7}, 8, {26849, 12164, 7269, 4821, 3353, 2374, 1675}},
      {"L4", "l4", {8, 11}, 9, {41191, 19335, 12050, 8407, 6221, 4764, 3724, 2943, 2336, 1850, 1453}}}},
    {"llama2_70b",
     80,
     16384,
     {{"A100",
       "a100",
       {8, 12},
       80,
       {498326, 236107, 148700, 104997, 78775, 61294, 48807, 39442, 32158, 26331, 21564, 17591}},
      {"V100", "v100", {3, 4}, 40, {172256, 71952, 38517, 21800}},
      {"L4", "l4", {4, 7}, 20, {266146, 121017, 71296, 46944, 32333, 22592, 15634}},
      {"L4x2",
       "l4x2",
       {9, 14},
       30,
       {578630, 275491, 174956, 124689, 94529, 74422, 60060, 49288, 40910, 34208, 28724, 24155, 20288, 16974}},
      {"T4", "t4", {3, 4}, 12.5, {155320, 63484, 32872, 17566}},
      {"T4x2", "t4x2", {6, 9}, 20, {366898, 168665, 103099, 70316, 50646, 37533, 28167, 21142, 15678}},
      {"T4x4",
       "t4x4",
       {12, 18},
       30,
       {763104, 366320, 235082, 169464, 130092, 103845, 85097, 71036, 60099, 51350, 44192, 38226, 33179, 28852, 25102,
        21822, 18927, 16353}}}},
};

/* The machines of one cluster. */
typedef struct cluster {
    const helix_model *model;
    uint32_t type_count;
    const machine *machines[TYPE_COUNT_MAX];
    uint32_t counts[TYPE_COUNT_MAX]; /* nodes of each */
    uint32_t typical_layers[TYPE_COUNT_MAX];
    double speeds[TYPE_COUNT_MAX]; /* layers * token/s with typical layers */
    gsrt_helix_profile prompts[TYPE_COUNT_MAX], decodes[TYPE_COUNT_MAX];
} cluster;

/* Half to even, as the original rounds. */
static double rounded(double value)
{
    return nearbyint(value);
}

/* Seconds of one layer, between the points on both sides; false: beyond the profile. */
static bool layer_seconds(const gsrt_helix_profile *profile, double tokens, double *out)
{
    for (uint32_t i = 0; i < profile->count; i++) {
        double right = (double)profile->tokens[i];
        if (right < tokens)
            continue;
        if (i == 0 && right > tokens)
            return false;
        double y1 = profile->layer_ms[i] * 0.001;
        *out = y1;
        if (right > tokens) {
            double left = (double)profile->tokens[i - 1], y0 = profile->layer_ms[i - 1] * 0.001;
            *out = y0 + (y1 - y0) * (tokens - left) / (right - left);
        }
        return true;
    }
    return false;
}

/* token/s of machines of a type that hold `count` layers; 0: outside the profile. */
static double throughput(const cluster *c, uint32_t type, uint32_t count)
{
    double seconds = 0.0, layers = 0.0;
    for (uint32_t i = 0; i < c->type_count; i++) {
        seconds += (double)(c->counts[i] * c->typical_layers[i]) * (1.0 / c->speeds[i]);
        layers += (double)(c->counts[i] * c->typical_layers[i]);
    }
    double batch = (double)count * (1.0 / c->speeds[type]);
    double share = batch / ((double)(c->model->layer_count - count) * (seconds / layers) + batch);
    double entries = (double)BLOCK_TOKENS * (double)c->machines[type]->blocks[count - 1];
    double requests =
        floor(KV_SHARE * (entries * (double)count) / (double)count) / (INPUT_TOKENS + OUTPUT_TOKENS) * share;
    double prompts = requests / OUTPUT_TOKENS, prompt_tokens = rounded(prompts * INPUT_TOKENS);
    double decode_tokens = rounded(requests), scale = 1.0 / prompts, prompt_s, decode_s;
    if (prompts > 1.0) {
        prompt_tokens = INPUT_TOKENS;
        decode_tokens = OUTPUT_TOKENS;
        scale = 1.0;
    }
    if (!layer_seconds(&c->prompts[type], floor(prompt_tokens * scale), &prompt_s) ||
        !layer_seconds(&c->decodes[type], decode_tokens, &decode_s))
        return 0.0;
    return scale * (prompt_tokens + decode_tokens) / ((double)count * (prompt_s + decode_s * scale));
}

/* Speeds depend on each other through the round trip: ten rounds, as the original does. */
static void settle(cluster *c)
{
    for (uint32_t round = 0; round < ROUND_COUNT; round++) {
        double speeds[TYPE_COUNT_MAX];
        for (uint32_t i = 0; i < c->type_count; i++)
            speeds[i] = throughput(c, i, c->typical_layers[i]) * (double)c->typical_layers[i];
        memcpy(c->speeds, speeds, c->type_count * sizeof speeds[0]);
    }
}

static gsrt_status open_file(const char *path, char *room, size_t room_bytes, gsrt_diag *diag, gsrt_span *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return gsrt_diag_set(diag, GSRT_EIO, path, NULL, "cannot be read");
    size_t len = fread(room, 1, room_bytes, file);
    (void)fclose(file);
    if (len == room_bytes)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "larger than expected");
    *out = gsrt_span_of(room, len);
    return GSRT_OK;
}

enum { FILE_BYTES_MAX = 1 << 20, PATH_BYTES = 1024 };
static _Thread_local char file_room[FILE_BYTES_MAX];

static gsrt_status read_profiles(const char *folder, cluster *c, gsrt_diag *diag)
{
    static const char *const phases[] = {"prompt", "decode"};
    for (uint32_t i = 0; i < c->type_count; i++)
        for (int phase = 0; phase < 2; phase++) {
            char path[PATH_BYTES];
            gsrt_span text;
            (void)snprintf(path, sizeof path, "%s/profiles/%s_%s_%s_bs2time.csv", folder, c->model->name,
                           c->machines[i]->profile, phases[phase]);
            gsrt_status status = open_file(path, file_room, sizeof file_room, diag, &text);
            if (status == GSRT_OK)
                status = gsrt_helix_read_profile(text, path, diag, phase == 0 ? &c->prompts[i] : &c->decodes[i]);
            if (status != GSRT_OK)
                return status;
        }
    return GSRT_OK;
}

/* Which machines, how many, and how many layers they typically hold. */
static gsrt_status count_machines(cluster *c, const gsrt_helix_problem *p, gsrt_diag *diag)
{
    uint32_t counted = 0, room = 0;
    for (uint32_t m = 0; m < TYPE_COUNT_MAX && c->model->machines[m].type != NULL; m++) {
        const machine *type = &c->model->machines[m];
        uint32_t count = 0;
        for (uint32_t i = 0; i < p->node_count; i++)
            count += strcmp(p->types[i], type->type) == 0;
        if (count == 0)
            continue;
        c->machines[c->type_count] = type;
        c->counts[c->type_count] = count;
        c->speeds[c->type_count] = type->speed;
        c->type_count += 1;
        counted += count;
        room += count * type->typical_layers[0];
    }
    if (counted < p->node_count)
        return gsrt_diag_set(diag, GSRT_EINPUT, NULL, NULL, "a machine that %s has no table for", c->model->name);
    for (uint32_t i = 0; i < c->type_count; i++)
        c->typical_layers[i] = c->machines[i]->typical_layers[(double)room < (double)c->model->layer_count * 1.2];
    return GSRT_OK;
}

/* Cluster and profiles: throughputs of the nodes, and links in token/s. */
static gsrt_status import(const char *folder, const gsrt_helix_case *which, gsrt_diag *diag, gsrt_helix_problem *p)
{
    cluster c = {0};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].name, which->model) == 0)
            c.model = &models[i];
    gsrt_status status = count_machines(&c, p, diag);
    if (status == GSRT_OK)
        status = read_profiles(folder, &c, diag);
    if (status != GSRT_OK)
        return status;
    settle(&c);
    p->layer_count = c.model->layer_count;
    double nic = NIC_BYTES_S / (double)c.model->activation_bytes;
    for (uint32_t i = 0; i < p->node_count; i++)
        for (uint32_t t = 0; t < c.type_count; t++)
            for (uint32_t k = 1; strcmp(p->types[i], c.machines[t]->type) == 0 && k <= GSRT_HELIX_LAYERS_MAX &&
                                 c.machines[t]->blocks[k - 1] > 0;
                 k++) {
                double passed = throughput(&c, t, k);
                p->throughput[i][k - 1] = passed < nic ? passed : nic;
                p->layers_max[i] = k;
            }
    for (uint32_t from = 0; from <= GSRT_HELIX_SINK; from++)
        for (uint32_t to = 0; to <= GSRT_HELIX_SINK; to++)
            p->links[from][to] /=
                from == GSRT_HELIX_SOURCE || to == GSRT_HELIX_SINK ? TOKEN_BYTES : (double)c.model->activation_bytes;
    return GSRT_OK;
}

/* What Gurobi was given, and what it found. */
static gsrt_status read_program(const char *folder, const char *name, gsrt_diag *diag, gsrt_helix_published *out)
{
    char path[PATH_BYTES];
    gsrt_span text;
    (void)snprintf(path, sizeof path, "%s/milp/%s/ilp_model.lp", folder, name);
    gsrt_status status = open_file(path, file_room, sizeof file_room, diag, &text);
    if (status == GSRT_OK)
        status = gsrt_helix_read_program(text, path, diag, &out->program);
    (void)snprintf(path, sizeof path, "%s/milp/%s/ilp_sol.ini", folder, name);
    if (status == GSRT_OK)
        status = open_file(path, file_room, sizeof file_room, diag, &text);
    if (status == GSRT_OK)
        status = gsrt_helix_read_placement(text, path, diag, out->holds);
    (void)snprintf(path, sizeof path, "%s/milp/%s/ilp_solution.sol", folder, name);
    if (status == GSRT_OK)
        status = open_file(path, file_room, sizeof file_room, diag, &text);
    return status == GSRT_OK ? gsrt_helix_read_objective(text, path, diag, &out->objective) : status;
}

gsrt_status gsrt_helix_open(const char *folder, const gsrt_helix_case *which, gsrt_diag *diag,
                            gsrt_helix_published *out)
{
    char path[PATH_BYTES];
    gsrt_span text;
    gsrt_status status = which->has_program ? read_program(folder, which->name, diag, out) : GSRT_OK;
    (void)snprintf(path, sizeof path, "%s/clusters/%s", folder, which->cluster);
    if (status == GSRT_OK)
        status = open_file(path, file_room, sizeof file_room, diag, &text);
    if (status == GSRT_OK)
        status = gsrt_helix_read_cluster(text, path, diag, &out->imported);
    if (status == GSRT_OK)
        status = import(folder, which, diag, &out->imported);
    for (uint32_t from = 0; status == GSRT_OK && which->has_pruned_links && from <= GSRT_HELIX_SINK; from++)
        for (uint32_t to = 0; to <= GSRT_HELIX_SINK; to++)
            if (!(out->program.links[from][to] > 0.0))
                out->imported.links[from][to] = 0.0;
    return status;
}
