/* The words and the quantities of an inventory: one row each. Limits are generous: a factor of ten or more beyond what
 * has been built or measured, because an inventory of next year must pass and one with a slipped unit must not. */
#include "placement/fleet_impl.h"

#define BYTES                                                                                                          \
    {                                                                                                                  \
        .byte = 1                                                                                                      \
    }
#define BANDWIDTH                                                                                                      \
    {                                                                                                                  \
        .byte = 1, .second = -1                                                                                        \
    }
#define SECONDS                                                                                                        \
    {                                                                                                                  \
        .second = 1                                                                                                    \
    }
#define POWER                                                                                                          \
    {                                                                                                                  \
        .joule = 1, .second = -1                                                                                       \
    }
#define DOLLARS_PER_TIME                                                                                               \
    {                                                                                                                  \
        .dollar = 1, .second = -1                                                                                      \
    }

enum {
    ENGINE = 1 << GSRT_PART_ENGINE,
    MEMORY = 1 << GSRT_PART_MEMORY,
    CARRIER = 1 << GSRT_PART_NIC | 1 << GSRT_PART_SWITCH | 1 << GSRT_PART_ROOT | 1 << GSRT_PART_FABRIC,
    ANY = ENGINE | MEMORY | CARRIER,
};

const gsrt__property gsrt__place_properties[GSRT__PLACE_PROPERTIES] = {
    {"power_budget", offsetof(gsrt_place, power_budget), POWER, 0.1, 1e11, ANY},
    {"cooling_budget", offsetof(gsrt_place, cooling_budget), POWER, 0.1, 1e11, ANY},
    {"energy_price", offsetof(gsrt_place, energy_price), {.dollar = 1, .joule = -1}, 0, 10 / 3.6e6, ANY},
    {"mttf", offsetof(gsrt_place, mttf), SECONDS, 60, 1e11, ANY},
};

const gsrt__property gsrt__part_properties[GSRT__PART_PROPERTIES] = {
    {"capacity", offsetof(gsrt_part, capacity), BYTES, 1024, 1e19, MEMORY},
    {"bandwidth", offsetof(gsrt_part, bandwidth), BANDWIDTH, 1e3, 1e17, MEMORY | CARRIER},
    {"launch_overhead", offsetof(gsrt_part, launch_overhead), SECONDS, 1e-9, 10, ENGINE},
    {"power_idle", offsetof(gsrt_part, power_idle), POWER, 0, 1e6, ANY},
    {"power_max", offsetof(gsrt_part, power_max), POWER, 1e-3, 1e6, ANY},
    {"price", offsetof(gsrt_part, price), DOLLARS_PER_TIME, 0, 10000 / 3600.0, ANY},
    {"mttf", offsetof(gsrt_part, mttf), SECONDS, 60, 1e11, ANY},
};

const gsrt__property gsrt__link_properties[GSRT__LINK_PROPERTIES] = {
    {"bandwidth", offsetof(gsrt_link, bandwidth), BANDWIDTH, 1e3, 1e16, ANY},
    {"latency", offsetof(gsrt_link, latency), SECONDS, 1e-10, 100, ANY},
    {"setup", offsetof(gsrt_link, setup), SECONDS, 0, 3600, ANY},
    {"energy", offsetof(gsrt_link, energy), {.joule = 1, .byte = -1}, 0, 1e-3, ANY},
    {"price", offsetof(gsrt_link, price), {.dollar = 1, .byte = -1}, 0, 1e-6, ANY},
    {"mttf", offsetof(gsrt_link, mttf), SECONDS, 1, 1e11, ANY},
    {"correlation", offsetof(gsrt_link, correlation), {0}, 0, 1, ANY},
};

const gsrt__property gsrt__path_properties[GSRT__PATH_PROPERTIES] = {
    {"bandwidth", offsetof(gsrt_path, bandwidth), BANDWIDTH, 1e3, 1e16, ANY},
    {"latency", offsetof(gsrt_path, latency), SECONDS, 1e-10, 1000, ANY},
};

const gsrt__property gsrt__onboard_properties[GSRT__ONBOARD_PROPERTIES] = {
    {"capacity", offsetof(gsrt__onboard, capacity), BYTES, 1024, 1e19, ANY},
    {"bandwidth", offsetof(gsrt__onboard, bandwidth), BANDWIDTH, 1e3, 1e17, ANY},
    {"latency", offsetof(gsrt__onboard, latency), SECONDS, 1e-10, 100, ANY},
};

const gsrt__property gsrt__rate_property = {"rates", 0, {.op = 1, .second = -1}, 1e3, 1e18, ENGINE};

const gsrt__property *gsrt__property_named(const gsrt__property *properties, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(properties[i].key, key) == 0)
            return &properties[i];
    }
    return NULL;
}

const char *const gsrt__place_kind_words[GSRT_PLACE_KIND_COUNT] = {"region", "zone",  "rack",   "node",
                                                                   "board",  "power", "cooling"};
const char *const gsrt__part_kind_words[GSRT_PART_KIND_COUNT] = {"engine", "memory", "nic", "switch", "root", "fabric"};
const char *const gsrt__tier_words[GSRT_TIER_COUNT] = {"unknown", "sram", "hbm",  "gddr",  "lpddr",
                                                       "ddr",     "cxl",  "nvme", "remote"};
const char *const gsrt__class_words[GSRT_CLASS_COUNT] = {"matmul", "attention", "vector"};
const char *const gsrt__format_words[GSRT_FORMAT_COUNT] = {"f64", "f32", "tf32", "bf16", "f16",
                                                           "f8",  "f6",  "f4",   "i8",   "i4"};
const char *const gsrt__link_kind_words[GSRT_LINK_KIND_COUNT] = {"memory", "pcie", "coherent", "network", "wan"};
const char *const gsrt__collective_words[GSRT_COLLECTIVE_COUNT] = {"broadcast", "all_gather", "all_reduce",
                                                                   "reduce_scatter", "all_to_all"};
const char *const gsrt__trust_words[GSRT_TRUST_COUNT] = {"untrusted", "tenant", "operator", "attested"};

const char *gsrt_place_kind_word(gsrt_place_kind kind)
{
    return gsrt__place_kind_words[kind];
}

const char *gsrt_part_kind_word(gsrt_part_kind kind)
{
    return gsrt__part_kind_words[kind];
}

const char *gsrt_tier_word(gsrt_tier tier)
{
    return gsrt__tier_words[tier];
}

const char *gsrt_rate_class_word(gsrt_rate_class class)
{
    return gsrt__class_words[class];
}

const char *gsrt_format_word(gsrt_format format)
{
    return gsrt__format_words[format];
}

const char *gsrt_link_kind_word(gsrt_link_kind kind)
{
    return gsrt__link_kind_words[kind];
}

const char *gsrt_collective_word(gsrt_collective collective)
{
    return gsrt__collective_words[collective];
}

const char *gsrt_trust_word(gsrt_trust trust)
{
    return gsrt__trust_words[trust];
}
