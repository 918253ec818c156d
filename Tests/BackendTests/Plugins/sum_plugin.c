// A small plug-in for tests: y = sum + x, and the state sum is y after a run. FAULT plants one thing that is wrong.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_plugin.h"

enum {
    NONE, ABI, SIZE, NULL_TABLE, NO_RUN, NO_NAME, BAD_NAME, CAN_RUN_FAILS, OPEN_FAILS, OPEN_NOTHING, SESSION_NOTHING, RUN_FAILS,
    RUN_UNKNOWN, WRITES_LESS, WRITES_BEYOND, MESSAGE_WITHOUT_END, SAVE_FAILS, WRONG_NUMBERS
};
#ifndef FAULT
#define FAULT NONE
#endif

typedef struct { size_t count; } model;
typedef struct { const model *of; int has_run; float sum[]; } session;

static int32_t fail(accel_plugin_error *error, int32_t status, const char *text) {
    snprintf(error->message, sizeof error->message, "%s", text);
    return status;
}

static int32_t can_run(const accel_plugin_request *request, accel_plugin_error *error) {
    if (FAULT == CAN_RUN_FAILS) return ACCEL_PLUGIN_UNSUPPORTED;
    if (request->function_count != 1 || strcmp(request->functions[0].part, "sum") != 0)
        return fail(error, ACCEL_PLUGIN_UNSUPPORTED, "only a function called sum runs here");
    const accel_plugin_function *function = request->functions;
    if (function->input_count != 1 || function->output_count != 1 || function->state_count != 1)
        return fail(error, ACCEL_PLUGIN_UNSUPPORTED, "sum has one input, one output and one state");
    if (request->memory_limit != 0 && function->states[0].byte_count > request->memory_limit)
        return fail(error, ACCEL_PLUGIN_MEMORY, "the state is larger than the limit");
    return ACCEL_PLUGIN_OK;
}

static int32_t open_model(const accel_plugin_request *request, void **out, accel_plugin_error *error) {
    if (FAULT == OPEN_FAILS) return fail(error, ACCEL_PLUGIN_NOT_FOUND, "there is no such device; plug it in");
    if (FAULT == MESSAGE_WITHOUT_END) {
        memset(error->message, 'x', sizeof error->message);
        return ACCEL_PLUGIN_FAILED;
    }
    if (FAULT == OPEN_NOTHING) return ACCEL_PLUGIN_OK;
    model *made = malloc(sizeof *made);
    if (!made) return fail(error, ACCEL_PLUGIN_MEMORY, "no memory for a model");
    made->count = request->functions[0].states[0].byte_count / sizeof(float);
    *out = made;
    return ACCEL_PLUGIN_OK;
}

static int32_t make_session(void *of, void **out, accel_plugin_error *error) {
    if (FAULT == SESSION_NOTHING) return ACCEL_PLUGIN_OK;
    session *made = calloc(1, sizeof(session) + ((model *)of)->count * sizeof(float));
    if (!made) return fail(error, ACCEL_PLUGIN_MEMORY, "no memory for a session");
    made->of = of;
    *out = made;
    return ACCEL_PLUGIN_OK;
}

static int32_t run(void *pointer, accel_plugin_run *run, accel_plugin_error *error) {
    session *own = pointer;
    if (FAULT == RUN_FAILS) return fail(error, ACCEL_PLUGIN_FAILED, "the device is gone; open the model again");
    if (FAULT == RUN_UNKNOWN) return 77;
    if (run->should_stop(run->context)) return fail(error, ACCEL_PLUGIN_CANCELLED, "was cancelled");
    const float *x = run->inputs[0].data;
    for (size_t i = 0; i < own->of->count; i++) own->sum[i] += x[i] + (FAULT == WRONG_NUMBERS ? 0.5f : 0.0f);
    own->has_run = 1;
    if (run->output_count == 0) return ACCEL_PLUGIN_OK;
    const size_t size = own->of->count * sizeof(float);
    memcpy(run->outputs[0].data, own->sum, size);
    if (FAULT == WRITES_BEYOND) memset((char *)run->outputs[0].data + size, 0, 8);
    run->outputs[0].written = FAULT == WRITES_LESS ? size - 4 : size;
    return ACCEL_PLUGIN_OK;
}

static void reset(void *pointer) {
    session *own = pointer;
    own->has_run = 0;
    memset(own->sum, 0, own->of->count * sizeof(float));
}

static size_t state_size(void *pointer) {
    const session *own = pointer;
    return own->has_run ? own->of->count * sizeof(float) : 0;
}

static int32_t save_state(void *pointer, void *bytes, size_t byte_count, accel_plugin_error *error) {
    if (FAULT == SAVE_FAILS) return fail(error, ACCEL_PLUGIN_FAILED, "the device keeps its state");
    memcpy(bytes, ((session *)pointer)->sum, byte_count);
    return ACCEL_PLUGIN_OK;
}

static int32_t load_state(void *pointer, const void *bytes, size_t byte_count, accel_plugin_error *error) {
    session *own = pointer;
    if (byte_count != own->of->count * sizeof(float)) return fail(error, ACCEL_PLUGIN_INVALID, "is a snapshot of another model");
    memcpy(own->sum, bytes, byte_count);
    own->has_run = 1;
    return ACCEL_PLUGIN_OK;
}

static const accel_plugin table = {
    .struct_size = FAULT == SIZE ? 16 : sizeof(accel_plugin),
    .abi = FAULT == ABI ? 2 : ACCEL_PLUGIN_ABI,
    .name = FAULT == NO_NAME ? NULL : FAULT == BAD_NAME ? "Sum/.." : "sum",
    .version = "sum 1",
    .priority = 150,
    .can_run = can_run,
    .open = open_model,
    .close = free,
    .make_session = make_session,
    .free_session = free,
    .run = FAULT == NO_RUN ? NULL : run,
    .reset = reset,
    .state_size = state_size,
    .save_state = save_state,
    .load_state = load_state,
};

#ifdef UNDEFINED_SYMBOL
void there_is_no_such_function(void);
#endif

#ifndef NO_ENTRY
const accel_plugin *accel_plugin_entry(uint32_t host_abi) {
#ifdef UNDEFINED_SYMBOL
    there_is_no_such_function();
#endif
    return FAULT == NULL_TABLE || host_abi != ACCEL_PLUGIN_ABI ? NULL : &table;
}
#else
const void *some_other_function(void) { return &table; }
#endif
