import Accel
import AccelByteIO

/// The result of an encoder for a text or an image, as a line and as a document.
struct EncoderResult {
    /// The name of the document among those of the input.
    let name: String
    let line: String
    let document: JSON

    /// A vector.
    init(_ vector: [Float]) {
        (name, document) = ("vector", .array(vector.map { .number(Double("\($0)") ?? Double($0)) }))
        line = document.text()
    }

    /// Classes; the line has the likeliest five.
    init(_ labels: [ScoredLabel]) {
        name = "labels"
        line = labels.prefix(5).map { "\($0.label) \(Text.decimals(Double($0.score), 4))" }.joined(separator: "  ")
        document = .array(
            labels.map { JSON.object([.init("label", .string($0.label)), .init("score", .number(Double($0.score)))]) })
    }

    /// The words in place of masks; a line for each mask.
    init(_ masks: [[MaskFilling]]) {
        name = "masks"
        line = masks.map { fillings in
            fillings.map { "\($0.token) \(Text.decimals(Double($0.score), 4))" }.joined(separator: "  ")
        }.joined(separator: "\n")
        document = .array(
            masks.map { fillings in
                JSON.array(fillings.map { ["token": .string($0.token), "score": .number(Double($0.score))] })
            })
    }

    /// The classes of a text's tokens.
    init(_ tokens: [LabelledToken], of text: String) {
        let bytes = Array(text.utf8)
        let parts = tokens.map { token in (String(decoding: bytes[token.range], as: UTF8.self), token) }
        name = "tokens"
        line = parts.map { "\($0) \($1.label.label) \(Text.decimals(Double($1.label.score), 4))" }
            .joined(separator: "  ")
        document = .array(
            parts.map { part, token -> JSON in
                [
                    "text": .string(part), "label": .string(token.label.label),
                    "score": .number(Double(token.label.score)), "start": .int(token.range.lowerBound),
                    "end": .int(token.range.upperBound),
                ]
            })
    }
}
