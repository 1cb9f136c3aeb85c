/* Which instruction set to use. */
#include "backends/kernels.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#ifndef GSRT_HAVE_AVX2
#define GSRT_HAVE_AVX2 0
#endif
#ifndef GSRT_HAVE_AVX512
#define GSRT_HAVE_AVX512 0
#endif

const char *gsrt_isa_name(gsrt_isa isa)
{
    switch (isa) {
    case GSRT_ISA_SCALAR: return "scalar";
    case GSRT_ISA_AVX2: return "avx2";
    case GSRT_ISA_AVX512: return "avx512";
    }
    return "?";
}

const gsrt_kernels *gsrt_kernels_of(gsrt_isa isa)
{
    switch (isa) {
    case GSRT_ISA_SCALAR: return &gsrt__kernels_scalar;
    case GSRT_ISA_AVX2:
#if GSRT_HAVE_AVX2
        return &gsrt__kernels_avx2;
#else
        return NULL;
#endif
    case GSRT_ISA_AVX512:
#if GSRT_HAVE_AVX512
        return &gsrt__kernels_avx512;
#else
        return NULL;
#endif
    }
    return NULL;
}

static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & 1u << 29) != 0;
}

/* The builtins also ask whether the operating system keeps the registers. */
static bool processor_has(gsrt_isa isa)
{
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    switch (isa) {
    case GSRT_ISA_SCALAR: return true;
    case GSRT_ISA_AVX2: return has_avx2;
    case GSRT_ISA_AVX512:
        return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vnni");
    }
    return false;
}

gsrt_status gsrt_isa_detect(gsrt_isa *out_isa, gsrt_diag *diag)
{
    static const gsrt_isa best_first[] = {GSRT_ISA_AVX512, GSRT_ISA_AVX2, GSRT_ISA_SCALAR};
    const char *word = getenv("GSRT_ISA");
    if (word == NULL || word[0] == '\0') {
        for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++)
            if (processor_has(best_first[i]) && gsrt_kernels_of(best_first[i]) != NULL) {
                *out_isa = best_first[i];
                return GSRT_OK;
            }
        return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, NULL, "no kernels for this processor");
    }
    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        gsrt_isa isa = best_first[i];
        if (strcmp(word, gsrt_isa_name(isa)) != 0)
            continue;
        if (!processor_has(isa))
            return gsrt_diag_set(diag, GSRT_EINPUT, NULL, "GSRT_ISA",
                                 "this processor does not have %s; unset GSRT_ISA or use scalar%s", word,
                                 processor_has(GSRT_ISA_AVX2) ? " or avx2" : "");
        if (gsrt_kernels_of(isa) == NULL)
            return gsrt_diag_set(diag, GSRT_EINPUT, NULL, "GSRT_ISA",
                                 "the %s kernels were not built; rebuild with a compiler that has them", word);
        *out_isa = isa;
        return GSRT_OK;
    }
    return gsrt_diag_set(diag, GSRT_EINPUT, NULL, "GSRT_ISA", "unknown word '%s'; use scalar, avx2 or avx512", word);
}
