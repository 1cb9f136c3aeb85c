/* gsrt-launch: the keeper of a rank, and its worker (launch/keeper.h); without mpirun it becomes mpirun first. */
#include "launch/command.h"
#include "launch/keeper.h"
#include "launch/move_command.h"
#include "launch/options.h"
#include "launch/resume.h"
#include "launch/run.h"
#include "launch/start_mpirun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A usage error is the same on every rank: the first one says it. */
static void say(const gsrt_diag *diag)
{
    const char *rank = getenv("PMIX_RANK");
    if (rank == NULL)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL || strcmp(rank, "0") == 0)
        (void)fprintf(stderr, "gsrt-launch: error: %s\n", diag->text);
}

/* As many ranks as the plan names. */
static int start_mpirun(const gsrt_options *options, char **argv)
{
    gsrt_diag diag = {0};
    gsrt_scenario *scenario;
    uint32_t rank_count = options->rank_count;
    gsrt_status status = options->resume == NULL ? GSRT_OK : gsrt_resume_check(options->resume, &diag);
    if (status != GSRT_OK) {
        say(&diag);
        return gsrt_exit_code(status);
    }
    if (rank_count == 0) {
        status = gsrt_scenario_read(options->scenario, options->sets, options->set_count, &scenario, &diag);
        if (status != GSRT_OK) {
            say(&diag);
            return gsrt_exit_code(status);
        }
        rank_count = scenario->twin_rank_count;
        gsrt_scenario_free(scenario);
    }
    return gsrt_start_mpirun(rank_count, argv);
}

int main(int argc, char **argv)
{
    gsrt_options options = {.tool = GSRT_TOOL_LAUNCH};
    gsrt_diag diag = {0};
    int exit_code;
    gsrt_status status = gsrt_options_parse(argc, argv, &options, &diag);
    if (status != GSRT_OK) {
        say(&diag);
        exit_code = gsrt_exit_code(status);
    } else if (options.command == GSRT_COMMAND_MOVE) {
        exit_code = gsrt_move_command(&options);
    } else if (options.command != GSRT_COMMAND_RUN) {
        exit_code = gsrt_command_print(&options);
    } else if (gsrt_keeper_is_worker()) {
        exit_code = gsrt_run(&options);
    } else if (gsrt_mpirun_is_around()) {
        exit_code = gsrt_keeper_run(argv);
    } else {
        exit_code = start_mpirun(&options, argv);
    }
    gsrt_options_fini(&options);
    return exit_code;
}
