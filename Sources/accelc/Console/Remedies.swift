import Accel
import AccelAudio
import AccelByteIO
import AccelCalibration
import AccelConversion
import AccelFormats
import AccelImages
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelVerification
import AccelWeightCompression

/// The remedies that the tool prints: at most one for each code of a diagnostic. Libraries name no option; only this table translates
/// their codes into options.
enum Remedies {
    /// A remedy: the end of a sentence, in words that follow `; `.
    typealias Remedy = @Sendable (Diagnostic) -> String

    static let table: [Diagnostic.Code: Remedy] = [
        // The request.
        .dimensionsUnbound: { "give every dimension one, e.g. \(shapes($0.candidates))" },
        .functionNotChosen: { "choose one with --function \(alternatives($0.candidates))" },
        .interfaceNotApplicable: { _ in "leave --interface out" },
        .nothingToGenerate: { _ in "leave --generate out" },
        .shapesDoNotFit: {
            "convert with \(shapes($0.candidates, from: $0.subject)) for inputs of these sizes, if the model takes them"
        },
        .statesMissing: { _ in "give the states that run --save-states wrote" },
        .statesWithoutCache: { _ in "leave --states out" },
        .unsupportedPicture: { _ in "convert the image first, e.g. \"magick FILE image.png\"" },
        .unknownSoundFormat: { _ in "convert the sound to a WAVE file first" },
        .unknownScheme: { _ in "\"accelc convert --help-all\" lists all schemes" },
        // The model.
        .adapterBesideModel: { _ in "move the adapter to a folder of its own and merge it with --adapter" },
        .adapterNotModel: {
            "name its model\($0.candidates.first.map { ", such as \($0)," } ?? "") and pass the adapter with --adapter "
                + ($0.subject ?? "DIR")
        },
        .configurationMissing: { _ in "put the model's config.json beside its weights, or name it by --config FILE" },
        .functionsNotRead: {
            "take the model that it was made from; verify compares the two with --runtime \(alternatives($0.candidates))"
        },
        .ignoredFieldIsRead: { _ in "to change its value, pass another file with --config" },
        .pickledWeights: { _ in "save the model as safetensors first (in transformers: save_pretrained)" },
        .unreadField: { "if it does not, remove it or pass --ignore-config \($0.subject ?? "FIELD")" },
        .unsupportedCheckpoint: { _ in "convert the original model, or a merged or dequantized one" },
        .unusedTensor: {
            "see that config.json is the one of these weights, or, if the model is correct without the tensor, pass --ignore-tensor "
                + "\($0.candidates.map { "\"\($0)\"" }.joined())"
        },
        // The output.
        .activationsUnsupported: { _ in "leave out --activations, and \"activations\" of a recipe" },
        .familyUnsupported: { "use --format \(alternatives($0.candidates)), or convert for a package" },
        .int8StatesUnsupported: { _ in "convert without --states int8" },
        .packageSchemeUnsupported: {
            "use \(choices($0.candidates)) in an export of the model, because a package keeps its schemes"
        },
        .partMissing: { _ in "leave --part out" },
        .probeNotFinite: { _ in "leave --probe out" },
        .severalFunctionsOfOneName: { _ in "add --part, or leave a --shape out" },
        .targetNotReached: { _ in "ask for less, or choose --compress float32, which loses nothing" },
        .unsupportedByFormat: { "use \(choices($0.candidates))" },
        // Other files.
        .foreignCacheFolder: { _ in "name an empty folder or a new one by --cache or $ACCELC_CACHE" },
        .importanceExpected: { _ in "\"accelc importance MODEL --calibrate FILE -o imatrix.gguf\" writes one" },
        .serverTakesNoResults: { _ in "--remote-read-only sends none" },
        .sharedCache: { _ in "name another folder, or, if the others are trusted, give --trust-shared-cache" },
        // Conversions and comparisons.
        .exceedsProfile: { _ in "compress it more (--compress, --target-size), or give it smaller shapes (--shape)" },
        .fixedShapes: { _ in "leave --shape out" },
        .needsSamples: { _ in "give some with --calibrate FILE" },
        .noWordTimes: { _ in "convert the model with --part all" },
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
        .notApplicableToPackage: { _ in "leave it out, or export from its model" },
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

    private static func alternatives(_ candidates: [String]) -> String { Text.alternatives(candidates) }

    private static func shapes(_ candidates: [String], from file: String? = nil) -> String {
        (candidates.map { "--shape \($0)" } + (file.map { ["--shape-from \($0)"] } ?? [])).joined(separator: " ")
    }

    /// Returns schemes, values of an exporter's options and its flag for fallbacks, as they are written.
    private static func choices(_ candidates: [String]) -> String {
        let flag = ExportOption.allowFallback.name
        let words = candidates.map { candidate in
            if candidate == flag { return "--\(flag), which leaves such weights as they are" }
            let sides = candidate.split(separator: "=", maxSplits: 1)
            // A scheme has its options behind a colon.
            return sides.count < 2 || sides[0].contains(":") ? candidate : "--\(sides[0]) \(sides[1])"
        }
        return Text.alternatives(words)
    }
}
