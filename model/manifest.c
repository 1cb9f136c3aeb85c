#include "model/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { LINE_BYTES_MAX = 4096, HASH_DIGITS = 32 };

/* The manifest's bytes. GSRT_ENOTFOUND: there is none. */
static gsrt_status read_line(const char *path, char *line, size_t *len, gsrt_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return GSRT_ENOTFOUND;
    struct stat info;
    ssize_t got = -1;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        got = read(fd, line, LINE_BYTES_MAX);
    if (fd >= 0)
        (void)close(fd);
    if (got < 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                             "could not read the manifest; make it again with 'xxhsum -H2', or remove it");
    *len = (size_t)got;
    return GSRT_OK;
}

/* The 32 digits at the start of the line. */
static bool parse_hash(const char *line, size_t len, uint64_t *high, uint64_t *low)
{
    if (len < HASH_DIGITS)
        return false;
    uint64_t parts[2] = {0, 0};
    for (size_t i = 0; i < HASH_DIGITS; i++) {
        char c = line[i];
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A') + 10;
        else
            return false;
        parts[i / 16] = parts[i / 16] << 4 | digit;
    }
    *high = parts[0];
    *low = parts[1];
    return len == HASH_DIGITS || line[HASH_DIGITS] == ' ' || line[HASH_DIGITS] == '\n';
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

gsrt_status gsrt_manifest_check(const gsrt_gguf *gguf, gsrt_manifest *out, gsrt_diag *diag)
{
    char path[4096], line[LINE_BYTES_MAX];
    size_t len = 0;
    int n = snprintf(path, sizeof path, "%s.xxh3", gsrt_gguf_name(gguf));
    if (n < 0 || (size_t)n >= sizeof path)
        return gsrt_diag_set(diag, GSRT_EINPUT, gsrt_gguf_name(gguf), NULL, "the path is too long; use a shorter one");
    gsrt_status status = read_line(path, line, &len, diag);
    if (status == GSRT_ENOTFOUND) {
        *out = (gsrt_manifest){0};
        return GSRT_OK;
    }
    if (status != GSRT_OK)
        return status;
    uint64_t high, low;
    if (!parse_hash(line, len, &high, &low))
        return gsrt_diag_set(diag, GSRT_EINPUT, path, "line 1",
                             "does not start with 32 hexadecimal digits; make the manifest again with 'xxhsum -H2'");
    gsrt_span bytes = gsrt_gguf_bytes(gguf);
    uint64_t begin = now_ns();
    XXH128_hash_t hash = XXH3_128bits(bytes.data, bytes.len);
    uint64_t took = now_ns() - begin;
    if (hash.high64 != high || hash.low64 != low)
        return gsrt_diag_set(diag, GSRT_EINPUT, gsrt_gguf_name(gguf), NULL,
                             "is not the file that its manifest '%s' names: hash %016" PRIx64 "%016" PRIx64
                             ", wanted %016" PRIx64 "%016" PRIx64 "; fetch the file again",
                             path, hash.high64, hash.low64, high, low);
    *out = (gsrt_manifest){
        .is_present = true, .hash_low = low, .hash_high = high, .hashed_bytes = bytes.len, .hash_ns = took};
    return GSRT_OK;
}
