public import Accel
import AccelByteIO
import AccelFrontEnds
import AccelPrograms
public import AccelVerification

/// The quality of a package on a text, beside its original model.
///
///     let evaluation = try TextEvaluation("wiki.txt")
///     let finding = try await evaluation.run(model, original: try await AccelModel(.path(path)))
public struct TextEvaluation: Sendable {
    /// The file.
    public let path: String
    /// The tokens of a chunk of a language model; nil for 512, or the cache's length.
    public var context: Int?
    /// The most chunks, or texts; nil for all of them.
    public var chunks: Int?
    let file: TextFile

    /// Chunks where nothing else is asked for.
    public static let defaultChunks = 16
    static let defaultContext = 512

    /// Reads a text.
    /// - Throws: `FormatError` if it is not UTF-8; `RequestError` without text.
    public init(_ path: String, context: Int? = nil, chunks: Int? = defaultChunks) throws {
        (self.path, self.context, self.chunks) = (path, context, chunks)
        file = try TextFile(path)
    }

    /// Evaluates a model: a decoder by its perplexity, a model with masks by its loss, a classifier by its labels, and any other encoder of
    /// texts by its vectors.
    /// - Parameters:
    ///   - original: the model that the package was made of, with the weights of its files.
    ///   - progress: gets the number of finished chunks or texts, and of all.
    /// - Throws: `AccelError`, such as (unsupported) for a model without a tokenizer; `RequestError` for too short a text.
    public func run(
        _ model: AccelModel, original: AccelModel, progress: @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> QualityFinding {
        if model.positionCount != nil {
            return try await LanguageModelEvaluation(self, model, original).run(progress)
        }
        let encoders = EncoderEvaluation(self, model, original, try lines(by: original.text()))
        let logits = model.functions.flatMap { function in
            function.outputs.filter { $0.role.kind == .logits }.map { (role: function.role, rank: $0.shape.rank) }
        }
        if logits.contains(where: { $0.role == .fillMask }) { return try await encoders.masks(progress) }
        if let rank = logits.first(where: { $0.role == .classify })?.rank {
            return try await encoders.labels(ofTokens: rank == 3, progress)
        }
        return try await encoders.vectors(progress)
    }

    /// The lines of the text that are not empty, as many as are wanted.
    private func lines(by frontEnd: TextFrontEnd) throws -> [String] {
        let all = try file.lines.map { try frontEnd.text(of: $0.entry) }.filter { $0.contains { !$0.isWhitespace } }
        return Array(all.prefix(chunks.map { $0 * 16 } ?? .max))
    }

    /// The whole text; those of JSON Lines are parts of it.
    func text(by frontEnd: TextFrontEnd) throws -> String {
        try file.entries.map(frontEnd.text).joined(separator: "\n\n")
    }

    /// The name of the file in findings, which do not depend on its folder.
    var name: String { Files.name(of: path) }
}
