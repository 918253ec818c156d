// Times llama.cpp on a GGUF file: a block of tokens from an empty cache, then steps of one token behind it. Prints milliseconds of the best of each.
// usage: steps FILE TOKENS THREADS ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "llama.h"

static void silent(enum ggml_log_level level, const char *text, void *data) {
    (void)data;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static double decode(struct llama_context *context, llama_token *tokens, int count) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (llama_decode(context, llama_batch_get_one(tokens, count)) != 0) exit(1);
    llama_synchronize(context);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    const int length = atoi(arguments[2]), threads = atoi(arguments[3]), rounds = atoi(arguments[4]), steps = 8;
    llama_log_set(silent, NULL);
    llama_backend_init();
    struct llama_model *model = llama_model_load_from_file(arguments[1], llama_model_default_params());
    if (!model) return 1;
    struct llama_context_params options = llama_context_default_params();
    options.n_ctx = 1024;
    options.n_batch = options.n_ubatch = (uint32_t)length;
    options.n_threads = options.n_threads_batch = threads;
    struct llama_context *context = llama_init_from_model(model, options);
    llama_token *tokens = calloc((size_t)length, sizeof *tokens);
    if (!context || !tokens) return 1;
    for (int index = 0; index < length; index++) tokens[index] = 100 + index;
    double block = 1e30, step = 1e30;
    for (int round = 0; round <= rounds; round++) {
        llama_memory_clear(llama_get_memory(context), true);
        double time = decode(context, tokens, length);
        if (round > 0 && time < block) block = time;
        for (int index = 0; index < steps; index++) {
            time = decode(context, tokens, 1);
            if (round > 0 && time < step) step = time;
        }
    }
    printf("%f %f\n", block, step);
    return 0;
}
