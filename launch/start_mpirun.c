#include "launch/start_mpirun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gsrt_mpirun_is_around(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL;
}

/* As variables, because the options are spelt differently in Open MPI 4 (OMPI_) and 5 (PRTE_); the user's win.
 * The recovery flags are left out on purpose: under them mpirun says 0 whatever the ranks say (4.1.4, measured), so
 * that a bad scenario would look like a good run. They would help only where a keeper itself is killed. */
static void choose_settings(void)
{
    static const char *const settings[][2] = {
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        (void)setenv(settings[i][0], settings[i][1], 0);
    if (geteuid() != 0)
        return;
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    (void)setenv("PRTE_ALLOW_RUN_AS_ROOT", "1", 1);
    (void)setenv("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
}

int gsrt_start_mpirun(uint32_t rank_count, char **argv)
{
    static char program[4096];
    char count[16], name[] = "mpirun", option[] = "-n", quiet[] = "-q";
    size_t argc = 0;
    while (argv[argc] != NULL)
        argc++;
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    char **words = calloc(argc + 6, sizeof *words);
    if (len <= 0 || words == NULL) {
        fprintf(stderr, "gsrt: cannot find out what this program is called: %s\n", strerror(errno));
        free(words);
        return 1;
    }
    program[len] = '\0';
    (void)snprintf(count, sizeof count, "%u", rank_count);
    size_t at = 0;
    words[at++] = name;
    words[at++] = quiet; /* no lecture about which rank returned what: gsrt says it itself */
    words[at++] = option;
    words[at++] = count;
    words[at++] = program;
    for (size_t i = 1; i < argc; i++)
        words[at++] = argv[i];
    choose_settings();
    (void)execvp(name, words);
    fprintf(stderr, "gsrt: cannot start mpirun: %s; install Open MPI (openmpi-bin), or start gsrt-launch under srun\n",
            strerror(errno));
    free(words);
    return 1;
}
