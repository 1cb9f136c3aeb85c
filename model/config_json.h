/* From a config.json of Hugging Face to the workload, without weights: what a planner needs of a model that it is asked
 * to place. The numbers of the file decide; nothing is fetched.
 *
 * Known: Llama, Mistral, Mixtral, Qwen2, Qwen3 and their mixtures of experts, MiMo, DeepSeek-V2 and V3 (MLA, shared
 * experts), Kimi-K2, gpt-oss, Gemma 2 and 3, Phi-3, GPT-2, MiniMax-M2; the language part of models that see. What else
 * the file asks for is refused by its key; what is left out on purpose (vision, heads that draft tokens) is a note.
 */
#ifndef GSRT_MODEL_CONFIG_JSON_H
#define GSRT_MODEL_CONFIG_JSON_H

#include "base/buffer.h"
#include "placement/workload.h"

/* What a reader of the answer should know besides the workload. */
typedef struct gsrt_config_report {
    gsrt_buffer notes;        /* owned; one sentence a line: what was left out or assumed */
    double stated_parameters; /* from the model's name ("235B"); 0: it states none */
    double stated_active;     /* "A22B"; 0: it states none */
    bool is_contradicted;     /* the numbers of the file amount to another count: a wrong copy; a note says so */
} gsrt_config_report;

void gsrt_config_report_init(gsrt_config_report *report);
void gsrt_config_report_fini(gsrt_config_report *report);

/* Read, build and check.
 * json     the file's bytes: hostile; borrowed.   file  its name as given; it may hold the model's name.
 * out      owned; free with gsrt_workload_free. Tensors have the names of the files of weights that belong to it;
 * "name[part]" is a part of a tensor that these hold fused, "experts.*" the stack of all experts. report   initialised
 * by the caller; filled on GSRT_OK. returns  GSRT_OK | GSRT_EINPUT (not JSON, a key that is missing, wrong or not
 * supported: *diag names file, key and remedy) | GSRT_ENOMEM. cost     O(bytes + layers).   thread  any.   test
 * tests/model/config_json_test.c
 */
GSRT_MUST_CHECK gsrt_status gsrt_import_config(gsrt_span json, const char *file, gsrt_workload **out,
                                               gsrt_config_report *report, gsrt_diag *diag);

#endif
