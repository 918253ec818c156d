// Embeds tokens, or generates them.
// usage: examples embed PACKAGE FUNCTION OUTPUT TOKEN...   prints the output's numbers, one a line
//        examples generate PACKAGE COUNT TOKEN...          prints the tokens, one a line, and why they ended
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

static int generate(const char *path, int64_t count, const std::vector<int64_t> &tokens) {
    accel::Model model(path);
    accel::Session session(model);
    accel_generation options = accel::make<accel_generation>();
    options.tokens = tokens.data();
    options.token_count = tokens.size();
    options.max_tokens = count;
    accel::Stream stream = session.generate(options);
    int64_t token;
    while (stream.next(token)) std::printf("%ld\n", static_cast<long>(token));
    accel_summary summary = stream.summary();
    std::printf("reason %u, %lu generated\n", summary.reason, static_cast<unsigned long>(summary.generated_tokens));
    return 0;
}

int main(int argc, char **argv) try {
    const std::string command = argc > 1 ? argv[1] : "";
    std::vector<int64_t> tokens;
    for (int i = command == "embed" ? 5 : 4; i < argc; i++) tokens.push_back(std::strtoll(argv[i], nullptr, 10));
    if (command == "embed" && argc > 5) return embed(argv[2], argv[3], argv[4], tokens);
    if (command == "generate" && argc > 4) return generate(argv[2], std::strtoll(argv[3], nullptr, 10), tokens);
    std::fprintf(stderr, "usage: examples embed PACKAGE FUNCTION OUTPUT TOKEN... | generate PACKAGE COUNT TOKEN...\n");
    return 2;
} catch (const accel::Error &error) {
    std::fprintf(stderr, "%s: %s\n", accel_status_text(error.code), error.what());
    return error.code;
}
