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

/* The root of a scenario, version and all (launch/scenario_keys.c). */
GSRT_MUST_CHECK gsrt_status gsrt__scenario_read_root(gsrt_yaml_reader *reader, const gsrt_yaml_node *root);

#endif
