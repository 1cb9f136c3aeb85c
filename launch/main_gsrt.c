/* gsrt: what needs no job of ranks. */
#include "launch/campaign_run.h"
#include "launch/command.h"
#include "launch/explain_command.h"
#include "launch/fleet_command.h"
#include "launch/model_show.h"
#include "launch/plan_command.h"
#include "launch/replay.h"
#include "launch/twin_run.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    gsrt_options options = {.tool = GSRT_TOOL_GSRT};
    gsrt_diag diag = {0};
    int exit_code;
    gsrt_status status = gsrt_options_parse(argc, argv, &options, &diag);
    if (status != GSRT_OK) {
        (void)fprintf(stderr, "gsrt: error: %s\n", diag.text);
        exit_code = gsrt_exit_code(status);
    } else if (options.command == GSRT_COMMAND_TWIN) {
        exit_code = options.seed_count > 0 ? gsrt_campaign_run(&options) : gsrt_twin_run_scenario(&options);
    } else if (options.command == GSRT_COMMAND_REPLAY) {
        exit_code = gsrt_replay_run(&options);
    } else if (options.command == GSRT_COMMAND_FLEET) {
        exit_code = gsrt_fleet_command(&options);
    } else if (options.command == GSRT_COMMAND_MODEL) {
        exit_code = gsrt_model_show(&options);
    } else if (options.command == GSRT_COMMAND_PLAN) {
        exit_code = gsrt_plan_command(&options);
    } else if (options.command == GSRT_COMMAND_EXPLAIN) {
        exit_code = gsrt_explain_command(&options);
    } else {
        exit_code = gsrt_command_print(&options);
    }
    gsrt_options_fini(&options);
    return exit_code;
}
