import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFrontEnds
import AccelPackages
import AccelPrograms
import AccelVerification

/// The summary of a finished conversion.
struct ConversionSummary {
    let package: AcceleratorPackage
    /// The package's path in the summary.
    let path: String
    let coverage: PackageCoverage
    let cache: CacheOutcome
    /// The result of `--verify-cache`; nil without it.
    let comparison: CacheComparison?
    let weights: WeightCounts
    /// How activations are rounded; nil if they are not.
    let activations: String?
    /// The result of the target; nil without one.
    let target: TargetSummary?
    /// The outputs over the samples; nil without samples.
    let outputs: SampledOutputs?
    private let onlyMeasuresSamples: Bool
    let seconds: Double
    /// The names of the tensors that the request leaves out.
    private let leftOut: Set<String>
    /// The bytes of all files of the package.
    private let byteCount: Int
    /// The bytes of the archive; nil for a folder.
    private let archiveBytes: Int?

    /// The user requested no shapes, so the package has the model's usual ones.
    let hasUsualShapes: Bool

    init(
        of made: ConvertedPackage, at path: String, seconds: Double, hasUsualShapes: Bool
    ) throws {
        package = made.package
        self.path = path
        coverage = try PackageCoverage(of: package)
        cache = made.cache
        comparison = made.comparison
        weights = made.weights
        activations = try package.activations()
        target = made.target.map { TargetSummary(result: $0) }
        (outputs, onlyMeasuresSamples) = (made.outputs, made.onlyMeasuresSamples)
        leftOut = made.leftOut
        byteCount = try package.byteCount
        archiveBytes = Files.kind(of: path) == .file ? try Files.byteCount(ofTree: path) : nil
        self.seconds = seconds
        let isFrozen = package.manifest.functions.contains { !$0.bindings.numbers.isEmpty }
        self.hasUsualShapes = hasUsualShapes && isFrozen
    }

    /// The outcome of the cache, in a word or two.
    private var cacheWord: String { (comparison?.count ?? 0) > 0 ? "compared" : cache.rawValue }

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
            ] + (outputs?.lines(onlyMeasuresSamples: onlyMeasuresSamples, target) ?? [])
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
            "bytes": .integer(Int64(byteCount)),
            "archive_bytes": archiveBytes.map { .integer(Int64($0)) } ?? .null,
            "bits_per_weight": .number(manifest.coverage.bitsPerWeight),
            "functions": .array(manifest.functions.map { .string($0.name) }),
            "usual_shapes": .bool(hasUsualShapes),
            "remarks": .array((manifest.provenance.remarks + notes).map { .string($0) }),
            "warnings": .array(warnings.map { .string($0) }),
            "outputs_sqnr": outputs.map { .figure($0.sqnr) } ?? .null,
            "held_out_sqnr": outputs?.heldOut.map { .figure($0) } ?? .null,
            "held_out_samples": .integer(Int64(outputs?.heldOutCount ?? 0)),
            "outputs": outputs?.json ?? .null,
            "target": target?.json ?? .null,
            "cache": .string(cacheWord),
            "coverage": coverage.json,
            "comparison": comparison?.json ?? .null,
            "weights": weights.json,
            "seconds": .number((seconds * 1e6).rounded() / 1e6),
        ]
    }

    /// Warnings about results that the user did not request: tensors that are left out, weights that are not
    /// compressed.
    var warnings: [String] { coverage.warnings(besides: leftOut) }

    /// Sentences on tensors that the user asked to leave out.
    var notes: [String] { coverage.notes(on: leftOut) }

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
