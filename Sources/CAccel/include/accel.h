/*
 * accel.h: opens and runs accelerator packages. C99 and C++11. Link libaccel, or libaccelconvert, which also has accel_convert.h.
 *
 * Every call returns an accel_status. Details go to the caller's accel_error, which may be NULL; it is written by success too.
 * Every struct begins with struct_size, which the caller sets to sizeof: the library reads and writes nothing beyond it. Fields that
 * the caller's version has and the library's has not must be zero. Fill structs with zeros first: zero is the default of every field.
 *
 * Handles are numbers in a pointer's clothes and are never dereferenced: NULL, a handle of another type, one that was released and any
 * other value give ACCEL_INVALID. A released model, session, stream or transcription lives on inside of calls that have it, and of its
 * own sessions, streams and transcriptions. Strings are UTF-8 with a final zero; those given are copied, those received live as long as the handle they came from.
 *
 * Threads: models, functions and cancel tokens may be used by all threads at a time; a session with its streams, or a transcription, by
 * one, and a second one gets ACCEL_BUSY. Callbacks may call everything. They must not throw or longjmp.
 */
#ifndef ACCEL_H
#define ACCEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and errors ---------------------------------------------------------------------------------------------- */

/* Later versions may add numbers. */
typedef int32_t accel_status;
enum {
    ACCEL_OK = 0,
    ACCEL_END = 1,           /* accel_stream_next: there are no more tokens, accel_transcription_next: no more segments; not an error */
    ACCEL_INVALID = 2,       /* an argument is wrong, e.g. a shape that does not fit */
    ACCEL_NOT_FOUND = 3,     /* no file, function, tensor or backend of this name */
    ACCEL_CORRUPT = 4,       /* a file is corrupt */
    ACCEL_INTERNAL = 5,      /* a fault of the library */
    ACCEL_CANCELLED = 6,     /* by a cancel token */
    ACCEL_TIMED_OUT = 7,     /* the time limit was over first */
    ACCEL_UNTRUSTED = 8,     /* the signature was not accepted */
    ACCEL_UNSUPPORTED = 9,   /* no backend runs the model, or this version of the library lacks a field */
    ACCEL_MEMORY = 10,       /* not enough memory */
    ACCEL_BACKEND = 11,      /* any other failure of a backend */
    ACCEL_NUMERICS = 12,     /* a backend misses the package's stored outputs */
    ACCEL_INCOMPATIBLE = 13, /* an update has another interface */
    ACCEL_STORAGE = 14,      /* a disk or a folder cannot be written */
    ACCEL_BUSY = 15          /* another call has the session */
};

/* The parts of an error. Texts that do not fit are cut at a character. */
typedef struct accel_error {
    uint32_t struct_size;
    accel_status code;
    char message[1024]; /* the whole sentence, for people */
    char place[256];    /* e.g. model[batch=1], input "input_ids"; empty if the message names it */
    char expected[128]; /* e.g. I64[1,128]; empty if there is no such thing */
    char found[128];    /* e.g. I64[1,5] */
    char hint[504];     /* advice */
} accel_error;

/* The number of this interface. It changes only when old programs must be compiled again. */
uint32_t accel_abi(void);
/* The version of the library, e.g. "0.1.0". */
const char *accel_version(void);
/* The name of a status in words, e.g. "not found". Never NULL. */
const char *accel_status_text(accel_status status);

/* ---- cancelling ----------------------------------------------------------------------------------------------------- */

/* A token that ends calls early. One token may serve many calls; once requested it stays so. */
typedef struct accel_cancel accel_cancel;
/* NULL when 65536 tokens exist. */
accel_cancel *accel_cancel_create(void);
/* May be called by any thread, and by a signal handler. Runs end at their next piece of work, and leave states as they were. */
accel_status accel_cancel_request(accel_cancel *cancel);
/* Calls that have the token go on without it. */
accel_status accel_cancel_release(accel_cancel *cancel);

/* ---- models --------------------------------------------------------------------------------------------------------- */

/* An open package on a backend: one copy of the weights for all functions, sessions and threads. */
typedef struct accel_model accel_model;
/* A function of a model. It belongs to the model's handle, and goes with it. */
typedef struct accel_function accel_function;

/* Receives the progress of opening or converting, on a thread of the library or the caller's. `fraction` is from 0 to 1, or negative
 * for a message; `item` may be NULL. The strings are valid during the call. */
typedef void (*accel_progress)(void *context, const char *stage, double fraction, const char *item);
/* Decides whether the signature of a package whose bytes are intact is accepted. `manifest` is what an SSH signature signs: manifest.json,
 * or the last line of PACKAGE.sig, if it states a model's name (accelc sign --name). Returns 0 to accept it. */
typedef int32_t (*accel_verify)(void *context, const char *path, const void *manifest, size_t byte_count);

enum {
    ACCEL_PRESET_AUTOMATIC = 0,
    ACCEL_PRESET_LOW_LATENCY = 1,
    ACCEL_PRESET_LOW_MEMORY = 2,
    ACCEL_PRESET_BACKGROUND = 3,
    ACCEL_PRESET_REPRODUCIBLE = 4 /* the CPU, without fallback: the same bits everywhere */
};

/* Flags of accel_options. */
enum {
    ACCEL_OPEN_PROBE = 1,      /* a backend has to give the outputs that the package has for its probe */
    ACCEL_OPEN_NO_FALLBACK = 2, /* a backend that fails, or is late, is an error: no other is tried */
    ACCEL_UPDATE_ROLLBACK = 4   /* of accel_store_update: a package that is signed with a lower version, or without one, is no error */
};

typedef struct accel_options {
    uint32_t struct_size;
    uint32_t preset;       /* ACCEL_PRESET_... */
    const char *backends;  /* NULL: the best one; "cpu": this one only; "a,b": these before the others, in this order */
    int32_t threads;       /* of one run, at most 1024; 0: the preset's */
    int32_t concurrency;   /* runs of accel_function_run at the same time, at most 1024; 0: 1 */
    uint64_t memory_limit; /* bytes for values and states of one session; 0: the machine's memory */
    accel_progress progress;
    accel_verify verify;
    void *context; /* of both callbacks */
    accel_cancel *cancel; /* ends the opening */
    int64_t preparation_limit_ms; /* the time that each backend has to get ready; the next one is tried after it; 0: no limit */
    uint32_t flags; /* ACCEL_OPEN_... */
    uint32_t reserved; /* 0 */
} accel_options;

/* Opens a package: checks every byte, chooses a backend and loads the model there. Once options->cancel is requested, it ends before its
 * next piece of work.
 * source: the path of a folder or an archive, or "key:" and the 64 digits of a package in the cache. options may be NULL. */
accel_status accel_model_open(const char *source, const accel_options *options, accel_model **model, accel_error *error);
accel_status accel_model_release(accel_model *model);
/* A JSON document: package digest, backend, the attempts with their reasons and times, functions. NULL without a model. */
const char *accel_model_info_json(accel_model *model);
/* Frees memory of runs that is not in use. */
accel_status accel_model_trim(accel_model *model);

/* The functions in the package's order; 0 and NULL if there is none. */
size_t accel_model_function_count(accel_model *model);
const accel_function *accel_model_function_at(accel_model *model, size_t index);
/* A function by its name, e.g. "model[batch=1,sequence=128]", or by its part's, e.g. "model", if only one function has it. */
accel_status accel_model_function(accel_model *model, const char *name, const accel_function **function, accel_error *error);
/* NULL without a function. */
const char *accel_function_name(const accel_function *function);

/* ---- backends ------------------------------------------------------------------------------------------------------- */

/* Adds a backend written in C, for models that are opened later; one of the same name is replaced. plugin: a const accel_plugin * of
 * accel_plugin.h, which has to stay as long as the process. */
accel_status accel_backend_register(const void *plugin, accel_error *error);
/* Loads a shared library that exports accel_plugin_entry, and adds its backend. The library's code is trusted, and stays loaded. */
accel_status accel_backend_load(const char *path, accel_error *error);

/* ---- tensors -------------------------------------------------------------------------------------------------------- */

/* The element types. Booleans are bytes that are 0 or 1. */
enum {
    ACCEL_F32 = 1,
    ACCEL_F64 = 2,
    ACCEL_F16 = 3,
    ACCEL_BF16 = 4,
    ACCEL_F8_E4M3 = 5,
    ACCEL_F8_E5M2 = 6,
    ACCEL_I64 = 7,
    ACCEL_I32 = 8,
    ACCEL_I16 = 9,
    ACCEL_I8 = 10,
    ACCEL_U64 = 11,
    ACCEL_U32 = 12,
    ACCEL_U16 = 13,
    ACCEL_U8 = 14,
    ACCEL_BOOL = 15
};

enum { ACCEL_INPUT = 0, ACCEL_OUTPUT = 1, ACCEL_STATE = 2 };

/* An input, output or state of a function. */
typedef struct accel_port {
    uint32_t struct_size;
    uint32_t type; /* ACCEL_F32 ... */
    const char *name;
    const char *role; /* e.g. "tokens" */
    const int64_t *shape;
    size_t rank;
    size_t byte_count;
} accel_port;

/* kind: ACCEL_INPUT, ACCEL_OUTPUT or ACCEL_STATE. */
size_t accel_function_port_count(const accel_function *function, uint32_t kind);
/* port: filled in; its struct_size has to be set. */
accel_status accel_function_port(
    const accel_function *function, uint32_t kind, size_t index, accel_port *port, accel_error *error);

/* Elements in row-major order in memory of the caller's, aligned to the element type. An array of these has the struct_size of its
 * first element as its stride. */
typedef struct accel_tensor {
    uint32_t struct_size;
    uint32_t type;
    const char *name;
    void *data; /* outputs: NULL lends the library's memory until the next call of the session */
    size_t byte_count;
    const int64_t *shape; /* NULL with rank 0: the function's */
    size_t rank;
} accel_tensor;

/* How a run may end early. */
typedef struct accel_run {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    int64_t time_limit_ms; /* 0: none */
    accel_cancel *cancel;
} accel_run;

/* Runs a function, each time with the initial values of its states. Many threads may call it; accel_options.concurrency of them run,
 * and the others wait. All inputs are needed, in any order; outputs that are not named are not returned. Inputs are read where they lie,
 * outputs are copied once to the memory of the caller. run may be NULL. */
accel_status accel_function_run(
    const accel_function *function, const accel_tensor *inputs, size_t input_count, accel_tensor *outputs,
    size_t output_count, const accel_run *run, accel_error *error);

/* ---- sessions ------------------------------------------------------------------------------------------------------- */

/* The functions of a model over one memory of states, such as the key/value cache of a decoder. */
typedef struct accel_session accel_session;
/* The values of a session's states at one time. */
typedef struct accel_snapshot accel_snapshot;
/* Called once, on a thread of the library. error is valid during the call. */
typedef void (*accel_done)(void *context, accel_status status, const accel_error *error);

accel_status accel_session_create(accel_model *model, accel_session **session, accel_error *error);
accel_status accel_session_release(accel_session *session);
/* Runs a function of the session's model. A run that fails or ends early leaves the states as they were. For outputs without data, the
 * tensor is filled in: type, data, byte_count, shape, rank. */
accel_status accel_session_run(
    accel_session *session, const accel_function *function, const accel_tensor *inputs, size_t input_count,
    accel_tensor *outputs, size_t output_count, const accel_run *run, accel_error *error);
/* The same on a thread of the library. Errors of arguments are returned at once, and then done is not called. Tensors' memory, and the
 * array of outputs if it has tensors without data, have to stay until done is called. */
accel_status accel_session_run_async(
    accel_session *session, const accel_function *function, const accel_tensor *inputs, size_t input_count,
    accel_tensor *outputs, size_t output_count, const accel_run *run, accel_done done, void *context, accel_error *error);
/* Gives all states their initial values. */
accel_status accel_session_reset(accel_session *session, accel_error *error);
/* Forgets the tokens that accel_stream_next has put into the states, from a position on. */
accel_status accel_session_rewind(accel_session *session, int64_t position, accel_error *error);
/* Copies the states. */
accel_status accel_session_snapshot(accel_session *session, accel_snapshot **snapshot, accel_error *error);
/* Sets the states to those of a snapshot of the same model. */
accel_status accel_session_restore(accel_session *session, accel_snapshot *snapshot, accel_error *error);
/* 0 without a snapshot. */
uint64_t accel_snapshot_byte_count(accel_snapshot *snapshot);
accel_status accel_snapshot_release(accel_snapshot *snapshot);

/* ---- generating tokens ---------------------------------------------------------------------------------------------- */

/* Tokens that a session generates. Each one is computed when it is asked for. */
typedef struct accel_stream accel_stream;

/* ACCEL_MODEL_SETTINGS: as the model's author says in generation_config.json, which also gives the temperature and the limits. */
enum { ACCEL_GREEDY = 0, ACCEL_RANDOM = 1, ACCEL_MODEL_SETTINGS = 2 };

typedef struct accel_generation {
    uint32_t struct_size;
    uint32_t sampling; /* ACCEL_GREEDY, ACCEL_RANDOM or ACCEL_MODEL_SETTINGS */
    /* The whole sequence from its first token: what the session holds of it does not run again. */
    const int64_t *tokens;
    size_t token_count;
    int64_t max_tokens; /* 0: 256 */
    /* Tokens after which nothing is generated; they are part of the stream. NULL with a count of 0: those of the package;
     * not NULL with a count of 0: none. */
    const int64_t *stop_tokens;
    size_t stop_token_count;
    float temperature; /* 0: 1 */
    float top_p;       /* 0: 1 */
    int64_t top_k;     /* 0: all */
    uint64_t seed;
    int64_t time_limit_ms; /* from the first token that is asked for; 0: none */
    accel_cancel *cancel;
    /* Inputs beside tokens and position, which are copied: the same for each run. */
    const accel_tensor *inputs;
    size_t input_count;
    /* A text in place of tokens, which goes to the model as it is; NULL: none. */
    const char *prompt;
    /* A conversation in place of tokens, by the model's chat template: a JSON list of objects with role and content; NULL: none. */
    const char *messages;
    float min_p;              /* 0: none */
    float repetition_penalty; /* 0: 1 */
} accel_generation;

/* Why a stream has ended. */
enum {
    ACCEL_NOT_ENDED = 0,
    ACCEL_STOP_TOKEN = 1,
    ACCEL_MAX_TOKENS = 2,
    ACCEL_CACHE_FULL = 3,
    ACCEL_STREAM_CANCELLED = 4,
    ACCEL_STREAM_TIMED_OUT = 5,
    ACCEL_OTHER_REASON = 6
};

typedef struct accel_summary {
    uint32_t struct_size;
    uint32_t reason;
    uint64_t reused_tokens; /* of the prompt, that the session held already */
    uint64_t prompt_tokens; /* of the prompt, that ran */
    uint64_t generated_tokens;
    uint64_t prompt_ns;
    uint64_t generation_ns;
} accel_summary;

accel_status accel_session_generate(
    accel_session *session, const accel_generation *options, accel_stream **stream, accel_error *error);
/* Computes the next token. ACCEL_END after the last one, also when the stream was cancelled or its time is over: the summary says why. */
accel_status accel_stream_next(accel_stream *stream, int64_t *token, accel_error *error);
/* Computes the next piece of text, of one or more whole characters; stop tokens are not part of it. The text lives until the next call
 * of the stream. ACCEL_UNSUPPORTED for a model without a tokenizer. */
accel_status accel_stream_next_text(accel_stream *stream, const char **text, accel_error *error);
/* summary: filled in; its struct_size has to be set. While the stream goes on its reason is ACCEL_NOT_ENDED, and its numbers are 0. */
accel_status accel_stream_summary(accel_stream *stream, accel_summary *summary, accel_error *error);
accel_status accel_stream_release(accel_stream *stream);

/* ---- texts ------------------------------------------------------------------------------------------------------------ */

/* A vector of each text: the model's embedding, else the mean of its hidden states.
 * texts: count strings; one that is longer than the model takes is an error, unless truncate is not 0.
 * vectors: memory for capacity numbers, row by row; NULL with a capacity of 0 asks for the width alone.
 * width: the numbers of a vector. */
accel_status accel_model_embed(
    accel_model *model, const char *const *texts, size_t count, int32_t truncate, float *vectors, size_t capacity, size_t *width,
    accel_error *error);

/* ---- speech ----------------------------------------------------------------------------------------------------------- */

/* The text that is spoken in a sound, segment by segment, by a model such as Whisper. A window of the sound is computed when its first
 * segment is asked for. */
typedef struct accel_transcription accel_transcription;

/* Flags of accel_speech. */
enum {
    ACCEL_TRANSLATE = 1 /* the English translation of what is spoken */
};

/* A sound, and how its text is found. */
typedef struct accel_speech {
    uint32_t struct_size;
    uint32_t flags; /* ACCEL_TRANSLATE */
    /* One sample of each channel after the other, where full scale is -1 to 1. They are copied. */
    const float *samples;
    size_t sample_count;    /* of all channels together */
    uint32_t sample_rate;   /* samples of each channel per second */
    uint32_t channel_count; /* 0: 1 */
    const char *language;   /* the code of the spoken language, e.g. "en"; NULL: detected in the first window */
    uint64_t seed;          /* of tokens of windows that are decoded again */
    int64_t time_limit_ms;  /* for all segments, from the first one that is asked for; 0: none */
    accel_cancel *cancel;
} accel_speech;

/* A part of a transcript. */
typedef struct accel_segment {
    uint32_t struct_size;
    float no_speech_probability; /* that its window has no speech */
    double start; /* in seconds */
    double end;   /* in seconds */
    double mean_log_probability; /* of the tokens of its window */
    const char *text; /* with the white space before it; it lives until the next segment of the transcription */
} accel_segment;

/* How far a transcription is. */
typedef struct accel_transcript {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    double seconds;      /* of the whole sound */
    double seconds_done; /* from its beginning, whose segments are computed */
    double seconds_without_speech;
    const char *language; /* NULL while it is not known, and of a model of one language */
} accel_transcript;

accel_status accel_model_transcribe(
    accel_model *model, const accel_speech *speech, accel_transcription **transcription, accel_error *error);
/* Computes the next segment. segment: filled in; its struct_size has to be set. ACCEL_END after the last one; ACCEL_CANCELLED and
 * ACCEL_TIMED_OUT once the cancel token is requested or the time is over: the segments before are valid. */
accel_status accel_transcription_next(accel_transcription *transcription, accel_segment *segment, accel_error *error);
/* summary: filled in; its struct_size has to be set. Any thread may ask for it while another computes. */
accel_status accel_transcription_summary(accel_transcription *transcription, accel_transcript *summary, accel_error *error);
accel_status accel_transcription_release(accel_transcription *transcription);

/* ---- stores --------------------------------------------------------------------------------------------------------- */

/* The models of a program in a folder, each in one current version. A new version becomes the current one in one step, after it has
 * passed every check. It is tentative until its first run succeeds: if that fails, the store goes back to the version before. Several
 * threads and processes may use a store. */
typedef struct accel_store accel_store;

typedef struct accel_store_options {
    uint32_t struct_size;
    uint32_t flags;      /* 0 */
    const char *profile; /* the limits of every version: "watch", "phone", "desktop", "server" or "current"; NULL: "current" */
    uint64_t byte_limit; /* the most bytes of all versions of all models; 0: no limit */
    accel_verify verify; /* is asked when a version is received, and when it is opened; NULL: no signature is needed */
    void *context;
} accel_store_options;

/* Opens a store, and makes the folder one if it is empty or missing. options may be NULL. */
accel_status accel_store_open(const char *path, const accel_store_options *options, accel_store **store, accel_error *error);
accel_status accel_store_release(accel_store *store);

/* A model of a store, filled in by the library, with its own size. The strings are valid during the call of accel_each_stored. */
typedef struct accel_stored {
    uint32_t struct_size;
    int32_t is_tentative; /* 1: no run of the current version has succeeded yet */
    const char *name;
    const char *version; /* the digest of the current version's package */
    const char *path;    /* of that package */
    uint64_t byte_count; /* of all its versions */
    size_t earlier_count; /* versions to go back to */
} accel_stored;
typedef void (*accel_each_stored)(void *context, const accel_stored *model);

/* Calls each for every model, sorted by name, on the calling thread. */
accel_status accel_store_list(accel_store *store, accel_each_stored each, void *context, accel_error *error);
/* Opens the current version of a model; as accel_model_open. */
accel_status accel_store_model(
    accel_store *store, const char *name, const accel_options *options, accel_model **model, accel_error *error);
/* Updates a model, or adds one, from a package on this machine, which is copied; blocks until that is done. The new version has to serve
 * all functions of the current one. A package that is signed for another model is rejected; and one that is signed with a lower version
 * than the current one, or without one, unless options->flags has ACCEL_UPDATE_ROLLBACK. Of options, cancel, progress and this flag count.
 * */
accel_status accel_store_update(
    accel_store *store, const char *name, const char *package, const accel_options *options, accel_error *error);
/* Makes the version before the current one again. */
accel_status accel_store_roll_back(accel_store *store, const char *name, accel_error *error);
/* Removes a model with all its versions. Models that are open go on. */
accel_status accel_store_remove(accel_store *store, const char *name, accel_error *error);

#ifdef __cplusplus
}
#endif
#endif
