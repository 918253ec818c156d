import AccelByteIO
import AccelTensors

/// The files beside model.bin: config.json of CTranslate2, and the vocabulary.
struct CTranslate2Settings {
    /// A missing field if there is no config.json.
    let configuration: JSONField
    /// The tokens by number; empty if the model has no vocabulary.
    let tokens: [String]
    private let numbers: [String: Int]

    /// The names of vocabularies, the first to be read first.
    private static let vocabularies = [CTranslate2Folder.vocabularyName, "vocabulary.txt"]

    init(configuration: JSONField, tokens: [String] = []) {
        (self.configuration, self.tokens) = (configuration, tokens)
        numbers = Dictionary(zip(tokens, tokens.indices)) { first, _ in first }
    }

    /// Reads the files of a folder, which become sources of the model.
    /// - Throws: `FormatError` for a file that is corrupt.
    init(in files: ModelFiles) throws {
        let name = CTranslate2Draft.configurationName
        var tokens: [String] = []
        if let own = Self.vocabularies.first(where: { Files.kind(of: "\(files.folder)/\($0)") == .file }) {
            let vocabulary = try files.open(own)
            tokens =
                own.hasSuffix(".json")
                ? try JSONField(JSON.parse(vocabulary.content, file: vocabulary.path), file: vocabulary.path)
                    .array().map { try $0.string() }
                : vocabulary.content.withBytes { bytes in
                    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                        .map { String(decoding: $0, as: UTF8.self) }
                }
        }
        self.init(
            configuration: try files.document(name) ?? JSONField(nil, file: "\(files.folder)/\(name)"), tokens: tokens)
    }

    /// Returns the number of a token; nil if the vocabulary lacks it.
    func number(of token: String) -> Int? { numbers[token] }

    /// Returns members of a checkpoint's config.json for the special tokens that CTranslate2's config.json names.
    func tokenMembers() throws -> [JSON.Member] {
        try ["bos", "eos"].compactMap { name in
            let field = configuration["\(name)_token"]
            guard field.exists, let number = numbers[try field.string()] else { return nil }
            return JSON.Member("\(name)_token_id", .integer(Int64(number)))
        }
    }

    /// Returns the number that norms add to the variance.
    func epsilon(default other: Double) throws -> Double {
        let field = configuration["layer_norm_epsilon"]
        return try field.exists ? field.double() : other
    }
}
