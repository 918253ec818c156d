// Runs a model of whisper.cpp: writes the logits (float32) after each of the given tokens to the standard output.
// usage: logits FILE SPECTROGRAM BANDS FRAMES TOKEN...      SPECTROGRAM is a file of float32[BANDS][FRAMES]
//        logits FILE --samples SAMPLES...                   prints for each file of float32 samples at 16 kHz its seconds and its text:
//                                                           the likeliest tokens, on two threads, in the language that is detected
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "whisper.h"

static void silent(enum ggml_log_level level, const char *text, void *data) {
    (void)data;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static int transcribe(const char *model, int count, char **files) {
    struct whisper_context_params options = whisper_context_default_params();
    options.use_gpu = false;
    options.flash_attn = false;
    struct whisper_context *context = whisper_init_from_file_with_params(model, options);
    if (!context) return 1;
    for (int index = 0; index < count; index++) {
        FILE *file = fopen(files[index], "rb");
        if (!file || fseek(file, 0, SEEK_END) != 0) return 1;
        const size_t size = (size_t)ftell(file) / sizeof(float);
        float *samples = malloc(sizeof(float) * size);
        rewind(file);
        if (!samples || fread(samples, sizeof(float), size, file) != size) return 1;
        fclose(file);
        struct whisper_full_params full = whisper_full_default_params(WHISPER_SAMPLING_GREEDY);
        full.n_threads = 2;
        full.language = "auto";
        full.print_progress = false;
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        if (whisper_full(context, full, samples, (int)size) != 0) return 1;
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("%.3f ", (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
        for (int part = 0; part < whisper_full_n_segments(context); part++) fputs(whisper_full_get_segment_text(context, part), stdout);
        printf("\n");
        free(samples);
    }
    whisper_free(context);
    return 0;
}

int main(int count, char **arguments) {
    if (count > 3 && strcmp(arguments[2], "--samples") == 0) {
        whisper_log_set(silent, NULL);
        return transcribe(arguments[1], count - 3, arguments + 3);
    }
    if (count < 6) return 2;
    const int bands = atoi(arguments[3]), frames = atoi(arguments[4]);
    whisper_log_set(silent, NULL);
    struct whisper_context_params options = whisper_context_default_params();
    options.use_gpu = false;
    options.flash_attn = false;
    struct whisper_context *context = whisper_init_from_file_with_params(arguments[1], options);
    if (!context) return 1;
    float *spectrogram = malloc(sizeof(float) * (size_t)bands * (size_t)frames);
    FILE *file = fopen(arguments[2], "rb");
    if (!file || !spectrogram) return 1;
    if (fread(spectrogram, sizeof(float) * (size_t)bands, (size_t)frames, file) != (size_t)frames) return 1;
    if (whisper_set_mel(context, spectrogram, frames, bands) != 0 || whisper_encode(context, 0, 2) != 0) return 1;
    for (int index = 5; index < count; index++) {
        const whisper_token token = atoi(arguments[index]);
        if (whisper_decode(context, &token, 1, index - 5, 2) != 0) return 1;
        fwrite(whisper_get_logits(context), sizeof(float), (size_t)whisper_n_vocab(context), stdout);
    }
    return 0;
}
