#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

/* Input may hold anything: keep one line, and no terminal escape. */
static void replace_control_bytes(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != 0; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

gsrt_status gsrt_diag_set(gsrt_diag *diag, gsrt_status status, const char *file, const char *place, const char *format,
                          ...)
{
    if (diag == NULL || diag->status != GSRT_OK)
        return status;
    diag->status = status;
    size_t used = 0;
    const char *parts[] = {file, place};
    for (size_t i = 0; i < 2; i++) {
        if (parts[i] == NULL)
            continue;
        int n = snprintf(diag->text + used, sizeof diag->text - used, "%.300s: ", parts[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(diag->text + used, sizeof diag->text - used, format, args);
    va_end(args);
    replace_control_bytes(diag->text);
    return status;
}
