/* Runs a fuzz target over its corpus, for make check: every file of tests/fuzz/corpus/<name>/ as it is, cut at many
 * lengths, and with bytes changed by a seeded generator. Each input lies in memory of exactly its size, so that the
 * address sanitizer sees a read past the end. With --enable-fuzzers libFuzzer's own main is used instead.
 *
 * usage: <name>_fuzz [FILE...]      FILEs instead of the corpus; as they are, without mutations
 */
#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUTS_MAX = 128, CHANGES = 512, INPUT_BYTES_MAX = 4 << 20, CORPUS_FILES_MAX = 4096 };

static void try_input(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) {
        (void)fprintf(stderr, "no memory for an input of %zu bytes\n", size);
        exit(2);
    }
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t try_mutations(uint8_t *data, size_t size, uint64_t seed)
{
    size_t tried = 0;
    size_t step = size / CUTS_MAX + 1;
    for (size_t len = 0; len < size; len += step, tried++)
        try_input(data, len);
    for (uint64_t i = 0; i < CHANGES && size > 0; i++, tried++) {
        uint64_t draw = gsrt_random_u64(seed, 0, i);
        uint64_t at = gsrt_random_u64(seed, 1, i) % size;
        uint8_t before = data[at];
        /* a random byte, or one that means something in many formats */
        static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xdd, 0xdf, 0xc6};
        data[at] = draw % 2 == 0 ? (uint8_t)(draw >> 8) : edges[(draw >> 8) % sizeof edges];
        try_input(data, size);
        if (draw % 4 != 3) /* every fourth change stays, so that they add up */
            data[at] = before;
    }
    return tried;
}

static size_t try_file(const char *path, int has_mutations, uint64_t seed)
{
    static uint8_t room[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "could not open %s: %s\n", path, strerror(errno));
        exit(2);
    }
    size_t size = fread(room, 1, sizeof room, file);
    (void)fclose(file);
    try_input(room, size);
    return 1 + (has_mutations ? try_mutations(room, size, seed) : 0);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    size_t tried = 0;
    for (int i = 1; i < argc; i++)
        tried += try_file(argv[i], 0, 0);
    if (argc > 1)
        return 0;

    const char *source = getenv("GSRT_SRCDIR");
    const char *program = strrchr(argv[0], '/') == NULL ? argv[0] : strrchr(argv[0], '/') + 1;
    const char *end = strstr(program, "_fuzz");
    if (source == NULL || end == NULL) {
        (void)fprintf(stderr, "GSRT_SRCDIR is not set, or the program's name is not <name>_fuzz\n");
        return 2;
    }
    char directory[2048];
    (void)snprintf(directory, sizeof directory, "%s/tests/fuzz/corpus/%.*s", source, (int)(end - program), program);
    struct dirent **entries;
    int count = scandir(directory, &entries, is_visible, alphasort);
    if (count <= 0 || count > CORPUS_FILES_MAX) {
        (void)fprintf(stderr, "no corpus in %s\n", directory);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        tried += try_file(path, 1, (uint64_t)i);
        free(entries[i]);
    }
    free(entries);
    (void)printf("%d files, %zu inputs\n", count, tried);
    return 0;
}
