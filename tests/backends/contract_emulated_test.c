/* The contract suite for the AVX-512 kernels, emulated by SIMDe on a processor with AVX2: the same source, the same
 * bits, whether or not this machine has AVX-512. */
#include "tests/backends/contract.h"

#include <stdio.h>
#include <stdlib.h>

extern const gsrt_kernels gsrt__kernels_avx512_emulated;

int main(void)
{
    gsrt_isa isa;
    gsrt_diag diag = {0};
    setenv("GSRT_ISA", "avx2", 1);
    if (gsrt_isa_detect(&isa, &diag) != GSRT_OK) {
        printf("skipped: %s\n", diag.text);
        return 77;
    }
    return contract_run("avx512, emulated", &gsrt__kernels_avx512_emulated, 1) == 0 ? 0 : 1;
}
