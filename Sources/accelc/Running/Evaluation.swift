import Accel
import AccelByteIO
import AccelEvaluation
import AccelPackages
import AccelVerification

/// The evaluation of a package on a text, beside its original model.
enum Evaluation {
    static let text = Option(
        "text", .input("FILE"), in: .comparison,
        "also compare the quality on a text, such as the perplexity. Of a language model it reports the perplexity and the "
            + "divergence from the original's tokens; of other models of text the loss at masks, the share of equal labels, or the "
            + "cosine of vectors",
        isCommon: true, needs: [.option("against")])
    static let context = Option(
        "context", .integer(4...1_000_000), in: .comparison,
        "the tokens of a chunk of the text (default: 512). The cache length of the package limits it",
        needs: [.option("text")])
    static let chunks = Option(
        "chunks", .integer(1...1_000_000), in: .comparison, "the most chunks of the text, or sixteenths of its lines",
        default: "\(TextEvaluation.defaultChunks)", needs: [.option("text")])
    static let options = [text, context, chunks]

    /// - Returns: nil without a text.
    static func finding(
        _ package: AcceleratorPackage, _ arguments: Arguments, _ console: Console
    ) throws -> QualityFinding? {
        guard let path = arguments[text], let against = arguments[VerifyCommand.against] else { return nil }
        let evaluation = try TextEvaluation(
            path, context: arguments.integer(context), chunks: arguments.integer(chunks))
        let original = try RunnablePackage(originalOf: package, against, arguments, console)
        let threads = console.threads
        func model(_ path: String) throws -> AccelModel {
            var configuration = Configuration.reproducible
            configuration.threads = threads
            let settings = configuration
            return try waiting { try await AccelModel(.path(path), configuration: settings) }
        }
        let (own, other) = (try model(package.path), try model(original.package.path))
        let show = console.liveLine()
        let finding = try waiting {
            try await evaluation.run(own, original: other) { show("evaluating on text \($0)/\($1)") }
        }
        show("")
        withExtendedLifetime(original) {}
        return finding
    }
}
