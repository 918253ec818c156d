import Accel
import AccelByteIO
import AccelFrontEnds

/// A run of a model that takes whole texts: what it makes of each.
struct TextEncodings {
    let model: AccelModel
    let arguments: Arguments
    let console: Console

    func run() throws {
        let texts = try GivenTexts(arguments.required(TextOptions.text), "--text", by: model.text())
        if let path = arguments[TextSearch.search] {
            let lines = try GivenTexts(file: path, "--search", by: model.text())
            try TextSearch(model: model, lines: lines, arguments: arguments, console: console).run(on: texts)
            return
        }
        let made = try texts.locating { try results(of: texts.texts) }
        if arguments.has(CommonOptions.json) {
            console.print(
                [
                    "texts": .array(
                        zip(texts.texts, made).map { text, result in
                            ["text": .string(text), result.name: result.document]
                        })
                ])
        } else {
            made.forEach { console.print(verbatim: $0.line) }
        }
    }

    /// By the role of the model's functions: words in place of masks, classes of texts or of tokens, else vectors.
    private func results(of texts: [String]) throws -> [EncoderResult] {
        let (model, isTruncated) = (model, arguments.has(TextOptions.truncate))
        let logits = model.functions.flatMap { function in
            function.outputs.filter { $0.role.kind == .logits }.map { (role: function.role, rank: $0.shape.rank) }
        }
        if logits.contains(where: { $0.role == .fillMask }) {
            return try texts.map { text in
                EncoderResult(try waiting { try await model.fill(masksOf: text, truncates: isTruncated) })
            }
        }
        if let rank = logits.first(where: { $0.role == .classify })?.rank {
            guard rank == 2 else {
                return try texts.map { text in
                    let tokens = try waiting { try await model.label(tokensOf: text, truncates: isTruncated) }
                    return EncoderResult(tokens, of: text)
                }
            }
            let pairs = texts.map { text in
                TextFrontEnd.sides(of: text)
            }
            return try waiting { try await model.classify(pairs, truncates: isTruncated) }.map(EncoderResult.init)
        }
        return try waiting { try await model.embed(texts, truncates: isTruncated) }.map(EncoderResult.init)
    }
}
