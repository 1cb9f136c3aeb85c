/* The contract suite for the instruction sets that this processor has. The AVX-512 kernels are also run emulated, by
 * contract_emulated_test. */
#include "tests/backends/contract.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int failed = 0;
    for (int isa = GSRT_ISA_SCALAR; isa <= GSRT_ISA_AVX512; isa++) {
        gsrt_isa found;
        setenv("GSRT_ISA", gsrt_isa_name((gsrt_isa)isa), 1);
        gsrt_diag diag = {0};
        if (gsrt_isa_detect(&found, &diag) != GSRT_OK) {
            printf("skipped: %s: %s\n", gsrt_isa_name((gsrt_isa)isa), diag.text);
            continue;
        }
        failed += contract_run(gsrt_isa_name(found), gsrt_kernels_of(found), isa == GSRT_ISA_SCALAR ? 3 : 1);
    }
    return failed == 0 ? 0 : 1;
}
