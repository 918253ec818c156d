// Runs a model of whisper.cpp: writes the logits (float32) after each of the given tokens to the standard output.
// usage: logits FILE SPECTROGRAM BANDS FRAMES TOKEN...      SPECTROGRAM is a file of float32[BANDS][FRAMES]
#include <stdio.h>
#include <stdlib.h>
#include "whisper.h"

static void silent(enum ggml_log_level level, const char *text, void *data) {
    (void)data;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

int main(int count, char **arguments) {
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
