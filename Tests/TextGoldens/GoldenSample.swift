import AccelByteIO
public import AccelText

/// A tokenizer in a folder of goldens: NAME.golden, beside NAME.json, NAME.metadata (of a GGUF file), NAME.model (of sentencepiece), or a
/// folder NAME with older files.
public struct GoldenSample: Sendable, CustomStringConvertible {
    public let folder: String
    public let name: String
    public var description: String { name }

    public init(folder: String, name: String) { (self.folder, self.name) = (folder, name) }

    /// All samples of a folder, by name.
    public static func all(in folder: String) throws -> [GoldenSample] {
        try Files.list(folder).filter { $0.hasSuffix(".golden") }.sorted()
            .map { GoldenSample(folder: folder, name: String($0.dropLast(7))) }
    }

    private var path: String { "\(folder)/\(name)" }

    public func tokenizer() throws -> Tokenizer {
        func has(_ file: String) -> Bool { Files.kind(of: file) == .file }
        if has("\(path).json") { return try Tokenizer(json: MappedFile("\(path).json").bytes, file: "\(name).json") }
        if has("\(path).metadata") { return try Tokenizer(gguf: GGUFMetadata.vocabulary("\(path).metadata")) }
        if has("\(path).model") {
            return try Tokenizer(sentencePiece: MappedFile("\(path).model").bytes, file: "\(name).model")
        }
        return try Tokenizer(folder: path)
    }

    /// Compares the tokenizer with its goldens. Returns a text for each line that differs, with its index.
    public func differences(_ lines: [[UInt8]]) throws -> [(line: Int, text: String)] {
        let tokenizer = try tokenizer()
        var reader = try GoldenReader("\(path).golden")
        guard try reader.number() == lines.count else { return [(0, "the goldens are of other lines")] }
        var differences: [(line: Int, text: String)] = []
        for (index, line) in lines.enumerated() {
            if let difference = try Golden(&reader).difference(from: tokenizer, line) {
                differences.append((index, difference))
            }
        }
        return differences
    }
}
