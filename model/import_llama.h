/* From a GGUF file of the Llama architecture to the workload.
 *
 * Reads hyper-parameters and the tensor table, never the weights. What the file asks for and we do not compute
 * (experts, other scaling, tensors that no op would read) is refused: nothing is ignored in silence. One region for the
 * embedding, one per layer, one for the output.
 *
 *   value            split            tensor (GGUF)             op
 *   embed.x          NONE             token_embd.weight         EMBED
 *   blk.N.attn_norm  NONE             blk.N.attn_norm.weight    RMSNORM
 *   blk.N.q, k, v    HEADS (kv)       blk.N.attn_{q,k,v}.weight LINEAR; q and k then ROPE in place
 *   blk.N.attn       HEADS                                      ATTENTION
 *   blk.N.attn_out   OUTPUT           blk.N.attn_output.weight  LINEAR, k_group = head size
 *   blk.N.attn_x     NONE                                       ADD
 *   blk.N.ffn_norm   NONE             blk.N.ffn_norm.weight     RMSNORM
 *   blk.N.ffn_gate, ffn_up, ffn_hidden  OUTPUT                  LINEAR, LINEAR, SWIGLU
 *   blk.N.ffn_out    OUTPUT           blk.N.ffn_down.weight     LINEAR
 *   blk.N.x          NONE                                       ADD
 *   output.norm      NONE             output_norm.weight        RMSNORM
 *   logits           VOCAB            output.weight, or token_embd.weight where that is absent (tied)   LOGITS
 */
#ifndef GSRT_MODEL_IMPORT_LLAMA_H
#define GSRT_MODEL_IMPORT_LLAMA_H

#include "model/gguf.h"
#include "placement/workload.h"

/* Build and check the workload of `gguf`.
 * out      owned; free with gsrt_workload_free; independent of gguf's life (names are copied, offsets are numbers).
 * returns  GSRT_OK | GSRT_EINPUT (*diag names key or tensor and remedy) | GSRT_ENOMEM.
 * cost     O(tensors log tensors) time.   thread  any.   test  tests/model/import_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_import_gguf(const gsrt_gguf *gguf, gsrt_workload **out, gsrt_diag *diag);

/* The chunk of outputs that is the unit of a split: the largest divisor of `width` that is at most 32 (a quantisation
 * block). 64 -> 32, 172 -> 4. */
uint32_t gsrt_import_unit(uint32_t width);

#endif
