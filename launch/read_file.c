#include "launch/read_file.h"

#include <errno.h>
#include <stdio.h>

gsrt_status gsrt_read_file(const char *path, const char *give, gsrt_buffer *out, gsrt_diag *diag)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "could not open it: %s; %s", strerror(errno), give);
    gsrt_status status = GSRT_OK;
    uint8_t part[8192];
    size_t n;
    while (status == GSRT_OK && (n = fread(part, 1, sizeof part, file)) > 0)
        status = gsrt_buffer_append(out, part, n);
    if (status == GSRT_OK && ferror(file) != 0)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "could not read it; %s", give);
    if (status == GSRT_OK && (status = gsrt_buffer_append(out, "", 1)) == GSRT_OK)
        out->len--;
    if (status == GSRT_ELIMIT)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is larger than what is read of a file; %s", give);
    (void)fclose(file);
    return status;
}
