/* The command line of gsrt-launch and gsrt, and the environment variables that GSRT reads.
 *
 * One table (launch/options.c): parsing, --help, and the man pages (compared by tests/checks/options_manpage.sh) come
 * from it.
 *
 *     gsrt_options options = {.tool = GSRT_TOOL_LAUNCH};
 *     status = gsrt_options_parse(argc, argv, &options, &diag);    ...    gsrt_options_fini(&options);
 */
#ifndef GSRT_LAUNCH_OPTIONS_H
#define GSRT_LAUNCH_OPTIONS_H

#include "base/buffer.h"
#include "base/diag.h"
#include "launch/scenario.h"

typedef enum gsrt_tool {
    GSRT_TOOL_LAUNCH, /* gsrt-launch */
    GSRT_TOOL_GSRT,   /* gsrt */
} gsrt_tool;

typedef enum gsrt_command {
    GSRT_COMMAND_RUN,     /* gsrt-launch [run] SCENARIO | --resume DIR */
    GSRT_COMMAND_MOVE,    /* gsrt-launch move RUN --stage S --member M --to R */
    GSRT_COMMAND_TWIN,    /* gsrt twin SCENARIO */
    GSRT_COMMAND_REPLAY,  /* gsrt replay RUN */
    GSRT_COMMAND_FLEET,   /* gsrt fleet discover|check|show */
    GSRT_COMMAND_MODEL,   /* gsrt model FILE */
    GSRT_COMMAND_PLAN,    /* gsrt plan SCENARIO */
    GSRT_COMMAND_EXPLAIN, /* gsrt explain PLAN|RUN [WHAT] */
    GSRT_COMMAND_HELP,    /* --help: print gsrt_options_print_help, exit 0 */
    GSRT_COMMAND_VERSION, /* --version: print gsrt_options_print_version, exit 0 */
} gsrt_command;

typedef enum gsrt_fleet_action {
    GSRT_FLEET_DISCOVER, /* print the inventory of this machine */
    GSRT_FLEET_CHECK,    /* name what is wrong with a file */
    GSRT_FLEET_SHOW,     /* print a file resolved */
} gsrt_fleet_action;

enum { GSRT_REHEARSAL_FINALISTS_MAX = 16 };

typedef struct gsrt_options {
    gsrt_tool tool; /* in: set before parse */
    gsrt_command command;
    const char *scenario; /* borrowed from argv, or in `arena`; NULL for replay, move, fleet, model, help and version */
    gsrt_fleet_action fleet_action;
    const char *fleet;        /* the file of fleet; borrowed from argv; NULL for discover and other commands */
    const char *run;          /* the run directory of replay and move; borrowed from argv; NULL for the others */
    const char *plan;         /* the plan or run of explain; borrowed from argv; NULL for the others */
    const char *what;         /* of it; borrowed from argv; NULL: all */
    const char *policy;       /* --policy; borrowed from argv; NULL: plan.policy */
    uint64_t budget;          /* --budget; 0: plan.budget */
    bool is_validating;       /* --validate */
    uint32_t rehearsal_count; /* --rehearse: finalists that are run; 0: none */
    bool is_live;             /* --live: on this machine, not in the twin */
    bool is_measuring;        /* --measure, of fleet discover */
    const char *model;        /* the file of model; borrowed from argv; NULL for the others */
    const char *resume;       /* --resume: the run directory; `scenario` is its scenario.yaml then; NULL: a new run */
    const char *directory;    /* -o; NULL: the default, runs/NAME-<next free number> */
    gsrt_scenario_set *sets;  /* [set_count], owned; texts in `arena` */
    size_t set_count;
    uint32_t rank_count;        /* -n; 0: not given, as many as the plan names */
    uint32_t seed_count;        /* --seeds; 0: not given, one run without faults of its own */
    uint32_t stage, member, to; /* --stage, --member, --to: of move */
    uint32_t verbosity;         /* how often -v was given */
    bool is_json;
    bool is_quiet;
    gsrt_arena arena;
} gsrt_options;

/* Parse argv[argc] (argv[0] is skipped). Options and arguments in any order; "--" ends the options.
 * GSRT_OK | GSRT_EINVAL: usage error (exit code 1), with what and remedy in *diag | GSRT_ENOMEM. Call fini in any case.
 * argv is borrowed until fini. */
GSRT_MUST_CHECK gsrt_status gsrt_options_parse(int argc, char *const *argv, gsrt_options *options, gsrt_diag *diag);
void gsrt_options_fini(gsrt_options *options);

/* What --help and --version print. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_options_print_help(gsrt_tool tool, gsrt_buffer *out);
GSRT_MUST_CHECK gsrt_status gsrt_options_print_version(gsrt_tool tool, gsrt_buffer *out);

/* "gsrt-launch", "gsrt"; static. */
const char *gsrt_tool_name(gsrt_tool tool);

/* The exit code of a tool that ends with `status`: 0 done, 1 usage, 2 bad input, 3 no feasible plan, 4 a contract
 * was violated, 5 a failure was not recovered, 130 interrupted. */
int gsrt_exit_code(gsrt_status status);

#endif
