// The interface of a backend in C: a shared library that exports `accel_plugin_entry`, which accelc loads by `dlopen`.
//
// Memory
//   - Each struct begins with `struct_size`, which its writer sets to `sizeof`. A reader touches no field beyond it. Later
//     versions add fields at the end; a change of those that there are is another ACCEL_PLUGIN_ABI.
//   - What the host passes to a call is valid during that call only; the plug-in copies what it keeps. The table, and the
//     strings in it, stay valid as long as the process: libraries are not unloaded.
//   - The host allocates the data of inputs and outputs, aligned to 64 bytes, in row-major order. The plug-in only reads
//     inputs. It fills outputs in place, and sets `written` to the bytes that it has written.
//   - The plug-in allocates and frees models and sessions. The host frees each session before its model.
// Threads
//   - `can_run` and `open` come from any thread. Calls for one session come from one thread at a time; those for different
//     sessions of a model may come at the same time.
// Errors
//   - A function returns ACCEL_PLUGIN_OK or another status, and fills `message` with what is wrong and what to do, in UTF-8.
//   - A call that fails changes nothing: a session's states are those before the call, and the session stays usable.
//   - No call may exit, throw beyond its frame, or longjmp.
#ifndef ACCEL_PLUGIN_H
#define ACCEL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCEL_PLUGIN_ABI 1u

// Statuses. The numbers are those of AccelError's codes; another one counts as ACCEL_PLUGIN_FAILED.
enum {
    ACCEL_PLUGIN_OK = 0,
    ACCEL_PLUGIN_INVALID = 2,      // the request is wrong
    ACCEL_PLUGIN_NOT_FOUND = 3,    // a file or device is missing
    ACCEL_PLUGIN_CORRUPT = 4,      // a file is not what it should be
    ACCEL_PLUGIN_CANCELLED = 6,    // `should_stop` asked for it
    ACCEL_PLUGIN_UNSUPPORTED = 9,  // the model cannot run here
    ACCEL_PLUGIN_MEMORY = 10,      // not enough memory, or more than `memory_limit`
    ACCEL_PLUGIN_FAILED = 11       // anything else
};

typedef struct accel_plugin_error {
    uint32_t struct_size;
    char message[1020];
} accel_plugin_error;

// An input, output or state of a function.
typedef struct accel_plugin_port {
    uint32_t struct_size;
    uint32_t rank;
    const char *name;
    const char *type;      // as in safetensors files: "F32", "F16", "I64", "BOOL", ...
    const char *role;      // e.g. "tokens", "position", "logits", "key-value-cache"; "opaque" if it is unknown
    const int64_t *shape;  // `rank` numbers
    size_t byte_count;
} accel_plugin_port;

typedef struct accel_plugin_function {
    uint32_t struct_size;
    uint32_t input_count, output_count, state_count;
    const char *name;  // e.g. "decoder[batch=1,cache=16,tokens=4]"
    const char *part;  // e.g. "decoder"
    const char *role;  // e.g. "prefill", "step", "encode"
    const accel_plugin_port *inputs, *outputs, *states;
} accel_plugin_function;

typedef struct accel_plugin_request {
    uint32_t struct_size;
    int32_t threads;             // of one run, at most
    uint64_t memory_limit;       // bytes of values and states of a session, at most; 0: no limit
    const char *package;         // the path of the package
    const char *digest;          // its digest, 64 hexadecimal digits
    const char *export_path;     // the export of this very package in `export_format`; NULL if the plug-in wants none
    const char *family;          // e.g. "llama"
    size_t function_count;
    const accel_plugin_function *functions;
} accel_plugin_request;

// The data of an input or output. Inputs come in the function's order, outputs are those that are wanted.
typedef struct accel_plugin_tensor {
    uint32_t struct_size;
    uint32_t port;  // its index among the function's inputs or outputs
    const char *name;
    void *data;
    size_t byte_count;
    size_t written;  // of an output: set by the plug-in
} accel_plugin_tensor;

typedef struct accel_plugin_run {
    uint32_t struct_size;
    size_t function;                             // its index in the request
    const accel_plugin_tensor *inputs;
    size_t input_count;
    accel_plugin_tensor *outputs;
    size_t output_count;
    int32_t (*should_stop)(const void *context);  // not 0: return ACCEL_PLUGIN_CANCELLED soon; from any thread
    const void *context;
} accel_plugin_run;

typedef struct accel_plugin {
    uint32_t struct_size;
    uint32_t abi;               // ACCEL_PLUGIN_ABI
    const char *name;           // the backend's name: lower-case letters, digits, "-" and "."
    const char *version;        // of the plug-in and its engine, for people
    const char *export_format;  // what `accelc export --format` calls the file that it runs; NULL: it reads the package
    int32_t priority;           // 100: a general processor; 200: an accelerator; INT32_MIN: runs on request only

    // Whether a model can run. ACCEL_PLUGIN_OK may come with notes in `message`; ACCEL_PLUGIN_UNSUPPORTED or _MEMORY comes
    // with the reason. Reads no weights. Then `open` has to agree.
    int32_t (*can_run)(const accel_plugin_request *request, accel_plugin_error *error);
    int32_t (*open)(const accel_plugin_request *request, void **model, accel_plugin_error *error);
    void (*close)(void *model);
    // A session has its own states, at their initial values.
    int32_t (*make_session)(void *model, void **session, accel_plugin_error *error);
    void (*free_session)(void *session);
    int32_t (*run)(void *session, accel_plugin_run *run, accel_plugin_error *error);
    // All states to their initial values.
    void (*reset)(void *session);
    // The states as bytes of the plug-in's own, which any session of the model can load. Size 0: at their initial values.
    size_t (*state_size)(void *session);
    int32_t (*save_state)(void *session, void *bytes, size_t byte_count, accel_plugin_error *error);
    int32_t (*load_state)(void *session, const void *bytes, size_t byte_count, accel_plugin_error *error);
} accel_plugin;

#if defined(__GNUC__)
#define ACCEL_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define ACCEL_PLUGIN_EXPORT
#endif

// The one exported symbol: returns the table; NULL if the plug-in does not know this version of the interface.
ACCEL_PLUGIN_EXPORT const accel_plugin *accel_plugin_entry(uint32_t host_abi);

#ifdef __cplusplus
}
#endif
#endif
