/* Columns are separated by spaces or tabs, and names of columns hold spaces too ("CPU Affinity"), so a header is read
 * up to the first word that is no device. Rows follow in the order of the columns. */
#include "placement/topology_matrix.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = GSRT_MATRIX_DEVICES_MAX + 8, WORD_BYTES_MAX = 32, LINE_BYTES_MAX = 8192 };

/* How two devices are joined, the closest first. */
typedef enum joint { JOINT_SELF, JOINT_NVLINK, JOINT_SWITCH, JOINT_ROOT, JOINT_NODE, JOINT_SYSTEM } joint;

typedef struct line {
    char words[WORDS_MAX][WORD_BYTES_MAX];
    size_t count;
} line;

typedef struct matrix {
    char names[GSRT_MATRIX_DEVICES_MAX][WORD_BYTES_MAX];
    char numa[GSRT_MATRIX_DEVICES_MAX][WORD_BYTES_MAX]; /* "": not said */
    joint joints[GSRT_MATRIX_DEVICES_MAX][GSRT_MATRIX_DEVICES_MAX];
    uint32_t lanes[GSRT_MATRIX_DEVICES_MAX][GSRT_MATRIX_DEVICES_MAX];
    uint32_t switches[GSRT_MATRIX_DEVICES_MAX], roots[GSRT_MATRIX_DEVICES_MAX]; /* the first device of each group */
    size_t count;
} matrix;

/* ---- lines and words ---- */

/* The next line, without escape sequences, as words; false: there is none. Words past the last are dropped. */
static bool next_line(gsrt_span text, size_t *at, line *out)
{
    if (*at >= text.len)
        return false;
    out->count = 0;
    size_t used = 0;
    bool is_in_word = false;
    for (; *at < text.len && text.data[*at] != '\n'; (*at)++) {
        unsigned char byte = text.data[*at];
        if (byte == 0x1b) { /* ESC [ ... letter */
            while (*at + 1 < text.len && text.data[*at + 1] != '\n' && text.data[*at] != 'm')
                (*at)++;
            continue;
        }
        if (byte <= ' ') {
            is_in_word = false;
            continue;
        }
        if (!is_in_word) {
            if (out->count == WORDS_MAX)
                continue;
            is_in_word = true;
            used = 0;
            out->count++;
        }
        if (used + 1 < WORD_BYTES_MAX)
            out->words[out->count - 1][used++] = (char)byte;
        out->words[out->count - 1][used] = 0;
    }
    (*at)++;
    return true;
}

/* GPU0, NIC3, mlx5_0: letters, digits and '_', ending in a digit. */
static bool is_device(const char *word)
{
    size_t len = strlen(word);
    return len >= 2 && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len &&
           word[len - 1] >= '0' && word[len - 1] <= '9' && (word[0] < '0' || word[0] > '9');
}

static bool is_engine(const char *name)
{
    return strncmp(name, "GPU", 3) == 0;
}

/* "SYS", "NV12"; false: no word of this format. */
static bool read_joint(const char *word, joint *out, uint32_t *out_lanes)
{
    static const struct {
        const char *word;
        joint joint;
    } words[] = {{"X", JOINT_SELF},   {"PIX", JOINT_SWITCH}, {"PXB", JOINT_SWITCH}, {"PSB", JOINT_SWITCH},
                 {"PHB", JOINT_ROOT}, {"NODE", JOINT_NODE},  {"SOC", JOINT_SYSTEM}, {"SYS", JOINT_SYSTEM}};
    *out_lanes = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, word) == 0) {
            *out = words[i].joint;
            return true;
        }
    }
    char *end;
    unsigned long lanes = strncmp(word, "NV", 2) == 0 ? strtoul(word + 2, &end, 10) : 0;
    if (lanes == 0 || lanes > 1024 || *end != 0)
        return false;
    *out = JOINT_NVLINK;
    *out_lanes = (uint32_t)lanes;
    return true;
}

static bool is_header(const line *l)
{
    joint ignored;
    uint32_t lanes;
    return l->count >= 2 && is_engine(l->words[0]) && is_device(l->words[0]) &&
           !read_joint(l->words[1], &ignored, &lanes) && (is_device(l->words[1]) || strcmp(l->words[1], "CPU") == 0);
}

bool gsrt_topology_matrix_is(gsrt_span text)
{
    line *l = malloc(sizeof *l);
    bool is_found = false;
    for (size_t at = 0, lines = 0; l != NULL && lines < 64 && !is_found && next_line(text, &at, l); lines++)
        is_found = is_header(l);
    free(l);
    return is_found;
}

/* ---- reading ---- */

static gsrt_status refuse(const char *file, size_t line_number, gsrt_diag *diag, const char *what, const char *word)
{
    char place[32];
    (void)snprintf(place, sizeof place, "line %zu", line_number);
    return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "%s '%s'; copy the whole output of 'nvidia-smi topo -m'", what,
                         word);
}

/* What stands behind the cells: CPUs, NUMA nodes, and the device's own node; any of them may be absent. */
static void read_affinity(const line *l, size_t at, char numa[WORD_BYTES_MAX])
{
    bool has_cpus = at < l->count && strpbrk(l->words[at], "-,") != NULL;
    size_t where = at + (has_cpus ? 1 : 0);
    if (where < l->count && strspn(l->words[where], "0123456789") == strlen(l->words[where]) &&
        (has_cpus || l->count - at >= 3))
        (void)snprintf(numa, WORD_BYTES_MAX, "%s", l->words[where]);
}

static gsrt_status read_row(matrix *m, size_t row, const line *l, const char *file, size_t number, gsrt_diag *diag)
{
    if (l->count == 0 || strcmp(l->words[0], m->names[row]) != 0)
        return refuse(file, number, diag, "here should be the row of", m->names[row]);
    for (size_t c = 0; c < m->count; c++) {
        if (c + 1 >= l->count)
            return refuse(file, number, diag, "the row ends before the column of", m->names[c]);
        if (!read_joint(l->words[c + 1], &m->joints[row][c], &m->lanes[row][c]))
            return refuse(file, number, diag, "no such connection:", l->words[c + 1]);
        if ((m->joints[row][c] == JOINT_SELF) != (row == c))
            return refuse(file, number, diag, "'X' must stand in the column of", m->names[row]);
        if (c < row && (m->joints[row][c] != m->joints[c][row] || m->lanes[row][c] != m->lanes[c][row]))
            return refuse(file, number, diag, "the connection is another one in the row of", m->names[c]);
    }
    read_affinity(l, m->count + 1, m->numa[row]);
    return GSRT_OK;
}

static gsrt_status read_matrix(gsrt_span text, const char *file, matrix *m, line *l, gsrt_diag *diag)
{
    size_t at = 0, number = 0, row = 0;
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK && (m->count == 0 || row < m->count) && next_line(text, &at, l)) {
        number++;
        if (m->count > 0 && l->count > 0) {
            status = read_row(m, row, l, file, number, diag);
            row++;
        } else if (m->count == 0 && is_header(l)) {
            while (m->count < l->count && is_device(l->words[m->count])) {
                if (m->count == GSRT_MATRIX_DEVICES_MAX)
                    return refuse(file, number, diag, "too many devices, from", l->words[m->count]);
                memcpy(m->names[m->count], l->words[m->count], WORD_BYTES_MAX);
                for (size_t i = 0; i < m->count; i++) {
                    if (strcmp(m->names[i], m->names[m->count]) == 0)
                        return refuse(file, number, diag, "there are two columns of", m->names[i]);
                }
                m->count++;
            }
        }
    }
    if (status == GSRT_OK && m->count == 0)
        return refuse(file, number, diag, "there is no line of columns that begins with", "GPU0");
    if (status == GSRT_OK && row < m->count)
        return refuse(file, number, diag, "it ends before the row of", m->names[row]);
    return status;
}

/* ---- writing ---- */

/* Each device's group: the first that it is joined with as closely as `most`, directly or through others. */
static void group(const matrix *m, joint most, uint32_t *groups)
{
    for (uint32_t i = 0; i < m->count; i++)
        groups[i] = i;
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < m->count; i++) {
            for (size_t c = 0; c < m->count; c++) {
                bool is_joined = m->joints[i][c] >= JOINT_SWITCH && m->joints[i][c] <= most;
                if (is_joined && groups[c] < groups[i]) {
                    groups[i] = groups[c];
                    is_changed = true;
                }
            }
        }
    }
}

static size_t size_of(const matrix *m, const uint32_t *groups, uint32_t of)
{
    size_t size = 0;
    for (size_t i = 0; i < m->count; i++)
        size += groups[i] == of ? 1 : 0;
    return size;
}

/* The first failure stays. */
#define PUT(...) (*status = *status == GSRT_OK ? gsrt_buffer_print(out, __VA_ARGS__) : *status)

static void put_places(const matrix *m, gsrt_buffer *out, gsrt_status *status)
{
    PUT("places:\n  - {name: node, kind: node}\n");
    for (size_t i = 0; i < m->count; i++) {
        bool is_first = m->numa[i][0] != 0;
        for (size_t before = 0; before < i; before++)
            is_first = is_first && strcmp(m->numa[before], m->numa[i]) != 0;
        if (is_first)
            PUT("  - {name: numa%s, kind: board, in: node}\n", m->numa[i]);
    }
}

static void put_in(const matrix *m, size_t i, gsrt_buffer *out, gsrt_status *status)
{
    if (m->numa[i][0] == 0)
        PUT(", in: node}\n");
    else
        PUT(", in: numa%s}\n", m->numa[i]);
}

static void put_parts(const matrix *m, gsrt_buffer *out, gsrt_status *status)
{
    PUT("parts:\n  - {name: system, kind: fabric, in: node}\n");
    for (uint32_t i = 0; i < m->count; i++) {
        PUT("  - {name: %s, kind: %s", m->names[i], is_engine(m->names[i]) ? "engine" : "nic");
        put_in(m, i, out, status);
        if (m->roots[i] == i) {
            PUT("  - {name: root-%s, kind: root", m->names[i]);
            put_in(m, i, out, status);
        }
        if (m->switches[i] == i && size_of(m, m->switches, i) > 1) {
            PUT("  - {name: switch-%s, kind: switch", m->names[i]);
            put_in(m, i, out, status);
        }
    }
}

static void put_links(const matrix *m, gsrt_buffer *out, gsrt_status *status)
{
    PUT("links:\n");
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t by = m->switches[i];
        const char *root = m->names[m->roots[i]];
        bool has_switch = size_of(m, m->switches, by) > 1;
        if (has_switch)
            PUT("  - {from: %s, to: switch-%s, kind: pcie, both: true}\n", m->names[i], m->names[by]);
        else
            PUT("  - {from: %s, to: root-%s, kind: pcie, both: true}\n", m->names[i], root);
        if (has_switch && by == i)
            PUT("  - {from: switch-%s, to: root-%s, kind: pcie, both: true}\n", m->names[i], root);
        if (m->roots[i] == i)
            PUT("  - {from: root-%s, to: system, kind: coherent, both: true}\n", m->names[i]);
        for (size_t c = i + 1; c < m->count; c++) {
            if (m->joints[i][c] == JOINT_NVLINK)
                PUT("  - {from: %s, to: %s, kind: coherent, both: true} # %u lanes\n", m->names[i], m->names[c],
                    (unsigned)m->lanes[i][c]);
        }
    }
}

gsrt_status gsrt_topology_matrix_read(gsrt_span text, const char *file, gsrt_buffer *out, gsrt_diag *diag)
{
    matrix *m = calloc(1, sizeof *m);
    line *l = calloc(1, sizeof *l);
    gsrt_status done = m == NULL || l == NULL ? GSRT_ENOMEM : read_matrix(text, file, m, l, diag);
    if (done == GSRT_OK) {
        gsrt_status *status = &done;
        group(m, JOINT_SWITCH, m->switches);
        group(m, JOINT_ROOT, m->roots);
        PUT("gsrt_fleet: 1\nname: matrix\nsource: \"discovered: nvidia-smi topo -m\"\n");
        put_places(m, out, status);
        put_parts(m, out, status);
        put_links(m, out, status);
    }
    free(m);
    free(l);
    return done;
}
