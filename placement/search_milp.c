/* The exact baseline: layers to groups as a mixed-integer linear program, solved by GLPK.
 *
 * For each way to cut the classes of engines into groups of equal width, each number of replicas and each batch: x[i]
 * layers on group i (whole), y[i] whether it is used. Times are linear in the layers (the mean layer), memories bound
 * x[i]. throughput and what follows from it:  min T,  T >= a[i] x[i] + e[i] y[i] latency: min sum of a[i] x[i] + e[i]
 * y[i] sum of x[i] = layers,  y[i] <= x[i] <= most[i] y[i] Exact for this linear problem; what it finds is judged by
 * the cost model like every other candidate. The solver is limited by nodes and iterations, never by time.
 */
#include <assert.h>
#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "placement/search_impl.h"

enum { SLOTS_MAX = 16, NODES_MAX = 20000, ITERATIONS_MAX = 200000, BATCHES = 7, WIDTHS = 4 };

typedef struct instance {
    gsrt__sketch_stage groups[SLOTS_MAX];
    uint32_t count;
    double layer_seconds[SLOTS_MAX], used_seconds[SLOTS_MAX];
    double most[SLOTS_MAX]; /* layers that the memory holds */
} instance;

/* After so many nodes it ends: a count, so that the same problem always ends at the same place. */
static void limit_nodes(glp_tree *tree, void *unused)
{
    int total;
    (void)unused;
    glp_ios_tree_size(tree, NULL, NULL, &total);
    if (total > NODES_MAX)
        glp_ios_terminate(tree);
}

static void add_row(glp_prob *lp, int type, double low, double high, int count, const int *columns,
                    const double *values)
{
    int row = glp_add_rows(lp, 1);
    glp_set_row_bnds(lp, row, type, low, high);
    glp_set_mat_row(lp, row, count, columns, values); /* both arrays begin at 1 */
}

/* Columns: x[1..n], y[n+1..2n], T. */
static glp_prob *program(const instance *in, uint32_t layer_count, bool is_sum)
{
    int n = (int)in->count;
    glp_prob *lp = glp_create_prob();
    glp_set_obj_dir(lp, GLP_MIN);
    glp_add_cols(lp, 2 * n + 1);
    int columns[SLOTS_MAX + 1];
    double ones[SLOTS_MAX + 1];
    for (int i = 1; i <= n; i++) {
        glp_set_col_kind(lp, i, GLP_IV);
        glp_set_col_bnds(lp, i, GLP_DB, 0, layer_count);
        glp_set_col_kind(lp, n + i, GLP_BV);
        columns[i] = i;
        ones[i] = 1;
        double a = in->layer_seconds[i - 1], e = in->used_seconds[i - 1];
        if (is_sum) {
            glp_set_obj_coef(lp, i, a);
            glp_set_obj_coef(lp, n + i, e);
        } else {
            const int longest[] = {0, i, n + i, 2 * n + 1};
            const double times[] = {0, -a, -e, 1};
            add_row(lp, GLP_LO, 0, 0, 3, longest, times);
        }
        const int used[] = {0, i, n + i};
        const double at_most[] = {0, 1, -in->most[i - 1]}, at_least[] = {0, 1, -1};
        add_row(lp, GLP_UP, 0, 0, 2, used, at_most);
        add_row(lp, GLP_LO, 0, 0, 2, used, at_least);
    }
    glp_set_col_bnds(lp, 2 * n + 1, GLP_LO, 0, 0);
    glp_set_obj_coef(lp, 2 * n + 1, is_sum ? 0 : 1);
    add_row(lp, GLP_FX, layer_count, layer_count, n, columns, ones);
    return lp;
}

/* out_layers [count]. false: no such cut, or the limits were reached. */
static bool solve(const instance *in, uint32_t layer_count, bool is_sum, uint32_t *out_layers)
{
    glp_prob *lp = program(in, layer_count, is_sum);
    glp_smcp simplex;
    glp_iocp tree;
    glp_init_smcp(&simplex);
    simplex.msg_lev = GLP_MSG_OFF;
    simplex.it_lim = ITERATIONS_MAX;
    glp_init_iocp(&tree);
    tree.msg_lev = GLP_MSG_OFF;
    tree.cb_func = limit_nodes;
    bool is_solved = glp_simplex(lp, &simplex) == 0 && glp_get_status(lp) == GLP_OPT && glp_intopt(lp, &tree) == 0 &&
                     (glp_mip_status(lp) == GLP_OPT || glp_mip_status(lp) == GLP_FEAS);
    for (uint32_t i = 0; is_solved && i < in->count; i++)
        out_layers[i] = (uint32_t)(glp_mip_col_val(lp, (int)i + 1) + 0.5);
    glp_delete_prob(lp);
    return is_solved;
}

/* In units of the fastest group's layer: the solver's tolerances are made for numbers near 1. */
static void scale(instance *in)
{
    double least = in->layer_seconds[0];
    for (uint32_t i = 1; i < in->count; i++)
        least = fmin(least, in->layer_seconds[i]);
    for (uint32_t i = 0; i < in->count; i++) {
        in->layer_seconds[i] /= least;
        in->used_seconds[i] /= least;
    }
}

/* Seconds and bytes of the mean layer on one group. */
static void describe(gsrt__search *s, uint32_t numeric, double rows, uint32_t stages, instance *in)
{
    for (uint32_t i = 0; i < in->count; i++) {
        const gsrt__sketch_member *m = &in->groups[i].members[0];
        double rate = gsrt__rate(s, m->class, numeric, GSRT_CLASS_MATMUL), bandwidth = s->classes[m->class].bandwidth;
        double seconds = 0;
        for (uint32_t l = 0; l < s->layer_count; l++) {
            const gsrt__layer_work *w = &s->numerics[numeric].layers[l];
            double by_rate = rate > 0 ? 2 * rows * gsrt__row_elements(w) / rate : HUGE_VAL;
            double by_bytes = bandwidth > 0 ? (gsrt__weight_bytes_read(w, rows) +
                                               rows * w->state_bytes * gsrt__state_positions(w, s->context_max)) /
                                                  bandwidth
                                            : HUGE_VAL;
            seconds += by_rate > by_bytes ? by_rate : by_bytes;
        }
        double bytes = gsrt__replica_bytes(s, numeric, rows * stages) / s->layer_count;
        in->layer_seconds[i] = seconds / s->layer_count / m->count;
        in->used_seconds[i] = gsrt__weight_bytes(&s->numerics[numeric].output) / bandwidth / m->count / in->count;
        double most = s->classes[m->class].capacity * m->count / bytes;
        in->most[i] = most > s->layer_count ? s->layer_count : (double)(uint32_t)most;
    }
    scale(in);
}

static bool judge(gsrt__search *s, uint32_t numeric, const instance *in, const uint32_t *layers, uint64_t replicas,
                  uint32_t rows, gsrt__sketch *room)
{
    gsrt__sketch_pool *pool = &room->pools[0];
    uint32_t layer = 0;
    room->pool_count = 1;
    room->numeric = numeric;
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = replicas;
    pool->batch_max = gsrt__batch_on_lattice(s, rows);
    pool->prefill_tokens = gsrt__first_chunk(s);
    pool->power_cap_w = 0;
    pool->draft_tokens = 0;
    pool->kv_offload = 0;
    pool->stage_count = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        if (layers[i] == 0)
            continue;
        gsrt__sketch_stage *stage = &pool->stages[pool->stage_count++];
        *stage = in->groups[i];
        stage->layer_first = layer;
        layer += layers[i];
        stage->layer_last = layer - 1;
    }
    gsrt__judgement j;
    return gsrt__fit_batch(s, room, 0, &j);
}

/* Groups of these widths, for so many replicas. false: more than fit the table, or none. */
static bool groups_of(gsrt__search *s, uint32_t numeric, const uint32_t *widths, uint64_t replicas, instance *out)
{
    out->count = 0;
    for (uint32_t c = 0; c < s->class_count; c++) {
        const gsrt__engine_class *class = &s->classes[c];
        if (widths[c] == 0)
            continue;
        for (uint64_t k = 0; k < class->total / widths[c] / replicas; k++) {
            if (out->count == SLOTS_MAX)
                return false;
            out->groups[out->count++] =
                (gsrt__sketch_stage){.members = {{c, widths[c], 1}},
                                     .member_count = 1,
                                     .data_width = 1,
                                     .expert_width = 1,
                                     .context_width = 1,
                                     .algorithm = gsrt__first_algorithm(s, numeric, c, widths[c])};
        }
    }
    return out->count > 0;
}

static bool try_widths(gsrt__search *s, uint32_t numeric, const uint32_t *widths, gsrt__sketch *room)
{
    uint64_t most = 1;
    for (uint32_t c = 0; c < s->class_count; c++)
        if (widths[c] > 0 && s->classes[c].total / widths[c] > most)
            most = s->classes[c].total / widths[c];
    bool is_sum = s->problem->objective.measure == GSRT_MEASURE_TTFT ||
                  s->problem->objective.measure == GSRT_MEASURE_TPOT ||
                  s->problem->objective.measure == GSRT_MEASURE_LATENCY;
    for (uint64_t replicas = s->problem->is_for_execution ? 1 : most; replicas >= 1; replicas /= 2) {
        instance in;
        if (!groups_of(s, numeric, widths, replicas, &in))
            continue;
        uint32_t rows = 1;
        for (uint32_t b = 0; b < BATCHES; b++, rows *= is_sum ? 2 : 4) {
            uint32_t layers[SLOTS_MAX];
            describe(s, numeric, rows, in.count, &in);
            if (solve(&in, s->layer_count, is_sum, layers) && !judge(s, numeric, &in, layers, replicas, rows, room))
                return false;
        }
    }
    return true;
}

/* The next combination of widths 1, 2, 4 ... or none, class by class, of classes that can compute so. false: it was the
 * last. */
static bool next_widths(const gsrt__search *s, uint32_t numeric, uint32_t *widths)
{
    for (uint32_t c = 0; c < s->class_count; c++) {
        bool is_usable = s->classes[c].barred == NULL && gsrt__incapable(s, c, numeric) == NULL;
        uint64_t most = is_usable ? s->classes[c].levels[0] : 0;
        uint32_t next = widths[c] == 0 ? 1 : widths[c] * 2;
        if (next <= most && next < 1u << WIDTHS) {
            widths[c] = next;
            return true;
        }
        widths[c] = 0;
    }
    return false;
}

void gsrt__search_milp(gsrt__search *s)
{
    if (s->class_count > SLOTS_MAX) {
        s->status = gsrt_diag_set(s->diag, GSRT_EUNSUPPORTED, NULL, NULL,
                                  "policy 'milp' takes at most %d kinds of engines, here are %u; use dp or local",
                                  SLOTS_MAX, s->class_count);
        return;
    }
    gsrt__sketch *room = gsrt__sketch_room(s);
    uint32_t *widths = gsrt_arena_take(&s->arena, s->class_count, sizeof *widths);
    if (room == NULL || widths == NULL) {
        s->status = GSRT_ENOMEM;
        return;
    }
    int was_loud = glp_term_out(GLP_OFF);
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        bool goes_on = !s->numerics[n].is_refused;
        memset(widths, 0, s->class_count * sizeof *widths);
        while (goes_on && next_widths(s, n, widths))
            goes_on = try_widths(s, n, widths, room);
    }
    (void)glp_term_out(was_loud);
    gsrt__sketch_give_back(s, room);
}
