import AccelByteIO
import AccelPrograms
import AccelTensors

/// The pooling of a sentence encoder: the modules that modules.json lists after the transformer make one vector of the
/// last hidden states.
struct SentencePooling {
    enum Mode: String, CaseIterable {
        case cls, max, mean
        case meanSqrtLength = "mean_sqrt_len_tokens"
        case weightedMean = "weightedmean"
        case lastToken = "lasttoken"

        /// The flag that selects it in older files.
        var flag: String {
            switch self {
            case .cls: "pooling_mode_cls_token"
            case .max: "pooling_mode_max_tokens"
            case .mean: "pooling_mode_mean_tokens"
            case .meanSqrtLength: "pooling_mode_mean_sqrt_len_tokens"
            case .weightedMean: "pooling_mode_weightedmean_tokens"
            case .lastToken: "pooling_mode_lasttoken"
            }
        }
    }
    /// A module after the pooling.
    enum Step {
        case dense(SentenceDense)
        /// The vector is divided by its length.
        case normalisation
    }
    /// The pooling modes; their results are concatenated.
    var modes: [Mode]
    var steps: [Step]
    /// The width of the hidden states according to the file.
    private var width: (number: Int, field: JSONField)?

    /// The default: the mean over tokens, normalised to length 1.
    static let mean = SentencePooling(modes: [.mean], steps: [.normalisation])

    init(modes: [Mode], steps: [Step] = []) {
        (self.modes, self.steps) = (modes, steps)
    }

    /// Reads modules.json and the files that it refers to; nil if the checkpoint has none, or is that of a cross encoder.
    /// - Parameter generates: the model generates text where the transformer is listed alone.
    /// - Throws: `FormatError`; `RequestError` (unavailable) for an unsupported module.
    init?(of checkpoint: Checkpoint, generates: Bool = false) throws {
        guard let document = try checkpoint.document("modules.json")?.recording() else { return nil }
        var modes: [Mode]?
        (steps, width) = ([], nil)
        for (index, module) in try document.array().enumerated() {
            module.disregard("idx", "name", "path")
            let type = try module["type"].string().split(separator: ".").last.map(String.init) ?? ""
            switch (type, modes) {
            case ("Transformer", nil) where index == 0:
                // The transformer that was read is the one in the model folder.
                guard try !module["path"].exists || [".", ""].contains(module["path"].string()) else {
                    throw RequestError(
                        "\(document.file), field \(module["path"].path): a transformer in a folder of its own is not "
                            + "supported; move its files into the model's folder and give it the path \"\"",
                        status: .unavailable)
                }
            case ("Pooling", nil) where index > 0:
                let path = "\(try module["path"].string())/config.json"
                guard let config = try checkpoint.document(path)?.recording() else {
                    throw module["path"].error("the model has no file \(path)")
                }
                modes = try Self.modes(config)
                for key in ["word_embedding_dimension", "embedding_dimension"] where config[key].exists {
                    width = (try config[key].int(in: 1...1 << 20), config[key])
                }
                try config.rejectUnread([]) { "\(path):\($0)" }
            case ("Normalize", .some):
                steps.append(.normalisation)
                // The file has no effect, but its digest is recorded as part of the source.
                if module["path"].exists { _ = try checkpoint.document("\(try module["path"].string())/config.json") }
            case ("Dense", .some):
                steps.append(.dense(try SentenceDense(at: module["path"], of: checkpoint)))
            default:
                throw RequestError(
                    "\(document.file), field \(module["type"].path): a module \"\(type)\" is not supported here "
                        + "(supported: a Transformer, then a Pooling, then Dense and Normalize)", status: .unavailable)
            }
        }
        try document.rejectUnread([]) { "modules.json:\($0)" }
        guard let modes else {
            guard try Self.isCrossEncoder(checkpoint) || generates else {
                throw FormatError(file: document.file, reason: "lists no Pooling module")
            }
            return nil
        }
        self.modes = modes
    }

    /// Checks the widths from the transformer on.
    /// - Parameter hidden: the width of the hidden states.
    /// - Throws: `FormatError` for the first field that has another number.
    func check(hidden: Int) throws {
        if let width, width.number != hidden {
            throw width.field.error("\(width.number) is not hidden_size \(hidden)")
        }
        var width = hidden * modes.count
        for case .dense(let dense) in steps {
            guard dense.inputs.number == width else {
                throw dense.inputs.field.error(
                    "\(dense.inputs.number) is not the width \(width) of the vector before it")
            }
            width = dense.outputs
        }
    }

    /// The most tokens of a text, special ones included, that a sentence model was made for; nil where its files do not say.
    static func longestText(of checkpoint: Checkpoint) throws -> Int? {
        guard let field = try checkpoint.document("sentence_bert_config.json")?["max_seq_length"], field.exists,
            field.value != .null
        else { return nil }
        return try field.int(in: 1...1 << 30)
    }

    /// Returns whether the transformer that modules.json lists alone is a classifier of pairs of texts, with the head in its weights.
    /// - Throws: `FormatError` if the model's class has no such head.
    private static func isCrossEncoder(_ checkpoint: Checkpoint) throws -> Bool {
        let (name, whole) = ("sentence_bert_config.json", "config_sentence_transformers.json")
        let task = try checkpoint.document(name)?["transformer_task"]
        let kind = try checkpoint.document(whole)?["model_type"]
        guard let field = [task, kind].compactMap(\.self).first(where: \.exists),
            try ["sequence-classification", "CrossEncoder"].contains(field.string())
        else { return false }
        let classes = checkpoint.configuration["architectures"]
        guard try classes.array().contains(where: { try $0.string().hasSuffix("ForSequenceClassification") }) else {
            throw classes.error("has no classifier, for which the field \(field.path) of \(field.file) asks")
        }
        return true
    }

    private static func modes(_ config: JSONField) throws -> [Mode] {
        try config.reject([
            ("include_prompt", try !config["include_prompt"].bool(default: true), "pooling without the prompt's tokens")
        ])
        let field = config["pooling_mode"]
        let active = try Mode.allCases.filter { try config[$0.flag].bool(default: false) }
        guard field.exists else { return active.isEmpty ? [.mean] : active }
        var names = [field]
        if case .array? = field.value { names = try field.array() }
        let modes = try names.map { name in
            guard let mode = Mode(rawValue: try name.string()) else {
                throw RequestError(
                    "\(name.file), field \(name.path): the pooling mode \"\(try name.string())\" is not supported "
                        + "(supported: \(Mode.allCases.map(\.rawValue).joined(separator: ", ")))", status: .unavailable)
            }
            return mode
        }
        guard !modes.isEmpty else { throw field.error("names no pooling mode") }
        return modes
    }
}
