/* Options: what is understood, what is refused and in which words, the help.
 * With --help-of PROGRAM this program prints that program's help, for tests/checks/options_manpage.sh. */
#include "launch/options.h"

#include "tests/unit.h"

#include <stdio.h>

enum { WORDS_MAX = 16 };

typedef struct command_line {
    char *argv[WORDS_MAX];
    int argc;
    char room[512];
} command_line;

/* Cut `text` at its spaces. */
static void cut(command_line *line, const char *text)
{
    line->argc = 0;
    (void)snprintf(line->room, sizeof line->room, "program %s", text);
    for (char *word = strtok(line->room, " "); word != NULL && line->argc < WORDS_MAX; word = strtok(NULL, " "))
        line->argv[line->argc++] = word;
}

static void accept(gsrt_tool tool, const char *text, command_line *line, gsrt_options *options)
{
    gsrt_diag diag = {0};
    *options = (gsrt_options){.tool = tool};
    cut(line, text);
    gsrt_status status = gsrt_options_parse(line->argc, line->argv, options, &diag);
    ck_assert_msg(status == GSRT_OK, "%s: %s", text, diag.text);
}

static void refuse(gsrt_tool tool, const char *text, const char *wanted)
{
    command_line line;
    gsrt_diag diag = {0};
    gsrt_options options = {.tool = tool};
    cut(&line, text);
    ck_assert_int_eq(gsrt_options_parse(line.argc, line.argv, &options, &diag), GSRT_EINVAL);
    ck_assert_str_eq(diag.text, wanted);
    gsrt_options_fini(&options);
}

START_TEST(runs)
{
    static const char *const same[] = {"a.yaml", "run a.yaml", "-- a.yaml", "run -- a.yaml"};
    command_line line;
    gsrt_options options;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        accept(GSRT_TOOL_LAUNCH, same[i], &line, &options);
        ck_assert_int_eq(options.command, GSRT_COMMAND_RUN);
        ck_assert_str_eq(options.scenario, "a.yaml");
        ck_assert_ptr_null(options.directory);
        ck_assert_uint_eq(options.set_count, 0);
        ck_assert(!options.is_json && !options.is_quiet && options.verbosity == 0 && options.rank_count == 0);
        gsrt_options_fini(&options);
    }
    accept(GSRT_TOOL_LAUNCH, "-- -odd.yaml", &line, &options);
    ck_assert_str_eq(options.scenario, "-odd.yaml");
    gsrt_options_fini(&options);
    accept(GSRT_TOOL_GSRT, "twin a.yaml", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_TWIN);
    gsrt_options_fini(&options);
    accept(GSRT_TOOL_GSRT, "--json replay runs/a-1 -q", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_REPLAY);
    ck_assert_str_eq(options.run, "runs/a-1");
    ck_assert_ptr_null(options.scenario);
    ck_assert(options.is_json && options.is_quiet);
    gsrt_options_fini(&options);
    accept(GSRT_TOOL_GSRT, "model -v config.json", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_MODEL);
    ck_assert_str_eq(options.model, "config.json");
    ck_assert_ptr_null(options.run);
    gsrt_options_fini(&options);
}
END_TEST

START_TEST(values)
{
    static const char *const same[] = {
        "a.yaml -o out -n 4 --set x.y=1=2 --json -q --set z=",
        "-oout a.yaml -qn4 --set=x.y=1=2 --json --set=z=",
        "--output out --ranks=4 --json --quiet --set x.y=1=2 --set z= run a.yaml",
    };
    command_line line;
    gsrt_options options;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        accept(GSRT_TOOL_LAUNCH, same[i], &line, &options);
        ck_assert_str_eq(options.directory, "out");
        ck_assert_uint_eq(options.rank_count, 4);
        ck_assert(options.is_json && options.is_quiet);
        ck_assert_uint_eq(options.set_count, 2);
        ck_assert_str_eq(options.sets[0].key, "x.y");
        ck_assert_str_eq(options.sets[0].value, "1=2");
        ck_assert_str_eq(options.sets[1].key, "z");
        ck_assert_str_eq(options.sets[1].value, "");
        gsrt_options_fini(&options);
    }
    accept(GSRT_TOOL_GSRT, "-vv twin --verbose a.yaml", &line, &options);
    ck_assert_uint_eq(options.verbosity, 3);
    gsrt_options_fini(&options);
}
END_TEST

START_TEST(seeds)
{
    static const char *const numbers[] = {"0", "-1", "x", "4x", "1000001", "99999999999999999999", "+4"};
    command_line line;
    gsrt_options options;
    accept(GSRT_TOOL_GSRT, "twin a.yaml", &line, &options);
    ck_assert_uint_eq(options.seed_count, 0);
    gsrt_options_fini(&options);
    accept(GSRT_TOOL_GSRT, "twin a.yaml --seeds 1000000", &line, &options);
    ck_assert_uint_eq(options.seed_count, 1000000);
    ck_assert_int_eq(options.command, GSRT_COMMAND_TWIN);
    gsrt_options_fini(&options);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[64], wanted[128];
        (void)snprintf(text, sizeof text, "twin a --seeds %s", numbers[i]);
        (void)snprintf(wanted, sizeof wanted, "--seeds: '%s' is no number of seeds; give one from 1 to 1000000",
                       numbers[i]);
        refuse(GSRT_TOOL_GSRT, text, wanted);
    }
    refuse(GSRT_TOOL_GSRT, "replay a --seeds 2", "'replay' takes no '--seeds'; leave it out");
    refuse(GSRT_TOOL_LAUNCH, "a --seeds 2", "unknown option '--seeds'; see 'gsrt-launch --help'");
}
END_TEST

START_TEST(resumes)
{
    static const char *const same[] = {"--resume out", "run --resume=out -q", "--resume out run -n 2"};
    command_line line;
    gsrt_options options;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        accept(GSRT_TOOL_LAUNCH, same[i], &line, &options);
        ck_assert_int_eq(options.command, GSRT_COMMAND_RUN);
        ck_assert_str_eq(options.resume, "out");
        ck_assert_str_eq(options.scenario, "out/scenario.yaml");
        ck_assert_ptr_null(options.directory);
        gsrt_options_fini(&options);
    }
    gsrt_tool launch = GSRT_TOOL_LAUNCH;
    refuse(launch, "--resume out a.yaml", "--resume: takes its scenario from the run directory; leave 'a.yaml' out");
    refuse(launch, "run a.yaml --resume out",
           "--resume: takes its scenario from the run directory; leave 'a.yaml' out");
    refuse(launch, "--resume out -o b", "--resume: goes on with a run as it was begun; leave '-o' out");
    refuse(launch, "--resume out --set a=b", "--resume: goes on with a run as it was begun; leave '--set' out");
    refuse(launch, "--resume=", "--resume: the directory's name is empty");
    refuse(GSRT_TOOL_GSRT, "twin --resume out", "unknown option '--resume'; did you mean '--measure'?");
}
END_TEST

START_TEST(moves)
{
    gsrt_tool launch = GSRT_TOOL_LAUNCH;
    command_line line;
    gsrt_options options;
    accept(launch, "move runs/a-1 --stage 1 --member=2 --to 3", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_MOVE);
    ck_assert_str_eq(options.run, "runs/a-1");
    ck_assert(options.stage == 1 && options.member == 2 && options.to == 3);
    gsrt_options_fini(&options);
    refuse(launch, "move --stage 1 --member 2 --to 3",
           "no run given; write 'gsrt-launch move RUN --stage S --member M --to R'");
    refuse(launch, "move a --stage 1 --to 3", "'move' needs '--member'; add it");
    refuse(launch, "move a --stage 1 --member 0 --to 3 -n 4", "'move' takes no '-n'; leave it out");
    refuse(launch, "move a --stage 1 --member 0 --to 1024", "--to: '1024' is no number from 0 to 1023");
    refuse(launch, "move a --stage x", "--stage: 'x' is no number from 0 to 255");
    refuse(launch, "a.yaml --to 3", "'--to' is for 'gsrt-launch move RUN'; in a scenario write it under 'moves'");
    refuse(launch, "--resume a --member 3",
           "'--member' is for 'gsrt-launch move RUN'; in a scenario write it under 'moves'");
    refuse(launch, "move --resume a", "--resume: takes its scenario from the run directory; leave 'move' out");
    refuse(GSRT_TOOL_GSRT, "move a", "'move' is a command of gsrt-launch; write 'gsrt-launch move'");
}
END_TEST

START_TEST(help_and_version_need_no_scenario)
{
    command_line line;
    gsrt_options options;
    accept(GSRT_TOOL_LAUNCH, "--help", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_HELP);
    gsrt_options_fini(&options);
    accept(GSRT_TOOL_GSRT, "--version", &line, &options);
    ck_assert_int_eq(options.command, GSRT_COMMAND_VERSION);
    gsrt_options_fini(&options);
    gsrt_buffer text;
    gsrt_buffer_init(&text, 1 << 16);
    ck_assert_int_eq(gsrt_options_print_version(GSRT_TOOL_GSRT, &text), GSRT_OK);
    ck_assert_uint_eq(text.len, strlen("gsrt " GSRT_VERSION "\n"));
    ck_assert_mem_eq(text.data, "gsrt " GSRT_VERSION "\n", text.len);
    gsrt_buffer_fini(&text);
}
END_TEST

START_TEST(refusals)
{
    gsrt_tool launch = GSRT_TOOL_LAUNCH, gsrt = GSRT_TOOL_GSRT;
    refuse(launch, "", "no scenario given; write 'gsrt-launch SCENARIO.yaml'");
    refuse(launch, "run", "no scenario given; write 'gsrt-launch SCENARIO.yaml'");
    refuse(gsrt, "", "no scenario given; write 'gsrt twin SCENARIO.yaml'");
    refuse(gsrt, "twin", "no scenario given; write 'gsrt twin SCENARIO.yaml'");
    refuse(gsrt, "replay", "no run given; write 'gsrt replay RUN'");
    refuse(gsrt, "replay a b", "unexpected argument 'b'; see 'gsrt --help'");
    refuse(gsrt, "replay a -o b", "'replay' takes no '-o'; leave it out");
    refuse(gsrt, "replay a --set x=1", "'replay' takes no '--set'; leave it out");
    refuse(gsrt, "model", "no model given; write 'gsrt model FILE'");
    refuse(gsrt, "model a -o b", "'model' takes no '-o'; leave it out");
    refuse(launch, "model a", "'model' is a command of gsrt; write 'gsrt model'");
    refuse(launch, "replay a", "'replay' is a command of gsrt; write 'gsrt replay'");
    refuse(gsrt, "fleet", "do what with it? write 'gsrt fleet check FILE'");
    refuse(gsrt, "fleet chek a", "unknown action 'chek' of fleet; did you mean 'check'?");
    refuse(gsrt, "fleet check", "no file given; write 'gsrt fleet check FILE'");
    refuse(gsrt, "fleet discover a", "'discover' looks at this machine; leave 'a' out");
    refuse(gsrt, "fleet show a b", "unexpected argument 'b'; see 'gsrt --help'");
    refuse(gsrt, "fleet check a -o b", "'fleet' takes no '-o'; leave it out");
    refuse(gsrt, "fleet check a --measure", "'--measure' looks at this machine; write 'gsrt fleet discover --measure'");
    refuse(gsrt, "twin a --measure", "'--measure' is for 'gsrt fleet discover'; leave it out");
    refuse(gsrt, "twni a.yaml", "unknown command 'twni'; did you mean 'twin'?");
    refuse(gsrt, "run a.yaml", "'run' is a command of gsrt-launch; write 'gsrt-launch run'");
    refuse(launch, "twin a.yaml", "'twin' is a command of gsrt; write 'gsrt twin'");
    refuse(launch, "serve a.yaml", "unknown command 'serve'; see 'gsrt-launch --help'");
    refuse(launch, "a b c", "unexpected argument 'c'; see 'gsrt-launch --help'");
    refuse(launch, "--jsno a", "unknown option '--jsno'; did you mean '--json'?");
    refuse(launch, "--st=x=1 a", "unknown option '--st'; did you mean '--set'?");
    refuse(launch, "--frobnicate a", "unknown option '--frobnicate'; see 'gsrt-launch --help'");
    refuse(launch, "-x a", "unknown option '-x'; see 'gsrt-launch --help'");
    refuse(launch, "-qx a", "unknown option '-x'; see 'gsrt-launch --help'");
    refuse(gsrt, "twin a -n 4", "unknown option '-n'; see 'gsrt --help'");
    refuse(launch, "a -o", "option '-o' needs a value; write '-o DIR'");
    refuse(launch, "a --set", "option '--set' needs a value; write '--set KEY=VALUE'");
    refuse(launch, "a --output=", "-o: the directory's name is empty");
    refuse(launch, "a --set x", "--set: 'x' is not KEY=VALUE; write it like --set workload.model=FILE");
    refuse(launch, "a --set =x", "--set: '=x' is not KEY=VALUE; write it like --set workload.model=FILE");
    refuse(launch, "a --json=1", "option '--json' takes no value");
    refuse(launch, "a -q -v", "'-q' and '-v' contradict each other; give one of them");
    static const char *const numbers[] = {"0", "-1", "x", "4x", "1025", "99999999999999999999", "+4"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[64], wanted[128];
        (void)snprintf(text, sizeof text, "a -n %s", numbers[i]);
        (void)snprintf(wanted, sizeof wanted, "-n: '%s' is no number of ranks; give one from 1 to 1024", numbers[i]);
        refuse(launch, text, wanted);
    }
}
END_TEST

START_TEST(exit_codes)
{
    static const struct {
        gsrt_status status;
        int code;
    } cases[] = {{GSRT_OK, 0},          {GSRT_EINVAL, 1},     {GSRT_EINPUT, 2}, {GSRT_EUNSUPPORTED, 2},
                 {GSRT_EINFEASIBLE, 3}, {GSRT_ECONTRACT, 4},  {GSRT_EPEER, 5},  {GSRT_ENOMEM, 5},
                 {GSRT_EIO, 5},         {GSRT_ECANCELED, 130}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_int_eq(gsrt_exit_code(cases[i].status), cases[i].code);
}
END_TEST

static int print_help(const char *program)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, 1 << 16);
    gsrt_tool tool = strcmp(program, "gsrt") == 0 ? GSRT_TOOL_GSRT : GSRT_TOOL_LAUNCH;
    gsrt_status status = gsrt_options_print_help(tool, &text);
    if (status == GSRT_OK)
        (void)fwrite(text.data, 1, text.len, stdout);
    gsrt_buffer_fini(&text);
    return status == GSRT_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--help-of") == 0)
        return print_help(argv[2]);
    const TTest *tests[] = {runs,     values,    seeds, resumes, moves, help_and_version_need_no_scenario,
                            refusals, exit_codes};
    return unit_run("options", tests, sizeof tests / sizeof tests[0]);
}
