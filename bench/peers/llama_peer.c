/* llama_peer LIBRARY_DIR MODEL CONTEXT: the prebuilt llama.cpp of node-llama-cpp, driven over standard input.
 *
 * The C library is called directly (dlopen), because the package's JavaScript costs llama.cpp about a millisecond per
 * token, which we do not want to win by. Its parameters keep the library's defaults, but for the context and batch
 * sizes and the threads; the two structures that carry parameters are passed as opaque blobs of which only the first
 * three words are set, and the library is asked afterwards whether it understood them.
 *
 * One line in, one line out (numbers are nanoseconds), so that two engines can take turns, burst by burst:
 *   (start)         ready LOAD_NS VARIANT
 *   threads N       ok              bound to the first N processing units
 *   prefill N       ok NS           forget everything, then N tokens in one call, logits of the last
 *   decode N        ok NS ... NS    N tokens one by one, greedy, from where it is
 *   rewind P        ok              forget positions P and above
 *   quit
 * Errors: "error TEXT" and the end.
 */
#include "bench/measure.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFILL_MAX = 4096, LINE_MAX_BYTES = 128, BLOB_BYTES = 1024 };

/* Large enough for any version's parameters: of class MEMORY in the calling convention, returned by hidden pointer and
 * passed by copy, so that a larger one than the callee's is harmless. */
typedef struct blob {
    uint64_t words[BLOB_BYTES / 8];
} blob;

typedef struct llama_batch { /* llama.h; the same for years */
    int32_t n_tokens;
    int32_t *token;
    float *embd;
    int32_t *pos;
    int32_t *n_seq_id;
    int32_t **seq_id;
    int8_t *logits;
} llama_batch;

typedef struct library {
    void *ggml, *llama;
    void (*load_all)(const char *directory);
    void (*log_set)(void (*log)(int, const char *, void *), void *arg);
    blob (*model_defaults)(void);
    blob (*context_defaults)(void);
    void *(*model_load)(const char *path, blob params);
    void *(*context_create)(void *model, blob params);
    const void *(*model_vocab)(const void *model);
    int32_t (*vocab_count)(const void *vocab);
    uint32_t (*n_ctx)(const void *context);
    uint32_t (*n_batch)(const void *context);
    uint32_t (*n_ubatch)(const void *context);
    void (*set_threads)(void *context, int32_t decode, int32_t batch);
    llama_batch (*batch_of)(int32_t *tokens, int32_t count);
    int32_t (*decode)(void *context, llama_batch batch);
    float *(*logits)(void *context, int32_t index);
    void *(*memory)(const void *context);
    bool (*forget)(void *memory, int32_t sequence, int32_t first, int32_t end);
} library;

typedef struct peer {
    library lib;
    void *context;
    int32_t vocab_count, token;
    uint64_t load_ns;
    cpu_set_t allowed; /* processors at the start */
} peer;

__attribute__((format(printf, 1, 2))) _Noreturn static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("error ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    exit(1);
}

static void keep_quiet(int level, const char *text, void *arg)
{
    (void)arg;
    if (level == 4) /* GGML_LOG_LEVEL_ERROR */
        fputs(text, stderr);
}

/* ISO C has no cast from data to function pointers; dlsym's result is copied instead. */
static void resolve(void *handle, const char *name, void *out_function)
{
    void *symbol = dlsym(handle, name);
    if (symbol == NULL)
        die("the library has no %s", name);
    memcpy(out_function, &symbol, sizeof symbol);
}

static void open_library(library *lib, const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libggml.v0.4.0.so", directory);
    lib->ggml = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    snprintf(path, sizeof path, "%s/libllama.v0.4.0.so", directory);
    lib->llama = lib->ggml == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (lib->llama == NULL)
        die("no llama.cpp v0.4.0 in %s (%s); run bench/peers/install", directory, dlerror());
    resolve(lib->ggml, "ggml_backend_load_all_from_path", &lib->load_all);
    resolve(lib->llama, "llama_log_set", &lib->log_set);
    resolve(lib->llama, "llama_model_default_params", &lib->model_defaults);
    resolve(lib->llama, "llama_context_default_params", &lib->context_defaults);
    resolve(lib->llama, "llama_model_load_from_file", &lib->model_load);
    resolve(lib->llama, "llama_init_from_model", &lib->context_create);
    resolve(lib->llama, "llama_model_get_vocab", &lib->model_vocab);
    resolve(lib->llama, "llama_vocab_n_tokens", &lib->vocab_count);
    resolve(lib->llama, "llama_n_ctx", &lib->n_ctx);
    resolve(lib->llama, "llama_n_batch", &lib->n_batch);
    resolve(lib->llama, "llama_n_ubatch", &lib->n_ubatch);
    resolve(lib->llama, "llama_set_n_threads", &lib->set_threads);
    resolve(lib->llama, "llama_batch_get_one", &lib->batch_of);
    resolve(lib->llama, "llama_decode", &lib->decode);
    resolve(lib->llama, "llama_get_logits_ith", &lib->logits);
    resolve(lib->llama, "llama_get_memory", &lib->memory);
    resolve(lib->llama, "llama_memory_seq_rm", &lib->forget);
}

static void open_model(peer *p, const char *directory, const char *path, uint32_t context)
{
    uint64_t begin_ns = gsrt_measure_now_ns();
    open_library(&p->lib, directory);
    p->lib.log_set(keep_quiet, NULL);
    p->lib.load_all(directory);
    void *model = p->lib.model_load(path, p->lib.model_defaults());
    if (model == NULL)
        die("llama.cpp cannot load %s", path);
    p->vocab_count = p->lib.vocab_count(p->lib.model_vocab(model));
    blob params = p->lib.context_defaults();
    uint32_t sizes[3] = {context, context, 512}; /* n_ctx, n_batch, n_ubatch; 512 is the default of the last */
    memcpy(&params, sizes, sizeof sizes);
    p->context = p->lib.context_create(model, params);
    if (p->context == NULL)
        die("llama.cpp cannot make a context of %u", context);
    if (p->lib.n_ctx(p->context) < context || p->lib.n_batch(p->context) != context ||
        p->lib.n_ubatch(p->context) != 512)
        die("llama.cpp understood its parameters otherwise: context %u, batch %u, micro-batch %u",
            p->lib.n_ctx(p->context), p->lib.n_batch(p->context), p->lib.n_ubatch(p->context));
    p->load_ns = gsrt_measure_now_ns() - begin_ns;
}

/* Which of the package's CPU backends the library chose: from what is mapped. */
static void print_ready(const peer *p)
{
    char line[4352], variant[64] = "?";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        const char *at = strstr(line, "/libggml-cpu-");
        if (at != NULL)
            sscanf(at, "/libggml-cpu-%63[a-z0-9]", variant);
    }
    if (maps != NULL)
        fclose(maps);
    printf("ready %" PRIu64 " %s\n", p->load_ns, variant);
}

static void run_batch(peer *p, int32_t *tokens, int32_t count)
{
    if (p->lib.decode(p->context, p->lib.batch_of(tokens, count)) != 0)
        die("llama_decode failed for %d tokens", count);
    const float *logits = p->lib.logits(p->context, -1);
    int32_t best = 0;
    for (int32_t i = 1; i < p->vocab_count; i++)
        best = logits[i] > logits[best] ? i : best;
    p->token = best;
}

static void command_prefill(peer *p, long count)
{
    static int32_t tokens[PREFILL_MAX];
    for (long i = 0; i < count; i++)
        tokens[i] = (int32_t)(259 + i * 37 % (p->vocab_count - 259));
    p->lib.forget(p->lib.memory(p->context), 0, 0, -1);
    uint64_t begin_ns = gsrt_measure_now_ns();
    run_batch(p, tokens, (int32_t)count);
    printf("ok %" PRIu64 "\n", gsrt_measure_now_ns() - begin_ns);
}

static void command_decode(peer *p, long count)
{
    printf("ok");
    for (long i = 0; i < count; i++) {
        uint64_t begin_ns = gsrt_measure_now_ns();
        run_batch(p, &p->token, 1);
        printf(" %" PRIu64, gsrt_measure_now_ns() - begin_ns);
    }
    putchar('\n');
}

/* llama.cpp starts its threads anew for every call; they inherit the caller's processors. */
static void command_threads(peer *p, long count)
{
    cpu_set_t few;
    CPU_ZERO(&few);
    long left = count;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && left > 0; cpu++) {
        if (CPU_ISSET(cpu, &p->allowed)) {
            CPU_SET(cpu, &few);
            left--;
        }
    }
    (void)sched_setaffinity(0, sizeof few, &few);
    p->lib.set_threads(p->context, (int32_t)count, (int32_t)count);
    puts("ok");
}

int main(int argc, char **argv)
{
    long context = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (context < 1 || context > 1 << 20) {
        fputs("usage: llama_peer LIBRARY_DIR MODEL CONTEXT\n", stderr);
        return 1;
    }
    peer p = {.token = 1};
    if (sched_getaffinity(0, sizeof p.allowed, &p.allowed) != 0)
        die("the allowed processors cannot be read");
    open_model(&p, argv[1], argv[2], (uint32_t)context);
    print_ready(&p);
    fflush(stdout);
    for (char line[LINE_MAX_BYTES]; fgets(line, sizeof line, stdin) != NULL; fflush(stdout)) {
        char verb[32] = "";
        long number = 0;
        int fields = sscanf(line, "%31s %ld", verb, &number);
        if (fields == 1 && strcmp(verb, "quit") == 0)
            return 0;
        if (fields != 2 || number < 0 || number > PREFILL_MAX)
            die("unknown command");
        if (strcmp(verb, "threads") == 0)
            command_threads(&p, number);
        else if (strcmp(verb, "prefill") == 0)
            command_prefill(&p, number);
        else if (strcmp(verb, "decode") == 0)
            command_decode(&p, number);
        else if (strcmp(verb, "rewind") == 0)
            puts(p.lib.forget(p.lib.memory(p.context), 0, (int32_t)number, -1) ? "ok" : "error rewind");
        else
            die("unknown command '%s'", verb);
    }
    return 0;
}
