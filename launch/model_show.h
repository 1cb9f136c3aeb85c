/* gsrt model FILE: what a model is, before anything is planned for it or run.
 *
 * FILE is a GGUF file, a config.json of Hugging Face, or a workload's own text (placement/workload_text.h); its first
 * bytes tell. Standard output: a page for people, with -v the op list, too; or with --json one object:
 *   {"schema": "gsrt-model/1", "name", "architecture", "hash": 32 digits of the workload's text, "layers", "context",
 *    "parameters": {"total", "active", "embedding", "stated": number or null, "stated_active", "is_contradicted"},
 *    "weight_bytes", "state_bytes_per_position", "state_bytes_per_position_later": past all windows,
 *    "ops": {class: count}, "runs": bool, "missing": text or null: why it does not run, "notes": [text]}
 */
#ifndef GSRT_LAUNCH_MODEL_SHOW_H
#define GSRT_LAUNCH_MODEL_SHOW_H

#include "launch/options.h"

/* Returns the exit code: 0 shown, whether it runs or not | 2 bad input, named on standard error. */
int gsrt_model_show(const gsrt_options *options);

#endif
