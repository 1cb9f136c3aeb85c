/* decode: one model at batch 1, GSRT beside llama.cpp and beside the memory, taking turns.
 *
 *   decode MODEL NAME THREADS [--peer LLAMA_PEER LIBRARY_DIR] [--rounds N] [--prefill-rounds N]
 *
 * Each round: read bandwidth of the memory (the whole buffer once), a burst of ours, a burst of theirs, all at context
 * 512 and on the same bound processing units. What is printed are medians over all rounds, and their ratio. Also:
 * prefill of 512 tokens in turns, and the time from nothing to the first token with the file in the page cache, once
 * with packing in the background (what a user gets) for ours and as it comes for theirs.
 */
#include "backends/memory_probe.h"
#include "bench/engine.h"
#include "bench/measure.h"
#include "bench/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTEXT = 1024,
    PROMPT = 512,
    FIRST_PROMPT = 16, /* prompt of the time to the first token */
    BURST = 8,
    ROUNDS_MAX = 64,
    MEMBW_BYTES = 1280 << 20,
};

typedef struct bench {
    const char *path, *name;
    uint32_t threads;
    char *peer_argv[5]; /* [0] NULL: no peer */
    long rounds, prefill_rounds;
    gsrt_peer peer;
    gsrt_engine *engine;
    gsrt_memory_probe *membw;
    uint64_t pack_ns;
    char ours[128], theirs[160];
} bench;

static void must(gsrt_status status, const gsrt_diag *diag)
{
    if (status == GSRT_OK)
        return;
    fprintf(stderr, "decode: %s\n", diag->status != GSRT_OK ? diag->text : gsrt_status_text(status));
    exit(2);
}

static void record(const bench *b, const char *group, const char *unit, double value, const char *against,
                   double reference, const char *wanted, const char *note)
{
    char name[96];
    snprintf(name, sizeof name, "%s, %u thread%s", b->name, b->threads, b->threads == 1 ? "" : "s");
    gsrt_record_print(&(gsrt_record){.group = group,
                                     .name = name,
                                     .unit = unit,
                                     .value = value,
                                     .against = against,
                                     .reference = reference,
                                     .wanted = wanted,
                                     .note = note});
}

/* The bars; NULL where a figure is only measured. */
static const char *wanted_of(const bench *b, const char *group)
{
    bool is_q8 = strcmp(b->name, "q8_0") == 0, is_f16 = strcmp(b->name, "f16") == 0;
    if (!is_q8 && !is_f16)
        return NULL;
    if (strcmp(group, "decode/memory") == 0)
        return b->threads != 1 ? NULL : is_q8 ? ">= 0.85" : ">= 0.92";
    if (strcmp(group, "decode") == 0)
        return is_q8 ? "> 1.25" : "> 1.15";
    return is_q8 ? "> 4" : "> 2.5";
}

/* From nothing to the first token; the engine stays open. */
static void measure_first_token(bench *b)
{
    gsrt_diag diag = {.status = GSRT_OK};
    uint64_t ns = 0, first_ns = 0, begin_ns = gsrt_measure_now_ns();
    gsrt_engine_options options = {.path = b->path, .thread_count = b->threads, .context = CONTEXT, .is_packing = true};
    must(gsrt_engine_open(&options, &b->engine, &diag), &diag);
    must(gsrt_engine_prefill(b->engine, FIRST_PROMPT, &ns), &diag);
    first_ns = gsrt_measure_now_ns() - begin_ns;
    snprintf(b->ours, sizeof b->ours, "%s kernels", gsrt_engine_isa(b->engine));
    must(gsrt_engine_pack(b->engine, &b->pack_ns), &diag);
    char note[192];
    snprintf(note, sizeof note, "file in the page cache, prompt of %d; our packing, in the background, takes %.1f s",
             FIRST_PROMPT, (double)b->pack_ns * 1e-9);
    if (b->peer_argv[0] == NULL) {
        record(b, "load to first token", "ms", (double)first_ns * 1e-6, NULL, 0, NULL, note);
        return;
    }
    begin_ns = gsrt_measure_now_ns();
    must(gsrt_peer_start(b->peer_argv, &b->peer, &diag), &diag);
    must(gsrt_peer_ask(&b->peer, "threads", b->threads, NULL, 0, NULL, &diag), &diag);
    must(gsrt_peer_ask(&b->peer, "prefill", FIRST_PROMPT, &ns, 1, NULL, &diag), &diag);
    uint64_t peer_ns = gsrt_measure_now_ns() - begin_ns;
    snprintf(b->theirs, sizeof b->theirs, "llama.cpp v0.4.0 of node-llama-cpp 3.21.1, its %s backend", b->peer.variant);
    record(b, "load to first token", "ms", (double)first_ns * 1e-6, b->theirs, (double)peer_ns * 1e-6, NULL, note);
}

static void measure_prefill(bench *b)
{
    gsrt_diag diag = {.status = GSRT_OK};
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX];
    for (long i = 0; i < b->prefill_rounds; i++) {
        uint64_t ns = 0;
        must(gsrt_engine_prefill(b->engine, PROMPT, &ns), &diag);
        ours[i] = PROMPT / ((double)ns * 1e-9);
        if (b->peer_argv[0] == NULL)
            continue;
        must(gsrt_peer_ask(&b->peer, "prefill", PROMPT, &ns, 1, NULL, &diag), &diag);
        theirs[i] = PROMPT / ((double)ns * 1e-9);
    }
    double our_rate = gsrt_measure_median(ours, (size_t)b->prefill_rounds);
    if (b->peer_argv[0] == NULL)
        record(b, "prefill of 512", "tokens/s", our_rate, NULL, 0, NULL, b->ours);
    else
        record(b, "prefill of 512", "tokens/s", our_rate, b->theirs,
               gsrt_measure_median(theirs, (size_t)b->prefill_rounds), wanted_of(b, "prefill"), b->ours);
}

static void append_ms(double *to, size_t *count, const uint64_t *ns, size_t ns_count)
{
    for (size_t i = 0; i < ns_count; i++)
        to[(*count)++] = (double)ns[i] * 1e-6;
}

static void measure_decode(bench *b)
{
    gsrt_diag diag = {.status = GSRT_OK};
    double memory[ROUNDS_MAX], ours[ROUNDS_MAX * BURST], theirs[ROUNDS_MAX * BURST];
    size_t our_count = 0, their_count = 0;
    for (long i = 0; i < b->rounds; i++) {
        uint64_t ns[BURST];
        size_t count = 0;
        memory[i] = gsrt_memory_probe_run(b->membw, 0, b->threads);
        gsrt_engine_rewind(b->engine, PROMPT);
        must(gsrt_engine_decode(b->engine, BURST, ns), &diag);
        append_ms(ours, &our_count, ns, BURST);
        if (b->peer_argv[0] == NULL)
            continue;
        must(gsrt_peer_ask(&b->peer, "rewind", PROMPT, NULL, 0, NULL, &diag), &diag);
        must(gsrt_peer_ask(&b->peer, "decode", BURST, ns, BURST, &count, &diag), &diag);
        append_ms(theirs, &their_count, ns, count);
    }
    double our_ms = gsrt_measure_median(ours, our_count);
    double bandwidth = gsrt_measure_median(memory, (size_t)b->rounds) * 1e-9;
    double weights = (double)gsrt_engine_token_bytes(b->engine) / (our_ms * 1e6);
    char note[224], against[96];
    snprintf(note, sizeof note, "%s; %.3f GB of weights per token, context %d", b->ours,
             (double)gsrt_engine_token_bytes(b->engine) * 1e-9, PROMPT);
    snprintf(against, sizeof against, "read bandwidth of the memory, %s loop, in turns", gsrt_memory_probe_kind());
    record(b, "decode/memory", "GB/s", weights, against, bandwidth, wanted_of(b, "decode/memory"), note);
    if (b->peer_argv[0] == NULL)
        record(b, "decode", "tokens/s", 1e3 / our_ms, NULL, 0, NULL, note);
    else
        record(b, "decode", "tokens/s", 1e3 / our_ms, b->theirs, 1e3 / gsrt_measure_median(theirs, their_count),
               wanted_of(b, "decode"), note);
}

static bool parse(int argc, char **argv, bench *b)
{
    if (argc < 4)
        return false;
    b->path = argv[1];
    b->name = argv[2];
    long threads = strtol(argv[3], NULL, 10);
    b->threads = (uint32_t)threads;
    bool is_good = threads >= 1 && threads <= GSRT_MEMORY_PROBE_THREADS_MAX;
    for (int i = 4; i < argc && is_good; i++) {
        if (strcmp(argv[i], "--peer") == 0 && i + 2 < argc) {
            b->peer_argv[0] = argv[++i];
            b->peer_argv[1] = argv[++i];
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            b->rounds = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--prefill-rounds") == 0 && i + 1 < argc) {
            b->prefill_rounds = strtol(argv[++i], NULL, 10);
        } else {
            is_good = false;
        }
    }
    return is_good && b->rounds >= 1 && b->rounds <= ROUNDS_MAX && b->prefill_rounds >= 1 &&
           b->prefill_rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    bench b = {.rounds = 11, .prefill_rounds = 3};
    if (!parse(argc, argv, &b)) {
        fputs("usage: decode MODEL NAME THREADS [--peer LLAMA_PEER LIBRARY_DIR] [--rounds N] [--prefill-rounds N]\n",
              stderr);
        return 1;
    }
    char context[16];
    snprintf(context, sizeof context, "%d", CONTEXT);
    b.peer_argv[2] = argv[1];
    b.peer_argv[3] = context;
    b.membw = gsrt_memory_probe_create(MEMBW_BYTES, GSRT_MEMORY_ANYWHERE);
    if (b.membw == NULL) {
        fputs("decode: no memory for the bandwidth's buffer; free 1.3 GB\n", stderr);
        return 2;
    }
    measure_first_token(&b);
    measure_prefill(&b);
    measure_decode(&b);
    gsrt_peer_stop(&b.peer);
    gsrt_engine_free(b.engine);
    gsrt_memory_probe_free(b.membw);
    return 0;
}
