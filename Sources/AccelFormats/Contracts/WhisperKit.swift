import AccelByteIO

/// WhisperKit (argmaxinc/argmax-oss-swift), which runs Whisper by three Core ML models. It knows functions and features by their names,
/// reads sizes from the descriptions, and reads outputs as float16 without looking at their types.
extension RuntimeContract {
    static let whisperKit = RuntimeContract(
        name: "whisperkit", summary: "Whisper by Core ML", families: ["whisper"], format: CoreMLExporter.self,
        parts: [
            // Powers of quiet sounds are below the smallest number of float16, and samples have more digits than it.
            Part(name: "MelSpectrogram", options: coreML(.float32, outputs: .float16), readsWeights: false),
            Part(name: "AudioEncoder", options: coreML(.float16, outputs: .float16)),
            Part(name: "TextDecoder", options: coreML(.float16, outputs: .float16)),
        ],
        sideFiles: [
            "added_tokens.json", "config.json", "generation_config.json", "merges.txt", "normalizer.json",
            "preprocessor_config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
            "vocab.json",
        ],
        lastCommand: { compilation(of: ["MelSpectrogram", "AudioEncoder", "TextDecoder"], in: $0) },
        findings: {
            try WhisperKitSizes(in: $0).findings
                + missingTokenizer(in: $0, "WhisperKit downloads the tokenizer of the variant that it guesses")
        })
}

/// The sizes that WhisperKit reads from the description of TextDecoder.
private struct WhisperKitSizes {
    /// The positions that WhisperKit writes into masks and caches, whatever their capacity (`Constants.maxTokenContext`).
    private static let writtenPositions = 224
    private static let (english, multilingual, latest) = (51864, 51865, 51866)
    /// The widths of tiny, base, small, medium and large models.
    private static let widths = [384, 512, 768, 1024, 1280]

    private let vocabulary: Int
    private let width: Int
    private let capacity: Int
    private let hasAlignment: Bool

    init(in folder: String) throws {
        let package = try CoreMLPackage(at: "\(folder)/TextDecoder.mlpackage")
        guard let interface = package.model.interfaces.first else { throw package.error("functions", "there is none") }
        func size(_ name: String, _ axis: Int) throws -> Int {
            let feature = (interface.inputs + interface.outputs).first { $0.name == name }
            guard let sizes = feature?.type.sizes, sizes.indices.contains(axis) else {
                throw package.error(name, "has no fixed shape with an axis \(axis)")
            }
            return sizes[axis]
        }
        vocabulary = try size("logits", 2)
        width = try size("encoder_output_embeds", 1)
        capacity = try size("key_cache", 3)
        hasAlignment = interface.outputs.contains { $0.name == "alignment_heads_weights" }
    }

    /// Sentences on sizes that no model of OpenAI has. They are no errors: the exports are sound, and the sizes may fit another version
    /// of the runtime. Only WhisperKit's own constants make the difference.
    var findings: [String] {
        var findings: [String] = []
        let isVariant =
            vocabulary == Self.latest
            || [Self.english, Self.multilingual].contains(vocabulary) && Self.widths.contains(width)
        if !isVariant {
            findings.append(
                "WhisperKit guesses the variant and its tokenizer from a vocabulary of \(vocabulary) and a width of \(width), and knows no "
                    + "such variant: it takes those of base")
        }
        if capacity < Self.writtenPositions {
            findings.append(
                "WhisperKit writes \(Self.writtenPositions) positions into the caches and masks, and the model has \(capacity): it would "
                    + "write beyond their end")
        }
        if !hasAlignment {
            findings.append("the model lists no alignment heads: WhisperKit gives no times of words")
        }
        return findings
    }
}
