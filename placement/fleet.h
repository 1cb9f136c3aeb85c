/* The fleet: the hardware graph that plans are made for. Read from an inventory (docs/fleet.md), then only read.
 *
 * Vertices are *parts* (engines, memories, NICs, switches, PCIe roots, coherent fabrics); they stand in *places*
 * (region, zone, rack, node, board; and the power and cooling domains that fail together). Directed *links* join parts;
 * *paths* are named sequences of links. *Measurements* stand beside what is claimed and never replace it.
 *
 * Everything has a count, and nothing is unrolled: "node: 512 in each rack, gpu: 8 in each node" is one place and one
 * part, however many accelerators that makes. Instances of a part are numbered 0..total-1, place by place, so those of
 * one place are neighbours. A link between two parts is *dealt* within the closest place that holds both: see
 * gsrt_fleet_peers.
 *
 * Names of products and vendors are text for people. What a part can do is in its properties; a property that nobody
 * stated has is_known false, and is a constraint, never a default.
 *
 *     gsrt_fleet_read(inventory, catalogues, catalogue_count, &findings, &fleet);
 *     gsrt_fleet_check(fleet, today, &findings);
 *     gsrt_fleet_print(fleet, &out);    ...    fleet = gsrt_fleet_free(fleet);
 *
 * Pure: no clock, no I/O. Thread: reading from any. Cost: memory O(entries of the inventory), not of instances.
 */
#ifndef GSRT_PLACEMENT_FLEET_H
#define GSRT_PLACEMENT_FLEET_H

#include "base/yaml.h"
#include "placement/findings.h"
#include "placement/quantity.h"

#define GSRT_FLEET_NONE UINT32_MAX /* an index that names nothing */

/* Whose word it is, the least trusted first. */
typedef enum gsrt_trust {
    GSRT_TRUST_UNTRUSTED, /* anybody's */
    GSRT_TRUST_TENANT,    /* somebody under contract */
    GSRT_TRUST_OPERATOR,  /* those who run the fleet */
    GSRT_TRUST_ATTESTED,  /* proved by the hardware */
    GSRT_TRUST_COUNT,
} gsrt_trust;

typedef enum gsrt_place_kind {
    /* locations, the outer first: a place is in one of an earlier kind, or of the same */
    GSRT_PLACE_REGION,
    GSRT_PLACE_ZONE,
    GSRT_PLACE_RACK,
    GSRT_PLACE_NODE,
    GSRT_PLACE_BOARD, /* a package, board or NUMA domain within a node */
    /* domains: what is in one fails with it */
    GSRT_PLACE_POWER,
    GSRT_PLACE_COOLING,
    GSRT_PLACE_KIND_COUNT,
} gsrt_place_kind;

typedef enum gsrt_part_kind {
    GSRT_PART_ENGINE,
    GSRT_PART_MEMORY,
    GSRT_PART_NIC,
    GSRT_PART_SWITCH,
    GSRT_PART_ROOT,   /* of a PCIe hierarchy */
    GSRT_PART_FABRIC, /* coherent: between sockets, packages or accelerators */
    GSRT_PART_KIND_COUNT,
} gsrt_part_kind;

typedef enum gsrt_tier {
    GSRT_TIER_UNKNOWN, /* no memory, or nobody said */
    GSRT_TIER_SRAM,
    GSRT_TIER_HBM,
    GSRT_TIER_GDDR,
    GSRT_TIER_LPDDR,
    GSRT_TIER_DDR,
    GSRT_TIER_CXL,
    GSRT_TIER_NVME,
    GSRT_TIER_REMOTE,
    GSRT_TIER_COUNT,
} gsrt_tier;

/* What an engine does at a rate of its own. */
typedef enum gsrt_rate_class {
    GSRT_CLASS_MATMUL,    /* products of matrices, in whatever unit is fastest */
    GSRT_CLASS_ATTENTION, /* the products of attention, where they differ */
    GSRT_CLASS_VECTOR,    /* elementwise work, norms, softmax */
    GSRT_CLASS_COUNT,
} gsrt_rate_class;

/* The number format of the inputs of such work. */
typedef enum gsrt_format {
    GSRT_FORMAT_F64,
    GSRT_FORMAT_F32,
    GSRT_FORMAT_TF32,
    GSRT_FORMAT_BF16,
    GSRT_FORMAT_F16,
    GSRT_FORMAT_F8,
    GSRT_FORMAT_F6,
    GSRT_FORMAT_F4,
    GSRT_FORMAT_I8,
    GSRT_FORMAT_I4,
    GSRT_FORMAT_COUNT,
} gsrt_format;

typedef enum gsrt_link_kind {
    GSRT_LINK_MEMORY, /* an engine and its memory */
    GSRT_LINK_PCIE,
    GSRT_LINK_COHERENT, /* between sockets, packages or accelerators */
    GSRT_LINK_NETWORK,
    GSRT_LINK_WAN,
    GSRT_LINK_KIND_COUNT,
} gsrt_link_kind;

/* Bits of gsrt_link.collectives: what the hardware of the link does by itself. */
typedef enum gsrt_collective {
    GSRT_COLLECTIVE_BROADCAST,
    GSRT_COLLECTIVE_ALL_GATHER,
    GSRT_COLLECTIVE_ALL_REDUCE,
    GSRT_COLLECTIVE_REDUCE_SCATTER,
    GSRT_COLLECTIVE_ALL_TO_ALL,
    GSRT_COLLECTIVE_COUNT,
} gsrt_collective;

/* Where something stands. */
typedef struct gsrt_within {
    uint32_t location;       /* index of a place; GSRT_FLEET_NONE: nowhere in particular */
    const uint32_t *domains; /* [domain_count] indices of power and cooling places */
    uint32_t domain_count;
} gsrt_within;

typedef struct gsrt_place {
    const char *name, *where; /* where: "fleet.yaml: line 3, column 5: places[0]" */
    gsrt_place_kind kind;
    gsrt_trust trust;
    gsrt_within within;
    uint32_t count;                             /* in each place that holds it, >= 1 */
    uint64_t total;                             /* in the fleet */
    gsrt_quantity power_budget, cooling_budget; /* W, of each */
    gsrt_quantity energy_price;                 /* $/J */
    gsrt_quantity mttf;                         /* s, of all that is in it at once */
} gsrt_place;

/* A piece of software or a library of kernels. */
typedef struct gsrt_software {
    const char *name, *version; /* version "": any */
} gsrt_software;

typedef struct gsrt_part {
    const char *name, *where;
    const char *vendor, *product; /* for people; NULL: nobody said */
    gsrt_part_kind kind;
    gsrt_tier tier; /* of memories */
    gsrt_trust trust;
    gsrt_within within;
    uint32_t count;
    uint64_t total;
    gsrt_quantity capacity;              /* B; memories */
    gsrt_quantity bandwidth;             /* B/s of everything that passes through at once; not of engines */
    gsrt_quantity launch_overhead;       /* s until a piece of work begins; engines */
    gsrt_quantity power_idle, power_max; /* W */
    gsrt_quantity price;                 /* $/s for its use */
    gsrt_quantity mttf;                  /* s */
    const gsrt_quantity *rates;          /* [GSRT_CLASS_COUNT][GSRT_FORMAT_COUNT] op/s; NULL: none known */
    const gsrt_software *software;       /* [software_count], by name */
    uint32_t software_count;
    const char *const *counters; /* [counter_count] hardware counters that can be read, by name; NULL: nobody said */
    uint32_t counter_count;      /* 0 where counters is not NULL: none can be read */
} gsrt_part;

typedef struct gsrt_link {
    const char *name, *where;
    uint32_t from, to; /* parts; data flows from `from` to `to` */
    gsrt_link_kind kind;
    gsrt_trust trust;
    bool is_to_all; /* each instance of `from` to all of `to` nearby; else dealt evenly */
    bool is_coherent;
    unsigned collectives;      /* bits 1 << gsrt_collective */
    uint32_t contention;       /* the part whose bandwidth all links that name it share; GSRT_FLEET_NONE: its own */
    uint32_t fails_with;       /* a place; GSRT_FLEET_NONE: none besides those of its ends */
    gsrt_quantity bandwidth;   /* B/s */
    gsrt_quantity latency;     /* s for the first byte */
    gsrt_quantity setup;       /* s once, before the first transfer */
    gsrt_quantity energy;      /* J/B */
    gsrt_quantity price;       /* $/B */
    gsrt_quantity mttf;        /* s */
    gsrt_quantity correlation; /* 0..1: how likely it fails when `fails_with` does */
} gsrt_link;

typedef struct gsrt_path {
    const char *name, *where;
    const uint32_t *links; /* [link_count], each begins where the last one ends */
    uint32_t link_count;
    gsrt_quantity bandwidth, latency; /* of the whole, where known apart from its links */
} gsrt_path;

/* Something observed about one property of one entry. */
typedef struct gsrt_measurement {
    const char *name, *where;
    uint32_t place, part, link; /* one of them is not GSRT_FLEET_NONE */
    const char *property;       /* "bandwidth"; of engines also "matmul.bf16" */
    gsrt_quantity value;
    int32_t day; /* of the measurement, days since 1970-01-01 */
} gsrt_measurement;

typedef struct gsrt_fleet {
    gsrt_arena arena;
    const char *name;
    int32_t as_of_day;        /* when the inventory was taken; GSRT_DAY_FIRST: nobody said */
    const gsrt_place *places; /* each list in the order of names */
    const gsrt_part *parts;
    const gsrt_link *links;
    const gsrt_path *paths;
    const gsrt_measurement *measurements;
    uint32_t place_count, part_count, link_count, path_count, measurement_count;
} gsrt_fleet;

/* Read an inventory, with types from catalogues[catalogue_count] (kinds of documents: docs/fleet.md).
 * findings  every refusal is added, with file and place.
 * returns   GSRT_OK: *out owned, freed with gsrt_fleet_free; nothing of the YAML is borrowed. There may be findings
 *           about single values, which are unknown then. GSRT_EINPUT: no fleet can be made of it. GSRT_ENOMEM.
 * cost      O(n log n) in the entries, O(n) memory. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_read(const gsrt_yaml *inventory, const gsrt_yaml *const *catalogues,
                                            size_t catalogue_count, gsrt_findings *findings, gsrt_fleet **out);

/* Accepts NULL; returns NULL. */
gsrt_fleet *gsrt_fleet_free(gsrt_fleet *fleet);

/* Add everything that is contradictory, stale, implausible, malicious or missing on `today` (days since 1970-01-01) to
 * findings. Cost: O(entries * log), whatever the counts are. */
void gsrt_fleet_check(const gsrt_fleet *fleet, int32_t today, gsrt_findings *findings);

/* Append the resolved inventory: all types applied, all defaults written out, in the order of names. The same fleet
 * gives the same bytes, and they read back as the same fleet. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_print(const gsrt_fleet *fleet, gsrt_buffer *out);

/* Indices by name, in O(log n); GSRT_FLEET_NONE: there is none. */
uint32_t gsrt_fleet_place_named(const gsrt_fleet *fleet, const char *name);
uint32_t gsrt_fleet_part_named(const gsrt_fleet *fleet, const char *name);
uint32_t gsrt_fleet_link_named(const gsrt_fleet *fleet, const char *name);

/* The rate of an engine, in op/s; unknown where nobody stated it. */
gsrt_quantity gsrt_part_rate(const gsrt_part *part, gsrt_rate_class class, gsrt_format format);

/* The closest place that holds both; GSRT_FLEET_NONE: only the fleet does. */
uint32_t gsrt_fleet_common_place(const gsrt_fleet *fleet, uint32_t part, uint32_t other_part);
/* Does a part stand in a place that is a location, directly or by what is around it? */
bool gsrt_fleet_stands_in(const gsrt_fleet *fleet, uint32_t part, uint32_t place);
/* The innermost region that a part stands in; GSRT_FLEET_NONE: none. */
uint32_t gsrt_fleet_region_of(const gsrt_fleet *fleet, uint32_t part);
/* Instances of a part in one instance of a place that holds it; place GSRT_FLEET_NONE: in the fleet. */
uint64_t gsrt_fleet_count_in(const gsrt_fleet *fleet, uint32_t part, uint32_t place);

/* Instances of links[link].to that instance `from` of its `from` reaches: *out_first, and as many as are returned.
 * Within the closest common place, m instances of `from` and n of `to` are dealt in order and evenly: m / n to each
 * where m >= n, else n / m for each; all n where is_to_all. */
uint64_t gsrt_fleet_peers(const gsrt_fleet *fleet, uint32_t link, uint64_t from, uint64_t *out_first);

/* The words of the inventory; static. */
const char *gsrt_place_kind_word(gsrt_place_kind kind);
const char *gsrt_part_kind_word(gsrt_part_kind kind);
const char *gsrt_tier_word(gsrt_tier tier);
const char *gsrt_rate_class_word(gsrt_rate_class class);
const char *gsrt_format_word(gsrt_format format);
const char *gsrt_link_kind_word(gsrt_link_kind kind);
const char *gsrt_collective_word(gsrt_collective collective);
const char *gsrt_trust_word(gsrt_trust trust);

#endif
