import AccelByteIO

/// Reads the files of scripts/tokenizer_goldens.py.
struct GoldenReader {
    private var reader: ByteReader

    init(_ path: String) throws { reader = ByteReader(try MappedFile(path).bytes, file: path) }

    mutating func number() throws -> Int { Int(try reader.integer(UInt32.self)) }

    mutating func numbers() throws -> [Int32] {
        let count = try number()
        return try (0..<count).map { _ in Int32(truncatingIfNeeded: try reader.integer(UInt32.self)) }
    }

    mutating func text() throws -> [UInt8] { try reader.bytes(try number()).withBytes { Array($0) } }
}

/// What a peer gave for a line.
struct Golden {
    var ids: [Int32]
    var offsets: [Int32]
    var decoded: [UInt8]
    var decodedWithoutSpecial: [UInt8]

    init(_ reader: inout GoldenReader) throws {
        ids = try reader.numbers()
        offsets = try reader.numbers()
        decoded = try reader.text()
        decodedWithoutSpecial = try reader.text()
    }

    static func lines(_ path: String) throws -> [[UInt8]] {
        var reader = try GoldenReader(path)
        return try (0..<(try reader.number())).map { _ in try reader.text() }
    }
}
