import AccelByteIO
import AccelPackages
import AccelTensors
import AccelWeightCompression

/// The sizes and tokens of a model for a file of whisper.cpp.
struct WhisperSettings {
    private(set) var sizes = WhisperFile.Sizes()
    private(set) var tokens: [[UInt8]] = []
    private(set) var remarks: [String] = []

    /// - Parameter shapes: of the weights, by their names in checkpoints.
    /// - Throws: `RequestError` for a property that whisper.cpp lacks; `FormatError`.
    init(of assets: [Asset], _ shapes: [String: Shape]) throws {
        func document(_ name: String) throws -> JSONField? {
            try assets.first { $0.name == name }.map { JSONField(try JSON.parse($0.content, file: name), file: name) }
        }
        guard let field = try document(GGUFSettings.fileName) else {
            throw RequestError(
                "whisper.cpp: the model has no \(GGUFSettings.fileName), which gives the numbers of heads")
        }
        let activation = field["activation_function"]
        guard try !activation.exists || activation.string() == "gelu" else {
            throw RequestError("whisper.cpp has no activation but gelu: activation_function of config.json differs")
        }
        func shape(_ name: String) throws -> Shape {
            guard let shape = shapes[name], shape.rank > 1 else {
                throw RequestError(
                    "whisper.cpp needs the tensor \(quoted(name)), which the model lacks",
                    code: .partMissing)
            }
            return shape
        }
        func stack(_ name: String) throws -> WhisperFile.Stack {
            let positions = try shape("\(name).embed_positions.weight")
            let (width, inner) = (positions.columns, try shape("\(name).layers.0.fc1.weight").rows)
            guard inner == 4 * width else {
                throw RequestError(
                    "whisper.cpp has feed-forward layers of four times the width, \(4 * width), but those of the \(name) have "
                        + "\(inner)")
            }
            return WhisperFile.Stack(
                positions: positions.rows, width: width,
                heads: try field["\(name)_attention_heads"].int(in: 1...1 << 12),
                layers: try field["\(name)_layers"].int(in: 1...1000))
        }
        let words = try shape("decoder.embed_tokens.weight")
        sizes.vocabulary = words.rows
        (sizes.audio, sizes.text) = (try stack("encoder"), try stack("decoder"))
        sizes.mels = try shape("encoder.conv1.weight").dimensions[1]
        tokens = try Self.tokens(
            document("tokenizer.json")?["model"]["vocab"] ?? document("vocab.json"), sizes.vocabulary)
        remarks.append("whisper.cpp computes gelu by its approximation with tanh, where the model computes it exactly")
        if tokens.isEmpty {
            remarks.append(
                "the file has no words, so that programs get token numbers only: the model has no tokenizer.json and no "
                    + "vocab.json")
        }
        // whisper.cpp derives the numbers of special tokens from the size of the vocabulary.
        if sizes.vocabulary < 51864 {
            remarks.append(
                "whisper.cpp expects special tokens from number 50256 on, which the vocabulary of \(sizes.vocabulary) lacks: "
                    + "it cannot transcribe with this model")
        }
    }

    /// Returns the bytes of tokens by number; special tokens of tokenizer.json have none.
    private static func tokens(_ words: JSONField?, _ vocabulary: Int) throws -> [[UInt8]] {
        guard let words, words.exists else { return [] }
        let numbered = try words.members().map { (number: try $0.field.int(in: 0...1 << 24), word: $0.key) }
        let count = min((numbered.map(\.number).max() ?? -1) + 1, vocabulary)
        var tokens = [[UInt8]](repeating: [], count: count)
        for (number, word) in numbered where number < count { tokens[number] = bytes(of: word) }
        return tokens
    }

    /// Returns the bytes that a token's characters stand for: GPT-2 writes bytes that do not print as characters from U+0100 on.
    private static func bytes(of word: String) -> [UInt8] {
        let bytes = word.unicodeScalars.compactMap { byteOfScalar[$0.value] }
        return bytes.count == word.unicodeScalars.count ? bytes : Array(word.utf8)
    }

    private static let byteOfScalar: [UInt32: UInt8] = {
        var (table, next) = ([UInt32: UInt8](), UInt32(256))
        for byte in UInt8.min...UInt8.max {
            let prints = (33...126).contains(byte) || (161...172).contains(byte) || byte >= 174
            table[prints ? UInt32(byte) : next] = byte
            if !prints { next += 1 }
        }
        return table
    }()
}
