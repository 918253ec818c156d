import Accel
import AccelByteIO
import AccelFrontEnds

/// The options of a run on text.
enum TextOptions {
    static let prompt = Option(
        "prompt", .text("TEXT"),
        "generate the answer to a text, by the model's chat template where it has one; - reads it from "
            + "standard input", excludes: ["inputs", "messages", "chat", "text"])
    static let messages = Option(
        "messages", .input("FILE"),
        "generate the answer to a conversation: a JSON list of objects with role and content, or an object with messages and tools",
        excludes: ["inputs", "chat", "text", "system"])
    static let chat = Option(
        "chat", .flag, "talk with the model: each line of standard input is a message, until its end",
        excludes: ["inputs", "text", "json", "raw"])
    static let text = Option(
        "text", .text("TEXT|FILE"),
        "print what a model makes of a text, or of each line of a file: a vector, the classes with their scores, the classes of its "
            + "tokens, or the words in place of its mask; a tab divides two texts that are compared",
        excludes: ["inputs"])
    static let system = Option(
        "system", .text("TEXT"), "the instruction at the beginning of a conversation",
        needs: [.option("prompt"), .option("chat")])
    static let raw = Option(
        "raw", .flag, "go on with the text itself, without the chat template", needs: [.option("prompt")])
    static let temperature = Option(
        "temperature", .decimal(0...100),
        "draw each token by its probability after dividing the logits by X; 0 takes the likeliest one (default: the model's own)",
        needs: generating)
    static let topK = Option(
        "top-k", .integer(0...1_000_000), "draw from so many of the likeliest tokens; 0 for all", needs: generating)
    static let topP = Option(
        "top-p", .decimal(0...1), "draw from the fewest tokens whose probabilities add up to X", needs: generating)
    static let minP = Option(
        "min-p", .decimal(0...1), "draw from tokens with at least X times the probability of the likeliest one",
        needs: generating)
    static let penalty = Option(
        "repetition-penalty", .decimal(0.01...100), "divide the logits of tokens that occurred before by X",
        needs: generating)
    static let seed = Option(
        "seed", .integer(0...Int(Int32.max)), "the seed of drawn tokens", default: "0", needs: generating)
    static let truncate = Option(
        "truncate", .flag, "shorten texts that are longer than the model takes, instead of rejecting them",
        needs: [.option("text")])

    static let generating: [Option.Need] = [
        .option("prompt"), .option("messages"), .option("chat"), .option("generate"),
    ]
    static let modes = [prompt, messages, chat, text]
    static let all = modes + [system, raw, temperature, topK, topP, minP, penalty, seed, truncate]

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
