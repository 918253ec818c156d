import AccelByteIO
import AccelConversion
import AccelPrograms
import AccelVerification

/// What the tool advises: at most one remedy for each code of a diagnostic. Libraries name no option; this table is the only place that
/// translates their codes into options.
enum Remedies {
    /// A remedy: the end of a sentence, in words that follow `; `.
    typealias Remedy = @Sendable (Diagnostic) -> String

    static let table: [Diagnostic.Code: Remedy] = [
        .statesWithoutCache: { _ in "leave --states out" },
        .exceedsProfile: { _ in "compress it more (--compress, --target-size), or give it smaller shapes (--shape)" },
        .fixedShapes: { _ in "leave --shape out" },
        .needsSamples: { _ in "give some with --calibrate FILE" },
        .noTokenLogits: { _ in "leave --logits out" },
        .strict: { _ in "without --strict it is a warning" },
        .undefinedField: { _ in "--ignore-config reads config.json without it" },
        .unknownImportance: { _ in
            "use method=weighted with --importance FILE or --calibrate FILE, or another type, such as q4_k"
        },
        .unknownInputs: { _ in
            "give samples with --calibrate FILE, or for weighted an importance matrix with --importance FILE"
        },
        .unusedSamples: { _ in "change the rules, or leave --calibrate out" },
        .unusedTensors: { _ in "--ignore-tensor names what is not used" },
        .usualShapes: { _ in "--shape chooses others" },
        .settledByPackage: { _ in "leave it out, or export from its model" },
        .nothingToCompareWith: { _ in
            "give --against MODEL or --golden FILE, or --only container to check the digests alone"
        },
        .noFunctionForInputs: { "convert, or export, with --shape-from \($0.subject ?? "FILE")" },
        .notGolden: { _ in "give inputs alone with --inputs" },
        .formatOfRuntime: { diagnostic in
            diagnostic.candidates.first.map { "use --runtime \($0)" }
                ?? "export the model itself for it, with --format \(diagnostic.expected ?? "FORMAT")"
        },
    ]

    /// Returns the remedy for a diagnostic; nil for none.
    static func remedy(for diagnostic: Diagnostic) -> String? {
        diagnostic.code.flatMap { table[$0] }.map { $0(diagnostic) }
    }

    /// Returns the sentence of a diagnostic with its remedy.
    static func sentence(_ diagnostic: Diagnostic) -> String {
        diagnostic.text + (remedy(for: diagnostic).map { "; \($0)" } ?? "")
    }
}
