import Accel
import AccelByteIO
import AccelFrontEnds

/// The options of a run on text.
enum TextOptions {
    static let prompt = Option(
        "prompt", .text("TEXT"), in: .input,
        "generate the answer to a text. The model's chat template is applied if it has one; - reads the text from standard input",
        isCommon: true, excludes: ["inputs", "messages", "chat", "text"])
    static let messages = Option(
        "messages", .input("FILE"), in: .input,
        "generate the answer to a conversation in a JSON file. The file has a list of objects with role and content, or an "
            + "object with messages and tools",
        excludes: ["inputs", "chat", "text", "system"])
    static let chat = Option(
        "chat", .flag, in: .input,
        "chat with the model. Each line of standard input is a message, until the end of the input", isCommon: true,
        excludes: ["inputs", "text", "json", "raw"])
    static let text = Option(
        "text", .text("TEXT|FILE"), in: .input,
        "print the result of an encoder for a text, or for each line of a file. The result is a vector, classes with scores, "
            + "classes of tokens, or words in place of a mask. A tab separates two texts that are compared",
        isCommon: true, excludes: ["inputs"])
    static let system = Option(
        "system", .text("TEXT"), in: .generation, "the system message of the conversation",
        needs: [.option("prompt"), .option("chat")])
    static let raw = Option(
        "raw", .flag, in: .generation, "continue the text itself, without the chat template", needs: [.option("prompt")]
    )
    static let temperature = Option(
        "temperature", .decimal(0...100), in: .generation,
        "the sampling temperature (default: the model's own). 0 always takes the most likely token", isCommon: true,
        needs: generating)
    static let topK = Option(
        "top-k", .integer(0...1_000_000), in: .generation, "sample from the N most likely tokens. 0 samples from all",
        needs: generating)
    static let topP = Option(
        "top-p", .decimal(0...1), in: .generation, "sample from the fewest tokens whose probabilities add up to X",
        needs: generating)
    static let minP = Option(
        "min-p", .decimal(0...1), in: .generation,
        "sample from tokens with at least X times the highest probability",
        needs: generating)
    static let penalty = Option(
        "repetition-penalty", .decimal(0.01...100), in: .generation,
        "divide the logits of tokens that occurred before by X",
        needs: generating)
    static let seed = Option(
        "seed", .integer(0...Int(Int32.max)), in: .generation, "the seed of sampled tokens, and of the noise in speech",
        default: "0", needs: generating + [.option("phonemes")])
    static let truncate = Option(
        "truncate", .flag, in: .input,
        "shorten texts that are longer than the model takes. Without it they are an error",
        needs: [.option("text")])

    static let generating: [Option.Need] = [
        .option("prompt"), .option("messages"), .option("chat"), .option("generate"),
    ]
    static let modes = [prompt, messages, chat, text]
    static let all =
        modes + [system, raw, temperature, topK, topP, minP, penalty, seed, truncate]
        + [TextSearch.search, TextSearch.nearest]

    /// The settings of generation.
    /// - Parameter settings: those that the command line changes.
    static func generation(
        _ settings: GenerationDefaults, maxTokens: Int?, stopTokens: Set<Int64>?, _ arguments: Arguments
    ) -> GenerationOptions {
        func number(_ option: Option) -> Float? { arguments[option].flatMap { Float($0) } }
        var settings = settings
        let isDrawn = [topK, topP, minP].contains { arguments.has($0) }
        if let temperature = number(temperature) {
            settings.samples = temperature > 0
            settings.temperature = temperature > 0 ? temperature : 1
        } else if isDrawn {
            settings.samples = true
        }
        if let count = arguments.integer(topK) { settings.topK = count == 0 ? nil : count }
        if let share = number(topP) { settings.topP = share }
        if let share = number(minP) { settings.minP = share }
        if let penalty = number(penalty) { settings.repetitionPenalty = penalty }
        var options = GenerationOptions(
            settings, maxTokens: maxTokens ?? 1024, seed: UInt64(arguments.integer(seed) ?? 0))
        options.stopTokens = stopTokens
        return options
    }
}
