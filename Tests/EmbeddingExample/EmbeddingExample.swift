import Accel

/// Search by embeddings: ranks texts, given as tokens, by their likeness to the first one. A text may have two segments.
///
///     EmbeddingExample PACKAGE 3,17,5 3,17+6 9,1,4
///
/// Prints a line for each text but the first, the likest first: the cosine of the angle between both, and the text.
@main
enum EmbeddingExample {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count > 2 else { return print("usage: EmbeddingExample PACKAGE TOKENS...") }
        let texts = words.dropFirst(2).map(Text.init)

        let opening = AccelModel.opening(.path(words[1]), configuration: .reproducible)
        let showing = Task { for await event in opening.events { print("opening:", event.kind.rawValue) } }
        let model = try await opening.value
        await showing.value

        let embed = try model.function("model")
        let batch = try texts.map { try inputs(of: $0, for: embed.description) }
        var vectors: [AccelTensor] = []
        for try await outputs in embed.predictions(from: batch) { vectors.append(try outputs["sentence_embedding"]) }
        let ranked = try zip(vectors, texts).dropFirst().map { (try cosine(vectors[0], $0), $1) }
        for (score, text) in ranked.sorted(by: { $0.0 > $1.0 }) {
            print(score, text.words)
        }
    }

    private struct Text {
        let words: String
        let tokens: [Int64]
        /// Of each token: 0 or 1.
        let segments: [Int64]

        init(_ words: String) {
            self.words = words
            let parts = words.split(separator: "+").map { $0.split(separator: ",").compactMap { Int64($0) } }
            tokens = parts.flatMap { $0 }
            segments = parts.enumerated().flatMap { number, part in part.map { _ in Int64(number) } }
        }
    }

    /// The tokens and what goes with them, filled up with zeros to the function's shape. The mask hides the rest.
    private static func inputs(of text: Text, for function: FunctionDescription) throws -> AccelFunction.Inputs {
        var inputs: AccelFunction.Inputs = [:]
        for port in function.inputs {
            inputs[port.name] = try AccelTensor(of: Int64.self, shape: port.shape) { span in
                for index in span.indices {
                    guard index < text.tokens.count else { continue }
                    switch port.role.kind {
                    case .tokens: span[index] = text.tokens[index]
                    case .attentionMask: span[index] = 1
                    case .tokenTypes: span[index] = text.segments[index]
                    default: break
                    }
                }
            }
        }
        return inputs
    }

    private static func cosine(_ left: AccelTensor, _ right: AccelTensor) throws -> Float {
        let (left, right) = (try left.array(of: Float.self), try right.array(of: Float.self))
        func product(_ left: [Float], _ right: [Float]) -> Float { zip(left, right).reduce(0) { $0 + $1.0 * $1.1 } }
        return product(left, right) / (product(left, left) * product(right, right)).squareRoot()
    }
}
