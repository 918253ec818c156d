import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFrontEnds
import AccelPackages
import AccelPrograms
import AccelVerification

/// The summary of a finished conversion.
struct ConversionSummary {
    private let made: ConvertedPackage
    /// The package's path in the summary.
    private let path: String
    private let coverage: PackageCoverage
    /// How activations are rounded; nil if they are not.
    private let activations: String?
    /// The bytes of all files of the package.
    private let byteCount: Int
    /// The bytes of the archive; nil for a folder.
    private let archiveBytes: Int?
    private let seconds: Double

    init(of made: ConvertedPackage, at path: String, seconds: Double) throws {
        (self.made, self.path, self.seconds) = (made, path, seconds)
        coverage = try PackageCoverage(of: made.package)
        activations = try made.package.activations()
        byteCount = try made.package.byteCount
        archiveBytes = Files.kind(of: path) == .file ? try Files.byteCount(ofTree: path) : nil
    }

    private var package: AcceleratorPackage { made.package }
    private var outputs: SampledOutputs? { made.outputs }
    /// The result of the target; nil without one.
    private var target: TargetSummary? { made.target.map { TargetSummary(result: $0) } }
    /// The user requested no shapes, so the package has the model's usual ones.
    private var hasUsualShapes: Bool {
        made.hasUsualShapes && package.manifest.functions.contains { !$0.bindings.numbers.isEmpty }
    }

    /// The outcome of the cache, in a word or two.
    private var cacheWord: String { (made.comparison?.count ?? 0) > 0 ? "compared" : made.cache.rawValue }

    var text: String {
        let manifest = package.manifest
        let bits = Text.decimals(manifest.coverage.bitsPerWeight, 2)
        let size =
            archiveBytes.map { "\(Wording.bytes($0)), \(Wording.bytes(byteCount)) unpacked" }
            ?? Wording.bytes(byteCount)
        let lines =
            [
                "\(path): \(size), \(bits) bits per weight, "
                    + "cache \(cacheWord), \(Text.decimals(seconds, 2)) s",
                coverage.schemeTable(outputSQNR: outputs?.sqnr),
                "functions: \(manifest.functions.map(\.name).joined(separator: ", "))"
                    + (hasUsualShapes ? " (the usual shapes; --shape chooses others)" : ""),
            ] + (outputs?.lines(onlyMeasuresSamples: made.onlyMeasuresSamples, target) ?? [])
            + (activations.map { [$0] } ?? [])
            + manifest.provenance.remarks.map { "remark: \($0)" } + [
                "digest: \(package.digest)"
            ]
        return lines.joined(separator: "\n")
    }

    /// - Parameter warnings: all warnings of the run.
    func json(warnings: [String]) -> JSON {
        let manifest = package.manifest
        return [
            "package": .string(path),
            "digest": .string(package.digest.description),
            "bytes": .int(byteCount),
            "archive_bytes": .int(archiveBytes),
            "bits_per_weight": .number(manifest.coverage.bitsPerWeight),
            "functions": .array(manifest.functions.map { .string($0.name) }),
            "usual_shapes": .bool(hasUsualShapes),
            "remarks": .texts(manifest.provenance.remarks + notes),
            "warnings": .texts(warnings),
            "outputs_sqnr": outputs.map { .figure($0.sqnr) } ?? .null,
            "held_out_sqnr": outputs?.heldOut.map { .figure($0) } ?? .null,
            "held_out_samples": .int(outputs?.heldOutCount ?? 0),
            "outputs": outputs?.json ?? .null,
            "target": target?.json ?? .null,
            "cache": .string(cacheWord),
            "coverage": coverage.json,
            "comparison": made.comparison?.json ?? .null,
            "weights": made.weights.json,
            "seconds": .seconds(seconds),
        ]
    }

    /// Warnings about results that the user did not request: tensors that are left out, weights that are not
    /// compressed.
    var warnings: [String] { coverage.warnings(besides: made.leftOut) }

    /// Sentences on tensors that the user asked to leave out.
    var notes: [String] { coverage.notes(on: made.leftOut) }

    /// Remarks about results that are so by design.
    var remarks: [String] { coverage.remarks }

    /// A remark on a package whose functions take tokens, and that has no tokenizer to make them.
    var missingTokenizer: String? {
        let takesTokens = package.graph.functions.contains { function in
            function.program.interface.inputs.values.contains { $0.kind == .tokens }
        }
        let hasTokenizer = package.manifest.assetNames.contains(where: TextFrontEnd.isTokenizer)
        guard takesTokens, !hasTokenizer else { return nil }
        return
            "remark: the package has no tokenizer, as there is none beside the model (tokenizer.json, tokenizer.model, "
            + "vocab.txt): apps have to bring the one that makes its tokens"
    }
}
