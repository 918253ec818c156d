// accel.hpp: handles of accel.h that release themselves, and errors that are thrown. C++11, header only.
#ifndef ACCEL_HPP
#define ACCEL_HPP

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accel.h"

namespace accel {

// A status that is not success. what() is the whole sentence.
class Error : public std::runtime_error {
public:
    explicit Error(const accel_error &error)
        : std::runtime_error(error.message), code(error.code), place(error.place), expected(error.expected),
          found(error.found), hint(error.hint) {}
    accel_status code;
    std::string place, expected, found, hint;
};

// A struct of accel.h, all zero, with its size.
template <typename Struct> Struct make() {
    Struct value;
    std::memset(static_cast<void *>(&value), 0, sizeof value);
    value.struct_size = sizeof value;
    return value;
}

// Calls function(arguments..., &error), and throws what it returns.
template <typename Function, typename... Arguments> accel_status call(Function function, Arguments... arguments) {
    accel_error error = make<accel_error>();
    const accel_status status = function(arguments..., &error);
    if (status != ACCEL_OK && status != ACCEL_END) throw Error(error);
    return status;
}

// A handle that is released with this value.
template <typename Object, accel_status (*release)(Object *)> class Handle {
public:
    Handle() : object(nullptr) {}
    explicit Handle(Object *object) : object(object) {}
    Handle(Handle &&other) noexcept : object(other.object) { other.object = nullptr; }
    Handle &operator=(Handle &&other) noexcept {
        std::swap(object, other.object);
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { release(object); }
    Object *get() const { return object; }

private:
    Object *object;
};

typedef Handle<accel_cancel, accel_cancel_release> Cancel;
typedef Handle<accel_snapshot, accel_snapshot_release> Snapshot;

// A tensor of elements that stay where they are.
template <typename Element> struct TypeOf;
template <> struct TypeOf<float> { enum { number = ACCEL_F32 }; };
template <> struct TypeOf<double> { enum { number = ACCEL_F64 }; };
template <> struct TypeOf<int64_t> { enum { number = ACCEL_I64 }; };
template <> struct TypeOf<int32_t> { enum { number = ACCEL_I32 }; };
template <> struct TypeOf<int8_t> { enum { number = ACCEL_I8 }; };
template <> struct TypeOf<uint8_t> { enum { number = ACCEL_U8 }; };

template <typename Element> accel_tensor tensor(const char *name, std::vector<Element> &elements) {
    accel_tensor tensor = make<accel_tensor>();
    tensor.type = TypeOf<Element>::number;
    tensor.name = name;
    tensor.data = elements.data();
    tensor.byte_count = elements.size() * sizeof(Element);
    return tensor;
}

// A function of a model, which has to live as long.
class Function {
public:
    explicit Function(const accel_function *function) : function(function) {}
    const accel_function *get() const { return function; }
    const char *name() const { return accel_function_name(function); }
    // kind: ACCEL_INPUT, ACCEL_OUTPUT or ACCEL_STATE.
    std::vector<accel_port> ports(uint32_t kind) const {
        std::vector<accel_port> ports(accel_function_port_count(function, kind), make<accel_port>());
        for (size_t i = 0; i < ports.size(); i++) call(accel_function_port, function, kind, i, &ports[i]);
        return ports;
    }
    void run(const std::vector<accel_tensor> &inputs, std::vector<accel_tensor> &outputs, const accel_run *run = nullptr) const {
        call(accel_function_run, function, inputs.data(), inputs.size(), outputs.data(), outputs.size(), run);
    }

private:
    const accel_function *function;
};

class Model : public Handle<accel_model, accel_model_release> {
public:
    explicit Model(const char *source, const accel_options *options = nullptr) : Handle(open(source, options)) {}
    explicit Model(accel_model *model) : Handle(model) {}
    Function function(const char *name) const {
        const accel_function *found = nullptr;
        call(accel_model_function, get(), name, &found);
        return Function(found);
    }
    // A vector of each text.
    std::vector<std::vector<float>> embed(const std::vector<std::string> &texts, bool truncate = false) const {
        std::vector<const char *> pointers;
        for (const std::string &text : texts) pointers.push_back(text.c_str());
        size_t width = 0;
        call(accel_model_embed, get(), pointers.data(), pointers.size(), truncate ? 1 : 0, nullptr, size_t(0), &width);
        std::vector<float> all(width * texts.size());
        call(accel_model_embed, get(), pointers.data(), pointers.size(), truncate ? 1 : 0, all.data(), all.size(), &width);
        std::vector<std::vector<float>> vectors;
        for (size_t row = 0; row < texts.size(); row++) vectors.emplace_back(all.begin() + row * width, all.begin() + (row + 1) * width);
        return vectors;
    }

private:
    static accel_model *open(const char *source, const accel_options *options) {
        accel_model *model = nullptr;
        call(accel_model_open, source, options, &model);
        return model;
    }
};

// Tokens, each computed when it is asked for.
class Stream : public Handle<accel_stream, accel_stream_release> {
public:
    explicit Stream(accel_stream *stream) : Handle(stream) {}
    // false after the last one.
    bool next(int64_t &token) { return call(accel_stream_next, get(), &token) == ACCEL_OK; }
    // false after the last piece.
    bool next(std::string &text) {
        const char *piece = nullptr;
        bool more = call(accel_stream_next_text, get(), &piece) == ACCEL_OK;
        if (more) text = piece;
        return more;
    }
    accel_summary summary() const {
        accel_summary summary = make<accel_summary>();
        call(accel_stream_summary, get(), &summary);
        return summary;
    }
};

// The segments of a transcript, each computed when it is asked for.
class Transcription : public Handle<accel_transcription, accel_transcription_release> {
public:
    Transcription(const Model &model, const accel_speech &speech) : Handle(create(model, speech)) {}
    // false after the last one. The text lives until the next call.
    bool next(accel_segment &segment) {
        segment = make<accel_segment>();
        return call(accel_transcription_next, get(), &segment) == ACCEL_OK;
    }
    accel_transcript summary() const {
        accel_transcript summary = make<accel_transcript>();
        call(accel_transcription_summary, get(), &summary);
        return summary;
    }

private:
    static accel_transcription *create(const Model &model, const accel_speech &speech) {
        accel_transcription *transcription = nullptr;
        call(accel_model_transcribe, model.get(), &speech, &transcription);
        return transcription;
    }
};

class Session : public Handle<accel_session, accel_session_release> {
public:
    explicit Session(const Model &model) : Handle(create(model)) {}
    void run(
        const Function &function, const std::vector<accel_tensor> &inputs, std::vector<accel_tensor> &outputs,
        const accel_run *run = nullptr) {
        call(accel_session_run, get(), function.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), run);
    }
    Stream generate(const accel_generation &options) {
        accel_stream *stream = nullptr;
        call(accel_session_generate, get(), &options, &stream);
        return Stream(stream);
    }
    Snapshot snapshot() {
        accel_snapshot *snapshot = nullptr;
        call(accel_session_snapshot, get(), &snapshot);
        return Snapshot(snapshot);
    }
    void restore(const Snapshot &snapshot) { call(accel_session_restore, get(), snapshot.get()); }
    void rewind(int64_t position) { call(accel_session_rewind, get(), position); }
    void reset() { call(accel_session_reset, get()); }

private:
    static accel_session *create(const Model &model) {
        accel_session *session = nullptr;
        call(accel_session_create, model.get(), &session);
        return session;
    }
};

// The models of a folder, each in one current version.
class Store : public Handle<accel_store, accel_store_release> {
public:
    explicit Store(const char *path, const accel_store_options *options = nullptr) : Handle(open(path, options)) {}
    Model model(const char *name, const accel_options *options = nullptr) const {
        accel_model *model = nullptr;
        call(accel_store_model, get(), name, options, &model);
        return Model(model);
    }
    void update(const char *name, const char *package, const accel_options *options = nullptr) {
        call(accel_store_update, get(), name, package, options);
    }
    void roll_back(const char *name) { call(accel_store_roll_back, get(), name); }
    void remove(const char *name) { call(accel_store_remove, get(), name); }

private:
    static accel_store *open(const char *path, const accel_store_options *options) {
        accel_store *store = nullptr;
        call(accel_store_open, path, options, &store);
        return store;
    }
};

} // namespace accel
#endif
