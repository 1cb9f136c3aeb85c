/* By PAPI, in a child process: it writes to standard error, and opens what it does not close. The child hands back why
 * there are none (an empty line: there are some), then the names, a line each. */
#include "launch/fleet_counters.h"

#include "base/limits.h"
#include "launch/child.h"

#include <papi.h>

enum { CPU_S = 5, TEXT_BYTES_MAX = GSRT_FLEET_COUNTERS_MAX * PAPI_MAX_STR_LEN, EXIT_REFUSED = 10 };

/* The processor's own component is the first one. `error`: of PAPI, when one was tried. */
static const char *why_none(int error)
{
    const PAPI_component_info_t *cpu = PAPI_get_component_info(0);
    if (cpu != NULL && cpu->disabled_reason[0] != 0)
        return cpu->disabled_reason;
    return error != PAPI_OK ? PAPI_strerror(error) : "the system offers none";
}

/* Does it count? PAPI knows events by the processor's model, whether or not the system lets anybody count them. */
static int try_event(int code)
{
    int set = PAPI_NULL;
    long long count = 0;
    int error = PAPI_create_eventset(&set);
    if (error == PAPI_OK)
        error = PAPI_add_event(set, code);
    if (error == PAPI_OK)
        error = PAPI_start(set);
    if (error == PAPI_OK)
        error = PAPI_stop(set, &count);
    if (set != PAPI_NULL) {
        (void)PAPI_cleanup_eventset(set);
        (void)PAPI_destroy_eventset(&set);
    }
    return error;
}

static int list_counters(void *arg, gsrt_buffer *out)
{
    (void)arg;
    gsrt_buffer names;
    gsrt_buffer_init(&names, TEXT_BYTES_MAX);
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        return EXIT_REFUSED;
    int code = 0 | PAPI_PRESET_MASK, error = PAPI_OK;
    for (int more = PAPI_enum_event(&code, PAPI_ENUM_FIRST); more == PAPI_OK;
         more = PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL)) {
        char name[PAPI_MAX_STR_LEN] = "";
        if (PAPI_query_event(code) != PAPI_OK || PAPI_event_code_to_name(code, name) != PAPI_OK)
            continue;
        int tried = try_event(code);
        error = tried != PAPI_OK ? tried : error;
        if (tried == PAPI_OK && gsrt_buffer_print(&names, "%s\n", name) != GSRT_OK)
            return EXIT_REFUSED;
    }
    if (gsrt_buffer_print(out, "%s\n", names.len == 0 ? why_none(error) : "") != GSRT_OK)
        return EXIT_REFUSED;
    return gsrt_buffer_append(out, names.data, names.len) == GSRT_OK ? 0 : EXIT_REFUSED;
}

/* Only names: a file of events that somebody has defined may call them anything. */
static gsrt_status take_names(const char *text, size_t len, gsrt_buffer *names)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    uint32_t count = 0;
    gsrt_status status = GSRT_OK;
    for (const char *at = text, *end = text + len; at < end && status == GSRT_OK && count < GSRT_FLEET_COUNTERS_MAX;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t name_len = (size_t)((newline == NULL ? end : newline) - at), good = 0;
        while (good < name_len && memchr(allowed, at[good], sizeof allowed - 1) != NULL)
            good++;
        if (name_len > 0 && good == name_len && name_len <= GSRT_FLEET_NAME_BYTES_MAX) {
            status = gsrt_buffer_print(names, "%.*s\n", (int)name_len, at);
            count++;
        }
        at += name_len + 1;
    }
    return status;
}

gsrt_status gsrt_fleet_counters(gsrt_buffer *names, bool *out_is_known, gsrt_findings *findings)
{
    static const gsrt_child_limits limits = {CPU_S, 0, TEXT_BYTES_MAX + PAPI_HUGE_STR_LEN};
    gsrt_buffer text;
    gsrt_buffer_init(&text, limits.out_bytes_max);
    int how = 0;
    char end[48];
    gsrt_status status = gsrt_child_run(&limits, list_counters, NULL, &text, &how);
    const char *line_end = status == GSRT_OK && text.len > 0 ? memchr(text.data, '\n', text.len) : NULL;
    *out_is_known = status == GSRT_OK && how == 0 && line_end != NULL;
    if (status == GSRT_OK && !*out_is_known) {
        gsrt_findings_add(findings, "not_discovered", "this machine: counters", "PAPI %s; see 'papi_avail'",
                          how == 0 ? "says nothing" : gsrt_child_end(how, end, sizeof end));
    } else if (status == GSRT_OK) {
        size_t why_len = (size_t)(line_end - (const char *)text.data);
        if (why_len > 0)
            gsrt_findings_add(findings, "not_discovered", "this machine: counters",
                              "no hardware counter can be read: %.*s; look outside of the container or the virtual "
                              "machine, or lower /proc/sys/kernel/perf_event_paranoid",
                              (int)why_len, (const char *)text.data);
        status = take_names((const char *)text.data + why_len + 1, text.len - why_len - 1, names);
    }
    gsrt_buffer_fini(&text);
    return status;
}
