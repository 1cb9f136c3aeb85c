/* What a core of a processor does where nobody says: invented, and said so in docs/scenario.md. The twin takes it for
 * its devices, and a plan for the ranks that declare nothing.
 */
#ifndef GSRT_LAUNCH_PLAIN_CORE_H
#define GSRT_LAUNCH_PLAIN_CORE_H

#define GSRT_CORE_FLOPS_F32 20e9       /* op/s */
#define GSRT_CORE_FLOPS_F16 20e9       /* bf16 too */
#define GSRT_CORE_FLOPS_QUANTISED 40e9 /* products of int8 */
#define GSRT_CORE_BANDWIDTH 10e9       /* B/s of memory */
#define GSRT_CORE_LAUNCH_NS 2000       /* until a piece of work begins */
#define GSRT_CORE_MEMORY 8589934592.0  /* B: of the machine, whatever its cores */

#endif
