// A backend plug-in over libllama: runs decoders from a GGUF export (`accelc export --format gguf`) beside the package.
// The cache is float32, so that its numbers are those of the package up to the order of sums.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_plugin.h"
#include "gguf.h"
#include "llama.h"

// What the run of a function needs of its ports.
typedef struct {
    uint32_t tokens, position;  // indices of inputs
    int32_t count;              // tokens of a run
    int32_t rows;               // rows of logits: `count`, or 1 for the last token
    size_t width;               // of a row
} call;

typedef struct {
    struct llama_model *model;
    int32_t capacity, threads, vocabulary;
    size_t call_count;
    call calls[];
} model;

typedef struct {
    const model *model;
    struct llama_context *context;
    int32_t past;  // positions in the cache: 0 ..< past
    const accel_plugin_run *run;
} session;

typedef struct {
    char mark[8];
    int64_t past;
} state_header;
static const char state_mark[8] = "llama 1";

static _Thread_local char last_log[400];

static void remember(enum ggml_log_level level, const char *text, void *data) {
    (void)data;
    if (level == GGML_LOG_LEVEL_ERROR) snprintf(last_log, sizeof last_log, "%s", text);
}

#define FAIL(status, ...)                                                         \
    do {                                                                          \
        if (error) snprintf(error->message, sizeof error->message, __VA_ARGS__);  \
        return status;                                                            \
    } while (0)

static int32_t fail_engine(accel_plugin_error *error, int32_t status, const char *problem) {
    last_log[strcspn(last_log, "\n")] = 0;
    FAIL(status, "%s (libllama: %s)", problem, last_log[0] ? last_log : "no message");
}

// The port of a role, if there is exactly one.
static const accel_plugin_port *port(const accel_plugin_port *ports, uint32_t count, const char *role, uint32_t *index) {
    const accel_plugin_port *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(ports[i].role, role) != 0) continue;
        if (found) return NULL;
        found = &ports[i];
        *index = i;
    }
    return found;
}

static int32_t check_states(
    const accel_plugin_function *function, int64_t *capacity, size_t *bytes, accel_plugin_error *error) {
    if (function->state_count == 0) FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s has no key/value cache: only decoders run here", function->name);
    *bytes = 0;
    for (uint32_t i = 0; i < function->state_count; i++) {
        const accel_plugin_port *state = &function->states[i];
        if (strcmp(state->role, "key-value-cache") != 0 || state->rank != 4)
            FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s, state \"%s\": is no key/value cache", function->name, state->name);
        if (strcmp(state->type, "F32") != 0)
            FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s, state \"%s\": is %s, only F32 runs here: convert with --states float32",
                 function->name, state->name, state->type);
        if (*capacity != 0 && state->shape[2] != *capacity)
            FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s, state \"%s\": holds %lld positions, others %lld: one number runs here",
                 function->name, state->name, (long long)state->shape[2], (long long)*capacity);
        *capacity = state->shape[2];
        *bytes += state->byte_count;
    }
    return ACCEL_PLUGIN_OK;
}

static int32_t describe(
    const accel_plugin_function *function, call *made, int64_t *capacity, size_t *bytes, accel_plugin_error *error) {
    uint32_t index = 0;
    const accel_plugin_port *tokens = port(function->inputs, function->input_count, "tokens", &made->tokens);
    const accel_plugin_port *position = port(function->inputs, function->input_count, "position", &made->position);
    const accel_plugin_port *logits = port(function->outputs, function->output_count, "logits", &index);
    if (!tokens || !position || !logits || function->input_count != 2 || function->output_count != 1)
        FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s: only decoders with the inputs tokens and position and the output logits run here",
             function->name);
    if (tokens->shape[0] != 1) FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s: has a batch of %lld, only 1 runs here", function->name, (long long)tokens->shape[0]);
    if (logits->rank != 3 || tokens->shape[1] > INT32_MAX || strcmp(logits->type, "F32") != 0)
        FAIL(ACCEL_PLUGIN_UNSUPPORTED, "%s: only logits F32[1,tokens,vocabulary] run here", function->name);
    made->count = (int32_t)tokens->shape[1];
    made->rows = (int32_t)logits->shape[1];
    made->width = (size_t)logits->shape[2];
    size_t states = 0;
    int32_t status = check_states(function, capacity, &states, error);
    if (status != ACCEL_PLUGIN_OK) return status;
    if (states + logits->byte_count > *bytes) *bytes = states + logits->byte_count;
    return ACCEL_PLUGIN_OK;
}

static int32_t export_file(const accel_plugin_request *request, char *path, size_t size, accel_plugin_error *error) {
    if ((size_t)snprintf(path, size, "%s/model.gguf", request->export_path) >= size)
        FAIL(ACCEL_PLUGIN_INVALID, "the path %s is too long", request->export_path);
    return ACCEL_PLUGIN_OK;
}

// The sliding window of an export whose architecture libllama computes without it; 0 if there is none. libllama has windows in gemma3.
static int64_t ignored_window(const struct gguf_context *metadata) {
    const int64_t architecture = gguf_find_key(metadata, "general.architecture");
    if (architecture < 0 || gguf_get_kv_type(metadata, architecture) != GGUF_TYPE_STRING) return 0;
    const char *name = gguf_get_val_str(metadata, architecture);
    char key[256];
    snprintf(key, sizeof key, "%s.attention.sliding_window", name);
    const int64_t window = gguf_find_key(metadata, key);
    if (window < 0 || gguf_get_kv_type(metadata, window) != GGUF_TYPE_UINT32 || !strcmp(name, "gemma3")) return 0;
    return gguf_get_val_u32(metadata, window);
}

// Rejects a model with a sliding window that its cache exceeds: libllama would attend to more positions than the model.
static int32_t check_window(const accel_plugin_request *request, int64_t capacity, accel_plugin_error *error) {
    char path[4096];
    const int32_t status = export_file(request, path, sizeof path, error);
    if (status != ACCEL_PLUGIN_OK) return status;
    struct gguf_context *metadata = gguf_init_from_file(path, (struct gguf_init_params){.no_alloc = true, .ctx = NULL});
    if (!metadata) return ACCEL_PLUGIN_OK;  // libllama says what is wrong with the file when it loads it
    const int64_t window = ignored_window(metadata);
    gguf_free(metadata);
    if (window == 0 || window >= capacity) return ACCEL_PLUGIN_OK;
    FAIL(ACCEL_PLUGIN_UNSUPPORTED,
         "libllama attends to all %lld positions of the cache, the model to a window of %lld: use another backend, or convert with "
         "cache=%lld",
         (long long)capacity, (long long)window, (long long)window);
}

static int32_t describe_all(
    const accel_plugin_request *request, call *calls, int64_t *capacity, accel_plugin_error *error) {
    size_t bytes = 0;
    *capacity = 0;
    for (size_t i = 0; i < request->function_count; i++) {
        call unused;
        int32_t status = describe(&request->functions[i], calls ? &calls[i] : &unused, capacity, &bytes, error);
        if (status != ACCEL_PLUGIN_OK) return status;
    }
    if (request->function_count == 0 || *capacity <= 0 || *capacity > 1 << 24)
        FAIL(ACCEL_PLUGIN_UNSUPPORTED, "a cache of %lld positions cannot run here", (long long)*capacity);
    if (request->memory_limit != 0 && bytes > request->memory_limit)
        FAIL(ACCEL_PLUGIN_MEMORY, "a session needs at least %zu bytes; the limit is %llu", bytes, (unsigned long long)request->memory_limit);
    return check_window(request, *capacity, error);
}

static int32_t can_run(const accel_plugin_request *request, accel_plugin_error *error) {
    int64_t capacity;
    return describe_all(request, NULL, &capacity, error);
}

static int32_t open_model(const accel_plugin_request *request, void **out, accel_plugin_error *error) {
    int64_t capacity;
    model *made = calloc(1, sizeof(model) + request->function_count * sizeof(call));
    if (!made) FAIL(ACCEL_PLUGIN_MEMORY, "no memory for a model");
    int32_t status = describe_all(request, made->calls, &capacity, error);
    if (status != ACCEL_PLUGIN_OK) {
        free(made);
        return status;
    }
    char path[4096];
    status = export_file(request, path, sizeof path, error);
    if (status != ACCEL_PLUGIN_OK) {
        free(made);
        return status;
    }
    last_log[0] = 0;
    struct llama_model_params options = llama_model_default_params();
    made->model = llama_model_load_from_file(path, options);
    if (!made->model) {
        free(made);
        return fail_engine(error, ACCEL_PLUGIN_FAILED, "model.gguf does not load: export it again, or update libllama");
    }
    made->capacity = (int32_t)capacity;
    made->threads = request->threads;
    made->vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(made->model));
    made->call_count = request->function_count;
    for (size_t i = 0; i < made->call_count; i++) {
        if (made->calls[i].width == (size_t)made->vocabulary) continue;
        const size_t width = made->calls[i].width;
        const int32_t vocabulary = made->vocabulary;
        llama_model_free(made->model);
        free(made);
        FAIL(ACCEL_PLUGIN_CORRUPT, "model.gguf has %d tokens, the package %zu: export it again", vocabulary, width);
    }
    *out = made;
    return ACCEL_PLUGIN_OK;
}

static void close_model(void *pointer) {
    model *made = pointer;
    llama_model_free(made->model);
    free(made);
}

static bool should_stop(void *data) {
    const session *own = data;
    return own->run && own->run->should_stop && own->run->should_stop(own->run->context) != 0;
}

static int32_t make_session(void *pointer, void **out, accel_plugin_error *error) {
    const model *of = pointer;
    session *made = calloc(1, sizeof(session));
    if (!made) FAIL(ACCEL_PLUGIN_MEMORY, "no memory for a session");
    struct llama_context_params options = llama_context_default_params();
    options.n_ctx = options.n_batch = options.n_ubatch = (uint32_t)of->capacity;
    options.n_threads = options.n_threads_batch = of->threads;
    options.type_k = options.type_v = GGML_TYPE_F32;
    options.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    options.abort_callback = should_stop;
    options.abort_callback_data = made;
    last_log[0] = 0;
    made->model = of;
    made->context = llama_init_from_model(of->model, options);
    if (!made->context) {
        free(made);
        return fail_engine(error, ACCEL_PLUGIN_MEMORY, "libllama makes no context");
    }
    *out = made;
    return ACCEL_PLUGIN_OK;
}

static void free_session(void *pointer) {
    session *own = pointer;
    llama_free(own->context);
    free(own);
}

// Fills a batch, or says which token does not fit.
static int32_t fill(const session *own, const call *called, const int64_t *tokens, int64_t start, struct llama_batch *batch, accel_plugin_error *error) {
    for (int32_t i = 0; i < called->count; i++) {
        if (tokens[i] < 0 || tokens[i] >= own->model->vocabulary)
            FAIL(ACCEL_PLUGIN_INVALID, "token %d is %lld; expected 0 to %d", i, (long long)tokens[i], own->model->vocabulary - 1);
        batch->token[i] = (llama_token)tokens[i];
        batch->pos[i] = (llama_pos)(start + i);
        batch->n_seq_id[i] = 1;
        batch->seq_id[i][0] = 0;
        batch->logits[i] = called->rows == called->count || i == called->count - 1;
    }
    batch->n_tokens = called->count;
    return ACCEL_PLUGIN_OK;
}

static int32_t put_back(session *own, const uint8_t *bytes, size_t byte_count, int32_t past) {
    llama_memory_clear(llama_get_memory(own->context), true);
    own->past = 0;
    if (byte_count > 0 && llama_state_seq_set_data(own->context, bytes, byte_count, 0) == 0) return ACCEL_PLUGIN_FAILED;
    own->past = past;
    return ACCEL_PLUGIN_OK;
}

// Decodes at a position. Where that fails, the cache is what it was.
static int32_t decode(session *own, struct llama_batch batch, int32_t start, accel_plugin_error *error) {
    llama_memory_t memory = llama_get_memory(own->context);
    uint8_t *kept = NULL;
    size_t kept_count = 0;
    const int32_t past = own->past;
    if (start < past) {  // positions that are written again are not there any more after a failure
        kept_count = llama_state_seq_get_size(own->context, 0);
        kept = malloc(kept_count);
        if (!kept || llama_state_seq_get_data(own->context, kept, kept_count, 0) == 0) {
            free(kept);
            FAIL(ACCEL_PLUGIN_MEMORY, "no memory for a copy of the cache, %zu bytes", kept_count);
        }
        llama_memory_seq_rm(memory, 0, start, -1);
    }
    last_log[0] = 0;
    const int32_t code = llama_decode(own->context, batch);
    if (code == 0) {
        own->past = start + batch.n_tokens;
        free(kept);
        return ACCEL_PLUGIN_OK;
    }
    int32_t restored = ACCEL_PLUGIN_OK;
    if (kept) {
        restored = put_back(own, kept, kept_count, past);
    } else {
        llama_memory_seq_rm(memory, 0, start, -1);
    }
    free(kept);
    if (restored != ACCEL_PLUGIN_OK) FAIL(ACCEL_PLUGIN_FAILED, "the run failed, and the cache is lost: reset the session");
    if (code == 2) FAIL(ACCEL_PLUGIN_CANCELLED, "was cancelled");
    char problem[64];
    snprintf(problem, sizeof problem, "llama_decode failed with %d", code);
    return fail_engine(error, ACCEL_PLUGIN_FAILED, problem);
}

static int32_t run(void *pointer, accel_plugin_run *run, accel_plugin_error *error) {
    session *own = pointer;
    if (run->function >= own->model->call_count) FAIL(ACCEL_PLUGIN_INVALID, "there is no function %zu", run->function);
    const call *called = &own->model->calls[run->function];
    const int64_t *tokens = run->inputs[called->tokens].data;
    const int64_t start = *(const int64_t *)run->inputs[called->position].data;
    if (start < 0 || start > own->model->capacity - called->count)
        FAIL(ACCEL_PLUGIN_INVALID, "position %lld with %d tokens does not fit a cache of %d positions", (long long)start,
             called->count, own->model->capacity);
    if (start > own->past)
        FAIL(ACCEL_PLUGIN_INVALID, "position %lld leaves a gap: the cache has %d positions; run those before it first",
             (long long)start, own->past);
    struct llama_batch batch = llama_batch_init(called->count, 0, 1);
    int32_t status = fill(own, called, tokens, start, &batch, error);
    if (status == ACCEL_PLUGIN_OK) {
        own->run = run;
        status = decode(own, batch, (int32_t)start, error);
        own->run = NULL;
    }
    llama_batch_free(batch);
    if (status != ACCEL_PLUGIN_OK || run->output_count == 0) return status;
    for (int32_t row = 0; row < called->rows; row++) {
        const float *logits = llama_get_logits_ith(own->context, called->rows == called->count ? row : called->count - 1);
        if (!logits) return fail_engine(error, ACCEL_PLUGIN_FAILED, "libllama gives no logits");
        memcpy((float *)run->outputs[0].data + (size_t)row * called->width, logits, called->width * sizeof(float));
    }
    run->outputs[0].written = (size_t)called->rows * called->width * sizeof(float);
    return ACCEL_PLUGIN_OK;
}

static void reset(void *pointer) { put_back(pointer, NULL, 0, 0); }

static size_t state_size(void *pointer) {
    const session *own = pointer;
    return own->past == 0 ? 0 : sizeof(state_header) + llama_state_seq_get_size(own->context, 0);
}

static int32_t save_state(void *pointer, void *bytes, size_t byte_count, accel_plugin_error *error) {
    const session *own = pointer;
    state_header header = {.past = own->past};
    memcpy(header.mark, state_mark, sizeof header.mark);
    if (byte_count != state_size(pointer)) FAIL(ACCEL_PLUGIN_INVALID, "expected %zu bytes for the state, found %zu", state_size(pointer), byte_count);
    memcpy(bytes, &header, sizeof header);
    if (llama_state_seq_get_data(own->context, (uint8_t *)bytes + sizeof header, byte_count - sizeof header, 0) == 0)
        FAIL(ACCEL_PLUGIN_FAILED, "libllama does not save the cache");
    return ACCEL_PLUGIN_OK;
}

static int32_t load_state(void *pointer, const void *bytes, size_t byte_count, accel_plugin_error *error) {
    session *own = pointer;
    state_header header;
    if (byte_count < sizeof header) FAIL(ACCEL_PLUGIN_INVALID, "a snapshot of %zu bytes is none of this plug-in", byte_count);
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.mark, state_mark, sizeof header.mark) != 0 || header.past < 0 || header.past > own->model->capacity)
        FAIL(ACCEL_PLUGIN_INVALID, "is no snapshot of this plug-in");
    size_t kept_count = own->past == 0 ? 0 : llama_state_seq_get_size(own->context, 0);
    uint8_t *kept = malloc(kept_count + 1);
    if (!kept || (kept_count > 0 && llama_state_seq_get_data(own->context, kept, kept_count, 0) == 0)) {
        free(kept);
        FAIL(ACCEL_PLUGIN_MEMORY, "no memory for a copy of the cache, %zu bytes", kept_count);
    }
    const int32_t past = own->past;
    int32_t status = put_back(own, (const uint8_t *)bytes + sizeof header, byte_count - sizeof header, (int32_t)header.past);
    if (status != ACCEL_PLUGIN_OK) put_back(own, kept, kept_count, past);
    free(kept);
    if (status != ACCEL_PLUGIN_OK) FAIL(ACCEL_PLUGIN_INVALID, "libllama does not load the snapshot: it is of another model");
    return ACCEL_PLUGIN_OK;
}

static const accel_plugin table = {
    .struct_size = sizeof(accel_plugin),
    .abi = ACCEL_PLUGIN_ABI,
    .name = "llama",
    .version = "libllama " LLAMA_PLUGIN_VERSION,
    .export_format = "gguf",
    .priority = INT32_MIN,  // it rounds activations of quantized weights: for those who ask for it
    .can_run = can_run,
    .open = open_model,
    .close = close_model,
    .make_session = make_session,
    .free_session = free_session,
    .run = run,
    .reset = reset,
    .state_size = state_size,
    .save_state = save_state,
    .load_state = load_state,
};

const accel_plugin *accel_plugin_entry(uint32_t host_abi) {
    if (host_abi != ACCEL_PLUGIN_ABI) return NULL;
    llama_log_set(remember, NULL);
    llama_backend_init();
    return &table;
}
