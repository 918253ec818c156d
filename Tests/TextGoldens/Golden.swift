import AccelByteIO
public import AccelText

/// Reads the files of scripts/tokenizer_goldens.py.
public struct GoldenReader {
    private var reader: ByteReader

    public init(_ path: String) throws { reader = ByteReader(try MappedFile(path).bytes, file: path) }

    public mutating func number() throws -> Int { Int(try reader.integer(UInt32.self)) }

    mutating func numbers() throws -> [Int32] {
        let count = try number()
        return try (0..<count).map { _ in Int32(truncatingIfNeeded: try reader.integer(UInt32.self)) }
    }

    mutating func text() throws -> [UInt8] { try reader.bytes(try number()).withBytes { Array($0) } }

    /// The lines of a `lines.bin`.
    public static func lines(_ path: String) throws -> [[UInt8]] {
        var reader = try GoldenReader(path)
        return try (0..<(try reader.number())).map { _ in try reader.text() }
    }
}

/// The tokens and texts that a peer gave for a line.
public struct Golden {
    public let ids: [TokenID]
    /// Starts and ends in bytes; empty for a peer without offsets.
    let offsets: [Int32]
    let decoded: [UInt8]
    let decodedWithoutSpecial: [UInt8]

    public init(_ reader: inout GoldenReader) throws {
        ids = try reader.numbers()
        offsets = try reader.numbers()
        decoded = try reader.text()
        decodedWithoutSpecial = try reader.text()
    }

    /// Returns the first difference between a tokenizer's results for a line and the peer's; nil if there is none.
    public func difference(from tokenizer: Tokenizer, _ line: [UInt8]) -> String? {
        line.withUnsafeBufferPointer { line in
            do {
                return try difference(from: tokenizer, bytes: line)
            } catch {
                return "\(error)"
            }
        }
    }

    private func difference(from tokenizer: Tokenizer, bytes line: UnsafeBufferPointer<UInt8>) throws -> String? {
        let encoding = try tokenizer.encoding(ofUTF8: line)
        if encoding.ids != ids { return difference("id", encoding.ids, ids) }
        let plain = try tokenizer.encode(utf8: line)
        if plain != ids { return difference("id without offsets", plain, ids) }
        if encoding.typeIDs.count != ids.count { return "\(encoding.typeIDs.count) types for \(ids.count) tokens" }
        let bounds = encoding.offsets.flatMap { [Int32($0.lowerBound), Int32($0.upperBound)] }
        if !offsets.isEmpty, bounds != offsets { return difference("offset", bounds, offsets) }
        for (expected, skips) in [(decoded, false), (decodedWithoutSpecial, true)] {
            let text = tokenizer.decode(ids, skipSpecialTokens: skips)
            if Array(text.utf8) != expected {
                return difference("decoded", text, String(decoding: expected, as: UTF8.self))
            }
            var stream = tokenizer.streamDecoder(skipSpecialTokens: skips)
            let streamed = (ids.map { stream.append($0) } + [stream.finish()]).joined()
            if Array(streamed.utf8) != expected { return difference("streamed", streamed, text) }
        }
        return nil
    }

    private func difference(_ what: String, _ ours: [Int32], _ theirs: [Int32]) -> String {
        let at = zip(ours, theirs).enumerated().first { $1.0 != $1.1 }?.offset ?? min(ours.count, theirs.count)
        let from = max(0, at - 4)
        return "\(what) \(at): \(ours.dropFirst(from).prefix(12)), expected \(theirs.dropFirst(from).prefix(12))"
    }

    private func difference(_ what: String, _ ours: String, _ theirs: String) -> String {
        "\(what) \(ours.debugDescription.prefix(200)), expected \(theirs.debugDescription.prefix(200))"
    }
}
