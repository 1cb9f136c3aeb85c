/* mkmodel: write a model with random weights (bench/randmodel.h) to a file. */
#include "bench/randmodel.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(FILE *to)
{
    fputs("usage: mkmodel [--shape tiny|small|1b] [--dtype f32|f16|bf16|q8_0|q4_0] [options] -o FILE\n"
          "Write a Llama-architecture GGUF with seeded random weights. Options change the shape (default 1b):\n"
          "  --dim N --layers N --hidden N --heads N --kv-heads N --vocab N --context N\n"
          "  --tied      no output matrix of its own\n"
          "  --seed N    other weights (default 1)\n"
          "  -o FILE     where to\n"
          "  -q          print nothing\n"
          "  -h, --help\n",
          to);
}

static bool parse_u64(const char *text, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value > max)
        return false;
    *out = value;
    return true;
}

static bool parse_dtype(const char *text, gsrt_dtype *out)
{
    static const gsrt_dtype all[] = {GSRT_DTYPE_F32, GSRT_DTYPE_F16, GSRT_DTYPE_BF16, GSRT_DTYPE_Q8_0, GSRT_DTYPE_Q4_0};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(text, gsrt_dtype_name(all[i])) == 0) {
            *out = all[i];
            return true;
        }
    }
    return false;
}

typedef struct arguments {
    gsrt_randmodel_options options;
    const char *path;
    bool is_quiet, is_help;
} arguments;

static uint32_t *option_number(gsrt_randmodel_options *options, int letter)
{
    switch (letter) {
    case 'D': return &options->dim;
    case 'L': return &options->layer_count;
    case 'H': return &options->hidden;
    case 'A': return &options->head_count;
    case 'K': return &options->kv_head_count;
    case 'V': return &options->vocab_count;
    case 'C': return &options->context;
    default: return NULL;
    }
}

/* false: a message was printed. `is_shape_turn`: only --shape counts, so that it does not undo options before it. */
static bool parse_arguments(int argc, char **argv, arguments *out, bool is_shape_turn)
{
    static const struct option long_options[] = {
        {"shape", required_argument, NULL, 's'},
        {"dtype", required_argument, NULL, 'd'},
        {"dim", required_argument, NULL, 'D'},
        {"layers", required_argument, NULL, 'L'},
        {"hidden", required_argument, NULL, 'H'},
        {"heads", required_argument, NULL, 'A'},
        {"kv-heads", required_argument, NULL, 'K'},
        {"vocab", required_argument, NULL, 'V'},
        {"context", required_argument, NULL, 'C'},
        {"seed", required_argument, NULL, 'S'},
        {"tied", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    optind = 1;
    opterr = is_shape_turn ? 1 : 0;
    for (int letter; (letter = getopt_long(argc, argv, "o:qh", long_options, NULL)) != -1;) {
        uint64_t number = 0;
        bool is_good = letter != '?';
        if (letter == 's')
            is_good = !is_shape_turn || gsrt_randmodel_preset(optarg, &out->options);
        else if (!is_shape_turn && letter == 'd')
            is_good = parse_dtype(optarg, &out->options.dtype);
        else if (!is_shape_turn && letter == 'S')
            is_good = parse_u64(optarg, UINT64_MAX, &out->options.seed);
        else if (!is_shape_turn && option_number(&out->options, letter) != NULL) {
            is_good = parse_u64(optarg, UINT32_MAX, &number);
            *option_number(&out->options, letter) = (uint32_t)number;
        }
        if (!is_good) {
            if (letter != '?')
                fprintf(stderr, "mkmodel: '%s' is not a value of this option; see mkmodel --help\n", optarg);
            return false;
        }
        out->options.is_tied |= letter == 't';
        out->is_quiet |= letter == 'q';
        out->is_help |= letter == 'h';
        if (letter == 'o')
            out->path = optarg;
    }
    if (optind < argc) {
        fprintf(stderr, "mkmodel: unexpected argument '%s'; see mkmodel --help\n", argv[optind]);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    arguments args = {.path = NULL};
    (void)gsrt_randmodel_preset("1b", &args.options);
    if (!parse_arguments(argc, argv, &args, true) || !parse_arguments(argc, argv, &args, false))
        return 1;
    if (args.is_help) {
        print_help(stdout);
        return 0;
    }
    if (args.path == NULL) {
        print_help(stderr);
        return 1;
    }
    gsrt_diag diag = {.status = GSRT_OK};
    uint64_t bytes = 0;
    if (gsrt_randmodel_write(&args.options, args.path, &bytes, &diag) != GSRT_OK) {
        fprintf(stderr, "mkmodel: %s\n", diag.text);
        return diag.status == GSRT_EINVAL ? 1 : 2;
    }
    if (!args.is_quiet)
        printf("%s: %s, %" PRIu64 " bytes, %" PRIu64 " bytes of weights per token\n", args.path,
               gsrt_dtype_name(args.options.dtype), bytes, gsrt_randmodel_token_bytes(&args.options));
    return 0;
}
