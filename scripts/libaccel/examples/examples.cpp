// Embeds tokens, or generates them.
// usage: examples embed PACKAGE FUNCTION OUTPUT TOKEN...   prints the output's numbers, one a line
//        examples generate PACKAGE COUNT TOKEN...          prints the tokens, one a line, and why they ended
//        examples again PACKAGE COUNT TOKEN...             the same, three times in a session that goes back
#include <accel.hpp>
#include <cstdio>
#include <cstdlib>

static int embed(const char *path, const char *name, const char *wanted, const std::vector<int64_t> &tokens) {
    accel::Model model(path);
    accel::Function function = model.function(name);
    std::vector<accel_port> ports = function.ports(ACCEL_INPUT);
    std::vector<std::vector<int64_t>> elements;
    for (const accel_port &port : ports) {
        std::vector<int64_t> input(port.byte_count / sizeof(int64_t), 0);
        for (size_t i = 0; i < input.size() && i < tokens.size(); i++) {
            if (std::strcmp(port.role, "tokens") == 0) input[i] = tokens[i];
            if (std::strcmp(port.role, "attention-mask") == 0) input[i] = 1;
        }
        elements.push_back(std::move(input));
    }
    std::vector<accel_tensor> inputs, outputs;
    for (size_t i = 0; i < ports.size(); i++) inputs.push_back(accel::tensor(ports[i].name, elements[i]));
    std::vector<float> embedding;
    for (const accel_port &port : function.ports(ACCEL_OUTPUT)) {
        if (std::strcmp(port.name, wanted) == 0) embedding.resize(port.byte_count / sizeof(float));
    }
    outputs.push_back(accel::tensor(wanted, embedding));
    function.run(inputs, outputs);
    for (float number : embedding) std::printf("%.9g\n", static_cast<double>(number));
    return 0;
}

struct Generated {
    std::vector<int64_t> tokens;
    accel_summary summary;
};

static Generated generated(accel::Session &session, int64_t count, const std::vector<int64_t> &prompt) {
    accel_generation options = accel::make<accel_generation>();
    options.tokens = prompt.data();
    options.token_count = prompt.size();
    options.max_tokens = count;
    accel::Stream stream = session.generate(options);
    Generated made;
    int64_t token;
    while (stream.next(token)) made.tokens.push_back(token);
    made.summary = stream.summary();
    return made;
}

static int print(const Generated &made) {
    for (int64_t token : made.tokens) std::printf("%ld\n", static_cast<long>(token));
    std::printf("reason %u, %lu generated\n", made.summary.reason, static_cast<unsigned long>(made.summary.generated_tokens));
    return 0;
}

static int generate(const char *path, int64_t count, const std::vector<int64_t> &prompt) {
    accel::Model model(path);
    accel::Session session(model);
    return print(generated(session, count, prompt));
}

// After the prompt, after a snapshot of that moment is restored, and after a rewind to the beginning.
static int again(const char *path, int64_t count, const std::vector<int64_t> &prompt) {
    accel_options options = accel::make<accel_options>();
    options.preparation_limit_ms = 60000;
    accel::Model model(path, &options);
    accel::Session session(model);
    generated(session, 1, prompt);
    accel::Snapshot snapshot = session.snapshot();
    const Generated first = generated(session, count, prompt);
    session.restore(snapshot);
    const Generated second = generated(session, count, prompt);
    session.rewind(0);
    const Generated third = generated(session, count, prompt);
    if (first.tokens != second.tokens || first.tokens != third.tokens || second.summary.prompt_tokens != 1
        || third.summary.reused_tokens != 0) {
        std::fprintf(stderr, "the session does not go back\n");
        return 1;
    }
    return print(first);
}

int main(int argc, char **argv) try {
    const std::string command = argc > 1 ? argv[1] : "";
    std::vector<int64_t> tokens;
    for (int i = command == "embed" ? 5 : 4; i < argc; i++) tokens.push_back(std::strtoll(argv[i], nullptr, 10));
    if (command == "embed" && argc > 5) return embed(argv[2], argv[3], argv[4], tokens);
    if (command == "generate" && argc > 4) return generate(argv[2], std::strtoll(argv[3], nullptr, 10), tokens);
    if (command == "again" && argc > 4) return again(argv[2], std::strtoll(argv[3], nullptr, 10), tokens);
    std::fprintf(stderr, "usage: examples embed PACKAGE FUNCTION OUTPUT TOKEN... | generate|again PACKAGE COUNT TOKEN...\n");
    return 2;
} catch (const accel::Error &error) {
    std::fprintf(stderr, "%s: %s\n", accel_status_text(error.code), error.what());
    return error.code;
}
