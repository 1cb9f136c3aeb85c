/* Inside launch/scenario*.c: the mappings of a scenario that have files of their own. */
#ifndef GSRT_LAUNCH_SCENARIO_IMPL_H
#define GSRT_LAUNCH_SCENARIO_IMPL_H

#include "base/yaml_reader.h"
#include "launch/scenario.h"

/* The scenario that is being read. */
static inline gsrt_scenario *gsrt__scenario_of(const gsrt_yaml_reader *reader)
{
    return reader->subject;
}

/* faults: and healing: (launch/scenario_faults.c); object is the gsrt_scenario. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_faults(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                       void *object);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_healing(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                        void *object);
/* moves: (launch/scenario_moves.c), and whether they fit plan and workload, when all of `root` has been read. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_moves(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                      void *object);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_check_moves(gsrt_yaml_reader *reader, const gsrt_yaml_node *root);
/* The value of a `when`; and whether the workload has it: `node` is the fault or move. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_moment(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                       gsrt_moment *when);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_check_moment(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                        const gsrt_moment *when);
/* The word of healing.prefer; static. */
const char *gsrt__prefer_word(gsrt_incident_method prefer);
/* Do the faults fit the workload? When all of `root` has been read, because keys stand in any order. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_check_faults(gsrt_yaml_reader *reader, const gsrt_yaml_node *root);

/* objective:, demand:, rules: and plan: auto (launch/scenario_planning.c); object is the gsrt_scenario. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_objective(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                          void *object);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_demand(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                       void *object);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_rules(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                      void *object);
/* Does plan: ask for one to be made? */
bool gsrt__scenario_is_auto(const gsrt_yaml_node *node);
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_auto(gsrt_yaml_reader *reader, const gsrt_yaml_node *node);
/* fleet.devices[].declares; object is the gsrt_scenario_device. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_declares(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                         void *object);
/* A text with its unit, min..max in base units. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_quantity(gsrt_yaml_reader *reader, const gsrt_yaml_node *node,
                                                         gsrt_dimension dimension, double min, double max,
                                                         gsrt_quantity *out);
/* What is predicted of the requests, which differ; the rest is one number. */
static inline bool gsrt__measure_has_percentiles(gsrt_measure measure)
{
    return measure == GSRT_MEASURE_TTFT || measure == GSRT_MEASURE_TPOT || measure == GSRT_MEASURE_LATENCY;
}
/* The defaults. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_planning_init(gsrt_scenario *scenario);
enum { GSRT_SCENARIO_POLICIES_MAX = 16 };

/* The root of a scenario, version and all (launch/scenario_keys.c). */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_root(gsrt_yaml_reader *reader, const gsrt_yaml_node *root);

#endif
