import Accel
import AccelByteIO
import AccelFrontEnds

/// A run of a model that takes whole texts: what it makes of each.
struct TextEncodings {
    let model: AccelModel
    let arguments: Arguments
    let console: Console

    func run() throws {
        let texts = try lines()
        if let path = arguments[TextSearch.search] {
            let lines = try Self.lines(TextFile(path), by: model.text())
            try TextSearch(model: model, lines: lines, arguments: arguments, console: console).run(on: texts)
            return
        }
        let results = try results(of: texts)
        if arguments.has(CommonOptions.json) {
            console.print(
                [
                    "texts": .array(
                        zip(texts, results).map { text, result in
                            ["text": .string(text), result.name: result.document]
                        })
                ])
        } else {
            results.forEach { console.print(verbatim: $0.line) }
        }
    }

    /// The lines of a file, the lines of standard input, or the text itself. Each line has a result.
    func lines() throws -> [String] {
        let given = try arguments.required(TextOptions.text)
        switch given == "-" ? nil : Files.kind(of: given) {
        case nil where given == "-":
            return try Self.lines(TextFile(StandardInput.text(), path: "standard input"), by: model.text())
        case nil where TextFile.recognises(given) && !given.contains(where: \.isWhitespace):
            throw RequestError("there is no file \(given)\(Files.suggestion(for: given))", status: .unavailable)
        case nil: return [given]
        case .file: return try Self.lines(TextFile(given), by: model.text())
        case .folder: throw RequestError("\(given) is a folder; --text takes a file or a text", status: .unavailable)
        case .some: return try Self.lines(TextFile(StandardInput.text(at: given), path: given), by: model.text())
        }
    }

    private static func lines(_ file: TextFile, by frontEnd: TextFrontEnd) throws -> [String] {
        try file.lines.map(frontEnd.text)
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
