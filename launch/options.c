#include "launch/options.h"

#include "base/limits.h"
#include "base/nearest.h"
#include "placement/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FOR_LAUNCH = 1, FOR_GSRT = 2, FOR_BOTH = 3, WORD_BYTES_MAX = 64, ARENA_BYTES_MAX = 16 << 20 };

typedef enum option_id {
    OPT_OUTPUT,
    OPT_SET,
    OPT_RANKS,
    OPT_RESUME,
    OPT_SEEDS,
    OPT_STAGE,
    OPT_MEMBER,
    OPT_TO,
    OPT_POLICY,
    OPT_BUDGET,
    OPT_VALIDATE,
    OPT_REHEARSE,
    OPT_LIVE,
    OPT_MEASURE,
    OPT_JSON,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_VERSION
} option_id;

typedef struct option_row {
    option_id id;
    char letter;          /* 0: none */
    const char *name;     /* without the dashes */
    const char *argument; /* NULL: takes none */
    const char *initial;  /* the default, as text; NULL: nothing to say */
    const char *help;
    int tools; /* FOR_* */
} option_row;

static const option_row option_rows[] = {
    {OPT_OUTPUT, 'o', "output", "DIR", "runs/NAME-NUMBER, the next free number", "write the run into this directory",
     FOR_BOTH},
    {OPT_SET, 0, "set", "KEY=VALUE", NULL, "override a value of the scenario; may be repeated", FOR_BOTH},
    {OPT_RANKS, 'n', "ranks", "N", "as many as the plan names", "ranks to start when not inside mpirun", FOR_LAUNCH},
    {OPT_RESUME, 0, "resume", "DIR", NULL, "go on with the run in this directory", FOR_LAUNCH},
    {OPT_SEEDS, 0, "seeds", "N", NULL, "a campaign: N seeds from twin.seed on, each with faults of its own", FOR_GSRT},
    {OPT_STAGE, 0, "stage", "S", NULL, "stage of the region that is to move (move)", FOR_LAUNCH},
    {OPT_MEMBER, 0, "member", "M", NULL, "its member of that stage (move)", FOR_LAUNCH},
    {OPT_TO, 0, "to", "R", NULL, "rank that takes it, one without a role (move)", FOR_LAUNCH},
    {OPT_POLICY, 0, "policy", "NAME", "plan.policy", "how plan searches: dp, greedy, local, exhaustive or milp",
     FOR_GSRT},
    {OPT_BUDGET, 0, "budget", "N", "plan.budget", "plans that plan evaluates at most", FOR_GSRT},
    {OPT_VALIDATE, 0, "validate", NULL, NULL, "measure on the weights what the contract needs evidence for", FOR_GSRT},
    {OPT_REHEARSE, 0, "rehearse", "N", NULL,
     "run the plan and up to N - 1 (at most 15) rivals in the twin, and choose by that", FOR_GSRT},
    {OPT_LIVE, 0, "live", NULL, NULL, "rehearse by ranks of this machine under mpirun, not in the twin", FOR_GSRT},
    {OPT_MEASURE, 0, "measure", NULL, NULL, "measure memories and processors, seconds for each (fleet discover)",
     FOR_GSRT},
    {OPT_JSON, 0, "json", NULL, NULL, "print report.json on standard output, and nothing else there", FOR_BOTH},
    {OPT_QUIET, 'q', "quiet", NULL, NULL, "no plan, no progress; errors and violated contracts only", FOR_BOTH},
    {OPT_VERBOSE, 'v', "verbose", NULL, NULL, "say more: what each rank did", FOR_BOTH},
    {OPT_HELP, 'h', "help", NULL, NULL, "print a summary and exit", FOR_BOTH},
    {OPT_VERSION, 0, "version", NULL, NULL, "print the version and exit", FOR_BOTH},
};

enum { OPTION_COUNT = sizeof option_rows / sizeof option_rows[0] };

typedef struct environment_row {
    const char *name;
    const char *initial;
    const char *help;
    int tools;
} environment_row;

static const environment_row environment_rows[] = {
    {"GSRT_ISA", "the best that the processor has", "instruction set of the kernels: scalar, avx2 or avx512", FOR_BOTH},
    {"GSRT_NVML", "libnvidia-ml.so.1, if it is there", "library that fleet discover asks about accelerators", FOR_GSRT},
    {"NO_COLOR", "unset", "set to anything: no colours on the terminal", FOR_BOTH},
};

typedef struct command_row {
    gsrt_command command;
    const char *name;
    const char *help;
    int tools;
} command_row;

static const command_row command_rows[] = {
    {GSRT_COMMAND_RUN, "run", "run a scenario (the default)", FOR_LAUNCH},
    {GSRT_COMMAND_MOVE, "move", "order a move from a run that is going on, and wait until it is done", FOR_LAUNCH},
    {GSRT_COMMAND_TWIN, "twin", "the same run in one process, in virtual time", FOR_GSRT},
    {GSRT_COMMAND_REPLAY, "replay", "take the recorded decisions of a run directory again", FOR_GSRT},
    {GSRT_COMMAND_FLEET, "fleet", "the hardware graph: of this machine, or of a file", FOR_GSRT},
    {GSRT_COMMAND_MODEL, "model", "what a model file, or a config.json, amounts to", FOR_GSRT},
    {GSRT_COMMAND_PLAN, "plan", "look for a plan, and say why it is this one", FOR_GSRT},
    {GSRT_COMMAND_EXPLAIN, "explain", "what a plan rests on, and what a run decided", FOR_GSRT},
};

enum { COMMAND_COUNT = sizeof command_rows / sizeof command_rows[0] };

static int tools_of(gsrt_tool tool)
{
    return tool == GSRT_TOOL_LAUNCH ? FOR_LAUNCH : FOR_GSRT;
}

const char *gsrt_tool_name(gsrt_tool tool)
{
    return tool == GSRT_TOOL_LAUNCH ? "gsrt-launch" : "gsrt";
}

/* ---- parsing ---- */

typedef struct parser {
    int argc;
    char *const *argv;
    int next; /* index of the argument to read next */
    gsrt_options *options;
    gsrt_diag *diag;
    const char *words[3]; /* the arguments that are no options */
    int word_count;
    bool is_help, is_version;
    bool has_stage, has_member, has_to;
} parser;

static gsrt_status take_set(parser *p, const char *value)
{
    gsrt_options *options = p->options;
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--set",
                             "'%.80s' is not KEY=VALUE; write it like --set workload.model=FILE", value);
    char *key = gsrt_arena_copy_text(&options->arena, value, (size_t)(equals - value));
    if (key == NULL)
        return GSRT_ENOMEM;
    options->sets[options->set_count++] = (gsrt_scenario_set){.key = key, .value = equals + 1};
    return GSRT_OK;
}

static gsrt_status take_ranks(parser *p, const char *value)
{
    char *end;
    errno = 0;
    unsigned long count = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || count < 1 || count > GSRT_RANK_COUNT_MAX)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "-n", "'%.40s' is no number of ranks; give one from 1 to %d",
                             value, GSRT_RANK_COUNT_MAX);
    p->options->rank_count = (uint32_t)count;
    return GSRT_OK;
}

static gsrt_status take_seeds(parser *p, const char *value)
{
    char *end;
    errno = 0;
    unsigned long count = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || count < 1 || count > GSRT_SEED_COUNT_MAX)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--seeds",
                             "'%.40s' is no number of seeds; give one from 1 to %d", value, GSRT_SEED_COUNT_MAX);
    p->options->seed_count = (uint32_t)count;
    return GSRT_OK;
}

/* --stage, --member, --to. */
static gsrt_status take_number(parser *p, const char *value, const char *name, uint32_t max, uint32_t *out, bool *has)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || number > max)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, name, "'%.40s' is no number from 0 to %u", value, max);
    *out = (uint32_t)number;
    *has = true;
    return GSRT_OK;
}

static gsrt_status take_budget(parser *p, const char *value)
{
    char *end;
    errno = 0;
    unsigned long long count = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || count < 1)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--budget",
                             "'%.40s' is no number of plans; give one from 1 on", value);
    p->options->budget = count;
    return GSRT_OK;
}

static gsrt_status take_rehearsals(parser *p, const char *value)
{
    bool has;
    gsrt_status status =
        take_number(p, value, "--rehearse", GSRT_REHEARSAL_FINALISTS_MAX, &p->options->rehearsal_count, &has);
    if (status == GSRT_OK && p->options->rehearsal_count == 0)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--rehearse", "'0' rehearses nothing; give one from 1 to %d",
                             GSRT_REHEARSAL_FINALISTS_MAX);
    return status;
}

static gsrt_status take_policy(parser *p, const char *value)
{
    for (size_t i = 0; gsrt_search_policy_name(i) != NULL; i++) {
        if (strcmp(gsrt_search_policy_name(i), value) == 0) {
            p->options->policy = gsrt_search_policy_name(i);
            return GSRT_OK;
        }
    }
    return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--policy",
                         "'%.40s' is no policy; give dp, greedy, local, exhaustive or milp", value);
}

static gsrt_status take_option(parser *p, const option_row *row, const char *value)
{
    gsrt_options *options = p->options;
    switch (row->id) {
    case OPT_OUTPUT:
        if (value[0] == 0)
            return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "-o", "the directory's name is empty");
        options->directory = value;
        return GSRT_OK;
    case OPT_SET: return take_set(p, value);
    case OPT_RESUME:
        if (value[0] == 0)
            return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--resume", "the directory's name is empty");
        options->resume = value;
        return GSRT_OK;
    case OPT_RANKS: return take_ranks(p, value);
    case OPT_SEEDS: return take_seeds(p, value);
    case OPT_STAGE: return take_number(p, value, "--stage", GSRT_STAGE_COUNT_MAX - 1, &options->stage, &p->has_stage);
    case OPT_MEMBER:
        return take_number(p, value, "--member", GSRT_GROUP_RANKS_MAX - 1, &options->member, &p->has_member);
    case OPT_TO: return take_number(p, value, "--to", GSRT_RANK_COUNT_MAX - 1, &options->to, &p->has_to);
    case OPT_POLICY: return take_policy(p, value);
    case OPT_BUDGET: return take_budget(p, value);
    case OPT_VALIDATE: options->is_validating = true; return GSRT_OK;
    case OPT_REHEARSE: return take_rehearsals(p, value);
    case OPT_LIVE: options->is_live = true; return GSRT_OK;
    case OPT_MEASURE: options->is_measuring = true; return GSRT_OK;
    case OPT_JSON: options->is_json = true; return GSRT_OK;
    case OPT_QUIET: options->is_quiet = true; return GSRT_OK;
    case OPT_VERBOSE: options->verbosity++; return GSRT_OK;
    case OPT_HELP: p->is_help = true; return GSRT_OK;
    case OPT_VERSION: p->is_version = true; return GSRT_OK;
    }
    return GSRT_EINVAL;
}

static gsrt_status refuse_option(parser *p, const char *option)
{
    char spelled[OPTION_COUNT][WORD_BYTES_MAX];
    const char *known[OPTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if ((option_rows[i].tools & tools_of(p->options->tool)) == 0)
            continue;
        (void)snprintf(spelled[count], sizeof spelled[count], "--%s", option_rows[i].name);
        known[count] = spelled[count];
        count++;
    }
    char word[WORD_BYTES_MAX];
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(option, "="), option);
    const char *nearest = gsrt_nearest(word, known, count);
    if (nearest != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unknown option '%.60s'; did you mean '%s'?", word,
                             nearest);
    return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unknown option '%.60s'; see '%s --help'", word,
                         gsrt_tool_name(p->options->tool));
}

/* The argument of an option: what is attached to it, or the next word. */
static gsrt_status take_argument(parser *p, const option_row *row, const char *attached, const char *spelled)
{
    if (row->argument == NULL) {
        if (attached != NULL)
            return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "option '--%s' takes no value", row->name);
        return take_option(p, row, "");
    }
    if (attached == NULL && p->next >= p->argc)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "option '%s' needs a value; write '%s %s'", spelled,
                             spelled, row->argument);
    return take_option(p, row, attached != NULL ? attached : p->argv[p->next++]);
}

static gsrt_status take_long(parser *p, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option_row *row = &option_rows[i];
        if ((row->tools & tools_of(p->options->tool)) == 0)
            continue;
        if (strlen(row->name) == len && memcmp(row->name, name, len) == 0) {
            char spelled[WORD_BYTES_MAX];
            (void)snprintf(spelled, sizeof spelled, "--%s", row->name);
            return take_argument(p, row, name[len] == '=' ? name + len + 1 : NULL, spelled);
        }
    }
    return refuse_option(p, word);
}

/* "-q", "-qv", "-n4", "-o DIR" */
static gsrt_status take_letters(parser *p, const char *word)
{
    for (const char *letter = word + 1; *letter != 0; letter++) {
        const option_row *row = NULL;
        for (size_t i = 0; i < OPTION_COUNT && row == NULL; i++) {
            if (option_rows[i].letter == *letter && (option_rows[i].tools & tools_of(p->options->tool)) != 0)
                row = &option_rows[i];
        }
        const char spelled[] = {'-', *letter, 0};
        if (row == NULL)
            return refuse_option(p, letter == word + 1 ? word : spelled);
        bool is_attached = row->argument != NULL && letter[1] != 0;
        gsrt_status status = take_argument(p, row, is_attached ? letter + 1 : NULL, spelled);
        if (status != GSRT_OK || is_attached)
            return status;
    }
    return GSRT_OK;
}

static const command_row *command_of(gsrt_tool tool, const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if ((command_rows[i].tools & tools_of(tool)) != 0 && strcmp(command_rows[i].name, word) == 0)
            return &command_rows[i];
    }
    return NULL;
}

/* fleet has an action besides what it is about, explain may be asked for a part. */
static int word_count_max(const parser *p)
{
    const command_row *row = p->word_count == 0 ? NULL : command_of(p->options->tool, p->words[0]);
    return row != NULL && (row->command == GSRT_COMMAND_FLEET || row->command == GSRT_COMMAND_EXPLAIN) ? 3 : 2;
}

static gsrt_status take_words(parser *p)
{
    bool are_options_over = false;
    gsrt_status status = GSRT_OK;
    while (p->next < p->argc && status == GSRT_OK) {
        const char *word = p->argv[p->next++];
        if (!are_options_over && strcmp(word, "--") == 0)
            are_options_over = true;
        else if (!are_options_over && word[0] == '-' && word[1] == '-')
            status = take_long(p, word);
        else if (!are_options_over && word[0] == '-' && word[1] != 0)
            status = take_letters(p, word);
        else if (p->word_count == word_count_max(p))
            status = gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unexpected argument '%.60s'; see '%s --help'",
                                   word, gsrt_tool_name(p->options->tool));
        else
            p->words[p->word_count++] = word;
    }
    return status;
}

static gsrt_status refuse_command(parser *p, const char *word)
{
    const char *known[COMMAND_COUNT];
    size_t count = 0;
    gsrt_tool tool = p->options->tool, other = tool == GSRT_TOOL_LAUNCH ? GSRT_TOOL_GSRT : GSRT_TOOL_LAUNCH;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if ((command_rows[i].tools & tools_of(tool)) != 0)
            known[count++] = command_rows[i].name;
    }
    const char *nearest = gsrt_nearest(word, known, count);
    if (command_of(other, word) != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'%s' is a command of %s; write '%s %s'", word,
                             gsrt_tool_name(other), gsrt_tool_name(other), word);
    if (nearest != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unknown command '%.60s'; did you mean '%s'?", word,
                             nearest);
    return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unknown command '%.60s'; see '%s --help'", word,
                         gsrt_tool_name(tool));
}

/* replay RUN, model FILE, explain PLAN: no scenario, and nothing is run. `what` is missing where only the command was
 * given. */
static gsrt_status choose_file(parser *p, const command_row *row, const char *what, const char **out)
{
    gsrt_options *options = p->options;
    if (p->word_count == 1)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "no %s given; write 'gsrt %s %s'", what, row->name,
                             row->command == GSRT_COMMAND_REPLAY ? "RUN" : "FILE");
    const char *refused = options->directory != NULL ? "-o"
                          : options->set_count > 0   ? "--set"
                          : options->seed_count > 0  ? "--seeds"
                                                     : NULL;
    if (refused != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'%s' takes no '%s'; leave it out", row->name, refused);
    *out = p->words[1];
    return GSRT_OK;
}

/* fleet discover, fleet check FILE, fleet show FILE: a file says everything itself. */
static gsrt_status choose_fleet(parser *p)
{
    static const char *const actions[] = {"discover", "check", "show"};
    gsrt_options *options = p->options;
    if (p->word_count == 1)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "do what with it? write 'gsrt fleet check FILE'");
    size_t action = 0;
    while (action < 3 && strcmp(actions[action], p->words[1]) != 0)
        action++;
    if (action == 3) {
        const char *nearest = gsrt_nearest(p->words[1], actions, 3);
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "unknown action '%.60s' of fleet; did you mean '%s'?",
                             p->words[1], nearest == NULL ? "check" : nearest);
    }
    bool has_file = p->word_count == 3;
    if (has_file != (action != GSRT_FLEET_DISCOVER))
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             has_file ? "'discover' looks at this machine; leave '%.60s' out"
                                      : "no file given; write 'gsrt fleet %.60s FILE'",
                             p->words[has_file ? 2 : 1]);
    const char *refused = options->directory != NULL ? "-o"
                          : options->set_count > 0   ? "--set"
                          : options->seed_count > 0  ? "--seeds"
                                                     : NULL;
    if (refused != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'fleet' takes no '%s'; leave it out", refused);
    if (options->is_measuring && action != GSRT_FLEET_DISCOVER)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             "'--measure' looks at this machine; write 'gsrt fleet discover --measure'");
    options->fleet_action = (gsrt_fleet_action)action;
    options->fleet = has_file ? p->words[2] : NULL;
    return GSRT_OK;
}

/* move RUN: the run goes on as it was begun, only elsewhere. */
static gsrt_status choose_move(parser *p)
{
    gsrt_options *options = p->options;
    if (p->word_count == 1)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             "no run given; write 'gsrt-launch move RUN --stage S --member M --to R'");
    const char *missing = !p->has_stage ? "--stage" : !p->has_member ? "--member" : !p->has_to ? "--to" : NULL;
    if (missing != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'move' needs '%s'; add it", missing);
    const char *refused = options->directory != NULL ? "-o"
                          : options->set_count > 0   ? "--set"
                          : options->rank_count > 0  ? "-n"
                                                     : NULL;
    if (refused != NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'move' takes no '%s'; leave it out", refused);
    options->run = p->words[1];
    return GSRT_OK;
}

/* What is done is written in the run directory: nothing else can be asked for. */
static gsrt_status choose_resumed(parser *p)
{
    gsrt_options *options = p->options;
    if (p->word_count > 1 || (p->word_count == 1 && strcmp(p->words[0], "run") != 0))
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--resume",
                             "takes its scenario from the run directory; leave '%.60s' out",
                             p->words[p->word_count - 1]);
    if (options->directory != NULL || options->set_count > 0)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, "--resume",
                             "goes on with a run as it was begun; leave '%s' out",
                             options->directory != NULL ? "-o" : "--set");
    size_t bytes = strlen(options->resume) + sizeof "/scenario.yaml";
    char *scenario = gsrt_arena_take(&options->arena, bytes, 1);
    if (scenario == NULL)
        return GSRT_ENOMEM;
    (void)snprintf(scenario, bytes, "%s/scenario.yaml", options->resume);
    options->command = GSRT_COMMAND_RUN;
    options->scenario = scenario;
    return GSRT_OK;
}

/* [run] SCENARIO for gsrt-launch, COMMAND SCENARIO for gsrt. */
static gsrt_status choose_command(parser *p)
{
    gsrt_options *options = p->options;
    const command_row *row = p->word_count == 0 ? NULL : command_of(options->tool, p->words[0]);
    const char *usage = options->tool == GSRT_TOOL_LAUNCH                  ? "gsrt-launch SCENARIO.yaml"
                        : row != NULL && row->command == GSRT_COMMAND_PLAN ? "gsrt plan SCENARIO.yaml"
                                                                           : "gsrt twin SCENARIO.yaml";
    if (p->word_count == 0)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "no scenario given; write '%s'", usage);
    if (row == NULL && (p->word_count == 2 || options->tool == GSRT_TOOL_GSRT))
        return refuse_command(p, p->words[0]);
    options->command = row == NULL ? GSRT_COMMAND_RUN : row->command;
    if (options->command == GSRT_COMMAND_MOVE)
        return choose_move(p);
    const char *planning = options->policy != NULL        ? "--policy"
                           : options->budget > 0          ? "--budget"
                           : options->is_validating       ? "--validate"
                           : options->rehearsal_count > 0 ? "--rehearse"
                           : options->is_live             ? "--live"
                                                          : NULL;
    if (planning != NULL && options->command != GSRT_COMMAND_PLAN)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "only 'plan' takes '%s'; leave it out", planning);
    if (options->is_measuring && options->command != GSRT_COMMAND_FLEET)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             "'--measure' is for 'gsrt fleet discover'; leave it out");
    if (options->is_validating && options->directory == NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             "'--validate' writes evidence.json; say where with '-o DIR'");
    if (options->rehearsal_count > 0 && options->directory == NULL)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'--rehearse' keeps its runs; say where with '-o DIR'");
    if (options->is_live && options->rehearsal_count == 0)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'--live' says how to rehearse; add '--rehearse 2'");
    if (options->rehearsal_count > 0 && options->is_validating)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                             "'--validate' and '--rehearse' are two steps; validate first, then give 'evidence:' and "
                             "rehearse");
    if (options->seed_count > 0 && options->command == GSRT_COMMAND_PLAN)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "'plan' takes no '--seeds'; leave it out");
    if (options->command == GSRT_COMMAND_EXPLAIN && p->word_count == 3)
        options->what = p->words[2];
    if (options->command == GSRT_COMMAND_EXPLAIN)
        return choose_file(p, row, "plan", &options->plan);
    if (options->command == GSRT_COMMAND_REPLAY)
        return choose_file(p, row, "run", &options->run);
    if (options->command == GSRT_COMMAND_FLEET)
        return choose_fleet(p);
    if (options->command == GSRT_COMMAND_MODEL)
        return choose_file(p, row, "model", &options->model);
    if (row != NULL && p->word_count == 1)
        return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL, "no scenario given; write '%s'", usage);
    options->scenario = p->words[p->word_count - 1];
    return GSRT_OK;
}

static gsrt_status refuse_role(parser *p)
{
    const char *given = p->has_stage ? "--stage" : p->has_member ? "--member" : p->has_to ? "--to" : NULL;
    if (given == NULL || p->options->command == GSRT_COMMAND_MOVE)
        return GSRT_OK;
    return gsrt_diag_set(p->diag, GSRT_EINVAL, NULL, NULL,
                         "'%s' is for 'gsrt-launch move RUN'; in a scenario write it under 'moves'", given);
}

gsrt_status gsrt_options_parse(int argc, char *const *argv, gsrt_options *options, gsrt_diag *diag)
{
    *options = (gsrt_options){.tool = options->tool};
    gsrt_arena_init(&options->arena, ARENA_BYTES_MAX);
    /* Each --set takes an argument at least: argc of them are always enough. */
    options->sets = gsrt_arena_take(&options->arena, argc > 0 ? (size_t)argc : 1, sizeof *options->sets);
    if (options->sets == NULL)
        return GSRT_ENOMEM;
    parser p = {.argc = argc, .argv = argv, .next = 1, .options = options, .diag = diag};
    gsrt_status status = take_words(&p);
    if (status != GSRT_OK)
        return status;
    if (p.is_help || p.is_version) {
        options->command = p.is_help ? GSRT_COMMAND_HELP : GSRT_COMMAND_VERSION;
        return GSRT_OK;
    }
    if (options->is_quiet && options->verbosity > 0)
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, NULL, "'-q' and '-v' contradict each other; give one of them");
    status = options->resume != NULL ? choose_resumed(&p) : choose_command(&p);
    return status == GSRT_OK ? refuse_role(&p) : status;
}

void gsrt_options_fini(gsrt_options *options)
{
    gsrt_arena_fini(&options->arena);
    *options = (gsrt_options){.tool = options->tool};
}

/* ---- help ---- */

static gsrt_status print_row(gsrt_buffer *out, const char *left, const char *help, const char *initial)
{
    gsrt_status status = gsrt_buffer_print(out, "  %-22s %s", left, help);
    if (status == GSRT_OK && initial != NULL)
        status = gsrt_buffer_print(out, " (default: %s)", initial);
    return status == GSRT_OK ? gsrt_buffer_append(out, "\n", 1) : status;
}

static gsrt_status print_options(gsrt_tool tool, gsrt_buffer *out)
{
    gsrt_status status = gsrt_buffer_print(out, "\noptions:\n");
    for (size_t i = 0; i < OPTION_COUNT && status == GSRT_OK; i++) {
        const option_row *row = &option_rows[i];
        if ((row->tools & tools_of(tool)) == 0)
            continue;
        char left[WORD_BYTES_MAX], letter[] = "   ";
        if (row->letter != 0)
            (void)snprintf(letter, sizeof letter, "-%c,", row->letter);
        (void)snprintf(left, sizeof left, "%-3s --%s%s%s", letter, row->name, row->argument == NULL ? "" : " ",
                       row->argument == NULL ? "" : row->argument);
        status = print_row(out, left, row->help, row->initial);
    }
    return status;
}

gsrt_status gsrt_options_print_help(gsrt_tool tool, gsrt_buffer *out)
{
    gsrt_status status;
    if (tool == GSRT_TOOL_LAUNCH)
        status =
            gsrt_buffer_print(out, "usage: gsrt-launch [run] [OPTION]... SCENARIO.yaml\n"
                                   "       gsrt-launch [run] [OPTION]... --resume DIR\n"
                                   "       gsrt-launch move RUN --stage S --member M --to R\n"
                                   "Run a transformer over the ranks of a job, as the scenario says. Inside mpirun "
                                   "it uses the ranks that\nthere are; alone it starts mpirun itself.\n");
    else
        status = gsrt_buffer_print(out, "usage: gsrt twin [OPTION]... SCENARIO.yaml\n"
                                        "       gsrt replay [OPTION]... RUN\n"
                                        "       gsrt fleet discover [--measure] | check FILE | show FILE\n"
                                        "       gsrt model [OPTION]... FILE\n"
                                        "       gsrt plan [OPTION]... SCENARIO.yaml\n"
                                        "       gsrt explain [OPTION]... PLAN|RUN [WHAT]\n"
                                        "Look at a scenario, a run or a model without the machines that it is for.\n");
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\ncommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT && status == GSRT_OK; i++) {
        if ((command_rows[i].tools & tools_of(tool)) != 0)
            status = print_row(out, command_rows[i].name, command_rows[i].help, NULL);
    }
    if (status == GSRT_OK)
        status = print_options(tool, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\nenvironment:\n");
    for (size_t i = 0; i < sizeof environment_rows / sizeof environment_rows[0] && status == GSRT_OK; i++) {
        if ((environment_rows[i].tools & tools_of(tool)) != 0)
            status = print_row(out, environment_rows[i].name, environment_rows[i].help, environment_rows[i].initial);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\nexit status: 0 done and every contract kept, 1 usage, 2 bad input, 3 no "
                                        "feasible plan, 4 a contract was\nviolated, 5 a failure was not recovered, "
                                        "130 interrupted\n");
    return status;
}

gsrt_status gsrt_options_print_version(gsrt_tool tool, gsrt_buffer *out)
{
    return gsrt_buffer_print(out, "%s %s\n", gsrt_tool_name(tool), GSRT_VERSION);
}

/* ---- exit codes ---- */

int gsrt_exit_code(gsrt_status status)
{
    switch ((int)status) {
    case GSRT_OK: return 0;
    case GSRT_EINVAL: return 1;
    case GSRT_EINPUT:
    case GSRT_EUNSUPPORTED: return 2;
    case GSRT_EINFEASIBLE: return 3;
    case GSRT_ECONTRACT: return 4;
    case GSRT_ECANCELED: return 130;
    default: return 5;
    }
}
